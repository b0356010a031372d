//! The state hash: SipHash-1-3 with fixed keys, fed the same bytes on every platform.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// Writes lengths and enum tags as 64 bits, so that 32-bit wasm and 64-bit hosts agree, and all numbers as little
/// endian.
pub(crate) struct StateHasher(SipHasher13);

impl StateHasher {
    pub(crate) fn new() -> Self {
        Self(SipHasher13::new_with_keys(0, 0))
    }
}

impl Hasher for StateHasher {
    fn finish(&self) -> u64 {
        self.0.finish()
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
    fn write_u8(&mut self, i: u8) {
        self.0.write(&[i]);
    }
    fn write_u16(&mut self, i: u16) {
        self.0.write(&i.to_le_bytes());
    }
    fn write_u32(&mut self, i: u32) {
        self.0.write(&i.to_le_bytes());
    }
    fn write_u64(&mut self, i: u64) {
        self.0.write(&i.to_le_bytes());
    }
    fn write_u128(&mut self, i: u128) {
        self.0.write(&i.to_le_bytes());
    }
    fn write_i64(&mut self, i: i64) {
        self.0.write(&i.to_le_bytes());
    }
    fn write_usize(&mut self, i: usize) {
        self.write_u64(i as u64);
    }
    fn write_isize(&mut self, i: isize) {
        self.write_i64(i as i64);
    }
}
