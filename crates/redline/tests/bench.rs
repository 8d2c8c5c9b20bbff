//! `redline bench` as people run it: what it prints, where its results go, how it ends when something is wrong.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::fake_server::{Answer, FakeServer};
use testkit::schema;

use crate::store;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("redline-bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `redline bench` in a folder of its own, with few keys and short steps.
fn bench(folder: &Folder, words: &[&str]) -> Command {
    let mut command = Command::new(store::BINARY);
    command.current_dir(&folder.0).env_remove("REDISCLI_AUTH").env_remove("REDLINE_PASSWORD");
    command.arg("bench").args(words);
    command
}

fn short(folder: &Folder, words: &[&str]) -> Command {
    let mut command = bench(folder, words);
    command.args(["--duration", "100ms", "--warm-up", "20ms", "--keys", "1000", "-c", "8"]);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn ended(output: &Output, status: i32) -> (String, String) {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{stdout}\n{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    (stdout, stderr)
}

fn json(content: &str) -> Value {
    let schema: Value = serde_json::from_str(include_str!("../../report/schema.json")).unwrap();
    let value: Value = serde_json::from_str(content).unwrap();
    assert_eq!(schema::complaints(&schema, &value), Vec::<String>::new());
    value
}

#[test]
fn without_a_target_the_embedded_store_is_measured() {
    let folder = Folder::new("embedded");
    let (stdout, stderr) = ended(&short(&folder, &[]).output().unwrap(), 0);
    assert!(
        stdout.contains(
            "No target named: embedded store measured. Or: redline bench redis://host:6379"
        ),
        "{stdout}"
    );
    assert!(stdout.contains("embedded in this program, "), "{stdout}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 100), "{stdout}");
    let titles = [
        "PING",
        "SET",
        "GET",
        "GET:SET 10:1",
        "INCR",
        "LPUSH",
        "LRANGE_100",
        "HSET",
        "HGET",
        "SADD",
        "ZADD",
        "XADD",
        "SET P=16",
        "GET P=16",
    ];
    for title in titles {
        assert!(stdout.contains(&format!("\n{title} ")), "{title}: {stdout}");
    }
    assert_eq!(stderr.lines().count(), 1 + titles.len(), "{stderr}");
    assert!(stderr.contains("[14/14] GET P=16: "), "{stderr}");
    let path = stdout.lines().find_map(|line| line.strip_prefix("Result: ")).unwrap();
    assert!(path.starts_with("redline-results/bench-"), "{path}");
    let value = json(&std::fs::read_to_string(folder.path(path)).unwrap());
    let steps = value["steps"].as_array().unwrap();
    assert_eq!(steps.len(), titles.len());
    assert_eq!(value["plan"].as_array().unwrap().len(), titles.len());
    for step in steps {
        assert!(step["requests"].as_u64() > Some(0), "{}", step["title"]);
        assert_eq!(step["totals"]["errors"].as_object().unwrap().len(), 0, "{}", step["title"]);
        assert_eq!(step["totals"]["misses"], 0, "{}", step["title"]);
    }
}

#[test]
fn a_named_store_is_left_as_it_was() {
    let folder = Folder::new("named");
    let peer = store::start();
    let mut client = peer.client();
    client.command(&["SET", "mine", "1"]).unwrap();
    let url = format!("redis://127.0.0.1:{}", peer.address.port());
    let output =
        short(&folder, &[&url, "--no-json", "-P", "4", "--protocol", "3"]).output().unwrap();
    let (stdout, _) = ended(&output, 0);
    assert!(stdout.contains("The tests' keys (redline:*) were deleted."), "{stdout}");
    assert!(stdout.contains("pipeline 4 to 16"), "{stdout}");
    assert!(!stdout.contains("Result: "), "{stdout}");
    assert_eq!(client.command(&["DBSIZE"]).unwrap(), testkit::reply::Value::Integer(1));
    assert!(!folder.path("redline-results").exists());
    let kept = short(&folder, &[&url, "--no-json", "--tests", "get", "--keep", "-q"]);
    let (stdout, stderr) = ended(&{ kept }.output().unwrap(), 0);
    assert!(stdout.contains("(redline:*) are still on the server."), "{stdout}");
    assert_eq!(stderr, "");
    assert_eq!(client.command(&["DBSIZE"]).unwrap(), testkit::reply::Value::Integer(1001));
}

#[test]
fn csv_and_json_are_for_programs() {
    let folder = Folder::new("formats");
    let words = ["--tests", "mix", "--format", "csv", "--json", "own.json", "--csv", "own.csv"];
    let (stdout, _) = ended(&short(&folder, &words).output().unwrap(), 0);
    let mut reader = csv::Reader::from_reader(stdout.as_bytes());
    assert_eq!(reader.headers().unwrap().len(), report::render::csv::COLUMNS.len());
    let labels: Vec<String> =
        reader.records().map(|record| record.unwrap()[1].to_owned()).collect();
    assert_eq!(labels, ["GET", "SET", "Totals"]);
    assert_eq!(std::fs::read_to_string(folder.path("own.csv")).unwrap(), stdout);
    json(&std::fs::read_to_string(folder.path("own.json")).unwrap());
    let words = ["--tests", "ping", "--no-json", "--csv", "-"];
    let (stdout, _) = ended(&short(&folder, &words).output().unwrap(), 0);
    assert!(stdout.contains("\nstep,command,"), "{stdout}");
    let words = ["--command", "SET {key uniform 9} {value 5}", "--format", "json", "-n", "100"];
    let (stdout, _) = ended(&short(&folder, &words).output().unwrap(), 0);
    let value = json(&stdout);
    assert_eq!(value["steps"][0]["requests"], 100);
    assert_eq!(value["plan"][0]["seed"], 0);
    assert!(!folder.path("redline-results").exists());
}

#[test]
fn an_open_loop_reports_both_times() {
    let folder = Folder::new("open");
    let words = ["--tests", "get", "--rate", "500", "--no-json", "-q"];
    let (stdout, stderr) = ended(&short(&folder, &words).output().unwrap(), 0);
    assert!(stdout.contains("Response time in ms, due to done"), "{stdout}");
    assert!(stdout.contains("Service time in ms, sent to done"), "{stdout}");
    assert!(stdout.contains("500 requests/s, 0.1 s a step"), "{stdout}");
    assert_eq!(stderr, "");
}

#[test]
fn a_file_that_cannot_be_written_loses_no_result() {
    let folder = Folder::new("unwritable");
    let words = ["--tests", "ping", "--json", "no/such/folder/a.json", "--csv", "no/such/b.csv"];
    let mut command = short(&folder, &words);
    let (stdout, stderr) = ended(&command.env("TMPDIR", folder.path("t")).output().unwrap(), 1);
    assert!(stderr.contains("cannot write no/such/folder/a.json: "), "{stderr}");
    assert!(stdout.contains("step,command,"), "{stdout}");
    let path = stdout.lines().find_map(|line| line.strip_prefix("Result: ")).unwrap();
    json(&std::fs::read_to_string(path).unwrap());
    // A file is where the folder should be: then standard output is the last place.
    std::fs::write(folder.path("redline-results"), "").unwrap();
    let mut command = short(&folder, &["--tests", "ping"]);
    let output = command.env("TMPDIR", folder.path("redline-results")).output().unwrap();
    let (stdout, stderr) = ended(&output, 0);
    assert!(stderr.contains("here is the result"), "{stderr}");
    json(&stdout[stdout.find("\n{\n").unwrap()..]);
}

#[test]
fn wrong_arguments_are_said_in_a_sentence() {
    let folder = Folder::new("wrong");
    for (words, part) in [
        (&["--threads", "0"][..], "--threads"),
        (&["--no-such-option"], "--no-such-option"),
        (&["--tests", "gett"], "there is no test 'gett'; there are ping, set"),
        (&["http://h"], "scheme"),
        (&["--command", "GET {key odd 5}"], "unknown placeholder"),
        (&["--command", "GET a", "--tests", "get"], "cannot be used with"),
        (&["--flush"], "--flush needs a target"),
        (&["--duration", "soon"], "a time is a number with ms, s, m or h"),
        (&["--rate", "-1"], "rate"),
        (&["--data-size", "999999999999"], "--data-size"),
        (&["--keys", "10000000000"], "fit into this machine's memory"),
    ] {
        let (stdout, stderr) = ended(&bench(&folder, words).output().unwrap(), 2);
        assert!(stderr.contains(part), "{words:?}: {stderr}");
        assert_eq!(stdout, "", "{words:?}");
    }
    let (stdout, _) = ended(&bench(&folder, &["--help"]).output().unwrap(), 0);
    assert!(stdout.contains("--pipeline"), "{stdout}");
    let (stdout, _) = ended(&bench(&folder, &["--list-tests"]).output().unwrap(), 0);
    assert!(stdout.contains("lrange_100"), "{stdout}");
}

#[test]
fn an_unreachable_server_is_one_clear_sentence() {
    let folder = Folder::new("unreachable");
    // A port that was free a moment ago.
    let port = FakeServer::ok().port();
    let target = format!("127.0.0.1:{port}");
    let (stdout, stderr) = ended(&short(&folder, &[&target]).output().unwrap(), 1);
    assert_eq!(stdout, "");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(
        stderr.starts_with(&format!("redline bench: cannot connect to 127.0.0.1:{port}: ")),
        "{stderr}"
    );
    assert!(stderr.contains("start a server there"), "{stderr}");
}

#[test]
fn a_refused_password_is_said_without_the_password() {
    let folder = Folder::new("auth");
    let server = FakeServer::start(|request| {
        let is_auth = request.bytes.windows(4).any(|word| word == b"AUTH");
        let reply: &[u8] = match is_auth {
            true => b"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
            false => b"-NOAUTH Authentication required.\r\n",
        };
        Answer::Reply(reply.to_vec())
    });
    let target = format!("127.0.0.1:{}", server.port());
    let mut command = short(&folder, &[&target]);
    let (_, stderr) = ended(&command.env("REDLINE_PASSWORD", "hush").output().unwrap(), 1);
    assert!(stderr.contains("refused AUTH: WRONGPASS"), "{stderr}");
    assert!(stderr.contains("check --user and --password"), "{stderr}");
    assert!(!stderr.contains("hush"), "{stderr}");
    let (_, stderr) = ended(&short(&folder, &[&target]).output().unwrap(), 1);
    assert!(stderr.contains("NOAUTH"), "{stderr}");
    assert!(stderr.contains("give a password"), "{stderr}");
}

#[test]
fn a_server_that_dies_leaves_what_was_measured() {
    let folder = Folder::new("dies");
    let server = FakeServer::start(|request| match request.number {
        0..3_000 => Answer::Reply(b"+OK\r\n".to_vec()),
        _ => Answer::Die(Vec::new()),
    });
    let target = format!("127.0.0.1:{}", server.port());
    let mut command = bench(&folder, &[&target, "--tests", "ping", "--warm-up", "0"]);
    command.args(["--duration", "20s", "-c", "4", "--json", "r.json"]);
    let (stdout, stderr) = ended(&command.output().unwrap(), 1);
    assert!(stdout.contains("\nPING "), "{stdout}");
    assert!(stdout.contains("- Ended early: "), "{stdout}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("the server may have ended"), "{stderr}");
    let value = json(&std::fs::read_to_string(folder.path("r.json")).unwrap());
    assert!(value["error"].as_str().unwrap().contains(&target));
    assert!(value["steps"][0]["requests"].as_u64() > Some(2_000));
}

#[test]
fn garbage_and_errors_are_told_apart() {
    let folder = Folder::new("garbage");
    let server = FakeServer::start(|_| Answer::Reply(b"HTTP/1.1 400 Bad Request\r\n".to_vec()));
    let target = format!("127.0.0.1:{}", server.port());
    let (_, stderr) = ended(&short(&folder, &[&target]).output().unwrap(), 1);
    assert!(stderr.contains("does not speak the protocol"), "{stderr}");
    let server = FakeServer::start(|_| Answer::Reply(b"-OOM command not allowed\r\n".to_vec()));
    let target = format!("127.0.0.1:{}", server.port());
    let words = [&target, "--command", "SET a b", "--no-json"];
    let (stdout, _) = ended(&short(&folder, &words).output().unwrap(), 0);
    assert!(stdout.contains("- SET a b: error replies by class: OOM "), "{stdout}");
    assert!(stdout.contains("What --command wrote is still on the server."), "{stdout}");
    let (_, stderr) = ended(&short(&folder, &[&target]).output().unwrap(), 1);
    assert!(stderr.contains("OOM command not allowed"), "{stderr}");
}

#[test]
fn an_interrupt_ends_the_run_with_what_was_measured() {
    let folder = Folder::new("interrupt");
    let peer = store::start();
    let target = format!("127.0.0.1:{}", peer.address.port());
    let mut command = bench(&folder, &[&target, "--tests", "set,get", "--keys", "100"]);
    command.args(["--duration", "20s", "--warm-up", "0", "--json", "r.json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut client = peer.client();
    let deadline = Instant::now() + Duration::from_secs(20);
    while client.command(&["EXISTS", "redline:key_0000000007"]).unwrap()
        != testkit::reply::Value::Integer(1)
    {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let begun = Instant::now();
    let (stdout, _) = ended(&child.wait_with_output().unwrap(), 130);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(stdout.contains("- Interrupted: this is what was measured until then."), "{stdout}");
    assert!(stdout.contains("\nSET "), "{stdout}");
    assert!(!stdout.contains("\nGET "), "{stdout}");
    let value = json(&std::fs::read_to_string(folder.path("r.json")).unwrap());
    assert_eq!(value["interrupted"], true);
    assert_eq!(client.command(&["DBSIZE"]).unwrap(), testkit::reply::Value::Integer(0));
}

#[test]
fn a_second_interrupt_ends_it_at_once() {
    let folder = Folder::new("insist");
    // A server that stays silent once the load begins: only the second signal does not wait for it.
    let server = FakeServer::start(|request| match request.number {
        0 => Answer::Reply(b"+OK\r\n".to_vec()),
        _ => Answer::After(Duration::from_secs(5), b"+OK\r\n".to_vec()),
    });
    let target = format!("127.0.0.1:{}", server.port());
    let mut command = bench(&folder, &[&target, "--tests", "set", "-c", "1", "--keys", "1"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.requests() < 2 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
    let begun = Instant::now();
    for _ in 0..2 {
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(4));
}
