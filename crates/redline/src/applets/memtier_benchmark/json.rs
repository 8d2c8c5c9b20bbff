//! The JSON report: configuration, run information, and an object for each set of results.

use report::histogram::Histogram;
use report::model::CommandPoint;

use super::configuration;
use super::distribution::ticks;
use super::json_writer::JsonWriter;
use super::options::Options;
use super::stats::{Row, Stats};

/// The version of the format that the original writes.
const FORMAT_VERSION: u64 = 2;

/// A verification of imported data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verification {
    /// Objects that were what they should be.
    pub good: u64,
    /// Objects that were not.
    pub failed: u64,
}

/// The whole report. `sets` are the results by title.
pub fn render(
    options: &Options,
    requests_per_client: u64,
    sets: &[(String, Stats)],
    verification: Option<Verification>,
) -> String {
    let mut json = JsonWriter::default();
    json.object(None);
    configuration::json(options, &mut json);
    json.object(Some("run information"));
    json.count("Threads", options.threads.into());
    json.count("Connections per thread", options.clients.into());
    match options.test_time_s {
        Some(seconds) => json.count("Seconds", seconds),
        None => json.count("Requests per client", requests_per_client),
    }
    json.count("Format version", FORMAT_VERSION);
    json.close();
    for (title, stats) in sets {
        set(&mut json, title, stats, options);
    }
    if let Some(verification) = verification {
        json.object(Some("client verifications results"));
        // The original's spelling, which scripts read.
        json.count("keys verified successfuly", verification.good);
        json.count("keys failed", verification.failed);
        json.close();
    }
    json.close();
    json.finish()
}

fn set(json: &mut JsonWriter, title: &str, stats: &Stats, options: &Options) {
    json.object(Some(title));
    runtime(json, stats);
    let mut names = Names::default();
    for one in stats.rows.iter().chain([&stats.totals]) {
        row(json, &names.unique(&one.name), one, stats, options);
    }
    if !stats.active.is_empty() {
        active_clients(json, stats, options);
    }
    if !options.hide_histogram {
        let mut names = Names::default();
        for one in &stats.rows {
            distribution(json, &names.unique(&one.raw), one);
        }
    }
    json.close();
}

/// Tells equal names apart, which one object can't hold twice.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn unique(&mut self, name: &str) -> String {
        self.0.push(name.to_string());
        match self.0.iter().filter(|other| *other == name).count() {
            1 => name.to_string(),
            nth => format!("{name} #{nth}"),
        }
    }
}

fn runtime(json: &mut JsonWriter, stats: &Stats) {
    let duration_ms = stats.duration_ns / 1_000_000;
    json.object(Some("Runtime"));
    json.count("Start time", stats.started_at_unix_ms);
    json.count("Finish time", stats.started_at_unix_ms + duration_ms);
    json.count("Total duration", duration_ms);
    json.text("Time unit", Some("MILLISECONDS"));
    json.truth("Interrupted", stats.interrupted);
    json.close();
}

fn row(json: &mut JsonWriter, name: &str, row: &Row, stats: &Stats, options: &Options) {
    let kib = |bytes: f64| bytes / 1024.0;
    let latencies = &row.latencies;
    json.object(Some(name));
    json.count("Count", row.count);
    json.number("Ops/sec", row.rates.operations, 2);
    json.number("Hits/sec", row.rates.hits, 2);
    json.number("Misses/sec", row.rates.misses, 2);
    if stats.is_cluster {
        json.number("MOVED/sec", row.rates.moved, 2);
        json.number("ASK/sec", row.rates.ask, 2);
    }
    if options.transaction {
        json.number("Aborts/sec", row.rates.aborts, 2);
    }
    json.number("Connection Errors/sec", row.rates.connection_errors, 2);
    json.count("Connection Errors", row.connection_errors);
    json.number("Latency", latencies.mean_ns() / 1e6, 3);
    json.number("Average Latency", latencies.mean_ns() / 1e6, 3);
    json.count("Accumulated Latency", accumulated_ms(latencies));
    json.number("Min Latency", latencies.min_ns() as f64 / 1e6, 3);
    json.number("Max Latency", latencies.max_ns() as f64 / 1e6, 3);
    json.number("KB/sec", kib(row.rates.bytes()), 2);
    json.number("KB/sec RX/TX", kib(row.rates.bytes()), 2);
    json.number("KB/sec RX", kib(row.rates.in_bytes), 2);
    json.number("KB/sec TX", kib(row.rates.out_bytes), 2);
    json.object(Some("Time-Serie"));
    row.seconds.iter().for_each(|point| second(json, point, options));
    json.close();
    json.object(Some("Percentile Latencies"));
    percentiles(json, latencies, options);
    json.object(Some("Histogram log format"));
    json.text("Compressed Histogram", Some(&latencies.to_hdr_base64_us()));
    json.close();
    json.close();
    json.close();
}

fn second(json: &mut JsonWriter, point: &CommandPoint, options: &Options) {
    let latencies = &point.latencies;
    json.object(Some(&point.second.to_string()));
    json.count("Bytes RX", point.bytes_in);
    json.count("Bytes TX", point.bytes_out);
    json.count("Count", latencies.count());
    if !latencies.is_empty() {
        json.number("Average Latency", latencies.mean_ns() / 1e6, 3);
        json.count("Accumulated Latency", accumulated_ms(latencies));
        json.number("Min Latency", latencies.min_ns() as f64 / 1e6, 3);
        json.number("Max Latency", latencies.max_ns() as f64 / 1e6, 3);
        percentiles(json, latencies, options);
    }
    json.close();
}

fn percentiles(json: &mut JsonWriter, latencies: &Histogram, options: &Options) {
    let mut seen = Vec::new();
    for percentile in &options.print_percentiles {
        let key = percentile_key(*percentile);
        if !seen.contains(&key) {
            json.number(&key, latencies.percentile_ns(*percentile) as f64 / 1e6, 3);
            seen.push(key);
        }
    }
}

/// `p50.00`, `p99.90`, `p99.999`: two places, or as many as are needed to tell percentiles apart; `p100.0` is the original's.
fn percentile_key(percentile: f64) -> String {
    if percentile == 100.0 {
        return "p100.0".into();
    }
    let exact = percentile.to_string();
    let places = exact.split_once('.').map_or(0, |(_, places)| places.len());
    if places > 2 { format!("p{exact}") } else { format!("p{percentile:.2}") }
}

fn accumulated_ms(latencies: &Histogram) -> u64 {
    (latencies.mean_ns() * latencies.count() as f64 / 1e6) as u64
}

fn active_clients(json: &mut JsonWriter, stats: &Stats, options: &Options) {
    json.object(Some("Active Clients"));
    for (second, active) in stats.active.iter().enumerate() {
        json.object(Some(&second.to_string()));
        json.count("Clients per thread", u64::from(active / options.threads.max(1)));
        json.count("Total clients", u64::from(*active));
        json.close();
    }
    json.close();
}

fn distribution(json: &mut JsonWriter, name: &str, row: &Row) {
    json.array(name);
    for tick in ticks(&row.latencies) {
        json.object(None);
        json.number("<=msec", tick.value_ns as f64 / 1e6, 3);
        json.number("percent", tick.percentile, 3);
        json.close();
    }
    json.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_do_not_collide() {
        for (percentile, key) in [
            (50.0, "p50.00"),
            (99.9, "p99.90"),
            (99.99, "p99.99"),
            (99.999, "p99.999"),
            (100.0, "p100.0"),
        ] {
            assert_eq!(percentile_key(percentile), key);
        }
    }

    #[test]
    fn equal_names_are_numbered() {
        let mut names = Names::default();
        assert_eq!(
            ["Sets", "Gets", "Sets"].map(|name| names.unique(name)),
            ["Sets", "Gets", "Sets #2"]
        );
    }
}
