//! What is counted for each type of key, and how the size of a key is asked for.

use resp::Value;

use super::ModeError;
use super::walk::Walk;

/// Types that every server has, in the order in which the original lists them: name, command for the length, its unit.
const BUILT_IN: [(&str, &str, &str); 6] = [
    ("list", "LLEN", "items"),
    ("hash", "HLEN", "fields"),
    ("stream", "XLEN", "entries"),
    ("string", "STRLEN", "bytes"),
    ("set", "SCARD", "members"),
    ("zset", "ZCARD", "members"),
];
/// Unit of a type whose length nobody knows.
const UNKNOWN_UNIT: &str = "?";
/// Most types that are told apart; modules add a handful.
const TYPES_MAX: usize = 256;

/// A type of key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyType {
    /// As `TYPE` answers.
    pub name: String,
    /// The command for the length; a module's type has none.
    pub length_command: Option<&'static str>,
    /// What the length counts.
    pub unit: &'static str,
}

/// The types seen; those that every server has come first.
#[derive(Debug)]
pub struct KeyTypes(Vec<KeyType>);

/// What keys of one type come to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Keys.
    pub count: u64,
    /// Sum of their sizes.
    pub total: u64,
    /// The largest size.
    pub biggest: u64,
    /// The first key that has it; `None` while all are empty.
    pub biggest_key: Option<Vec<u8>>,
}

/// How large a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// By the command of its type, in its unit.
    Length,
    /// By `MEMORY USAGE`, in bytes, with so many `SAMPLES`.
    Memory(Option<i64>),
}

impl KeyTypes {
    /// The types that every server has.
    pub fn new() -> Self {
        Self(
            BUILT_IN
                .iter()
                .map(|(name, command, unit)| KeyType {
                    name: (*name).to_owned(),
                    length_command: Some(command),
                    unit,
                })
                .collect(),
        )
    }

    /// The types in the order in which they are listed.
    pub fn iter(&self) -> std::slice::Iter<'_, KeyType> {
        self.0.iter()
    }

    /// The type at an index.
    pub fn at(&self, index: usize) -> &KeyType {
        &self.0[index]
    }

    /// The index of a type, which is new if it comes from a module.
    pub fn index(&mut self, name: &str) -> usize {
        if let Some(index) = self.0.iter().position(|known| known.name == name) {
            return index;
        }
        if self.0.len() < TYPES_MAX {
            let name = name.to_owned();
            self.0.push(KeyType { name, length_command: None, unit: UNKNOWN_UNIT });
        }
        self.0.len() - 1
    }
}

impl Tally {
    /// Takes in a key; true if it is larger than all before.
    pub fn record(&mut self, key: &[u8], size: u64) -> bool {
        self.count += 1;
        self.total = self.total.saturating_add(size);
        let is_biggest = size > self.biggest;
        if is_biggest {
            self.biggest = size;
            self.biggest_key = Some(key.to_vec());
        }
        is_biggest
    }

    /// The mean size; 0 without keys.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total as f64 / self.count as f64 }
    }
}

impl Measure {
    /// What the size of a key of this type counts.
    pub fn unit(self, key_type: &KeyType) -> &'static str {
        match self {
            Self::Length => key_type.unit,
            Self::Memory(_) => "bytes",
        }
    }
}

/// The index of each key's type; `None` for a key that is gone by now.
///
/// # Errors
/// All kinds of [`ModeError`].
pub fn types_of(
    walk: &mut Walk<'_>,
    types: &mut KeyTypes,
    keys: &[Vec<u8>],
) -> Result<Vec<Option<usize>>, ModeError> {
    let commands: Vec<Vec<&[u8]>> = keys.iter().map(|key| vec![b"TYPE".as_slice(), key]).collect();
    let replies = walk.ask_all(&commands)?;
    replies
        .iter()
        .map(|reply| match reply {
            Value::Error(message) => Err(ModeError::told("TYPE returned an error:", message)),
            reply => match reply.as_bytes().map(String::from_utf8_lossy).as_deref() {
                None => Err(ModeError::Sentence("Invalid reply for TYPE!".into())),
                Some("none") => Ok(None),
                Some(name) => Ok(Some(types.index(name))),
            },
        })
        .collect()
}

/// The size of each key; 0 for one whose type has no length, and for one that is gone or of another type by now.
///
/// # Errors
/// All kinds of [`ModeError`]; the server's own words when it has no `MEMORY USAGE`.
pub fn sizes_of(
    walk: &mut Walk<'_>,
    types: &KeyTypes,
    keys: &[(Vec<u8>, usize)],
    measure: Measure,
) -> Result<Vec<u64>, ModeError> {
    let samples = match measure {
        Measure::Memory(samples) => samples.map(|samples| samples.to_string()),
        Measure::Length => None,
    };
    let command = |key_type: &KeyType, key| -> Option<Vec<&[u8]>> {
        if measure == Measure::Length {
            return key_type.length_command.map(|command| vec![command.as_bytes(), key]);
        }
        let mut command: Vec<&[u8]> = vec![b"MEMORY", b"USAGE", key];
        command
            .extend(samples.iter().flat_map(|samples| [b"SAMPLES".as_slice(), samples.as_bytes()]));
        Some(command)
    };
    let commands: Vec<Option<Vec<&[u8]>>> =
        keys.iter().map(|(key, index)| command(types.at(*index), key.as_slice())).collect();
    let asked: Vec<Vec<&[u8]>> = commands.iter().flatten().cloned().collect();
    let mut replies = walk.ask_all(&asked)?.into_iter();
    commands
        .iter()
        .map(|command| match command {
            None => Ok(0),
            Some(command) => size(command, &replies.next().expect("a reply for each command")),
        })
        .collect()
}

/// The size in a reply.
fn size(command: &[&[u8]], reply: &Value) -> Result<u64, ModeError> {
    if let Value::Integer(size) = reply {
        return Ok(u64::try_from(*size).unwrap_or(0));
    }
    let is_memory = command[0] == b"MEMORY";
    match reply {
        // Nothing is measured if the server can't: the same words for each key would help nobody.
        Value::Error(message) if !message.starts_with(b"WRONGTYPE") => {
            Err(ModeError::told("Error:", message))
        }
        _ => {
            let (name, key) = if is_memory {
                ("MEMORY USAGE".into(), command[2])
            } else {
                (String::from_utf8_lossy(command[0]), command[1])
            };
            let key = super::quoted(key);
            eprintln!("Warning:  {name} on {key} failed (may have changed type)");
            Ok(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyTypes, Measure, TYPES_MAX, Tally};

    #[test]
    fn types_of_modules_come_last() {
        let mut types = KeyTypes::new();
        assert_eq!(types.index("zset"), 5);
        assert_eq!(types.index("ReJSON-RL"), 6);
        assert_eq!(types.index("ReJSON-RL"), 6);
        assert_eq!(types.at(6).length_command, None);
        assert_eq!(Measure::Length.unit(types.at(6)), "?");
        assert_eq!(Measure::Memory(None).unit(types.at(6)), "bytes");
        (0..1_000).for_each(|number| assert!(types.index(&number.to_string()) < TYPES_MAX));
        assert_eq!(types.iter().count(), TYPES_MAX);
    }

    #[test]
    fn the_first_of_the_biggest_is_kept() {
        let mut tally = Tally::default();
        assert!(!tally.record(b"empty", 0));
        assert_eq!(tally.biggest_key, None);
        assert!(tally.record(b"a", 2));
        assert!(!tally.record(b"b", 2));
        assert!(tally.record(b"c", 5));
        assert_eq!(
            tally,
            Tally { count: 4, total: 9, biggest: 5, biggest_key: Some(b"c".to_vec()) }
        );
        assert_eq!(tally.mean(), 2.25);
        assert_eq!(Tally::default().mean(), 0.0);
    }
}
