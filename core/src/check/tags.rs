//! Tags are conserved: the bits that are set are those that requests and plugs hold.

use super::Invariant;
use crate::block::NONE;
use crate::sim::Sim;

/// Slots that may be looked at for every event, on average: what the check may cost. 64 double the time of a run with a
/// thousand tags, which a lesson may cost that shows at which event a rule was broken.
const SLOTS_AN_EVENT: u64 = 8;
const SLOTS_AN_EVENT_IN_LESSONS: u64 = 64;

/// What the checker remembers between two looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// CPU that changed a bitmap since the last look.
    changed_by: Option<u16>,
    /// Event from which on the next look is within the bound.
    due: u64,
    /// Bits more than holders at the last look, by bitmap; a lost tag is told once.
    gaps: Vec<i64>,
    /// The same for the count of active requests over all queues.
    active_gap: i64,
    /// Bits that somebody holds, all bitmaps one after the other; where each begins; and free slots of requests.
    held: Vec<u64>,
    first: Vec<usize>,
    free: Vec<bool>,
}

impl Sim {
    /// CPU `c` changes a tag bitmap.
    #[inline]
    pub(crate) fn tags_change(&mut self, c: usize) {
        if self.checks.on {
            self.checks.tags.changed_by = Some(c as u16);
        }
    }

    /// Looks at all tags at the end of an event in which some changed, as often as the bound allows.
    #[inline]
    pub(crate) fn check_event(&mut self) {
        if self.checks.on
            && let Some(c) = self.checks.tags.changed_by
            && self.events >= self.checks.tags.due
        {
            self.check_tags(c as usize);
        }
    }

    fn check_tags(&mut self, c: usize) {
        let mut watch = std::mem::take(&mut self.checks.tags);
        watch.changed_by = None;
        self.collect_held(&mut watch);
        let bound = if self.checks.lesson { SLOTS_AN_EVENT_IN_LESSONS } else { SLOTS_AN_EVENT };
        watch.due = self.events + (watch.free.len() + watch.held.len()) as u64 / bound;
        watch.gaps.resize(self.tags.len(), 0);
        let mut driver_tags = 0;
        for t in 0..self.tags.len() {
            let tags = &self.tags[t];
            let sched = self.hctxs.iter().any(|h| h.sched_tags == Some(t as u16));
            driver_tags += if sched { 0 } else { i64::from(tags.in_use()) };
            let held = &watch.held[watch.first[t]..][..tags.words.len()];
            let wrong: u32 = tags.words.iter().zip(held).map(|(set, held)| (set ^ held).count_ones()).sum();
            let (set, held) = (ones(&tags.words), ones(held));
            // Bits that are set without a holder, or held without being set, or miscounted.
            let gap = i64::from(wrong) + (set - i64::from(tags.in_use())).abs();
            if std::mem::replace(&mut watch.gaps[t], gap) != gap && gap != 0 {
                let name = &self.topology.objects[tags.word_line as usize].name;
                let text = format!("{name}: {set} bits are set, {held} are held by requests and plugs");
                let invariant = if sched { Invariant::SchedTagsConserved } else { Invariant::TagsConserved };
                self.violated(c, invariant, text);
            }
        }
        let active: i64 = self.queues.iter().map(|q| i64::from(q.nr_active)).sum();
        let gap = driver_tags - active;
        // A bit that was told above has its difference here as well.
        let told: i64 = watch.gaps.iter().sum();
        if std::mem::replace(&mut watch.active_gap, gap) != gap && gap != 0 && told == 0 {
            let text =
                format!("{driver_tags} driver tags are taken, the queues count {active} active requests");
            self.violated(c, Invariant::TagsConserved, text);
        }
        self.checks.tags = watch;
    }

    /// The bits that live requests and plugs hold. A flush request borrows the tag of the request that it flushes for, so
    /// that one bit may have two holders.
    fn collect_held(&self, watch: &mut Watch) {
        watch.first.clear();
        let mut words = 0;
        for tags in &self.tags {
            watch.first.push(words);
            words += tags.words.len();
        }
        watch.held.clear();
        watch.held.resize(words, 0);
        let mut hold = |t: u16, tag: u32| {
            let shift = self.tags[t as usize].shift;
            watch.held[watch.first[t as usize] + (tag >> shift) as usize] |= 1 << (tag & ((1 << shift) - 1));
        };
        for rq in self.rqs.live_slots(&mut watch.free) {
            let hctx = &self.hctxs[rq.hctx as usize];
            if rq.tag != NONE {
                hold(hctx.tags, rq.tag);
            }
            if let Some(t) = hctx.sched_tags.filter(|_| rq.sched_tag != NONE) {
                hold(t, rq.sched_tag);
            }
        }
        for &(h, tag) in self.tasks.iter().flat_map(|task| &task.plug.cached) {
            hold(self.alloc_tags(h), tag);
        }
    }
}

fn ones(words: &[u64]) -> i64 {
    words.iter().map(|w| i64::from(w.count_ones())).sum()
}
