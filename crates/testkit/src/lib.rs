//! Test support: clients and servers to test with, scripts, and the oracle, which asks a real server.
#![forbid(unsafe_code)]

pub mod client;
pub mod cluster;
pub mod fake_server;
pub mod oracle;
pub mod peer;
pub mod ports;
pub mod reply;
pub mod schema;
pub mod script;
pub mod shell;
pub mod tap;
pub mod tls;
