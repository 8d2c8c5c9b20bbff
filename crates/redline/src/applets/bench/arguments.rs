//! The command line of `redline bench`, and the limits of its values.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use load::plan::{
    Cluster, MAX_CONNECTIONS, MAX_PIPELINE, MAX_RATE_RPS, MAX_THREADS, ReplicaReads, Target,
};

use super::encryption::TlsArguments;
use super::target;

/// Largest value that servers take by default, 512 MiB (`proto-max-bulk-len`).
const MAX_DATA_BYTES: u32 = 512 << 20;
/// Most keys: placeholders have ten digits.
const MAX_KEYS: u64 = 10_000_000_000;
/// Longest a step may be told to last: a month.
const MAX_DURATION: Duration = Duration::from_secs(31 * 24 * 3600);

/// What the options' lines have no room for.
pub const AFTER_HELP: &str = "\
Without a target, a store is started inside this program and measured. Several targets share the
connections. The tests write only keys that begin with 'redline:', and delete them in the end.

Commands may hold {key uniform N}, {key sequence N}, {key zipfian N}, {value BYTES}, {rand N} and
{range N WIDTH}; {{ is a brace. Times are numbers with ms, s, m or h. A file named '-' is standard
output.

Exit status: 0 measured, 1 failed, 2 wrong arguments, 130 interrupted.

Examples:
  redline bench
  redline bench redis://:secret@10.0.0.5:6379 -c 200 -P 16 --tests get,set
  redline bench 127.0.0.1 --rate 50000 --duration 30s --tests get
  redline bench 127.0.0.1 --command 'SET {key uniform 1000000} {value 64}' --weight 1 \\
                          --command 'GET {key uniform 1000000}' --weight 10";

/// Measures a Redis-compatible server: throughput, latency percentiles, errors and misses by command.
#[derive(Debug, Parser)]
#[command(
    name = "redline bench",
    about = "Measures a Redis-compatible server: throughput, latency, errors, misses by command.",
    after_help = AFTER_HELP
)]
pub struct Arguments {
    /// redis://[user:password@]host[:port][/db], rediss://..., host:port or unix:///path
    #[arg(value_name = "TARGET", value_parser = target::parse)]
    pub targets: Vec<Target>,
    /// Connections over all threads
    #[arg(short, long, default_value_t = 50, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CONNECTIONS)))]
    pub connections: u32,
    /// Threads that generate load [default: all cores; half for a server here]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_THREADS)))]
    pub threads: Option<u32>,
    /// Threads of the embedded store [default: the other half]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub store_threads: Option<u32>,
    /// Requests that a connection has in flight at most [default: 1]
    #[arg(short = 'P', long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PIPELINE)))]
    pub pipeline: Option<u32>,
    /// Requests of each step over all connections [default: no limit]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Measured time of each step [default: 1.5s; with --command 10s]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,
    /// Time before it in which requests are not recorded
    #[arg(long, value_name = "TIME", default_value = "0.25s", value_parser = duration)]
    pub warm_up: Duration,
    /// Send at this constant rate, in requests a second over all connections
    #[arg(long, value_name = "RPS", allow_negative_numbers = true, value_parser = rate)]
    pub rate: Option<f64>,
    /// Measure this command instead of the tests; several make a mix
    #[arg(long = "command", value_name = "TEXT", conflicts_with = "tests")]
    pub commands: Vec<String>,
    /// The share of the --command at the same place
    #[arg(long = "weight", value_name = "N", requires = "commands",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub weights: Vec<u32>,
    /// Keys that the tests spread over
    #[arg(long, default_value_t = 100_000, value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=MAX_KEYS))]
    pub keys: u64,
    /// Size of the values written, in bytes
    #[arg(short, long, default_value_t = 64, value_name = "BYTES",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DATA_BYTES)))]
    pub data_size: u32,
    /// Tests to run, with commas between their names
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    pub tests: Vec<String>,
    /// Lists the tests and ends
    #[arg(long)]
    pub list_tests: bool,
    /// Seed of all random choices
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Protocol version
    #[arg(long, default_value_t = 2, value_name = "2|3",
          value_parser = clap::value_parser!(u8).range(2..=3))]
    pub protocol: u8,
    /// Database to use
    #[arg(long, value_name = "N")]
    pub db: Option<u32>,
    /// User name
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Password; else that in REDLINE_PASSWORD or REDISCLI_AUTH
    #[arg(long, value_name = "TEXT")]
    pub password: Option<String>,
    /// The targets are nodes of one cluster: load all of it
    #[arg(long)]
    pub cluster: bool,
    /// Which nodes of a cluster answer reads: primaries (no), replicas (yes) or all
    #[arg(long, value_enum, default_value_t = ReplicaReadsChoice::No, hide_possible_values = true,
          alias = "rfr", value_name = "no|yes|all", requires = "cluster")]
    pub replica_reads: ReplicaReadsChoice,
    /// How connections are encrypted.
    #[command(flatten)]
    pub tls: TlsArguments,
    /// A run fails when a reply takes longer than this
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = positive_duration)]
    pub timeout: Duration,
    /// Empties the database first: all keys in it are lost
    #[arg(long)]
    pub flush: bool,
    /// Leaves the tests' keys on the server
    #[arg(long)]
    pub keep: bool,
    /// What is printed in the end: text, csv or json
    #[arg(long, value_enum, default_value_t = Format::Text, hide_possible_values = true)]
    pub format: Format,
    /// JSON file of the result [default: redline-results/bench-TIME.json]
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Writes no JSON file
    #[arg(long, conflicts_with = "json")]
    pub no_json: bool,
    /// CSV file of the result
    #[arg(long, value_name = "PATH")]
    pub csv: Option<PathBuf>,
    /// Prints nothing but the result
    #[arg(short, long)]
    pub quiet: bool,
}

/// What is printed in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    Text,
    /// A row for each command.
    Csv,
    /// All of it.
    Json,
}

/// Which nodes of a cluster answer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplicaReadsChoice {
    /// Primaries.
    No,
    /// Replicas.
    Yes,
    /// All.
    All,
}

impl Arguments {
    /// How the cluster is loaded, if one is.
    pub fn cluster_plan(&self) -> Option<Cluster> {
        let replica_reads = match self.replica_reads {
            ReplicaReadsChoice::No => ReplicaReads::No,
            ReplicaReadsChoice::Yes => ReplicaReads::Yes,
            ReplicaReadsChoice::All => ReplicaReads::All,
        };
        self.cluster.then(|| Cluster { replica_reads, ..Cluster::default() })
    }

    /// The targets with the credentials and the database that the other options give.
    ///
    /// # Errors
    /// A sentence on options that do not go together.
    pub fn complete_targets(&mut self) -> Result<(), String> {
        let password = self.password.clone().or_else(password_of_environment);
        if self.targets.is_empty() {
            for (is_given, option) in [
                (self.user.is_some(), "--user"),
                (self.password.is_some(), "--password"),
                (self.flush, "--flush"),
                (self.keep, "--keep"),
                (self.cluster, "--cluster"),
                (self.tls.is_asked(), "TLS"),
            ] {
                if is_given {
                    return Err(format!(
                        "{option} needs a target; the embedded store is new and ends with the run"
                    ));
                }
            }
        } else if self.store_threads.is_some() {
            return Err("--store-threads is for the embedded store, but a target is named".into());
        }
        for target in &mut self.targets {
            if self.user.is_some() {
                target.user.clone_from(&self.user);
            }
            if self.password.is_some() || target.password.is_none() {
                target.password.clone_from(&password);
            }
            if target.user.is_some() && target.password.is_none() {
                return Err("a user name needs a password".into());
            }
        }
        self.tls.complete(&mut self.targets)
    }
}

fn password_of_environment() -> Option<String> {
    ["REDLINE_PASSWORD", "REDISCLI_AUTH"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
}

/// A time with a unit (`ms`, `s`, `m`, `h`), or in seconds without one.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is a number with ms, s, m or h, as in 1.5s".to_owned();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit_s = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let parsed = Duration::try_from_secs_f64(number * unit_s).map_err(|_| wrong())?;
    if parsed > MAX_DURATION {
        return Err("a time is at most 31 days".into());
    }
    Ok(parsed)
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        time if time < Duration::from_millis(1) => Err("it must be at least 1ms".into()),
        time => Ok(time),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("a rate is a number above 0, at most {MAX_RATE_RPS}");
    let rate: f64 = text.parse().map_err(|_| wrong())?;
    if rate > 0.0 && rate <= MAX_RATE_RPS { Ok(rate) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{Arguments, Duration, duration, positive_duration, rate};

    #[test]
    fn the_declarations_hold_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        for (text, ms) in [("1.5s", 1500), ("200ms", 200), ("2m", 120_000), ("3", 3000), ("0", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "1d", "1e99h", "nans", "1 s", "1000h"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(positive_duration("0.0001ms").is_err());
    }

    #[test]
    fn rates_are_positive_numbers() {
        assert_eq!(rate("1e3"), Ok(1000.0));
        assert!(["0", "-1", "nan", "inf", "x", "1e9"].iter().all(|text| rate(text).is_err()));
    }

    #[test]
    fn options_complete_the_targets() {
        let words = ["bench", "redis://bob:old@h", "/s", "--user", "eve", "--password", "new"];
        let mut arguments = Arguments::try_parse_from(words).unwrap();
        arguments.complete_targets().unwrap();
        for target in &arguments.targets {
            assert_eq!(target.user.as_deref(), Some("eve"));
            assert_eq!(target.password.as_deref(), Some("new"));
        }
        for words in [&["bench", "--flush"][..], &["bench", "h", "--store-threads", "1"]] {
            assert!(Arguments::try_parse_from(words).unwrap().complete_targets().is_err());
        }
    }
}
