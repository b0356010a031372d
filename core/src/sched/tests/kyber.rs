//! kyber behind the trait: against a naive model, and its rules with their numbers.

mod against_model;
mod bench;
mod model;
mod order;
mod scaling;
