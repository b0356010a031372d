//! Which disk a job uses, and where on it.

use crate::support::{assert_one, assert_some, jobs, machine, messages, read};
use mqscope_core::format::fio::{Context, parse};
use mqscope_core::workload::Amount;

#[test]
fn devices_are_disks_in_order_of_appearance() {
    let parsed =
        read("[global]\ndirect=1\n[a]\nfilename=/dev/sdb:/dev/sda\nsize=1g\n[b]\nfilename=/dev/sda\n");
    assert_eq!(parsed.files, ["/dev/sdb", "/dev/sda"]);
    assert_eq!(
        (parsed.jobs[0].files.as_slice(), parsed.jobs[1].files.as_slice()),
        ([0, 1].as_slice(), [1].as_slice())
    );
    // fio gives each of two files half of size, and transfers size in all.
    assert_eq!(parsed.jobs[0].size, Some(Amount::Bytes(1 << 29)));
    assert_eq!(parsed.jobs[0].io_size, Some(Amount::Bytes(1 << 30)));
    assert!(parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
    assert_eq!(
        read("[a]\nfilename=/dev/disk/by-path/pci-0\\:1:/dev/sda\n").files,
        ["/dev/disk/by-path/pci-0:1", "/dev/sda"]
    );
}

#[test]
fn files_of_one_directory_lie_side_by_side() {
    let parsed = read(
        "[global]\ndirect=1\ndirectory=/mnt/x\nsize=1g\n[a]\nfilename=one\n[b]\nfilename=two\noffset=4k\n[c]\nnumjobs=4\n",
    );
    assert_eq!(parsed.files, ["/mnt/x"]);
    let places: Vec<_> = parsed.jobs.iter().map(|job| (job.offset, job.offset_increment)).collect();
    let gib = |n: u64, more: u64| Amount::Bytes((n << 30) + more);
    assert_eq!(places, [(gib(0, 0), gib(0, 0)), (gib(1, 4096), gib(0, 0)), (gib(2, 4096), gib(1, 0))]);
    let said = messages(&parsed);
    assert_eq!(said.len(), 3, "{said:#?}");
    assert_some(&said, &["'c' has 4 files of 1073741824 bytes in /mnt/x"]);
}

#[test]
fn processes_share_a_named_file() {
    let jobs =
        jobs("[a]\nfilename=/mnt/f\nsize=1g\nnumjobs=4\ndirect=1\n[b]\nfilename=/mnt/f\nsize=1g\ndirect=1\n");
    assert!(
        jobs.iter().all(|job| job.offset_increment == Amount::Bytes(0) && job.offset == Amount::Bytes(0))
    );
    let shared = read("[a]\ndirectory=/mnt\nfilename_format=shared.$filenum\nsize=1g\nnumjobs=4\ndirect=1\n");
    assert_eq!(
        (shared.files[0].as_str(), shared.jobs[0].offset_increment),
        ("/mnt/shared.0", Amount::Bytes(0))
    );
}

#[test]
fn a_file_without_size_is_the_whole_disk() {
    assert_one(&messages(&read("[a]\nfilename=f\ndirect=1\n")), &["'f' is a regular file without size"]);
    assert_some(&messages(&read("[a]\ndirectory=d\nnumjobs=2\ndirect=1\n")), &["a length is missing"]);
}

#[test]
fn fixed_disks_are_matched_by_name_and_then_in_order() {
    let text = "[global]\ndirect=1\n[a]\nfilename=/dev/sdb\n[b]\nfilename=/dev/sdz\n[c]\nfilename=sdc\n";
    let context =
        |disks: &[&str]| Context { disks: disks.iter().map(|d| (*d).into()).collect(), ..machine() };
    let parsed = parse(text.as_bytes(), &context(&["sda", "sdb", "sdc"]));
    let files: Vec<_> = parsed.jobs.iter().map(|job| job.files.clone()).collect();
    assert_eq!(files, [[1], [0], [2]]);
    assert_eq!(parsed.files, ["/dev/sdz", "/dev/sdb", "sdc"]);
    // What is not there is told with its line, and what is used instead; a file lies on any disk.
    let warned = &parsed.diagnostics[0];
    assert_eq!((parsed.diagnostics.len(), warned.line), (1, 6));
    assert_some(&messages(&parsed), &["no disk '/dev/sdz' here, only sda, sdb, sdc: sda is used instead"]);
    let one = parse(text.as_bytes(), &context(&["sdb"]));
    assert!(one.jobs.iter().all(|job| job.files == [0]));
    assert_some(&messages(&one), &["'/dev/sdz' shares the disk sdb with '/dev/sdb'"]);
}

#[test]
fn regions_are_cut_to_the_disk() {
    let on = |lines: &str, bytes: u64| {
        let text = format!("[a]\nfilename=/dev/a\ndirect=1\n{lines}\n");
        let parsed = parse(text.as_bytes(), &Context { disk_bytes: Some(bytes), ..machine() });
        assert!(parsed.is_ok());
        (parsed.jobs[0].clone(), messages(&parsed))
    };
    let (job, said) = on("size=1g\noffset=50%", 1 << 30);
    assert_eq!(job.size, Some(Amount::Bytes(1 << 29)));
    assert_one(&said, &["more than the 536870912 bytes"]);
    let (job, said) = on("numjobs=4\noffset_increment=1g", 1 << 30);
    assert_eq!(job.offset_increment, Amount::Bytes(1 << 28));
    assert_one(&said, &["would start beyond the end of the disk"]);
    let (_, said) = on("numjobs=4\noffset_increment=256m\nsize=256m", 1 << 30);
    assert!(said.is_empty(), "{said:#?}");
}
