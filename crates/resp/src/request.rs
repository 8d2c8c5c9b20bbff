//! The server's side of reading: requests, found in place and without an allocation a command.
//!
//! [`RequestParser::next`] is given the input that no command has consumed yet, and appends the
//! spans of the next command's arguments to a vector of the caller. When the command is not all there, the
//! parser keeps what it has found, in offsets from the command's first byte; so the next call may
//! come with the same bytes in another place, and looks only at what is new.
//!
//! The one known difference from Redis 7.0: a NUL byte in a header is refused at once as the malformed
//! number that it makes, and ends an inline line, where Redis waits for 64 KiB more before it closes.

use crate::args::Span;
use text::{integer, quote};

/// An inline request or a header line may be this long, in bytes (Redis's `PROTO_INLINE_MAX_SIZE`).
const MAX_LINE: usize = 64 * 1024;
/// Redis's default for `proto-max-bulk-len`, in bytes.
const DEFAULT_MAX_BULK_LEN: usize = 512 << 20;
/// The most arguments of one command.
const MAX_ARGS: i64 = i32::MAX as i64;
/// The most arguments before authentication.
const MAX_UNAUTHENTICATED_ARGS: i64 = 10;
/// The longest argument before authentication, in bytes.
const MAX_UNAUTHENTICATED_BULK_LEN: i64 = 16384;
/// Span storage for a half command beyond this many is given back once the command is complete.
const KEPT_PARTIAL_SPANS: usize = 1024;

/// What a connection may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `proto-max-bulk-len`: the longest argument, in bytes. Whatever it says, one command ends
    /// before 4 GiB.
    pub max_bulk_len: usize,
    /// Whether the client has authenticated, or need not. While it has not, commands must be executed
    /// one by one as they are parsed, since any of them may change this.
    pub authenticated: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bulk_len: DEFAULT_MAX_BULK_LEN, authenticated: true }
    }
}

/// What [`RequestParser::next`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// A command: its spans were appended, and refer to the input given.
    Complete {
        /// How many bytes of the input the command took.
        consumed: usize,
    },
    /// An inline command with quotes: its spans were appended, and refer to
    /// [`RequestParser::unquoted`] until the next call.
    CompleteUnquoted {
        /// How many bytes of the input the command took.
        consumed: usize,
    },
    /// Input that asks for nothing (an empty line, `*0`): no reply, just go on behind it.
    Empty {
        /// How many bytes of the input to leave behind.
        consumed: usize,
    },
    /// The input ends within a command, or is empty.
    Incomplete {
        /// At least so many more bytes must arrive before the command can be complete.
        needed: usize,
    },
}

/// Input that is no request. Redis replies with `-ERR ` and the text of this error, then closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A `*` without a line end for 64 KiB.
    #[error("Protocol error: too big mbulk count string")]
    TooBigMultibulkCount,
    /// The number after `*` is none, or is out of range.
    #[error("Protocol error: invalid multibulk length")]
    InvalidMultibulkLength,
    /// More than ten arguments before authentication.
    #[error("Protocol error: unauthenticated multibulk length")]
    UnauthenticatedMultibulkLength,
    /// An argument starts with something else than `$`.
    #[error("Protocol error: expected '$', got '{}'", char::from(*.0))]
    ExpectedDollar(u8),
    /// A `$` without a line end for 64 KiB.
    #[error("Protocol error: too big bulk count string")]
    TooBigBulkCount,
    /// The number after `$` is none, or is out of range.
    #[error("Protocol error: invalid bulk length")]
    InvalidBulkLength,
    /// An argument of more than 16 KiB before authentication.
    #[error("Protocol error: unauthenticated bulk length")]
    UnauthenticatedBulkLength,
    /// A line that is no multibulk request and does not end for 64 KiB.
    #[error("Protocol error: too big inline request")]
    TooBigInline,
    /// Quotes of an inline request do not match.
    #[error("Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
}

impl ProtocolError {
    /// The text that goes behind `-ERR ` to the client, byte for byte (the `Display` form shows an
    /// offending byte beyond ASCII as a character).
    pub fn reply(self) -> Vec<u8> {
        match self {
            Self::ExpectedDollar(byte) => {
                let mut text = b"Protocol error: expected '$', got '".to_vec();
                text.extend_from_slice(&[byte, b'\'']);
                text
            }
            _ => self.to_string().into_bytes(),
        }
    }
}

/// Finds one command after the other in a connection's input.
///
/// After an error the parser is of no further use: the connection is to be closed.
#[derive(Debug, Default)]
pub struct RequestParser {
    progress: Progress,
    /// Spans of a half command.
    partial: Vec<Span>,
    unquoted: Vec<u8>,
}

/// How far a half command has been read, in offsets from its first byte.
#[derive(Debug, Default, Clone, Copy)]
struct Progress {
    /// Where the next header or body starts; 0 as long as the first line is not complete.
    position: usize,
    /// How many arguments are missing.
    missing: u32,
    /// The length of the argument whose body starts at `position`.
    body_len: Option<usize>,
    /// No line end comes before this offset.
    scanned: usize,
}

/// What one pass over the input came to.
enum Step {
    Complete(usize),
    Empty(usize),
    Incomplete(usize),
}

impl RequestParser {
    /// A parser at the start of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the last call saw the beginning of a command, but not its end.
    pub fn is_partial(&self) -> bool {
        self.progress.position > 0 || self.progress.scanned > 0
    }

    /// The bytes that the spans of [`Parsed::CompleteUnquoted`] refer to, until the next call of
    /// [`next`](Self::next).
    pub fn unquoted(&self) -> &[u8] {
        &self.unquoted
    }

    /// Looks for the next command at the start of `buf`, which holds all input that was not yet
    /// consumed, and appends the spans of its arguments to `args`; nothing is appended unless the
    /// command is complete.
    #[inline]
    pub fn next(
        &mut self,
        limits: &Limits,
        buf: &[u8],
        args: &mut Vec<Span>,
    ) -> Result<Parsed, ProtocolError> {
        if self.progress.position > 0 {
            return self.resume(limits, buf, args);
        }
        match buf.first() {
            None => return Ok(Parsed::Incomplete { needed: 1 }),
            Some(b'*') => {}
            Some(_) => return self.inline(buf, args),
        }
        let first_new = args.len();
        match self.progress.advance(limits, buf, args)? {
            Step::Complete(consumed) => Ok(Parsed::Complete { consumed }),
            Step::Empty(consumed) => Ok(Parsed::Empty { consumed }),
            Step::Incomplete(needed) => {
                self.partial.extend(args.drain(first_new..));
                Ok(Parsed::Incomplete { needed })
            }
        }
    }

    /// [`next`](Self::next) for a command of which some spans are known.
    #[cold]
    fn resume(
        &mut self,
        limits: &Limits,
        buf: &[u8],
        args: &mut Vec<Span>,
    ) -> Result<Parsed, ProtocolError> {
        match self.progress.advance(limits, buf, &mut self.partial)? {
            Step::Complete(consumed) | Step::Empty(consumed) => {
                args.append(&mut self.partial);
                self.partial.shrink_to(KEPT_PARTIAL_SPANS);
                Ok(Parsed::Complete { consumed })
            }
            Step::Incomplete(needed) => Ok(Parsed::Incomplete { needed }),
        }
    }

    #[inline(never)]
    fn inline(&mut self, buf: &[u8], args: &mut Vec<Span>) -> Result<Parsed, ProtocolError> {
        let from = self.progress.scanned.min(buf.len());
        let Some(newline) = memchr::memchr(b'\n', &buf[from..]).map(|offset| from + offset) else {
            if buf.len() > MAX_LINE {
                return Err(ProtocolError::TooBigInline);
            }
            self.progress.scanned = buf.len();
            return Ok(Parsed::Incomplete { needed: 1 });
        };
        self.progress = Progress::default();
        let consumed = newline + 1;
        let line = buf[..newline].strip_suffix(b"\r").unwrap_or(&buf[..newline]);
        let first_new = args.len();
        if memchr::memchr3(b'"', b'\'', 0, line).is_none() {
            split_plain(line, args);
            return Ok(if args.len() > first_new {
                Parsed::Complete { consumed }
            } else {
                Parsed::Empty { consumed }
            });
        }
        self.unquoted.clear();
        let mut rest = line;
        loop {
            let start = self.unquoted.len();
            match quote::split_next(&mut rest, &mut self.unquoted) {
                Ok(true) => args.push(span(start, self.unquoted.len())),
                Ok(false) if args.len() == first_new => return Ok(Parsed::Empty { consumed }),
                Ok(false) => return Ok(Parsed::CompleteUnquoted { consumed }),
                Err(quote::UnbalancedQuotes) => {
                    args.truncate(first_new);
                    return Err(ProtocolError::UnbalancedQuotes);
                }
            }
        }
    }
}

impl Progress {
    /// Reads as much of a multibulk request as there is, and starts afresh after its end.
    #[inline]
    fn advance(
        &mut self,
        limits: &Limits,
        buf: &[u8],
        spans: &mut Vec<Span>,
    ) -> Result<Step, ProtocolError> {
        let mut position = self.position;
        let mut missing = self.missing;
        let mut body_len = self.body_len;
        if position == 0 {
            let (count, after) = match short_header(buf, b'*') {
                Some((count, len)) if limits.authenticated => (i64::from(count), len),
                _ => match self.count_line(limits, buf)? {
                    Some(header) => header,
                    None => return Ok(Step::Incomplete(1)),
                },
            };
            if count <= 0 {
                *self = Self::default();
                return Ok(Step::Empty(after));
            }
            position = after;
            missing = count as u32;
        }
        loop {
            let len = match body_len.take() {
                Some(len) => len,
                None => {
                    let rest = &buf[position..];
                    let (len, header_len) = match short_header(rest, b'$') {
                        Some((len, header_len)) if limits.authenticated => {
                            (len as usize, header_len)
                        }
                        _ => match self.bulk_line(limits, rest, position)? {
                            Some(header) => header,
                            None => {
                                (self.position, self.missing, self.body_len) =
                                    (position, missing, None);
                                return Ok(Step::Incomplete(1));
                            }
                        },
                    };
                    position += header_len;
                    if len > limits.max_bulk_len || position + len > u32::MAX as usize - 2 {
                        return Err(ProtocolError::InvalidBulkLength);
                    }
                    len
                }
            };
            // Redis does not look at the two bytes after the body either.
            let end = position + len;
            if end + 2 > buf.len() {
                *self = Self { position, missing, body_len: Some(len), scanned: 0 };
                return Ok(Step::Incomplete(end + 2 - buf.len()));
            }
            spans.push(span(position, end));
            position = end + 2;
            missing -= 1;
            if missing == 0 {
                *self = Self::default();
                return Ok(Step::Complete(position));
            }
        }
    }

    /// The line after `*` in full generality: the count, and where the next line starts.
    #[cold]
    fn count_line(
        &mut self,
        limits: &Limits,
        buf: &[u8],
    ) -> Result<Option<(i64, usize)>, ProtocolError> {
        let Some(end) = self.line_end(buf, 0, ProtocolError::TooBigMultibulkCount)? else {
            return Ok(None);
        };
        match integer::parse_i64(&buf[1..end]) {
            Some(count) if count > MAX_ARGS => Err(ProtocolError::InvalidMultibulkLength),
            Some(count) if count > MAX_UNAUTHENTICATED_ARGS && !limits.authenticated => {
                Err(ProtocolError::UnauthenticatedMultibulkLength)
            }
            Some(count) => Ok(Some((count, end + 2))),
            None => Err(ProtocolError::InvalidMultibulkLength),
        }
    }

    /// The line of an argument's length in full generality; `rest` is the input from `position`
    /// on. The result is the length of the body, and that of the line.
    #[cold]
    fn bulk_line(
        &mut self,
        limits: &Limits,
        rest: &[u8],
        position: usize,
    ) -> Result<Option<(usize, usize)>, ProtocolError> {
        let Some(end) = self.line_end(rest, position, ProtocolError::TooBigBulkCount)? else {
            return Ok(None);
        };
        if rest[0] != b'$' {
            return Err(ProtocolError::ExpectedDollar(rest[0]));
        }
        let len = integer::parse_i64(&rest[1..end]).ok_or(ProtocolError::InvalidBulkLength)?;
        let max_len = i64::try_from(limits.max_bulk_len).unwrap_or(i64::MAX);
        if len < 0 || len > max_len {
            return Err(ProtocolError::InvalidBulkLength);
        }
        if len > MAX_UNAUTHENTICATED_BULK_LEN && !limits.authenticated {
            return Err(ProtocolError::UnauthenticatedBulkLength);
        }
        Ok(Some((len as usize, end + 2)))
    }

    /// Where the line at the start of `rest`, itself at offset `position`, has its `\r`; `None`
    /// as long as that, or the byte after it, is missing. Like Redis this does not insist on `\n` there.
    fn line_end(
        &mut self,
        rest: &[u8],
        position: usize,
        too_long: ProtocolError,
    ) -> Result<Option<usize>, ProtocolError> {
        let from = self.scanned.saturating_sub(position).min(rest.len());
        match memchr::memchr(b'\r', &rest[from..]).map(|offset| from + offset) {
            Some(end) if end + 2 <= rest.len() => {
                self.scanned = 0;
                Ok(Some(end))
            }
            Some(end) => {
                self.scanned = position + end;
                Ok(None)
            }
            None if rest.len() > MAX_LINE => Err(too_long),
            None => {
                self.scanned = position + rest.len();
                Ok(None)
            }
        }
    }
}

/// The number in a header of `marker`, one to seven digits and `\r\n`, and the length of all
/// that. `None` for everything unusual, which is left to the slow path.
#[inline]
fn short_header(buf: &[u8], marker: u8) -> Option<(u32, usize)> {
    let [first, second, third, fourth] = *buf.first_chunk::<4>()?;
    let mut value = u32::from(second.wrapping_sub(b'0'));
    if first != marker || value > 9 {
        return None;
    }
    if third == b'\r' {
        return (fourth == b'\n').then_some((value, 4));
    }
    let digit = u32::from(third.wrapping_sub(b'0'));
    if value == 0 || digit > 9 {
        return None;
    }
    value = value * 10 + digit;
    if fourth == b'\r' {
        return (*buf.get(4)? == b'\n').then_some((value, 5));
    }
    for (position, byte) in buf.iter().enumerate().take(9).skip(3) {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            let line_end = buf.get(position..position + 2)?;
            return (line_end == b"\r\n").then_some((value, position + 2));
        }
        value = value * 10 + digit;
    }
    None
}

/// Arguments of a line without quotes.
fn split_plain(line: &[u8], args: &mut Vec<Span>) {
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let mut start = None;
    for (position, byte) in line.iter().enumerate() {
        match (start, is_space(*byte)) {
            (None, false) => start = Some(position),
            (Some(from), true) => {
                args.push(span(from, position));
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        args.push(span(from, line.len()));
    }
}

/// Offsets within a command fit in 32 bits: bodies are checked, lines are limited.
#[inline]
fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, end: end as u32 }
}

#[cfg(test)]
mod tests;
