//! memcached's three protocols: requests for sets and gets, and where the next reply ends and what it is.
//!
//! Replies come out in the terms of RESP's scanner, so that a session need not know which protocol it speaks: stored is a
//! status, a value is a string, nothing is null, the values of a multi-get are an array of as many elements.

use memchr::memchr;
use resp::{DecodeError, ReplyKind, Scanned, Span};

use crate::plan::Protocol;

/// The longest line of a reply, in bytes: keys have at most 250, and errors some words.
const MAX_LINE_BYTES: usize = 64 << 10;
/// The longest value, in bytes.
const MAX_VALUE_BYTES: usize = 1 << 30;

/// Bytes of a binary header.
const HEADER_BYTES: usize = 24;
const REQUEST_MAGIC: u8 = 0x80;
const REPLY_MAGIC: u8 = 0x81;
const OP_GET: u8 = 0x00;
const OP_SET: u8 = 0x01;
const OP_GETQ: u8 = 0x09;
const OP_NOOP: u8 = 0x0a;
const OP_SASL_AUTH: u8 = 0x21;
const STATUS_OK: u16 = 0;
const STATUS_NOT_FOUND: u16 = 1;

/// Appends a set without its value, which comes right behind it; in the text protocols a line end comes behind the value.
pub(crate) fn store(
    protocol: Protocol,
    key: &[u8],
    flags: u32,
    expiry_s: u32,
    length: usize,
    out: &mut Vec<u8>,
) {
    match protocol {
        Protocol::MemcacheBinary => {
            header(OP_SET, key.len(), 8, length, out);
            out.extend_from_slice(&flags.to_be_bytes());
            out.extend_from_slice(&expiry_s.to_be_bytes());
            out.extend_from_slice(key);
        }
        Protocol::MemcacheMeta => {
            out.extend_from_slice(b"ms ");
            out.extend_from_slice(key);
            number(b" ", length as u64, out);
            if flags != 0 {
                number(b" F", flags.into(), out);
            }
            if expiry_s != 0 {
                number(b" T", expiry_s.into(), out);
            }
            out.extend_from_slice(b"\r\n");
        }
        _ => {
            out.extend_from_slice(b"set ");
            out.extend_from_slice(key);
            number(b" ", flags.into(), out);
            number(b" ", expiry_s.into(), out);
            number(b" ", length as u64, out);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Begins a get of one key or several.
pub(crate) fn begin_fetch(protocol: Protocol, out: &mut Vec<u8>) {
    if protocol == Protocol::MemcacheText {
        out.extend_from_slice(b"get");
    }
}

/// Adds a key to a get.
pub(crate) fn fetch_key(protocol: Protocol, key: &[u8], is_one_of_many: bool, out: &mut Vec<u8>) {
    match protocol {
        Protocol::MemcacheBinary => {
            header(if is_one_of_many { OP_GETQ } else { OP_GET }, key.len(), 0, 0, out);
            out.extend_from_slice(key);
        }
        Protocol::MemcacheMeta => {
            out.extend_from_slice(b"mg ");
            out.extend_from_slice(key);
            // Quiet, so that misses are silent; the opaque token says that more follows.
            out.extend_from_slice(if is_one_of_many { b" v q O1\r\n" } else { b" v\r\n" });
        }
        _ => {
            out.push(b' ');
            out.extend_from_slice(key);
        }
    }
}

/// Ends a get.
pub(crate) fn end_fetch(protocol: Protocol, is_many: bool, out: &mut Vec<u8>) {
    match protocol {
        Protocol::MemcacheBinary if is_many => header(OP_NOOP, 0, 0, 0, out),
        Protocol::MemcacheMeta if is_many => out.extend_from_slice(b"mn\r\n"),
        Protocol::MemcacheText => out.extend_from_slice(b"\r\n"),
        _ => {}
    }
}

/// Authentication by SASL PLAIN, in the binary protocol.
pub(crate) fn sasl_plain(user: &str, password: &str, out: &mut Vec<u8>) {
    const MECHANISM: &[u8] = b"PLAIN";
    header(OP_SASL_AUTH, MECHANISM.len(), 0, user.len() + password.len() + 2, out);
    out.extend_from_slice(MECHANISM);
    out.push(0);
    out.extend_from_slice(user.as_bytes());
    out.push(0);
    out.extend_from_slice(password.as_bytes());
}

/// Authentication in the text protocol: a set whose value is user and password (memcached's `-Y`).
pub(crate) fn text_auth(user: &str, password: &str, out: &mut Vec<u8>) {
    store(Protocol::MemcacheText, b"auth", 0, 0, user.len() + password.len() + 1, out);
    out.extend_from_slice(format!("{user} {password}\r\n").as_bytes());
}

/// The value in a complete reply to a get of one key.
pub(crate) fn value(protocol: Protocol, reply: &[u8]) -> Option<&[u8]> {
    if protocol == Protocol::MemcacheBinary {
        let extras = usize::from(*reply.get(4)?);
        return reply.get(HEADER_BYTES + extras..);
    }
    let end = memchr(b'\n', reply)?;
    let mut words = reply[..end].split(|byte| *byte == b' ');
    let length = words.nth(if protocol == Protocol::MemcacheMeta { 1 } else { 3 })?;
    let length = decimal(length.strip_suffix(b"\r").unwrap_or(length)).ok()?;
    reply.get(end + 1..end + 1 + length)
}

/// Finds the end of one reply after the other.
#[derive(Debug)]
pub(crate) struct Scanner {
    protocol: Protocol,
    /// Bytes of the reply that are known to belong to it.
    position: usize,
    /// Values in them.
    values: usize,
    /// Length of the last of these.
    length: usize,
}

/// What stands at one place of a reply.
enum Part {
    /// Another value; the reply goes on behind it, or ends with it.
    Value { end: usize, length: usize, is_last: bool },
    /// Nothing that counts; the reply goes on behind it.
    Nothing(usize),
    /// The end of the reply's values.
    End(usize),
    /// A reply of its own.
    Whole(usize, ReplyKind),
}

impl Scanner {
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self { protocol, position: 0, values: 0, length: 0 }
    }

    /// Looks for the reply at the start of `input`, which holds all input behind the last reply;
    /// `None` when it is not all there, to be called again with more behind it.
    pub(crate) fn next(&mut self, input: &[u8]) -> Result<Option<Scanned>, DecodeError> {
        loop {
            let rest = input.get(self.position..).unwrap_or_default();
            let part = match self.protocol {
                Protocol::MemcacheBinary => binary_part(rest)?,
                _ => text_part(rest)?,
            };
            let (end, whole) = match part {
                None => return Ok(None),
                Some(Part::Value { end, length, is_last }) => {
                    self.values += 1;
                    self.length = length;
                    if !is_last {
                        self.position += end;
                        continue;
                    }
                    (end, None)
                }
                Some(Part::Nothing(end)) => {
                    self.position += end;
                    continue;
                }
                Some(Part::End(end)) => (end, None),
                Some(Part::Whole(end, kind)) => (end, Some(moved(kind, self.position))),
            };
            let kind = whole.unwrap_or(match self.values {
                0 => ReplyKind::Null,
                1 => ReplyKind::Bulk(self.length),
                count => ReplyKind::Array(count),
            });
            let consumed = self.position + end;
            *self = Self::new(self.protocol);
            return Ok(Some(Scanned { consumed, kind }));
        }
    }
}

/// Text and meta replies are told apart by their first word, so one scanner does for both.
fn text_part(input: &[u8]) -> Result<Option<Part>, DecodeError> {
    let Some(end) = memchr(b'\n', input) else {
        return if input.len() > MAX_LINE_BYTES { Err(DecodeError::TooLong) } else { Ok(None) };
    };
    let line = input[..end].strip_suffix(b"\r").ok_or(DecodeError::MissingLineEnd)?;
    let end = end + 1;
    let mut words = line.split(|byte| *byte == b' ');
    let name = words.next().unwrap_or_default();
    let value = |length: Option<&[u8]>, is_last: bool| {
        let length = decimal(length.unwrap_or_default())?;
        let value_end = end + length + 2;
        if input.len() < value_end {
            return Ok(None);
        }
        if &input[value_end - 2..value_end] != b"\r\n" {
            return Err(DecodeError::MissingLineEnd);
        }
        Ok(Some(Part::Value { end: value_end, length, is_last }))
    };
    Ok(Some(match name {
        b"VALUE" => return value(words.nth(2), false),
        b"VA" => {
            let length = words.next();
            return value(length, words.all(|flag| flag != b"O1"));
        }
        b"END" | b"MN" | b"EN" => Part::End(end),
        b"STORED" | b"HD" | b"OK" => Part::Whole(end, ReplyKind::Ok),
        _ if name.first().is_some_and(u8::is_ascii_uppercase) => {
            Part::Whole(end, ReplyKind::Error(Span { start: 0, end: line.len() as _ }))
        }
        _ => return Err(DecodeError::UnknownType(input[0])),
    }))
}

fn binary_part(input: &[u8]) -> Result<Option<Part>, DecodeError> {
    let Some(header) = input.first_chunk::<HEADER_BYTES>() else {
        return match input.first() {
            Some(magic) if *magic != REPLY_MAGIC => Err(DecodeError::UnknownType(*magic)),
            _ => Ok(None),
        };
    };
    if header[0] != REPLY_MAGIC {
        return Err(DecodeError::UnknownType(header[0]));
    }
    let body = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
    if body > MAX_VALUE_BYTES {
        return Err(DecodeError::TooLong);
    }
    let end = HEADER_BYTES + body;
    if input.len() < end {
        return Ok(None);
    }
    let (opcode, status) = (header[1], u16::from_be_bytes([header[6], header[7]]));
    let error = ReplyKind::Error(Span { start: HEADER_BYTES as _, end: end as _ });
    let length = body.saturating_sub(usize::from(header[4]));
    Ok(Some(match (opcode, status) {
        (OP_GETQ, STATUS_OK) => Part::Value { end, length, is_last: false },
        // What is wrong with one key of many is a miss: the reply to all of them is still to come.
        (OP_GETQ, _) => Part::Nothing(end),
        (OP_GET, STATUS_OK) => Part::Value { end, length, is_last: true },
        (OP_GET, STATUS_NOT_FOUND) | (OP_NOOP, STATUS_OK) => Part::End(end),
        (_, STATUS_OK) => Part::Whole(end, ReplyKind::Ok),
        _ => Part::Whole(end, error),
    }))
}

/// A kind whose span begins so far behind the start of the reply.
fn moved(kind: ReplyKind, by: usize) -> ReplyKind {
    match kind {
        ReplyKind::Error(span) => {
            ReplyKind::Error(Span { start: span.start + by as u32, end: span.end + by as u32 })
        }
        other => other,
    }
}

fn header(opcode: u8, key: usize, extras: u8, value: usize, out: &mut Vec<u8>) {
    let body = (key + usize::from(extras) + value) as u32;
    let mut bytes = [0; HEADER_BYTES];
    bytes[0] = REQUEST_MAGIC;
    bytes[1] = opcode;
    bytes[2..4].copy_from_slice(&(key as u16).to_be_bytes());
    bytes[4] = extras;
    bytes[8..12].copy_from_slice(&body.to_be_bytes());
    out.extend_from_slice(&bytes);
}

fn number(before: &[u8], number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(before);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn decimal(text: &[u8]) -> Result<usize, DecodeError> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<usize>().ok());
    match number {
        Some(number) if number <= MAX_VALUE_BYTES => Ok(number),
        Some(_) => Err(DecodeError::TooLong),
        None => Err(DecodeError::InvalidNumber),
    }
}

#[cfg(test)]
mod tests;
