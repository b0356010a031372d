//! Schedulers as policies: what they do with random operations, compared with naive models and with their own bounds.

mod bench;
mod bfq;
mod deadline_depth;
mod deadline_model;
mod deadline_order;
mod deadline_recorded;
mod kyber;
