//! Quoting of redis.conf, redis-cli and inline requests: splitting a line into arguments, and
//! the escaped form in which Redis shows binary text.

/// A quote was left open, or a closing quote was followed by something other than a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnbalancedQuotes;

impl std::fmt::Display for UnbalancedQuotes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("unbalanced quotes")
    }
}

impl std::error::Error for UnbalancedQuotes {}

/// Splits `line` into its arguments. Double quotes understand `\n \r \t \b \a \xHH` and
/// take any other escaped byte as it is; single quotes understand `\'` only. As in Redis a NUL byte ends the line.
pub fn split(line: &[u8]) -> Result<Vec<Vec<u8>>, UnbalancedQuotes> {
    let mut arguments = Vec::new();
    let mut rest = line;
    let mut argument = Vec::new();
    while split_next(&mut rest, &mut argument)? {
        arguments.push(std::mem::take(&mut argument));
    }
    Ok(arguments)
}

/// Takes the next argument off the front of `rest` and appends its unquoted bytes to `argument`;
/// `false` when there is none left. The unquoted form is never longer than the quoted one.
pub fn split_next(rest: &mut &[u8], argument: &mut Vec<u8>) -> Result<bool, UnbalancedQuotes> {
    let line = *rest;
    let mut position = line.iter().take_while(|byte| is_space(**byte)).count();
    if matches!(line.get(position), None | Some(0)) {
        *rest = &[];
        return Ok(false);
    }
    while let Some(&byte) = line.get(position) {
        match byte {
            0 => break,
            _ if is_space(byte) => break,
            b'"' => position = double_quoted(line, position + 1, argument)?,
            b'\'' => position = single_quoted(line, position + 1, argument)?,
            _ => {
                argument.push(byte);
                position += 1;
            }
        }
    }
    *rest = &line[position..];
    Ok(true)
}

/// Appends `bytes` in the form Redis's logs, `MONITOR` and redis-cli use: in double quotes, with
/// `\n \r \t \a \b \\ \"` and `\xHH` for everything that is not printable ASCII.
pub fn push_repr(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'\\' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x07 => out.extend_from_slice(b"\\a"),
            0x08 => out.extend_from_slice(b"\\b"),
            b' '..=b'~' => out.push(byte),
            _ => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                out.extend_from_slice(&[b'\\', b'x', HEX[high], HEX[low]]);
            }
        }
    }
    out.push(b'"');
}

/// [`push_repr`] into a new vector.
pub fn repr(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 2);
    push_repr(&mut out, bytes);
    out
}

/// `isspace` of the C locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn hex_digit(byte: Option<&u8>) -> Option<u8> {
    char::from(*byte?).to_digit(16).map(|digit| digit as u8)
}

/// Reads from after the opening quote; the result is the position after the closing one.
fn double_quoted(
    line: &[u8],
    mut position: usize,
    argument: &mut Vec<u8>,
) -> Result<usize, UnbalancedQuotes> {
    loop {
        match line.get(position) {
            None | Some(0) => return Err(UnbalancedQuotes),
            Some(b'"') => return after_closing_quote(line, position + 1),
            Some(b'\\') => match line.get(position + 1) {
                None | Some(0) => {
                    argument.push(b'\\');
                    position += 1;
                }
                Some(&escaped) => {
                    let digits =
                        (hex_digit(line.get(position + 2)), hex_digit(line.get(position + 3)));
                    if let (b'x', (Some(high), Some(low))) = (escaped, digits) {
                        argument.push(high << 4 | low);
                        position += 4;
                        continue;
                    }
                    argument.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'b' => 0x08,
                        b'a' => 0x07,
                        other => other,
                    });
                    position += 2;
                }
            },
            Some(&byte) => {
                argument.push(byte);
                position += 1;
            }
        }
    }
}

/// Reads from after the opening quote; the result is the position after the closing one.
fn single_quoted(
    line: &[u8],
    mut position: usize,
    argument: &mut Vec<u8>,
) -> Result<usize, UnbalancedQuotes> {
    loop {
        match line.get(position) {
            None | Some(0) => return Err(UnbalancedQuotes),
            Some(b'\'') => return after_closing_quote(line, position + 1),
            Some(b'\\') if line.get(position + 1) == Some(&b'\'') => {
                argument.push(b'\'');
                position += 2;
            }
            Some(&byte) => {
                argument.push(byte);
                position += 1;
            }
        }
    }
}

fn after_closing_quote(line: &[u8], position: usize) -> Result<usize, UnbalancedQuotes> {
    match line.get(position) {
        None | Some(0) => Ok(position),
        Some(&byte) if is_space(byte) => Ok(position),
        Some(_) => Err(UnbalancedQuotes),
    }
}

#[cfg(test)]
mod tests {
    use super::{UnbalancedQuotes, repr, split};
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    fn words(line: &str) -> Vec<String> {
        let arguments = split(line.as_bytes()).expect("balanced");
        arguments.into_iter().map(|word| String::from_utf8(word).expect("text")).collect()
    }

    #[test]
    fn splits_as_redis_does() {
        assert_eq!(words("  set  key value "), ["set", "key", "value"]);
        assert_eq!(words(""), Vec::<String>::new());
        assert_eq!(words(" \t\r\n"), Vec::<String>::new());
        assert_eq!(words(r#"a "b c" 'd e'"#), ["a", "b c", "d e"]);
        assert_eq!(words(r#"a"b c""#), ["ab c"]);
        assert_eq!(words(r#""\x41\n\t\q\"" '\'\n'"#), ["A\n\tq\"", r"'\n"]);
        assert_eq!(words(r#""\x4g""#), ["x4g"]);
        assert_eq!(words(r#""" ''"#), ["", ""]);
        assert_eq!(words(r"a\nb"), [r"a\nb"]);
        assert_eq!(words("a\0b c"), ["a"]);
    }

    #[test]
    fn unbalanced() {
        for line in [r#"""#, "'", r#""a"b"#, "'a'b", r#"a "b"#, r#""a\""#, r#""\"#, r#"''"""#] {
            assert_eq!(split(line.as_bytes()), Err(UnbalancedQuotes), "{line}");
        }
    }

    #[test]
    fn escaped_form() {
        assert_eq!(repr(b"a\\\"\n\r\t\x07\x08\x00\xff ~"), br#""a\\\"\n\r\t\a\b\x00\xff ~""#);
    }

    proptest! {
        #[test]
        fn repr_round_trips(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(split(&repr(&bytes)), Ok(vec![bytes]));
        }

        #[test]
        fn any_line_is_bounded(line in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(words) = split(&line) {
                assert!(words.iter().map(Vec::len).sum::<usize>() <= line.len());
            }
        }
    }
}
