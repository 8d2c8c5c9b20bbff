//! A server that answers what a test tells it to, when a test tells it to: known delays, stalls, garbage, sudden ends.
//!
//! One thread a connection with blocking I/O, no store. Delays end by spinning, so that they are exact to a few
//! microseconds on an idle machine.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long before its end a delay begins to spin.
const SPIN: Duration = Duration::from_millis(2);
/// How often idle connections look whether the server is to stop.
const LOOK: Duration = Duration::from_millis(20);

/// A command as it came.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Number of the connection, from 0 in the order of their acceptance.
    pub connection: u64,
    /// Number of the request on the whole server, from 0.
    pub number: u64,
    /// When the server started.
    pub started: Instant,
    /// The command, as encoded by the client.
    pub bytes: &'a [u8],
}

/// What the server does with a command.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Sends these bytes.
    Reply(Vec<u8>),
    /// Sends these bytes so long after the command was read; commands behind it wait.
    After(Duration, Vec<u8>),
    /// Sends nothing.
    Silence,
    /// Sends these bytes, then closes this connection.
    Close(Vec<u8>),
    /// Sends these bytes, then closes all connections and accepts no more: the server dies.
    Die(Vec<u8>),
}

/// A running fake server; it stops when it is dropped.
#[derive(Debug)]
pub struct FakeServer {
    address: SocketAddr,
    shared: Arc<State>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stop: AtomicBool,
    requests: AtomicU64,
    connections: AtomicU64,
    received: Mutex<Vec<Vec<u8>>>,
}

type Script = dyn Fn(&Request<'_>) -> Answer + Send + Sync;

impl FakeServer {
    /// Listens on a free loopback port; `answer` decides what each command gets.
    ///
    /// # Panics
    /// When no loopback port can be had.
    pub fn start(answer: impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(State::default());
        let script: Arc<Script> = Arc::new(answer);
        let state = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || accept(&listener, &state, &script));
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// A server that answers everything with `+OK`.
    pub fn ok() -> Self {
        Self::start(|_| Answer::Reply(b"+OK\r\n".to_vec()))
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Commands received so far.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// All bytes of complete commands received so far, by connection in the order of their acceptance.
    pub fn received(&self) -> Vec<Vec<u8>> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // The acceptor wakes up for a last connection; when it has died already, nothing listens.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>, script: &Arc<Script>) {
    let started = Instant::now();
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        let Ok(stream) = stream else { break };
        if state.stop.load(Ordering::SeqCst) {
            break;
        }
        let connection = state.connections.fetch_add(1, Ordering::SeqCst);
        state.received.lock().unwrap_or_else(PoisonError::into_inner).push(Vec::new());
        let (state, script) = (Arc::clone(state), Arc::clone(script));
        let address = listener.local_addr();
        threads.push(std::thread::spawn(move || {
            serve(stream, connection, started, &state, script.as_ref());
            if state.stop.load(Ordering::SeqCst)
                && let Ok(address) = address
            {
                // A script may have ended the server: let the acceptor see it.
                let _ = TcpStream::connect(address);
            }
        }));
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// Serves one connection until it closes, or breaks, or the server stops.
fn serve(mut stream: TcpStream, connection: u64, started: Instant, state: &State, script: &Script) {
    if stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(LOOK))).is_err() {
        return;
    }
    let mut input = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    while !state.stop.load(Ordering::SeqCst) {
        let count = match stream.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) =>
            {
                continue;
            }
            Err(_) => return,
        };
        let read_at = Instant::now();
        input.extend_from_slice(&chunk[..count]);
        let mut output = Vec::new();
        let mut used = 0;
        let mut closes = false;
        while let Some(length) = command_length(&input[used..]) {
            let bytes = &input[used..used + length];
            used += length;
            let number = state.requests.fetch_add(1, Ordering::SeqCst);
            state.received.lock().unwrap_or_else(PoisonError::into_inner)[connection as usize]
                .extend_from_slice(bytes);
            match script(&Request { connection, number, started, bytes }) {
                Answer::Reply(reply) => output.extend_from_slice(&reply),
                Answer::Silence => {}
                Answer::After(delay, reply) => {
                    if stream.write_all(&output).is_err() {
                        return;
                    }
                    output.clear();
                    wait_until(read_at + delay);
                    output.extend_from_slice(&reply);
                }
                Answer::Close(last) => {
                    output.extend_from_slice(&last);
                    closes = true;
                    break;
                }
                Answer::Die(last) => {
                    state.stop.store(true, Ordering::SeqCst);
                    output.extend_from_slice(&last);
                    break;
                }
            }
        }
        input.drain(..used);
        if stream.write_all(&output).is_err() {
            return;
        }
        if closes {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// Sleeps most of the way and spins the rest.
fn wait_until(end: Instant) {
    if let Some(sleep) = end.saturating_duration_since(Instant::now()).checked_sub(SPIN) {
        std::thread::sleep(sleep);
    }
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// Length of the command at the start of `input`, when it is complete: an array of strings, or a line.
fn command_length(input: &[u8]) -> Option<usize> {
    let (first, mut end) = line(input, 0)?;
    if first.first() != Some(&b'*') {
        return Some(end);
    }
    for _ in 0..number(&first[1..])? {
        let (header, body) = line(input, end)?;
        end = body + number(header.get(1..)?)? + 2;
    }
    (end <= input.len()).then_some(end)
}

/// The line at `from` without its end, and where the next begins.
fn line(input: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let rest = input.get(from..)?;
    let length = rest.iter().position(|byte| *byte == b'\n')?;
    let text = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
    Some((text, from + length + 1))
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(server: &FakeServer, request: &[u8], reply_bytes: usize) -> (Vec<u8>, Duration) {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let begun = Instant::now();
        stream.write_all(request).unwrap();
        let mut reply = vec![0; reply_bytes];
        stream.read_exact(&mut reply).unwrap();
        (reply, begun.elapsed())
    }

    #[test]
    fn arrays_and_lines_are_commands() {
        let server = FakeServer::ok();
        let (reply, _) = exchange(&server, b"PING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", 10);
        assert_eq!(reply, b"+OK\r\n+OK\r\n");
        assert_eq!(server.requests(), 2);
        assert_eq!(server.received(), [b"PING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".to_vec()]);
        assert_eq!(command_length(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r"), None);
    }

    #[test]
    fn delays_last_as_long_as_they_are_told() {
        let server =
            FakeServer::start(|_| Answer::After(Duration::from_millis(30), b":1\r\n".to_vec()));
        let (reply, took) = exchange(&server, b"PING\r\n", 4);
        assert_eq!(reply, b":1\r\n");
        assert!(took >= Duration::from_millis(30), "{took:?}");
    }

    #[test]
    fn a_dead_server_takes_no_connection() {
        let server = FakeServer::start(|_| Answer::Die(b"-ERR bye\r\n".to_vec()));
        let (reply, _) = exchange(&server, b"PING\r\n", 10);
        assert_eq!(reply, b"-ERR bye\r\n");
        let deadline = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(("127.0.0.1", server.port())).is_ok() {
            assert!(Instant::now() < deadline, "still listening");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
