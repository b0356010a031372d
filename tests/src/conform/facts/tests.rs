use super::*;
use crate::conform::recording::Actor;

/// `task letter rwbs first+sectors` or `task letter N count`; tasks are `a` on CPU 0, `b` on CPU 1, `k` the kworker of
/// CPU 1 and `i` an interrupt on CPU 0. An event a microsecond.
fn trace(text: &str) -> Vec<Line> {
    let line = |(nth, line): (usize, &str)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let blocks = words.get(3).and_then(|w| w.split_once('+'));
        Line {
            dev: if words[0].ends_with('2') { (8, 16) } else { (8, 0) },
            cpu: u16::from(words[0].starts_with(['b', 'k'])),
            pid: u32::from(words[0].as_bytes()[0]),
            actor: match &words[0][..1] {
                "k" => Actor::Worker,
                "i" => Actor::Interrupt,
                name => Actor::Task(name.into()),
            },
            letter: words[1].into(),
            rwbs: words[2].into(),
            extent: blocks.map(|(first, sectors)| {
                (first.parse().expect("a sector"), sectors.parse().expect("sectors"))
            }),
            count: words.get(3).and_then(|w| w.parse().ok()),
            at_ns: nth as u64 * 1000,
        }
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate().map(line).collect()
}

fn value(fact: &str, lines: &[Line]) -> Value {
    fact.parse::<Fact>().unwrap_or_else(|why| panic!("{why}")).value(lines)
}

fn number(fact: &str, lines: &[Line]) -> u64 {
    match value(fact, lines) {
        Value::Number(number) => number,
        Value::Text(text) => panic!("{fact} is a text: {text}"),
    }
}

fn text(fact: &str, lines: &[Line]) -> String {
    match value(fact, lines) {
        Value::Text(text) => text,
        Value::Number(number) => panic!("{fact} is a number: {number}"),
    }
}

/// One plug of two reads, issued backwards, and one write that a kworker issues for CPU 0.
const SMALL: &str = "
    a Q R 8+8
    a G R 8+8
    a P N
    a Q R 4+4
    a G R 4+4
    a D R 4+4
    a D R 8+8
    a Q WS 100+16
    a G WS 100+16
    a I WS 100+16
    k D WS 100+16
    i C R 8+8
    i C R 4+4
    k C WS 100+16";

#[test]
fn letters_and_counts() {
    let lines = trace(SMALL);
    assert_eq!(text("letters.6", &lines), "Q G P Q G D");
    assert_eq!(text("letters-at.4", &lines), "Q@8 G@8 P Q@4");
    assert_eq!(text("letters-kinds", &lines[..3]), "Q:R G:R P:N");
    assert_eq!(text("story.100+16", &lines), "Q100 G100 I100 D100");
    assert_eq!(number("count.D", &lines), 3);
    assert_eq!(number("count.R", &lines), 0);
    assert_eq!(text("kinds.D", &lines), "R:2 WS:1");
    assert_eq!(text("sizes", &lines), "1 x 4, 1 x 8, 1 x 16");
    assert_eq!(text("issued", &lines), "4 8 100");
    assert_eq!(text("issued-blocks", &lines), "4+4 8+8 100+16");
    assert_eq!(text("issued-disks.1", &lines), "8,0@4");
    assert_eq!(text("issued-writes.16", &lines), "100");
    assert_eq!(text("issued-writes.17", &lines), "");
    assert_eq!(text("queued-writes.1", &lines), "100+16");
    assert_eq!(text("batches", &lines), "2 G then 2 D; 1 G then 1 D;");
}

#[test]
fn who_issues_where() {
    let lines = trace(SMALL);
    assert_eq!(number("issuers.submitter", &lines), 2);
    assert_eq!(number("issuers.kworker", &lines), 1);
    assert_eq!(number("issuers.other-cpu", &lines), 1);
    assert_eq!(number("issuers.cpu0", &lines), 2);
    assert_eq!(number("issuers.cpus", &lines), 2);
    assert_eq!(number("completions-home", &lines), 3);
}

#[test]
fn times_from_queue_to_get_and_from_insert_to_issue() {
    let lines = trace(SMALL);
    assert_eq!(number("get-longest-ns", &lines), 1000);
    assert_eq!(number("wait-longest-ns.W", &lines), 1000);
    assert_eq!(number("wait-longest-ns.R", &lines), 0);
}

#[test]
fn runs_of_issues_by_their_order() {
    let queue = "a Q R 30+1\n a Q R 10+1\n a Q R 20+1\n";
    let of = |issues: &str, part: &str| {
        number(&format!("order.{part}"), &trace(&format!("{queue}{}", issues.replace(',', "\n"))))
    };
    assert_eq!(of("a D R 30+1,a D R 10+1,a D R 20+1", "as-queued"), 1);
    assert_eq!(of("a D R 20+1,i C R 5+1,a D R 10+1,a D R 30+1", "reversed"), 1);
    assert_eq!(of("a D R 10+1,a D R 20+1,a D R 30+1", "ascending"), 1);
    assert_eq!(of("a D R 10+1,a D R 30+1,a D R 20+1", "other"), 1);
    assert_eq!(of("a D R 10+1,a D R 30+1,a D R 20+1", "longest"), 3);
    // Another task, and another event than C, end a run.
    assert_eq!(of("a D R 10+1,k D R 20+1,a D R 30+1", "runs"), 0);
    assert_eq!(of("a D R 10+1,a D R 20+1,a I R 40+1,a D R 30+1", "longest"), 2);
    // Reads and then writes, each ascending.
    assert_eq!(of("a D R 10+1,a D R 20+1,a D WS 5+1,a D WS 6+1", "unsorted"), 0);
    assert_eq!(of("a D R 10+1,a D R 20+1,a D WS 5+1,a D WS 4+1", "unsorted"), 1);
}

#[test]
fn a_plug_holds_what_was_got_since_it_opened() {
    // The third G flushes the first two and opens the next plug; a task that sleeps flushes without a G.
    let lines = trace(
        "a G R 1+1\n a P N\n a G R 2+1\n a G R 3+1\n a D R 2+1\n a D R 1+1\n a P N\n a U N 1\n a D R 3+1
         b G R 9+1\n b D R 9+1\n a G R 4+1\n a D R 4+1",
    );
    assert_eq!(number("plug-longest", &lines), 2);
    let slept = trace("a G R 1+1\n a P N\n a G R 2+1\n a G R 3+1\n a Q R 4+1\n a UT N 3\n a G R 4+1\n a P N");
    assert_eq!(number("plug-longest", &slept), 3);
    assert_eq!(number("unplug-longest", &slept), 3);
    assert_eq!(number("got-before-sleep", &slept), 3);
    assert_eq!(text("unplugs-sleep", &slept), "3");
    assert_eq!(text("unplugs", &slept), "");
    assert_eq!(number("plug-longest", &trace("a G R 1+1\n a D R 1+1")), 0);
}

#[test]
fn unplugs_by_disk_and_what_is_issued_around_the_first() {
    let lines = trace("a D R 1+1\n a U N 2\n a2 U N 1\n a2 D R 7+1\n a D R 3+1");
    assert_eq!(text("unplugs", &lines), "2 1");
    assert_eq!(text("unplugs-disks", &lines), "8,0:2 8,16:1");
    assert_eq!(number("issued-before-unplug", &lines), 1);
    assert_eq!(number("issued-after-unplug", &lines), 7);
}

#[test]
fn requests_at_the_disks_at_once() {
    let lines = trace("a D R 1+1\n a2 D R 2+1\n i C R 1+1\n a D R 3+1\n a D R 4+1\n a R R 4+1\n a D R 4+1");
    assert_eq!(number("in-flight", &lines), 3);
    assert_eq!(number("in-flight.8,0", &lines), 2);
    assert_eq!(number("in-flight.8,16", &lines), 1);
    let late = trace(
        "a D R 1+1\n a D R 2+1\n i C R 1+1\n a D R 3+1\n i C R 2+1\n i C R 3+1\n a D R 4+1\n a2 D R 5+1",
    );
    assert_eq!((number("in-flight.8,0", &late), number("in-flight-late.8,0", &late)), (2, 1));
}

#[test]
fn two_writers_and_the_way_of_the_head() {
    let lines = trace(
        "a Q WS 0+8\n a Q WS 8+8\n b Q WS 262144+8\n a D WS 0+8\n b D WS 262144+8\n a D WS 8+8\n a D R 16+8",
    );
    assert_eq!(number("changes.Q", &lines), 1);
    assert_eq!(number("changes.D", &lines), 2);
    assert_eq!(number("jumps", &lines), 2);
}

#[test]
fn requeues_with_and_without_an_issue() {
    // The second R is of a request that never had a D; the first D afterwards is of the last one put back.
    let lines = trace("a D R 1+1\n a R R 1+1\n k R R 2+1\n k D R 2+1\n k R R 3+1\n k D R 1+1");
    assert_eq!(number("requeues.issued", &lines), 1);
    assert_eq!(number("requeues.unissued", &lines), 2);
    assert_eq!(number("requeues.groups", &lines), 2);
    assert_eq!(number("requeues.first", &lines), 1);
}

#[test]
fn flushes_and_fua() {
    let lines = trace("a Q FWS 0+0\n a D WFS 8+8\n k D FN 0+0\n a D FN 0+0\n a I FN 0+0\n a D WS 9+1");
    assert_eq!(number("flushes.issued", &lines), 2);
    assert_eq!(number("flushes.inserted", &lines), 1);
    assert_eq!(number("flushes.kworker", &lines), 1);
    assert_eq!(number("fua-writes", &lines), 1);
    assert_eq!(text("issued-kinds-after.FN", &lines), "FN FN WS");
}

#[test]
fn directions_and_their_ascending_pieces() {
    let lines = trace("k D R 5+1\n k D R 9+1\n k D R 2+1\n k D WS 1+1\n k D WS 3+1\n k D WS 4+1\n k D R 1+1");
    assert_eq!(text("directions", &lines), "R 2+1, W 3, R 1");
    assert_eq!(number("direction-piece-longest", &lines), 3);
}

#[test]
fn runs_of_one_direction_count_only_while_the_other_waits() {
    let lines = trace(
        "a I R 1+1\n a I R 2+1\n a I R 3+1\n k D R 1+1\n a I WS 9+1\n k D R 2+1\n k D R 3+1\n k D WS 9+1\n a I WS 8+1
         k D WS 8+1",
    );
    assert_eq!(number("run-longest.R", &lines), 2);
    assert_eq!(number("run-longest.W", &lines), 0);
}

#[test]
fn names_that_are_no_facts_are_refused() {
    for name in
        ["order.sideways", "letters.x", "in-flight.8", "in-flight-late.8", "story.5", "plugs", "count"]
    {
        assert_eq!(name.parse::<Fact>(), Err(format!("'{name}' is no fact")));
    }
}
