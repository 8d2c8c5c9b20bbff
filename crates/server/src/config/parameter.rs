//! One parameter: its form and limits, where its value lives, and Redis's texts for bad values.

use crate::server::Server;
use crate::settings::Settings;

/// A row of the table.
pub struct Parameter {
    /// Its name in lower case.
    pub name: &'static str,
    /// Its older name, which `CONFIG GET` lists too.
    pub alias: Option<&'static str>,
    /// When it may be changed.
    pub change: Change,
    /// What must happen once it has changed at run time; an error undoes the change.
    pub apply: Option<Apply>,
    kind: Kind,
    only: Option<Only>,
    note: &'static str,
}

/// Does what a change asks for, or says why it cannot be.
pub type Apply = fn(&Server) -> Result<(), String>;

/// When a parameter may be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// At any time.
    Anytime,
    /// Before the start only.
    Startup,
    /// With `CONFIG SET` only if `enable-protected-configs` allows it.
    Protected,
}

/// The values that this server supports of all that Redis takes, and why no others.
struct Only {
    values: &'static [&'static str],
    reason: &'static str,
}

/// Where a value lives: in a field of the settings, or as kept text that nothing acts upon, with
/// its default.
enum Store<T: 'static> {
    Field { get: fn(&Settings) -> T, set: fn(&mut Settings, T) },
    Kept(&'static str),
}

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Plain,
    Memory,
    Octal,
}

enum Kind {
    Bool(Store<bool>),
    Integer { min: i64, max: i64, unit: Unit, store: Store<i64> },
    Word { words: &'static [&'static str], store: Store<&'static str> },
    Text { get: fn(&Settings) -> Vec<u8>, set: fn(&mut Settings, &[u8]) -> Result<(), String> },
    List { get: fn(&Settings) -> Vec<u8>, set: fn(&mut Settings, &[Vec<u8>]) -> Result<(), String> },
    KeptText(&'static str),
    KeptList(&'static str),
}

/// A parameter that is `yes` or `no`.
pub const fn boolean(
    name: &'static str,
    get: fn(&Settings) -> bool,
    set: fn(&mut Settings, bool),
) -> Parameter {
    Parameter::new(name, Kind::Bool(Store::Field { get, set }))
}

/// A whole number.
pub const fn integer(
    name: &'static str,
    (min, max): (i64, i64),
    get: fn(&Settings) -> i64,
    set: fn(&mut Settings, i64),
) -> Parameter {
    let store = Store::Field { get, set };
    Parameter::new(name, Kind::Integer { min, max, unit: Unit::Plain, store })
}

/// An amount of memory in bytes, which may be given as `100mb`.
pub const fn memory(
    name: &'static str,
    (min, max): (i64, i64),
    get: fn(&Settings) -> i64,
    set: fn(&mut Settings, i64),
) -> Parameter {
    let store = Store::Field { get, set };
    Parameter::new(name, Kind::Integer { min, max, unit: Unit::Memory, store })
}

/// A file mode, in octal.
pub const fn octal(
    name: &'static str,
    (min, max): (i64, i64),
    get: fn(&Settings) -> i64,
    set: fn(&mut Settings, i64),
) -> Parameter {
    let store = Store::Field { get, set };
    Parameter::new(name, Kind::Integer { min, max, unit: Unit::Octal, store })
}

/// One of several words; `set` is given the word as it stands in `words`.
pub const fn word(
    name: &'static str,
    words: &'static [&'static str],
    get: fn(&Settings) -> &'static str,
    set: fn(&mut Settings, &'static str),
) -> Parameter {
    Parameter::new(name, Kind::Word { words, store: Store::Field { get, set } })
}

/// Any text.
pub const fn text(
    name: &'static str,
    get: fn(&Settings) -> Vec<u8>,
    set: fn(&mut Settings, &[u8]) -> Result<(), String>,
) -> Parameter {
    Parameter::new(name, Kind::Text { get, set })
}

/// Several words.
pub const fn list(
    name: &'static str,
    get: fn(&Settings) -> Vec<u8>,
    set: fn(&mut Settings, &[Vec<u8>]) -> Result<(), String>,
) -> Parameter {
    Parameter::new(name, Kind::List { get, set })
}

/// A `yes` or `no` that nothing acts upon.
pub const fn kept_boolean(name: &'static str, default: &'static str) -> Parameter {
    Parameter::new(name, Kind::Bool(Store::Kept(default)))
}

/// A number that nothing acts upon.
pub const fn kept_integer(
    name: &'static str,
    (min, max): (i64, i64),
    default: &'static str,
) -> Parameter {
    let store = Store::Kept(default);
    Parameter::new(name, Kind::Integer { min, max, unit: Unit::Plain, store })
}

/// An amount of memory that nothing acts upon.
pub const fn kept_memory(name: &'static str, default: &'static str) -> Parameter {
    let store = Store::Kept(default);
    Parameter::new(name, Kind::Integer { min: 0, max: i64::MAX, unit: Unit::Memory, store })
}

/// One of several words that nothing acts upon.
pub const fn kept_word(
    name: &'static str,
    words: &'static [&'static str],
    default: &'static str,
) -> Parameter {
    Parameter::new(name, Kind::Word { words, store: Store::Kept(default) })
}

/// A text that nothing acts upon.
pub const fn kept_text(name: &'static str, default: &'static str) -> Parameter {
    Parameter::new(name, Kind::KeptText(default))
}

/// Words that nothing acts upon.
pub const fn kept_list(name: &'static str, default: &'static str) -> Parameter {
    Parameter::new(name, Kind::KeptList(default))
}

impl Parameter {
    const fn new(name: &'static str, kind: Kind) -> Parameter {
        Parameter {
            name,
            alias: None,
            change: Change::Anytime,
            apply: None,
            kind,
            only: None,
            note: "",
        }
    }

    /// With an older name.
    pub const fn alias(self, alias: &'static str) -> Parameter {
        Parameter { alias: Some(alias), ..self }
    }

    /// Not to be changed once the server runs.
    pub const fn startup(self) -> Parameter {
        Parameter { change: Change::Startup, ..self }
    }

    /// Changed with `CONFIG SET` only if `enable-protected-configs` allows it.
    pub const fn protected(self) -> Parameter {
        Parameter { change: Change::Protected, ..self }
    }

    /// Of all that Redis takes only these values, in their canonical form, for this reason.
    pub const fn only(self, values: &'static [&'static str], reason: &'static str) -> Parameter {
        Parameter { only: Some(Only { values, reason }), ..self }
    }

    /// With something to do after a change at run time.
    pub const fn apply(self, apply: Apply) -> Parameter {
        Parameter { apply: Some(apply), ..self }
    }

    /// With a remark for the documentation.
    pub const fn note(self, note: &'static str) -> Parameter {
        Parameter { note, ..self }
    }

    /// The value in the form in which `CONFIG GET` answers it.
    pub fn get(&self, settings: &Settings) -> Vec<u8> {
        let kept = |default: &'static str| {
            let text = settings.kept.get(self.name);
            text.cloned().unwrap_or_else(|| default.as_bytes().to_vec())
        };
        match &self.kind {
            Kind::Bool(Store::Field { get, .. }) => bool_text(get(settings)).into(),
            Kind::Integer { unit, store: Store::Field { get, .. }, .. } => {
                integer_text(get(settings), *unit).into_bytes()
            }
            Kind::Word { store: Store::Field { get, .. }, .. } => get(settings).into(),
            Kind::Text { get, .. } | Kind::List { get, .. } => get(settings),
            Kind::Bool(Store::Kept(default))
            | Kind::Integer { store: Store::Kept(default), .. }
            | Kind::Word { store: Store::Kept(default), .. }
            | Kind::KeptText(default)
            | Kind::KeptList(default) => kept(default),
        }
    }

    /// Sets the value from the words of a line of the file.
    ///
    /// # Errors
    /// The value is refused; the text is Redis's where Redis refuses it too.
    pub fn set(&self, settings: &mut Settings, words: &[Vec<u8>]) -> Result<(), String> {
        if !self.is_list() && words.len() != 1 {
            return Err("wrong number of arguments".into());
        }
        let value = words.first().map_or(&[][..], Vec::as_slice);
        match &self.kind {
            Kind::Bool(store) => {
                let flag = parse_bool(value)?;
                self.store(settings, store, flag, bool_text(flag).into())
            }
            Kind::Integer { min, max, unit, store } => {
                let number = parse_integer(value, *unit, *min, *max)?;
                self.store(settings, store, number, integer_text(number, *unit).into())
            }
            Kind::Word { words, store } => {
                let word = parse_word(value, words)?;
                self.store(settings, store, word, word.into())
            }
            Kind::Text { set, .. } => {
                self.check_supported(value)?;
                set(settings, value)
            }
            Kind::List { set, .. } => {
                self.check_supported(&words.join(&b' '))?;
                set(settings, words)
            }
            Kind::KeptText(_) | Kind::KeptList(_) => {
                let text = words.join(&b' ');
                self.check_supported(&text)?;
                settings.kept.insert(self.name, text);
                Ok(())
            }
        }
    }

    /// Sets the value from the one argument of `CONFIG SET`.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub fn set_argument(&self, settings: &mut Settings, value: &[u8]) -> Result<(), String> {
        if self.is_list() && !value.is_empty() {
            let words: Vec<Vec<u8>> = value.split(|byte| *byte == b' ').map(Vec::from).collect();
            self.set(settings, &words)
        } else {
            self.set(settings, &[value.to_vec()])
        }
    }

    /// The value as a line of the file gives it, behind the name.
    pub fn file_text(&self, settings: &Settings) -> Vec<u8> {
        let value = self.get(settings);
        match &self.kind {
            Kind::Text { .. } | Kind::KeptText(_) => text::quote::repr(&value),
            Kind::List { .. } | Kind::KeptList(_) => {
                let words: Vec<Vec<u8>> = value.split(|byte| *byte == b' ').map(quoted).collect();
                words.join(&b' ')
            }
            Kind::Integer { unit: Unit::Memory, .. } => memory_text(&value),
            _ => value,
        }
    }

    /// Whether a line of the file may hold several words.
    pub fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List { .. } | Kind::KeptList(_))
    }

    /// Whether anything acts upon the value.
    pub fn has_effect(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Bool(Store::Kept(_))
                | Kind::Integer { store: Store::Kept(_), .. }
                | Kind::Word { store: Store::Kept(_), .. }
                | Kind::KeptText(_)
                | Kind::KeptList(_)
        )
    }

    /// What the documentation says of it: `works`, `accepted, without effect`, or what is refused.
    pub fn status(&self) -> String {
        let mut status = match (&self.only, self.has_effect()) {
            (Some(Only { values, reason }), _) => {
                let values: Vec<String> = values
                    .iter()
                    .map(
                        |value| {
                            if value.is_empty() { "`\"\"`".into() } else { format!("`{value}`") }
                        },
                    )
                    .collect();
                format!("only {}: {reason}", values.join(", "))
            }
            (None, true) => "works".into(),
            (None, false) => "accepted, without effect".into(),
        };
        if !self.note.is_empty() {
            status.push_str("; ");
            status.push_str(self.note);
        }
        status
    }

    fn store<T>(
        &self,
        settings: &mut Settings,
        store: &Store<T>,
        value: T,
        canonical: Vec<u8>,
    ) -> Result<(), String> {
        self.check_supported(&canonical)?;
        match store {
            Store::Field { set, .. } => set(settings, value),
            Store::Kept(_) => drop(settings.kept.insert(self.name, canonical)),
        }
        Ok(())
    }

    fn check_supported(&self, canonical: &[u8]) -> Result<(), String> {
        match &self.only {
            Some(only) if !only.values.iter().any(|value| value.as_bytes() == canonical) => {
                Err(only.reason.into())
            }
            _ => Ok(()),
        }
    }
}

/// A word as a line of the file takes it: in quotes only where it needs them.
fn quoted(word: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"\"'\\".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        word.to_vec()
    } else {
        text::quote::repr(word)
    }
}

fn bool_text(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}

fn integer_text(number: i64, unit: Unit) -> String {
    if unit == Unit::Octal { format!("{number:o}") } else { number.to_string() }
}

/// A number of bytes in the largest unit that divides it, as Redis writes it to the file.
fn memory_text(bytes: &[u8]) -> Vec<u8> {
    let number = text::integer::parse_i64(bytes).unwrap_or_default();
    for (factor, unit) in [(1 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb")] {
        if number != 0 && number % factor == 0 {
            return format!("{}{unit}", number / factor).into_bytes();
        }
    }
    bytes.to_vec()
}

fn parse_bool(value: &[u8]) -> Result<bool, String> {
    if value.eq_ignore_ascii_case(b"yes") {
        Ok(true)
    } else if value.eq_ignore_ascii_case(b"no") {
        Ok(false)
    } else {
        Err("argument must be 'yes' or 'no'".into())
    }
}

fn parse_integer(value: &[u8], unit: Unit, min: i64, max: i64) -> Result<i64, String> {
    let number = match unit {
        Unit::Plain => {
            text::integer::parse_i64(value).ok_or("argument couldn't be parsed into an integer")?
        }
        Unit::Memory => text::memory::parse(value)
            .filter(|_| !value.is_empty())
            .map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))
            .ok_or("argument must be a memory value")?,
        Unit::Octal => std::str::from_utf8(value)
            .ok()
            .and_then(|digits| i64::from_str_radix(digits, 8).ok())
            .ok_or("argument couldn't be parsed as an octal number")?,
    };
    if number < min || number > max {
        let (min, max) = (integer_text(min, unit), integer_text(max, unit));
        return Err(format!("argument must be between {min} and {max} inclusive"));
    }
    Ok(number)
}

fn parse_word(value: &[u8], words: &'static [&'static str]) -> Result<&'static str, String> {
    let found = words.iter().find(|word| word.as_bytes().eq_ignore_ascii_case(value));
    found
        .copied()
        .ok_or_else(|| format!("argument(s) must be one of the following: {}", words.join(", ")))
}
