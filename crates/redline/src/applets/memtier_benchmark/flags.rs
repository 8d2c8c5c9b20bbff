//! The table of options: names, help, and which value of [`Options`] each one gives.

use std::ffi::OsString;

use super::options::Options;
use crate::flags::layout::GETOPT;
use crate::flags::manual::{self, Manual};
use crate::flags::{Section, Stop, getopt, option, switch};

/// All options, in the order of the help.
pub const FLAGS: &[Section<Options>] = &[
    Section { title: "Connection and General Options", flags: CONNECTION },
    Section { title: "Results Output Options", flags: RESULTS_OUTPUT },
    Section { title: "Test Options", flags: TEST },
    Section { title: "Arbitrary Command Options", flags: ARBITRARY_COMMAND },
    Section { title: "Retry Options", flags: RETRY },
    Section { title: "Object Options", flags: OBJECT },
    Section { title: "Imported Data Options", flags: IMPORTED_DATA },
    Section { title: "Key Options", flags: KEY },
    Section { title: "WAIT Options", flags: WAIT },
];

type Flag = crate::flags::Flag<Options>;

const CONNECTION: &[Flag] = &[
    option(
        &["-h", "--host"],
        "ADDR",
        "Host of the server (default: localhost); as in the original -h is no help",
        |options, value| put(options, "host", value),
    ),
    option(&["-s", "--server"], "ADDR", "The same as --host", |options, value| {
        put(options, "server", value)
    }),
    option(&["-p", "--port"], "PORT", "Port of the server (default: 6379)", |options, value| {
        put(options, "port", value)
    }),
    option(
        &["-S", "--unix-socket"],
        "SOCKET",
        "Unix socket of the server; host and port are not used then",
        |options, value| put(options, "unix-socket", value),
    ),
    switch(&["-4", "--ipv4"], "Take only IPv4 addresses of the host", |options, value| {
        put(options, "ipv4", value)
    }),
    switch(&["-6", "--ipv6"], "Take only IPv6 addresses of the host", |options, value| {
        put(options, "ipv6", value)
    }),
    option(
        &["-P", "--protocol"],
        "PROTOCOL",
        "redis (default: RESP2 unasked), resp2 or resp3 (announced by HELLO), memcache_text, memcache_binary, memcache_meta",
        |options, value| put(options, "protocol", value),
    ),
    option(
        &["-a", "--authenticate"],
        "CREDENTIALS",
        "PASSWORD or USER:PASSWORD, split at the first colon",
        |options, value| put(options, "authenticate", value),
    ),
    option(
        &["-u", "--uri"],
        "URI",
        "redis://user:password@host:port/db instead of host, port and credentials; rediss:// for TLS",
        |options, value| put(options, "uri", value),
    ),
    switch(&["--tls"], "Connect by TLS", |options, value| put(options, "tls", value)),
    option(&["--cert"], "FILE", "Client certificate, PEM", |options, value| {
        put(options, "cert", value)
    }),
    option(&["--key"], "FILE", "Private key of the client certificate, PEM", |options, value| {
        put(options, "key", value)
    }),
    option(
        &["--cacert"],
        "FILE",
        "Certificates to trust, PEM; else the system's",
        |options, value| put(options, "cacert", value),
    ),
    switch(&["--tls-skip-verify"], "Do not check the server's certificate", |options, value| {
        put(options, "tls-skip-verify", value)
    }),
    option(
        &["--tls-protocols"],
        "LIST",
        "Versions to offer, between commas: TLSv1, TLSv1.1, TLSv1.2, TLSv1.3",
        |options, value| put(options, "tls-protocols", value),
    ),
    option(
        &["--sni"],
        "STRING",
        "Server name to send and to check, if it is not the host",
        |options, value| put(options, "sni", value),
    ),
    option(
        &["-x", "--run-count"],
        "NUMBER",
        "How many times the whole test runs; best, worst and average are reported",
        |options, value| put(options, "run-count", value),
    ),
    switch(
        &["-D", "--debug"],
        "Print the load as a plan, in JSON, on standard error",
        |options, value| put(options, "debug", value),
    ),
    switch(
        &["--cluster-mode"],
        "The server is a node of a cluster: commands go to the node of their key",
        |options, value| put(options, "cluster-mode", value),
    ),
    option(
        &["--read-preference"],
        "MODE",
        "Who answers reads: primary (default), secondary, secondaryPreferred, nearest",
        |options, value| put(options, "read-preference", value),
    ),
    option(
        &["--read-preference-fallback"],
        "MODE",
        "Who answers reads when nobody of the preferred kind is there",
        |options, value| put(options, "read-preference-fallback", value),
    ),
    option(
        &["--connection-timeout"],
        "SECS",
        "A connection without a reply for so long is an error (default: 0, off)",
        |options, value| put(options, "connection-timeout", value),
    ),
    option(
        &["--connection-stage-timeout"],
        "SECS",
        "Each connection must be made within this time, else exit status 2 (default: 10; 0: an hour)",
        |options, value| put(options, "connection-stage-timeout", value),
    ),
    option(&["--select-db"], "DB", "Database to select (default: 0)", |options, value| {
        put(options, "select-db", value)
    }),
    switch(&["--help"], "Print this text", |_, _| Err(Stop::Help)),
    switch(&["-v", "--version"], "Print the version", |_, _| Err(Stop::Version)),
];

const RESULTS_OUTPUT: &[Flag] = &[
    option(
        &["-o", "--out-file"],
        "FILE",
        "Write the report there instead of standard output",
        |options, value| put(options, "out-file", value),
    ),
    option(&["--json-out-file"], "FILE", "Write the report as JSON too", |options, value| {
        put(options, "json-out-file", value)
    }),
    option(
        &["--client-stats"],
        "FILE",
        "Write the seconds of each client to FILE-RUN-THREAD-CLIENT.csv",
        |options, value| put(options, "client-stats", value),
    ),
    option(
        &["--hdr-file-prefix"],
        "FILE",
        "Write histograms to FILE_*_RUN.txt and .hgrm",
        |options, value| put(options, "hdr-file-prefix", value),
    ),
    switch(&["--show-config"], "Print the configuration first", |options, value| {
        put(options, "show-config", value)
    }),
    switch(
        &["--hide-histogram"],
        "Leave the distribution of latencies out, of the text and of the JSON",
        |options, value| put(options, "hide-histogram", value),
    ),
    option(
        &["--print-percentiles"],
        "LIST",
        "Percentiles to report, between commas (default: 50,99,99.9)",
        |options, value| put(options, "print-percentiles", value),
    ),
    switch(&["--print-all-runs"], "With --run-count: report each run too", |options, value| {
        put(options, "print-all-runs", value)
    }),
    option(
        &["--command-stats-breakdown"],
        "BY",
        "command (default): results by the first word; line: each --command apart",
        |options, value| put(options, "command-stats-breakdown", value),
    ),
    option(
        &["--statsd-host"],
        "HOST",
        "Send figures there by UDP once a second",
        |options, value| put(options, "statsd-host", value),
    ),
    option(&["--statsd-port"], "PORT", "Port of StatsD (default: 8125)", |options, value| {
        put(options, "statsd-port", value)
    }),
    option(
        &["--statsd-prefix"],
        "PREFIX",
        "What the names of figures begin with (default: memtier)",
        |options, value| put(options, "statsd-prefix", value),
    ),
    option(
        &["--statsd-run-label"],
        "LABEL",
        "Label of this run in the names of figures (default: default)",
        |options, value| put(options, "statsd-run-label", value),
    ),
    option(
        &["--graphite-port"],
        "PORT",
        "HTTP port of Graphite on that host, for events at start and end (default: 8080)",
        |options, value| put(options, "graphite-port", value),
    ),
    switch(
        &["--realtime-latencies"],
        "Print percentiles of the last second, of a window and of all, instead of the progress line",
        |options, value| put(options, "realtime-latencies", value),
    ),
    option(
        &["--latency-window"],
        "SECS",
        "Length of that window (default: 60)",
        |options, value| put(options, "latency-window", value),
    ),
    option(
        &["--prometheus-port"],
        "PORT",
        "Serve /metrics there; 0: a free port, which is printed",
        |options, value| put(options, "prometheus-port", value),
    ),
    option(
        &["--prometheus-bind-addr"],
        "ADDR",
        "Address to serve at (default: 127.0.0.1)",
        |options, value| put(options, "prometheus-bind-addr", value),
    ),
    option(
        &["--prometheus-run-label"],
        "KEY=VALUE",
        "Label of all samples; may be repeated",
        |options, value| put(options, "prometheus-run-label", value),
    ),
    option(
        &["--prometheus-latency-buckets"],
        "LIST",
        "Bounds of the latency histogram in seconds, ascending, between commas",
        |options, value| put(options, "prometheus-latency-buckets", value),
    ),
];

const TEST: &[Flag] = &[
    option(
        &["-n", "--requests"],
        "NUMBER",
        "Requests of each client (default: 10000); allkeys: one for each key of the range",
        |options, value| put(options, "requests", value),
    ),
    option(
        &["--rate-limiting"],
        "NUMBER",
        "Requests a second of each connection, not of all together (default: no limit)",
        |options, value| put(options, "rate-limiting", value),
    ),
    option(
        &["-c", "--clients"],
        "NUMBER",
        "Clients of each thread, not of all together (default: 50)",
        |options, value| put(options, "clients", value),
    ),
    option(&["-t", "--threads"], "NUMBER", "Threads (default: 4)", |options, value| {
        put(options, "threads", value)
    }),
    option(
        &["--test-time"],
        "SECS",
        "How long the test runs, instead of --requests",
        |options, value| put(options, "test-time", value),
    ),
    option(
        &["--clients-start"],
        "NUMBER",
        "Staircase: clients of each thread at the start",
        |options, value| put(options, "clients-start", value),
    ),
    option(
        &["--clients-step"],
        "NUMBER",
        "Staircase: clients of each thread that each step adds",
        |options, value| put(options, "clients-step", value),
    ),
    option(&["--step-duration"], "SECS", "Staircase: length of a step", |options, value| {
        put(options, "step-duration", value)
    }),
    option(&["--ratio"], "RATIO", "SETS:GETS, sent in turn (default: 1:10)", |options, value| {
        put(options, "ratio", value)
    }),
    option(
        &["--pipeline"],
        "NUMBER",
        "Requests in flight on a connection (default: 1)",
        |options, value| put(options, "pipeline", value),
    ),
    option(
        &["--reconnect-interval"],
        "NUM",
        "Connect anew after so many requests",
        |options, value| put(options, "reconnect-interval", value),
    ),
    switch(
        &["--reconnect-on-error"],
        "Connect anew when a connection is lost",
        |options, value| put(options, "reconnect-on-error", value),
    ),
    option(
        &["--max-reconnect-attempts"],
        "NUM",
        "Tries in a row before that is given up (default: 0, no limit)",
        |options, value| put(options, "max-reconnect-attempts", value),
    ),
    option(
        &["--reconnect-backoff-factor"],
        "NUM",
        "Each further try waits that many times as long (default: 0, no wait)",
        |options, value| put(options, "reconnect-backoff-factor", value),
    ),
    option(
        &["--thread-conn-start-min-jitter-micros"],
        "NUM",
        "Least wait between two first connections of a thread (default: 0)",
        |options, value| put(options, "thread-conn-start-min-jitter-micros", value),
    ),
    option(
        &["--thread-conn-start-max-jitter-micros"],
        "NUM",
        "Longest wait between two first connections of a thread (default: 0)",
        |options, value| put(options, "thread-conn-start-max-jitter-micros", value),
    ),
    option(&["--multi-key-get"], "NUM", "Read so many keys with one request", |options, value| {
        put(options, "multi-key-get", value)
    }),
    switch(
        &["--distinct-client-seed"],
        "Accepted: each client draws keys and values of its own anyway",
        |options, value| put(options, "distinct-client-seed", value),
    ),
    switch(&["--randomize"], "A seed of the time, so that runs differ", |options, value| {
        put(options, "randomize", value)
    }),
];

const ARBITRARY_COMMAND: &[Flag] = &[
    option(
        &["--command"],
        "COMMAND",
        "A command instead of SET and GET, quoted as in redis-cli; may be repeated. The first __key__ in an argument is a key, an argument __data__ is a value",
        |options, value| put(options, "command", value),
    ),
    option(
        &["--command-ratio"],
        "NUM",
        "How many times the last --command is sent in its turn (default: 1)",
        |options, value| put(options, "command-ratio", value),
    ),
    option(
        &["--command-key-pattern"],
        "PATTERN",
        "Key pattern of the last --command, as in --key-pattern (default: R)",
        |options, value| put(options, "command-key-pattern", value),
    ),
    option(
        &["--monitor-input"],
        "FILE",
        "Read commands from the output of MONITOR, for --command=__monitor_line1__ and --command=__monitor_line@__",
        |options, value| put(options, "monitor-input", value),
    ),
    option(
        &["--monitor-pattern"],
        "S|R",
        "Take lines in order (S, default) or at random (R) for __monitor_line@__",
        |options, value| put(options, "monitor-pattern", value),
    ),
    switch(
        &["--scan-incremental-iteration"],
        "Follow the cursor of --command=\"SCAN 0 ...\"",
        |options, value| put(options, "scan-incremental-iteration", value),
    ),
    option(
        &["--scan-incremental-max-iterations"],
        "NUMBER",
        "Begin again after so many continuations (default: 0, at the end only)",
        |options, value| put(options, "scan-incremental-max-iterations", value),
    ),
    switch(
        &["--transaction"],
        "Send the commands between MULTI and EXEC, as one request",
        |options, value| put(options, "transaction", value),
    ),
    option(
        &["--command-miss-tracking"],
        "auto|off",
        "Count hits and misses of commands whose reply tells (default: auto)",
        |options, value| put(options, "command-miss-tracking", value),
    ),
    option(
        &["--miss-rate-threshold"],
        "RATE",
        "Warn when more than this part of reads missed (default: 1.0)",
        |options, value| put(options, "miss-rate-threshold", value),
    ),
];

const RETRY: &[Flag] = &[
    switch(
        &["--retry-on-error"],
        "Send requests again that were answered with an error",
        |options, value| put(options, "retry-on-error", value),
    ),
    option(
        &["--max-retries"],
        "NUM",
        "Tries after the first (default: -1, no limit)",
        |options, value| put(options, "max-retries", value),
    ),
    option(
        &["--retry-backoff-ms"],
        "MS",
        "Wait before the first of them (default: 0)",
        |options, value| put(options, "retry-backoff-ms", value),
    ),
    option(
        &["--retry-backoff-factor"],
        "NUM",
        "Each further try waits that many times as long (default: 0, always as long)",
        |options, value| put(options, "retry-backoff-factor", value),
    ),
    option(
        &["--retry-on"],
        "LIST",
        "Errors that are tried again, by first word, between commas (default: all)",
        |options, value| put(options, "retry-on", value),
    ),
    option(
        &["--max-retry-queue"],
        "NUM",
        "Requests of a connection that may wait for another try (default: 0, no limit)",
        |options, value| put(options, "max-retry-queue", value),
    ),
    option(
        &["--failed-keys-file"],
        "FILE",
        "Write keys whose requests failed for good there",
        |options, value| put(options, "failed-keys-file", value),
    ),
];

const OBJECT: &[Flag] = &[
    option(
        &["-d", "--data-size"],
        "SIZE",
        "Length of values in bytes (default: 32)",
        |options, value| put(options, "data-size", value),
    ),
    option(
        &["--data-offset"],
        "OFFSET",
        "Write and read at this offset, with SETRANGE and GETRANGE",
        |options, value| put(options, "data-offset", value),
    ),
    switch(&["-R", "--random-data"], "Random values, not all x", |options, value| {
        put(options, "random-data", value)
    }),
    option(
        &["--data-size-range"],
        "RANGE",
        "Uniform random lengths, LEAST-MOST",
        |options, value| put(options, "data-size-range", value),
    ),
    option(
        &["--data-size-list"],
        "LIST",
        "Lengths with weights, SIZE:WEIGHT, between commas",
        |options, value| put(options, "data-size-list", value),
    ),
    option(
        &["--data-size-pattern"],
        "R|S",
        "With --data-size-range: at random (R, default), or growing evenly with the key's number (S)",
        |options, value| put(options, "data-size-pattern", value),
    ),
    option(
        &["--expiry-range"],
        "RANGE",
        "Random times to live in seconds, LEAST-MOST",
        |options, value| put(options, "expiry-range", value),
    ),
];

const IMPORTED_DATA: &[Flag] = &[
    option(
        &["--data-import"],
        "FILE",
        "Read objects from a CSV file in the format of memcached's dumps",
        |options, value| put(options, "data-import", value),
    ),
    switch(&["--data-verify"], "Compare all objects with the file at the end", |options, value| {
        put(options, "data-verify", value)
    }),
    switch(&["--verify-only"], "Only compare", |options, value| put(options, "verify-only", value)),
    switch(
        &["--generate-keys"],
        "Keys are generated, only values are imported",
        |options, value| put(options, "generate-keys", value),
    ),
    switch(
        &["--no-expiry"],
        "Imported objects are written without their time to live",
        |options, value| put(options, "no-expiry", value),
    ),
];

const KEY: &[Flag] = &[
    option(
        &["--key-prefix"],
        "PREFIX",
        "What keys begin with (default: memtier-)",
        |options, value| put(options, "key-prefix", value),
    ),
    option(
        &["--key-minimum"],
        "NUMBER",
        "Number of the first key (default: 0)",
        |options, value| put(options, "key-minimum", value),
    ),
    option(
        &["--key-maximum"],
        "NUMBER",
        "Number of the last key (default: 10000000)",
        |options, value| put(options, "key-maximum", value),
    ),
    option(
        &["--key-pattern"],
        "PATTERN",
        "SETS:GETS (default: R:R), each R uniform, G normal, S each client counts through the range, P clients share the range and count, Z Zipf",
        |options, value| put(options, "key-pattern", value),
    ),
    option(
        &["--key-stddev"],
        "NUMBER",
        "G: standard deviation (default: a sixth of the range)",
        |options, value| put(options, "key-stddev", value),
    ),
    option(
        &["--key-median"],
        "NUMBER",
        "G: centre (default: the middle of the range)",
        |options, value| put(options, "key-median", value),
    ),
    option(
        &["--key-zipf-exp"],
        "NUMBER",
        "Z: exponent above 0 and below 5 (default: 1)",
        |options, value| put(options, "key-zipf-exp", value),
    ),
];

const WAIT: &[Flag] = &[
    option(&["--wait-ratio"], "RATIO", "SETS:WAITS (default: no WAIT)", |options, value| {
        put(options, "wait-ratio", value)
    }),
    option(
        &["--num-slaves"],
        "RANGE",
        "Random numbers of replicas to wait for, LEAST-MOST",
        |options, value| put(options, "num-slaves", value),
    ),
    option(
        &["--wait-timeout"],
        "RANGE",
        "Random timeouts in milliseconds, LEAST-MOST",
        |options, value| put(options, "wait-timeout", value),
    ),
];

/// Reads a command line. Words that are no options are ignored, as by the original.
///
/// # Errors
/// Help, version, or the sentence that says what is wrong.
pub fn parse(program: &str, words: Vec<OsString>) -> Result<Options, Stop> {
    let mut options = Options::new();
    getopt::parse(FLAGS, &mut options, program, words)?;
    Ok(options)
}

/// What manual page and completions are made of.
pub fn manual() -> Manual {
    Manual {
        synopsis: "[options]",
        description: "Loads a Redis or memcached server with SETs and GETs, or with the commands given, and tells how fast and how evenly they are answered."
            .into(),
        sections: manual::listings(FLAGS),
    }
}

/// The help.
pub fn usage(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} [options]\nLoads a Redis or memcached server and measures it: memtier_benchmark's options and output.\n"
    );
    for section in FLAGS {
        text.push_str(&format!("\n{}:\n{}", section.title, GETOPT.options(section)));
    }
    text
}

fn put(options: &mut Options, name: &str, value: &str) -> Result<(), Stop> {
    options.set(name, value).map_err(|reason| Stop::Refused(format!("error: --{name} {reason}.")))
}

#[cfg(test)]
mod tests {
    use testkit::shell;

    use super::*;
    use crate::applets::memtier_benchmark::rules;
    use crate::flags::Value;

    /// The arguments of all suites of redis-benchmarks-specification 0.3.47 that call memtier_benchmark, one a line.
    const SUITES: &str = include_str!("../../../tests/golden/memtier/suites.txt");

    #[test]
    fn every_option_of_the_table_is_one_that_is_set() {
        let names = FLAGS.iter().flat_map(|section| section.flags);
        for flag in names {
            let name = flag.names.iter().find(|name| name.starts_with("--")).unwrap();
            if matches!(*name, "--help" | "--version") {
                continue;
            }
            let mut options = Options::new();
            let result = (flag.apply)(&mut options, "");
            let unknown = format!("error: {name} is not an option.");
            assert_ne!(result, Err(Stop::Refused(unknown)), "{name}");
            if flag.value == Value::None {
                assert_eq!(result, Ok(()), "{name}");
                assert_ne!(options, Options::new(), "{name}");
            }
        }
    }

    #[test]
    fn every_suite_parses() {
        assert_eq!(SUITES.lines().count(), 480);
        for line in SUITES.lines() {
            let words: Vec<OsString> = shell::words(line).into_iter().map(Into::into).collect();
            let options = parse("memtier_benchmark", words);
            let options = options.unwrap_or_else(|stop| panic!("{stop:?}: {line}"));
            assert_eq!(rules::check(&options), Ok(()), "{line}");
        }
    }

    #[test]
    fn the_help_fits_a_screen_s_width() {
        assert!(usage("memtier_benchmark").lines().all(|line| line.len() <= 100));
    }
}
