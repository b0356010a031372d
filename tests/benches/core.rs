//! Speed of the core: report 000, with the log off and on, and one job under each scheduler. `cargo xtask bench` sets the same beside wasm.

// cargo builds benches for every target that is linted; criterion knows no wasm.
#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    use criterion::{Criterion, Throughput};
    use mqscope_tests::speed;
    use std::hint::black_box;

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("seed-000");
    group.sample_size(10);
    for (name, log) in [("log-off", false), ("log-on", true)] {
        group.throughput(Throughput::Elements(speed::run(log).events));
        group.bench_function(name, |bencher| bencher.iter(|| black_box(speed::run(log))));
    }
    group.finish();

    let mut group = criterion.benchmark_group("scheduler");
    group.sample_size(10);
    for scheduler in speed::schedulers() {
        group.throughput(Throughput::Elements(speed::run_scheduler(scheduler).ios));
        group
            .bench_function(scheduler, |bencher| bencher.iter(|| black_box(speed::run_scheduler(scheduler))));
    }
    group.finish();
    criterion.final_summary();
}
