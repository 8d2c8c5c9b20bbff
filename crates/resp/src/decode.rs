//! Whole replies as values, for control commands and tests; the hot path of a load uses
//! [`crate::scan`] alone.

use crate::args::Span;
use crate::scan::{DecodeError, ReplyKind, ReplyScanner, element};

/// How deep aggregates may be nested (COMMAND, the deepest reply of Redis, takes under ten).
pub const MAX_DEPTH: usize = 128;
/// Room made for elements at once; an aggregate that claims more grows as they come.
const MAX_RESERVED: usize = 1024;

/// A reply of RESP2 or RESP3.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A status, `OK` for one.
    Simple(Vec<u8>),
    /// An error, from its code on.
    Error(Vec<u8>),
    /// An integer.
    Integer(i64),
    /// A binary-safe string.
    Bulk(Vec<u8>),
    /// No value: `$-1`, or `_` in RESP3.
    Null,
    /// No array: `*-1`, in RESP2 only.
    NullArray,
    /// Elements in order.
    Array(Vec<Value>),
    /// Pairs, in the order sent.
    Map(Vec<(Value, Value)>),
    /// Distinct elements, in the order sent.
    Set(Vec<Value>),
    /// Out-of-band data, which answers no command.
    Push(Vec<Value>),
    /// A floating point number.
    Double {
        /// Its value.
        value: f64,
        /// As the server wrote it.
        text: Vec<u8>,
    },
    /// A boolean.
    Boolean(bool),
    /// An integer of any size, in decimal.
    BigNumber(Vec<u8>),
    /// A text for people, with its format (`txt`, `mkd`).
    Verbatim {
        /// The three letters before the colon.
        format: [u8; 3],
        /// The text.
        text: Vec<u8>,
    },
    /// A value with attributes in front of it.
    Attributed {
        /// Pairs, in the order sent.
        attributes: Vec<(Value, Value)>,
        /// What they belong to.
        value: Box<Value>,
    },
}

impl Value {
    /// The bytes of a status, string, verbatim text or big number.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Simple(bytes) | Self::Bulk(bytes) | Self::BigNumber(bytes) => Some(bytes),
            Self::Verbatim { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// Builds one value after the other. A reply that arrives in pieces is only scanned until it is complete.
#[derive(Debug, Default)]
pub struct ValueDecoder {
    scanner: ReplyScanner,
}

impl ValueDecoder {
    /// A decoder at the start of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// The reply at the start of `buf` and how many bytes it takes; `None` when it is not all there,
    /// to be called again with more behind it.
    pub fn next(&mut self, buf: &[u8]) -> Result<Option<(Value, usize)>, DecodeError> {
        let Some(scanned) = self.scanner.next(buf)? else { return Ok(None) };
        let mut reader = Reader { buf, position: 0 };
        let value = reader.value(0)?;
        debug_assert_eq!(reader.position, scanned.consumed);
        Ok(Some((value, reader.position)))
    }
}

/// Reads values of a buffer that is known to hold them whole.
struct Reader<'a> {
    buf: &'a [u8],
    position: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Value, DecodeError> {
        if depth > MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        let start = self.position;
        let marker = self.buf[start];
        let element = element(self.buf, start, &mut 0)?.expect("the scanner saw the whole reply");
        self.position = element.end;
        let bytes = |span: Span| span.of(self.buf).to_vec();
        Ok(match element.kind {
            ReplyKind::Ok => Value::Simple(b"OK".to_vec()),
            ReplyKind::Simple(span) => Value::Simple(bytes(span)),
            ReplyKind::Error(span) => Value::Error(bytes(span)),
            ReplyKind::Integer(value) => Value::Integer(value),
            ReplyKind::Null if marker == b'*' => Value::NullArray,
            ReplyKind::Null => Value::Null,
            ReplyKind::Bulk(len) => {
                let body = element.end - 2 - len;
                let text = self.buf[body..body + len].to_vec();
                match (marker, &self.buf[start..body]) {
                    (b'=', [.., first, second, third, _]) => {
                        Value::Verbatim { format: [*first, *second, *third], text }
                    }
                    _ => Value::Bulk(text),
                }
            }
            ReplyKind::Double(span) => {
                Value::Double { value: double(span.of(self.buf))?, text: bytes(span) }
            }
            ReplyKind::Boolean(value) => Value::Boolean(value),
            ReplyKind::BigNumber(span) => Value::BigNumber(bytes(span)),
            ReplyKind::Push(count) => Value::Push(self.elements(count, depth)?),
            ReplyKind::Array(count) if marker == b'~' => Value::Set(self.elements(count, depth)?),
            ReplyKind::Array(count) => Value::Array(self.elements(count, depth)?),
            ReplyKind::Map(pairs) if element.is_attribute => {
                let attributes = self.pairs(pairs, depth)?;
                Value::Attributed { attributes, value: Box::new(self.value(depth + 1)?) }
            }
            ReplyKind::Map(pairs) => Value::Map(self.pairs(pairs, depth)?),
        })
    }

    fn elements(&mut self, count: usize, depth: usize) -> Result<Vec<Value>, DecodeError> {
        let mut elements = Vec::with_capacity(count.min(MAX_RESERVED));
        for _ in 0..count {
            elements.push(self.value(depth + 1)?);
        }
        Ok(elements)
    }

    fn pairs(&mut self, count: usize, depth: usize) -> Result<Vec<(Value, Value)>, DecodeError> {
        let mut pairs = Vec::with_capacity(count.min(MAX_RESERVED));
        for _ in 0..count {
            let key = self.value(depth + 1)?;
            pairs.push((key, self.value(depth + 1)?));
        }
        Ok(pairs)
    }
}

fn double(line: &[u8]) -> Result<f64, DecodeError> {
    match line {
        b"nan" | b"-nan" => Ok(f64::NAN),
        _ => text::float::parse(line).ok_or(DecodeError::InvalidNumber),
    }
}

#[cfg(test)]
mod tests;
