//! The one integration binary: a module a behaviour. It runs natively, and in wasm under Node.

mod recorded_kernels;
