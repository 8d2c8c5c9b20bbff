//! The store beside other servers: the same client, the same keys, one core each.

use super::machine::{Machine, processor_time_ns};
use super::series::{Cell, Series, print_rates};
use super::{Bench, Contender, program};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use testkit::client::{Client, encode};
use testkit::peer::Peer;

/// Keys that every server holds before it is measured, so that each GET hits.
pub const KEYS: u64 = 1_000_000;
/// Bytes of a value.
pub const VALUE_BYTES: usize = 64;
/// Connections of the client.
pub const CONNECTIONS: u32 = 50;

/// What to ask of the servers.
#[derive(Args)]
pub struct Options {
    /// Pipeline depths
    #[arg(long, value_delimiter = ',', default_value = "1,16,64")]
    pipeline: Vec<u64>,
    /// Tests of redis-benchmark
    #[arg(long, value_delimiter = ',', default_value = "get,set")]
    commands: Vec<String>,
    /// Times that each cell is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Multiplies the number of requests of a run (1: about a second)
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The client: redis-benchmark, valkey-benchmark, or redline (its redis-benchmark)
    #[arg(long, default_value = "redis-benchmark")]
    client: String,
}

/// Measures all cells and prints them.
pub fn run(bench: &Bench, options: &Options) -> Result<()> {
    let machine = Machine::describe(&bench.pinning);
    let (client, first_words) = client(bench, &options.client)?;
    let servers = bench.servers()?;
    let mut running = Vec::new();
    for server in &servers {
        eprintln!("loading {KEYS} keys into {}", server.name);
        let peer = bench.start(server)?;
        load(peer.address, KEYS)?;
        running.push((server, peer));
    }
    let mut cells = empty_cells(options, &servers);
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        for (index, (pipeline, command)) in pairs(options).enumerate() {
            let run = Run { pipeline, test: command, requests: requests(pipeline, options.scale) };
            for place in 0..running.len() {
                // Each round begins with another server, so that none is always the first.
                let place = (place + round) % running.len();
                let peer = &running[place].1;
                let words = first_words.clone();
                let (rate, server_ns) = measure(bench, &client, words, peer, &run)?;
                cells[index].series[place].values.push(rate);
                cells[index].series[place].server_ns.push(server_ns);
            }
        }
    }
    if bench.json {
        let result = serde_json::json!({
            "machine": machine, "client": options.client, "connections": CONNECTIONS,
            "keys": KEYS, "value_bytes": VALUE_BYTES, "cells": cells,
        });
        println!("{}", serde_json::to_string_pretty(&result)?);
    } else {
        println!("{}", machine.line());
        println!(
            "client {}, {CONNECTIONS} connections, {KEYS} keys of 16 bytes, values of {VALUE_BYTES}; medians of {} (least .. most)",
            options.client, options.rounds
        );
        print_rates(&cells);
    }
    Ok(())
}

/// One run of a client that speaks redis-benchmark's options.
pub struct Run<'a> {
    /// Commands in flight on a connection.
    pub pipeline: u64,
    /// Name of the test.
    pub test: &'a str,
    /// How many requests.
    pub requests: u64,
}

/// About a second for the servers of today.
pub fn requests(pipeline: u64, scale: f64) -> u64 {
    ((pipeline / 2).clamp(1, 20) as f64 * 100_000.0 * scale) as u64
}

fn pairs(options: &Options) -> impl Iterator<Item = (u64, &str)> {
    let depths = options.pipeline.iter();
    depths.flat_map(|depth| options.commands.iter().map(|command| (*depth, command.as_str())))
}

fn empty_cells(options: &Options, servers: &[Contender]) -> Vec<Cell> {
    let empty = |server: &Contender| Series {
        contender: server.name.clone(),
        values: Vec::new(),
        server_ns: Vec::new(),
    };
    pairs(options)
        .map(|(pipeline, command)| Cell {
            workload: format!("{} P={pipeline}", command.to_uppercase()),
            series: servers.iter().map(empty).collect(),
        })
        .collect()
}

/// The program of the client and its first words.
fn client(bench: &Bench, name: &str) -> Result<(PathBuf, Vec<String>)> {
    if name == "redline" {
        let binary = bench.redline.clone().context("redline is not built")?;
        return Ok((binary, vec!["redis-benchmark".to_string()]));
    }
    let found = program(name).with_context(|| format!("{name} is not on PATH"))?;
    Ok((found, Vec::new()))
}

/// Requests a second as the client reports them, and the server's processor time for one.
pub fn measure(
    bench: &Bench,
    client: &std::path::Path,
    first_words: Vec<String>,
    peer: &Peer,
    run: &Run<'_>,
) -> Result<(f64, f64)> {
    let mut command = bench.client_command(client);
    command.args(first_words).args(["-h", "127.0.0.1", "-p", &peer.address.port().to_string()]);
    command.args(["-c", &CONNECTIONS.to_string(), "-n", &run.requests.to_string()]);
    command.args(["-P", &run.pipeline.to_string(), "-d", &VALUE_BYTES.to_string()]);
    command.args(["-r", &KEYS.to_string(), "-t", run.test, "--csv"]);
    let before_ns = processor_time_ns(peer.pid());
    let output = command.output().with_context(|| format!("running {}", client.display()))?;
    let used_ns = processor_time_ns(peer.pid()) - before_ns;
    if !output.status.success() {
        bail!("{}: {}", client.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    let rate = csv_rate(&String::from_utf8_lossy(&output.stdout))
        .with_context(|| format!("{} printed no rate", client.display()))?;
    Ok((rate, used_ns as f64 / run.requests as f64))
}

/// The second field of the last row.
fn csv_rate(text: &str) -> Option<f64> {
    let row = text.lines().rfind(|line| line.starts_with('"'))?;
    row.split(',').nth(1)?.trim_matches('"').parse().ok()
}

/// Sets `count` keys named as redis-benchmark names them.
pub fn load(address: SocketAddr, count: u64) -> Result<()> {
    const BATCH: u64 = 1000;
    let mut client = Client::connect(address)?;
    let value = [b'x'; VALUE_BYTES];
    let mut sent = 0;
    while sent < count {
        let batch = BATCH.min(count - sent);
        let mut bytes = Vec::new();
        for number in sent..sent + batch {
            let key = format!("key:{number:012}");
            bytes.extend(encode(&[b"SET", key.as_bytes(), &value]));
        }
        client.send(&bytes)?;
        for _ in 0..batch {
            let reply = client.receive()?;
            if reply.is_error() {
                bail!("SET failed: {reply}");
            }
        }
        sent += batch;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_from_the_last_row() {
        let text = "\"test\",\"rps\",\"avg\"\n\"GET\",\"105263.16\",\"0.3\"\n";
        assert_eq!(csv_rate(text), Some(105_263.16));
        assert_eq!(csv_rate("nothing"), None);
    }
}
