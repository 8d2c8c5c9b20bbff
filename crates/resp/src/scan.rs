//! The load generator's side of reading: where the next reply ends and what kind it is, without
//! building it.

use crate::args::Span;
use text::integer;

/// The longest line of a reply (a status, an error, a number), in bytes. Redis has no such limit, but
/// none of its replies comes near.
pub const MAX_LINE: usize = 1 << 20;
/// The longest string of a reply, in bytes: the most that `proto-max-bulk-len` lets in by default.
pub const MAX_BULK_LEN: i64 = 512 << 20;
/// The most elements of one aggregate (pairs, for a map).
pub const MAX_ELEMENTS: i64 = i32::MAX as i64;

/// Lines up to this length, in bytes, are searched without a call to a routine made for long ones.
const SHORT_LINE: usize = 16;

/// Input that is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The first byte of a reply is of no known type.
    #[error("unknown reply type {}", std::ascii::escape_default(*.0))]
    UnknownType(u8),
    /// A length or number is not one.
    #[error("malformed number in a reply")]
    InvalidNumber,
    /// A string, line or aggregate beyond the limits of this module.
    #[error("reply exceeds the length limit")]
    TooLong,
    /// A line or string does not end with CR LF.
    #[error("reply without a line end where one belongs")]
    MissingLineEnd,
    /// Aggregates nested deeper than [`crate::decode::MAX_DEPTH`].
    #[error("reply nested too deeply")]
    TooDeep,
}

/// What a reply is; spans are offsets from the start of the input given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// `+OK`.
    Ok,
    /// Another status.
    Simple(Span),
    /// An error, from its code on, in either wire form.
    Error(Span),
    /// An integer.
    Integer(i64),
    /// A string of this many bytes (verbatim ones included, their format prefix not counted).
    Bulk(usize),
    /// No value: of RESP3, a null string or a null array.
    Null,
    /// An array or a set of this many elements; zero is how most commands say "none found".
    Array(usize),
    /// A map of this many pairs.
    Map(usize),
    /// Out-of-band data, which answers no command.
    Push(usize),
    /// A floating point number, as text.
    Double(Span),
    /// A boolean.
    Boolean(bool),
    /// An integer of any size, as text.
    BigNumber(Span),
}

/// A complete reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scanned {
    /// How many bytes of the input the reply takes.
    pub consumed: usize,
    /// What it is; attributes in front of it are passed over.
    pub kind: ReplyKind,
}

/// Finds the end of one reply after the other. A reply that arrives in pieces is not looked at twice;
/// the state is a few words, whatever the nesting.
///
/// After an error the scanner is of no further use: nobody knows where the next reply starts.
#[derive(Debug, Default)]
pub struct ReplyScanner {
    /// Offset of the next element.
    position: usize,
    /// Elements still to come, the one at `position` included; 0 before the first.
    missing: u64,
    /// The reply's own kind, once seen.
    kind: Option<ReplyKind>,
    /// No line end comes before this offset.
    scanned: usize,
}

/// One element without its children.
pub(crate) struct Element {
    pub(crate) kind: ReplyKind,
    /// Offset behind it: behind the header, for an aggregate.
    pub(crate) end: usize,
    /// How many elements belong to it.
    pub(crate) children: u64,
    /// Whether it stands in front of another element instead of being one.
    pub(crate) is_attribute: bool,
}

impl ReplyScanner {
    /// A scanner at the start of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks for the reply at the start of `buf`, which holds all input behind the last reply;
    /// `None` when it is not all there, to be called again with more behind it.
    #[inline]
    pub fn next(&mut self, buf: &[u8]) -> Result<Option<Scanned>, DecodeError> {
        if self.missing == 0
            && let Some(scanned) = common(buf, 0)
        {
            self.scanned = 0;
            return Ok(Some(scanned));
        }
        self.advance(buf)
    }

    fn advance(&mut self, buf: &[u8]) -> Result<Option<Scanned>, DecodeError> {
        let mut missing = self.missing.max(1);
        loop {
            let rest = buf.get(self.position..).unwrap_or_default();
            let element = match common(rest, self.position) {
                Some(Scanned { consumed, kind }) => {
                    self.scanned = 0;
                    let end = self.position + consumed;
                    Element { kind, end, children: 0, is_attribute: false }
                }
                None => match element(buf, self.position, &mut self.scanned)? {
                    Some(element) => element,
                    None => {
                        self.missing = missing;
                        return Ok(None);
                    }
                },
            };
            self.position = element.end;
            missing = missing.saturating_add(element.children);
            if !element.is_attribute {
                // Elements of an attribute keep the count above one until the reply itself comes.
                if missing - element.children == 1 && self.kind.is_none() {
                    self.kind = Some(element.kind);
                }
                missing -= 1;
            }
            if missing == 0 {
                let kind = self.kind.expect("the last element missing was the reply itself");
                let consumed = self.position;
                *self = Self::default();
                return Ok(Some(Scanned { consumed, kind }));
            }
        }
    }
}

/// The replies that a load consists of, when they are all there; `buf` is the input from `position`
/// on. The length in the result is counted from there, the spans from the start of the input.
/// Inlined whatever its size: a result handed back through memory costs more than finding it.
#[inline(always)]
fn common(buf: &[u8], position: usize) -> Option<Scanned> {
    let found = |kind, consumed| Some(Scanned { consumed, kind });
    match buf.first_chunk::<4>()? {
        b"+OK\r" => (*buf.get(4)? == b'\n').then_some(Scanned { consumed: 5, kind: ReplyKind::Ok }),
        b"$-1\r" => {
            (*buf.get(4)? == b'\n').then_some(Scanned { consumed: 5, kind: ReplyKind::Null })
        }
        [b'$', ..] => {
            let (len, header_len) = short_number(buf)?;
            let end = header_len + len as usize;
            (buf.get(end..end + 2)? == b"\r\n").then_some(())?;
            found(ReplyKind::Bulk(len as usize), end + 2)
        }
        [b':', ..] => {
            let (value, consumed) = short_number(buf)?;
            found(ReplyKind::Integer(i64::from(value)), consumed)
        }
        [b'+', ..] => {
            let end = short_line(buf)?;
            found(ReplyKind::Simple(span(position + 1, position + end).ok()?), end + 2)
        }
        _ => None,
    }
}

/// Where the line of a status has its CR LF, when it is as short as they mostly are.
#[inline]
fn short_line(buf: &[u8]) -> Option<usize> {
    let end = buf.iter().take(SHORT_LINE).position(|byte| *byte == b'\r')?;
    (*buf.get(end + 1)? == b'\n').then_some(end)
}

/// The number of one to seven digits between the type byte and the line end, and the length of
/// all that.
#[inline]
fn short_number(buf: &[u8]) -> Option<(u32, usize)> {
    let mut value = u32::from(buf.get(1)?.wrapping_sub(b'0'));
    let leading = value;
    if value > 9 {
        return None;
    }
    for (position, byte) in buf.iter().enumerate().take(9).skip(2) {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        if digit > 9 {
            let line_end = buf.get(position..position + 2)?;
            return (line_end == b"\r\n").then_some((value, position + 2));
        }
        if leading == 0 {
            return None;
        }
        value = value * 10 + digit;
    }
    None
}

/// Reads the element at `position`; `None` when it is not all there. `scanned` carries over how
/// far its line end was looked for.
pub(crate) fn element(
    buf: &[u8],
    position: usize,
    scanned: &mut usize,
) -> Result<Option<Element>, DecodeError> {
    let Some(&marker) = buf.get(position) else { return Ok(None) };
    let is_type = matches!(
        marker,
        b'+' | b'-'
            | b':'
            | b'$'
            | b'*'
            | b'_'
            | b','
            | b'#'
            | b'('
            | b'!'
            | b'='
            | b'%'
            | b'~'
            | b'>'
            | b'|'
    );
    if !is_type {
        return Err(DecodeError::UnknownType(marker));
    }
    let Some(line_end) = line_end(buf, position + 1, scanned)? else { return Ok(None) };
    let line = &buf[position + 1..line_end];
    let end = line_end + 2;
    let text = || span(position + 1, line_end);
    let number = || integer::parse_i64(line).ok_or(DecodeError::InvalidNumber);
    let kind = match marker {
        b'+' if line == b"OK" => ReplyKind::Ok,
        b'+' => ReplyKind::Simple(text()?),
        b'-' => ReplyKind::Error(text()?),
        b':' => ReplyKind::Integer(number()?),
        b',' => ReplyKind::Double(text()?),
        b'(' => ReplyKind::BigNumber(text()?),
        b'#' => match line {
            b"t" => ReplyKind::Boolean(true),
            b"f" => ReplyKind::Boolean(false),
            _ => return Err(DecodeError::InvalidNumber),
        },
        b'_' if line.is_empty() => ReplyKind::Null,
        b'_' => return Err(DecodeError::InvalidNumber),
        b'$' | b'!' | b'=' => return string(buf, marker, end, number()?),
        _ => return aggregate(marker, end, number()?).map(Some),
    };
    Ok(Some(Element { kind, end, children: 0, is_attribute: false }))
}

/// The element whose header said `len`, with its body at `body`.
fn string(buf: &[u8], marker: u8, body: usize, len: i64) -> Result<Option<Element>, DecodeError> {
    let is_string = |kind, end| Ok(Some(Element { kind, end, children: 0, is_attribute: false }));
    let len = match len {
        -1 if marker == b'$' => return is_string(ReplyKind::Null, body),
        0..=MAX_BULK_LEN => len as usize,
        ..0 => return Err(DecodeError::InvalidNumber),
        _ => return Err(DecodeError::TooLong),
    };
    let end = body + len;
    match buf.get(end..end + 2) {
        None => return Ok(None),
        Some(b"\r\n") => {}
        Some(_) => return Err(DecodeError::MissingLineEnd),
    }
    let kind = match marker {
        b'!' => ReplyKind::Error(span(body, end)?),
        b'=' if len < 4 || buf[body + 3] != b':' => return Err(DecodeError::InvalidNumber),
        b'=' => ReplyKind::Bulk(len - 4),
        _ => ReplyKind::Bulk(len),
    };
    is_string(kind, end + 2)
}

/// The header of an aggregate that said `count`, and ended at `end`.
fn aggregate(marker: u8, end: usize, count: i64) -> Result<Element, DecodeError> {
    let element = |kind, children, is_attribute| Element { kind, end, children, is_attribute };
    match count {
        -1 if marker == b'*' => return Ok(element(ReplyKind::Null, 0, false)),
        ..0 => return Err(DecodeError::InvalidNumber),
        0..=MAX_ELEMENTS => {}
        _ => return Err(DecodeError::TooLong),
    }
    let (elements, children) = (count as usize, count as u64);
    Ok(match marker {
        b'%' => element(ReplyKind::Map(elements), 2 * children, false),
        b'|' => element(ReplyKind::Map(elements), 2 * children, true),
        b'>' => element(ReplyKind::Push(elements), children, false),
        _ => element(ReplyKind::Array(elements), children, false),
    })
}

/// Where the line that goes on at `from` has its CR LF; `None` when that is not there yet.
fn line_end(buf: &[u8], from: usize, scanned: &mut usize) -> Result<Option<usize>, DecodeError> {
    let start = from.max(*scanned).min(buf.len());
    match memchr::memchr(b'\r', &buf[start..]).map(|offset| start + offset) {
        Some(end) if end + 1 < buf.len() => {
            *scanned = 0;
            (buf[end + 1] == b'\n').then_some(Some(end)).ok_or(DecodeError::MissingLineEnd)
        }
        Some(end) => {
            *scanned = end;
            Ok(None)
        }
        None if buf.len().saturating_sub(from) > MAX_LINE => Err(DecodeError::TooLong),
        None => {
            *scanned = buf.len();
            Ok(None)
        }
    }
}

/// Spans reach 4 GiB; a reply whose text stands behind more than that of attributes is refused.
fn span(start: usize, end: usize) -> Result<Span, DecodeError> {
    match (u32::try_from(start), u32::try_from(end)) {
        (Ok(start), Ok(end)) => Ok(Span { start, end }),
        _ => Err(DecodeError::TooLong),
    }
}
