//! The inside of bfq for people.

use super::idle::IdleWhy;
use super::queue::Bfqq;
use super::select::Pick;
use super::tree::CLASSES;
use super::{Cx, Group, Item, MS, Policy, Qid, SchedRq, VIEW_MAX, View};

/// ms with one digit behind the point.
fn ms(ns: u64) -> String {
    format!("{}.{} ms", ns / MS, ns % MS / (MS / 10))
}

fn from_now(now: u64, at_ns: u64) -> String {
    if at_ns > now { format!("in {}", ms(at_ns - now)) } else { format!("{} ago", ms(now - at_ns)) }
}

impl IdleWhy {
    fn words(self) -> &'static str {
        match self {
            Self::Strict => "strict_guarantees is set",
            Self::Throughput => {
                "its next request is expected soon and near, and waiting costs less than a seek"
            }
            Self::Raised => "its weight is raised and others must not fill the device",
            Self::Weights => "weights differ, and without waiting it would lose its share",
            Self::Classes => "several priority classes are busy",
        }
    }
}

impl Policy {
    pub(super) fn draw(&self, cx: Cx<'_>) -> View {
        let (next, pick) = self.look_ahead(cx.now);
        let mut groups = Vec::new();
        if !self.dispatch.is_empty() {
            let items = self.dispatch.iter().take(VIEW_MAX).map(|(rq, _)| item(rq, String::new())).collect();
            groups.push(Group {
                name: "dispatch".into(),
                note: "inserted at the head: before all others".into(),
                items,
                total: u32::try_from(self.dispatch.len()).expect("no more requests than tags"),
            });
        }
        for (class, tree) in CLASSES.iter().zip(self.wf2q.trees()) {
            let serving = self.wf2q.in_service().filter(|q| CLASSES[self.wf2q.entity(*q).class] == *class);
            for q in serving.into_iter().chain(tree.waiting()) {
                groups.push(self.group(class, q, cx.now));
            }
        }
        View {
            scheduler: "bfq".into(),
            next: next.map_or(0, |rq| rq.id),
            why: self.why(pick, next.and_then(|rq| self.bfqq_of(&rq)), cx.now),
            facts: self.facts(cx.now),
            groups,
        }
    }

    /// The next dispatch, on a copy.
    fn look_ahead(&self, now: u64) -> (Option<SchedRq>, Pick) {
        let (slot, pick) = self.clone().dispatch_request(now);
        let rq = slot.map(|slot| {
            let at_head = self.dispatch.front().map(|(rq, _)| *rq).filter(|rq| rq.slot == slot);
            at_head.unwrap_or_else(|| self.queued[&slot].rq)
        });
        (rq, pick)
    }

    fn name(&self, q: Qid) -> String {
        self.bfqq(q).owner.to_string()
    }

    fn why(&self, pick: Pick, next: Option<Qid>, now: u64) -> String {
        let whose = next.map_or_else(String::new, |q| self.name(q));
        let serving = self.wf2q.in_service().map_or_else(String::new, |q| self.name(q));
        match pick {
            Pick::AtHead => "It was inserted at the head of the dispatch list.".into(),
            Pick::KeepsService => {
                format!(
                    "The {whose} is in service and has budget left; this is its best request for the head."
                )
            }
            Pick::NextInTree => {
                format!(
                    "The {whose} is next: of those that may start, it has the smallest virtual finish time."
                )
            }
            Pick::OwnAsync => {
                format!("The {serving} has nothing queued, but its process has this asynchronous request.")
            }
            Pick::Injected => format!(
                "The {serving} has nothing queued; a request of the {whose} is injected meanwhile, within its limit."
            ),
            Pick::Waits => self.why_waits(now),
            Pick::Empty => "Nothing is queued.".into(),
            Pick::OneAtATime => "strict_guarantees: the request in the driver must complete first.".into(),
        }
    }

    fn why_waits(&self, now: u64) -> String {
        let Some(q) = self.wf2q.in_service() else {
            return "The bfqq that is next has nothing queued, and the disk is kept for it.".into();
        };
        let reason = self.better_to_idle(q).map_or("the idle timer is still running", IdleWhy::words);
        match self.timer {
            Some(timer) => format!(
                "The disk idles for the {}; the timer ends {}: {reason}.",
                self.name(q),
                from_now(now, timer.at_ns)
            ),
            None => format!(
                "The disk is kept for the {}, which has requests in the driver and none queued: {reason}.",
                self.name(q)
            ),
        }
    }

    fn facts(&self, now: u64) -> Vec<(String, String)> {
        let idling = match (self.timer, self.wf2q.in_service()) {
            (Some(timer), Some(q)) => {
                let why = self.better_to_idle(q).map_or("no longer worth it", IdleWhy::words);
                format!("for the {}, timer ends {}: {why}", self.name(q), from_now(now, timer.at_ns))
            }
            _ => "no".into(),
        };
        let hw_tag = match self.hw_tag {
            None => "not known yet",
            Some(true) => "yes",
            Some(false) => "no",
        };
        let mut facts: Vec<(String, String)> = vec![
            ("in_service_queue".into(), self.wf2q.in_service().map_or("none".into(), |q| self.name(q))),
            ("idling".into(), idling),
            ("queued".into(), self.queued.len().to_string()),
            ("rq_in_driver".into(), self.rq_in_driver().to_string()),
            ("wr_busy_queues".into(), self.wr_busy_queues.to_string()),
            ("hw_tag".into(), hw_tag.into()),
            ("last_position".into(), self.last_position.to_string()),
            ("bfq_max_budget".into(), self.rate.budget_limit().to_string()),
            ("peak_rate".into(), format!("{} MiB/s", self.rate.mib_per_s())),
        ];
        for (class, (name, tree)) in CLASSES.iter().zip(self.wf2q.trees()).enumerate() {
            facts.push((format!("busy_queues[{name}]"), self.busy_queues[class].to_string()));
            facts.push((format!("vtime[{name}]"), tree.vtime.to_string()));
        }
        facts
    }

    fn group(&self, class: &str, q: Qid, now: u64) -> Group {
        let (b, e) = (self.bfqq(q), self.wf2q.entity(q));
        let serving = self.wf2q.in_service() == Some(q);
        let mut note = format!(
            "start {}, finish {}, budget {}, served {}, weight {}",
            e.start, e.finish, e.budget, e.service, e.weight
        );
        if serving {
            note = format!("in service, slot ends {}; {note}", from_now(now, b.timeout_ns));
        }
        for word in habits(b, e.coeff) {
            note.push_str(", ");
            note.push_str(&word);
        }
        let items = b.sort_list.values().take(VIEW_MAX).map(|slot| {
            let queued = &self.queued[slot];
            let mut note = format!("expires {}", from_now(now, queued.expires_ns));
            if b.next_rq == Some(*slot) {
                note.insert_str(0, "next of its bfqq; ");
            }
            item(&queued.rq, note)
        });
        Group {
            name: format!("service_tree[{class}] {}", b.owner),
            note,
            items: items.collect(),
            total: u32::try_from(b.sort_list.len()).expect("no more requests than tags"),
        }
    }
}

fn item(rq: &SchedRq, note: String) -> Item {
    Item { rq: rq.id, sector: rq.sector, sectors: rq.sectors, note }
}

/// What is thought of it.
fn habits(b: &Bfqq, coeff: u32) -> Vec<String> {
    let mut words = Vec::new();
    if coeff > 1 {
        words.push(format!("raised x{coeff}"));
    }
    if b.in_large_burst {
        words.push("in a large burst".into());
    }
    if b.is_sync() {
        words.push(if b.seeky() { "seeky" } else { "sequential" }.into());
        words.push(if b.io_bound { "I/O bound" } else { "not I/O bound" }.into());
        words.push(format!("thinks {} on average", ms(b.ttime_mean_ns)));
        words.push(format!("inject limit {}", b.inject_limit));
    }
    if b.dispatched > 0 {
        words.push(format!("{} in the driver", b.dispatched));
    }
    words
}
