//! The load generator: plans, key and value generators, sessions, pacing, recording.
#![forbid(unsafe_code)]

pub mod argument;
pub mod distribution;
pub mod generator;
pub mod pacing;
pub mod plan;
pub mod record;
pub mod template;
mod template_text;

pub use plan::Plan;
