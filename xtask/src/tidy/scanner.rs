//! Splits Rust source into code, comments and literals, as far as the rules need: a rule about code
//! must not fire on a word inside a string, and lengths do not count unit tests.

/// What a byte of the source belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// One Rust file, cut up.
#[derive(Debug)]
pub struct Source {
    /// Relative to the workspace, with forward slashes.
    pub path: String,
    /// The file as it is.
    pub text: String,
    /// `text` with comments and literals blanked: same length, same lines.
    pub code: String,
    /// `text` with code and literals blanked.
    pub comments: String,
    /// Like `code`, with unit-test modules blanked too; empty if the whole file is tests.
    pub product: String,
}

impl Source {
    /// Cuts `text` up. Unterminated literals and comments run to the end of the file.
    pub fn new(path: &str, text: String) -> Self {
        let parts = classify(text.as_bytes());
        let code = keep(&text, &parts, Part::Code);
        let comments = keep(&text, &parts, Part::Comment);
        let product = if is_test_path(path) { String::new() } else { without_test_modules(&code) };
        Source { path: path.to_string(), text, code, comments, product }
    }
}

/// Whether every line of the file is test code.
fn is_test_path(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/benches/")
}

fn classify(bytes: &[u8]) -> Vec<Part> {
    let mut parts = vec![Part::Code; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let (end, part) = next_span(bytes, at);
        parts[at..end].fill(part);
        at = end;
    }
    parts
}

/// The end and kind of the span that begins at `at`. Code is one byte at a time, or one whole word,
/// so that the `r` of an identifier is not taken for a raw string.
fn next_span(bytes: &[u8], at: usize) -> (usize, Part) {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        return (at + end, Part::Comment);
    }
    if rest.starts_with(b"/*") {
        return (at + block_comment_length(rest), Part::Comment);
    }
    if let Some(length) = raw_string_length(rest) {
        return (at + length, Part::Literal);
    }
    if rest[0] == b'"' || rest.starts_with(b"b\"") {
        let quote = usize::from(rest[0] == b'b');
        return (at + quoted_length(rest, quote, b'"'), Part::Literal);
    }
    if rest[0] == b'\'' {
        return quote_span(bytes, at);
    }
    if rest.starts_with(b"b'") {
        return (at + quoted_length(rest, 1, b'\''), Part::Literal);
    }
    let word =
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    (at + word.max(1), Part::Code)
}

fn block_comment_length(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a raw string (`r".."`, `br#".."#`, `cr".."`) at the start of `rest`, if one is.
fn raw_string_length(rest: &[u8]) -> Option<usize> {
    let prefix = [&b"br"[..], b"cr", b"r"].into_iter().find(|prefix| rest.starts_with(prefix))?;
    let hashes = rest[prefix.len()..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix.len() + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'#'; hashes + 1];
    close[0] = b'"';
    let body = &rest[open + 1..];
    let end = body.windows(close.len()).position(|window| window == close.as_slice());
    Some(end.map_or(rest.len(), |end| open + 1 + end + close.len()))
}

/// The length up to and with the closing `quote` of the literal whose opening one is at `open`.
fn quoted_length(rest: &[u8], open: usize, quote: u8) -> usize {
    let mut at = open + 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A quote is a character literal if it closes after one character or escape, else a lifetime.
fn quote_span(bytes: &[u8], at: usize) -> (usize, Part) {
    let rest = &bytes[at..];
    if rest.get(1) == Some(&b'\\') {
        return (at + quoted_length(rest, 0, b'\''), Part::Literal);
    }
    let width = match rest.get(1) {
        Some(byte) if *byte >= 0xf0 => 4,
        Some(byte) if *byte >= 0xe0 => 3,
        Some(byte) if *byte >= 0xc0 => 2,
        _ => 1,
    };
    if rest.get(1 + width) == Some(&b'\'') {
        return (at + 2 + width, Part::Literal);
    }
    (at + 1, Part::Code)
}

/// `text` with every byte not of the wanted part made a space, line ends kept.
fn keep(text: &str, parts: &[Part], wanted: Part) -> String {
    let kept = text.bytes().zip(parts).map(|(byte, part)| match byte {
        b'\n' => byte,
        _ if *part == wanted => byte,
        _ => b' ',
    });
    // A part never ends inside a character, so what is kept is still UTF-8.
    String::from_utf8_lossy(&kept.collect::<Vec<u8>>()).into_owned()
}

/// `code` with the bodies of `#[cfg(test)] mod name { .. }` blanked.
fn without_test_modules(code: &str) -> String {
    let mut product = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let start = from + found;
        from = start + 1;
        let after = &code[start + "#[cfg(test)]".len()..];
        let item = after.trim_start();
        if !item.starts_with("mod ") {
            continue;
        }
        let Some(open) = after.find(['{', ';']) else { break };
        let open = start + "#[cfg(test)]".len() + open;
        if code.as_bytes()[open] == b';' {
            continue;
        }
        let end = matching_brace(code.as_bytes(), open);
        for byte in &mut product[start..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        from = end;
    }
    String::from_utf8_lossy(&product).into_owned()
}

/// The index after the brace that closes the one at `open`; the end of `code` if none does.
pub fn matching_brace(code: &[u8], open: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in code[open..].iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return open + offset + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The 1-based line that byte `at` of `text` stands on.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_lifetimes_are_told_apart() {
        let text = "let a = \"fn x\"; // fn y\nlet r = r#\"fn \" z\"#; /* a /* b */ c */ fn ok<'a>(c: char) { c == '{' }";
        let source = Source::new("crates/a/src/lib.rs", text.to_string());
        assert_eq!(source.code.matches("fn ").count(), 1);
        assert_eq!(source.code.matches('{').count(), 1);
        assert!(source.comments.contains("// fn y"));
        assert_eq!(source.code.len(), text.len());
    }

    #[test]
    fn test_modules_are_not_product() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { }\n}\n#[cfg(test)]\nmod tests;\nfn c() {}";
        let source = Source::new("crates/a/src/lib.rs", text.to_string());
        assert!(source.product.contains("fn a") && source.product.contains("fn c"));
        assert!(!source.product.contains("fn b"));
        assert!(Source::new("crates/a/tests/main.rs", text.to_string()).product.is_empty());
    }
}
