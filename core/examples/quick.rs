//! Runs a case and prints the main numbers; a developer's tool.
use mqscope_core::{Sim, cases};
use std::time::Instant;
fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "seed-000".into());
    let case = cases::case(&name).expect("known case");
    for (label, scenario) in &case.sides {
        let mut sim = Sim::new(scenario).expect("valid");
        if std::env::args().nth(2).as_deref() == Some("log") {
            sim.log_mut().set_on(true);
        }
        let t = Instant::now();
        sim.run();
        let wall = t.elapsed().as_secs_f64();
        let r = sim.report();
        println!("{label}: {:.0} IOPS, cpu {:.2}%, {:#?}", r.total.iops, r.cpu.busy_percent, r.cpu);
        println!("lat {:?}", r.total.lat);
        for q in &r.queues {
            println!("{q:?}");
        }
        for o in r.objects.iter().take(12) {
            println!(
                "{:24} {:6.2}/io cont {:.3} wait {:.0} transfers {} lost {}us",
                o.class,
                o.per_io,
                o.contended,
                o.mean_wait_ns,
                o.transfers,
                o.lost_ns / 1000
            );
        }
        let n: u64 = r.series.ios.iter().map(|&x| u64::from(x)).sum();
        println!(
            "wall {wall:.3}s events {} ({:.2} M/s, {:.1}/io) sim requests/s {:.0} hash {}",
            r.events,
            r.events as f64 / wall / 1e6,
            r.events as f64 / n as f64,
            n as f64 / wall,
            r.state_hash
        );
        if sim.log().is_on() {
            println!("log events {}", sim.log().events().len());
            for e in sim.log().events().iter().take(60) {
                println!("{:>9} cpu{} {:?} {:?}", e.at_ns, e.cpu, e.context, e.kind);
            }
        }
    }
}
