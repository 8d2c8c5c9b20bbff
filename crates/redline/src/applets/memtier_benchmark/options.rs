//! What a command line asks for, option by option, with the defaults of the original.
//!
//! [`Options::set`] gives one option its value; rules between options are in `rules`.

use super::ranges::{self, MAX_VALUE_BYTES, Pattern};

/// Most `--command` options.
const MAX_COMMANDS: usize = 1_000;
/// Most labels of the Prometheus endpoint.
const MAX_LABELS: usize = 16;

/// Which addresses of a host name are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Family {
    /// Whatever the system finds first.
    #[default]
    Any,
    /// `-4`.
    Ipv4,
    /// `-6`.
    Ipv6,
}

/// What is spoken to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2, without being announced.
    #[default]
    Redis,
    /// RESP2, announced by `HELLO 2`.
    Resp2,
    /// RESP3, announced by `HELLO 3`.
    Resp3,
    /// The text protocol of memcached.
    MemcacheText,
    /// The binary protocol of memcached.
    MemcacheBinary,
    /// The meta commands of memcached.
    MemcacheMeta,
}

/// The protocols by name.
const PROTOCOLS: [(&str, Protocol); 6] = [
    ("redis", Protocol::Redis),
    ("resp2", Protocol::Resp2),
    ("resp3", Protocol::Resp3),
    ("memcache_text", Protocol::MemcacheText),
    ("memcache_binary", Protocol::MemcacheBinary),
    ("memcache_meta", Protocol::MemcacheMeta),
];

impl Protocol {
    /// Its name.
    pub fn name(self) -> &'static str {
        PROTOCOLS.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    /// True for the protocols of memcached.
    pub fn is_memcache(self) -> bool {
        matches!(self, Self::MemcacheText | Self::MemcacheBinary | Self::MemcacheMeta)
    }
}

/// A `--command` with the options behind it that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOption {
    /// The text as given.
    pub text: String,
    /// How often it runs in its turn.
    pub ratio: u64,
    /// How its keys are chosen.
    pub pattern: Pattern,
}

/// How many requests a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requests {
    /// This many.
    Count(u64),
    /// One for each key.
    AllKeys,
}

/// Which server answers reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadPreference {
    /// The primary.
    #[default]
    Primary,
    /// A replica.
    Secondary,
    /// A replica if there is one.
    SecondaryPreferred,
    /// Whoever answers soonest.
    Nearest,
}

/// All options (see [`Options::new`] for those of an empty command line), each under its name; `flags` has the sentence for each. Absent texts are `None`; a count of zero is "off"
/// as in the original.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    pub host: String,
    pub port: u16,
    pub address_given: bool,
    pub unix_socket: Option<String>,
    pub family: Family,
    pub uri: Option<String>,
    pub protocol: Protocol,
    pub authenticate: Option<String>,
    pub tls: bool,
    pub cert: Option<String>,
    pub key: Option<String>,
    pub cacert: Option<String>,
    pub tls_skip_verify: bool,
    pub tls_protocols: Option<String>,
    pub sni: Option<String>,
    pub run_count: u32,
    pub debug: u32,
    pub cluster_mode: bool,
    pub out_file: Option<String>,
    pub json_out_file: Option<String>,
    pub client_stats: Option<String>,
    pub hdr_file_prefix: Option<String>,
    pub show_config: bool,
    pub hide_histogram: bool,
    pub print_percentiles: Vec<f64>,
    pub print_all_runs: bool,
    pub breakdown_by_line: bool,
    pub statsd_host: Option<String>,
    pub statsd_port: u16,
    pub statsd_prefix: String,
    pub statsd_run_label: String,
    pub graphite_port: u16,
    pub realtime_latencies: bool,
    pub latency_window_s: u64,
    pub prometheus_port: Option<u16>,
    pub prometheus_bind_addr: String,
    pub prometheus_labels: Vec<(String, String)>,
    pub prometheus_buckets: Option<Vec<f64>>,
    pub requests: Option<Requests>,
    pub test_time_s: Option<u64>,
    pub clients: u32,
    pub threads: u32,
    pub rate_limit: u64,
    pub clients_start: Option<u32>,
    pub clients_step: Option<u32>,
    pub step_duration_s: Option<u64>,
    pub ratio: (u64, u64),
    pub ratio_given: bool,
    pub pipeline: u32,
    pub reconnect_interval: u64,
    pub reconnect_on_error: bool,
    pub max_reconnect_attempts: u64,
    pub reconnect_backoff_factor: f64,
    pub connection_timeout_s: u64,
    pub jitter_min_us: u64,
    pub jitter_max_us: u64,
    pub multi_key_get: u64,
    pub select_db: u32,
    pub distinct_client_seed: bool,
    pub randomize: bool,
    pub commands: Vec<CommandOption>,
    pub monitor_input: Option<String>,
    pub monitor_random: bool,
    pub scan_iteration: bool,
    pub scan_max_iterations: u64,
    pub transaction: bool,
    pub retry_on_error: bool,
    pub max_retries: Option<u64>,
    pub retry_backoff_ms: u64,
    pub retry_backoff_factor: f64,
    pub retry_on: Option<String>,
    pub max_retry_queue: u64,
    pub failed_keys_file: Option<String>,
    pub miss_tracking: bool,
    pub miss_rate_threshold: f64,
    pub connection_stage_timeout_s: Option<u64>,
    pub read_preference: ReadPreference,
    pub read_preference_fallback: Option<ReadPreference>,
    pub data_size: u64,
    pub data_size_given: bool,
    pub data_offset: u64,
    pub random_data: bool,
    pub data_size_range: Option<(u64, u64)>,
    pub data_size_list: Option<Vec<(u64, u64)>>,
    pub data_size_list_text: String,
    pub data_size_spread: bool,
    pub expiry_range: Option<(u64, u64)>,
    pub data_import: Option<String>,
    pub data_verify: bool,
    pub verify_only: bool,
    pub generate_keys: bool,
    pub no_expiry: bool,
    pub key_prefix: String,
    pub key_minimum: Option<u64>,
    pub key_maximum: Option<u64>,
    pub key_pattern: (Pattern, Pattern),
    pub key_pattern_given: bool,
    pub key_stddev: f64,
    pub key_median: f64,
    pub key_zipf_exponent: f64,
    pub wait_ratio: Option<(u64, u64)>,
    pub num_slaves: Option<(u64, u64)>,
    pub wait_timeout: Option<(u64, u64)>,
}

impl Options {
    /// What holds when nothing is given; all else is off, absent or empty.
    pub fn new() -> Self {
        Self {
            host: "localhost".into(),
            port: 6379,
            run_count: 1,
            print_percentiles: vec![50.0, 99.0, 99.9],
            statsd_port: 8125,
            statsd_prefix: "memtier".into(),
            statsd_run_label: "default".into(),
            graphite_port: 8080,
            latency_window_s: 60,
            prometheus_bind_addr: "127.0.0.1".into(),
            clients: 50,
            threads: 4,
            ratio: (1, 10),
            pipeline: 1,
            miss_tracking: true,
            miss_rate_threshold: 1.0,
            data_size: 32,
            key_prefix: "memtier-".into(),
            ..Self::default()
        }
    }

    /// Key numbers, both ends included.
    pub fn keys(&self) -> (u64, u64) {
        (self.key_minimum.unwrap_or(0), self.key_maximum.unwrap_or(10_000_000))
    }

    /// Gives the option with this long name its value; an option without argument has an empty one.
    ///
    /// # Errors
    /// What the value must be, as the end of a sentence that begins with the option.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if self.set_connection(name, value)?
            || self.set_output(name, value)?
            || self.set_test(name, value)?
            || self.set_commands(name, value)?
            || self.set_retries(name, value)?
            || self.set_objects(name, value)?
            || self.set_keys(name, value)?
        {
            return Ok(());
        }
        Err("is not an option".into())
    }

    fn set_connection(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "host" | "server" => {
                self.host = value.into();
                self.address_given = true;
            }
            "port" => {
                self.port = within(value, 1, u16::MAX.into())? as u16;
                self.address_given = true;
            }
            "unix-socket" => self.unix_socket = Some(value.into()),
            "ipv4" => self.family = Family::Ipv4,
            "ipv6" => self.family = Family::Ipv6,
            "uri" => self.uri = Some(value.into()),
            "protocol" => {
                let row = PROTOCOLS.iter().find(|row| row.0 == value);
                self.protocol = row.map(|row| row.1).ok_or(
                    "must be redis, resp2, resp3, memcache_text, memcache_binary or memcache_meta",
                )?;
            }
            "authenticate" => self.authenticate = Some(value.into()),
            "tls" => self.tls = true,
            "cert" => self.cert = Some(value.into()),
            "key" => self.key = Some(value.into()),
            "cacert" => self.cacert = Some(value.into()),
            "tls-skip-verify" => self.tls_skip_verify = true,
            "tls-protocols" => {
                let known = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];
                if !value.split(',').all(|version| known.contains(&version)) {
                    return Err("must be a list of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3".into());
                }
                self.tls_protocols = Some(value.into());
            }
            "sni" => self.sni = Some(value.into()),
            "run-count" => self.run_count = within(value, 1, 1_000_000)? as u32,
            "debug" => self.debug += 1,
            "cluster-mode" => self.cluster_mode = true,
            "select-db" => self.select_db = within(value, 0, i32::MAX as u64)? as u32,
            "read-preference" => self.read_preference = read_preference(value)?,
            "read-preference-fallback" => {
                self.read_preference_fallback = Some(read_preference(value)?);
            }
            "connection-timeout" => self.connection_timeout_s = within(value, 0, 1_000_000)?,
            "connection-stage-timeout" => {
                let seconds = within(value, 0, 1_000_000)?;
                // A wait without an end is cut at the engine's longest.
                self.connection_stage_timeout_s =
                    Some(if seconds == 0 { u64::MAX / 1_000 } else { seconds });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_output(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "out-file" => self.out_file = Some(value.into()),
            "json-out-file" => self.json_out_file = Some(value.into()),
            "client-stats" => self.client_stats = Some(value.into()),
            "hdr-file-prefix" => self.hdr_file_prefix = Some(value.into()),
            "show-config" => self.show_config = true,
            "hide-histogram" => self.hide_histogram = true,
            "print-percentiles" => {
                self.print_percentiles = ranges::percentiles(value)
                    .ok_or("must be percentiles above 0 and up to 100, between commas")?;
            }
            "print-all-runs" => self.print_all_runs = true,
            "command-stats-breakdown" => {
                self.breakdown_by_line = one_of(value, ["command", "line"])? == 1;
            }
            "statsd-host" => self.statsd_host = Some(value.into()),
            "statsd-port" => self.statsd_port = within(value, 1, u16::MAX.into())? as u16,
            "statsd-prefix" => self.statsd_prefix = value.into(),
            "statsd-run-label" => self.statsd_run_label = value.into(),
            "graphite-port" => self.graphite_port = within(value, 1, u16::MAX.into())? as u16,
            "realtime-latencies" => self.realtime_latencies = true,
            "latency-window" => self.latency_window_s = within(value, 1, 3_600)?,
            "prometheus-port" => {
                self.prometheus_port = Some(within(value, 0, u16::MAX.into())? as u16);
            }
            "prometheus-bind-addr" => {
                if value.parse::<std::net::IpAddr>().is_err() {
                    return Err("must be a numeric IPv4 or IPv6 address".into());
                }
                self.prometheus_bind_addr = value.into();
            }
            "prometheus-run-label" => {
                let label =
                    label(value).ok_or("must be KEY=VALUE with a name that Prometheus takes")?;
                if self.prometheus_labels.len() == MAX_LABELS {
                    return Err(format!("may be given {MAX_LABELS} times at most"));
                }
                self.prometheus_labels.push(label);
            }
            "prometheus-latency-buckets" => {
                let bounds = ranges::bounds(value);
                self.prometheus_buckets =
                    Some(bounds.ok_or("must be ascending bounds in seconds, between commas")?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_test(&mut self, name: &str, value: &str) -> Result<bool, String> {
        const CONNECTIONS: u64 = load::plan::MAX_CONNECTIONS as u64;
        match name {
            "requests" if value == "allkeys" => self.requests = Some(Requests::AllKeys),
            "requests" => {
                let wrong = "must be a number above 0, or allkeys";
                let count = ranges::count(value).filter(|count| *count > 0).ok_or(wrong)?;
                self.requests = Some(Requests::Count(count));
            }
            "test-time" => self.test_time_s = Some(within(value, 1, 1_000_000_000)?),
            "clients" => self.clients = within(value, 1, CONNECTIONS)? as u32,
            "threads" => {
                self.threads = within(value, 1, load::plan::MAX_THREADS.into())? as u32;
            }
            "rate-limiting" => self.rate_limit = within(value, 1, 100_000_000)?,
            "clients-start" => self.clients_start = Some(within(value, 1, CONNECTIONS)? as u32),
            "clients-step" => self.clients_step = Some(within(value, 1, CONNECTIONS)? as u32),
            "step-duration" => self.step_duration_s = Some(within(value, 1, 1_000_000)?),
            "ratio" => {
                let ratio = ranges::pair(value, ':').filter(|(set, get)| set + get > 0);
                let small = ratio.filter(|(set, get)| set.max(get) <= &u64::from(u32::MAX));
                self.ratio = small.ok_or("must be two numbers, SETS:GETS, not both 0")?;
                self.ratio_given = true;
            }
            "pipeline" => {
                self.pipeline = within(value, 1, load::plan::MAX_PIPELINE.into())? as u32;
            }
            "reconnect-interval" => self.reconnect_interval = within(value, 1, u32::MAX.into())?,
            "reconnect-on-error" => self.reconnect_on_error = true,
            "max-reconnect-attempts" => {
                self.max_reconnect_attempts = within(value, 0, u32::MAX.into())?;
            }
            "reconnect-backoff-factor" => self.reconnect_backoff_factor = decimal(value)?,
            "thread-conn-start-min-jitter-micros" => {
                self.jitter_min_us = within(value, 0, u32::MAX.into())?;
            }
            "thread-conn-start-max-jitter-micros" => {
                self.jitter_max_us = within(value, 0, u32::MAX.into())?;
            }
            "multi-key-get" => self.multi_key_get = within(value, 1, 100_000)?,
            "distinct-client-seed" => self.distinct_client_seed = true,
            "randomize" => self.randomize = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_commands(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "command" => {
                if self.commands.len() == MAX_COMMANDS {
                    return Err(format!("may be given {MAX_COMMANDS} times at most"));
                }
                self.commands.push(CommandOption {
                    text: value.into(),
                    ratio: 1,
                    pattern: Pattern::Uniform,
                });
            }
            "command-ratio" => {
                let ratio = within(value, 1, 1_000_000_000)?;
                self.last_command()?.ratio = ratio;
            }
            "command-key-pattern" => {
                let pattern = Pattern::from_letter(value).ok_or("must be R, G, S, P or Z")?;
                self.last_command()?.pattern = pattern;
            }
            "monitor-input" => self.monitor_input = Some(value.into()),
            "monitor-pattern" => self.monitor_random = one_of(value, ["S", "R"])? == 1,
            "scan-incremental-iteration" => self.scan_iteration = true,
            "scan-incremental-max-iterations" => {
                self.scan_max_iterations = within(value, 0, u32::MAX.into())?;
            }
            "transaction" => self.transaction = true,
            "command-miss-tracking" => {
                self.miss_tracking = one_of(value, ["auto", "off"])? == 0;
            }
            "miss-rate-threshold" => {
                self.miss_rate_threshold = decimal(value)?;
                if self.miss_rate_threshold > 1.0 {
                    return Err("must be a number from 0 to 1".into());
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_retries(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "retry-on-error" => self.retry_on_error = true,
            "max-retries" => {
                let count =
                    if value == "-1" { None } else { Some(within(value, 0, u32::MAX.into())?) };
                self.max_retries = count;
            }
            "retry-backoff-ms" => self.retry_backoff_ms = within(value, 0, 3_600_000)?,
            "retry-backoff-factor" => self.retry_backoff_factor = decimal(value)?,
            "retry-on" => self.retry_on = Some(value.into()),
            "max-retry-queue" => self.max_retry_queue = within(value, 0, u32::MAX.into())?,
            "failed-keys-file" => self.failed_keys_file = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_objects(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let size_range = |least: u64| {
            let range = ranges::range(value);
            range.filter(|range| range.0 >= least && range.1 <= MAX_VALUE_BYTES)
        };
        match name {
            "data-size" => {
                self.data_size = within(value, 1, MAX_VALUE_BYTES)?;
                self.data_size_given = true;
            }
            "data-offset" => self.data_offset = within(value, 1, MAX_VALUE_BYTES)?,
            "random-data" => self.random_data = true,
            "data-size-range" => {
                let range = size_range(1).ok_or("must be two sizes in bytes, LEAST-MOST")?;
                self.data_size_range = Some(range);
            }
            "data-size-list" => {
                let wrong = "must be sizes with weights, SIZE:WEIGHT, between commas";
                self.data_size_list = Some(ranges::weighted_sizes(value).ok_or(wrong)?);
                self.data_size_list_text = value.into();
            }
            "data-size-pattern" => self.data_size_spread = one_of(value, ["R", "S"])? == 1,
            "expiry-range" => {
                let range = ranges::range(value).filter(|range| range.0 > 0);
                let wrong = "must be two numbers of seconds above 0, LEAST-MOST";
                self.expiry_range = Some(range.ok_or(wrong)?);
            }
            "data-import" => self.data_import = Some(value.into()),
            "data-verify" => self.data_verify = true,
            "verify-only" => {
                self.verify_only = true;
                self.data_verify = true;
            }
            "generate-keys" => self.generate_keys = true,
            "no-expiry" => self.no_expiry = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_keys(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let numbers = "must be two numbers, LEAST-MOST";
        match name {
            "key-prefix" => self.key_prefix = value.into(),
            "key-minimum" => self.key_minimum = Some(within(value, 1, u64::MAX)?),
            "key-maximum" => self.key_maximum = Some(within(value, 1, u64::MAX)?),
            "key-pattern" => {
                let wrong = "must be two of R, G, S, P and Z around a colon; P only on both sides";
                self.key_pattern = ranges::patterns(value).ok_or(wrong)?;
                self.key_pattern_given = true;
            }
            "key-stddev" => self.key_stddev = positive(value)?,
            "key-median" => self.key_median = positive(value)?,
            "key-zipf-exp" => {
                self.key_zipf_exponent = positive(value)?;
                if self.key_zipf_exponent >= 5.0 {
                    return Err("must be a number above 0 and below 5".into());
                }
            }
            "wait-ratio" => {
                let ratio = ranges::pair(value, ':').filter(|(set, _)| *set > 0);
                self.wait_ratio = Some(ratio.ok_or("must be two numbers, SETS:WAITS")?);
            }
            "num-slaves" => self.num_slaves = Some(ranges::range(value).ok_or(numbers)?),
            "wait-timeout" => self.wait_timeout = Some(ranges::range(value).ok_or(numbers)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn last_command(&mut self) -> Result<&mut CommandOption, String> {
        self.commands.last_mut().ok_or_else(|| "needs a --command before it".to_string())
    }
}

fn within(value: &str, least: u64, most: u64) -> Result<u64, String> {
    ranges::count(value).filter(|count| (least..=most).contains(count)).ok_or_else(|| {
        if most == u64::MAX {
            format!("must be a number from {least}")
        } else {
            format!("must be a number from {least} to {most}")
        }
    })
}

fn decimal(value: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "must be a number, not below 0".into())
}

fn positive(value: &str) -> Result<f64, String> {
    decimal(value)
        .ok()
        .filter(|number| *number > 0.0)
        .ok_or_else(|| "must be a number above 0".into())
}

/// Which of two words it is.
fn one_of(value: &str, words: [&str; 2]) -> Result<usize, String> {
    let place = words.iter().position(|word| *word == value);
    place.ok_or_else(|| format!("must be {} or {}", words[0], words[1]))
}

fn read_preference(value: &str) -> Result<ReadPreference, String> {
    Ok(match value {
        "primary" => ReadPreference::Primary,
        "secondary" => ReadPreference::Secondary,
        "secondaryPreferred" => ReadPreference::SecondaryPreferred,
        "nearest" => ReadPreference::Nearest,
        _ => return Err("must be primary, secondary, secondaryPreferred or nearest".into()),
    })
}

/// A label whose name Prometheus takes and that it does not use itself.
fn label(value: &str) -> Option<(String, String)> {
    let (name, value) = value.split_once('=')?;
    let first = name.chars().next()?;
    let good = (first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !name.starts_with("__")
        && name != "le";
    good.then(|| (name.to_string(), value.to_string()))
}
