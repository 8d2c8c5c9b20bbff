//! Bytes a key: what a server's own count and its resident memory grow by, a million keys of 16
//! bytes with values of 64.

use super::Bench;
use super::machine::{Machine, resident_bytes};
use super::store::{VALUE_BYTES, load};
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use std::thread;
use std::time::Duration;
use testkit::peer::Peer;

/// How many keys.
#[derive(Args)]
pub struct Options {
    /// Keys to load into each server
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
}

#[derive(Serialize)]
struct Row {
    server: String,
    used_bytes_per_key: f64,
    resident_bytes_per_key: f64,
}

/// Time for background work (freeing, resizing) to end before memory is read.
const SETTLE: Duration = Duration::from_secs(2);

/// Measures each server and prints the result.
pub fn run(bench: &Bench, options: &Options) -> Result<()> {
    let machine = Machine::describe(&bench.pinning);
    let mut rows = Vec::new();
    for server in bench.servers()? {
        let peer = bench.start(&server)?;
        let (used_before, resident_before) = (used_bytes(&peer)?, resident_bytes(peer.pid()));
        load(peer.address, options.keys)?;
        thread::sleep(SETTLE);
        let used = used_bytes(&peer)? - used_before;
        let resident = resident_bytes(peer.pid()) as f64 - resident_before as f64;
        rows.push(Row {
            server: server.name,
            used_bytes_per_key: used / options.keys as f64,
            resident_bytes_per_key: resident / options.keys as f64,
        });
    }
    if bench.json {
        let result = serde_json::json!({
            "machine": machine, "keys": options.keys, "value_bytes": VALUE_BYTES, "rows": rows,
        });
        println!("{}", serde_json::to_string_pretty(&result)?);
        return Ok(());
    }
    println!("{}", machine.line());
    println!("{} keys of 16 bytes, values of {VALUE_BYTES}; bytes a key", options.keys);
    for row in rows {
        println!(
            "  {:<28} used_memory {:>6.1}   resident {:>6.1}",
            row.server, row.used_bytes_per_key, row.resident_bytes_per_key
        );
    }
    Ok(())
}

fn used_bytes(peer: &Peer) -> Result<f64> {
    let info = peer.client().command(&["INFO", "memory"])?;
    let used = info.info_field("used_memory").context("INFO has no used_memory")?;
    Ok(used.parse()?)
}
