//! All commands, one file a family; each family's table stands at the bottom of its file.

pub mod bitmap;
pub mod blocking;
pub mod client;
pub mod client_line;
pub mod config;
pub mod connection;
pub mod counted;
pub mod debug;
pub mod hash;
pub mod info;
pub mod introspection;
pub mod keys;
pub mod list;
pub mod pubsub;
pub mod server;
pub mod set;
pub mod set_operations;
pub mod stream;
pub mod string;
pub mod transaction;
pub mod zset;

use crate::command::Command;

/// The families, in the order in which `COMMAND` lists them.
pub const FAMILIES: &[&[Command]] = &[
    keys::COMMANDS,
    string::COMMANDS,
    bitmap::COMMANDS,
    list::COMMANDS,
    hash::COMMANDS,
    set::COMMANDS,
    set_operations::COMMANDS,
    zset::COMMANDS,
    zset::range::COMMANDS,
    zset::algebra::COMMANDS,
    counted::COMMANDS,
    blocking::COMMANDS,
    stream::COMMANDS,
    transaction::COMMANDS,
    pubsub::COMMANDS,
    connection::COMMANDS,
    client::COMMANDS,
    introspection::COMMANDS,
    debug::COMMANDS,
    server::COMMANDS,
    config::COMMANDS,
    info::COMMANDS,
];
