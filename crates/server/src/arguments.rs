//! Reading arguments: numbers with Redis's error texts, and a cursor over options.

use resp::args::Args;

use crate::error::{
    CommandError, NOT_A_FLOAT, NOT_A_SIGNED_COUNT, NOT_AN_INTEGER, NOT_POSITIVE, SYNTAX,
};

/// A whole number.
///
/// # Errors
/// `ERR value is not an integer or out of range`.
#[inline]
pub fn integer(bytes: &[u8]) -> Result<i64, CommandError> {
    text::integer::parse_i64(bytes).ok_or(NOT_AN_INTEGER)
}

/// A whole number that is not negative, such as a count.
///
/// # Errors
/// `ERR value is out of range, must be positive`.
pub fn count(bytes: &[u8]) -> Result<usize, CommandError> {
    let number = text::integer::parse_i64(bytes).ok_or(NOT_POSITIVE)?;
    usize::try_from(number).map_err(|_| NOT_POSITIVE)
}

/// A whole number within `±i64::MAX`, so that its sign can be turned.
///
/// # Errors
/// `ERR value is not an integer or out of range`, or the text that tells the range.
pub fn signed_count(bytes: &[u8]) -> Result<i64, CommandError> {
    match integer(bytes)? {
        i64::MIN => Err(NOT_A_SIGNED_COUNT),
        count => Ok(count),
    }
}

/// A floating-point number that is not NaN.
///
/// # Errors
/// `ERR value is not a valid float`.
pub fn float(bytes: &[u8]) -> Result<f64, CommandError> {
    text::float::parse(bytes).ok_or(NOT_A_FLOAT)
}

/// Whether `bytes` is this option word, in any case.
#[inline]
pub fn is_word(bytes: &[u8], word: &str) -> bool {
    bytes.eq_ignore_ascii_case(word.as_bytes())
}

/// A cursor over the arguments from some place on, for option lists.
pub struct Options<'a> {
    args: Args<'a>,
    at: usize,
}

impl<'a> Options<'a> {
    /// Begins at argument `from`; the command's name is argument 0.
    pub fn new(args: Args<'a>, from: usize) -> Options<'a> {
        Options { args, at: from }
    }

    /// The next argument, if there is one.
    #[expect(clippy::should_implement_trait, reason = "a cursor that callers also peek and push")]
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let argument = self.args.get(self.at)?;
        self.at += 1;
        Some(argument)
    }

    /// The next argument, which the option before it needs.
    ///
    /// # Errors
    /// `ERR syntax error` at the end.
    pub fn value(&mut self) -> Result<&'a [u8], CommandError> {
        self.next().ok_or(SYNTAX)
    }

    /// Takes the next argument if it is this word.
    pub fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.args.get(self.at).is_some_and(|argument| is_word(argument, word));
        self.at += usize::from(is_next);
        is_next
    }

    /// Arguments not yet taken.
    pub fn remaining(&self) -> usize {
        self.args.len().saturating_sub(self.at)
    }

    /// The index of the next argument.
    pub fn index(&self) -> usize {
        self.at
    }
}
