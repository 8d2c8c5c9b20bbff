//! What a run produced: the result model and its renderings.
#![forbid(unsafe_code)]

pub mod calendar;
pub mod histogram;
pub mod model;
pub mod render;

pub use histogram::Histogram;
pub use model::{RunResult, StepResult};
