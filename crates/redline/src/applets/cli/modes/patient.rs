//! A connection that is made again, once a second and for as long as it takes, when it breaks: for the modes that watch a server.

use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

use resp::Value;

use super::ModeError;
use crate::applets::cli::connection::{Connection, LinkError, OpenError};
use crate::applets::cli::options::Options;

/// Wait between two attempts.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// The connection.
pub struct Patient<'a> {
    options: &'a Options,
    connection: Connection,
    is_error_told: bool,
}

impl<'a> Patient<'a> {
    /// Connects; here a server that is away is an error.
    ///
    /// # Errors
    /// [`ModeError::Sentence`].
    pub fn open(options: &'a Options) -> Result<Self, ModeError> {
        Ok(Self { options, connection: Connection::open(options)?, is_error_told: false })
    }

    /// How long a `PING` takes, in nanoseconds; a time without a server is part of it, as in the original.
    ///
    /// # Errors
    /// All that [`Patient::ask`] has.
    pub fn ping_ns(&mut self) -> Result<u64, ModeError> {
        let start = Instant::now();
        let reply = self.ask(&["PING"])?;
        let latency_ns = start.elapsed().as_nanos() as u64;
        if let (Value::Error(message), false) = (reply, self.is_error_told) {
            eprintln!("Warning: PING is answered with: {}", String::from_utf8_lossy(&message));
            self.is_error_told = true;
        }
        Ok(latency_ns)
    }

    /// Sends a command until it is answered.
    ///
    /// # Errors
    /// [`ModeError::Sentence`] when what comes is no reply, or the server does not take the credentials any more.
    pub fn ask(&mut self, command: &[&str]) -> Result<Value, ModeError> {
        loop {
            match self.connection.ask(command) {
                Ok(reply) => return Ok(reply),
                Err(error @ LinkError::Protocol(_)) => return Err(error.into()),
                Err(_) => self.reconnect()?,
            }
        }
    }

    fn reconnect(&mut self) -> Result<(), ModeError> {
        let mut out = std::io::stdout();
        let is_watched = out.is_terminal();
        for attempt in 1_u64.. {
            if is_watched {
                write!(out, "\r\x1b[0KReconnecting... {attempt}\r")?;
                out.flush()?;
            } else if attempt == 1 {
                eprintln!("Reconnecting...");
            }
            match Connection::open(self.options) {
                Ok(connection) => {
                    self.connection = connection;
                    break;
                }
                Err(OpenError::Refused { command, message }) if !message.starts_with("LOADING") => {
                    return Err(OpenError::Refused { command, message }.into());
                }
                Err(_) => std::thread::sleep(RETRY_WAIT),
            }
        }
        if is_watched {
            write!(out, "\r\x1b[0K")?;
        }
        Ok(())
    }
}
