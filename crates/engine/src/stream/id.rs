//! Stream entry ids, and the spellings of them that commands take.

use std::fmt;

/// Longest text that is looked at, in bytes: Redis copies ids into a buffer of 128 with a final
/// NUL.
const LONGEST_TEXT: usize = 127;

/// The id of a stream entry: a time and a number within that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// Milliseconds, usually since the Unix epoch.
    pub ms: u64,
    /// Number within the millisecond.
    pub seq: u64,
}

/// Text that is not an id where one is wanted; the messages are Redis's, without `ERR `.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not an id at all, or a form that the place does not take.
    #[error("Invalid stream ID specified as stream command argument")]
    Invalid,
    /// `(` before the greatest id.
    #[error("invalid start ID for the interval")]
    NothingAfterStart,
    /// `(` before the least id.
    #[error("invalid end ID for the interval")]
    NothingBeforeEnd,
    /// `0-0` for a new entry.
    #[error("The ID specified in XADD must be greater than 0-0")]
    Zero,
}

/// The id argument of `XADD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewId {
    /// `*`: the time, or the id after the last.
    Auto,
    /// `ms-*`: the next number in a given millisecond.
    AutoSequence {
        /// The millisecond.
        ms: u64,
    },
    /// A full id; the number is 0 where only milliseconds are given.
    Explicit(StreamId),
}

/// The ids from `start` to `end`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    /// First id.
    pub start: StreamId,
    /// Last id.
    pub end: StreamId,
}

impl StreamId {
    /// The least id, `0-0`.
    pub const MIN: Self = Self { ms: 0, seq: 0 };
    /// The greatest id.
    pub const MAX: Self = Self { ms: u64::MAX, seq: u64::MAX };

    /// An id of its two parts.
    #[must_use]
    pub const fn new(ms: u64, seq: u64) -> Self {
        Self { ms, seq }
    }

    /// The id after this one.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { ms: self.ms, seq }),
            None => Some(Self { ms: self.ms.checked_add(1)?, seq: 0 }),
        }
    }

    /// The id before this one.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Self { ms: self.ms, seq }),
            None => Some(Self { ms: self.ms.checked_sub(1)?, seq: u64::MAX }),
        }
    }

    /// Reads `ms-seq`, `ms` (the number is then `missing_seq`), `-` or `+`.
    ///
    /// # Errors
    /// [`IdError::Invalid`] for anything else.
    pub fn parse(text: &[u8], missing_seq: u64) -> Result<Self, IdError> {
        match text {
            b"-" => Ok(Self::MIN),
            b"+" => Ok(Self::MAX),
            _ => Self::parse_strict(text, missing_seq),
        }
    }

    /// As [`StreamId::parse`], without `-` and `+`: for `XDEL`, `MINID` and the like.
    ///
    /// # Errors
    /// [`IdError::Invalid`] for anything else.
    pub fn parse_strict(text: &[u8], missing_seq: u64) -> Result<Self, IdError> {
        let (ms, seq) = split(text)?;
        let seq = seq.map_or(Some(missing_seq), parse_part).ok_or(IdError::Invalid)?;
        Ok(Self { ms, seq })
    }

    /// Appends the text of the id, `ms-seq`.
    pub fn push(self, out: &mut Vec<u8>) {
        text::integer::push_u64(out, self.ms);
        out.push(b'-');
        text::integer::push_u64(out, self.seq);
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.ms, self.seq)
    }
}

impl NewId {
    /// Reads the id argument of `XADD`.
    ///
    /// # Errors
    /// [`IdError::Zero`] for `0-0`, which Redis refuses before it looks at the key; otherwise
    /// [`IdError::Invalid`].
    pub fn parse(text: &[u8]) -> Result<Self, IdError> {
        if text == b"*" {
            return Ok(Self::Auto);
        }
        if let (ms, Some(b"*")) = split(text)? {
            return Ok(Self::AutoSequence { ms });
        }
        match StreamId::parse_strict(text, 0)? {
            StreamId::MIN => Err(IdError::Zero),
            id => Ok(Self::Explicit(id)),
        }
    }
}

impl IdRange {
    /// All ids.
    pub const ALL: Self = Self { start: StreamId::MIN, end: StreamId::MAX };

    /// Reads the two ends as `XRANGE` takes them: ids, `-`, `+`, or an id after `(`, which is
    /// itself left out. An end without a number means the first, or the last, of its millisecond.
    ///
    /// # Errors
    /// [`IdError`], the start's first.
    pub fn parse(start: &[u8], end: &[u8]) -> Result<Self, IdError> {
        let (start, exclusive) = parse_end(start, 0)?;
        let start = if exclusive { start.next().ok_or(IdError::NothingAfterStart)? } else { start };
        let (end, exclusive) = parse_end(end, u64::MAX)?;
        let end = if exclusive { end.previous().ok_or(IdError::NothingBeforeEnd)? } else { end };
        Ok(Self { start, end })
    }
}

/// One end of a range, and whether it is itself left out.
fn parse_end(text: &[u8], missing_seq: u64) -> Result<(StreamId, bool), IdError> {
    match text {
        [b'(', id @ ..] if !id.is_empty() => Ok((StreamId::parse_strict(id, missing_seq)?, true)),
        _ => Ok((StreamId::parse(text, missing_seq)?, false)),
    }
}

/// The milliseconds, and the text of the number if there is one.
fn split(text: &[u8]) -> Result<(u64, Option<&[u8]>), IdError> {
    if text.len() > LONGEST_TEXT {
        return Err(IdError::Invalid);
    }
    let (ms, seq) = match text.iter().position(|&byte| byte == b'-') {
        Some(dash) => (&text[..dash], Some(&text[dash + 1..])),
        None => (text, None),
    };
    Ok((parse_part(ms).ok_or(IdError::Invalid)?, seq))
}

/// Reads one part as Redis's `string2ull`: a canonical number; else whatever C's `strtoull` takes
/// whole, which is leading space, a sign (a minus wraps around) and leading zeros.
fn parse_part(text: &[u8]) -> Option<u64> {
    if let Some(value) = text::integer::parse_i64(text) {
        return u64::try_from(value).ok();
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let text = &text[text.iter().take_while(|byte| is_space(byte)).count()..];
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let value = digits.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.checked_sub(b'0').filter(|&digit| digit <= 9)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })?;
    Some(if negative { value.wrapping_neg() } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INVALID: IdError = IdError::Invalid;

    #[test]
    fn reads_what_redis_reads() {
        let id = |ms, seq| Ok(StreamId { ms, seq });
        for (text, expected) in [
            ("5-1", id(5, 1)),
            ("5", id(5, 9)),
            ("-", id(0, 0)),
            ("+", id(u64::MAX, u64::MAX)),
            ("18446744073709551615-18446744073709551615", id(u64::MAX, u64::MAX)),
            ("18446744073709551616-1", Err(INVALID)),
            ("", Err(INVALID)),
            ("5-", Err(INVALID)),
            ("5-*", Err(INVALID)),
            ("*", Err(INVALID)),
            ("-5", Err(INVALID)),
            ("5-1-1", Err(INVALID)),
            ("x-1", Err(INVALID)),
            // The rest is what C's strtoull lets through; redis-server 7.0 and Valkey 9.1 agree.
            ("+5-1", id(5, 1)),
            (" 5-007", id(5, 7)),
            ("5--1", Err(INVALID)),
            ("5--0", id(5, 0)),
            ("5--01", id(5, u64::MAX)),
        ] {
            assert_eq!(StreamId::parse(text.as_bytes(), 9), expected, "{text:?}");
        }
        assert_eq!(StreamId::parse_strict(b"-", 0), Err(INVALID));
        assert_eq!(StreamId::parse_strict(b"+", 0), Err(INVALID));
        assert_eq!(StreamId::parse(&[b'0'; 127], 3), id(0, 3));
        assert_eq!(StreamId::parse(&[b'0'; 128], 3), Err(INVALID));
    }

    #[test]
    fn reads_the_id_of_a_new_entry() {
        assert_eq!(NewId::parse(b"*"), Ok(NewId::Auto));
        assert_eq!(NewId::parse(b"7-*"), Ok(NewId::AutoSequence { ms: 7 }));
        assert_eq!(NewId::parse(b"7"), Ok(NewId::Explicit(StreamId::new(7, 0))));
        assert_eq!(NewId::parse(b"0-1"), Ok(NewId::Explicit(StreamId::new(0, 1))));
        assert_eq!(NewId::parse(b"0-0"), Err(IdError::Zero));
        assert_eq!(NewId::parse(b"0"), Err(IdError::Zero));
        for refused in [&b"-"[..], b"+", b"**", b"7-**", b"*-1", b""] {
            assert_eq!(NewId::parse(refused), Err(INVALID));
        }
    }

    #[test]
    fn reads_ranges() {
        let range = |start: &str, end: &str| IdRange::parse(start.as_bytes(), end.as_bytes());
        let of = |start, end| Ok(IdRange { start, end });
        assert_eq!(range("-", "+"), Ok(IdRange::ALL));
        assert_eq!(range("5", "5"), of(StreamId::new(5, 0), StreamId::new(5, u64::MAX)));
        assert_eq!(range("(5", "(5"), of(StreamId::new(5, 1), StreamId::new(5, u64::MAX - 1)));
        assert_eq!(range("(5-3", "(6-0"), of(StreamId::new(5, 4), StreamId::new(5, u64::MAX)));
        let greatest = "(18446744073709551615-18446744073709551615";
        assert_eq!(range(greatest, "x"), Err(IdError::NothingAfterStart));
        assert_eq!(range("-", "(0-0"), Err(IdError::NothingBeforeEnd));
        for refused in ["(", "(-", "(+", "((5", ""] {
            assert_eq!(range(refused, "+"), Err(INVALID), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn text_and_id_are_each_other_s(ms: u64, seq: u64) {
            let id = StreamId { ms, seq };
            let mut text = Vec::new();
            id.push(&mut text);
            prop_assert_eq!(id.to_string().into_bytes(), text.clone());
            prop_assert_eq!(StreamId::parse(&text, 0), Ok(id));
            prop_assert_eq!(id.next().and_then(StreamId::previous).unwrap_or(id), id);
        }

        #[test]
        fn no_text_upsets_the_parser(text: Vec<u8>) {
            let _ = (NewId::parse(&text), IdRange::parse(&text, &text));
        }
    }
}
