//! `--monitor-input`: commands recorded by `MONITOR`, one a line, from the first quote on.

use text::quote;

/// Largest recording, in bytes.
pub const MAX_BYTES: u64 = 1 << 30;
/// Most commands of a recording.
pub const MAX_COMMANDS: usize = 10_000_000;

/// The arguments of a command.
pub type Command = Vec<Vec<u8>>;

/// The commands of a recording. Lines without a command, and those whose quotes do not match, are skipped and counted.
///
/// # Errors
/// A sentence: there is no command at all, or there are too many.
pub fn commands(recording: &[u8]) -> Result<(Vec<Command>, usize), String> {
    let mut commands = Vec::new();
    let mut skipped = 0;
    for line in recording.split(|byte| *byte == b'\n') {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let command =
            line.iter().position(|byte| *byte == b'"').map(|at| quote::split(&line[at..]));
        match command {
            Some(Ok(arguments)) if !arguments.is_empty() => commands.push(arguments),
            _ => skipped += 1,
        }
        if commands.len() > MAX_COMMANDS {
            return Err(format!("holds more than {MAX_COMMANDS} commands"));
        }
    }
    if commands.is_empty() {
        return Err("holds no command of MONITOR's output".into());
    }
    Ok((commands, skipped))
}

/// What a `--command` says about the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// `__monitor_line3__`: this line, from 1.
    Line(usize),
    /// `__monitor_line@__`: any.
    Any,
}

/// The reference that a `--command` is, if it is one.
pub fn reference(command: &str) -> Option<Reference> {
    let number = command.trim().strip_prefix("__monitor_line")?.strip_suffix("__")?;
    if number == "@" { Some(Reference::Any) } else { number.parse().ok().map(Reference::Line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_from_the_first_quote() {
        let recording = b"OK\n1.5 [0 127.0.0.1:1] \"SET\" \"a b\" \"\\x00\\\"\"\r\n\n1.6 [0 lua] \"GET\" \"k\"\nbroken \"x\n";
        let (commands, skipped) = commands(recording).unwrap();
        assert_eq!(commands[0], [b"SET".to_vec(), b"a b".to_vec(), b"\0\"".to_vec()]);
        assert_eq!(commands[1], [b"GET".to_vec(), b"k".to_vec()]);
        assert_eq!((commands.len(), skipped), (2, 2));
        assert!(super::commands(b"OK\n").is_err());
    }

    #[test]
    fn references() {
        assert_eq!(reference("__monitor_line12__"), Some(Reference::Line(12)));
        assert_eq!(reference(" __monitor_line@__ "), Some(Reference::Any));
        assert_eq!(reference("GET __monitor_line1__"), None);
        assert_eq!(reference("__monitor_lineX__"), None);
    }
}
