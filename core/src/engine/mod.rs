//! The event engine: what happens next, in the order (time, sequence).

pub(crate) mod agenda;
pub(crate) mod hash;
pub(crate) mod rng;
pub(crate) mod slab;
