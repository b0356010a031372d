//! CPUs, execution contexts, locks and shared cache lines, and what each costs.

mod costs;

pub use costs::{Costs, MACHINES, Machine, machine};
