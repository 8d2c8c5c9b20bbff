//! Making a connection ready for load: resolve, connect, authenticate, select, and whatever the plan puts in front.
//!
//! The first connections are made one after the other with blocking calls, each complete before the next: a server that
//! refuses says so before any load. Also the way to ask a server a single question before or after a run.

use std::io::{self, Read, Write};
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use resp::{ReplyKind, encode};

use crate::argument::Argument;
use crate::error::{RunError, message_text};
use crate::memcache;
use crate::plan::{Address, Protocol, Target};
use crate::scanner::Scanner;
use crate::stream::{self, Dialer};
use crate::tls::{Connector, Encrypted, HandshakeError, Negotiated};

/// Longest wait for a reply to a command before the load.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest reply to a command before the load, in bytes.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// A place that connections are made to, again and again.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    place: stream::Peer,
    connector: Option<Connector>,
}

/// A connection that does not block.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    // A session is large, and plain streams should not be.
    Tls(Box<Encrypted<Socket>>),
}

/// A socket that does not block.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection whose prefix commands have been answered.
#[derive(Debug)]
pub struct Connection {
    pub(crate) stream: Stream,
    pub(crate) peer: Peer,
    /// What TLS has agreed on.
    pub(crate) negotiated: Option<Negotiated>,
}

/// The commands that come first on every connection to a target, and the same in encoded form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    pub(crate) commands: Vec<Vec<Argument>>,
    pub(crate) encoded: Vec<u8>,
}

impl Prefix {
    /// `AUTH`, `HELLO`, `SELECT` as the target needs them, then the plan's own; memcached's authentication alone.
    pub(crate) fn new(target: &Target, own: &[Vec<Argument>]) -> Self {
        if target.protocol.is_memcache() {
            return Self::memcache(target);
        }
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

    /// By SASL in the binary protocol, by the first set in the others; nothing without a password.
    fn memcache(target: &Target) -> Self {
        let mut prefix = Self::default();
        let user = target.user.as_deref().unwrap_or_default();
        if let Some(password) = &target.password {
            let authenticate = if target.protocol == Protocol::MemcacheBinary {
                memcache::sasl_plain
            } else {
                memcache::text_auth
            };
            authenticate(user, password, &mut prefix.encoded);
            prefix.commands.push(vec!["authentication".into()]);
        }
        prefix
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
    open_with(target, &Dialer::new(target)?, &Prefix::new(target, prefix))
}

pub(crate) fn open_with(
    target: &Target,
    dialer: &Dialer,
    prefix: &Prefix,
) -> Result<Connection, RunError> {
    let mut blocking = dialer.dial()?;
    exchange(&mut blocking, target, prefix, REPLY_TIMEOUT, |_| ())?;
    let peer = Peer { place: blocking.peer().clone(), connector: dialer.connector().cloned() };
    let negotiated = blocking.negotiated();
    let stream = blocking.convert(Socket::from_blocking, Socket::into_stream, Stream::Tls)?;
    Ok(Connection { stream, peer, negotiated })
}

/// Sends one command on a connection of its own and returns the reply as it came, type byte and line ends included.
///
/// # Errors
/// As [`open`]; an error reply to the command itself is a reply.
pub fn ask(target: &Target, command: &[&str]) -> Result<Vec<u8>, RunError> {
    ask_over(Dialer::new(target)?, target, command, REPLY_TIMEOUT)
}

/// As [`ask`], but waits at most `patience` for the connection and for each reply.
///
/// # Errors
/// As [`ask`].
pub fn ask_within(
    target: &Target,
    command: &[&str],
    patience: Duration,
) -> Result<Vec<u8>, RunError> {
    ask_over(Dialer::new(target)?.within(patience), target, command, patience)
}

fn ask_over(
    dialer: Dialer,
    target: &Target,
    command: &[&str],
    patience: Duration,
) -> Result<Vec<u8>, RunError> {
    let mut blocking = dialer.dial()?;
    let prefix = Prefix::new(target, &[]);
    exchange(&mut blocking, target, &prefix, patience, |_| ())?;
    let mut question = Prefix::default();
    encode::command(&mut question.encoded, command);
    question.commands.push(command.iter().map(|text| Argument::from(*text)).collect());
    let mut reply = Vec::new();
    match exchange(&mut blocking, target, &question, patience, |bytes| reply = bytes.to_vec()) {
        Ok(()) | Err(RunError::Refused { .. }) => Ok(reply),
        Err(error) => Err(error),
    }
}

/// Sends the prefix and waits for its replies; `reply` sees each of them.
fn exchange(
    stream: &mut stream::Stream,
    target: &Target,
    prefix: &Prefix,
    patience: Duration,
    mut reply: impl FnMut(&[u8]),
) -> Result<(), RunError> {
    let address = || target.address.to_string();
    let lost = |source: io::Error| match source.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            RunError::Silent { address: address(), waited_ms: patience.as_millis() as u64 }
        }
        _ => RunError::lost(&target.address, source),
    };
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(&prefix.encoded).map_err(lost)?;
    let mut scanner = Scanner::new(target.protocol);
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
    /// The place of a target that no connection has been made to yet; its name is looked up.
    pub(crate) fn resolve(dialer: &Dialer) -> Result<Self, RunError> {
        Ok(Self { place: dialer.resolve()?, connector: dialer.connector().cloned() })
    }

    /// Starts a connection that does not block; it is made, or has failed, when it is writable. The handshake of TLS
    /// begins with the first write.
    pub(crate) fn start(&self) -> io::Result<Stream> {
        let socket = match &self.place {
            stream::Peer::Tcp(address) => TcpStream::connect(*address).map(Socket::Tcp)?,
            stream::Peer::Unix(path) => UnixStream::connect(path).map(Socket::Unix)?,
        };
        match &self.connector {
            None => Ok(socket.into_stream()),
            Some(connector) => Encrypted::new(connector, socket)
                .map(|encrypted| Stream::Tls(Box::new(encrypted)))
                .map_err(HandshakeError::into_io),
        }
    }
}

impl Socket {
    fn from_blocking(socket: stream::Socket) -> io::Result<Self> {
        match socket {
            stream::Socket::Tcp(socket) => {
                socket.set_nonblocking(true)?;
                Ok(Self::Tcp(TcpStream::from_std(socket)))
            }
            stream::Socket::Unix(socket) => {
                socket.set_nonblocking(true)?;
                Ok(Self::Unix(UnixStream::from_std(socket)))
            }
        }
    }

    fn into_stream(self) -> Stream {
        match self {
            Self::Tcp(socket) => Stream::Tcp(socket),
            Self::Unix(socket) => Stream::Unix(socket),
        }
    }

    fn connected(&self) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => tcp_connected(socket),
            Self::Unix(socket) => socket.take_error()?.map_or(Ok(()), Err),
        }
    }

    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(socket) => socket.register(registry, token, interest),
            Self::Unix(socket) => socket.register(registry, token, interest),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(buffer),
            Self::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write(bytes),
            Self::Unix(socket) => socket.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write_vectored(slices),
            Self::Unix(socket) => socket.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What became of a TCP connection that was started.
fn tcp_connected(socket: &TcpStream) -> io::Result<()> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    socket.set_nodelay(true)
}

impl Stream {
    /// What became of a connection that was started.
    pub(crate) fn connected(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => tcp_connected(stream),
            Self::Unix(stream) => stream.take_error()?.map_or(Ok(()), Err),
            Self::Tls(stream) => stream.socket().connected(),
        }
    }

    /// Reads what there is; less than a full buffer means that the next bytes make a new event.
    #[inline]
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read_all(buffer),
        }
    }

    /// Writes what the socket takes; see [`Stream::owes`].
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    /// Whether bytes that were written have not gone out: [`Stream::flush`] when the socket is writable.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => false,
            Self::Tls(stream) => stream.owes(),
        }
    }

    /// Sends what is owed, as far as the socket takes it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(_) | Self::Unix(_) => Ok(()),
            Self::Tls(stream) => match stream.flush() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                flushed => flushed,
            },
        }
    }

    /// Has readiness of the socket, for reading and writing, reported as `token`.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => stream.register(registry, token, interest),
            Self::Unix(stream) => stream.register(registry, token, interest),
            Self::Tls(stream) => stream.socket_mut().register(registry, token),
        }
    }
}
