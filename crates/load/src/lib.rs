//! The load generator: plans, key and value generators, sessions, pacing, recording.
//!
//! [`run::run`] carries out a [`Plan`] and gives a `report::StepResult`. Nothing here prints, exits or keeps global state.
#![forbid(unsafe_code)]

pub mod argument;
pub mod cluster;
pub mod connect;
pub mod control;
pub mod distribution;
pub mod error;
pub mod generator;
pub mod machine;
mod memcache;
pub mod pacing;
pub mod plan;
pub mod record;
pub mod run;
mod scanner;
mod script;
pub mod session;
mod start;
pub mod stream;
pub mod template;
mod template_text;
mod timer;
pub mod tls;
mod worker;

pub use control::{Control, Snapshot};
pub use error::{RunError, RunFailure};
pub use plan::Plan;
pub use run::run;
