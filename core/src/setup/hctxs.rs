//! Hctxs of a disk: which CPUs, which tags, which locks and lines.

use super::*;
use crate::block::{Coalesce, Vector};

impl Builder<'_> {
    /// CPU to hctx: as many CPUs as there are hctxs have one of their own, further first threads are dealt in turn,
    /// further second threads follow their core (`blk_mq_map_queues`).
    pub(super) fn cpu_map(&self, nr: u16, first_hctx: u16) -> Vec<u16> {
        let cpus = self.machine.cpus();
        let cores = self.machine.sockets * self.machine.cores_per_socket;
        let mut map: Vec<u16> = Vec::with_capacity(cpus as usize);
        for c in 0..cpus {
            map.push(if c < nr {
                c
            } else if c < cores {
                c % nr
            } else {
                map[(c % cores) as usize]
            });
        }
        map.iter().map(|hctx| first_hctx + hctx).collect()
    }

    pub(super) fn tag_set(&mut self, what: &str, depth: u32, h: u16, i: u16, name: &str) -> u16 {
        let hints = (0..self.machine.cpus())
            .map(|c| {
                let key = u64::from(h) << 32 | u64::from(c);
                rng::below(self.scenario.seed, Purpose::TagHint, key, u64::from(depth)) as u32
            })
            .collect();
        let mut tags = Tags::new(depth, hints);
        for word in 0..tags.words.len() {
            let id = self.object(
                &format!("sbitmap word ({what})"),
                format!("{what} word {word} (mq/{i} {name})"),
                ObjectKind::Line,
                Site::Tags(h),
            );
            if word == 0 {
                tags.word_line = id;
            }
        }
        self.tags.push(tags);
        self.tags.len() as u16 - 1
    }

    #[allow(clippy::too_many_arguments)] // what an hctx is made of
    pub(super) fn hctx(
        &mut self,
        q: u16,
        i: u16,
        h: u16,
        tags: u16,
        map: &[u16],
        name: &str,
        write_cache: bool,
    ) {
        let cpus: Vec<u16> = (0..map.len() as u16).filter(|&c| map[c as usize] == h).collect();
        let at = Site::Hctx(h);
        let words = map.len().div_ceil(CTX_MAP_BITS as usize);
        let mut ctx_map_line = 0;
        for word in 0..words {
            let text = format!("hctx[{i}]->ctx_map word {word} ({name})");
            let id = self.object("hctx->ctx_map word", text, ObjectKind::Line, at);
            if word == 0 {
                ctx_map_line = id;
            }
        }
        let lock = self.object("hctx->lock", format!("hctx[{i}]->lock ({name})"), ObjectKind::Lock, at);
        let counters_line =
            self.object("hctx counters", format!("hctx[{i}] counters ({name})"), ObjectKind::Line, at);
        let active_line =
            self.object("hctx->nr_active", format!("hctx[{i}]->nr_active ({name})"), ObjectKind::Line, at);
        let sq_lock = self.object("nvmeq lock", format!("nvmeq[{i}] lock ({name})"), ObjectKind::Lock, at);
        let fq = write_cache.then(|| {
            let text = format!("hctx[{i}]->fq->mq_flush_lock ({name})");
            FlushQueue::new(self.object("fq->mq_flush_lock", text, ObjectKind::Lock, at))
        });
        self.topology.hctxs.push(topology::Hctx { queue: q, index: i, cpus: cpus.clone() });
        let vector = Vector::new(cpus.first().copied().unwrap_or(0), Coalesce::OFF);
        self.hctxs.push(Hctx {
            queue: q,
            cpus,
            first_ctx: 0,
            poll: false,
            completions: VecDeque::new(),
            ctx_map: 0,
            ctx_map_used: 0,
            ctx_map_line,
            dispatch_from: 0,
            dispatch: VecDeque::with_capacity(crate::block::LIST_ROOM),
            lock,
            counters_line,
            restart: false,
            dispatch_busy: 0,
            work: Work::Idle,
            work_due_ns: 0,
            work_timer_ns: None,
            work_running: None,
            work_again: false,
            next_cpu: 0,
            next_cpu_batch: 8,
            tags,
            sched_tags: None,
            run_began_ns: 0,
            elevator_queued: 0,
            waits_for_tag: false,
            active_line,
            sq_lock,
            unrung: VecDeque::new(),
            work_target: 0,
            vector,
            fq,
        });
    }
}
