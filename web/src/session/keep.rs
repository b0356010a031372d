//! What can be kept: bookmarks, the scenario as a file, numbers and the picture.

use super::Session;
use crate::config::{BOOKMARKS_MAX, Side, add_bookmark};
use crate::draw::palette::Palette;
use crate::draw::stage::Stage;
use crate::draw::svg::Svg;
use crate::player::Player;
use leptos::prelude::*;
use mqscope_core::report::{PERCENTILES, Report};
use mqscope_core::scenario::Scenario;

/// Size of the picture as SVG.
const SVG_SIZE: (f32, f32) = (1_200.0, 620.0);
/// Frames in which a picture comes to rest at most.
const FRAMES_MAX: usize = 300;

impl Session {
    /// Keeps this moment with a note; false, with a message, if there is no room.
    pub fn bookmark(&self, note: &str) -> bool {
        let now = self.frame.get_untracked().now_ns;
        let kept = self.bookmarks.try_update(|list| add_bookmark(list, now, note)) == Some(true);
        if kept {
            self.said.set(format!("{} is kept.", crate::words::moment(now)));
            self.moved();
        } else {
            self.notify(format!("At most {BOOKMARKS_MAX} moments are kept; remove one first."));
        }
        kept
    }

    /// Forgets the moment kept at `at_ns`.
    pub fn forget_bookmark(&self, at_ns: u64) {
        self.bookmarks.update(|list| list.retain(|b| b.at_ns != at_ns));
        self.moved();
    }

    /// Goes to a moment and stands there.
    pub fn seek_paused(&self, at_ns: u64) {
        self.set_playing(false);
        self.seek(at_ns);
    }

    /// The scenario as a file's text.
    pub fn file(&self) -> String {
        self.config.with_untracked(|c| crate::url::write_file(c, &self.view()))
    }

    /// The settings of the policy on the stage as the shell commands that would make them on a real machine.
    pub fn shell(&self) -> String {
        let side = self.side.get_untracked();
        let (title, changes) =
            self.config.with_untracked(|c| (c.label(side), c.policy(side).changes.clone()));
        let commands = |p: &Player| {
            let scenario = Scenario { title, ..p.scenario().clone() };
            mqscope_core::format::sysfs::commands(&scenario, p.topology())
        };
        let mut text = self.with_player(commands).unwrap_or_default();
        for change in changes {
            text += &format!(
                "# From {} on the run has the rules of {}: part of the kernel's code, which no command changes.\n",
                crate::words::moment(change.at_ns),
                change.rules.label()
            );
        }
        text
    }

    /// Takes over a file that [`Session::file`] wrote; what it is instead is said in words.
    pub fn load_file(&self, text: &str) {
        match crate::url::read_file(text) {
            Ok(read) => {
                self.leave();
                self.notices.set(Vec::new());
                self.load(read);
            }
            Err(problem) => self.refuse(problem),
        }
    }

    /// The numbers of both policies as comma-separated values with a heading.
    pub fn csv(&self) -> String {
        let sides = Side::BOTH.map(|side| {
            let label = self.config.with_untracked(|c| c.label(side));
            let report = self.numbers[side.index()].with_untracked(|n| n.as_ref().map(|n| n.report.clone()));
            (side.letter(), label, report)
        });
        csv(&sides)
    }

    /// The moment on the stage as an SVG document.
    pub fn svg(&self, dark: bool) -> Option<String> {
        let palette = if dark { Palette::DARK } else { Palette::LIGHT };
        let selected = self.selected.get_untracked();
        let title = self.config.with_untracked(|c| c.label(self.side.get_untracked()));
        self.with_player(|p| {
            let mut stage = Stage::new(p.topology(), SVG_SIZE.0, SVG_SIZE.1);
            let queues = || 0..p.topology().queues.len() as u16;
            stage.select(selected);
            stage.announce(queues().map(|q| p.scheduler_view(q).map_or(0, |v| v.next)).collect());
            stage.look_into(queues().map(|q| p.device_view(q)).collect());
            for _ in 0..FRAMES_MAX {
                if !stage.update(p.scene(), 16.0, p.jumps(), false) {
                    break;
                }
            }
            let mut svg = Svg::new(palette);
            stage.paint_ground(p.topology(), &palette, &mut svg);
            stage.paint_live(p.scene(), |cpu| p.function(cpu), &palette, &mut svg);
            let title = format!("{title} at {}", crate::words::moment(p.now_ns()));
            svg.finish(SVG_SIZE.0, SVG_SIZE.1, &title)
        })
    }
}

/// A field: quoted where it needs to be.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

fn csv(sides: &[(&str, String, Option<Report>)]) -> String {
    let mut out = String::from("policy,name,quantity,unit,value\n");
    for (letter, label, report) in sides {
        let Some(report) = report else { continue };
        let mut line = |quantity: &str, unit: &str, value: f64| {
            out += &format!("{letter},{},{},{unit},{value}\n", field(label), field(quantity));
        };
        line("simulated time", "ns", report.end_ns as f64);
        line("IOPS", "1/s", report.total.iops);
        line("bandwidth", "bytes/s", report.total.bandwidth);
        line("mean latency", "ns", report.total.lat.mean_ns);
        for (percent, ns) in PERCENTILES.iter().zip(&report.total.clat.percentiles_ns) {
            line(&format!("clat p{percent}"), "ns", *ns as f64);
        }
        for (quantity, value) in [
            ("user", report.cpu.user_ns),
            ("system", report.cpu.system_ns),
            ("hard interrupts", report.cpu.irq_ns),
            ("softirq", report.cpu.softirq_ns),
            ("spinning", report.cpu.spin_ns),
            ("CPU", report.cpu.total_ns),
        ] {
            line(&format!("{quantity} time for an I/O"), "ns", value);
        }
        for q in &report.queues {
            for (quantity, unit, value) in [
                ("requests", "1/s", q.requests_per_s),
                ("merges", "1/s", q.merges_per_s),
                ("await", "ns", q.await_ns),
                ("aqu-sz", "1", q.aqu_sz),
                ("Q2G", "ns", q.phases.q2g_ns),
                ("G2I", "ns", q.phases.g2i_ns),
                ("I2D", "ns", q.phases.i2d_ns),
                ("D2C", "ns", q.phases.d2c_ns),
            ] {
                line(&format!("{} {quantity}", q.name), unit, value);
            }
        }
        for object in &report.objects {
            line(&format!("{} lost", object.class), "ns", object.lost_ns as f64);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use mqscope_core::Sim;
    use mqscope_core::cases::case;

    #[test]
    fn every_line_has_five_fields_and_the_numbers_are_those_of_the_report() {
        let (_, scenario) = case("plug-merge").expect("the case").sides().swap_remove(0);
        let mut sim = Sim::new(&scenario).expect("it runs");
        sim.run();
        let report = sim.report();
        let text = csv(&[("A", String::from("a, \"b\""), Some(report.clone())), ("B", String::new(), None)]);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("policy,name,quantity,unit,value"));
        for line in lines {
            let rest = line.strip_prefix("A,\"a, \"\"b\"\"\",").expect("policy and quoted name");
            assert_eq!(rest.split(',').count(), 3, "{line}");
            assert!(rest.rsplit(',').next().is_some_and(|n| n.parse::<f64>().is_ok()), "{line}");
        }
        assert!(text.contains(&format!(",IOPS,1/s,{}\n", report.total.iops)));
    }
}
