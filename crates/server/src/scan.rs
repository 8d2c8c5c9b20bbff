//! The scan commands' common part: cursors, options, and the form of the reply.

use engine::listpack::Entry;
use resp::args::Args;
use resp::reply::{Aggregate, Reply};
use text::glob::{self, Case};

use crate::arguments::{Options, integer, is_word};
use crate::error::{CommandError, INVALID_CURSOR, SYNTAX};

/// Elements a step returns about as many of when `COUNT` says nothing.
const COUNT_DEFAULT: usize = 10;
/// `NOVALUES` where there are no values.
const NOVALUES_MISPLACED: CommandError =
    CommandError::fixed("ERR NOVALUES option can only be used in HSCAN");

/// What a step of a scan through one collection is asked for.
pub struct ScanOptions<'a> {
    /// About how many elements to look at, at least 1.
    pub count: usize,
    /// Whether to leave out the values of a hash.
    pub without_values: bool,
    pattern: Option<&'a [u8]>,
}

impl<'a> ScanOptions<'a> {
    /// Reads the options behind the key and the cursor; `has_values` allows `NOVALUES`.
    ///
    /// # Errors
    /// `ERR syntax error`, `ERR value is not an integer or out of range`, or `NOVALUES` where it
    /// does not belong.
    pub fn parse(args: Args<'a>, has_values: bool) -> Result<ScanOptions<'a>, CommandError> {
        let mut parsed = ScanOptions { count: COUNT_DEFAULT, without_values: false, pattern: None };
        let mut options = Options::new(args, 3);
        while let Some(option) = options.next() {
            if is_word(option, "count") {
                let count = integer(options.value()?)?;
                parsed.count =
                    usize::try_from(count).ok().filter(|&count| count > 0).ok_or(SYNTAX)?;
            } else if is_word(option, "match") {
                parsed.pattern = Some(options.value()?).filter(|pattern| *pattern != b"*");
            } else if !is_word(option, "novalues") {
                return Err(SYNTAX);
            } else if has_values {
                parsed.without_values = true;
            } else {
                return Err(NOVALUES_MISPLACED);
            }
        }
        Ok(parsed)
    }

    /// Whether `MATCH` lets an element pass.
    #[inline]
    pub fn admits(&self, element: Entry<'_>) -> bool {
        self.pattern.is_none_or(|pattern| {
            let mut digits = itoa::Buffer::new();
            glob::matches(pattern, element.text(&mut digits), Case::Sensitive)
        })
    }
}

/// The cursor a client sends. Redis reads it with C's `strtoull`, which skips leading space and
/// knows signs, and refuses a negative number only in its canonical form.
///
/// # Errors
/// `ERR invalid cursor`.
pub fn cursor(bytes: &[u8]) -> Result<u64, CommandError> {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    if let Some(number) = text::integer::parse_i64(bytes) {
        return u64::try_from(number).map_err(|_| INVALID_CURSOR);
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let spaces = bytes.iter().take_while(|byte| is_space(byte)).count();
    let (is_negative, digits) = match &bytes[spaces..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(INVALID_CURSOR);
    }
    let number = digits
        .iter()
        .try_fold(0_u64, |number, digit| {
            number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })
        .ok_or(INVALID_CURSOR)?;
    Ok(if is_negative { number.wrapping_neg() } else { number })
}

/// Answers a step: the next cursor, which `step` returns with how many elements it has written.
pub fn answer(reply: &mut Reply<'_>, step: impl FnOnce(&mut Reply<'_>) -> (u64, usize)) {
    reply.array(2);
    // The cursor stands before the elements but is known after them.
    let mut items = resp::output::OutputBuffer::new();
    let mut inner = Reply::new(&mut items, reply.protocol());
    let elements = inner.deferred(Aggregate::Array);
    let (next, count) = step(&mut inner);
    inner.finish(elements, count);
    reply.bulk(itoa::Buffer::new().format(next).as_bytes());
    reply.output().append(&items);
}

/// Answers a scan of what is not there.
pub fn answer_nothing(reply: &mut Reply<'_>) {
    reply.raw(b"*2\r\n$1\r\n0\r\n*0\r\n");
}

#[cfg(test)]
mod tests {
    use super::cursor;

    #[test]
    fn cursors_as_valkey_reads_them() {
        for (text, number) in [
            ("0", 0),
            ("01", 1),
            (" 1", 1),
            ("+1", 1),
            (" -1", u64::MAX),
            ("18446744073709551615", u64::MAX),
            ("7\0x", 7),
        ] {
            assert_eq!(cursor(text.as_bytes()), Ok(number), "{text:?}");
        }
        for text in ["", "-1", "1 ", "18446744073709551616", "a", "+", "1.5"] {
            assert!(cursor(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
