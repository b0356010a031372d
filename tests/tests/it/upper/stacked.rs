//! Bios that md raid0 and dm linear pass on.

use super::{letters, picked, psync, run, scenario, script, with};
use mqscope_core::Sim;
use mqscope_core::event::Kind;
use mqscope_core::format::blkparse;
use mqscope_core::scenario::{DeviceConfig, Scenario};
use mqscope_core::workload::Workload;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn nvme(name: &str) -> DeviceConfig {
    DeviceConfig::new(name, "p4510-2t")
}

fn stack(name: &str, model: &str, members: &[&str]) -> DeviceConfig {
    DeviceConfig { members: members.iter().map(|m| (*m).into()).collect(), ..DeviceConfig::new(name, model) }
}

/// md0 (disk 0) of 4 KiB chunks over two NVMe disks (1 and 2).
fn raid0(kernel: &str, workload: Workload) -> Scenario {
    let md = DeviceConfig { chunk_kb: Some(4), ..stack("md0", "md-raid0", &["nvme0n1", "nvme1n1"]) };
    scenario(kernel, vec![md, nvme("nvme0n1"), nvme("nvme1n1")], workload)
}

fn one_write() -> Workload {
    Workload::Jobs(vec![psync(0, 1, 1)])
}

#[test]
fn a20_a_member_of_raid0_shows_no_q_on_5_4() {
    let sim = run(&raid0("5.4", script("b w0@0+4 w0@8+4 w0@16+4\nwait\n")));
    assert_eq!(letters(&sim, 0), "Q Q Q");
    assert_eq!(letters(&sim, 1), "A G P A M A M U1 D |irq| C");
    // A file system's direct I/O plugs around one write and ends that plug before it waits (iomap_dio_rw).
    let mut on_a_file = with(raid0("5.4", one_write()), &[("dio_plug", "all")]);
    on_a_file.devices[0].file_lock = Some("ext4".into());
    let sim = run(&on_a_file);
    let member = if letters(&sim, 1).is_empty() { 2 } else { 1 };
    assert_eq!(letters(&sim, 0), "Q");
    assert_eq!(letters(&sim, member), "A G P U1 D |irq| C");
}

#[test]
fn a21_an_ext4_write_on_4_4_is_flushed_by_the_sleeping_task() {
    let mut setup = raid0("4.4", one_write());
    setup.devices[0].file_lock = Some("ext4".into());
    let sim = run(&setup);
    let member = if letters(&sim, 1).is_empty() { 2 } else { 1 };
    assert_eq!(letters(&sim, member), "Q G UT1 I |kworker| D |irq| C");
    assert_eq!(letters(&sim, 0), "Q");
}

#[test]
fn without_the_outer_plug_the_same_write_is_flushed_by_its_own_call() {
    let mut on_a_file = with(raid0("4.4", one_write()), &[("ext4_outer_plug", "false")]);
    on_a_file.devices[0].file_lock = Some("ext4".into());
    let sim = run(&on_a_file);
    let member = if letters(&sim, 1).is_empty() { 2 } else { 1 };
    assert_eq!(letters(&sim, member), "Q G U1 I D |irq| C");
}

#[test]
fn a_bio_is_split_at_chunk_borders_and_its_pieces_alternate() {
    let sim = run(&raid0("5.4", script("b w0@6+8\nwait\n")));
    let pieces = picked(&sim, |event| match event.kind {
        Kind::Remap { queue, extent, from_queue: 0, from_sector, .. } => {
            Some((from_sector, queue, extent.sector, extent.sectors))
        }
        _ => None,
    });
    // KiB 6 to 14: chunk 1 from its middle, chunk 2, chunk 3 to its middle.
    assert_eq!(pieces, [(12, 2, 4, 4), (16, 1, 8, 8), (24, 2, 8, 4)]);
    assert_eq!(letters(&sim, 0), "Q X X");
    let ends = picked(&sim, |event| matches!(event.kind, Kind::BioEnd { .. }).then_some(()));
    assert_eq!(ends.len(), 1, "the I/O ends once, with its last piece");
}

#[test]
fn dm_passes_clones_on_and_reports_its_own_end() {
    let small = |name: &str| DeviceConfig { size: Some(1 << 20), ..nvme(name) };
    let disks = vec![stack("dm-0", "dm-linear", &["a", "b"]), small("a"), small("b")];
    // 4 KiB on each side of the border between the members.
    let sim = run(&scenario("5.4", disks, script("b w0@1020+8\nwait\n")));
    assert_eq!(letters(&sim, 0), "Q X |irq| C");
    assert_eq!(letters(&sim, 1), "A Q G P U1 D |irq| C");
    // The plug was not empty any more: no second P.
    assert_eq!(letters(&sim, 2), "A Q G U1 D |irq| C");
    let places = picked(&sim, |event| match event.kind {
        Kind::Issue { queue, extent, .. } => Some((queue, extent.sector)),
        _ => None,
    });
    assert_eq!(places, [(1, 2040), (2, 0)]);
}

#[test]
fn stacks_stand_on_stacks() {
    let md =
        |name: &str, members: &[&str]| DeviceConfig { chunk_kb: Some(4), ..stack(name, "md-raid0", members) };
    let disks = vec![stack("dm-0", "dm-linear", &["md0"]), md("md0", &["x", "y"]), nvme("x"), nvme("y")];
    let sim = run(&scenario("5.4", disks, script("b w0@4+4\nwait\n")));
    assert_eq!(letters(&sim, 1), "A Q");
    assert_eq!(letters(&sim, 3), "A G P U1 D |irq| C");
}

#[test]
fn wrong_stacks_are_refused_with_the_reason() {
    let refused = |devices: Vec<DeviceConfig>| {
        Sim::new(&scenario("5.4", devices, one_write())).expect_err("it is refused").to_string()
    };
    let loops = vec![stack("a", "dm-linear", &["b"]), stack("b", "dm-linear", &["a"])];
    assert_eq!(refused(loops), "devices.a.members: 'a' would lie on itself");
    let unknown = refused(vec![stack("a", "md-raid0", &["nvme7"]), nvme("nvme0")]);
    assert_eq!(unknown, "unknown member disk (or several of that name) 'nvme7'; known: a, nvme0");
    assert_eq!(refused(vec![stack("a", "md-raid0", &[])]), "devices.a.members: name 1 to 15 other disks");
    let twice = refused(vec![stack("a", "md-raid0", &["n", "n"]), nvme("n")]);
    assert_eq!(twice, "devices.a.members: 'n' is named twice");
    let mut deep: Vec<DeviceConfig> =
        (0..5).map(|i| stack(&format!("d{i}"), "dm-linear", &[&format!("d{}", i + 1)])).collect();
    deep.push(nvme("d5"));
    assert_eq!(refused(deep), "devices.d4.members: at most 4 stacked disks lie above each other");
    let disk = DeviceConfig { chunk_kb: Some(4), ..nvme("n") };
    assert_eq!(
        refused(vec![disk]),
        "devices.n: members and chunk_kb belong to the models md-raid0 and dm-linear"
    );
}

#[test]
fn blkparse_text_of_a_remap_is_read_back() {
    let sim = run(&raid0("5.4", script("b w0@4+4\nwait\n")));
    let text = blkparse::write(sim.log().events(), sim.topology());
    let line = text.lines().find(|line| line.contains(" A ")).expect("there is an A");
    assert!(line.ends_with("A  WS 0 + 8 <- (9,0) 8"), "{line}");
    let (records, findings) = blkparse::read(text.as_bytes());
    assert!(findings.is_empty(), "{findings:?}");
    let remap = records.iter().find(|r| r.action == "A").expect("it is read");
    assert_eq!((remap.dev, remap.sector, remap.sectors, remap.from), ((259, 2), 0, 8, Some(((9, 0), 8))));
    let again: String = records.iter().map(|r| format!("{r}\n")).collect();
    assert_eq!(again, text);
}
