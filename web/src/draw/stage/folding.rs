//! Which lanes and hctxs are shown: who is busy, with patience.

use super::{FOLD_EVERY_MS, LANE_STAYS_MS, Stage};
use crate::draw::layout::{Activity, Layout, Pinned, Row};
use crate::scene::{NONE16, Scene, Standing};
use mqscope_core::event::CpuId;

impl Stage {
    /// Decides which lanes and hctxs are shown, and lays out anew if that changed. With `at_once` only this moment counts:
    /// what was in view before is no reason to stay.
    pub(super) fn fold(&mut self, scene: &Scene, at_once: bool) {
        let request = self.selected.and_then(|rq| scene.request(rq));
        let pinned =
            Pinned { cpu: request.map(|r| r.cpu), hctx: request.map(|r| r.hctx).filter(|&h| h != NONE16) };
        let due = self.wall_ms - self.fold_ms >= FOLD_EVERY_MS || at_once;
        if !due && !self.stale && pinned == self.pinned {
            return;
        }
        if at_once {
            self.busy_until_ms.clear();
        }
        let activity = if due || self.stale { self.observe(scene) } else { self.activity.clone() };
        if due {
            self.fold_ms = self.wall_ms;
        }
        let same = activity == self.activity && pinned == self.pinned && !self.stale;
        if same {
            return;
        }
        self.activity = activity;
        self.pinned = pinned;
        self.stale = false;
        let layout = Layout::new(scene.topology(), &self.activity, self.size.0, self.size.1, pinned);
        if layout != self.layout {
            self.layout = layout;
            self.version = self.version.wrapping_add(1);
        }
    }

    /// Who is busy. Coarse steps and a few seconds of patience keep the lanes from dancing.
    fn observe(&mut self, scene: &Scene) -> Activity {
        let topology = scene.topology();
        let (now, half) = (scene.now_ns(), scene.half_ns());
        self.busy_until_ms.resize(topology.cpus.len(), f64::NEG_INFINITY);
        let mut cpus = vec![0.0; topology.cpus.len()];
        for (id, cpu) in scene.cpus().iter().enumerate() {
            let c = id as CpuId;
            let queues = topology.queues.len() as u16;
            let load = cpu.load(now, half);
            let stands = scene.standing_len(Standing::Submit(c))
                + scene.standing_len(Standing::Hand(c))
                + scene.standing_len(Standing::Completing(c))
                + (0..queues).map(|q| scene.standing_len(Standing::Ctx(q, c))).sum::<u32>();
            let shown = self.layout.lanes.iter().any(|l| l.row == Row::Cpu(c));
            let was = self.busy_until_ms[id] > self.wall_ms;
            if load > 0.02 || stands > 0 {
                self.busy_until_ms[id] = self.wall_ms + LANE_STAYS_MS;
            }
            if self.busy_until_ms[id] > self.wall_ms {
                // A lane in view keeps its place unless another is clearly busier.
                cpus[id] = if was && shown { 2.0 } else { 1.0 + f32::from(load > 0.5) * 0.5 };
            }
        }
        for task in scene.tasks() {
            if let Some(cpu) = cpus.get_mut(task.cpu as usize) {
                *cpu = 4.0;
            }
        }
        let hctxs = topology
            .hctxs
            .iter()
            .zip(scene.hctxs())
            .map(|(fixed, state)| {
                let serves = fixed.cpus.iter().any(|&c| cpus.get(c as usize).is_some_and(|&s| s >= 4.0));
                let busy = state.tags_in_use > 0 || state.running() > 0;
                f32::from(u8::from(serves)) * 2.0 + f32::from(u8::from(busy))
            })
            .collect();
        let objects = scene.objects().iter().map(|o| o.count > 0).collect();
        Activity { cpus, hctxs, objects }
    }
}
