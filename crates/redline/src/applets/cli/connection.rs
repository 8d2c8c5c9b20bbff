//! One blocking connection to a server: TCP or a Unix socket, commands out, replies in as values.
//!
//! Nothing is known here of prompts, output or retries: `session` does that for commands, and the measurement modes for themselves.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use resp::{DecodeError, Value, ValueDecoder, encode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::options::{Options, Protocol};
use crate::applets::redis_benchmark::server_config::system_text;

/// Bytes asked of the socket at once.
const READ_BYTES: usize = 16 << 10;
/// Idle time after which the system asks whether the server is still there, as the original sets it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Bytes already taken from the front of the input before it is moved up.
const COMPACT_BYTES: usize = 64 << 10;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The server can't be reached.
    #[error("Could not connect to Redis at {place}: {reason}")]
    Connect {
        /// Host and port, or the path.
        place: String,
        /// The system's words.
        reason: String,
    },
    /// It broke while it was being set up.
    #[error("{0}")]
    Link(#[from] LinkError),
    /// `AUTH`, `SELECT` or `HELLO` was answered with an error.
    #[error("{command} failed: {message}")]
    Refused {
        /// The command, without secrets.
        command: String,
        /// The server's words.
        message: String,
    },
}

/// Why a connection is of no use any more.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The server has closed it.
    #[error("Server closed the connection")]
    Closed,
    /// What came is no reply.
    #[error("Protocol error, {0}")]
    Protocol(#[from] DecodeError),
    /// Whatever the system says.
    #[error("{}", system_text(.0))]
    Io(#[from] io::Error),
}

/// What a wait for data ended with.
#[allow(dead_code)] // Its first caller is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Something can be read from the server, be it the end.
    Server,
    /// The other file has something.
    Other,
    /// The time is up.
    TimedOut,
}

/// A connection. It closes when it is dropped.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    decoder: ValueDecoder,
    /// Received bytes; those before `taken` belong to replies that have been handed out.
    input: Vec<u8>,
    taken: usize,
    output: Vec<u8>,
}

/// A socket of either kind.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Connection {
    /// Connects and sends nothing.
    ///
    /// # Errors
    /// [`OpenError::Connect`].
    pub fn connect(options: &Options) -> Result<Self, OpenError> {
        let stream = Stream::connect(options).map_err(|source| OpenError::Connect {
            place: options.place(),
            reason: system_text(&source),
        })?;
        Ok(Self {
            stream,
            decoder: ValueDecoder::new(),
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
        })
    }

    /// Connects, then sends `AUTH`, `SELECT` and `HELLO 3` as the options ask for them, each only if it is needed.
    ///
    /// # Errors
    /// All kinds of [`OpenError`]; the first command that is refused ends it.
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        let mut connection = Self::connect(options)?;
        connection.authenticate(options)?;
        connection.select(options.database)?;
        if options.protocol == Protocol::Resp3 {
            connection.hello_3()?;
        }
        Ok(connection)
    }

    /// Sends `AUTH` if there is a password.
    ///
    /// # Errors
    /// [`OpenError::Refused`] and [`OpenError::Link`].
    pub fn authenticate(&mut self, options: &Options) -> Result<(), OpenError> {
        let Some(password) = options.password.as_deref() else { return Ok(()) };
        let mut command = vec!["AUTH"];
        command.extend(options.user.as_deref());
        command.push(password);
        self.accepted("AUTH".into(), &command)
    }

    /// Sends `SELECT` unless it would ask for the database that every connection starts with.
    ///
    /// # Errors
    /// [`OpenError::Refused`] and [`OpenError::Link`].
    pub fn select(&mut self, database: i64) -> Result<(), OpenError> {
        if database == 0 {
            return Ok(());
        }
        let number = database.to_string();
        self.accepted(format!("SELECT {number}"), &["SELECT", &number])
    }

    /// Changes to the third version of the protocol.
    ///
    /// # Errors
    /// [`OpenError::Refused`] and [`OpenError::Link`].
    pub fn hello_3(&mut self) -> Result<(), OpenError> {
        self.accepted("HELLO 3".into(), &["HELLO", "3"])
    }

    /// Sends a command, its name first.
    ///
    /// # Errors
    /// [`LinkError::Io`].
    pub fn send<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Result<(), LinkError> {
        let mut output = std::mem::take(&mut self.output);
        output.clear();
        encode::command(&mut output, command);
        let result = self.write(&output);
        self.output = output;
        result
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// [`LinkError::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// The next reply, for which it waits without end.
    ///
    /// # Errors
    /// All kinds of [`LinkError`].
    pub fn read(&mut self) -> Result<Value, LinkError> {
        loop {
            if let Some(value) = self.received()? {
                return Ok(value);
            }
            self.fill()?;
        }
    }

    /// Sends a command and waits for its reply; out-of-band data that comes before it is dropped.
    ///
    /// # Errors
    /// All kinds of [`LinkError`].
    pub fn ask<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Result<Value, LinkError> {
        self.send(command)?;
        loop {
            match self.read()? {
                Value::Push(_) => {}
                value => return Ok(value),
            }
        }
    }

    /// The next reply if it is here already, without asking the socket.
    ///
    /// # Errors
    /// [`LinkError::Protocol`].
    pub fn received(&mut self) -> Result<Option<Value>, LinkError> {
        let Some((value, length)) = self.decoder.next(&self.input[self.taken..])? else {
            return Ok(None);
        };
        self.taken += length;
        if self.taken == self.input.len() {
            self.input.clear();
            self.taken = 0;
        } else if self.taken > COMPACT_BYTES {
            self.input.drain(..self.taken);
            self.taken = 0;
        }
        Ok(Some(value))
    }

    /// Reads what there is from the socket, and waits if there is nothing.
    ///
    /// # Errors
    /// [`LinkError::Closed`] and [`LinkError::Io`].
    pub fn fill(&mut self) -> Result<(), LinkError> {
        let mut chunk = [0; READ_BYTES];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(LinkError::Closed),
                Ok(count) => {
                    self.input.extend_from_slice(&chunk[..count]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until the server or `other` has something to read, or `timeout` is over.
    ///
    /// # Errors
    /// [`LinkError::Io`].
    #[allow(dead_code)] // Its first caller is on its way.
    pub fn wait(
        &self,
        other: Option<BorrowedFd<'_>>,
        timeout: Option<Duration>,
    ) -> Result<Readiness, LinkError> {
        let mut files = vec![PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN)];
        files.extend(other.map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN)));
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        loop {
            match poll(&mut files, timeout.as_ref()) {
                Ok(0) => return Ok(Readiness::TimedOut),
                Ok(_) if files.get(1).is_some_and(|other| !other.revents().is_empty()) => {
                    return Ok(Readiness::Other);
                }
                Ok(_) => return Ok(Readiness::Server),
                Err(Errno::INTR) => {}
                Err(error) => return Err(LinkError::Io(error.into())),
            }
        }
    }

    fn accepted(&mut self, name: String, command: &[&str]) -> Result<(), OpenError> {
        match self.ask(command)? {
            Value::Error(message) => {
                let message = String::from_utf8_lossy(&message).into_owned();
                Err(OpenError::Refused { command: name, message })
            }
            _ => Ok(()),
        }
    }
}

impl Stream {
    fn connect(options: &Options) -> io::Result<Self> {
        if let Some(path) = &options.socket {
            return UnixStream::connect(path).map(Self::Unix);
        }
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in (options.host.as_str(), options.port).to_socket_addrs()? {
            let connected = match options.connect_timeout {
                Some(timeout) => TcpStream::connect_timeout(&address, timeout),
                None => TcpStream::connect(address),
            };
            match connected {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
                    rustix::net::sockopt::set_tcp_keepidle(&stream, KEEP_ALIVE)?;
                    return Ok(Self::Tcp(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
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
