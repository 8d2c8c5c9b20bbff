//! The command line of the server, turned into lines of configuration as Redis does it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What a command line names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The configuration file.
    pub file: Option<PathBuf>,
    /// Whether to read more configuration from standard input.
    pub reads_stdin: bool,
    /// Lines of configuration that stand behind all others.
    pub lines: Vec<u8>,
}

/// Reads `[file] [-] [--name value ...] ...`. Nothing is refused here: a line that makes no sense is
/// refused where all lines are, with its text.
pub fn parse(arguments: &[OsString]) -> Arguments {
    let mut parsed = Arguments::default();
    let mut rest = arguments;
    if let Some((first, others)) = rest.split_first()
        && !first.as_bytes().starts_with(b"-")
    {
        parsed.file = Some(first.into());
        rest = others;
    }
    if let Some((first, others)) = rest.split_first()
        && first == "-"
    {
        parsed.reads_stdin = true;
        rest = others;
    }
    // An option's first value may itself begin with dashes (`--requirepass --x`).
    let mut takes_value = false;
    for (index, argument) in rest.iter().enumerate() {
        let is_option = argument.as_bytes().starts_with(b"--");
        if is_option && !takes_value {
            if !parsed.lines.is_empty() {
                parsed.lines.push(b'\n');
            }
            let name = renamed(&argument.as_bytes()[2..]);
            parsed.lines.extend_from_slice(name);
            parsed.lines.push(b' ');
            // `--port 1` in one argument has its value already.
            takes_value = !name.trim_ascii().contains(&b' ');
            let next_is_option =
                rest.get(index + 1).is_none_or(|next| next.as_bytes().starts_with(b"--"));
            if name.eq_ignore_ascii_case(b"save") && next_is_option {
                parsed.lines.extend_from_slice(b"\"\"");
                takes_value = false;
            }
        } else {
            push_value(&mut parsed.lines, argument);
            takes_value = false;
        }
    }
    parsed
}

/// `--threads` is what people guess; Redis's own name for it is `io-threads`.
fn renamed(name: &[u8]) -> &[u8] {
    if name.eq_ignore_ascii_case(b"threads") { b"io-threads" } else { name }
}

fn push_value(lines: &mut Vec<u8>, value: &OsStr) {
    text::quote::push_repr(lines, value.as_bytes());
    lines.push(b' ');
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn lines(words: &[&str]) -> String {
        let words: Vec<_> = words.iter().map(Into::into).collect();
        String::from_utf8(parse(&words).lines).unwrap()
    }

    #[test]
    fn options_become_lines() {
        assert_eq!(
            lines(&["--port", "7000", "--bind", "a", "b"]),
            "port \"7000\" \nbind \"a\" \"b\" "
        );
        assert_eq!(lines(&["--port 7000", "--hz", "5"]), "port 7000 \nhz \"5\" ");
        assert_eq!(lines(&["--threads", "2"]), "io-threads \"2\" ");
        assert_eq!(
            lines(&["--requirepass", "--x", "--hz", "5"]),
            "requirepass \"--x\" \nhz \"5\" "
        );
        assert_eq!(lines(&["--save", "--hz", "5"]), "save \"\"\nhz \"5\" ");
        assert_eq!(lines(&["--hz", "5", "--save"]), "hz \"5\" \nsave \"\"");
        assert_eq!(lines(&["--save", ""]), "save \"\" ");
        assert_eq!(lines(&["-x"]), "\"-x\" ");
    }

    #[test]
    fn file_and_standard_input() {
        let words = ["/etc/redis.conf", "-", "--port", "1"].map(Into::into);
        let parsed = parse(&words);
        assert_eq!(parsed.file, Some("/etc/redis.conf".into()));
        assert!(parsed.reads_stdin);
        assert_eq!(parsed.lines, b"port \"1\" ");
        assert!(parse(&["-".into()]).reads_stdin);
        assert_eq!(parse(&[]), super::Arguments::default());
    }
}
