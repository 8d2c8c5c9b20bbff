//! The Redis wire protocol: request parser, reply writer, client-side reply reader.
#![forbid(unsafe_code)]

pub mod args;
pub mod decode;
pub mod encode;
pub mod output;
pub mod reply;
pub mod request;
pub mod scan;

pub use args::{Args, Span};
pub use decode::{Value, ValueDecoder};
pub use output::OutputBuffer;
pub use reply::{Aggregate, Protocol, Reply};
pub use request::{Limits, Parsed, ProtocolError, RequestParser};
pub use scan::{DecodeError, ReplyKind, ReplyScanner, Scanned};
