//! Options as redis-cli and redis-benchmark read them: exact names, the value in the next word, one pass.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use super::{Section, Stop, Value, named};

/// Reads options up to the first word that does not begin with a dash, or up to and with `--`, and gives back the words
/// behind them as they are.
///
/// # Errors
/// [`Stop::Invalid`] with the word that is no option, or whose value is missing; or what an option stops with.
pub fn parse<O>(
    sections: &'static [Section<O>],
    options: &mut O,
    words: Vec<OsString>,
) -> Result<Vec<Vec<u8>>, Stop> {
    let mut words = words.into_iter().map(OsString::into_vec);
    while let Some(word) = words.next() {
        if word == b"--" {
            return Ok(words.collect());
        }
        if word.first() != Some(&b'-') {
            return Ok(std::iter::once(word).chain(words).collect());
        }
        let name = String::from_utf8_lossy(&word).into_owned();
        let Some(flag) = named(sections, &name) else {
            return Err(Stop::Invalid(name));
        };
        let value = match flag.value {
            Value::None => Vec::new(),
            Value::Required(_) => words.next().ok_or(Stop::Invalid(name))?,
        };
        (flag.apply)(options, &String::from_utf8_lossy(&value))?;
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::flags::{Section, Stop, option, switch};

    const FLAGS: &[Section<Vec<String>>] = &[Section {
        title: "Options",
        flags: &[
            option(&["-h", "--host"], "name", "", |seen, value| {
                seen.push(format!("host {value}"));
                Ok(())
            }),
            switch(&["-q"], "", |seen, _| {
                seen.push("quiet".into());
                Ok(())
            }),
            switch(&["--help"], "", |_, _| Err(Stop::Help)),
        ],
    }];

    fn parsed(line: &str) -> Result<(Vec<String>, String), Stop> {
        let mut seen = Vec::new();
        let rest = parse(FLAGS, &mut seen, line.split(' ').map(Into::into).collect())?;
        Ok((seen, String::from_utf8(rest.join(&b' ')).unwrap()))
    }

    #[test]
    fn options_end_at_the_first_other_word() {
        let (seen, rest) = parsed("-h -q --host x -q get -q").unwrap();
        assert_eq!((seen.join(","), rest.as_str()), ("host -q,host x,quiet".into(), "get -q"));
        assert_eq!(parsed("-q -- -h").unwrap().1, "-h");
    }

    #[test]
    fn names_are_exact_and_values_present() {
        for (line, word) in [("--hos x", "--hos"), ("-q -h", "-h"), ("-qh x", "-qh"), ("-", "-")] {
            assert_eq!(parsed(line), Err(Stop::Invalid(word.into())));
        }
        assert_eq!(parsed("--help -nonsense"), Err(Stop::Help));
    }
}
