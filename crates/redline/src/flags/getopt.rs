//! Options as GNU's `getopt_long` reads them, in its own words: abbreviations, clusters of letters, permutation.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use super::{Flag, Section, Stop, Value, long_candidates, named};

/// Reads the options wherever they stand up to a `--`, and gives back all other words in their order.
///
/// # Errors
/// [`Stop::Invalid`] with what `getopt_long` of the GNU C library prints, which begins with `program`; or what an option
/// stops with.
pub fn parse<O>(
    sections: &'static [Section<O>],
    options: &mut O,
    program: &str,
    words: Vec<OsString>,
) -> Result<Vec<Vec<u8>>, Stop> {
    let mut reader = Reader { sections, options, program, words: words.into_iter() };
    let mut others = Vec::new();
    while let Some(word) = reader.words.next() {
        let word = word.into_vec();
        if word == b"--" {
            others.extend(reader.words.map(OsString::into_vec));
            break;
        }
        if word.len() < 2 || word[0] != b'-' {
            others.push(word);
            continue;
        }
        let text = String::from_utf8_lossy(&word).into_owned();
        if text.starts_with("--") { reader.long(&text)? } else { reader.letters(&text[1..])? }
    }
    Ok(others)
}

struct Reader<'a, O: 'static> {
    sections: &'static [Section<O>],
    options: &'a mut O,
    program: &'a str,
    words: std::vec::IntoIter<OsString>,
}

impl<O> Reader<'_, O> {
    /// A word that begins with two dashes.
    fn long(&mut self, word: &str) -> Result<(), Stop> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let candidates = long_candidates(self.sections, name);
        let (spelling, flag) = match candidates[..] {
            [] => return self.invalid(&format!("unrecognized option '{word}'")),
            [only] => only,
            _ => {
                let names: String =
                    candidates.iter().map(|(name, _)| format!(" '{name}'")).collect();
                return self
                    .invalid(&format!("option '{word}' is ambiguous; possibilities:{names}"));
            }
        };
        match (flag.value, attached) {
            (Value::None, Some(_)) => {
                self.invalid(&format!("option '{spelling}' doesn't allow an argument"))
            }
            (Value::Required(_), None) => match self.next_word() {
                Some(value) => self.apply(flag, &value),
                None => self.invalid(&format!("option '{spelling}' requires an argument")),
            },
            (_, attached) => self.apply(flag, attached.unwrap_or_default()),
        }
    }

    /// The letters behind one dash: switches, and at last one with a value.
    fn letters(&mut self, letters: &str) -> Result<(), Stop> {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let Some(flag) = named(self.sections, &format!("-{letter}")) else {
                return self.invalid(&format!("invalid option -- '{letter}'"));
            };
            match flag.value {
                Value::None => self.apply(flag, "")?,
                Value::Required(_) if rest.as_str().is_empty() => {
                    return match self.next_word() {
                        Some(value) => self.apply(flag, &value),
                        None => self.invalid(&format!("option requires an argument -- '{letter}'")),
                    };
                }
                Value::Required(_) => return self.apply(flag, rest.as_str()),
            }
        }
        Ok(())
    }

    fn next_word(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(&self.words.next()?.into_vec()).into_owned())
    }

    fn apply(&mut self, flag: &Flag<O>, value: &str) -> Result<(), Stop> {
        (flag.apply)(self.options, value)
    }

    fn invalid(&self, complaint: &str) -> Result<(), Stop> {
        Err(Stop::Invalid(format!("{}: {complaint}", self.program)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse;
    use crate::flags::{Section, Stop, option, switch};

    const FLAGS: &[Section<Vec<String>>] = &[
        Section {
            title: "Connection",
            flags: &[
                option(&["-s", "--server", "--serving"], "ADDR", "", |seen, value| {
                    seen.push(format!("s={value}"));
                    Ok(())
                }),
                switch(&["-4", "--ipv4"], "", |seen, _| {
                    seen.push("4".into());
                    Ok(())
                }),
            ],
        },
        Section {
            title: "Test",
            flags: &[
                option(&["--key-prefix"], "TEXT", "", |seen, value| {
                    seen.push(format!("prefix={value}"));
                    Ok(())
                }),
                option(&["--key-pattern"], "TEXT", "", |_, _| Ok(())),
                option(&["--key"], "FILE", "", |seen, value| {
                    seen.push(format!("key={value}"));
                    Ok(())
                }),
            ],
        },
    ];

    fn parsed(words: &[&str]) -> Result<String, String> {
        let mut seen = Vec::new();
        let words = words.iter().map(Into::into).collect();
        match parse(FLAGS, &mut seen, "prog", words) {
            Ok(others) => {
                let others = String::from_utf8(others.join(&b' ')).unwrap();
                Ok(format!("{} | {others}", seen.join(" ")))
            }
            Err(Stop::Invalid(sentence)) => Err(sentence),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_stand_in_the_same_word_or_in_the_next() {
        for (words, expected) in [
            (&["--server=a", "--server", "b", "-sc", "-s", "d"][..], "s=a s=b s=c s=d | "),
            (&["-4s", "--x", "-44sx"], "4 s=--x 4 4 s=x | "),
            (&["a", "-4", "-", "--", "-4", "--"], "4 | a - -4 --"),
            (&["--server="], "s= | "),
        ] {
            assert_eq!(parsed(words).as_deref(), Ok(expected), "{words:?}");
        }
    }

    #[test]
    fn names_may_be_cut_while_they_mean_one_option() {
        assert_eq!(parsed(&["--se", "x", "--ip"]).unwrap(), "s=x 4 | ");
        assert_eq!(parsed(&["--key-pr=x", "--key=y"]).unwrap(), "prefix=x key=y | ");
    }

    #[test]
    fn complaints_are_those_of_the_c_library() {
        for (words, complaint) in [
            (&["--nonsense=1"][..], "unrecognized option '--nonsense=1'"),
            (
                &["--key-p=1"],
                "option '--key-p=1' is ambiguous; possibilities: '--key-prefix' '--key-pattern'",
            ),
            (&["--ipv=1"], "option '--ipv4' doesn't allow an argument"),
            (&["--serv"], "option '--server' requires an argument"),
            (&["-4x"], "invalid option -- 'x'"),
            (&["-4s"], "option requires an argument -- 's'"),
        ] {
            assert_eq!(parsed(words), Err(format!("prog: {complaint}")), "{words:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_given_back_was_given(words in prop::collection::vec("[-=a-z4]{0,8}", 0..6)) {
            let given = words.iter().map(Into::into).collect();
            if let Ok(others) = parse(FLAGS, &mut Vec::new(), "prog", given) {
                let mut all = words.iter();
                for other in others {
                    prop_assert!(all.any(|word| word.as_bytes() == other), "{words:?}");
                }
            }
        }
    }
}
