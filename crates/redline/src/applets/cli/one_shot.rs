//! The command of the command line, its arguments and those that come from standard input or a script file.

use std::fs;
use std::io::{self, Read as _};
use std::process::ExitCode;

use anyhow::Context as _;

use super::options::Options;
use super::session::{Failure, Session};
use crate::applets::redis_benchmark::server_config::system_text;

/// Sends the command of the options as often as they say. An error reply is a reply: it fails nothing unless `-e` asks for it.
///
/// # Errors
/// Standard input can't be read, or standard output not be written to.
pub fn run(mut options: Options) -> anyhow::Result<ExitCode> {
    let command = match &options.eval {
        Some(path) => script(path, &options.command),
        None => arguments(&options)?,
    };
    let command = match command {
        Ok(command) => command,
        Err(Refusal::Output(sentence)) => {
            println!("{sentence}");
            return Ok(ExitCode::FAILURE);
        }
        Err(Refusal::Error(sentence)) => {
            eprintln!("{sentence}");
            return Ok(ExitCode::FAILURE);
        }
    };
    options.command.clear();
    let repeat = options.repeat;
    let mut session = Session::new(options);
    let end = session.issue(&command, repeat).and_then(|()| session.stream());
    match end {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Failure::Command) => Ok(ExitCode::FAILURE),
        Err(Failure::Exit(status)) => Ok(ExitCode::from(status)),
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::FAILURE)
        }
        Err(Failure::Output(error)) => Err(error).context("cannot write"),
    }
}

/// Why there is no command to send, and where the original says so.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Output(&'static str),
    Error(String),
}

fn arguments(options: &Options) -> io::Result<Result<Vec<Vec<u8>>, Refusal>> {
    let mut command = Vec::with_capacity(options.command.len() + 1);
    for word in &options.command {
        if !options.quoted_input {
            command.push(word.clone());
            continue;
        }
        let mut words = text::quote::split(word).unwrap_or_default();
        match (words.pop(), words.is_empty()) {
            (Some(only), true) => command.push(only),
            _ => return Ok(Err(Refusal::Output("Invalid quoted string"))),
        }
    }
    if options.stdin_last {
        command.push(standard_input()?);
    } else if let Some(tag) = &options.stdin_tag {
        let Some(place) = command.iter_mut().find(|word| *word == tag) else {
            return Ok(Err(Refusal::Error("Using -X option but stdin tag not match.".into())));
        };
        *place = standard_input()?;
    }
    Ok(Ok(command))
}

fn standard_input() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The EVAL of a script in a file: the words up to a comma are its keys, those behind it its other arguments.
fn script(path: &str, words: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Refusal> {
    let text = fs::read(path).map_err(|error| {
        Refusal::Error(format!("Can't open file '{path}': {}", system_text(&error)))
    })?;
    let comma = words.iter().position(|word| word == b",").unwrap_or(words.len());
    let mut command = vec![b"EVAL".to_vec(), text, comma.to_string().into_bytes()];
    command.extend_from_slice(&words[..comma]);
    command.extend(words.iter().skip(comma + 1).cloned());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_divides_keys_from_arguments() {
        let words = |line: &str| -> Vec<Vec<u8>> {
            line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
        };
        let count = |line: &str| script("/dev/null", &words(line)).unwrap()[2..].join(&b' ');
        assert_eq!(count("a b , c , d"), b"2 a b c , d");
        assert_eq!(count("a,b c"), b"2 a,b c");
        assert_eq!(count(", a"), b"0 a");
    }

    #[test]
    fn quoted_words_are_unquoted_one_by_one() {
        let options = |word: &str| Options {
            command: vec![word.as_bytes().to_vec()],
            quoted_input: true,
            ..Options::default()
        };
        assert_eq!(arguments(&options(r#""a\x00 b""#)).unwrap(), Ok(vec![b"a\0 b".to_vec()]));
        let refusal = Err(Refusal::Output("Invalid quoted string"));
        assert_eq!(arguments(&options("a b")).unwrap(), refusal);
        assert_eq!(arguments(&options("\"a")).unwrap(), refusal);
    }
}
