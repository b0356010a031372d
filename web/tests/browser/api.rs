//! What JavaScript gives and gets.

use crate::message;
use js_sys::{JSON, Reflect};
use mqscope_core::Sim;
use mqscope_core::scenario::Scenario;
use mqscope_web::api;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

const JOB: &str = "[a]\nfilename=/dev/nvme0n1\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\niodepth=8\nnumjobs=2\n\
                   time_based\nruntime=1\n";

fn js(json: &str) -> JsValue {
    JSON::parse(json).expect("JSON")
}

fn get(value: &JsValue, path: &str) -> JsValue {
    path.split('.').fold(value.clone(), |v, key| Reflect::get(&v, &key.into()).expect(path))
}

fn scenario(kernel: &str) -> JsValue {
    let parsed = api::parse_fio(JOB, JsValue::UNDEFINED).expect("a job");
    let jobs = JSON::stringify(&get(&parsed, "jobs")).expect("jobs");
    js(&format!(
        r#"{{"kernel": "{kernel}", "machine": "small", "duration_ns": 3000000,
            "devices": [{{"name": "nvme0n1", "model": "p4510-2t"}}], "workload": {{"jobs": {jobs}}}}}"#
    ))
}

#[wasm_bindgen_test]
fn a_job_read_in_javascript_runs_in_javascript() {
    let report = api::simulate(scenario("6.1")).expect("a report");
    assert!(get(&report, "total.iops").as_f64().expect("a number") > 10_000.0);
    assert_eq!(get(&report, "queues.length").as_f64(), Some(1.0));
    assert_eq!(get(&report, "queues.0.name").as_string().as_deref(), Some("nvme0n1"));
    assert_eq!(get(&report, "jobs.0.processes").as_f64(), Some(2.0));
    assert!(get(&report, "objects").is_object() && get(&report, "series.ios").is_object());
}

#[wasm_bindgen_test]
fn the_state_hash_is_the_core_s_own() {
    let value = scenario("4.14");
    let plain: Scenario = serde_wasm_bindgen::from_value(value.clone()).expect("a scenario");
    let mut sim = Sim::new(&plain).expect("a run");
    sim.run();
    let report = api::simulate(value).expect("a report");
    assert_eq!(get(&report, "state_hash").as_string(), Some(format!("{:016x}", sim.state_hash())));
}

#[wasm_bindgen_test]
fn mistakes_are_errors_that_can_be_read() {
    let error = |value: JsValue| message(api::simulate(value).expect_err("an error").into());
    let unknown = error(scenario("4.13"));
    assert!(unknown.contains("4.13") && unknown.contains("4.14"), "{unknown}");
    for bad in [JsValue::UNDEFINED, JsValue::from_str("x"), js("{}"), js(r#"{"devices": [], "wat": 1}"#)] {
        let text = error(bad);
        assert!(text.contains("scenario"), "{text}");
    }
}

#[wasm_bindgen_test]
fn a_name_that_is_not_known_is_refused_wherever_it_stands() {
    let value = scenario("6.1");
    let disk = get(&value, "devices.0");
    Reflect::set(&disk, &"shceduler".into(), &"bfq".into()).expect("an object");
    let text = message(api::simulate(value).expect_err("an error").into());
    assert!(text.contains("shceduler") && text.contains("scheduler"), "{text}");
}

#[wasm_bindgen_test]
fn a_map_is_read_as_the_object_with_its_entries() {
    let value = scenario("6.1");
    let set = js_sys::Map::new();
    set.set(&"wat".into(), &"1".into());
    Reflect::set(&value, &"set".into(), &set).expect("an object");
    let text = message(api::simulate(value).expect_err("the knob is not known").into());
    assert!(text.contains("wat"), "{text}");
}

#[wasm_bindgen_test]
fn what_has_no_end_is_refused_in_words() {
    let cycle = scenario("6.1");
    Reflect::set(&cycle, &"devices".into(), &cycle).expect("an object");
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    for bad in [cycle, js(&deep)] {
        let text = message(api::simulate(bad).expect_err("an error").into());
        assert!(text.contains("scenario has a wrong shape: "), "{text}");
    }
}

#[wasm_bindgen_test]
fn a_slip_in_a_job_is_a_diagnostic_with_its_line() {
    let parsed = api::parse_fio("[a]\nrw=randraed\n", JsValue::NULL).expect("a result");
    assert_eq!(get(&parsed, "jobs.length").as_f64(), Some(0.0));
    let all = JSON::stringify(&get(&parsed, "diagnostics")).expect("JSON").as_string().expect("text");
    assert!(all.contains("randraed") && all.contains("\"line\":2"), "{all}");
}

#[wasm_bindgen_test]
fn variables_come_from_the_context() {
    let job = JOB.replace("iodepth=8", "iodepth=${DEPTH}");
    let parsed = api::parse_fio(&job, js(r#"{"variables": {"DEPTH": "4"}}"#)).expect("a result");
    assert_eq!(get(&parsed, "jobs.0.iodepth").as_f64(), Some(4.0));
    let asked = api::parse_fio(&job, JsValue::UNDEFINED).expect("a result");
    assert_eq!(get(&asked, "asks.0.name").as_string().as_deref(), Some("DEPTH"));
    let wrong = message(api::parse_fio(&job, js(r#"{"variables": 3}"#)).expect_err("an error").into());
    assert!(wrong.contains("context"), "{wrong}");
}
