//! A server inside this process, and connections to it: what clients see on the wire, byte for byte.

mod bad_input;
mod blocking;
mod commands;
mod crowds;
mod pubsub;
mod transactions;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use server::{Running, Settings};

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with `change` made to the settings of these tests: loopback, a free port, two workers.
fn start(change: impl FnOnce(&mut Settings)) -> Running {
    let mut settings =
        Settings { bind: vec!["127.0.0.1".into()], port: 0, threads: 2, ..Settings::default() };
    change(&mut settings);
    server::start(settings).expect("a free port on loopback is to be had")
}

fn address(server: &Running) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, server.port().expect("it listens")).into()
}

/// A connection that reads and writes raw bytes.
struct Wire(TcpStream);

impl Wire {
    fn to(server: &Running) -> Wire {
        Wire::at(address(server))
    }

    fn at(address: SocketAddr) -> Wire {
        let stream = TcpStream::connect(address).expect("the server takes connections");
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Wire(stream)
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("the server takes input");
    }

    /// As many bytes as `expected` has, which must be those.
    #[track_caller]
    fn expect(&mut self, expected: &str) {
        let mut bytes = vec![0; expected.len()];
        let mut at = 0;
        while at < bytes.len() {
            match self.0.read(&mut bytes[at..]) {
                Ok(0) | Err(_) => break,
                Ok(length) => at += length,
            }
        }
        bytes.truncate(at);
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
    }

    /// Sends a line and expects these bytes.
    #[track_caller]
    fn say(&mut self, line: &str, expected: &str) {
        self.send(format!("{line}\r\n").as_bytes());
        self.expect(expected);
    }

    /// All that comes until the server closes the connection.
    #[track_caller]
    fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // A reset is an end, too: input that the server has not read makes one.
        if let Err(error) = self.0.read_to_end(&mut bytes) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
        bytes
    }

    /// One reply that is a bulk or a verbatim text.
    fn text(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\r\n") {
            self.0.read_exact(&mut byte).expect("a reply comes");
            line.push(byte[0]);
        }
        let length: usize = String::from_utf8_lossy(&line[1..line.len() - 2]).parse().unwrap();
        let mut text = vec![0; length + 2];
        self.0.read_exact(&mut text).expect("a reply comes");
        String::from_utf8(text[..length].to_vec()).unwrap()
    }
}

/// Waits until `condition` holds.
#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
