//! Objects as data: numbered keys with a prefix, the law by which each command chooses one, and the values written.
//!
//! These are the words of memtier_benchmark: `SET` and `GET` of objects in the protocol's own words, a mix in turn, values
//! whose size may depend on the key. A key is its prefix and its number, without padding.

use serde::{Deserialize, Serialize};

use super::{PlanError, within};
use crate::argument::Argument;

/// Longest value, 512 MiB: what Redis takes.
pub const MAX_VALUE_BYTES: u64 = 512 << 20;
/// Longest key prefix, in bytes.
pub const MAX_PREFIX_BYTES: u64 = 64 << 10;
/// Greatest exponent of Zipf's law.
pub const MAX_ZIPF_EXPONENT: f64 = 5.0;
/// Most keys of one multi-key read.
pub const MAX_FETCH_KEYS: u64 = 100_000;
/// Most commands that a command is drawn from.
pub const MAX_CHOICES: u64 = 10_000_000;

/// The objects of a run; what [`Store`], [`Fetch`] and [`ObjectCommand`] write and read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Objects {
    /// What stands before the number of each key.
    pub key_prefix: Argument,
    /// Number of the first key.
    pub key_minimum: u64,
    /// Number of the last key, which is one of them.
    pub key_maximum: u64,
    /// How long values are.
    pub value_size: ValueSize,
    /// What values hold.
    pub value_content: ValueContent,
    /// Items that were read from a file: their values are written, one after the other over all connections in
    /// [`KeyPattern::Sequential`] and [`KeyPattern::Parallel`], else by the pattern's law. Empty: values are made up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedItem>,
    /// With imported items: keys are still prefix and number, and only the values are theirs.
    #[serde(default)]
    pub generate_keys: bool,
}

impl Default for Objects {
    /// `memtier-0` to `memtier-10000000`, values of 32 times `x`: the defaults of memtier_benchmark.
    fn default() -> Self {
        Self {
            key_prefix: "memtier-".into(),
            key_minimum: 0,
            key_maximum: 10_000_000,
            value_size: ValueSize::Fixed { bytes: 32 },
            value_content: ValueContent::Letters,
            imported: Vec::new(),
            generate_keys: false,
        }
    }
}

/// How long values are, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueSize {
    /// All alike.
    Fixed {
        /// Their length.
        bytes: u64,
    },
    /// Uniform between two lengths, both among them.
    Range {
        /// Least length.
        least: u64,
        /// Greatest length.
        most: u64,
    },
    /// Growing evenly with the number of the key: the first key has the least, the last the greatest length.
    Spread {
        /// Least length.
        least: u64,
        /// Greatest length.
        most: u64,
    },
    /// Drawn by weight.
    List(Vec<WeightedSize>),
}

/// A length of values and its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedSize {
    /// The length.
    pub bytes: u64,
    /// Its share: weight over the sum of all weights; at least 1.
    pub weight: u32,
}

/// What values hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueContent {
    /// The letter `x` throughout.
    #[default]
    Letters,
    /// Random bytes, another value each time.
    Random,
}

/// An item of an imported file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedItem {
    /// Its key.
    pub key: Argument,
    /// Its value.
    pub value: Argument,
    /// Its time to live in seconds; 0 for none. It is sent with [`Store`] unless the plan's own expiry is given.
    #[serde(default)]
    pub expiry_s: u32,
    /// memcached's flags; other protocols have none.
    #[serde(default)]
    pub flags: u32,
}

/// The law by which the number of a key is chosen. Each command of the mix has its own state on each connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPattern {
    /// All keys alike (`R`).
    #[default]
    Random,
    /// By the normal law, cut off at both ends of the range (`G`).
    Gaussian {
        /// Standard deviation; absent: a sixth of the range.
        deviation: Option<f64>,
        /// Centre; absent: the middle of the range.
        median: Option<f64>,
    },
    /// One after the other from the minimum on, on each connection for itself (`S`).
    Sequential,
    /// As `Sequential`, but each connection has its own part of the range, and together they have all of it (`P`).
    /// With `k` keys and `n` connections every key is met when each connection sends `k.div_ceil(n)` requests.
    Parallel,
    /// The `i`-th key with a probability proportional to `1/i^exponent` (`Z`).
    Zipf {
        /// The exponent; above 0 and below [`MAX_ZIPF_EXPONENT`].
        exponent: f64,
    },
}

/// A range of numbers, both ends in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberRange {
    /// Least number.
    pub least: u64,
    /// Greatest number.
    pub most: u64,
}

/// Writes one object, in the words of the target's protocol: `SET`, `SETEX` with an expiry, `SETRANGE` with an offset;
/// memcached's `set`, which has no offset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Store {
    /// How its key is chosen.
    pub keys: KeyPattern,
    /// Time to live in seconds, drawn for each object; absent: that of the imported item, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry_s: Option<NumberRange>,
    /// Where in the stored string the value is written; 0: the value is the whole string.
    #[serde(default)]
    pub offset: u64,
}

/// Reads objects, in the words of the target's protocol: `GET`, `GETRANGE` with an offset (to offset + the longest value),
/// `MGET` for several; memcached's `get`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fetch {
    /// How each key is chosen.
    pub keys: KeyPattern,
    /// Keys of one request; each is a hit or a miss, and the request is one. At least 1.
    pub count: u32,
    /// Where in the stored string reading begins; 0: the whole string is read. Needs a count of 1.
    #[serde(default)]
    pub offset: u64,
    /// Each value is compared with that of the imported item: [`report::model::CommandResult::verified`] and
    /// `verify_failed`. Needs imported items and a count of 1.
    #[serde(default)]
    pub verify: bool,
}

impl Default for Fetch {
    fn default() -> Self {
        Self { keys: KeyPattern::Random, count: 1, offset: 0, verify: false }
    }
}

/// A command whose arguments hold keys and values: memtier_benchmark's `--command`, or its `WAIT`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectCommand {
    /// The arguments, the command's name first.
    pub arguments: Vec<ArgumentParts>,
    /// How each of its keys is chosen; with `Sequential` and `Parallel` several keys are neighbours.
    pub keys: KeyPattern,
}

/// The parts of one argument, joined without a gap.
pub type ArgumentParts = Vec<Part>;

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Sent as it is.
    Text(Argument),
    /// A key: prefix and number, another one in each place.
    Key,
    /// A value; with [`ValueSize::Spread`] its length follows the last key before it.
    Data,
    /// A uniform random number in decimal.
    Number(NumberRange),
}

impl ObjectCommand {
    /// Arguments with the placeholders of memtier_benchmark: the first `__key__` in an argument is a key, with whatever
    /// stands around it; an argument that is `__data__` alone is a value; all else is sent as it is.
    pub fn parse(arguments: &[Argument], keys: KeyPattern) -> Self {
        let parse = |argument: &Argument| parse_argument(argument.as_bytes());
        Self { arguments: arguments.iter().map(parse).collect(), keys }
    }

    /// True when an argument holds a value.
    pub fn has_data(&self) -> bool {
        self.arguments.iter().flatten().any(|part| *part == Part::Data)
    }
}

/// One of many commands, each of fixed arguments: the lines of a `MONITOR` recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneOf {
    /// The commands.
    pub commands: Vec<Vec<Argument>>,
    /// False: one after the other over all connections; true: uniformly at random.
    pub random: bool,
}

/// An iteration over the keyspace with `SCAN`, or over one key with `HSCAN`, `SSCAN` or `ZSCAN`: the cursor of each request is that of the last reply. It must be the only entry
/// of the mix, with a pipeline depth of 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// What stands before the cursor: `SCAN`, or another command and its key.
    pub command: Vec<Argument>,
    /// What follows the cursor: `MATCH`, `COUNT` and their arguments.
    pub arguments: Vec<Argument>,
    /// Label of the requests with a cursor other than 0; the entry's own label is that of cursor 0.
    pub next_label: String,
    /// Requests after which an iteration starts anew from 0; 0: only when the server says it is complete.
    pub iterations_max: u32,
}

impl Objects {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        within("key prefix length", self.key_prefix.0.len() as u64, 0, MAX_PREFIX_BYTES)?;
        within("key maximum", self.key_maximum, self.key_minimum, u64::MAX - 1)?;
        match &self.value_size {
            ValueSize::Fixed { bytes } => within("value size", *bytes, 0, MAX_VALUE_BYTES),
            ValueSize::Range { least, most } | ValueSize::Spread { least, most } => {
                within("greatest value size", *most, *least, MAX_VALUE_BYTES)
            }
            ValueSize::List(sizes) if sizes.is_empty() => Err(PlanError::Empty("value sizes")),
            ValueSize::List(sizes) => sizes.iter().try_for_each(|size| {
                within("value size", size.bytes, 0, MAX_VALUE_BYTES)?;
                within("weight", size.weight.into(), 1, u32::MAX.into())
            }),
        }
    }
}

impl KeyPattern {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        match *self {
            Self::Zipf { exponent } if !(exponent > 0.0 && exponent < MAX_ZIPF_EXPONENT) => {
                Err(PlanError::OutOfRange {
                    field: "zipf exponent",
                    least: 0,
                    most: MAX_ZIPF_EXPONENT as u64,
                })
            }
            Self::Gaussian { deviation, median }
                if deviation.is_some_and(|value| !(value > 0.0 && value.is_finite()))
                    || median.is_some_and(|value| !value.is_finite()) =>
            {
                Err(PlanError::Gaussian)
            }
            _ => Ok(()),
        }
    }
}

impl NumberRange {
    pub(super) fn check(&self, field: &'static str) -> Result<(), PlanError> {
        within(field, self.most, self.least, u64::MAX - 1)
    }
}

fn parse_argument(text: &[u8]) -> ArgumentParts {
    const KEY: &[u8] = b"__key__";
    const DATA: &[u8] = b"__data__";
    if text == DATA {
        return vec![Part::Data];
    }
    let Some(at) = text.windows(KEY.len()).position(|window| window == KEY) else {
        return vec![Part::Text(text.to_vec().into())];
    };
    let mut parts = Vec::new();
    if at > 0 {
        parts.push(Part::Text(text[..at].to_vec().into()));
    }
    parts.push(Part::Key);
    if at + KEY.len() < text.len() {
        parts.push(Part::Text(text[at + KEY.len()..].to_vec().into()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_key_of_an_argument_and_only_whole_data_are_placeholders() {
        let arguments =
            ["HSET", "h:{__key__}:__key__", "__data__", "x__data__"].map(Argument::from);
        let command = ObjectCommand::parse(&arguments, KeyPattern::Random);
        let text = |text: &str| Part::Text(text.into());
        assert_eq!(command.arguments[0], [text("HSET")]);
        assert_eq!(command.arguments[1], [text("h:{"), Part::Key, text("}:__key__")]);
        assert_eq!(command.arguments[2], [Part::Data]);
        assert_eq!(command.arguments[3], [text("x__data__")]);
        assert!(command.has_data());
    }
}
