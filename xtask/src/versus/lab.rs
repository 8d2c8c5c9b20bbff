//! The load generators beside each other, one core each, all against a server that only replies:
//! what is measured is how much load a generator can make.

use super::machine::{Machine, processor_time_ns};
use super::series::{Cell, Series, print_rates};
use super::store::{CONNECTIONS, KEYS, VALUE_BYTES, requests};
use super::{Bench, program};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use std::env;
use std::path::PathBuf;
use testkit::peer::Peer;

/// Requests of the run that shows whether a generator works here, long enough for each to print a
/// rate.
const TRIAL_REQUESTS: u64 = 500_000;

/// How to measure.
#[derive(Args)]
pub struct Options {
    /// Pipeline depths
    #[arg(long, value_delimiter = ',', default_value = "1,16,64")]
    pipeline: Vec<u64>,
    /// Times that each cell is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Multiplies the number of requests of a run (1: about a second)
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The personality that Redline's generator takes
    #[arg(long = "as", value_enum, default_value_t = Dialect::RedisBenchmark)]
    personality: Dialect,
}

/// How a generator is called, and where its rate stands in what it prints.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Dialect {
    RedisBenchmark,
    #[value(name = "memtier_benchmark")]
    Memtier,
    RespBenchmark,
}

impl Dialect {
    /// The program that speaks it, which is also the name of Redline's applet.
    fn program(self) -> &'static str {
        match self {
            Dialect::RedisBenchmark => "redis-benchmark",
            Dialect::Memtier => "memtier_benchmark",
            Dialect::RespBenchmark => "resp-benchmark",
        }
    }
}

struct Generator {
    name: String,
    program: PathBuf,
    first_words: Vec<String>,
    dialect: Dialect,
}

/// Measures all generators and prints them.
pub fn run(bench: &Bench, options: &Options) -> Result<()> {
    let machine = Machine::describe(&bench.pinning);
    let prefix = bench.pinning.server_prefix();
    let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
    let server = Peer::start_prefixed(&prefix, &env::current_exe()?, &["reply-server"])?;
    let mut generators = generators(bench, options.personality);
    generators.retain(|generator| match generator.rate(bench, &server, 16, TRIAL_REQUESTS) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("left out: {error:#}");
            false
        }
    });
    if generators.is_empty() {
        bail!("no load generator to measure: install redis-tools, or build redline");
    }
    let mut cells: Vec<Cell> =
        options.pipeline.iter().map(|p| empty_cell(*p, &generators)).collect();
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        for (cell, pipeline) in cells.iter_mut().zip(&options.pipeline) {
            let requests = requests(*pipeline, options.scale);
            for place in 0..generators.len() {
                let place = (place + round) % generators.len();
                let before_ns = processor_time_ns(server.pid());
                let rate = generators[place].rate(bench, &server, *pipeline, requests)?;
                let used_ns = processor_time_ns(server.pid()) - before_ns;
                cell.series[place].values.push(rate);
                cell.series[place].server_ns.push(used_ns as f64 / requests as f64);
            }
        }
    }
    if bench.json {
        let result = serde_json::json!({
            "machine": machine, "connections": CONNECTIONS, "value_bytes": VALUE_BYTES, "cells": cells,
        });
        println!("{}", serde_json::to_string_pretty(&result)?);
    } else {
        println!("{}", machine.line());
        println!(
            "GET of 16-byte keys against a server that only replies {VALUE_BYTES} bytes, {CONNECTIONS} connections; medians of {} (least .. most)",
            options.rounds
        );
        print_rates(&cells);
    }
    Ok(())
}

/// The generators found, Redline first.
fn generators(bench: &Bench, personality: Dialect) -> Vec<Generator> {
    let mut found = Vec::new();
    if let Some(redline) = &bench.redline {
        found.push(Generator {
            name: format!("redline {}", personality.program()),
            program: redline.clone(),
            first_words: vec![personality.program().to_string()],
            dialect: personality,
        });
    }
    let others = [
        (Dialect::RedisBenchmark.program(), Dialect::RedisBenchmark),
        ("valkey-benchmark", Dialect::RedisBenchmark),
        (Dialect::Memtier.program(), Dialect::Memtier),
        (Dialect::RespBenchmark.program(), Dialect::RespBenchmark),
    ];
    for (name, dialect) in others {
        match program(name) {
            Some(program) => found.push(Generator {
                name: name.to_string(),
                program,
                first_words: Vec::new(),
                dialect,
            }),
            None => eprintln!("left out: {name}: not on PATH"),
        }
    }
    found
}

fn empty_cell(pipeline: u64, generators: &[Generator]) -> Cell {
    let empty = |generator: &Generator| Series {
        contender: generator.name.clone(),
        values: Vec::new(),
        server_ns: Vec::new(),
    };
    let series = generators.iter().map(empty).collect();
    Cell { workload: format!("GET P={pipeline}"), series }
}

impl Generator {
    /// Requests a second, as the generator reports them.
    fn rate(&self, bench: &Bench, server: &Peer, pipeline: u64, requests: u64) -> Result<f64> {
        let mut command = bench.client_command(&self.program);
        command.args(&self.first_words).args(self.arguments(server, pipeline, requests));
        let output = command.output().with_context(|| format!("running {}", self.name))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr).trim());
        }
        let rate = match self.dialect {
            Dialect::RedisBenchmark => redis_benchmark_rate(&text),
            Dialect::Memtier => memtier_rate(&text),
            Dialect::RespBenchmark => resp_benchmark_rate(&text),
        };
        rate.with_context(|| format!("{} printed no rate:\n{text}", self.name))
    }

    fn arguments(&self, server: &Peer, pipeline: u64, requests: u64) -> Vec<String> {
        let (port, keys) = (server.address.port(), KEYS);
        let words = match self.dialect {
            Dialect::RedisBenchmark => format!(
                "-h 127.0.0.1 -p {port} -c {CONNECTIONS} -n {requests} -P {pipeline} \
                 -d {VALUE_BYTES} -r {keys} -t get --csv"
            ),
            // Twelve digits from the first key on, for keys of 16 bytes.
            Dialect::Memtier => format!(
                "-s 127.0.0.1 -p {port} -t 1 -c {CONNECTIONS} -n {} --pipeline {pipeline} \
                 --ratio 0:1 -d {VALUE_BYTES} --key-prefix key: --key-minimum 100000000000 \
                 --key-maximum 100000999999 --hide-histogram",
                requests / u64::from(CONNECTIONS)
            ),
            Dialect::RespBenchmark => {
                // It counts cores among those that it may run on, and here that is one.
                format!(
                    "-h 127.0.0.1 -p {port} -c {CONNECTIONS} -n {requests} -P {pipeline} --cores 0"
                )
            }
        };
        let mut words: Vec<String> = words.split_whitespace().map(str::to_string).collect();
        if self.dialect == Dialect::RespBenchmark {
            // Its keys have 14 bytes of their own.
            words.push(format!("GET k:{{key uniform {keys}}}"));
        }
        words
    }
}

/// The second field of the last row.
fn redis_benchmark_rate(text: &str) -> Option<f64> {
    let row = text.lines().rfind(|line| line.starts_with('"'))?;
    row.split(',').nth(1)?.trim_matches('"').parse().ok()
}

/// The first figure of the row `Totals`.
fn memtier_rate(text: &str) -> Option<f64> {
    let row = text.lines().rfind(|line| line.starts_with("Totals"))?;
    row.split_whitespace().nth(1)?.parse().ok()
}

/// The last `overall` rate: its final line gives the rate of the last quarter second only.
fn resp_benchmark_rate(text: &str) -> Option<f64> {
    let (_, rest) = text.rsplit_once("(overall ")?;
    rest.split(')').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_from_what_each_prints() {
        assert_eq!(redis_benchmark_rate("\"test\",\"rps\"\n\"GET\",\"7.5\",\"0\"\n"), Some(7.5));
        assert_eq!(memtier_rate("Gets  1.0\nTotals     86000.12  0.0\n"), Some(86000.12));
        let text =
            "qps: 5(overall 90000), conn: 50\nqps: 7(overall 91000), conn: 50\nqps: 0, conn: 50";
        assert_eq!(resp_benchmark_rate(text), Some(91000.0));
    }
}
