//! The options as `--show-config` prints them and as the JSON report lists them: the names and order are the original's.
//!
//! Passwords are not shown: not that of `--authenticate`, and not one in a URI.

use super::json_writer::JsonWriter;
use super::options::{Family, Options, Requests};
use super::ranges::Pattern;

/// What stands for a password.
const HIDDEN: &str = "(hidden)";

/// A value of the configuration.
enum Value {
    Text(Option<String>),
    Count(u64),
    Number(f64),
    Truth(bool),
}

/// The configuration as lines `name = value`.
pub fn text(options: &Options) -> String {
    let mut lines = String::new();
    for name in TEXT_NAMES {
        let value = match value(name, '-', options) {
            Value::Text(text) => text.unwrap_or_else(|| "(null)".into()),
            Value::Count(count) => count.to_string(),
            Value::Number(number) => format!("{number:.6}"),
            Value::Truth(truth) => if truth { "yes" } else { "no" }.into(),
        };
        lines.push_str(&format!("{name} = {value}\n"));
    }
    lines
}

/// The configuration as an object of the JSON report.
pub fn json(options: &Options, json: &mut JsonWriter) {
    json.object(Some("configuration"));
    let stairs: &[&str] = if options.clients_start.is_some() { &STAIRCASE_NAMES } else { &[] };
    for name in JSON_NAMES.iter().chain(stairs) {
        let separator = if *name == "wait-timeout" { '-' } else { ':' };
        match value(name, separator, options) {
            Value::Text(text) => json.text(name, text.as_deref()),
            Value::Count(count) => json.count(name, count),
            Value::Number(number) => json.number(name, number, 6),
            Value::Truth(truth) => json.truth(name, truth),
        }
    }
    json.close();
}

const TEXT_NAMES: [&str; 53] = [
    "server",
    "port",
    "uri",
    "unix socket",
    "address family",
    "protocol",
    "tls",
    "cert",
    "key",
    "cacert",
    "tls_skip_verify",
    "sni",
    "out_file",
    "client_stats",
    "run_count",
    "debug",
    "requests",
    "rate_limit",
    "clients",
    "threads",
    "test_time",
    "ratio",
    "pipeline",
    "data_size",
    "data_offset",
    "random_data",
    "data_size_range",
    "data_size_list",
    "data_size_pattern",
    "expiry_range",
    "data_import",
    "data_verify",
    "verify_only",
    "generate_keys",
    "key_prefix",
    "key_minimum",
    "key_maximum",
    "key_pattern",
    "key_stddev",
    "key_median",
    "reconnect_interval",
    "connection_timeout",
    "thread_conn_start_min_jitter_micros",
    "thread_conn_start_max_jitter_micros",
    "multi_key_get",
    "authenticate",
    "select-db",
    "no-expiry",
    "wait-ratio",
    "num-slaves",
    "wait-timeout",
    "json-out-file",
    "print-all-runs",
];

const JSON_NAMES: [&str; 53] = [
    "server",
    "port",
    "uri",
    "unix socket",
    "address family",
    "protocol",
    "out_file",
    "tls",
    "cert",
    "key",
    "cacert",
    "tls_skip_verify",
    "sni",
    "client_stats",
    "run_count",
    "debug",
    "requests",
    "rate_limit",
    "clients",
    "threads",
    "test_time",
    "ratio",
    "pipeline",
    "data_size",
    "data_offset",
    "random_data",
    "data_size_range",
    "data_size_list",
    "data_size_pattern",
    "expiry_range",
    "data_import",
    "data_verify",
    "verify_only",
    "generate_keys",
    "key_prefix",
    "key_minimum",
    "key_maximum",
    "key_pattern",
    "key_stddev",
    "key_median",
    "key_zipf_exp",
    "reconnect_interval",
    "connection_timeout",
    "thread_conn_start_min_jitter_micros",
    "thread_conn_start_max_jitter_micros",
    "multi_key_get",
    "authenticate",
    "select-db",
    "no-expiry",
    "wait-ratio",
    "num-slaves",
    "wait-timeout",
    "print-all-runs",
];

const STAIRCASE_NAMES: [&str; 3] = ["clients_start", "clients_step", "step_duration"];

/// One value by the name that it has in both lists; `separator` stands between the numbers of a range.
fn value(name: &str, separator: char, options: &Options) -> Value {
    let range = |range: Option<(u64, u64)>| {
        let (least, most) = range.unwrap_or_default();
        Value::Text(Some(format!("{least}{separator}{most}")))
    };
    let text = |text: &Option<String>| Value::Text(text.clone());
    let pattern = |left: Pattern, right: Pattern| format!("{}:{}", left.letter(), right.letter());
    match name {
        "server" => Value::Text(Some(options.host.clone())),
        "port" => Value::Count(options.port.into()),
        "uri" => {
            Value::Text(Some(options.uri.as_deref().map(without_password).unwrap_or_default()))
        }
        "unix socket" => text(&options.unix_socket),
        "address family" => Value::Text(Some(
            match options.family {
                Family::Any => "Unspecified",
                Family::Ipv4 => "AF_INET",
                Family::Ipv6 => "AF_INET6",
            }
            .into(),
        )),
        "protocol" => Value::Text(Some(options.protocol.name().into())),
        "tls" => Value::Truth(options.tls),
        "cert" => text(&options.cert),
        "key" => text(&options.key),
        "cacert" => text(&options.cacert),
        "tls_skip_verify" => Value::Truth(options.tls_skip_verify),
        "sni" => text(&options.sni),
        "out_file" => text(&options.out_file),
        "client_stats" => text(&options.client_stats),
        "run_count" => Value::Count(options.run_count.into()),
        "debug" => Value::Count(options.debug.into()),
        "requests" => Value::Count(requests(options)),
        "rate_limit" => Value::Count(options.rate_limit),
        "clients" => Value::Count(options.clients.into()),
        "threads" => Value::Count(options.threads.into()),
        "test_time" => Value::Count(options.test_time_s.unwrap_or(0)),
        "ratio" => Value::Text(Some(format!("{}:{}", options.ratio.0, options.ratio.1))),
        "pipeline" => Value::Count(options.pipeline.into()),
        "reconnect_interval" => Value::Count(options.reconnect_interval),
        "connection_timeout" => Value::Count(options.connection_timeout_s),
        "thread_conn_start_min_jitter_micros" => Value::Count(options.jitter_min_us),
        "thread_conn_start_max_jitter_micros" => Value::Count(options.jitter_max_us),
        "multi_key_get" => Value::Count(options.multi_key_get),
        "authenticate" => Value::Text(Some(
            options.authenticate.as_ref().map_or(String::new(), |_| HIDDEN.to_string()),
        )),
        "select-db" => Value::Count(options.select_db.into()),
        "wait-ratio" => Value::Text(Some(match options.wait_ratio {
            Some((sets, waits)) => format!("{sets}:{waits}"),
            None => "0:0".into(),
        })),
        "num-slaves" => range(options.num_slaves),
        "wait-timeout" => range(options.wait_timeout),
        "json-out-file" => text(&options.json_out_file),
        "print-all-runs" => Value::Truth(options.print_all_runs),
        "clients_start" => Value::Count(options.clients_start.unwrap_or(0).into()),
        "clients_step" => Value::Count(options.clients_step.unwrap_or(0).into()),
        "step_duration" => Value::Count(options.step_duration_s.unwrap_or(0)),
        "key_pattern" => Value::Text(Some(pattern(options.key_pattern.0, options.key_pattern.1))),
        "data_size_range" => range(options.data_size_range),
        "expiry_range" => range(options.expiry_range),
        other => object_value(other, options),
    }
}

fn object_value(name: &str, options: &Options) -> Value {
    let (key_minimum, key_maximum) = options.keys();
    match name {
        "data_size" => Value::Count(options.data_size),
        "data_offset" => Value::Count(options.data_offset),
        "random_data" => Value::Truth(options.random_data),
        "data_size_list" => Value::Text(Some(options.data_size_list_text.clone())),
        "data_size_pattern" => {
            Value::Text(Some(if options.data_size_spread { "S" } else { "R" }.into()))
        }
        "data_import" => Value::Text(options.data_import.clone()),
        "data_verify" => Value::Truth(options.data_verify),
        "verify_only" => Value::Truth(options.verify_only),
        "generate_keys" => Value::Truth(options.generate_keys),
        "no-expiry" => Value::Truth(options.no_expiry),
        "key_prefix" => Value::Text(Some(options.key_prefix.clone())),
        "key_minimum" => Value::Count(key_minimum),
        "key_maximum" => Value::Count(key_maximum),
        "key_stddev" => Value::Number(options.key_stddev),
        "key_median" => Value::Number(options.key_median),
        "key_zipf_exp" => Value::Number(options.key_zipf_exponent),
        _ => unreachable!("every name of both lists has its value"),
    }
}

/// The number asked for; 0 in a test by time, as in the original.
fn requests(options: &Options) -> u64 {
    match (options.test_time_s, options.requests) {
        (Some(_), _) => 0,
        (None, Some(Requests::Count(count))) => count,
        (None, Some(Requests::AllKeys)) => {
            let (least, most) = options.keys();
            most - least + 1
        }
        (None, None) => super::plans::DEFAULT_REQUESTS,
    }
}

fn without_password(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else { return uri.into() };
    match rest.rsplit_once('@') {
        Some((credentials, address)) => {
            let user = credentials.split_once(':').map_or("", |(user, _)| user);
            format!("{scheme}://{user}:{HIDDEN}@{address}")
        }
        None => uri.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_value_and_passwords_have_none() {
        let options = Options {
            authenticate: Some("user:secret".into()),
            uri: Some("redis://u:secret@host:1/2".into()),
            clients_start: Some(1),
            ..Options::new()
        };
        let mut writer = JsonWriter::default();
        writer.object(None);
        json(&options, &mut writer);
        writer.close();
        for text in [text(&options), writer.finish()] {
            assert!(!text.contains("secret"), "{text}");
            assert!(text.contains("redis://u:(hidden)@host:1/2"), "{text}");
        }
    }
}
