//! `redline resp-benchmark` beside what the original printed for the same command lines, figures masked, and the workloads of
//! a white paper that was measured with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::client::Client;
use testkit::peer::Peer;
use testkit::reply::Value;

use crate::store;

/// What the original puts in front of each line that replaces the one before.
const OVER: &str = "\x1b[F\x1b[2K";
/// What live lines look like with their figures masked.
const LIVE: [&str; 3] = [
    "qps: N(overall N), conn: N, no data",
    "qps: N(overall N), conn: N, cnt: N, avg: N, p99: N",
    "Data loading qps: N, N%",
];

/// What a program printed and returned.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub status: i32,
}

/// The load, if there is one, and the command of each item; ranges as printed.
const ITEMS: [(Option<&str>, &str); 10] = [
    (None, "SET {key uniform 10000000} {value 64}"),
    (Some("SET {key sequence 10000000} {value 64}"), "GET {key uniform 10000000}"),
    (None, "ZADD {key uniform 1000} {rand 70000} {key uniform 10000}"),
    (
        Some("ZADD {key sequence 1000} {rand 70000} {key sequence 10007}"),
        "ZSCORE {key uniform 1000} {key uniform 10007}",
    ),
    (None, "HSET {key uniform 1000} {key uniform 10000} {value 64}"),
    (
        Some("HSET {key sequence 1000} {key sequence 10007} {value 64}"),
        "HGET {key uniform 1000} {key uniform 10007}",
    ),
    (None, "LPUSH {key uniform 1000} {value 64}"),
    (Some("LPUSH {key sequence 1000} {value 64}"), "LINDEX {key uniform 1000} {rand 10000}"),
    (None, "SADD {key uniform 1000} {value 64}"),
    (
        Some("SADD {key sequence 1000} {key sequence 10007}"),
        "SISMEMBER {key uniform 1000} {key uniform 10007}",
    ),
];
const EVALSHA: &str =
    "EVALSHA d8f2fad9f8e86a53d2a6ebd960b33c4972cacc37 1 {key uniform 10000000} {value 64}";

#[test]
fn a_real_server_is_measured_in_the_original_s_lines() {
    let Some(server) = Peer::redis() else { return };
    compare_all(server.address.port(), &mut server.client());
}

#[test]
fn our_own_store_is_measured_in_the_original_s_lines() {
    let server = store::start();
    compare_all(server.address.port(), &mut server.client());
}

#[test]
fn the_items_of_the_white_paper_run_against_our_store() {
    let server = store::start();
    let port = server.address.port().to_string();
    let mut client = server.client();
    for (load, command) in ITEMS {
        client.command(&["FLUSHALL"]).unwrap();
        if let Some(load) = load {
            let options = ["-p", &port, "--load", "-c", "256", "-P", "10", "-n", "10007", load];
            let outcome = run(&options);
            assert_eq!((outcome.stderr.as_str(), outcome.status), ("", 0), "{load}");
            assert!(outcome.stdout.contains("Data loaded, qps: "), "{load}: {outcome:?}");
        }
        let outcome = run(&["-p", &port, "-s", "1", "-c", "32", command]);
        assert_eq!((outcome.stderr.as_str(), outcome.status), ("", 0), "{command}");
        assert!(count(&outcome) > 0, "{command}: {outcome:?}");
    }
    // 10007 fields went to keys that repeat every 1000.
    client.command(&["FLUSHALL"]).unwrap();
    run(&["-p", &port, "--load", "-c", "16", "-P", "10", "-n", "10007", ITEMS[5].0.unwrap()]);
    assert_eq!(client.command(&["DBSIZE"]).unwrap(), Value::Integer(1_000));
    assert_eq!(client.command(&["HLEN", "key_0000000006"]).unwrap(), Value::Integer(11));
}

#[test]
fn scripts_by_digest_run_against_a_real_server() {
    let Some(server) = Peer::redis() else { return };
    let mut client = server.client();
    client.command(&["FLUSHALL"]).unwrap();
    client.command(&["SCRIPT", "LOAD", "return redis.call('SET', KEYS[1], ARGV[1])"]).unwrap();
    let port = server.address.port().to_string();
    let outcome = run(&["-p", &port, "-n", "500", "-c", "4", EVALSHA]);
    assert_eq!((outcome.stderr.as_str(), outcome.status, count(&outcome)), ("", 0, 500));
    let keys = client.command(&["DBSIZE"]).unwrap();
    assert!(matches!(keys, Value::Integer(490..=500)), "{keys:?}");
}

#[test]
fn databases_get_even_shares() {
    let server = store::start();
    let port = server.address.port().to_string();
    let mut client = server.client();
    let line = ["-p", &port, "-c", "2", "-n", "11", "--dbid", "0-2", "INCR {key sequence 100}"];
    assert_eq!(run(&line).status, 0);
    let mut sizes = |number: &str| {
        client.command(&["SELECT", number]).unwrap();
        client.command(&["DBSIZE"]).unwrap()
    };
    assert_eq!(
        [sizes("0"), sizes("1"), sizes("2")],
        [Value::Integer(4), Value::Integer(4), Value::Integer(3)]
    );
    let outcome = run(&["-p", &port, "-c", "4", "-s", "1", "--dbid", "5,7", "INCR x"]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let mut number = |database: &str| {
        client.command(&["SELECT", database]).unwrap();
        matches!(client.command(&["GET", "x"]).unwrap(), Value::Bulk(_))
    };
    assert_eq!([number("5"), number("6"), number("7")], [true, false, true]);
}

#[test]
fn scripts_make_the_commands() {
    let server = store::start();
    let port = server.address.port().to_string();
    let mut client = server.client();
    let script = "local k = bench.key(200, 'sequence', 'k')
        function generate() return {'SET', 'lua:' .. k(), json.encode({n = 1, v = bench.value(3)()})} end";
    let outcome = run(&["-p", &port, "-c", "4", "-n", "200", "--lua", script]);
    assert_eq!((outcome.stderr.as_str(), outcome.status, count(&outcome)), ("", 0, 200));
    assert_eq!(client.command(&["DBSIZE"]).unwrap(), Value::Integer(200));
    let Value::Bulk(text) = client.command(&["GET", "lua:199"]).unwrap() else { panic!() };
    assert!(text.starts_with(b"{\"n\":1,\"v\":\"") && text.len() == 17, "{text:?}");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resp-benchmark.lua");
    fs::write(&file, script).unwrap();
    let outcome = run(&["-p", &port, "-c", "1", "-n", "1", "--lua-file", file.to_str().unwrap()]);
    assert_eq!((outcome.status, count(&outcome)), (0, 1));
    for (script, part) in [
        ("x y", "script:1:"),
        ("function generate() return {} end", "script: generate() returned an empty table"),
    ] {
        let outcome = run(&["-p", &port, "-c", "1", "-n", "1", "--lua", script]);
        assert!(outcome.status == 1 && outcome.stderr.contains(part), "{outcome:?}");
    }
}

#[test]
fn a_search_for_connections_sends_no_more_than_was_asked_for() {
    let server = store::start();
    let port = server.address.port().to_string();
    let outcome = run(&["-p", &port, "-n", "300", "INCR x"]);
    assert_eq!((outcome.stderr.as_str(), outcome.status, count(&outcome)), ("", 0, 300));
    let value = server.client().command(&["GET", "x"]).unwrap();
    assert_eq!(value, Value::Bulk(b"300".to_vec()));
}

#[test]
fn a_rate_is_kept() {
    let server = store::start();
    let port = server.address.port().to_string();
    let outcome = run(&["-p", &port, "-c", "4", "-t", "200", "-n", "300", "PING"]);
    let line = outcome.stdout.lines().rev().nth(1).unwrap();
    let rate: f64 =
        line.split(['(', ',']).next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((150.0..=202.0).contains(&rate), "{line}");
}

#[test]
fn command_lines_that_make_no_run_are_told() {
    for (words, sentence, status) in [
        (&["-P", "0"][..], "error: pipeline must be greater than 0\n", 2),
        (&["GET a", "b"], "error: unrecognized arguments: b\n", 2),
        (
            &["--dbid", "x"],
            "error: Invalid dbid: use non-negative IDs or ranges, e.g. 0,1,2,255 or 0-2,255\n",
            2,
        ),
        (
            &["--short-connection", "--load", "-n", "1"],
            "Error: short_connection mode does not support loading\n",
            1,
        ),
        (&["--cores", "x"], "Invalid cores range: x.\n", 1),
        (&["--load"], "Error: --load needs a number of requests (-n)\n", 1),
        (
            &["--lua-file", "/nowhere"],
            "Error: cannot read /nowhere: No such file or directory (os error 2)\n",
            1,
        ),
        (&["GET {key uniform}"], "write {{ for a brace\n", 1),
        (&[""], "empty command\n", 1),
    ] {
        let outcome = run(words);
        assert!(outcome.stderr.ends_with(sentence), "{words:?}: {outcome:?}");
        assert_eq!((outcome.stdout.as_str(), outcome.status), ("", status), "{words:?}");
    }
    let help = run(&["--help"]);
    assert!(help.stdout.starts_with("usage: redline resp-benchmark [-h host]") && help.status == 0);
}

#[test]
fn a_signal_ends_a_run_with_its_last_line() {
    let server = store::start();
    let port = server.address.port().to_string();
    let child = command(&["-p", &port, "-c", "2", "PING"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let since = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && since.elapsed() < Duration::from_secs(20), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.ends_with("\n\n") && stdout.contains(", conn: 2, cnt: "), "{stdout}");
}

/// Runs every recorded command line and compares.
fn compare_all(port: u16, client: &mut Client) {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        names.extend(name.strip_suffix(".cmd").map(String::from));
    }
    assert!(names.len() >= 11, "{names:?}");
    for name in names {
        client.command(&["FLUSHALL"]).unwrap();
        client.command(&["SET", "str", "text"]).unwrap();
        let line = recorded(&name, "cmd").replace("7001", &port.to_string());
        let words = shell_words(line.trim().strip_prefix("resp-benchmark").unwrap());
        let ours = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let status = recorded(&name, "exit").trim().parse().unwrap();
        if name == "badtemplate" {
            assert_eq!((ours.stdout.as_str(), ours.status), ("", status));
            assert!(ours.stderr.starts_with("unknown placeholder {key nope 10}"), "{ours:?}");
            continue;
        }
        let theirs = Outcome {
            stdout: recorded(&name, "stdout"),
            stderr: recorded(&name, "stderr"),
            status,
        };
        assert_eq!(shape(&ours), shape(&theirs), "{name}");
    }
}

/// The words of a line in which a backslash protects the next letter.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = line.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => words.last_mut().unwrap().extend(letters.next()),
            ' ' => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/resp-benchmark")
}

fn recorded(name: &str, kind: &str) -> String {
    fs::read_to_string(folder().join(format!("{name}.{kind}"))).unwrap()
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(store::BINARY);
    command.arg("resp-benchmark").args(words);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    command
}

/// Runs to the end.
pub fn run(words: &[&str]) -> Outcome {
    let output = command(words).output().unwrap();
    Outcome {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// How many requests the last line tells.
fn count(outcome: &Outcome) -> u64 {
    let line = outcome.stdout.lines().rev().find(|line| line.contains("cnt: ")).unwrap_or("");
    let behind = line.split("cnt: ").nth(1).unwrap_or("0");
    behind.split(',').next().unwrap().parse().unwrap()
}

/// The outcome without what varies from run to run: figures, live lines, and how often an error is told.
fn shape(outcome: &Outcome) -> Outcome {
    let mut lines = Vec::new();
    for line in outcome.stdout.lines() {
        let bare = masked(line.trim_start_matches(OVER));
        if !LIVE.contains(&bare.as_str()) {
            lines.push(if line.starts_with(OVER) { format!("{OVER}{bare}") } else { bare });
        }
    }
    let told: BTreeSet<String> = outcome.stderr.lines().map(masked).collect();
    Outcome {
        stdout: lines.join("\n"),
        stderr: told.into_iter().collect::<Vec<_>>().join("\n"),
        status: outcome.status,
    }
}

/// Numbers, with their points and units of time, become `N`; the 99 of a percentile stays.
fn masked(line: &str) -> String {
    let mut masked = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        if first.is_ascii_digit() && !masked.ends_with('p') {
            rest = &rest[length..];
            for unit in ["ms", "s"] {
                rest = rest.strip_prefix(unit).unwrap_or(rest);
            }
            masked.push('N');
        } else {
            masked.push(first);
            rest = &rest[first.len_utf8()..];
            if first == 'p' {
                let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                masked.push_str(&rest[..digits]);
                rest = &rest[digits..];
            }
        }
    }
    masked
}
