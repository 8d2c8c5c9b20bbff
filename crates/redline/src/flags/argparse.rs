//! Options as Python's `argparse` reads them, in its own words.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use super::{Flag, Section, Stop, Value, each, long_candidates, named};

/// Columns that the usage may fill: those of a terminal less two.
const USAGE_WIDTH: usize = 78;

/// Reads the options wherever they stand up to a `--`, and gives back all other words in their order. Words that begin
/// with a dash and are negative numbers or hold a space are no options.
///
/// An option that stops with [`Stop::Invalid`] and a complaint about its value gets its name put in front of it.
///
/// # Errors
/// [`Stop::Invalid`] with the sentence that `argparse` prints behind usage and program; or what an option stops with.
pub fn parse<O>(
    sections: &'static [Section<O>],
    options: &mut O,
    words: Vec<OsString>,
) -> Result<Vec<Vec<u8>>, Stop> {
    let mut reader = Reader { sections, options, words: words.into_iter().peekable() };
    let (mut others, mut unknown) = (Vec::new(), Vec::new());
    while let Some(word) = reader.words.next() {
        if word == "--" {
            others.extend(reader.words.map(OsString::into_vec));
            break;
        }
        let text = word.to_string_lossy().into_owned();
        match reader.meaning(&text)? {
            Meaning::Other => others.push(word.into_vec()),
            Meaning::Unknown => unknown.push(text),
            Meaning::Option(flag, attached) => reader.option(flag, attached)?,
        }
    }
    if unknown.is_empty() { Ok(others) } else { Err(unrecognized(&unknown)) }
}

/// The usage as `argparse` folds it: the options in brackets, then the other words on a line of their own.
pub fn usage<O>(sections: &'static [Section<O>], program: &str, others: &str) -> String {
    let start = format!("usage: {program} ");
    let mut text = start.clone();
    let mut column = start.len();
    for flag in each(sections) {
        let value = match flag.value {
            Value::None => String::new(),
            Value::Required(name) => format!(" {name}"),
        };
        let part = format!("[{}{value}]", flag.names[0]);
        let is_first = column == start.len();
        if !is_first && column + 1 + part.len() > USAGE_WIDTH {
            text += &format!("\n{:indent$}", "", indent = start.len());
            column = start.len();
        } else if !is_first {
            text.push(' ');
            column += 1;
        }
        column += part.len();
        text += &part;
    }
    text + &format!("\n{:indent$}{others}\n", "", indent = start.len())
}

/// The complaint about words that mean nothing.
pub fn unrecognized(words: &[String]) -> Stop {
    Stop::Invalid(format!("unrecognized arguments: {}", words.join(" ")))
}

/// What a word is.
enum Meaning<O: 'static> {
    /// An option, and its value if that stands in the same word.
    Option(&'static Flag<O>, Option<String>),
    /// Like an option, but none of this table.
    Unknown,
    /// No option.
    Other,
}

struct Reader<'a, O: 'static> {
    sections: &'static [Section<O>],
    options: &'a mut O,
    words: std::iter::Peekable<std::vec::IntoIter<OsString>>,
}

impl<O> Reader<'_, O> {
    fn meaning(&self, word: &str) -> Result<Meaning<O>, Stop> {
        if word.len() < 2 || !word.starts_with('-') {
            return Ok(Meaning::Other);
        }
        if let Some(flag) = named(self.sections, word) {
            return Ok(Meaning::Option(flag, None));
        }
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        if let Some(flag) = named(self.sections, name) {
            return Ok(Meaning::Option(flag, attached));
        }
        if word.starts_with("--") {
            let candidates = long_candidates(self.sections, name);
            match candidates[..] {
                [] => {}
                [(_, flag)] => return Ok(Meaning::Option(flag, attached)),
                _ => {
                    let names: Vec<&str> = candidates.iter().map(|(name, _)| *name).collect();
                    let names = names.join(", ");
                    let complaint = format!("ambiguous option: {word} could match {names}");
                    return Err(Stop::Invalid(complaint));
                }
            }
        } else if let Some(letter) = word.chars().nth(1)
            && let Some(flag) = named(self.sections, &format!("-{letter}"))
        {
            return Ok(Meaning::Option(flag, Some(word[1 + letter.len_utf8()..].to_owned())));
        }
        let is_number =
            word[1..].parse::<f64>().is_ok() && !word[1..].contains(char::is_alphabetic);
        Ok(if is_number || word.contains(' ') { Meaning::Other } else { Meaning::Unknown })
    }

    /// Applies an option; letters without a value may stand together.
    fn option(&mut self, flag: &'static Flag<O>, attached: Option<String>) -> Result<(), Stop> {
        match (flag.value, attached) {
            (Value::Required(_), None) => {
                let value = self.next_value().ok_or_else(|| {
                    Stop::Invalid(format!("argument {}: expected one argument", display(flag)))
                })?;
                self.apply(flag, &value)
            }
            (Value::None, Some(rest)) => {
                let is_letter = flag.names.iter().any(|name| name.len() == 2);
                let next = rest.chars().next().filter(|_| is_letter);
                match next.and_then(|letter| named(self.sections, &format!("-{letter}"))) {
                    None => Err(Stop::Invalid(format!(
                        "argument {}: ignored explicit argument '{rest}'",
                        display(flag)
                    ))),
                    Some(following) => {
                        self.apply(flag, "")?;
                        let behind = rest.chars().skip(1).collect::<String>();
                        self.option(following, Some(behind).filter(|text| !text.is_empty()))
                    }
                }
            }
            (_, attached) => self.apply(flag, &attached.unwrap_or_default()),
        }
    }

    /// The next word, if it is no option.
    fn next_value(&mut self) -> Option<String> {
        let text = self.words.peek()?.to_string_lossy().into_owned();
        let is_value = text != "--" && matches!(self.meaning(&text), Ok(Meaning::Other));
        is_value.then(|| {
            self.words.next();
            text
        })
    }

    fn apply(&mut self, flag: &Flag<O>, value: &str) -> Result<(), Stop> {
        (flag.apply)(self.options, value).map_err(|stop| match stop {
            Stop::Invalid(complaint) => {
                Stop::Invalid(format!("argument {}: {complaint}", display(flag)))
            }
            other => other,
        })
    }
}

fn display<O>(flag: &Flag<O>) -> String {
    flag.names.join("/")
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::flags::{Section, Stop, option, switch};

    const FLAGS: &[Section<Vec<String>>] = &[Section {
        title: "options",
        flags: &[
            option(&["-p"], "port", "", |seen, value| match value.parse::<i64>() {
                Ok(port) => {
                    seen.push(format!("p={port}"));
                    Ok(())
                }
                Err(_) => Err(Stop::Invalid(format!("invalid int value: '{value}'"))),
            }),
            switch(&["-v", "--version"], "", |_, _| Err(Stop::Version)),
            switch(&["-x"], "", |seen, _| {
                seen.push("x".into());
                Ok(())
            }),
            switch(&["--lua"], "", |seen, _| {
                seen.push("lua".into());
                Ok(())
            }),
            switch(&["--lua-file"], "", |_, _| Ok(())),
        ],
    }];

    fn parsed(words: &[&str]) -> Result<String, String> {
        let mut seen = Vec::new();
        match parse(FLAGS, &mut seen, words.iter().map(Into::into).collect()) {
            Ok(others) => {
                let others = String::from_utf8(others.join(&b'+')).unwrap();
                Ok(format!("{} | {others}", seen.join(" ")))
            }
            Err(Stop::Invalid(sentence)) => Err(sentence),
            Err(other) => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn options_and_words_may_be_mixed() {
        for (words, expected) in [
            (&["-p", "7", "GET a", "-p8", "-p=9", "--lua"][..], "p=7 p=8 p=9 lua | GET a"),
            (&["-p", "-5", "-7", "- x", "-"], "p=-5 | -7+- x+-"),
            (&["-xxp5", "--", "--lua"], "x x p=5 | --lua"),
        ] {
            assert_eq!(parsed(words).as_deref(), Ok(expected), "{words:?}");
        }
        assert_eq!(parsed(&["--vers"]), Err("Version".into()));
    }

    #[test]
    fn complaints_are_those_of_argparse() {
        for (words, complaint) in [
            (&["-p"][..], "argument -p: expected one argument"),
            (&["-p", "--lua"], "argument -p: expected one argument"),
            (&["-p", "x"], "argument -p: invalid int value: 'x'"),
            (&["--nope", "a", "-q"], "unrecognized arguments: --nope -q"),
            (&["--lu"], "ambiguous option: --lu could match --lua, --lua-file"),
            (&["--lua=1"], "argument --lua: ignored explicit argument '1'"),
            (&["-xq"], "argument -x: ignored explicit argument 'q'"),
        ] {
            assert_eq!(parsed(words), Err(complaint.into()), "{words:?}");
        }
    }
}
