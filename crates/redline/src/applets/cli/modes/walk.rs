//! A walk over all keys of a database by `SCAN`, page by page, for the modes that look at every key.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use resp::{Value, encode};

use super::ModeError;
use crate::applets::cli::connection::Connection;
use crate::applets::cli::options::Options;

/// Pages between two pauses of `-i`.
const PAGES_A_PAUSE: u64 = 100;
/// How soon Ctrl-C ends a pause.
const INTERRUPT_LATENCY: Duration = Duration::from_millis(50);
/// Most commands that are on their way at once.
const PIPELINE_MAX: usize = 1_000;

/// The walk.
pub struct Walk<'a> {
    options: &'a Options,
    connection: Connection,
    is_interrupted: &'a AtomicBool,
    keys_total: u64,
    cursor: u64,
    pages: u64,
}

impl<'a> Walk<'a> {
    /// Asks how many keys there are, prints `introduction`, and makes a replica of a cluster answer.
    ///
    /// # Errors
    /// All kinds of [`ModeError`].
    pub fn begin(
        options: &'a Options,
        is_interrupted: &'a AtomicBool,
        introduction: &str,
        out: &mut impl Write,
    ) -> Result<Self, ModeError> {
        let mut connection = Connection::open(options)?;
        let keys_total = match connection.ask(&["DBSIZE"])? {
            Value::Integer(keys) => u64::try_from(keys).unwrap_or(0),
            Value::Error(message) => {
                return Err(ModeError::told("Couldn't determine DBSIZE:", &message));
            }
            _ => return Err(ModeError::Sentence("Non INTEGER response from DBSIZE!".into())),
        };
        out.write_all(introduction.as_bytes())?;
        out.flush()?;
        if let Value::Error(message) = connection.ask(&["READONLY"])? {
            let is_alone = message.ends_with(b"cluster support disabled")
                || message.starts_with(b"ERR unknown command");
            if !is_alone {
                return Err(ModeError::told("Error:", &message));
            }
        }
        Ok(Self { options, connection, is_interrupted, keys_total, cursor: 0, pages: 0 })
    }

    /// Starts from another page than the first.
    pub fn starting_at(mut self, cursor: u64) -> Self {
        self.cursor = cursor;
        self
    }

    /// Keys in the database when the walk began.
    pub fn keys_total(&self) -> u64 {
        self.keys_total
    }

    /// Where a further walk can go on; 0 when this one has seen all.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Whether Ctrl-C ended it.
    pub fn is_interrupted(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed)
    }

    /// How much of the keys `sampled` are, in per cent.
    pub fn percent(&self, sampled: u64) -> f64 {
        if self.keys_total == 0 { 0.0 } else { sampled as f64 / self.keys_total as f64 * 100.0 }
    }

    /// The names on the next page, after the pause that is due; `None` at the end, or after Ctrl-C.
    ///
    /// # Errors
    /// All kinds of [`ModeError`].
    pub fn next_page(&mut self) -> Result<Option<Vec<Vec<u8>>>, ModeError> {
        if self.pages > 0 {
            if self.pages.is_multiple_of(PAGES_A_PAUSE) {
                self.pause();
            }
            if self.cursor == 0 || self.is_interrupted() {
                return Ok(None);
            }
        }
        self.pages += 1;
        let cursor = self.cursor.to_string();
        let count = self.options.count.to_string();
        let mut command: Vec<&[u8]> = vec![b"SCAN", cursor.as_bytes()];
        if let Some(pattern) = &self.options.pattern {
            command.extend([b"MATCH".as_slice(), pattern]);
        }
        command.extend([b"COUNT", count.as_bytes()]);
        let (cursor, names) = page(self.connection.ask(&command)?)?;
        self.cursor = cursor;
        Ok(Some(names))
    }

    /// Sleeps for the time of `-i`, but not on after Ctrl-C.
    fn pause(&self) {
        let end = Instant::now() + self.options.interval;
        while !self.is_interrupted() {
            match end.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return,
                rest => std::thread::sleep(rest.min(INTERRUPT_LATENCY)),
            }
        }
    }

    /// The replies to commands, in order.
    ///
    /// # Errors
    /// [`ModeError::Sentence`] when the connection breaks.
    pub fn ask_all(&mut self, commands: &[Vec<&[u8]>]) -> Result<Vec<Value>, ModeError> {
        let mut replies = Vec::with_capacity(commands.len());
        for commands in commands.chunks(PIPELINE_MAX) {
            let mut batch = Vec::new();
            commands.iter().for_each(|command| encode::command(&mut batch, command));
            self.connection.write(&batch)?;
            let end = replies.len() + commands.len();
            while replies.len() < end {
                match self.connection.read()? {
                    Value::Push(_) => {}
                    reply => replies.push(reply),
                }
            }
        }
        Ok(replies)
    }
}

/// Cursor and names of a reply to SCAN.
fn page(reply: Value) -> Result<(u64, Vec<Vec<u8>>), ModeError> {
    let invalid = || ModeError::Sentence("Invalid response from SCAN!".into());
    let elements = match reply {
        Value::Array(elements) => elements,
        Value::Error(message) => return Err(ModeError::told("SCAN error:", &message)),
        _ => return Err(ModeError::Sentence("Non ARRAY response from SCAN!".into())),
    };
    let [cursor, Value::Array(names)] = elements.as_slice() else { return Err(invalid()) };
    let cursor = cursor.as_bytes().and_then(|digits| std::str::from_utf8(digits).ok());
    let cursor = cursor.and_then(|digits| digits.parse().ok()).ok_or_else(invalid)?;
    let names = names.iter().map(|name| name.as_bytes().map(<[u8]>::to_vec));
    Ok((cursor, names.collect::<Option<_>>().ok_or_else(invalid)?))
}

#[cfg(test)]
mod tests {
    use resp::Value;

    use super::{ModeError, page};

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.as_bytes().to_vec())
    }

    #[test]
    fn pages() {
        let names = Value::Array(vec![bulk("a"), bulk("")]);
        let (cursor, names) = page(Value::Array(vec![bulk("17"), names])).unwrap();
        assert_eq!((cursor, names), (17, vec![b"a".to_vec(), Vec::new()]));
    }

    #[test]
    fn what_is_no_page() {
        let sentence = |reply| match page(reply) {
            Err(ModeError::Sentence(sentence)) => sentence,
            other => panic!("{other:?}"),
        };
        assert_eq!(sentence(Value::Error(b"NOPERM x".to_vec())), "SCAN error: NOPERM x");
        assert_eq!(sentence(Value::Null), "Non ARRAY response from SCAN!");
        for elements in [
            vec![],
            vec![bulk("0")],
            vec![bulk("x"), Value::Array(vec![])],
            vec![bulk("0"), Value::Array(vec![Value::Integer(1)])],
        ] {
            assert_eq!(sentence(Value::Array(elements)), "Invalid response from SCAN!");
        }
    }
}
