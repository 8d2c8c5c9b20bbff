//! `redline server` as a program: its configuration, its errors, its log and its signals.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use testkit::client::Client;
use testkit::reply::Value;

use crate::store::BINARY;

/// A directory of one test's own, gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("redline-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().into()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left behind is the system's to remove.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server that runs, ended with its owner.
struct Server {
    child: Child,
    log: BufReader<ChildStdout>,
}

impl Server {
    fn start(words: &[&str], stdin: &str) -> Server {
        let mut child = Command::new(BINARY)
            .arg("server")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        let log = BufReader::new(child.stdout.take().unwrap());
        Server { child, log }
    }

    /// The log up to the line that contains `text`.
    fn log_until(&mut self, text: &str) -> String {
        let mut lines = String::new();
        while !lines.lines().last().is_some_and(|line| line.contains(text)) {
            assert_ne!(self.log.read_line(&mut lines).unwrap(), 0, "no {text:?} in {lines}");
        }
        lines
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the server to its end, which is expected to come at once.
fn run(words: &[&str]) -> Output {
    Command::new(BINARY).arg("server").args(words).stdin(Stdio::null()).output().unwrap()
}

fn free_port() -> u16 {
    testkit::ports::free_address().port()
}

fn client(port: u16) -> Client {
    Client::connect(([127, 0, 0, 1], port).into()).unwrap()
}

fn ask(client: &mut Client, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match client.command(&words).unwrap() {
        Value::Array(items) => {
            let items = items.iter().map(|item| match item {
                Value::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                other => format!("{other:?}"),
            });
            items.collect::<Vec<_>>().join(" ")
        }
        Value::Bulk(bytes) | Value::Simple(bytes) | Value::Error(bytes) => {
            String::from_utf8_lossy(&bytes).into_owned()
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn versions_and_help() {
    let version = run(&["--version"]);
    assert!(version.status.success());
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("Redline server v="));
    let help = run(&["--help"]);
    assert!(help.status.success() && help.stdout.starts_with(b"Usage: redline server "));
    let refused = run(&["--sentinel"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--sentinel"));
}

#[test]
fn unknown_applets_are_named() {
    let output = Command::new(BINARY).arg("nonsense").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no applet 'nonsense'"));
}

#[test]
fn wrong_configuration_ends_it_with_the_line() {
    let directory = Directory::new("wrong");
    let bad = directory.file("bad.conf", "port 0\n\nmaxmemory lots\n");
    for (words, expected) in [
        (&[bad.as_str()][..], "at line 3\n>>> 'maxmemory lots'\nargument must be a memory value\n"),
        (
            &["--no-such-thing", "1"],
            "at line 2\n>>> 'no-such-thing \"1\"'\nBad directive or wrong number of arguments\n",
        ),
        (
            &["--appendonly", "yes"],
            "at line 2\n>>> 'appendonly \"yes\"'\nthe append-only file is not supported yet\n",
        ),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(1));
        let heading = format!(
            "\n*** FATAL CONFIG FILE ERROR (Redline {}) ***\nReading the configuration file, ",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(String::from_utf8_lossy(&output.stderr), heading + expected);
    }
    let missing = run(&["/no/such/file.conf"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stdout).contains(
        "# Fatal error, can't open config file '/no/such/file.conf': No such file or directory"
    ));
}

#[test]
fn a_port_in_use_or_none_at_all() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = run(&["--port", &port, "--bind", "127.0.0.1"]);
    assert_eq!(output.status.code(), Some(1));
    let log = String::from_utf8_lossy(&output.stdout);
    assert!(
        log.contains(&format!(
            "# Warning: Could not create server TCP listening socket 127.0.0.1:{port}: bind: \
             Address already in use"
        )),
        "{log}"
    );
    assert!(log.contains(&format!("# Failed listening on port {port} (tcp), aborting.")), "{log}");
    let nowhere = run(&["--port", "0"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nowhere.stdout).contains("Configured to not listen anywhere"));
}

#[test]
fn a_signal_ends_it_cleanly() {
    let directory = Directory::new("signal");
    let pid_file = directory.0.join("redline.pid");
    for signal in ["-TERM", "-INT"] {
        let port = free_port().to_string();
        let pid_path = pid_file.to_str().unwrap();
        let mut server = Server::start(&["--port", &port, "--pidfile", pid_path], "");
        let log = server.log_until("Ready to accept connections tcp");
        assert!(log.contains(&format!("* Running mode=standalone, port={port}.")), "{log}");
        assert!(log.contains("* Server initialized"), "{log}");
        let mut client = client(port.parse().unwrap());
        assert_eq!(ask(&mut client, "PING"), "PONG");
        assert_eq!(fs::read_to_string(&pid_file).unwrap(), format!("{}\n", server.child.id()));
        server.signal(signal);
        let log = server.log_until("bye bye...");
        let name = signal.trim_start_matches('-');
        assert!(log.contains(&format!("Received SIG{name} scheduling shutdown...")), "{log}");
        assert!(log.contains("* Removing the pid file."), "{log}");
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
        assert!(!pid_file.exists());
    }
}

#[test]
fn file_standard_input_and_arguments_add_up() {
    let directory = Directory::new("sources");
    let file = directory.file("redis.conf", "timeout 1\nhz 11\nmaxclients 100\nsave \"\"");
    let port = free_port();
    let words = [&file, "-", "--maxclients", "300", "--port", &port.to_string()];
    let mut server = Server::start(&words, "hz 22\nmaxclients 200\n");
    server.log_until("Ready to accept connections tcp");
    let mut client = client(port);
    for (name, value) in [("timeout", "1"), ("hz", "22"), ("maxclients", "300")] {
        assert_eq!(ask(&mut client, &format!("CONFIG GET {name}")), format!("{name} {value}"));
    }
    assert_eq!(ask(&mut client, "CONFIG SET hz 33 loglevel debug"), "OK");
    assert_eq!(ask(&mut client, "CONFIG REWRITE"), "OK");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(
        text,
        format!(
            "timeout 1\nhz 33\nmaxclients 300\nsave \"\"\n# Generated by CONFIG REWRITE\n\
             port {port}\nloglevel debug\n"
        )
    );
}

#[test]
fn logs_to_a_file_and_listens_on_a_unix_socket() {
    let directory = Directory::new("unix");
    let place = directory.0.to_str().unwrap().to_owned();
    let socket = format!("{place}/redline.sock");
    let words =
        ["--port", "0", "--unixsocket", &socket, "--dir", &place, "--logfile", "server.log"];
    let mut server = Server::start(&words, "");
    let log_file = directory.0.join("server.log");
    let started = std::time::Instant::now();
    while !fs::read_to_string(&log_file).is_ok_and(|log| log.contains("connections unix")) {
        assert!(started.elapsed().as_secs() < 20, "the server does not start");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"PING\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    assert_eq!(line, "+PONG\r\n");
    server.signal("-TERM");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert!(!PathBuf::from(socket).exists());
}

#[test]
fn runs_in_the_background() {
    let directory = Directory::new("background");
    let pid_file = directory.0.join("redline.pid");
    let port = free_port();
    let output = run(&[
        "--port",
        &port.to_string(),
        "--daemonize",
        "yes",
        "--pidfile",
        pid_file.to_str().unwrap(),
    ]);
    assert!(output.status.success());
    let started = std::time::Instant::now();
    while !fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n')) {
        assert!(started.elapsed().as_secs() < 20, "the server does not start");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut client = client(port);
    assert_eq!(ask(&mut client, "PING"), "PONG");
    let pid = fs::read_to_string(&pid_file).unwrap();
    assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success());
    while pid_file.exists() {
        assert!(started.elapsed().as_secs() < 40, "the server does not end");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn limits_of_buffers_cut_clients_off() {
    let port = free_port();
    let words = ["--port", &port.to_string(), "--client-query-buffer-limit", "1mb"];
    let mut server = Server::start(&words, "");
    server.log_until("Ready to accept connections tcp");
    let mut greedy = client(port);
    let large = format!("*2\r\n$4\r\nECHO\r\n$9000000\r\n{}", "x".repeat(3 << 20));
    // The server may close while this is being written.
    let _ = greedy.send(large.as_bytes());
    server.log_until("Closing client that reached max query buffer length");
    let mut other = client(port);
    let limit = ["CONFIG", "SET", "client-output-buffer-limit", "normal 1000 0 0"];
    assert_eq!(other.command(&limit).unwrap(), Value::Simple(b"OK".to_vec()));
    other.send(format!("ECHO {}\r\n", "x".repeat(2000)).as_bytes()).unwrap();
    assert!(other.receive().is_err());
    server.log_until("Client closed for overcoming of output buffer limits.");
}
