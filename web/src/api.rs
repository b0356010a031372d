//! The JavaScript API: the simulator without the page.
//!
//! `simulate` and `parseFio` take and give plain objects. Types for TypeScript stand below; a test holds them against
//! what is really given.

use mqscope_core::Sim;
use mqscope_core::format::fio;
use mqscope_core::report::Report;
use mqscope_core::scenario::{Scenario, ScenarioError};
use serde::Serialize;
use std::fmt::Display;
use wasm_bindgen::prelude::*;

/// Most events of one call; a longer run is cut short with a warning, because the caller's page stands still.
pub const EVENTS_MAX: u64 = 50_000_000;

/// Longest input as JSON, bytes.
const INPUT_MAX: usize = 8_000_000;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("api.d.ts");

/// Runs a scenario to its end and gives the report.
///
/// # Errors
/// A readable `Error` if the scenario has a wrong shape, or names or values that are not known.
#[wasm_bindgen(unchecked_return_type = "Report")]
pub fn simulate(
    #[wasm_bindgen(unchecked_param_type = "Scenario")] scenario: JsValue,
) -> Result<JsValue, JsError> {
    let scenario: Scenario = read(&scenario, "scenario", Scenario::from_value)?;
    let report = run(&scenario, EVENTS_MAX).map_err(|e| JsError::new(&e.to_string()))?;
    write(&report)
}

fn run(scenario: &Scenario, events_max: u64) -> Result<Report, ScenarioError> {
    let mut sim = Sim::new(scenario)?;
    let more = sim.run_events(events_max);
    let mut report = sim.report();
    if more {
        report.warnings.push(format!(
            "The run was cut short after {events_max} events at {} ns; shorten duration_ns for a whole one.",
            sim.now_ns()
        ));
    }
    Ok(report)
}

/// Reads a fio job file, or shell text with fio command lines. Errors in the text are no exceptions: they are in
/// `diagnostics`, and `jobs` is empty then.
///
/// # Errors
/// A readable `Error` if the context has a wrong shape.
#[wasm_bindgen(js_name = parseFio, unchecked_return_type = "ParsedFio")]
pub fn parse_fio(
    text: &str,
    #[wasm_bindgen(unchecked_optional_param_type = "FioContext")] context: JsValue,
) -> Result<JsValue, JsError> {
    let context = match context.is_undefined() || context.is_null() {
        true => fio::Context::default(),
        false => read(&context, "context", serde_json::from_value)?,
    };
    write(&fio::parse(text.as_bytes(), &context))
}

/// Reads a plain object as what it should be. By way of JSON: cycles, great depths and unknown names are refused in
/// words.
fn read<T>(
    value: &JsValue,
    what: &str,
    of: fn(serde_json::Value) -> serde_json::Result<T>,
) -> Result<T, JsError> {
    let wrong = |why: &dyn Display| JsError::new(&format!("the {what} has a wrong shape: {why}"));
    let text = plain_text(value).map_err(|e| wrong(&e))?;
    serde_json::from_str(&text).and_then(of).map_err(|e| wrong(&e))
}

/// A value as JSON; a `Map` counts as the object with its entries.
fn plain_text(value: &JsValue) -> Result<String, String> {
    let plain = Closure::<dyn FnMut(JsValue, JsValue) -> JsValue>::new(|_, value: JsValue| {
        match value.dyn_ref::<js_sys::Map>().map(|map| js_sys::Object::from_entries(map)) {
            Some(Ok(object)) => object.into(),
            _ => value,
        }
    });
    let text = js_sys::JSON::stringify_with_replacer(value, plain.as_ref())
        .map_err(|e| e.dyn_ref::<js_sys::Error>().map_or_else(String::new, |e| String::from(e.message())))?;
    let text = JsValue::from(text).as_string().ok_or("it is no plain object")?;
    match text.len() {
        ..=INPUT_MAX => Ok(text),
        long => Err(format!("it is {long} bytes long as JSON; at most {INPUT_MAX} are read")),
    }
}

fn write<T: Serialize>(value: &T) -> Result<JsValue, JsError> {
    let plain = serde_wasm_bindgen::Serializer::json_compatible();
    value
        .serialize(&plain)
        .map_err(|e| JsError::new(&format!("the result cannot be given to JavaScript: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::report::{JobReport, ObjectReport, PageCacheReport, QueueReport};
    use mqscope_core::scenario::{BusyAnswer, DeviceConfig, Path, Vm, WriteCache};
    use mqscope_core::workload::{BsShare, Dbench, JobSpec, SyncFileRange, SyncRange, Workload};
    use serde_json::Value;

    const TYPES: &str = include_str!("api.d.ts");

    /// Names of the fields of an `interface` in the TypeScript text.
    fn declared(interface: &str) -> Vec<String> {
        let start =
            TYPES.find(&format!("interface {interface} {{")).unwrap_or_else(|| panic!("no {interface}"));
        let body = &TYPES[start..start + TYPES[start..].find("\n}").expect("an end")];
        let fields = body.lines().skip(1).map(str::trim).filter(|l| !l.starts_with(['/', '*']));
        fields.filter_map(|l| Some(l.split_once(':')?.0.trim_end_matches('?').to_string())).collect()
    }

    fn json(value: &impl serde::Serialize) -> Value {
        serde_json::to_value(value).expect("plain data")
    }

    fn check(interface: &str, value: &Value) {
        let mut given: Vec<String> = value.as_object().expect(interface).keys().cloned().collect();
        let mut declared = declared(interface);
        given.sort();
        declared.sort();
        assert_eq!(declared, given, "{interface}");
    }

    #[test]
    fn a_run_without_end_is_cut_short_and_says_so() {
        let base = &crate::preset::first().base;
        let report = run(base, 1_000).expect("it runs");
        assert!(report.warnings.iter().any(|w| w.contains("1000 events")), "{:?}", report.warnings);
        let short = Scenario { duration_ns: 100_000, warmup_ns: 0, ..base.clone() };
        assert!(run(&short, 1_000_000).expect("it runs").warnings.is_empty());
    }

    #[test]
    fn types_name_exactly_what_is_given() {
        let report = Report {
            jobs: vec![JobReport::default()],
            queues: vec![QueueReport::default()],
            objects: vec![ObjectReport::default()],
            page_cache: Some(PageCacheReport::default()),
            ..Report::default()
        };
        let report = json(&report);
        check("Report", &report);
        check("JobReport", &report["total"]);
        check("Latency", &report["total"]["clat"]);
        check("QueueReport", &report["queues"][0]);
        check("Phases", &report["queues"][0]["phases"]);
        check("PageCacheReport", &report["page_cache"]);
        check("CpuReport", &report["cpu"]);
        check("ObjectReport", &report["objects"][0]);
        check("Series", &report["series"]);

        // With limits, as fields of none are left out.
        let job = JobSpec {
            rate_iops: [Some(1), None],
            rate: [None, Some(1)],
            file: "a".into(),
            bssplit: [vec![BsShare { bytes: 4096, percent: 100 }], Vec::new()],
            bsrange: Some([[4096; 2]; 2]),
            sync_file_range: Some(SyncFileRange { every: 1, how: SyncRange::default() }),
            ..JobSpec::default()
        };
        // And with everything that can be set on a disk, named one by one so that a new field must be added here.
        let disk = DeviceConfig {
            name: "sdb".into(),
            model: "null".into(),
            params: [(String::from("dies"), 1)].into(),
            members: vec!["sda".into()],
            chunk_kb: Some(4),
            path: Some(Path::Legacy),
            scheduler: "deadline".into(),
            iosched: [(String::from("fifo_batch"), 1)].into(),
            nr_hw_queues: Some(1),
            poll_queues: 1,
            nr_tags: Some(1),
            nr_requests: Some(1),
            queue_depth: Some(1),
            every_nth: 1,
            every_nth_answer: BusyAnswer::DeviceBusy,
            nomerges: 1,
            rq_affinity: 2,
            max_sectors_kb: Some(4),
            shared_tag_bitmap: true,
            max_segments: Some(1),
            write_cache: Some(WriteCache::WriteBack),
            fua: Some(true),
            flush_not_queued: Some(true),
            discard_max_bytes: Some(4096),
            discard_granularity: Some(4096),
            rotational: Some(true),
            completion_ns: Some(1),
            completion_grain_ns: 1,
            completions_ns: vec![1],
            size: Some(65_536),
            file_lock: Some("ext4".into()),
            wbt_lat_usec: Some(1),
            dev: Some((8, 0)),
        };
        let scenario = Scenario {
            title: String::new(),
            duration_ns: 1,
            machine: String::new(),
            costs: [(String::from("irq"), 1)].into(),
            cost_percent: 50,
            hz: 1000,
            vm: Vm { ram_bytes: Some(1 << 30), ..Vm::default() },
            kernel: String::new(),
            break_invariants: vec![mqscope_core::check::Invariant::TagsConserved],
            devices: vec![disk],
            workload: Workload::Jobs(vec![job]),
            ..Scenario::default()
        };
        let scenario = json(&scenario);
        check("Scenario", &scenario);
        check("Vm", &scenario["vm"]);
        check("SyncFileRange", &scenario["workload"]["jobs"][0]["sync_file_range"]);
        check("Device", &scenario["devices"][0]);
        check("Job", &scenario["workload"]["jobs"][0]);

        let clients = Dbench { cpus_allowed: Some(vec![0]), ..Dbench::default() };
        check("Dbench", &json(&clients));

        let parsed = fio::parse(b"[a]\nrw=randraed\niodepth=${N}\nbs=4k\n", &fio::Context::default());
        let parsed = json(&parsed);
        check("ParsedFio", &parsed);
        check("Diagnostic", &parsed["diagnostics"][0]);
        check("Ask", &parsed["asks"][0]);
        check("Accepted", &parsed["accepted"][0]);
        check("FioContext", &json(&fio::Context::default()));
    }
}
