//! Whatever bytes arrive, a reader answers, and soon.

use mqscope_core::format::iob;
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Text of about `bytes_max` bytes of words that the readers know, in any order.
fn plausible(words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
}

/// Far above what any of these inputs needs, far below what a user takes for a hang.
const SOON: Duration = Duration::from_secs(5);

fn soon<T>(read: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = read();
    assert!(start.elapsed() < SOON, "took {:?}", start.elapsed());
    answer
}

const IOB: &[&str] =
    &["b", " ", "\n", "r", "w", "@", "+", "4", "99999999999", ".", "cpu", "wait", "sleep", "#", "1"];

proptest! {
    #[test]
    fn on_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = iob::parse(&bytes);
    }

    #[test]
    fn on_shuffled_batch_scripts(bytes in plausible(IOB)) {
        let _ = iob::parse(&bytes);
    }
}

#[test]
fn on_a_mebibyte_of_anything() {
    for pattern in [&b"\0"[..], b"\xff", b"b r@0+4 ", b"x\n", b"\r", b"=", b"\xe4 "] {
        let bytes: Vec<u8> = pattern.iter().copied().cycle().take(1 << 20).collect();
        let _ = soon(|| iob::parse(&bytes));
    }
}
