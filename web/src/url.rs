//! The whole state as a URL fragment: short readable keys, version 1. No browser here.
//!
//! `#v=1&preset=seed-000&a=4.14&b=4.14,dispatch_mode:one-by-one&b.q=mq-deadline,fifo_batch:4&t=2ms&speed=20us`. Keys that say what the preset says
//! anyway are left out. A fragment that cannot be read gives a message for each part that was left aside, and the
//! preset's own values in its place.

use crate::config::{
    BOOKMARKS_MAX, CHANGES_MAX, Config, JOB_MAX, Policy, Rules, SPEED_RANGE, Side, Theme, View, add_bookmark,
};
use crate::player::{EVENT_RATE, WIDTH_MIN_NS};
use crate::preset::{self, Preset};
use crate::sysfs::Sysfs;
use crate::words;
use mqscope_core::Sim;
use mqscope_core::cases::cases;
use mqscope_core::check::Invariant;
use mqscope_core::device;
use mqscope_core::host;
use mqscope_core::kernel;
use mqscope_core::scenario::DURATION_MAX_NS;

/// Longest fragment that is read or written, bytes. Browsers and chats cut longer ones.
pub const FRAGMENT_MAX: usize = 32 * 1024;
/// Longest file that is read, bytes.
pub const FILE_MAX: usize = 256 * 1024;
/// First line of a file.
const FILE_HEAD: &str = "mqscope 1";
/// Most messages about one fragment.
const MESSAGES_MAX: usize = 5;

/// What a fragment said.
#[derive(Clone, Debug)]
pub struct Read {
    /// What to run.
    pub config: Config,
    /// How to look at it.
    pub view: View,
    /// What could not be used, for people.
    pub messages: Vec<String>,
}

/// Escapes all but letters, digits and a few signs that survive in fragments.
fn escape(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b':'
            | b','
            | b'@'
            | b'/' => {
                out.push(byte as char);
            }
            _ => {
                out.push('%');
                out.push(HEX[usize::from(byte >> 4)] as char);
                out.push(HEX[usize::from(byte & 15)] as char);
            }
        }
    }
}

/// Undoes [`escape`], takes `+` as it stands, and bytes that are no UTF-8 as replacement characters.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let digits = bytes.get(i + 1..i + 3).and_then(|d| std::str::from_utf8(d).ok());
        match (bytes[i], digits.and_then(|d| u8::from_str_radix(d, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                i += 3;
            }
            (byte, _) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn rules_text(rules: &Rules) -> String {
    let mut text = rules.kernel.clone();
    for (name, value) in &rules.set {
        text.push_str(&format!(",{name}:{value}"));
    }
    text
}

fn rules_read(text: &str) -> Result<Rules, String> {
    let mut parts = text.split(',');
    let name = parts.next().unwrap_or_default();
    let row = kernel::row(name).ok_or_else(|| {
        let known: Vec<_> = kernel::ROWS.iter().map(|r| r.name).collect();
        format!("there is no kernel row '{}'; there are {}", clip(name), known.join(", "))
    })?;
    let mut rules = Rules::new(row.name, &[]);
    let mut knobs = row.knobs.clone();
    for part in parts.take(kernel::Knobs::NAMES.len()) {
        let (name, value) =
            part.split_once(':').ok_or_else(|| format!("'{}' is not name:value", clip(part)))?;
        knobs.set(name, value).map_err(|e| e.to_string())?;
        rules.set_knob(name, value);
    }
    Ok(rules)
}

fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The fragment of a state, without `#`. A job too long for a link is left out; the flag says so.
pub fn write(config: &Config, view: &View) -> (String, bool) {
    write_within(config, view, FRAGMENT_MAX)
}

/// The state as a file: a heading, then a line for each part of the fragment.
pub fn write_file(config: &Config, view: &View) -> String {
    format!("{FILE_HEAD}\n{}\n", write_within(config, view, FILE_MAX).0.replace('&', "\n"))
}

/// Reads a file that [`write_file`] wrote.
///
/// # Errors
/// Says what else the file seems to be and what would fit.
pub fn read_file(text: &str) -> Result<Read, String> {
    if text.len() > FILE_MAX {
        return Err(format!("The file has {} bytes; at most {FILE_MAX} are read.", text.len()));
    }
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|l| !l.is_empty());
    match lines.next() {
        Some(FILE_HEAD) => Ok(read_within(&lines.collect::<Vec<_>>().join("&"), FILE_MAX)),
        Some(line) => Err(format!(
            "Line 1 is '{}'; a scenario file begins with '{FILE_HEAD}'. A fio job belongs in the Workload panel.",
            clip(line)
        )),
        None => Err(format!("The file is empty; a scenario file begins with '{FILE_HEAD}'.")),
    }
}

fn write_within(config: &Config, view: &View, most: usize) -> (String, bool) {
    let preset = preset::find(&config.preset).unwrap_or_else(preset::first);
    let (usual, usual_view) = (preset.config(), preset.view());
    let mut out = String::from("v=1");
    let mut push = |key: &str, value: &str| {
        out.push('&');
        out.push_str(key);
        out.push('=');
        escape(value, &mut out);
    };
    push("preset", preset.name);
    for side in Side::BOTH {
        let (policy, base) = (config.policy(side), usual.policy(side));
        let key = side.letter().to_lowercase();
        if policy.start != base.start {
            push(&key, &rules_text(&policy.start));
        }
        if policy.sysfs != base.sysfs {
            push(&format!("{key}.q"), &policy.sysfs.text());
        }
        for change in &policy.changes {
            let text = format!("{}@{}", words::exact_span(change.at_ns), rules_text(&change.rules));
            push(&format!("{key}.at"), &text);
        }
    }
    if let Some(machine) = &config.machine {
        push("machine", machine);
    }
    if let Some(device) = &config.device {
        push("device", device);
    }
    if let Some(depth) = config.depth {
        push("depth", &depth.to_string());
    }
    if let Some(seed) = config.seed {
        push("seed", &seed.to_string());
    }
    if let Some(duration) = config.duration_ns {
        push("duration", &words::exact_span(duration));
    }
    if view.side != Side::A {
        push("side", "b");
    }
    if view.both {
        push("both", "1");
    }
    if let Some(width) = view.zoom_ns {
        push("zoom", &words::exact_span(width));
    }
    push("t", &words::exact_span(view.t_ns));
    if let Some(event) = view.event {
        push("event", &event.to_string());
    }
    if view.speed != usual_view.speed {
        push("speed", &words::exact_span(view.speed.round() as u64));
    }
    if let Some(rate) = view.event_rate {
        push("events", &format!("{rate}"));
    }
    if !view.playing {
        push("paused", "1");
    }
    if let Some(rq) = view.selected {
        push("rq", &rq.to_string());
    }
    if view.theme != Theme::Auto {
        push("theme", view.theme.word());
    }
    for bookmark in &view.bookmarks {
        push("mark", &format!("{}:{}", words::exact_span(bookmark.at_ns), bookmark.note));
    }
    if !config.breaks.is_empty() {
        push("break", &config.breaks.iter().map(|i| i.name()).collect::<Vec<_>>().join(","));
    }
    for (name, value) in &config.answers {
        push("var", &format!("{name}:{value}"));
    }
    let mut cut = false;
    if let Some(job) = &config.job {
        let mut text = String::from("&job=");
        escape(job, &mut text);
        cut = out.len() + text.len() > most;
        if !cut {
            out.push_str(&text);
        }
    }
    (out, cut)
}

/// Reads a fragment, with or without `#`. Never fails: what it cannot use it names in the messages.
pub fn read(fragment: &str) -> Read {
    read_within(fragment, FRAGMENT_MAX)
}

fn read_within(fragment: &str, most: usize) -> Read {
    let fragment = fragment.trim_start_matches('#');
    let mut messages = Vec::new();
    let pairs: Vec<(String, String)> = match fragment.len() {
        n if n > most => {
            messages
                .push(format!("The address is {n} bytes long; at most {most} are read. It was left aside."));
            Vec::new()
        }
        _ => fragment
            .split('&')
            .filter(|part| !part.is_empty())
            .take(200)
            .map(|part| part.split_once('=').unwrap_or((part, "")))
            .map(|(key, value)| (unescape(key), unescape(value)))
            .collect(),
    };
    if let Some((_, version)) = pairs.iter().find(|(k, v)| k == "v" && v != "1") {
        messages.push(format!(
            "The address has version '{}'; this page reads version 1 and does what it can.",
            clip(version)
        ));
    }
    let preset = pairs.iter().find(|(k, _)| k == "preset").map_or_else(preset::first, |(_, name)| {
        preset::find(name).unwrap_or_else(|| {
            let known: Vec<_> = cases().iter().map(|case| case.name.as_str()).collect();
            messages.push(format!("There is no preset '{}'; there are {}.", clip(name), known.join(", ")));
            preset::first()
        })
    });
    let mut reader = Reader { config: preset.config(), view: preset.view(), preset };
    for (key, value) in &pairs {
        if let Err(problem) = reader.take(key, value) {
            messages.push(format!("'{}' in the address was left aside: {problem}.", clip(key)));
        }
    }
    for side in Side::BOTH {
        if let Err(problem) = reader.settle(side) {
            let key = side.letter().to_lowercase();
            messages.push(format!("'{key}.q' in the address was left aside: {problem}."));
        }
    }
    let (more, config, view) = (messages.len().saturating_sub(MESSAGES_MAX), reader.config, reader.view);
    if more > 0 {
        messages.truncate(MESSAGES_MAX);
        messages.push(format!("And {more} more."));
    }
    Read { config, view, messages }
}

struct Reader {
    config: Config,
    view: View,
    preset: &'static Preset,
}

impl Reader {
    /// Takes back what no disk of the preset can have: which attributes there are depends on kernel and scheduler.
    fn settle(&mut self, side: Side) -> Result<(), String> {
        let usual = &self.preset.sysfs[side.index()];
        if self.config.policy(side).sysfs == *usual {
            return Ok(());
        }
        let built = |config: &Config| {
            let scenario = config.scenario(&self.preset.base, side).and_then(|s| Sim::new(&s));
            scenario.map(|_| ()).map_err(|error| error.to_string())
        };
        let Err(problem) = built(&self.config) else { return Ok(()) };
        let mut without = self.config.clone();
        without.policies[side.index()].sysfs.clone_from(usual);
        // What does not run without them either has another reason, and is said elsewhere.
        if built(&without).is_err() {
            return Ok(());
        }
        self.config = without;
        Err(problem)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "v" | "preset" => {}
            "a" => self.config.policies[0].start = rules_read(value)?,
            "b" => self.config.policies[1].start = rules_read(value)?,
            "a.at" => change_read(&mut self.config.policies[0], value)?,
            "b.at" => change_read(&mut self.config.policies[1], value)?,
            "a.q" => self.config.policies[0].sysfs = Sysfs::read(value)?,
            "b.q" => self.config.policies[1].sysfs = Sysfs::read(value)?,
            "machine" => {
                let known = host::MACHINES.iter().map(|m| m.name);
                self.config.machine = Some(one_of(value, known)?);
            }
            "device" => {
                let known = device::PRESETS.iter().map(|p| p.name);
                self.config.device = Some(one_of(value, known)?);
            }
            "depth" => self.config.depth = Some(number(value, 1, 65_536)? as u32),
            "seed" => self.config.seed = Some(number(value, 0, u64::MAX)?),
            "duration" => self.config.duration_ns = Some(time(value)?.clamp(1_000, DURATION_MAX_NS)),
            "side" => {
                self.view.side = if one_of(value, ["a", "b"].into_iter())? == "b" { Side::B } else { Side::A }
            }
            "both" => self.view.both = one_of(value, ["0", "1"].into_iter())? == "1",
            "zoom" => self.view.zoom_ns = Some(time(value)?.clamp(WIDTH_MIN_NS, DURATION_MAX_NS)),
            "t" => self.view.t_ns = time(value)?,
            "event" => self.view.event = Some(number(value, 1, u64::MAX)?),
            "speed" => self.view.speed = (time(value)? as f64).clamp(SPEED_RANGE.0, SPEED_RANGE.1),
            "events" => {
                let rate = value.parse::<f64>().ok().filter(|r| (EVENT_RATE.0..=EVENT_RATE.1).contains(r));
                self.view.event_rate = Some(rate.ok_or("it is a number of events a second, 0.5 to 5000")?);
            }
            "paused" => self.view.playing = value == "0",
            "rq" => self.view.selected = Some(number(value, 0, u64::from(u32::MAX))? as u32),
            "theme" => {
                self.view.theme = Theme::from_word(value).ok_or("it is auto, light or dark")?;
            }
            "mark" => {
                let (at, note) = value.split_once(':').ok_or("it is time:note")?;
                if !add_bookmark(&mut self.view.bookmarks, time(at)?, note) {
                    return Err(format!("at most {BOOKMARKS_MAX} moments are kept"));
                }
            }
            "break" => self.config.breaks = breaks_read(value)?,
            "var" => {
                let (name, answer) = value.split_once(':').ok_or("it is name:value")?;
                if self.config.answers.len() >= 32 || name.len() > 100 || answer.len() > 1000 {
                    return Err("it is too long".into());
                }
                self.config.answers.insert(name.into(), answer.into());
            }
            "job" if value.len() > JOB_MAX => return Err(format!("a job has at most {JOB_MAX} bytes")),
            "job" if value == self.preset.job.as_str() => {}
            "job" => self.config.job = Some(value.into()),
            _ => return Err("nothing is known by that name".into()),
        }
        Ok(())
    }
}

fn breaks_read(value: &str) -> Result<Vec<Invariant>, String> {
    let mut breaks = Vec::new();
    for name in value.split(',') {
        let known = Invariant::ALL.into_iter().find(|i| i.name() == name);
        let invariant = known.ok_or_else(|| {
            let all: Vec<_> = Invariant::ALL.iter().map(|i| i.name()).collect();
            format!("'{}' is none of {}", clip(name), all.join(", "))
        })?;
        if !breaks.contains(&invariant) {
            breaks.push(invariant);
        }
    }
    Ok(breaks)
}

fn change_read(policy: &mut Policy, value: &str) -> Result<(), String> {
    let (at, rules) = value.split_once('@').ok_or("it is time@kernel")?;
    if policy.changes.len() >= CHANGES_MAX {
        return Err(format!("at most {CHANGES_MAX} changes are kept"));
    }
    policy.change(time(at)?, rules_read(rules)?);
    Ok(())
}

fn one_of<'a>(value: &str, known: impl Iterator<Item = &'a str> + Clone) -> Result<String, String> {
    match known.clone().find(|k| *k == value) {
        Some(name) => Ok(name.into()),
        None => Err(format!("'{}' is none of {}", clip(value), known.collect::<Vec<_>>().join(", "))),
    }
}

fn number(value: &str, low: u64, high: u64) -> Result<u64, String> {
    match value.parse::<u64>() {
        Ok(n) if (low..=high).contains(&n) => Ok(n),
        _ => Err(format!("'{}' is no whole number from {low} to {high}", clip(value))),
    }
}

fn time(value: &str) -> Result<u64, String> {
    words::parse_span(value)
        .map(|ns| ns.round() as u64)
        .ok_or_else(|| format!("'{}' is no time such as 20us, 2.5ms or 1s, up to an hour", clip(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bookmark;

    fn again(config: &Config, view: &View) -> Read {
        read(&write(config, view).0)
    }

    #[test]
    fn what_is_written_is_read() {
        let preset = preset::first();
        let (mut config, mut view) = (preset.config(), preset.view());
        let same = again(&config, &view);
        assert_eq!((same.config, same.view, same.messages.len()), (config.clone(), view.clone(), 0));

        config.job = Some("[global]\nbs=4k ; ü & # % + =\n[a b]\nrw=randread\n".into());
        config.answers.insert("DISK".into(), "/dev/sd:b".into());
        config.device = Some("null".into());
        config.machine = Some("small".into());
        config.depth = Some(32);
        config.seed = Some(u64::MAX);
        config.duration_ns = Some(7_000_001);
        config.breaks = vec![Invariant::BatchSorted, Invariant::OneHolder];
        config.policies[0].start.set_knob("plug_max", "32");
        config.policies[1].start = Rules::new("6.1", &[("dispatch_mode", "take-all")]);
        config.policies[0].sysfs =
            Sysfs::read("mq-deadline,fifo_batch:4,nomerges:2,nr_requests:32").expect("it reads");
        config.policies[1].sysfs = Sysfs::read("bfq").expect("it reads");
        config.policies[1].change(1_234_567, Rules::new("5.4", &[("plug_max", "4"), ("queue_rqs", "true")]));
        config.policies[1].change(2_000_000, Rules::new("4.14", &[]));
        view = View {
            side: Side::B,
            t_ns: 2_003_456,
            event: Some(81_234),
            speed: 300.0,
            event_rate: Some(12.5),
            playing: false,
            selected: Some(17),
            both: true,
            zoom_ns: Some(5_000),
            bookmarks: vec![
                Bookmark { at_ns: 0, note: String::new() },
                Bookmark { at_ns: 5_000, note: "here: 50 % & more, ü".into() },
            ],
            theme: Theme::Dark,
        };
        let same = again(&config, &view);
        assert_eq!((same.config, same.view), (config, view));
        assert_eq!(same.messages, Vec::<String>::new());
    }

    #[test]
    fn a_file_holds_what_a_link_cannot_and_other_files_are_refused() {
        let preset = preset::first();
        let job = format!("[a]\nrw=randread\n; {}\n", "& = % ü ".repeat(4_000));
        let config = Config { job: Some(job), ..preset.config() };
        assert!(write(&config, &preset.view()).1, "it is too long for a link");
        let text = write_file(&config, &preset.view());
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        for text in [text, windows] {
            let same = read_file(&text).expect("it is a scenario file");
            assert_eq!((same.config, same.view, same.messages), (config.clone(), preset.view(), Vec::new()));
        }
        for bad in ["", "\n\n", "[global]\nrw=read", "mqscope 2\nv=1", &"x".repeat(FILE_MAX + 1)] {
            assert!(read_file(bad).is_err(), "{}", clip(bad));
        }
        assert_eq!(read_file("mqscope 1\nwat=1").expect("it is one").messages.len(), 1);
    }

    #[test]
    fn bad_fragments_give_messages_and_defaults() {
        for bad in [
            "v=9",
            "preset=nope",
            "a=9.99",
            "a=4.14,plug_max:many",
            "a.q=cfq",
            "b.q=none,fifo_batch:4",
            "b.q=mq-deadline,low_latency:1",
            "a=4.14,plug_mxa:3",
            "b.at=4.14",
            "t=-1",
            "t=99h",
            "speed=fast",
            "events=0",
            "depth=0",
            "rq=x",
            "theme=pink",
            "both=perhaps",
            "zoom=near",
            "mark=later",
            "mark=5us",
            "break=everything",
            "var=x",
            "wat",
            "device=floppy",
            "%FF%FE=%zz",
        ] {
            let got = read(bad);
            assert_eq!(got.config, preset::first().config(), "{bad}");
            assert_eq!(got.messages.len(), 1, "{bad}: {:?}", got.messages);
        }
        assert_eq!(read("zoom=0").view.zoom_ns, Some(WIDTH_MIN_NS), "no window is narrower");
        let near = read("a=4.14,plug_mxa:3");
        assert!(near.messages[0].contains("plug_max"), "{:?}", near.messages);
    }

    #[test]
    fn long_fragments_are_refused_and_never_written() {
        let long = format!("job={}", "x".repeat(FRAGMENT_MAX));
        assert_eq!(read(&long).messages.len(), 1);
        let mut config = preset::first().config();
        config.job = Some("é".repeat(JOB_MAX / 2));
        let (text, cut) = write(&config, &preset::first().view());
        assert!(cut && text.len() <= FRAGMENT_MAX);
        let many: String = (0..500).map(|i| format!("k{i}=1&")).collect();
        assert!(read(&many).messages.len() <= MESSAGES_MAX + 1);
    }
}
