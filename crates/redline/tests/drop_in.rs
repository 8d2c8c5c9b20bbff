//! The programs that people already have work against the store: redis-benchmark, redis-cli, telnet,
//! redis-py. What a program prints is compared with what it prints beside the real server where that
//! is not a measurement.

use crate::store;
use std::env;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use testkit::peer::{self, Peer};

/// A program of Redis, unless this machine has none, which is an error where `CI=true`.
fn redis_program(name: &str) -> Option<PathBuf> {
    let found = peer::find(name, "");
    let strict = env::var_os("CI").is_some_and(|value| value == "true");
    assert!(found.is_some() || !strict, "{name} is needed where CI=true");
    if found.is_none() {
        eprintln!("SKIPPED: no {name} on PATH");
    }
    found
}

fn benchmark(store: &Peer, arguments: &[&str]) -> Option<String> {
    let output = Command::new(redis_program("redis-benchmark")?)
        .args(["-h", "127.0.0.1", "-p", &store.address.port().to_string(), "-n", "2000"])
        .args(arguments)
        .output()
        .expect("redis-benchmark runs");
    Some(succeeded(&output))
}

/// What it printed, after making sure that it ended well and complained of nothing.
fn succeeded(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaint}\n{text}", output.status);
    assert!(!complaint.contains("rror") && !complaint.contains("WARNING"), "{complaint}");
    text
}

/// Titles of the tests of redis-benchmark 7.0.
const TITLES: [&str; 20] = [
    "PING_INLINE",
    "PING_MBULK",
    "SET",
    "GET",
    "INCR",
    "LPUSH",
    "RPUSH",
    "LPOP",
    "RPOP",
    "SADD",
    "HSET",
    "SPOP",
    "ZADD",
    "ZPOPMIN",
    "LPUSH (needed to benchmark LRANGE)",
    "LRANGE_100 (first 100 elements)",
    "LRANGE_300 (first 300 elements)",
    "LRANGE_500 (first 500 elements)",
    "LRANGE_600 (first 600 elements)",
    "MSET (10 keys)",
];

#[test]
fn redis_benchmark_runs_all_its_tests() {
    let store = store::start();
    for extra in [&["-q"][..], &["-q", "-P", "16"], &["-q", "-3", "-r", "1000"]] {
        let Some(text) = benchmark(&store, extra) else { return };
        for title in TITLES {
            assert!(text.contains(&format!("{title}: ")), "{extra:?}: no {title} in\n{text}");
        }
    }
}

#[test]
fn redis_benchmark_reads_the_configuration() {
    let store = store::start();
    let Some(text) = benchmark(&store, &["-t", "ping_mbulk"]) else { return };
    assert!(text.contains("host configuration \"save\":"), "{text}");
    assert!(text.contains("host configuration \"appendonly\": no"), "{text}");
}

/// What redis-cli prints for `lines` on its standard input.
fn command_line(server: &Peer, arguments: &[&str], lines: &str) -> Option<String> {
    let mut child = Command::new(redis_program("redis-cli")?)
        .args(["-h", "127.0.0.1", "-p", &server.address.port().to_string()])
        .args(arguments)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("redis-cli runs");
    let mut input = child.stdin.take().expect("stdin was asked to be a pipe");
    input.write_all(lines.as_bytes()).expect("redis-cli reads its input");
    drop(input);
    Some(succeeded(&child.wait_with_output().expect("redis-cli ends")))
}

#[test]
fn redis_cli_prints_the_same() {
    let Some(real) = Peer::redis() else { return };
    let ours = store::start();
    let lines = "SET a 1\nINCR a\nRPUSH l x y z\nLRANGE l 0 -1\nHSET h f v\nHGETALL h\nSADD s m\n\
                 SMEMBERS s\nZADD z 1.5 m\nZRANGE z 0 -1 WITHSCORES\nXADD x 1-1 f v\nXRANGE x - +\n\
                 TYPE x\nGET l\nNOSUCH a b\nDBSIZE\nCONFIG GET maxmemory\n";
    for arguments in [&[][..], &["--no-raw"], &["-3", "--no-raw"], &["--csv"], &["--json"]] {
        command_line(&real, &["FLUSHALL"], "");
        command_line(&ours, &["FLUSHALL"], "");
        let theirs = command_line(&real, arguments, lines);
        assert_eq!(command_line(&ours, arguments, lines), theirs, "{arguments:?}");
    }
}

#[test]
fn redis_cli_scans_and_pipes() {
    let store = store::start();
    let commands: String = (0..500).map(|number| format!("SET k:{number} v\r\n")).collect();
    let Some(text) = command_line(&store, &["--pipe"], &commands) else { return };
    assert!(text.contains("errors: 0, replies: 500"), "{text}");
    let scanned = command_line(&store, &["--scan", "--pattern", "k:*"], "").unwrap_or_default();
    assert_eq!(scanned.lines().count(), 500);
}

#[test]
fn inline_commands_work_as_typed_into_telnet() {
    let store = store::start();
    let mut stream = TcpStream::connect(store.address).expect("the store takes connections");
    stream.write_all(b"PING\r\nset k \"a b\"\nGET k\r\n\r\nSET 'x\r\n").expect("it reads");
    stream.shutdown(Shutdown::Write).expect("it is open");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers and closes");
    let unbalanced = "-ERR Protocol error: unbalanced quotes in request\r\n";
    assert_eq!(text, format!("+PONG\r\n+OK\r\n$3\r\na b\r\n{unbalanced}"));
}

/// What the Python client must be able to do.
const PYTHON: &str = r#"
import sys, redis
for protocol in (2, 3):
    r = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]), protocol=protocol, decode_responses=True)
    assert r.ping() and r.flushall()
    assert r.set("a", 1, ex=100) and r.get("a") == "1" and 0 < r.ttl("a") <= 100
    assert r.incrby("a", 41) == 42 and r.type("a") == "string"
    assert r.rpush("l", "x", "y") == 2 and r.lrange("l", 0, -1) == ["x", "y"]
    assert r.hset("h", mapping={"f": "1", "g": "2"}) == 2 and r.hgetall("h") == {"f": "1", "g": "2"}
    assert r.sadd("s", "m", "n") == 2 and r.smembers("s") == {"m", "n"}
    assert r.zadd("z", {"m": 1.5, "n": 2}) == 2
    assert r.zrange("z", 0, -1, withscores=True) in ([("m", 1.5), ("n", 2.0)], [["m", 1.5], ["n", 2.0]])
    assert r.xadd("x", {"f": "v"}, id="1-1") == "1-1" and r.xrange("x") == [("1-1", {"f": "v"})]
    pipe = r.pipeline(transaction=False)
    for i in range(100):
        pipe.set(f"k:{i}", i)
    assert pipe.execute() == [True] * 100
    assert len(set(r.scan_iter("k:*"))) == 100
    assert isinstance(r.info()["used_memory"], int) and r.dbsize() == 106
    try:
        r.lpush("a", 1)
        raise SystemExit("a wrong type was accepted")
    except redis.ResponseError as error:
        assert "WRONGTYPE" in str(error) or "wrong kind" in str(error)
    assert r.config_get("maxmemory")["maxmemory"] == "0" and r.client_id() > 0
print("all fine")
"#;

#[test]
fn redis_py_works() {
    let mut python = Command::new("python3");
    if let Some(path) = env::var_os("REDLINE_PYTHON_PATH") {
        python.env("PYTHONPATH", path);
    }
    let found = python.args(["-c", "import redis"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: no python3 with the package redis");
        return;
    }
    let store = store::start();
    let mut python = Command::new("python3");
    if let Some(path) = env::var_os("REDLINE_PYTHON_PATH") {
        python.env("PYTHONPATH", path);
    }
    let port = store.address.port().to_string();
    let output = python.args(["-c", PYTHON, &port]).output().expect("python3 runs");
    assert_eq!(succeeded(&output).trim(), "all fine");
}
