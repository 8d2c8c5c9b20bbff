//! What a run produced: the result model and its renderings.
#![forbid(unsafe_code)]

pub mod histogram;
pub mod model;

pub use histogram::Histogram;
pub use model::{RunResult, StepResult};
