//! The exact event sequences that follow from the rules of each kernel row, one small plug at a time. They stand in
//! `tests/golden/appendix-a.txt`, which explains its notation.

use mqscope_core::Sim;
use mqscope_core::event::{Context, Event, Kind, Op, QueueId};
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::{Amount, BatchIo, BatchScript, BatchStep, Engine, JobSpec, Workload};
use std::collections::BTreeMap;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const TEXT: &str = include_str!("../../golden/appendix-a.txt");

/// A paragraph of the text.
#[derive(Clone, Debug, Default)]
struct Paragraph {
    name: &'static str,
    kernels: Vec<&'static str>,
    disk: &'static str,
    scheduler: Option<&'static str>,
    /// (disk, sector) of the plugged writes.
    plug: Vec<(u16, u64)>,
    /// The same of the next call.
    then: Vec<(u16, u64)>,
    unplugged: bool,
    tags: Option<u32>,
    queue_depth: Option<u32>,
    dispatch_busy: u8,
    set: BTreeMap<String, String>,
    doorbells: bool,
    sequence: String,
}

fn paragraphs() -> Vec<Paragraph> {
    let mut all: Vec<Paragraph> = Vec::new();
    for line in TEXT.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !line.starts_with(' ') {
            all.push(Paragraph { name: words[0], ..Paragraph::default() });
            continue;
        }
        let paragraph = all.last_mut().expect("a setting follows a name");
        let (key, values) = words.split_first().expect("the line is not empty");
        let number = || values[0].parse().expect("a number");
        match *key {
            "kernel" => paragraph.kernels.extend(values),
            "disk" => paragraph.disk = line.trim_start().trim_start_matches("disk").trim(),
            "scheduler" => paragraph.scheduler = Some(values[0]),
            "plug" => paragraph.plug.extend(values.iter().map(|write| place(write))),
            "then" => paragraph.then.extend(values.iter().map(|write| place(write))),
            "unplugged" => paragraph.unplugged = true,
            "tags" => paragraph.tags = Some(number()),
            "queue_depth" => paragraph.queue_depth = Some(number()),
            "dispatch_busy" => paragraph.dispatch_busy = number() as u8,
            "set" => paragraph.set.extend(values.iter().map(|pair| {
                let (knob, value) = pair.split_once('=').expect("knob=value");
                (knob.to_owned(), value.to_owned())
            })),
            "doorbells" => paragraph.doorbells = true,
            word => {
                let event = |c: char| c.is_ascii_uppercase() || c == '|' || c == '*';
                assert!(word.starts_with(event), "unknown setting '{word}'");
                words.iter().for_each(|word| paragraph.sequence.extend([" ", *word]));
            }
        }
    }
    all
}

/// `8`, or `b8` on the second disk.
fn place(write: &str) -> (u16, u64) {
    let (disk, sector) = write.strip_prefix('b').map_or((0, write), |sector| (1, sector));
    (disk, sector.parse().expect("a sector"))
}

impl Paragraph {
    fn scenario(&self, kernel: &str) -> Scenario {
        let (count, name, model) = match self.disk {
            "one hctx" => (1, "nullb", "null"),
            "two disks" => (2, "nullb", "null"),
            "nvme" => (1, "nvme0n", "p4510-2t"),
            "scsi" | "scsi, one hctx" => (1, "sd", "hba-r0-8ssd"),
            other => panic!("unknown disk '{other}'"),
        };
        let device = |i: u16| DeviceConfig {
            scheduler: self.scheduler.unwrap_or("none").into(),
            nr_requests: self.tags,
            nr_hw_queues: (self.disk == "scsi").then_some(4),
            queue_depth: self.queue_depth,
            ..DeviceConfig::new(&format!("{name}{i}"), model)
        };
        let workload = if self.unplugged {
            Workload::Jobs(vec![JobSpec {
                engine: Engine::Psync, // a read: a write call to a block device plugs
                io_size: Some(Amount::Bytes(4096)),
                ..JobSpec::default()
            }])
        } else {
            let write =
                |&(device, sector): &_| BatchIo { op: Op::Write, device, offset: sector * 512, len: 4096 };
            let submit = |writes: &[_]| BatchStep::Submit(writes.iter().map(write).collect());
            let mut steps = vec![BatchStep::Cpu(1), submit(&self.plug)];
            if !self.then.is_empty() {
                steps.push(submit(&self.then));
            }
            steps.push(BatchStep::Wait);
            Workload::Batch(BatchScript { name: "iob".into(), dsync: false, steps })
        };
        Scenario {
            title: self.name.into(),
            duration_ns: 1_000_000_000,
            machine: "small".into(),
            kernel: kernel.into(),
            set: self.set.clone(),
            devices: (0..count).map(device).collect(),
            workload,
            ..Scenario::default()
        }
    }

    /// The sequence that a kernel gives.
    fn run(&self, kernel: &str) -> String {
        let mut sim = Sim::new(&self.scenario(kernel)).expect("the scenario is valid");
        sim.log_mut().set_on(true);
        for hctx in 0..sim.topology().hctxs.len() {
            sim.set_dispatch_busy(hctx as u16, self.dispatch_busy);
        }
        sim.run();
        let (mut text, mut who) = (String::new(), Context::Task);
        for event in sim.log().events() {
            let Some(word) = self.word(event) else { continue };
            let now = match event.context {
                Context::SoftIrq | Context::Idle => Context::HardIrq,
                other => other,
            };
            if now != who {
                text.push_str(match now {
                    Context::Task => " |task|",
                    Context::Kworker => " |kworker|",
                    _ => " |irq|",
                });
                who = now;
            }
            text.push(' ');
            text.push_str(&word);
        }
        text
    }

    fn word(&self, event: &Event) -> Option<String> {
        if let Kind::Doorbell { count, .. } = event.kind {
            return self.doorbells.then(|| format!("*{count}"));
        }
        let letter = event.kind.letter()?;
        Some(match (event.kind, event.kind.subject()?) {
            (Kind::Unplug { count, .. }, _) => format!("{letter}{count}"),
            (_, (queue, Some(extent))) => format!("{letter}{}", self.number(queue, extent.sector)),
            _ => letter.into(),
        })
    }

    /// The write that begins at this sector, from 1.
    fn number(&self, queue: QueueId, sector: u64) -> usize {
        let mut writes = self.plug.iter().chain(&self.then);
        writes.position(|&place| place == (queue, sector)).unwrap_or(0) + 1
    }
}

#[track_caller]
fn check(name: &str) {
    let all = paragraphs();
    let paragraph = all.iter().find(|p| p.name == name).expect("the text has this paragraph");
    assert!(!paragraph.kernels.is_empty() && !paragraph.sequence.is_empty(), "{name} says nothing");
    for kernel in &paragraph.kernels {
        assert_eq!(paragraph.run(kernel), paragraph.sequence, "{name}, kernel {kernel}");
    }
}

macro_rules! sequences {
    ($($test:ident = $name:literal,)+) => {
        const NAMES: &[&str] = &[$($name),+];

        $(
            #[test]
            fn $test() {
                check($name);
            }
        )+
    };
}

sequences! {
    a1_the_plug_goes_through_the_ctx_list = "A1",
    a2_the_plug_is_issued_directly = "A2",
    a3_a_busy_hctx_gets_its_requests_through_the_ctx_list = "A3",
    a4_a_scheduler_takes_the_plug_as_one_group = "A4",
    a5_commit_rqs_rings_once_for_the_list = "A5",
    a6_the_stack_goes_to_the_driver_whole = "A6",
    a7_the_unplug_is_shown_again = "A7",
    a8_the_plug_is_a_queue_again = "A8",
    a9_several_hctxs_hold_one_request_in_the_plug = "A9",
    a10_the_limited_plug_is_traced_and_issued_directly = "A10",
    a11_a_task_that_sleeps_leaves_its_plug_to_a_kworker = "A11",
    a12_the_plug_is_sorted = "A12",
    a13_a_plug_of_one_queue_is_not_sorted = "A13",
    a14_the_stack_turns_the_order_around = "A14",
    a15_the_seventeenth_request_flushes_sixteen = "A15",
    a16_the_thirty_third_request_flushes_thirty_two = "A16",
    a17_an_unplugged_write_is_issued_by_a_kworker = "A17",
    a18_an_unplugged_write_is_issued_directly = "A18",
    a19_an_unplugged_write_goes_to_the_scheduler = "A19",
    a19_a_direct_io_that_plugs_itself_goes_to_the_scheduler_at_once = "A19-plug",
    b1_a_synchronous_request_is_dispatched_by_its_task_on_4_4 = "B1",
    b2_each_direct_io_plugs_itself_on_4_4 = "B2",
    b3_a_sleeper_is_traced_on_4_4 = "B3",
    b4_a_bio_that_merges_needs_no_request = "B4",
    b5_a_bio_that_merges_gives_its_request_back = "B5",
    b6_hctxs_with_shared_tags_fill_a_whole_plug = "B6",
    b7_a_bio_is_compared_with_the_newest_of_the_plug = "B7",
    b8_a_bio_is_compared_with_the_oldest_of_the_plug = "B8",
    b9_a_bio_is_compared_with_the_tail_of_the_plug = "B9",
    b10_neighbours_in_the_plug_are_a_group = "B10",
    b11_a_queue_in_the_plug_is_a_group = "B11",
    b12_several_queues_go_to_their_drivers_in_turn = "B12",
    b13_a_scheduler_gets_the_plug_newest_first_on_6_0 = "B13",
    b14_what_is_left_of_a_plug_is_turned_round_on_6_0 = "B14",
    b15_both_are_in_the_order_of_submission_on_6_1 = "B15",
}

#[test]
fn every_paragraph_of_the_text_is_checked() {
    assert_eq!(paragraphs().iter().map(|p| p.name).collect::<Vec<_>>(), NAMES);
}
