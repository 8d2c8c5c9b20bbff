//! The Redis wire protocol: request parser, reply writer, client-side reply reader.
#![forbid(unsafe_code)]

pub mod args;
pub mod output;
pub mod reply;
pub mod request;

pub use args::{Args, Span};
pub use output::OutputBuffer;
pub use reply::{Protocol, Reply};
pub use request::{Limits, Parsed, ProtocolError, RequestParser};
