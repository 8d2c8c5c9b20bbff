//! Error replies: every text that scripts and clients match on, in one place.

use std::borrow::Cow;

use engine::WrongType;

/// Why a command was refused. Its text begins with the code word that clients switch on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandError(Cow<'static, [u8]>);

/// The key holds another type.
pub const WRONG_TYPE: CommandError =
    CommandError::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
/// An argument is no whole number, or does not fit.
pub const NOT_AN_INTEGER: CommandError =
    CommandError::fixed("ERR value is not an integer or out of range");
/// An argument is no number.
pub const NOT_A_FLOAT: CommandError = CommandError::fixed("ERR value is not a valid float");
/// The arguments do not fit together.
pub const SYNTAX: CommandError = CommandError::fixed("ERR syntax error");
/// A number that must be positive is not.
pub const NOT_POSITIVE: CommandError =
    CommandError::fixed("ERR value is out of range, must be positive");
/// A count with a meaning to its sign is the one number whose sign cannot be turned.
pub const NOT_A_SIGNED_COUNT: CommandError = CommandError::fixed(
    "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
);
/// The key must be there and is not.
pub const NO_SUCH_KEY: CommandError = CommandError::fixed("ERR no such key");
/// An index beyond the list.
pub const INDEX_OUT_OF_RANGE: CommandError = CommandError::fixed("ERR index out of range");
/// A string would grow beyond `proto-max-bulk-len`.
pub const STRING_TOO_LONG: CommandError =
    CommandError::fixed("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
/// A counter would leave the range of 64 bits.
pub const OVERFLOW: CommandError = CommandError::fixed("ERR increment or decrement would overflow");
/// A float counter would become infinite or no number.
pub const NAN_OR_INFINITY: CommandError =
    CommandError::fixed("ERR increment would produce NaN or Infinity");
/// A password is needed first.
pub const NO_AUTH: CommandError = CommandError::fixed("NOAUTH Authentication required.");
/// A cursor that is no number.
pub const INVALID_CURSOR: CommandError = CommandError::fixed("ERR invalid cursor");

impl CommandError {
    /// An error whose text is always the same; it begins with the code word.
    pub const fn fixed(text: &'static str) -> CommandError {
        CommandError(Cow::Borrowed(text.as_bytes()))
    }

    /// An error whose text is made for the occasion; it begins with the code word.
    pub fn new(text: impl Into<String>) -> CommandError {
        CommandError(Cow::Owned(text.into().into_bytes()))
    }

    /// An error that repeats an argument: `before`, the argument as [`c_string`], `after`.
    pub fn quoting(before: &str, argument: &[u8], after: &str) -> CommandError {
        let text = [before.as_bytes(), c_string(argument), after.as_bytes()].concat();
        CommandError(Cow::Owned(text))
    }

    /// The text, from the code word on; an argument that it repeats need not be UTF-8.
    pub fn text(&self) -> &[u8] {
        &self.0
    }

    /// The arity of `command` does not fit.
    pub fn wrong_arity(command: &str) -> CommandError {
        CommandError::new(format!("ERR wrong number of arguments for '{command}' command"))
    }

    /// An expiry that lies outside what can be kept.
    pub fn invalid_expire(command: &str) -> CommandError {
        CommandError::new(format!("ERR invalid expire time in '{command}' command"))
    }
}

/// What C prints of an argument: the bytes before its first zero byte.
pub fn c_string(argument: &[u8]) -> &[u8] {
    argument.split(|byte| *byte == 0).next().unwrap_or_default()
}

impl From<WrongType> for CommandError {
    fn from(_: WrongType) -> CommandError {
        WRONG_TYPE
    }
}
