//! Lengths: functions of at most 70 lines and files of at most 800, tests not counted. What is
//! longer stands in the list of exemptions, which only shrinks.

use super::exempt::{Exemptions, Kind};
use super::scanner::{Source, line_of, matching_brace};

/// Longest function, in lines from `fn` to its closing brace.
const FUNCTION_LINES: usize = 70;
/// Longest file, in lines that are not tests.
const FILE_LINES: usize = 800;

/// The complaints about `source`.
pub fn check(source: &Source, exemptions: &mut Exemptions) -> Vec<String> {
    let mut complaints = Vec::new();
    let lines = product_lines(source);
    complaints.extend(exemptions.judge(Kind::File, &source.path, lines, FILE_LINES));
    for (name, lines) in functions(&source.product) {
        let subject = format!("{}::{name}", source.path);
        complaints.extend(exemptions.judge(Kind::Function, &subject, lines, FUNCTION_LINES));
    }
    complaints
}

/// Lines of the file without those of its test modules.
fn product_lines(source: &Source) -> usize {
    if source.product.is_empty() {
        return 0;
    }
    let is_test =
        |(product, code): (&str, &str)| product.trim().is_empty() && !code.trim().is_empty();
    let tests =
        source.product.lines().zip(source.code.lines()).filter(|pair| is_test(*pair)).count();
    source.text.lines().count() - tests
}

/// Name and length of every function with a body in `code`, nested ones too.
fn functions(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(offset) = code[from..].find("fn ") {
        let start = from + offset;
        from = start + 3;
        let joined = start > 0 && is_word(code.as_bytes()[start - 1]);
        let name: String = code[from..]
            .trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        if joined || name.is_empty() {
            continue;
        }
        let Some(open) = body_start(code.as_bytes(), from) else { continue };
        let end = matching_brace(code.as_bytes(), open);
        found.push((name, line_of(code, end - 1) - line_of(code, start) + 1));
    }
    found
}

/// The opening brace of the function whose name begins at `from`; none for a declaration. A `;`
/// inside an array type of the signature does not end it.
fn body_start(code: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (offset, byte) in code[from..].iter().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' if depth == 0 => return Some(from + offset),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: String) -> Vec<String> {
        check(&Source::new("crates/a/src/lib.rs", text), &mut Exemptions::default())
    }

    #[test]
    fn functions_are_measured_with_their_signature() {
        let code = "trait T { fn d(&self, x: [u8; 3]); }\npub fn e(\n a: [u8; 2],\n) -> [u8; 2] {\n a\n}\n";
        assert_eq!(functions(code), vec![("e".to_string(), 5)]);
    }

    #[test]
    fn a_long_function_and_a_long_file_are_named() {
        let body = "    work();\n".repeat(70);
        let found = complaints(format!("fn long() {{\n{body}}}\n"));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("long: function of 72 lines"));
        assert!(complaints("const A: u8 = 1;\n".repeat(801))[0].contains("file of 801 lines"));
    }

    #[test]
    fn unit_tests_do_not_count() {
        let tests = "    fn t() {}\n".repeat(900);
        assert!(
            complaints(format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{tests}}}\n")).is_empty()
        );
    }
}
