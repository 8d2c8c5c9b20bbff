//! Making a connection ready for load: resolve, connect, authenticate, select, and whatever the plan puts in front.
//!
//! The first connections are made one after the other with blocking calls, each complete before the next: a server that
//! refuses says so before any load. Also the way to ask a server a single question before or after a run.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream as BlockingTcp, ToSocketAddrs};
use std::os::unix::net::UnixStream as BlockingUnix;
use std::path::PathBuf;
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use resp::{ReplyKind, ReplyScanner, encode};

use crate::argument::Argument;
use crate::error::{RunError, message_text};
use crate::plan::{Address, Protocol, Target};

/// Longest wait for a connection to be accepted.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for a reply to a command before the load.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest reply to a command before the load, in bytes.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// A place that connections can be made to without resolving it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peer {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A socket that does not block.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection whose prefix commands have been answered.
#[derive(Debug)]
pub struct Connection {
    pub(crate) stream: Stream,
    pub(crate) peer: Peer,
}

/// The commands that come first on every connection to a target, and the same in encoded form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    pub(crate) commands: Vec<Vec<Argument>>,
    pub(crate) encoded: Vec<u8>,
}

impl Prefix {
    /// `AUTH`, `HELLO`, `SELECT` as the target needs them, then the plan's own.
    pub(crate) fn new(target: &Target, own: &[Vec<Argument>]) -> Self {
        let mut commands: Vec<Vec<Argument>> = Vec::new();
        if let Some(password) = &target.password {
            let mut auth: Vec<Argument> = vec!["AUTH".into()];
            auth.extend(target.user.as_deref().map(Argument::from));
            auth.push(password.as_str().into());
            commands.push(auth);
        }
        if target.protocol == Protocol::Resp3 {
            commands.push(vec!["HELLO".into(), "3".into()]);
        }
        if target.database != 0 {
            commands.push(vec!["SELECT".into(), target.database.to_string().into()]);
        }
        commands.extend_from_slice(own);
        let mut encoded = Vec::new();
        commands.iter().for_each(|command| encode::command(&mut encoded, command));
        Self { commands, encoded }
    }

    /// The error of a command that was refused.
    pub(crate) fn refused(&self, address: &Address, nth: usize, message: String) -> RunError {
        let name = self.commands.get(nth).and_then(|command| command.first());
        let command = name.map(|name| message_text(name.as_bytes())).unwrap_or_default();
        RunError::Refused { address: address.to_string(), command, message }
    }
}

/// Opens a connection to a target, authenticated and with `prefix` commands answered. It closes when it is dropped.
///
/// # Errors
/// [`RunError::Resolve`], [`RunError::Connect`], [`RunError::Refused`], or what broke it in between.
pub fn open(target: &Target, prefix: &[Vec<Argument>]) -> Result<Connection, RunError> {
    open_with(target, &Prefix::new(target, prefix))
}

pub(crate) fn open_with(target: &Target, prefix: &Prefix) -> Result<Connection, RunError> {
    let (mut blocking, peer) = connect(target)?;
    exchange(&mut blocking, target, prefix, |_| ())?;
    let stream = blocking.into_nonblocking().map_err(RunError::System)?;
    Ok(Connection { stream, peer })
}

/// Sends one command on a connection of its own and returns the reply as it came, type byte and line ends included.
///
/// # Errors
/// As [`open`]; an error reply to the command itself is a reply.
pub fn ask(target: &Target, command: &[&str]) -> Result<Vec<u8>, RunError> {
    let (mut blocking, _) = connect(target)?;
    let prefix = Prefix::new(target, &[]);
    exchange(&mut blocking, target, &prefix, |_| ())?;
    let mut question = Prefix::default();
    encode::command(&mut question.encoded, command);
    question.commands.push(command.iter().map(|text| Argument::from(*text)).collect());
    let mut reply = Vec::new();
    match exchange(&mut blocking, target, &question, |bytes| reply = bytes.to_vec()) {
        Ok(()) | Err(RunError::Refused { .. }) => Ok(reply),
        Err(error) => Err(error),
    }
}

/// A blocking connection, before it is handed to a worker.
enum Blocking {
    Tcp(BlockingTcp),
    Unix(BlockingUnix),
}

impl Blocking {
    fn into_nonblocking(self) -> io::Result<Stream> {
        match self {
            Self::Tcp(stream) => {
                stream.set_nonblocking(true)?;
                Ok(Stream::Tcp(TcpStream::from_std(stream)))
            }
            Self::Unix(stream) => {
                stream.set_nonblocking(true)?;
                Ok(Stream::Unix(UnixStream::from_std(stream)))
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }
}

fn connect(target: &Target) -> Result<(Blocking, Peer), RunError> {
    let address = &target.address;
    let connect_error = |source| RunError::Connect { address: address.to_string(), source };
    match address {
        Address::Unix { path } => {
            let stream = BlockingUnix::connect(path).map_err(connect_error)?;
            stream.set_read_timeout(Some(REPLY_TIMEOUT)).map_err(RunError::System)?;
            Ok((Blocking::Unix(stream), Peer::Unix(path.into())))
        }
        Address::Tcp { host, port } => {
            let resolve_error = |source| RunError::Resolve { address: address.to_string(), source };
            let found = (host.as_str(), *port).to_socket_addrs().map_err(resolve_error)?;
            let mut last = resolve_error(io::Error::from(io::ErrorKind::NotFound));
            for at in found {
                match BlockingTcp::connect_timeout(&at, CONNECT_TIMEOUT) {
                    Ok(stream) => {
                        stream.set_nodelay(true).map_err(RunError::System)?;
                        stream.set_read_timeout(Some(REPLY_TIMEOUT)).map_err(RunError::System)?;
                        return Ok((Blocking::Tcp(stream), Peer::Tcp(at)));
                    }
                    Err(source) => last = connect_error(source),
                }
            }
            Err(last)
        }
    }
}

/// Sends the prefix and waits for its replies; `reply` sees each of them.
fn exchange(
    stream: &mut Blocking,
    target: &Target,
    prefix: &Prefix,
    mut reply: impl FnMut(&[u8]),
) -> Result<(), RunError> {
    let address = || target.address.to_string();
    let lost = |source: io::Error| match source.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            RunError::Silent { address: address(), waited_ms: REPLY_TIMEOUT.as_millis() as u64 }
        }
        _ => RunError::Lost { address: address(), source },
    };
    stream.write_all(&prefix.encoded).map_err(lost)?;
    let mut scanner = ReplyScanner::new();
    let mut received: Vec<u8> = Vec::new();
    let mut chunk = [0; 4096];
    let mut answered = 0;
    while answered < prefix.commands.len() {
        let found = scanner
            .next(&received)
            .map_err(|source| RunError::Garbage { address: address(), source })?;
        let Some(found) = found else {
            match stream.read(&mut chunk) {
                Ok(0) => return Err(RunError::Closed { address: address() }),
                Ok(count) => received.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
            }
            if received.len() > MAX_REPLY_BYTES {
                let source = resp::DecodeError::TooLong;
                return Err(RunError::Garbage { address: address(), source });
            }
            continue;
        };
        reply(&received[..found.consumed]);
        if let ReplyKind::Error(span) = found.kind {
            let message = message_text(&received[span.start as usize..span.end as usize]);
            return Err(prefix.refused(&target.address, answered, message));
        }
        answered += usize::from(!matches!(found.kind, ReplyKind::Push(_)));
        received.drain(..found.consumed);
    }
    Ok(())
}

impl Peer {
    /// Starts a connection that does not block; it is made, or has failed, when it is writable.
    pub(crate) fn start(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(address) => TcpStream::connect(*address).map(Stream::Tcp),
            Self::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
        }
    }
}

impl Stream {
    /// What became of a connection that was started.
    pub(crate) fn connected(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                if let Some(error) = stream.take_error()? {
                    return Err(error);
                }
                stream.set_nodelay(true)
            }
            Self::Unix(stream) => stream.take_error()?.map_or(Ok(()), Err),
        }
    }

    #[inline]
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    /// Has readiness of the socket, for reading and writing, reported as `token`.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => stream.register(registry, token, interest),
            Self::Unix(stream) => stream.register(registry, token, interest),
        }
    }
}
