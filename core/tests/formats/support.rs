//! What the fio modules share.

use mqscope_core::format::fio::{Context, Parsed, parse};
use mqscope_core::workload::JobSpec;

/// A machine of 72 CPUs and 192 GiB.
pub fn machine() -> Context {
    Context { cpus: 72, memory_mb: 196_608, ..Context::default() }
}

/// Reads on that machine.
pub fn read(text: impl AsRef<[u8]>) -> Parsed {
    parse(text.as_ref(), &machine())
}

/// The jobs of a text that is right.
pub fn jobs(text: impl AsRef<[u8]>) -> Vec<JobSpec> {
    let parsed = read(text);
    assert!(parsed.is_ok(), "{:#?}", parsed.diagnostics);
    parsed.jobs
}

/// The only job of a section with these lines on a device with direct=1.
pub fn job(lines: &str) -> JobSpec {
    let mut jobs = jobs(format!("[global]\nfilename=/dev/sdx\ndirect=1\nioengine=libaio\n[j]\n{lines}\n"));
    assert_eq!(jobs.len(), 1);
    jobs.remove(0)
}

/// Everything said about such a section; its first line is line 6.
pub fn said(lines: &str) -> Vec<String> {
    let text = format!("[global]\nfilename=/dev/sdx\ndirect=1\nioengine=libaio\n[j]\n{lines}\n");
    messages(&read(text))
}

/// All diagnostics as text.
pub fn messages(parsed: &Parsed) -> Vec<String> {
    parsed.diagnostics.iter().map(ToString::to_string).collect()
}

/// Asserts that there is exactly one message and that it has all these parts.
pub fn assert_one(messages: &[String], parts: &[&str]) {
    assert_eq!(messages.len(), 1, "{messages:#?}");
    for part in parts {
        assert!(messages[0].contains(part), "'{part}' is not in '{}'", messages[0]);
    }
}

/// Asserts that some message has all these parts.
pub fn assert_some(messages: &[String], parts: &[&str]) {
    let found = messages.iter().any(|message| parts.iter().all(|part| message.contains(part)));
    assert!(found, "{parts:?} is not in {messages:#?}");
}
