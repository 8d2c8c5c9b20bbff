//! One blocking connection to a server: TCP or a Unix socket, commands out, replies in as values.
//!
//! Nothing is known here of prompts, output or retries: `session` does that for commands, and the measurement modes for themselves.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use load::RunError;
use load::plan::{Address, Target};
use load::stream::{Dialer, Stream};
use resp::{DecodeError, Value, ValueDecoder, encode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;

use super::options::{Options, Protocol};
use crate::applets::redis_benchmark::server_config::system_text;

/// Bytes asked of the socket at once.
const READ_BYTES: usize = 16 << 10;
/// Bytes written at once when replies are read in between: a socket that is ready for any takes these without a wait.
const WRITE_BYTES: usize = 1 << 10;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Something can be read from the server, be it the end.
    Server,
    /// The other file of this index has something.
    Other(usize),
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

impl Connection {
    /// Connects and sends nothing.
    ///
    /// # Errors
    /// [`OpenError::Connect`].
    pub fn connect(options: &Options) -> Result<Self, OpenError> {
        let stream = dial(options).map_err(|error| OpenError::Connect {
            place: options.place(),
            reason: reason(error),
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
        self.consume(length);
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

    /// Waits until one of `others` or the server has something to read, or `timeout` is over. Of several that have,
    /// the first one counts, and the server last.
    ///
    /// # Errors
    /// [`LinkError::Io`].
    pub fn wait_for(
        &mut self,
        others: &[BorrowedFd<'_>],
        timeout: Option<Duration>,
    ) -> Result<Readiness, LinkError> {
        if self.stream.has_buffered() {
            return Ok(Readiness::Server);
        }
        let mut files: Vec<PollFd<'_>> =
            others.iter().map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN)).collect();
        files.push(PollFd::from_borrowed_fd(self.stream.as_fd(), PollFlags::IN));
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        });
        loop {
            match poll(&mut files, timeout.as_ref()) {
                Ok(0) => return Ok(Readiness::TimedOut),
                Ok(_) => {
                    let ready = files.iter().position(|file| !file.revents().is_empty());
                    return Ok(match ready {
                        Some(index) if index < others.len() => Readiness::Other(index),
                        _ => Readiness::Server,
                    });
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(LinkError::Io(error.into())),
            }
        }
    }

    /// Writes some of `bytes`, and reads whenever the server has something to say: it waits for neither alone. The result
    /// is how many were written; it may be 0.
    ///
    /// # Errors
    /// [`LinkError::Closed`] and [`LinkError::Io`].
    pub fn write_or_read(&mut self, bytes: &[u8]) -> Result<usize, LinkError> {
        let ready = loop {
            let both = PollFlags::IN | PollFlags::OUT;
            let mut files = [PollFd::from_borrowed_fd(self.stream.as_fd(), both)];
            match poll(&mut files, None) {
                Ok(_) => break files[0].revents(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(LinkError::Io(error.into())),
            }
        };
        if self.stream.has_buffered() || ready.intersects(PollFlags::IN | PollFlags::HUP) {
            self.fill()?;
        }
        if !ready.contains(PollFlags::OUT) {
            return Ok(0);
        }
        let piece = &bytes[..bytes.len().min(WRITE_BYTES)];
        self.write(piece)?;
        Ok(piece.len())
    }

    /// Takes at least one and at most `most` received bytes that are no replies.
    ///
    /// # Errors
    /// [`LinkError::Closed`] and [`LinkError::Io`].
    pub fn bytes(&mut self, most: usize) -> Result<Vec<u8>, LinkError> {
        if self.taken == self.input.len() {
            self.fill()?;
        }
        let end = self.input.len().min(self.taken.saturating_add(most));
        let bytes = self.input[self.taken..end].to_vec();
        self.consume(bytes.len());
        Ok(bytes)
    }

    fn consume(&mut self, length: usize) {
        self.taken += length;
        if self.taken == self.input.len() {
            self.input.clear();
            self.taken = 0;
        } else if self.taken > COMPACT_BYTES {
            self.input.drain(..self.taken);
            self.taken = 0;
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

/// A stream to the server, encrypted if that was asked for.
fn dial(options: &Options) -> Result<Stream, RunError> {
    let address = match &options.socket {
        Some(path) => Address::Unix { path: path.clone() },
        None => Address::Tcp { host: options.host.clone(), port: options.port },
    };
    let target = Target { address, tls: options.tls.settings(), ..Target::tcp("", 0) };
    let mut dialer = Dialer::new(&target)?;
    if let Some(timeout) = options.connect_timeout {
        dialer = dialer.within(timeout);
    }
    let stream = dialer.dial()?;
    if options.socket.is_none() {
        let kept = sockopt::set_socket_keepalive(&stream, true)
            .and_then(|()| sockopt::set_tcp_keepidle(&stream, KEEP_ALIVE));
        kept.map_err(|error| RunError::System(error.into()))?;
    }
    Ok(stream)
}

/// Why there is no stream, in the original's words where it has any.
fn reason(error: RunError) -> String {
    match error {
        RunError::Resolve { source, .. } | RunError::Connect { source, .. } => system_text(&source),
        RunError::Tls { source, .. } => format!("SSL_connect failed: {source}"),
        error => error.to_string(),
    }
}
