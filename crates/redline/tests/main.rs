//! Tests of the whole: the built binary beside the real programs.

mod bad_input;
mod bench;
mod cli_modes;
mod cluster;
mod config;
mod drop_in;
mod family;
mod hashes;
mod keys;
mod lists;
mod memtier_benchmark;
mod oracle;
mod redis_benchmark;
mod redis_cli;
mod resp_benchmark;
mod server;
mod sets;
mod sorted_sets;
mod store;
mod streams;
mod strings;
mod tls;
