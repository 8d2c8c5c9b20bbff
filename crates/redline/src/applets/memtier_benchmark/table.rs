//! The text report: header, table, distribution.

use super::distribution::ticks;
use super::options::{Options, Requests};
use super::stats::{Row, Stats};

/// The lines that say what is run.
pub fn header(options: &Options, requests_per_client: u64) -> String {
    let last = match (options.test_time_s, options.requests) {
        (Some(seconds), _) => format!("{seconds:<9} Seconds"),
        (None, Some(Requests::AllKeys | Requests::Count(_)) | None) => {
            format!("{requests_per_client:<9} Requests per client")
        }
    };
    format!(
        "{:<9} Threads\n{:<9} Connections per thread\n{last}\n",
        options.threads, options.clients
    )
}

/// One set of results: the table, and behind it the distribution unless that is to be hidden.
pub fn report(title: &str, stats: &Stats, options: &Options) -> String {
    let mut text = table(title, stats, options);
    if !options.hide_histogram {
        text.push_str(&distribution(stats));
    }
    text
}

fn table(title: &str, stats: &Stats, options: &Options) -> String {
    let longest = stats.rows.iter().map(|row| row.raw.len()).max().unwrap_or(0);
    let width = longest.max(6) + 1;
    let has_aborts = options.transaction;
    let mut heading = format!("{:<width$} {:>12} ", "Type", "Ops/sec");
    if stats.is_set_get {
        heading.push_str(&format!("{:>12} {:>12} ", "Hits/sec", "Misses/sec"));
    }
    if stats.is_cluster {
        heading.push_str(&format!("{:>12} {:>12} ", "MOVED/sec", "ASK/sec"));
    }
    if has_aborts {
        heading.push_str(&format!("{:>12} ", "Aborts/sec"));
    }
    heading.push_str(&format!("{:>15} ", "Avg. Latency"));
    for percentile in &options.print_percentiles {
        heading.push_str(&format!("{:>15} ", column(*percentile)));
    }
    heading.push_str(&format!("{:>12} ", "KB/sec"));
    let length = heading.len();
    let mut text =
        format!("\n\n{title}\n{}\n{heading}\n{}\n", "=".repeat(length), "-".repeat(length));
    for row in stats.rows.iter().chain([&stats.totals]) {
        text.push_str(&format!("{:<width$} ", row.name));
        text.push_str(&cells(row, stats, options));
        text.push('\n');
    }
    text
}

/// The numbers of a row.
fn cells(row: &Row, stats: &Stats, options: &Options) -> String {
    let number = |value: f64| format!("{value:>12.2} ");
    let latency = |value: f64| {
        if row.count == 0 { format!("{:>15} ", "---") } else { format!("{value:>15.5} ") }
    };
    let none = format!("{:>12} ", "---");
    let mut text = number(row.rates.operations);
    if stats.is_set_get {
        if row.has_hits {
            text.push_str(&(number(row.rates.hits) + &number(row.rates.misses)));
        } else {
            text.push_str(&(none.clone() + &none));
        }
    }
    if stats.is_cluster {
        text.push_str(&(number(row.rates.moved) + &number(row.rates.ask)));
    }
    if options.transaction {
        text.push_str(&number(row.rates.aborts));
    }
    text.push_str(&latency(row.latencies.mean_ns() / 1e6));
    for percentile in &options.print_percentiles {
        text.push_str(&latency(row.percentile_ms(*percentile)));
    }
    text.push_str(&if row.has_bytes { number(row.rates.bytes() / 1024.0) } else { none });
    text
}

/// The heading of a percentile: `p50 Latency`, `p99.9 Latency`, `p99.990 Latency`.
fn column(percentile: f64) -> String {
    let places = if percentile.fract() == 0.0 {
        0
    } else if (percentile * 10.0).fract().abs() < 1e-9 {
        1
    } else {
        3
    };
    format!("p{percentile:.places$} Latency")
}

fn distribution(stats: &Stats) -> String {
    let mut text =
        String::from("\n\nRequest Latency Distribution\nType     <= msec         Percent\n");
    text.push_str(&"-".repeat(72));
    text.push('\n');
    for (nth, row) in stats.rows.iter().enumerate() {
        for tick in ticks(&row.latencies) {
            let ms = tick.value_ns as f64 / 1e6;
            text.push_str(&format!("{:<6} {ms:>8.3} {:>12.3}\n", row.raw, tick.percentile));
        }
        // The original divides the built-in kinds, and ends each command.
        if !stats.is_set_get || nth + 1 < stats.rows.len() {
            text.push_str("---\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_headed_as_in_the_original() {
        for (percentile, heading) in [
            (50.0, "p50"),
            (99.9, "p99.9"),
            (99.99, "p99.990"),
            (99.999, "p99.999"),
            (100.0, "p100"),
        ] {
            assert_eq!(column(percentile), format!("{heading} Latency"));
        }
    }

    #[test]
    fn the_header_has_its_columns() {
        let mut options = Options { threads: 2, clients: 5, ..Options::new() };
        assert_eq!(
            header(&options, 200),
            "2         Threads\n5         Connections per thread\n200       Requests per client\n"
        );
        options.test_time_s = Some(3);
        assert!(header(&options, 200).ends_with("\n3         Seconds\n"));
    }
}
