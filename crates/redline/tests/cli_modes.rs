//! The measurement modes of `redline cli` beside the original: against what redis-cli 8 printed, figures masked, and against the
//! redis-cli of this machine on the same server; then what only a scripted server shows: keys that vanish, unknown types, an end.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use testkit::fake_server::{Answer, FakeServer};
use testkit::peer::{Peer, find};

use crate::store;

/// The status with which recordings say that the program was stopped from outside.
const STOPPED: i32 = 124;
/// How long a program that never ends is watched; its interval is a third of it or less.
const WATCHED: Duration = Duration::from_millis(2_500);
/// Patience with a program that ends by itself.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_real_server_is_shown_in_the_original_s_words() {
    let Some(server) = Peer::redis() else { return };
    fill_as_recorded(&server);
    for name in recorded_names() {
        compare_with_recording(&server, &name);
    }
}

#[test]
fn our_own_store_is_shown_in_the_original_s_words() {
    let server = store::start();
    fill_as_recorded(&server);
    for name in ["bigkeys", "latency-raw", "latency-csv", "latency-json", "latency-dist"] {
        compare_with_recording(&server, name);
    }
}

#[test]
fn our_own_store_says_what_it_lacks() {
    let server = store::start();
    fill_as_recorded(&server);
    for mode in ["--memkeys", "--keystats", "--hotkeys"] {
        let output = ours(server.address.port(), mode).output().unwrap();
        let stderr = text(&output.stderr);
        assert!(stderr.starts_with("Error: ERR "), "{mode}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{mode}: {stderr}");
        assert_eq!(output.status.code(), Some(1), "{mode}");
    }
}

#[test]
fn keys_are_found_as_the_original_finds_them() {
    let (Some(server), Some(original)) = (Peer::redis(), original()) else { return };
    fill_with_many(&server);
    for modes in [
        "--bigkeys",
        "--bigkeys -3",
        "--bigkeys --pattern key:1*",
        "--bigkeys -n 3",
        "--memkeys",
        "--memkeys --memkeys-samples 0",
        "--hotkeys",
    ] {
        let port = server.address.port();
        let expected = arguments(&mut Command::new(&original), port, modes).output().unwrap();
        let found = ours(port, modes).output().unwrap();
        assert_eq!(found.status.code(), expected.status.code(), "{modes}");
        assert_eq!(text(&found.stderr), text(&expected.stderr), "{modes}");
        // Each server run has its own order of SCAN, but both programs see the same one.
        assert_eq!(sorted(&newest_quotes(&found.stdout)), sorted(&newest_quotes(&expected.stdout)));
    }
}

#[test]
fn endless_modes_print_the_original_s_lines() {
    let (Some(server), Some(original)) = (Peer::redis(), original()) else { return };
    let Some(unbuffered) = find("stdbuf", "REDLINE_STDBUF") else {
        eprintln!("SKIPPED: no stdbuf on PATH");
        return;
    };
    fill_as_recorded(&server);
    let port = server.address.port();
    for modes in
        ["--stat -i 0.2", "--lru-test 100", "--latency-dist -i 0.2", "--latency-dist --mono -i 0.2"]
    {
        let mut command = Command::new(&unbuffered);
        command.arg("-oL").arg(&original);
        let expected = watch(arguments(&mut command, port, modes));
        let found = watch(&mut ours(port, modes));
        assert!(found.stdout.lines().count() >= 2, "{modes}: {}", found.stdout);
        assert_eq!(shape(&found.stdout), shape(&expected.stdout), "{modes}");
        assert_eq!(found.status, expected.status, "{modes}");
    }
    let rows = watch(&mut ours(port, "--stat -i 0.2")).stdout;
    let mut starts: Vec<Vec<usize>> = rows.lines().skip(2).map(column_starts).collect();
    starts.dedup();
    assert_eq!(starts, [[0, 11, 20, 28, 36, 56]], "{rows}");
}

#[test]
fn a_watched_latency_is_rewritten_in_place_until_ctrl_c() {
    let server = store::start();
    let port = server.address.port();
    let plain = watch(&mut ours(port, "--no-raw --latency"));
    // The process dies of the signal, and the shell says 130.
    assert_eq!(plain.status, -2);
    for sample in plain.stdout.split("\x1b[0G\x1b[2K").skip(1) {
        assert_eq!(masked(sample), "min: N, max: N, avg: N (N samples)");
    }
    let modes = "--no-raw --latency-history -i 0.3 --latency-percentiles 50,99.9";
    let windows = watch(&mut ours(port, modes)).stdout;
    let ends: Vec<&str> = windows.lines().filter(|line| line.ends_with(" range")).collect();
    assert!(ends.len() >= 3, "{windows}");
    for end in ends {
        let last = masked(end.rsplit("\x1b[0G\x1b[2K").next().unwrap());
        assert_eq!(last, "min: N, max: N, avg: N (N samples), pN: N, pN: N -- N seconds range");
    }
}

#[test]
fn percentiles_are_in_every_form() {
    let server = store::start();
    let port = server.address.port();
    for (form, expected) in [
        ("--raw", "N N N N N N"),
        ("--csv", "N,N,N,N,N,N"),
        (
            "--json",
            r#"{"min": N, "max": N, "avg": N, "count": N, "percentiles": {"N": N, "N": N}}"#,
        ),
        (
            "--quoted-json",
            r#"{"min": N, "max": N, "avg": N, "count": N, "percentiles": {"N": N, "N": N}}"#,
        ),
    ] {
        let modes = format!("{form} --latency -i 0.2 --latency-percentiles 50,99.9");
        let output = ours(port, &modes).output().unwrap();
        assert_eq!(masked(text(&output.stdout).trim_end()), expected, "{form}");
        assert_eq!(output.status.code(), Some(0));
    }
    let json = ours(port, "--json --latency -i 0.2 --latency-percentiles 50").output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let (min, median) =
        (json["min"].as_f64().unwrap(), json["percentiles"]["50"].as_f64().unwrap());
    assert!(0.0 < min && min <= median && median <= json["max"].as_f64().unwrap(), "{json}");
    let output = ours(port, "--latency --latency-percentiles 50,101").output().unwrap();
    assert!(text(&output.stderr).contains("from 0 to 100"), "{output:?}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn ctrl_c_shows_what_was_found() {
    let server = store::start();
    let mut client = server.client();
    for number in 0..150 {
        client.command(&["SET", &format!("key:{number}"), "x"]).unwrap();
    }
    let port = server.address.port();
    // A pause after a hundred pages keeps it busy until the signal comes.
    let output = interrupt(&mut ours(port, "--bigkeys --count 1 -i 600"));
    let stdout = text(&output.stdout);
    let line = stdout.lines().find(|line| line.contains("Sampled ")).unwrap();
    assert_eq!(masked(line), "[N%] Sampled N keys in the keyspace!", "{stdout}");
    assert!(stdout.contains(" strings with "), "{stdout}");
    assert_eq!(output.status.code(), Some(0));
    let output = interrupt(&mut ours(port, "--intrinsic-latency 600"));
    assert!(masked(&text(&output.stdout)).contains("Worst run took Nx longer"));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_terminal_shows_progress_and_keeps_the_last_words() {
    let server = store::start();
    let mut client = server.client();
    for number in 0..150 {
        client.command(&["SET", &format!("key:{number}"), "x"]).unwrap();
    }
    // The pause after a hundred pages is longer than the time between two drawings.
    let mut command = ours(server.address.port(), "--bigkeys --count 1 -i 0.5");
    let output = command.env("FAKETTY", "1").output().unwrap();
    let stdout = text(&output.stdout);
    let (live, last) = stdout.rsplit_once("\r\x1b[J").unwrap();
    assert!(live.contains("\x1b[2K\rKeys sampled: 1"), "{live:?}");
    assert!(live.contains("\x1b[2K\rBiggest string    found so far \""), "{live:?}");
    assert!(!stdout.contains("Sampled "), "{stdout:?}");
    let bar = "|".repeat(60);
    let start =
        format!("100.00% \x1b[32m{bar}\x1b[31m\x1b[39m\nKeys sampled: 150\n\n-------- summary");
    assert!(last.starts_with(&start), "{last:?}");
    assert!(last.contains("\n150 strings with 150 bytes (100.00% of keys, avg size 1.00)\n"));
}

#[test]
fn a_lost_connection_is_made_again_as_at_the_start() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        // The first connection ends after its third reply, the second with the program.
        let mut commands = Vec::new();
        for replies in [3, usize::MAX] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut input = [0; 4096];
            for _ in 0..replies {
                let length = stream.read(&mut input).unwrap_or(0);
                if length == 0 {
                    break;
                }
                commands.push(text(&input[..length]));
                if stream.write_all(b"+PONG\r\n").is_err() {
                    break;
                }
            }
        }
        commands
    });
    let modes = "--latency -i 0.5 -n 3 -a secret --no-auth-warning";
    let output = ours(port, modes).output().unwrap();
    assert_eq!(masked(&text(&output.stdout)), "N N N N");
    assert_eq!(text(&output.stderr), "Reconnecting...\n");
    assert_eq!(output.status.code(), Some(0));
    let commands = server.join().unwrap();
    let sent = |name: &str| commands.iter().filter(|command| command.contains(name)).count();
    assert_eq!((sent("AUTH"), sent("SELECT")), (2, 2), "{commands:?}");
}

#[test]
fn an_interrupted_keystats_goes_on_where_it_was() {
    let Some(server) = Peer::redis() else { return };
    fill_with_many(&server);
    let port = server.address.port();
    let first = interrupt(&mut ours(port, "--keystats --count 1 --top 3 -i 600"));
    let first = text(&first.stdout);
    assert!(first.contains("\n--- Top 3 key sizes ---\n"), "{first}");
    let cursor = first.split("--cursor ").last().unwrap().split('\'').next().unwrap();
    let second = ours(port, &format!("--keystats --cursor {cursor}")).output().unwrap();
    let sampled = |report: &str| -> u64 {
        let line = report.lines().find_map(|line| line.strip_prefix("Keys sampled: ")).unwrap();
        line.parse().unwrap()
    };
    let keys: u64 = 203;
    let (first, second) = (sampled(&first), sampled(&text(&second.stdout)));
    assert!(0 < first && first < keys, "{first}");
    assert_eq!(first + second, keys);
}

#[test]
fn keys_that_vanish_and_types_of_modules() {
    let server = FakeServer::start(|request| {
        let command = String::from_utf8_lossy(request.bytes).replace("\r\n", " ");
        let words: Vec<&str> = command.split(' ').skip(2).step_by(2).collect();
        let reply = match words.as_slice() {
            ["DBSIZE", ..] => ":4\r\n".to_owned(),
            ["READONLY", ..] => "-ERR This instance has cluster support disabled\r\n".to_owned(),
            ["SCAN", ..] => {
                "*2\r\n$1\r\n0\r\n*4\r\n$4\r\ngone\r\n$5\r\ngoing\r\n$4\r\njson\r\n$1\r\ns\r\n"
                    .to_owned()
            }
            ["TYPE", "gone", ..] => "+none\r\n".to_owned(),
            ["TYPE", "json", ..] => "+ReJSON-RL\r\n".to_owned(),
            ["TYPE", ..] => "+string\r\n".to_owned(),
            ["MEMORY", _, "going", ..] | ["OBJECT", _, "gone" | "going", ..] => {
                "$-1\r\n".to_owned()
            }
            ["STRLEN", "going", ..] => {
                "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n".to_owned()
            }
            ["MEMORY" | "OBJECT" | "STRLEN", ..] => ":7\r\n".to_owned(),
            other => panic!("{other:?}"),
        };
        Answer::Reply(reply.into_bytes())
    });
    let run = |modes: &str| {
        let output = ours(server.port(), modes).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{modes}");
        (text(&output.stdout), text(&output.stderr))
    };
    let (stdout, stderr) = run("--bigkeys");
    assert!(stdout.contains("Sampled 3 keys in the keyspace!\n"), "{stdout}");
    assert!(stdout.contains("\n2 strings with 7 bytes (66.67% of keys, avg size 3.50)\n"));
    assert!(stdout.contains("\n1 ReJSON-RLs with 0 ? (33.33% of keys, avg size 0.00)\n"));
    assert_eq!(stderr, "Warning:  STRLEN on \"going\" failed (may have changed type)\n");
    let (stdout, stderr) = run("--memkeys");
    assert!(stdout.contains("Biggest ReJSON-RL found \"json\" has 7 bytes\n"), "{stdout}");
    assert_eq!(stderr, "Warning:  MEMORY USAGE on \"going\" failed (may have changed type)\n");
    let (stdout, _) = run("--keystats");
    let line = stdout.lines().find(|line| line.starts_with("ReJSON-RL   ")).unwrap();
    assert_eq!(masked(line), "ReJSON-RL N N% N N - -");
    let (stdout, stderr) = run("--hotkeys");
    assert!(stdout.contains("hot key found with counter: 7\tkeyname: \"json\"\n"), "{stdout}");
    assert_eq!(stderr.lines().count(), 2, "{stderr}");
}

#[test]
fn a_refused_ping_is_measured_and_told_once() {
    let server =
        FakeServer::start(|_| Answer::Reply(b"-NOAUTH Authentication required.\r\n".to_vec()));
    let output = ours(server.port(), "--latency -i 0.2").output().unwrap();
    assert_eq!(masked(&text(&output.stdout)), "N N N N");
    let warning = "Warning: PING is answered with: NOAUTH Authentication required.\n";
    assert_eq!(text(&output.stderr), warning);
    let output = ours(server.port(), "--bigkeys").output().unwrap();
    let sentence = "Couldn't determine DBSIZE: NOAUTH Authentication required.\n";
    assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), sentence.into()));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn servers_that_are_away() {
    let server = FakeServer::start(|_| Answer::Die(Vec::new()));
    let port = server.port();
    let output = ours(port, "--bigkeys").output().unwrap();
    assert_eq!(text(&output.stderr), "I/O error: Server closed the connection\n");
    assert_eq!(output.status.code(), Some(1));
    for mode in ["--latency", "--stat", "--keystats", "--lru-test 10"] {
        let output = ours(port, mode).output().unwrap();
        let sentence =
            format!("Could not connect to Redis at 127.0.0.1:{port}: Connection refused\n");
        assert_eq!(text(&output.stderr), sentence, "{mode}");
        assert_eq!(output.status.code(), Some(1), "{mode}");
    }
}

/// The data of the recordings.
fn fill_as_recorded(server: &Peer) {
    fill(
        server,
        &[
            "SET str hello_world",
            "HSET h f1 v1 f2 v2",
            "ZADD z 1 a 2 b",
            "SADD set a b c",
            "RPUSH biglist 1 2 3 4 5",
            "XADD s * f v",
        ],
    );
}

/// Keys of several types, names and sizes, in two databases; some are used more than others.
fn fill_with_many(server: &Peer) {
    let mut commands: Vec<String> = (1..=200)
        .map(|number| format!("SET key:{number} {}", "x".repeat(number % 37 + 1)))
        .collect();
    commands.extend(["RPUSH l a b c".to_owned(), "XADD s * a b".to_owned()]);
    commands.push("CONFIG SET maxmemory-policy allkeys-lfu".to_owned());
    commands.extend((0..50).map(|number| format!("GET key:{}", number % 7 + 1)));
    fill(server, &commands.iter().map(String::as_str).collect::<Vec<_>>());
    let mut client = server.client();
    client.command(&[b"SADD".as_slice(), b"bin\x01\xffq\"", b"x"]).unwrap();
    client.command(&["SELECT", "3"]).unwrap();
    client.command(&["SET", "other", "database"]).unwrap();
}

fn fill(server: &Peer, commands: &[&str]) {
    let mut client = server.client();
    for command in commands {
        client.command(&command.split(' ').collect::<Vec<_>>()).unwrap();
    }
}

fn compare_with_recording(server: &Peer, name: &str) {
    let line = recorded(name, "cmd").replace("-p 7001", "");
    let modes = line.split_once(' ').unwrap().1.trim();
    let status: i32 = recorded(name, "exit").trim().parse().unwrap();
    let mut command = ours(server.address.port(), modes);
    let (stdout, stderr) = if status == STOPPED {
        let outcome = watch(&mut command);
        (whole_lines(&outcome.stdout), String::new())
    } else {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{modes}");
        (text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(stderr.trim_end(), recorded(name, "stderr").trim_end(), "{modes}");
    assert_eq!(shape(&stdout), shape(&whole_lines(&recorded(name, "stdout"))), "{modes}");
    if name == "bigkeys" {
        // Lengths are the data's own, on any server.
        assert_eq!(sorted(&stdout), sorted(&recorded(name, "stdout")));
    }
}

/// Without the line at whose middle a program was stopped.
fn whole_lines(text: &str) -> String {
    text.rsplit_once('\n').map_or_else(String::new, |(lines, _)| format!("{lines}\n"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/redis-cli-modes")
}

fn recorded_names() -> Vec<String> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> =
        files.filter_map(|name| Some(name.to_str()?.strip_suffix(".cmd")?.to_string())).collect();
    names.sort();
    assert!(names.len() >= 10);
    names
}

fn recorded(name: &str, kind: &str) -> String {
    fs::read_to_string(folder().join(format!("{name}.{kind}"))).unwrap()
}

/// The real redis-cli, if this machine has it.
fn original() -> Option<PathBuf> {
    let found = find("redis-cli", "REDLINE_REDIS_CLI");
    if found.is_none() {
        let is_strict = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!is_strict, "redis-cli is needed where CI=true");
        eprintln!("SKIPPED: no redis-cli on PATH or in REDLINE_REDIS_CLI");
    }
    found
}

fn ours(port: u16, modes: &str) -> Command {
    let mut command = Command::new(store::BINARY);
    arguments(command.arg("cli"), port, modes);
    command
}

fn arguments<'a>(command: &'a mut Command, port: u16, modes: &str) -> &'a mut Command {
    command.args(["-p", &port.to_string()]).args(modes.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// What a program that was stopped had printed, and its status; -2 for death by SIGINT.
struct Watched {
    stdout: String,
    status: i32,
}

/// Runs a program that never ends for a while, then presses Ctrl-C.
fn watch(command: &mut Command) -> Watched {
    let child = command.spawn().unwrap();
    thread::sleep(WATCHED);
    let output = signalled(child);
    let status = output.status.code().or(output.status.signal().map(|signal| -signal));
    Watched { stdout: text(&output.stdout), status: status.unwrap() }
}

/// Presses Ctrl-C when a program has done what it can do before it waits.
fn interrupt(command: &mut Command) -> Output {
    let child = command.spawn().unwrap();
    thread::sleep(WATCHED / 2);
    signalled(child)
}

fn signalled(mut child: Child) -> Output {
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).unwrap();
    let end = Instant::now() + PATIENCE;
    // The pipes hold all that these programs print: nobody has to read before they end.
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > end => {
                child.kill().unwrap();
                panic!("Ctrl-C does not end it");
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    child.stdout.unwrap().read_to_end(&mut stdout).unwrap();
    child.stderr.unwrap().read_to_end(&mut stderr).unwrap();
    Output { status, stdout, stderr }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    lines.sort();
    lines
}

/// Names in redis-cli 7 stand in two kinds of quotes, in 8 in one.
fn newest_quotes(stdout: &[u8]) -> String {
    text(stdout).replace("'\"", "\"").replace("\"'", "\"")
}

/// The output with figures masked; within each paragraph in order and without repetitions, since both depend on the server's tables
/// and on how fast this machine is.
fn shape(stdout: &str) -> Vec<Vec<String>> {
    stdout
        .split("\n\n")
        .map(|paragraph| {
            let mut lines: Vec<String> = paragraph.lines().map(masked).collect();
            lines.sort();
            lines.dedup();
            lines
        })
        .collect()
}

/// Figures with their unit become `N`, and columns are not aligned any more. Names that the recordings use have no digits.
fn masked(line: &str) -> String {
    let mut masked = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            let unit = ["B", "K", "M", "G"].iter().find(|unit| rest.starts_with(*unit));
            rest = &rest[unit.map_or(0, |unit| unit.len())..];
            masked.push('N');
        } else {
            if first != ' ' || !masked.ends_with(' ') {
                masked.push(first);
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    masked.trim().to_owned()
}

/// Where the words of a row begin, but for what stands in brackets.
fn column_starts(row: &str) -> Vec<usize> {
    let bytes = row.as_bytes();
    (0..bytes.len())
        .filter(|at| {
            bytes[*at] != b' ' && bytes[*at] != b'(' && (*at == 0 || bytes[at - 1] == b' ')
        })
        .collect()
}
