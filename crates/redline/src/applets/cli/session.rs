//! Commands and their replies: sends, reads, prints, and connects again when that helps.

use std::io::{self, Write as _};
use std::process::ExitCode;

use resp::Value;

use super::connection::{Connection, LinkError, OpenError};
use super::format;
use super::options::Options;

/// A user's session with a server.
pub struct Session {
    options: Options,
    connection: Option<Connection>,
}

impl Session {
    /// A session that is not connected yet.
    pub fn new(options: Options) -> Self {
        Self { options, connection: None }
    }

    /// Sends the command of the command line as often as asked for.
    ///
    /// # Errors
    /// Standard output can't be written to.
    pub fn one_shot(mut self) -> anyhow::Result<ExitCode> {
        let command = std::mem::take(&mut self.options.command);
        let mut left = self.options.repeat;
        while left != 0 {
            match self.ask(&command) {
                Ok(value) => {
                    let text = format::reply(&value, &self.options, false);
                    io::stdout().lock().write_all(&text)?;
                }
                Err(error) => {
                    eprintln!("{error}");
                    return Ok(ExitCode::FAILURE);
                }
            }
            std::thread::sleep(self.options.interval);
            left -= i64::from(left > 0);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn ask(&mut self, command: &[Vec<u8>]) -> Result<Value, OpenError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert(Connection::open(&self.options)?),
        };
        connection.ask(command).map_err(|error: LinkError| error.into())
    }
}
