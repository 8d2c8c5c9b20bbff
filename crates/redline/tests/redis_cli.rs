//! `redline cli` beside the original: what redis-cli 8 printed for the recorded commands, and byte for byte what the redis-cli of
//! this machine prints for the same arguments on the same server; then the prompt, on a terminal that `script` makes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use testkit::peer::{Peer, find};

use crate::store;

/// Forms of output, each with the protocol in which it is asked for.
const FORMS: [&str; 10] = [
    "",
    "--no-raw",
    "--raw -d X -D Y",
    "--csv",
    "--json",
    "--quoted-json",
    "-2 --json",
    "-3 --no-raw",
    "-3 --csv",
    "-3",
];
/// Commands whose replies have every type, and nest.
const COMMANDS: [&str; 27] = [
    "get text",
    "get none",
    "incr list",
    "nonsense a",
    "ping",
    "rpush list d",
    "lrange list 0 -1",
    "lrange none 0 -1",
    "hgetall hash",
    "hgetall none",
    "smembers none",
    "smembers set",
    "zrange zset 0 -1 withscores",
    "xrange stream - +",
    "command docs get",
    "command info get set",
    "config get maxmemory*",
    "memory doctor",
    "blpop none 0.01",
    "scan 0",
    "debug protocol double",
    "debug protocol verbatim",
    "debug protocol true",
    "debug protocol null",
    "debug protocol map",
    "debug protocol set",
    "debug protocol push",
];
/// Command lines that are about options, places and statuses.
const LINES: [&str; 39] = [
    "-e incr list",
    "-e get list",
    "-r 3 incr number",
    "-r 2 -i 0.01 incr number",
    "-r 0 ping",
    "-n 5 set a b",
    "-n 99 ping",
    "-a wrong ping",
    "-a wrong --no-auth-warning ping",
    "--pass wrong --user me ping",
    "-u redis://me:wrong@127.0.0.1:PORT/3 ping",
    "-u http://x ping",
    "--nonsense",
    "-a",
    "-x -X tag get",
    "-2 -3 ping",
    "-c -s /nonexistent ping",
    "--show-pushes maybe ping",
    "-s /nonexistent ping",
    "-p 1 ping",
    "-p 1 --scan",
    "-p 1 --pipe",
    "--eval /nonexistent",
    "--no-raw --eval SCRIPT a b , c , d",
    "--eval SCRIPT",
    "--quoted-input set \"a\\x00b\" c",
    "--quoted-input set \"a c",
    "--scan",
    "--scan --pattern te*",
    "--scan --quoted-pattern 't\\x65*'",
    "--no-raw --scan",
    "--quoted-pattern \" --scan",
    "multi",
    "quit",
    "reset",
    "select 3",
    "hello 9",
    "-i x ping",
    "-c get text",
];

/// What a program printed and returned.
#[derive(PartialEq)]
struct Outcome {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: Option<i32>,
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (out, err) = (self.stdout.escape_ascii(), self.stderr.escape_ascii());
        write!(formatter, "\n  status {:?}\n  stdout {out}\n  stderr {err}", self.status)
    }
}

#[test]
fn every_reply_is_printed_as_the_original_prints_it() {
    let (Some(server), Some(original)) = (Peer::redis(), original()) else { return };
    fill(&server);
    for form in FORMS {
        for command in COMMANDS {
            both_alike(&server, &original, &format!("{form} {command}"), b"");
        }
    }
}

#[test]
fn options_and_statuses_are_the_original_s() {
    let (Some(server), Some(original)) = (Peer::redis(), original()) else { return };
    for line in LINES {
        both_alike(&server, &original, line, b"");
    }
    for line in ["-x set key", "-X tag set key tag", "-X tag set key other", "-x echo"] {
        both_alike(&server, &original, line, b"some\ntext");
    }
}

#[test]
fn lines_of_standard_input_are_obeyed_as_by_the_original() {
    let (Some(server), Some(original)) = (Peer::redis(), original()) else { return };
    let lines = b"set a 1\nget a\nbad \"q\n  \n\n3 incr n\n0 ping\n2 nonsense x\nhelp nonsense\nmulti\nincr n\n\
        exec\nselect 2\nget a\nselect 99\n:set x\n:y\n:set nohints\nrestart\ndebug sleep 0\nquit\nping\n";
    for form in ["", "--no-raw", "--csv", "--json", "-3 --no-raw", "-e"] {
        both_alike(&server, &original, form, lines);
    }
    both_alike(&server, &original, "-p 1", b"ping\n");
}

#[test]
fn bulk_loading_counts_as_the_original() {
    let (Some(server), Some(original)) = (Peer::redis(), original()) else { return };
    let array = b"*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nINCR\r\n$4\r\nlist\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n";
    for input in [&array[..], b"SET a b\r\nGET a\r\n", b"SET a b", b""] {
        both_alike(&server, &original, "--pipe", input);
    }
    both_alike(&server, &original, "--pipe --pipe-timeout 1", b"*2\r\n$4\r\nECHO\r\n$500\r\n");
    let many: Vec<u8> = (0..200_000).flat_map(|n| format!("SET k{n} v\r\n").into_bytes()).collect();
    both_alike(&server, &original, "--pipe", &many);
}

#[test]
fn recorded_commands_print_what_was_recorded() {
    let Some(server) = Peer::redis() else { return };
    compare_recorded(&server);
}

#[test]
fn our_own_store_is_asked_as_well() {
    let server = store::start();
    let outcome = run(ours(server.address.port(), "-3 --no-raw hset hash f v"), b"");
    assert_eq!(outcome.stdout, b"(integer) 1\n");
    let outcome = run(ours(server.address.port(), "-3 --no-raw hgetall hash"), b"");
    assert_eq!(outcome.stdout, b"1# \"f\" => \"v\"\n");
    let outcome = run(ours(server.address.port(), ""), b"set a 1\nhelp get\nget a\n");
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(text.starts_with("OK\n\r\n") && text.ends_with("1\n"), "{text}");
}

#[test]
fn the_prompt_shows_where_and_in_which_state_commands_go() {
    let Some(mut terminal) = Terminal::start("the_prompt") else { return };
    let port = terminal.server.address.port();
    terminal.expect(&format!("127.0.0.1:{port}> "));
    terminal.enter("ping", "PONG");
    terminal.enter("get ", "key");
    terminal.enter("select 2", &format!("127.0.0.1:{port}[2]> "));
    terminal.enter("multi", &format!("127.0.0.1:{port}[2](TX)> "));
    terminal.enter("discard", &format!("127.0.0.1:{port}[2]> "));
    terminal.enter("nonsense", "(error) ERR unknown command");
    terminal.enter("auth secret-word", "(error)");
    terminal.enter("2 ping", "PONG");
    terminal.enter("debug sleep 0.6", "(0.6");
    terminal.enter("quit", "");
    assert!(terminal.ended());
    let history = fs::read_to_string(&terminal.history).unwrap();
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines[0], "ping");
    assert!(lines.contains(&"2 ping") && !history.contains("secret-word"), "{lines:?}");
}

#[test]
fn ctrl_c_ends_a_stream_and_keeps_the_prompt() {
    let Some(mut terminal) = Terminal::start("ctrl_c") else { return };
    let prompt = format!("127.0.0.1:{}> ", terminal.server.address.port());
    terminal.expect(&prompt);
    terminal.enter("monitor", "OK");
    terminal.server.client().command(&["GET", "seen-by-monitor"]).unwrap();
    terminal.expect("\"GET\" \"seen-by-monitor\"");
    terminal.press(b"\x03");
    terminal.enter("echo after-monitor", "\"after-monitor\"");
    terminal.enter("subscribe news", "Reading messages...");
    terminal.server.client().command(&["PUBLISH", "news", "a-message"]).unwrap();
    terminal.expect("\"a-message\"");
    terminal.press(b"\x03");
    terminal.enter("echo after-news", "\"after-news\"");
    terminal
        .server
        .client()
        .command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
        .unwrap();
    terminal.enter("ping", "Error: Server closed the connection");
    terminal.expect("not connected> ");
    terminal.enter("ping", "PONG");
}

/// Runs both with the same words and input on the same data, and compares everything that they print and return.
fn both_alike(server: &Peer, original: &Path, line: &str, input: &[u8]) {
    let port = server.address.port();
    let script = script_file();
    let words = line.replace("PORT", &port.to_string()).replace("SCRIPT", script.to_str().unwrap());
    fill(server);
    let mut theirs = Command::new(original);
    theirs.args(["-p", &port.to_string()]).args(split(&words));
    let theirs = run(theirs, input);
    fill(server);
    let mine = run(ours(port, &words), input);
    assert_eq!(mine, theirs, "{line} < {}", input[..input.len().min(200)].escape_ascii());
}

fn fill(server: &Peer) {
    let mut client = server.client();
    for line in [
        "FLUSHALL",
        "RPUSH list a b c",
        "HSET hash f v g w",
        "SADD set 1 2 3",
        "ZADD zset 1 a 2.5 b",
        "XADD stream 1-1 a 1",
        "XADD stream 2-1 b 2",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        client.command(&words).unwrap();
    }
    client.command(&[b"SET".as_slice(), b"text", b"t\x01\xff\"\\\xc3\xa9\n"]).unwrap();
}

fn script_file() -> PathBuf {
    let path = std::env::temp_dir().join("redline-cli-test.lua");
    fs::write(&path, "return {KEYS, ARGV, 1}").unwrap();
    path
}

/// The original, if this machine has it.
fn original() -> Option<PathBuf> {
    let found = find("redis-cli", "REDLINE_REDIS_CLI");
    if found.is_none() {
        let is_strict = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!is_strict, "redis-cli is needed where CI=true");
        eprintln!("SKIPPED: no redis-cli on PATH or in REDLINE_REDIS_CLI");
    }
    found
}

fn ours(port: u16, line: &str) -> Command {
    let mut command = Command::new(store::BINARY);
    command.args(["redis-cli", "-p", &port.to_string()]).args(split(line));
    command
}

/// Words between blanks; nothing is unquoted, so that quotes reach the program.
fn split(line: &str) -> Vec<&str> {
    line.split(' ').filter(|word| !word.is_empty()).map(|word| word.trim_matches('\'')).collect()
}

fn run(mut command: Command, input: &[u8]) -> Outcome {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program starts");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that reads no input may be gone already.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().unwrap();
    Outcome { stdout: output.stdout, stderr: output.stderr, status: output.status.code() }
}

fn compare_recorded(server: &Peer) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/redis-cli");
    let mut client = server.client();
    let mut compared = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "cmd") {
            continue;
        }
        let recorded = |extension| fs::read(path.with_extension(extension)).unwrap();
        let line = String::from_utf8(recorded("cmd")).unwrap();
        client.command(&["FLUSHALL"]).unwrap();
        client.command(&["SET", "str", "hello world"]).unwrap();
        client.command(&["HSET", "h", "f", "v", "g", "w"]).unwrap();
        client.command(&["RPUSH", "biglist", "a", "b", "c", "d", "e"]).unwrap();
        client.command(&["ZADD", "z", "1", "a", "2", "b"]).unwrap();
        client.command(&["XADD", "s", "1795289262198-0", "a", "1"]).unwrap();
        let words = line.trim().replace("redis-cli -p 7001", "");
        let (words, input) = match path.file_stem().and_then(|name| name.to_str()).unwrap() {
            "wrongport" => (words.replace("redis-cli", ""), ""),
            "x" => (words, "from standard input"),
            "stdin" => (words, "set x y\nincr ctr2\nincr ctr2\n"),
            "pipe" => (words, "SET a b\r\nGET a\r\n"),
            _ => (words, ""),
        };
        if path.file_stem().is_some_and(|name| name == "stdin") {
            client.command(&["SET", "ctr2", "0"]).unwrap();
            client.command(&["INCR", "ctr2"]).unwrap();
        }
        let outcome = run(ours(server.address.port(), &words), input.as_bytes());
        let masked = |bytes: &[u8]| -> String {
            // Identifiers of stream entries are times.
            String::from_utf8_lossy(bytes).replace(|digit: char| digit.is_ascii_digit(), "N")
        };
        let expected = (masked(&recorded("stdout")), masked(&recorded("stderr")));
        assert_eq!((masked(&outcome.stdout), masked(&outcome.stderr)), expected, "{line}");
        let status: i32 = String::from_utf8(recorded("exit")).unwrap().trim().parse().unwrap();
        assert_eq!(outcome.status, Some(status), "{line}");
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

/// `redline cli` on a terminal of 80 columns, and the server that it talks to.
struct Terminal {
    server: Peer,
    child: Child,
    /// What the program shows; `script` writes it there.
    shown: PathBuf,
    history: PathBuf,
    seen: usize,
}

impl Terminal {
    /// Longest wait for what is expected.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn start(name: &str) -> Option<Self> {
        let server = Peer::redis()?;
        let Some(script) = find("script", "REDLINE_SCRIPT") else {
            eprintln!("SKIPPED: no script on PATH or in REDLINE_SCRIPT");
            return None;
        };
        let base = std::env::temp_dir().join(format!("redline-cli-{name}-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let (shown, history) = (base.join("shown"), base.join("history"));
        let program = store::BINARY;
        let line = format!("stty cols 80 rows 24; exec {program} cli -p {}", server.address.port());
        let child = Command::new(script)
            .args(["-qefc", &line])
            .arg(&shown)
            .env("REDISCLI_HISTFILE", &history)
            .env("REDISCLI_RCFILE", "/dev/null")
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("script starts");
        Some(Self { server, child, shown, history, seen: 0 })
    }

    /// Waits until `text` is shown behind what was expected before.
    fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + Self::PATIENCE;
        loop {
            let shown = fs::read(&self.shown).unwrap_or_default();
            let new = String::from_utf8_lossy(&shown[self.seen.min(shown.len())..]).into_owned();
            if let Some(place) = new.find(text) {
                self.seen += place + text.len();
                return;
            }
            assert!(Instant::now() < deadline, "no {text:?} in {new:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &[u8]) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys).and_then(|()| stdin.flush()).unwrap();
        // The terminal takes time to change between its modes.
        thread::sleep(Duration::from_millis(300));
    }

    fn enter(&mut self, line: &str, answer: &str) {
        self.press(line.as_bytes());
        self.press(b"\r");
        self.expect(answer);
    }

    fn ended(&mut self) -> bool {
        let deadline = Instant::now() + Self::PATIENCE;
        while Instant::now() < deadline {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // What has ended already is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
