//! CPUs, execution contexts, locks and shared cache lines, and what each costs.
//!
//! A CPU runs one context at a time: a task, a kworker, a hard interrupt or a softirq. A context is a stack of
//! frames; each frame is one kernel function, resumable between steps. A step may touch one shared object, has a
//! visible effect at the moment it starts, and then owes the CPU time it costs (`debt`). Interrupts enter between
//! steps or in the middle of the time owed, never while a lock is held or spun for; that last point is a
//! simplification (a plain spinlock can be interrupted in the kernel).

mod costs;
mod cpu;
mod exec;
mod objects;
mod time;

pub use costs::{Costs, MACHINES, Machine, machine};
pub(crate) use cpu::{Cpu, Flow, Frame, Mode, Runnable};
pub(crate) use objects::{NO_CPU, Objects};
pub use time::CpuTime;
