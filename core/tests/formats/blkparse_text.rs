//! blkparse's text, read and written.

use mqscope_core::event::{Context, Event, Extent, Kind, NO_TASK, Op, Place};
use mqscope_core::format::blkparse::{Record, Writer, read, write};
use mqscope_core::topology::{Cpu, Queue, Task, Topology};
use proptest::prelude::*;

fn records(text: &[u8]) -> (Vec<Record>, Vec<String>) {
    let (records, findings) = read(text);
    (records, findings.iter().map(ToString::to_string).collect())
}

fn count(records: &[Record], action: &str) -> usize {
    records.iter().filter(|record| record.action == action).count()
}

/// Recordings of Linux 6.1 with every letter that blk-mq writes there.
const RECORDINGS: [&str; 5] = [
    include_str!("../data/blkparse/k61-m03-merge-nomerges0-null4q-none.txt"),
    include_str!("../data/blkparse/k61-s09-split-nvme0n1-none.txt"),
    include_str!("../data/blkparse/k61-s06-requeue-scsidebug-none.txt"),
    include_str!("../data/blkparse/k61-s08-flush-sda-none.txt"),
    include_str!("../data/blkparse/k61-m06-busy-null1q-depth4-none.txt"),
];

#[test]
fn records_print_as_blkparse_printed_them() {
    let mut letters = std::collections::BTreeSet::new();
    for text in RECORDINGS {
        let (records, _) = records(text.as_bytes());
        let lines: Vec<&str> =
            text.lines().filter(|line| line.trim_start().contains(',') && line.contains('.')).collect();
        let lines: Vec<&str> =
            lines.into_iter().filter(|line| !line.contains(':') || line.contains('[')).collect();
        let printed: Vec<String> = records.iter().map(ToString::to_string).collect();
        assert_eq!(printed, lines);
        letters.extend(records.into_iter().map(|record| record.action));
    }
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(letters, ["C", "D", "F", "G", "I", "M", "P", "Q", "R", "U", "UT", "X"]);
}

#[test]
fn the_default_form_with_a_summary() {
    let (records, said) = records(include_bytes!("../data/blkparse/plug-merge.txt"));
    let counts = ["Q", "G", "M", "P", "U", "I", "D", "C", "X"].map(|action| count(&records, action));
    assert_eq!(counts, [9, 7, 2, 1, 1, 7, 7, 7, 1]);
    assert!(records.is_sorted_by_key(|record| record.time_ns));
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].contains("not in order of time") && said[0].contains("sequence numbers"), "{said:#?}");
    let unplug = records.iter().find(|record| record.action == "U").expect("an unplug");
    assert_eq!(
        (unplug.depth, unplug.process.as_str(), unplug.has_extent()),
        (Some(5), "iou-sqp-5976", false)
    );
    let split = records.iter().find(|record| record.action == "X").expect("a split");
    assert_eq!((split.sector, split.at_sector), (1_479_315_464, Some(1_479_316_480)));
    let at = |action: &str| {
        records
            .iter()
            .find(|record| record.action == action && record.sector == 2_061_024)
            .map(|record| record.time_ns)
    };
    let (q, d, c) = (at("Q").expect("Q"), at("D").expect("D"), at("C").expect("C"));
    assert_eq!((c - q, c - d), (159_500, 149_500));
    let issuer = records.iter().find(|record| record.action == "D").map(|record| record.process.as_str());
    assert_eq!(issuer, Some("kworker/1:1H"));
}

#[test]
fn an_old_trace_with_messages_remaps_and_requeues() {
    let (records, said) = records(include_bytes!("../data/blkparse/old-cfq-messages.txt"));
    assert_eq!(records.len(), 32);
    assert_eq!([count(&records, "m"), count(&records, "A"), count(&records, "S")], [5, 4, 1]);
    assert_eq!((records[0].from, records[0].sector), (Some(((8, 1), 223_427)), 223_490));
    assert!(records.iter().any(|record| record.message == "cfq697S / alloced"));
    let s = records.iter().position(|record| record.action == "S").expect("S");
    assert_eq!((records[s].sector, records[s + 1].action.as_str()), (771, "Q"));
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said.iter().any(|text| text.contains("CFQ")) && said.iter().any(|text| text.contains("last D")));
}

#[test]
fn a_custom_format_with_a_header() {
    let (records, said) = records(include_bytes!("../data/blkparse/custom-format.csv"));
    assert_eq!(records.len(), 42);
    assert_eq!(count(&records, "U"), 1);
    assert!(records.iter().all(|record| record.dev == (0, 0) && record.depth.is_none()));
    assert!(records.iter().filter(|record| record.action == "C").all(|record| record.process.is_empty()));
    let has =
        |part: &str| assert!(said.iter().any(|text| text.contains(part)), "'{part}' is not in {said:#?}");
    has("no column for device");
    has("depth of an unplug");
    has("2 lines are blkparse's own messages");
    has("not in order of time");

    let text = include_str!("../data/blkparse/custom-format.csv");
    let headless = text.split_once('\n').map_or("", |(_, rest)| rest);
    let (records, findings) = read(headless.as_bytes());
    assert!(records.is_empty());
    assert!(
        findings.iter().any(|d| d.is_error() && d.remedy.contains("Put a header in front")),
        "{findings:#?}"
    );
}

#[test]
fn mail_windows_and_other_locales() {
    let text = include_str!("../data/blkparse/plug-merge.txt");
    let (plain, _) = records(text.as_bytes());
    let quoted: String = text.lines().map(|line| format!("> > {line}\r\n")).collect();
    assert_eq!(records(quoted.as_bytes()).0, plain);
    let commas: String = text.lines().map(|line| line.replacen(".000", ",000", 1) + "\n").collect();
    assert_eq!(records(commas.as_bytes()).0, plain);
    // Cut at the last blank before column 50.
    let wrapped: String = text
        .lines()
        .map(|line| match line.get(..50).and_then(|start| start.rfind(' ')) {
            Some(at) => format!("{}\n{}\n", &line[..at], &line[at..]),
            None => format!("{line}\n"),
        })
        .collect();
    let (joined, said) = records(wrapped.as_bytes());
    assert_eq!(joined, plain);
    assert!(said.iter().any(|text| text.contains("wrapped")), "{said:#?}");
}

#[test]
fn what_is_left_out_or_missing_is_said() {
    let line = "  8,0    1        1     0.000000000   697  Q   R 8 + 8 [fio]\n";
    let said = |text: &str| records(text.as_bytes()).1.join("\n");
    assert!(
        said(&format!("{line}some words\n{line}"))
            .contains("line 2: warning: 1 lines are no blkparse events")
    );
    assert!(
        said(&format!("{line}CPU1 (a):\nEvents (a): 9 entries\n"))
            .contains("counts 9 events, the text has 1")
    );
    assert!(said(&format!("{line}CPU1 (a):\nSkips: 3 forward (17 - 2.0%)\n")).contains("lost events"));
    assert!(said(&line.replace(" Q ", "ZZ ")).contains("does not document: ZZ"));
    assert!(said("hello\n").contains("no blkparse event"));
    let (_, binary) = read(b"\x07taeabcdefgh");
    assert!(binary[0].is_error() && binary[0].message.contains("binary"), "{binary:?}");
}

fn topology() -> Topology {
    let task = |name: &str, pid| Task { name: name.into(), pid, cpu: 0, iodepth: 1 };
    let queue = |dev| Queue {
        name: "sda".into(),
        model: "null".into(),
        path: Default::default(),
        driver: mqscope_core::topology::Driver::Null,
        scheduler: "none".into(),
        tunables: Vec::new(),
        dev,
        nr_tags: 64,
        nr_requests: 64,
        queue_depth: 64,
        sectors: 1 << 30,
        hctxs: vec![0],
        units: Vec::new(),
    };
    Topology {
        cpus: (0..4).map(|core| Cpu { socket: 0, cache: 0, core }).collect(),
        tasks: vec![task("disk a]", 1547), task("a name longer than the kernel keeps", 1548)],
        queues: vec![queue((254, 0)), queue((8, 16))],
        ..Topology::default()
    }
}

#[test]
fn events_print_in_the_default_form() {
    let extent = Extent::new(Op::Write, 2000, 64);
    let event = |at_ns, cpu, context, task, kind| Event { at_ns, cpu, context, task, kind };
    let on_task = |at_ns, kind| event(at_ns, 1, Context::Task, 0, kind);
    let events = [
        on_task(0, Kind::Queue { bio: 1, queue: 0, extent }),
        on_task(700, Kind::Split { bio: 1, queue: 0, extent, at_sector: 2032 }),
        on_task(800, Kind::Plug { queue: 0 }),
        on_task(900, Kind::TagAlloc { rq: 1, bio: 1, hctx: 0, tag: 3 }),
        on_task(1000, Kind::Unplug { queue: 0, count: 3, explicit: false }),
        event(1_500, 1, Context::HardIrq, NO_TASK, Kind::Complete { rq: 1, queue: 1, extent }),
        event(2_000, 2, Context::Kworker, NO_TASK, Kind::Issue { rq: 1, queue: 0, hctx: 0, extent }),
        event(
            12_000_000_345,
            3,
            Context::SoftIrq,
            NO_TASK,
            Kind::Insert {
                rq: 1,
                queue: 0,
                hctx: 0,
                place: Place::DispatchList,
                extent: Extent::new(Op::Read, extent.sector, extent.sectors),
            },
        ),
        event(12_000_000_346, 1, Context::Idle, NO_TASK, Kind::Requeue { rq: 1, queue: 0, hctx: 0, extent }),
    ];
    let expected = "\
254,0    1        1     0.000000000  1547  Q  WS 2000 + 64 [disk a]]
254,0    1        2     0.000000700  1547  X  WS 2000 / 2032 [disk a]]
254,0    1        3     0.000000800  1547  P   N [disk a]]
254,0    1        4     0.000001000  1547 UT   N [disk a]] 3
  8,16   1        5     0.000001500  1547  C  WS 2000 + 64 [0]
254,0    2        1     0.000002000   152  D  WS 2000 + 64 [kworker/2:1H]
254,0    3        1    12.000000345     0  I   R 2000 + 64 [swapper/3]
254,0    1        6    12.000000346     0  R  WS 2000 + 64 [0]
";
    assert_eq!(write(&events, &topology()), expected);
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let extent = (any::<bool>(), 0..u64::MAX, 1..u32::MAX).prop_map(|(write, sector, sectors)| {
        Extent::new(if write { Op::Write } else { Op::Read }, sector, sectors)
    });
    (0..13_u8, 0..2_u16, extent, any::<u32>()).prop_map(|(which, queue, extent, count)| match which {
        0 => Kind::Queue { bio: 1, queue, extent },
        1 => Kind::Split { bio: 1, queue, extent, at_sector: u64::from(count) },
        2 => Kind::BackMerge { bio: 1, rq: 1, queue, extent },
        3 => Kind::FrontMerge { bio: 1, rq: 1, queue, extent },
        4 => Kind::GetRequest { bio: 1, rq: 1, queue, extent },
        5 => Kind::Plug { queue },
        6 => Kind::Unplug { queue, count, explicit: count % 2 == 0 },
        7 => Kind::Insert { rq: 1, queue, hctx: 0, place: Place::Ctx(0), extent },
        8 => Kind::Issue { rq: 1, queue, hctx: 0, extent },
        9 => Kind::Requeue { rq: 1, queue, hctx: 0, extent },
        10 => Kind::Complete { rq: 1, queue, extent },
        11 => Kind::ContextEnd,
        _ => Kind::RunBegin { hctx: 0 },
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    let contexts = [Context::Task, Context::HardIrq, Context::SoftIrq, Context::Kworker, Context::Idle];
    let fields = (0..u64::MAX, 0..6_u16, prop::sample::select(contexts.to_vec()), 0..2_u16, any_kind());
    fields.prop_map(|(at_ns, cpu, context, task, kind)| {
        let task = if context == Context::Task { task } else { NO_TASK };
        Event { at_ns, cpu, context, task, kind }
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(mut events in prop::collection::vec(any_event(), 1..60)) {
        events.sort_by_key(|event| event.at_ns);
        let topology = topology();
        let mut writer = Writer::new(&topology);
        let expected: Vec<Record> = events.iter().filter_map(|event| writer.record(event)).collect();
        let (read, findings) = read(write(&events, &topology).as_bytes());
        prop_assert_eq!(&read, &expected);
        let errors = findings.iter().filter(|d| d.is_error()).count();
        prop_assert_eq!(errors, usize::from(expected.is_empty()));
    }
}
