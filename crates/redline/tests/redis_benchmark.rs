//! `redline redis-benchmark` beside what the original printed for the same command lines, figures masked: against a real
//! server, and against our own store.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::store;
use testkit::peer::Peer;
use testkit::reply::Value;

/// The status with which recordings say that the program was stopped from outside.
pub(crate) const STOPPED: i32 = 124;
/// How long a program that never ends is watched.
const WATCHED: Duration = Duration::from_millis(700);

/// What a program printed and returned.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: i32,
}

#[test]
fn a_real_server_is_measured_in_the_original_s_words() {
    let Some(server) = Peer::redis() else { return };
    compare_all(&server, |outcome| outcome);
}

#[test]
fn our_own_store_is_measured_in_the_original_s_words() {
    compare_all(&store::start(), without_settings);
}

#[test]
fn option_errors_are_the_original_s() {
    let outcome = run(&["--nonsense".into()], None);
    let first = "Invalid option \"--nonsense\" or option argument missing\n\nUsage: redline redis-benchmark [OPTIONS]";
    assert!(outcome.stdout.starts_with(first), "{}", outcome.stdout);
    assert_eq!((outcome.stderr.as_str(), outcome.status), ("", 1));
    let outcome = run(&["--help".into()], None);
    assert!(outcome.stdout.starts_with("Usage: redline redis-benchmark [OPTIONS]"));
    assert_eq!((outcome.stderr.as_str(), outcome.status), ("", 0));
    let outcome = run(&["-v".into()], None);
    assert!(outcome.stdout.starts_with("redis-benchmark "), "{}", outcome.stdout);
    for (arguments, sentence) in [
        (&["-p", "70000"][..], "Invalid server port.\n"),
        (&["-u", "http://x"], "Invalid URI scheme\n"),
        (
            &["--cluster", "-p", "1"],
            "Could not connect to Redis at 127.0.0.1:1: Connection refused\n",
        ),
    ] {
        let arguments: Vec<String> = arguments.iter().map(|word| word.to_string()).collect();
        let outcome = run(&arguments, None);
        let expected = Outcome { stdout: String::new(), stderr: sentence.into(), status: 1 };
        assert_eq!(outcome, expected, "{arguments:?}");
    }
}

#[test]
fn access_is_refused_in_the_original_s_words() {
    let Some(server) = Peer::redis() else { return };
    let mut client = server.client();
    let port = server.address.port();
    client.command(&["CONFIG", "SET", "requirepass", "secret"]).unwrap();
    for (credentials, message) in [
        ("", "NOAUTH Authentication required."),
        ("-a wrong", "WRONGPASS invalid username-password pair or user is disabled."),
    ] {
        let outcome = run(&words(&format!("-p {port} -n 10 -q -t get {credentials}")), None);
        let stderr = format!("Node 127.0.0.1:{port} replied with error:\n{message}\n");
        assert_eq!(outcome, Outcome { stdout: String::new(), stderr, status: 1 });
    }
    let outcome = run(&words(&format!("-p {port} -n 10 -q -t get -a secret --dbnum 99")), None);
    assert_eq!(
        (outcome.stderr.as_str(), outcome.status),
        ("Error from server: ERR DB index is out of range\n", 1)
    );
    let outcome = run(
        &words(&format!("-u redis://default:secret@127.0.0.1:{port}/3 -n 10 --csv -t set")),
        None,
    );
    assert_eq!((outcome.stderr.as_str(), outcome.status), ("", 0));
    client.command(&["AUTH", "secret"]).unwrap();
    client.command(&["SELECT", "3"]).unwrap();
    let value = client.command(&["GET", "key:__rand_int__"]).unwrap();
    assert_eq!(value, Value::Bulk(b"VXK".to_vec()));
}

#[test]
fn the_same_seed_sends_the_same_keys() {
    let server = store::start();
    let mut client = server.client();
    let port = server.address.port();
    let mut keys = |seed: u64, threads: u32| {
        client.command(&["FLUSHALL"]).unwrap();
        let line =
            format!("-p {port} -n 100 -c 4 -r 1000000 -q -t set --seed {seed} --threads {threads}");
        assert_eq!(run(&words(&line), None).status, 0);
        let Value::Array(mut keys) = client.command(&["KEYS", "*"]).unwrap() else { panic!() };
        keys.sort_by_key(|key| format!("{key:?}"));
        keys
    };
    let first = keys(7, 1);
    assert!(first.len() > 90, "{}", first.len());
    assert_eq!(first, keys(7, 3));
    assert_ne!(first, keys(8, 1));
}

#[test]
fn standard_input_is_the_last_argument() {
    let server = store::start();
    let port = server.address.port();
    let outcome = run(&words(&format!("-p {port} -n 10 -x --csv set from-stdin")), Some("hello"));
    assert!(outcome.stdout.lines().nth(1).unwrap().starts_with("\"set from-stdin\",\""));
    let value = server.client().command(&["GET", "from-stdin"]).unwrap();
    assert_eq!(value, Value::Bulk(b"hello".to_vec()));
}

/// The outcome without the values of the server's settings: those of the recordings' server are not our store's.
fn without_settings(mut outcome: Outcome) -> Outcome {
    let value_cut = |line: &str| match line.split_once("\": ") {
        Some((name, _)) if line.starts_with("  host configuration ") => format!("{name}\": \n"),
        _ => format!("{line}\n"),
    };
    outcome.stdout = outcome.stdout.lines().map(value_cut).collect();
    outcome
}

/// Runs every recorded command line against `server`, and compares what `kept` leaves of the outcomes.
fn compare_all(server: &Peer, kept: fn(Outcome) -> Outcome) {
    let mut client = server.client();
    for name in recorded_names() {
        client.command(&["FLUSHALL"]).unwrap();
        // What the recorded error came from: a string where the command wants a list.
        client.command(&["SET", "key:__rand_int__", "x"]).unwrap();
        let line = recorded(&name, "cmd");
        let port = server.address.port().to_string();
        let arguments: Vec<String> = line
            .split_whitespace()
            .skip(1)
            .map(|word| if word == "7001" { port.clone() } else { word.to_string() })
            .collect();
        let expected = Outcome {
            stdout: recorded(&name, "stdout"),
            stderr: recorded(&name, "stderr"),
            status: recorded(&name, "exit").trim().parse().unwrap(),
        };
        let outcome =
            if expected.status == STOPPED { watch(&arguments) } else { run(&arguments, None) };
        assert_eq!(shape(kept(outcome)), shape(kept(expected)), "{line}");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/redis-benchmark")
}

fn recorded_names() -> Vec<String> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.filter_map(|name| Some(name.to_str()?.strip_suffix(".cmd")?.to_string()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(names.len() >= 13);
    names
}

fn recorded(name: &str, kind: &str) -> String {
    fs::read_to_string(folder().join(format!("{name}.{kind}"))).unwrap()
}

pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

fn command(arguments: &[String]) -> Command {
    let mut command = Command::new(store::BINARY);
    command.arg("redis-benchmark").args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs to the end.
pub(crate) fn run(arguments: &[String], input: Option<&str>) -> Outcome {
    let mut child = command(arguments).spawn().unwrap();
    if let Some(input) = input {
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), input.as_bytes()).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    Outcome {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// Runs a program that never ends for a while.
pub(crate) fn watch(arguments: &[String]) -> Outcome {
    let mut child = command(arguments).spawn().unwrap();
    thread::sleep(WATCHED);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut outcome = Outcome { stdout: String::new(), stderr: String::new(), status: STOPPED };
    child.stdout.unwrap().read_to_string(&mut outcome.stdout).unwrap();
    child.stderr.unwrap().read_to_string(&mut outcome.stderr).unwrap();
    outcome
}

/// The outcome without what varies from run to run: live lines, figures with a point, counts in distributions, and how
/// many lines a distribution has.
pub(crate) fn shape(outcome: Outcome) -> Outcome {
    let mut lines: Vec<String> = Vec::new();
    for line in outcome.stdout.lines() {
        let (live, last) = line.rsplit_once('\r').unwrap_or(("", line));
        for part in live.split('\r').filter(|part| !part.trim().is_empty()) {
            assert!(is_live(&masked(part)), "no live line: {part}");
        }
        let line = masked(last);
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    Outcome { stdout: lines.join("\n"), ..outcome }
}

fn is_live(part: &str) -> bool {
    part.ends_with(": rps=N (overall: N) avg_msec=N (overall: N)") || part.starts_with("clients: ")
}

/// Figures with a point, counts and what C prints for them become `N`; columns are not aligned any more.
fn masked(line: &str) -> String {
    let mut masked = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let after = &rest[digits..];
        let fraction = after.strip_prefix('.').map(|after| {
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len()
        });
        if let Some(fraction) = fraction.filter(|_| digits > 0 && !masked.ends_with('.')) {
            masked.push('N');
            rest = &after[1 + fraction..];
        } else if digits > 0 && masked.ends_with("count ") {
            masked.push('N');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("-nan") {
            masked.push('N');
            rest = after;
        } else if digits > 0 {
            masked.push_str(&rest[..digits]);
            rest = after;
        } else {
            if first != ' ' || !masked.ends_with(' ') {
                masked.push(first);
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    masked
}
