//! The memtier_benchmark personality beside recordings of the original (its figures masked), against a real server.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::store;
use testkit::peer::Peer;
use testkit::shell;

/// What a program printed and returned.
#[derive(Debug, PartialEq)]
struct Outcome {
    stdout: String,
    stderr: String,
    status: i32,
}

/// The recorded command lines that are compared with a server at hand.
const RECORDED: [&str; 14] = [
    "client-stats",
    "command-line-breakdown",
    "commands",
    "default-n",
    "hdr-files",
    "hide-histogram",
    "json-n",
    "percentiles",
    "rate",
    "run-count",
    "run-count-all",
    "scan",
    "show-config",
    "wait",
];

/// Recordings that take seconds, and the reports that they wrote.
const RECORDED_BY_TIME: [&str; 2] = ["staircase", "test-time"];

#[test]
fn option_errors_are_the_original_s() {
    for name in ["badoption", "conflict"] {
        let mut outcome = run(&recorded_words(name, 1, Path::new("")));
        let first_line = outcome.stdout.lines().next().unwrap_or_default().to_string() + "\n";
        assert!(outcome.stdout.lines().count() > 100);
        outcome.stdout = first_line;
        assert_eq!(outcome, recorded_outcome(name), "{name}");
    }
    for (line, sentence) in [
        ("--ratio 0:0", "error: --ratio must be two numbers, SETS:GETS, not both 0.\n"),
        ("--key-pat", "memtier_benchmark: option '--key-pattern' requires an argument\n"),
        (
            "--clients-start 1",
            "error: --clients-start, --clients-step and --step-duration must be given together.\n",
        ),
        ("--command x --ratio 1:1", "error: --command and --ratio are mutually exclusive.\n"),
    ] {
        let outcome = run(&words(line));
        assert_eq!((outcome.stderr.as_str(), outcome.status), (sentence, 2), "{line}");
    }
    let outcome = run(&words("--help"));
    assert!(outcome.stdout.starts_with("Usage: memtier_benchmark [options]\n"));
    assert_eq!((outcome.stderr.as_str(), outcome.status), ("", 0));
    let outcome = run(&words("-v"));
    assert!(outcome.stdout.starts_with("memtier_benchmark v="), "{}", outcome.stdout);
    assert_eq!(outcome.status, 0);
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    let outcome = run(&words("-p 1 -n 10 -t 1 -c 1"));
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("error: Connection error: "), "{}", outcome.stderr);
}

#[test]
fn a_real_server_is_measured_in_the_original_s_words() {
    let Some(server) = Peer::redis() else { return };
    RECORDED.iter().for_each(|name| compare(name, &server));
}

#[test]
fn runs_by_time_are_measured_in_the_original_s_words() {
    let Some(server) = Peer::redis() else { return };
    RECORDED_BY_TIME.iter().for_each(|name| compare(name, &server));
}

#[test]
fn our_own_store_is_measured_in_the_original_s_words() {
    let server = store::start();
    ["commands", "default-n", "json-n"].iter().for_each(|name| compare(name, &server));
}

#[test]
fn what_exporters_read_is_there() {
    let Some(server) = Peer::redis() else { return };
    let port = server.address.port();
    for (runs, sets) in [
        (1, &["ALL STATS"][..]),
        (3, &["BEST RUN RESULTS", "WORST RUN RESULTS", "AGGREGATED AVERAGE RESULTS (3 runs)"]),
    ] {
        let folder = scratch(&format!("exporter-{runs}"));
        let path = folder.join("out.json");
        let line = format!(
            "-p {port} -n 50 -t 1 -c 2 -x {runs} --hide-histogram --json-out-file {}",
            path.display()
        );
        assert_eq!(run(&words(&line)).status, 0);
        let report: Json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for set in sets {
            let number = |path: &[&str]| {
                let found = path.iter().fold(&report[set], |place, name| &place[name]);
                found.as_f64().unwrap_or_else(|| panic!("{set} {path:?} in {report}"))
            };
            assert!(number(&["Totals", "Ops/sec"]) > 0.0);
            assert!(number(&["Totals", "Latency"]) > 0.0);
            assert!(number(&["Totals", "Misses/sec"]) > 0.0);
            assert!(number(&["Totals", "Percentile Latencies", "p50.00"]) > 0.0);
            assert!(
                number(&["Totals", "Percentile Latencies", "p50.00"])
                    <= number(&["Totals", "Percentile Latencies", "p99.00"])
            );
            assert!(number(&["Runtime", "Start time"]) > 1e12);
        }
    }
}

#[test]
fn thirty_suites_run_to_the_end() {
    let Some(server) = Peer::redis() else { return };
    let sample = fs::read_to_string(folder().join("sample.tsv")).unwrap();
    assert_eq!(sample.lines().count(), 30);
    let mut client = server.client();
    for suite in sample.lines() {
        let [_, init, preload, arguments] =
            suite.split('\t').collect::<Vec<_>>().try_into().unwrap();
        client.command(&["FLUSHALL"]).unwrap();
        for command in init.split(" ; ").filter(|command| !command.is_empty()) {
            let words = shell::words(command);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            client.command(&words).unwrap();
        }
        let path = scratch("suites").join("out.json");
        for line in [preload, arguments].iter().filter(|line| !line.is_empty()) {
            let mut given = shell::words(line);
            shorten(&mut given);
            let json = format!("--json-out-file={}", path.display());
            let port = server.address.port().to_string();
            given
                .splice(0..0, [json, "--port".into(), port, "--server".into(), "127.0.0.1".into()]);
            let outcome = run(&given);
            assert_eq!(outcome.status, 0, "{line}\n{}", outcome.stderr);
        }
        let report: Json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert!(report["ALL STATS"]["Totals"]["Ops/sec"].is_f64(), "{arguments}");
    }
}

/// Makes a suite's run short, as its runner does: few requests in place of minutes.
fn shorten(words: &mut Vec<String>) {
    const LENGTHS: [&str; 3] = ["--test-time", "-n", "--requests"];
    let mut kept = Vec::new();
    let mut rest = words.drain(..);
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or_default();
        if LENGTHS.contains(&name) {
            if !word.contains('=') {
                rest.next();
            }
        } else {
            kept.push(word);
        }
    }
    drop(rest);
    kept.extend(["-n".into(), "10".into()]);
    *words = kept;
}

/// Runs a recorded command line, and compares all that it printed and wrote.
fn compare(name: &str, server: &Peer) {
    let mut client = server.client();
    client.command(&["FLUSHALL"]).unwrap();
    for number in 0..200 {
        client.command(&["SET", &format!("memtier-{number}"), "x"]).unwrap();
    }
    let out = scratch(name);
    let outcome = run(&recorded_words(name, server.address.port(), &out));
    let shown = out.display().to_string();
    let outcome = Outcome {
        stdout: outcome.stdout,
        stderr: outcome.stderr.replace(&shown, "OUT"),
        status: outcome.status,
    };
    let expected = recorded_outcome(name);
    assert_eq!(masked_all(&outcome.stdout), masked_all(&expected.stdout), "{name}");
    assert_eq!(without_progress(&outcome.stderr), without_progress(&expected.stderr), "{name}");
    assert_eq!(outcome.status, expected.status, "{name}");
    let files: Vec<PathBuf> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut compared = 0;
    for path in files {
        let file = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        if file.ends_with(".json") {
            let own: Json =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let expected: Json = serde_json::from_str(&recorded(file)).unwrap();
            assert_eq!(json_shape(&own, ""), json_shape(&expected, ""), "{name} {file}");
        } else {
            let expected = recorded(&format!("files/{file}"));
            assert_eq!(masked_all(&text), masked_all(&expected), "{name} {file}");
        }
        compared += 1;
    }
    let wanted = recorded(&format!("{name}.cmd")).contains("OUT/");
    assert_eq!(compared > 0, wanted, "{name} wrote {compared} files");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/memtier")
}

fn recorded(file: &str) -> String {
    let path = folder().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn recorded_outcome(name: &str) -> Outcome {
    Outcome {
        stdout: recorded(&format!("{name}.stdout")),
        stderr: recorded(&format!("{name}.stderr")),
        status: recorded(&format!("{name}.exit")).trim().parse().unwrap(),
    }
}

/// The recorded command line, at another port and with another folder for its files.
fn recorded_words(name: &str, port: u16, out: &Path) -> Vec<String> {
    let line = recorded(&format!("{name}.cmd"));
    let line =
        line.replace("7001", &port.to_string()).replace("OUT/", &format!("{}/", out.display()));
    shell::words(&line).split_off(1)
}

/// An empty folder for the files of a test.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "memtier-{name}-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

/// Runs to the end, under the name of the original.
fn run(arguments: &[String]) -> Outcome {
    let output = Command::new(store::BINARY)
        .arg0("memtier_benchmark")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Outcome {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

/// The lines with figures as `N`; of equal ones beside each other one, as a distribution has more or fewer.
fn masked_all(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        // The lines above and below a table are as long as its widest name.
        let line = masked(line);
        if lines.last() != Some(&line) || line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// Without progress lines, which vary in number; each of those that are there must have the shape of one.
fn without_progress(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (live, last) = line.rsplit_once('\r').unwrap_or(("", line));
        for part in live.split('\r').filter(|part| !part.is_empty()) {
            assert_eq!(
                masked(part),
                "[RUN #N N%, N secs] N threads N conns: N ops, N (avg: N) ops/sec, NB/sec (avg: NB/sec), N (avg: N) msec latency"
                    .replace("NB", "N"),
            );
        }
        // The recordings are older than this warning of 2.4.
        if !last.ends_with("of the reads found nothing") {
            lines.push(masked(last));
        }
    }
    lines
}

/// Figures, sizes, dates and encoded histograms become `N`; blanks become one.
fn masked(line: &str) -> String {
    let mut masked = String::new();
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        if !masked.is_empty() {
            masked.push(' ');
        }
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let figure = rest.len()
                - rest
                    .trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.')
                    .len();
            if first.is_ascii_digit() {
                masked.push('N');
                rest = &rest[figure..];
                rest = ["KB", "MB", "GB"]
                    .iter()
                    .find_map(|unit| rest.strip_prefix(unit))
                    .unwrap_or(rest);
            } else if rest.starts_with("HISTFAAA") || rest == "inf" || rest == "---" {
                masked.push('N');
                rest = "";
            } else {
                masked.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    match masked.split_once("(seconds since epoch)") {
        Some((before, _)) => before.to_string(),
        None => masked,
    }
}

/// Names and kinds of values, in order; of a list and of a series over time one element.
fn json_shape(value: &Json, name: &str) -> String {
    match value {
        Json::Object(fields) if name == "Time-Serie" || name == "Active Clients" => {
            let full = fields
                .values()
                .max_by_key(|point| point.as_object().map_or(0, |point| point.len()));
            full.map_or("{}".into(), |point| json_shape(point, ""))
        }
        Json::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", json_shape(value, name)))
                .collect();
            format!("{{{}}}\n", fields.join(" "))
        }
        Json::Array(items) => {
            items.first().map_or("[]".into(), |item| format!("[{}]", json_shape(item, "")))
        }
        Json::String(text) if text.starts_with("HISTFAAA") => "histogram".into(),
        Json::String(text) => format!("{text:?}"),
        Json::Number(_) => "number".into(),
        other => other.to_string(),
    }
}
