//! Words and characters: opening lines, banned words and names, places of `unsafe`, invisible
//! characters, paths that exist on one machine only.

use super::exempt::Exemptions;
use super::scanner::{Source, line_of};

/// Banned in code, with what to do instead.
const BANNED_CODE: [(&str, &str); 3] = [
    ("todo!", "finish it, or leave it out and say so"),
    ("unimplemented!", "finish it, or leave it out and say so"),
    ("dbg!", "remove it"),
];

/// Banned in comments, with what to do instead.
const BANNED_COMMENT: [(&str, &str); 3] = [
    ("FIXME", "fix it, or state the limit and its reason"),
    ("XXX", "state the limit and its reason"),
    ("TODO", "do it, or state the limit and its reason"),
];

/// File and folder names that say nothing about what is inside.
const BANNED_NAMES: [&str; 9] =
    ["util", "utils", "helper", "helpers", "common", "misc", "manager", "impl", "stuff"];

/// Beginnings of paths that exist on one machine only. Written in two halves so that this file does
/// not hold them.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// The complaints about the words and characters of `source`.
pub fn check(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    complaints.extend(check_opening(source));
    complaints.extend(check_name(&source.path));
    for (word, advice) in BANNED_CODE {
        complaints.extend(find_word(source, &source.code, word, advice));
    }
    for (word, advice) in BANNED_COMMENT {
        complaints.extend(find_word(source, &source.comments, word, advice));
    }
    complaints.extend(check_globs(source));
    complaints.extend(check_characters(source));
    complaints
}

/// Every file says in its first line what it holds and why.
fn check_opening(source: &Source) -> Option<String> {
    let opened = source.text.starts_with("//! ");
    (!opened).then(|| format!("{}: does not begin with a `//!` line", source.path))
}

fn check_name(path: &str) -> Option<String> {
    let vague = path.split('/').find(|part| {
        let stem = part.strip_suffix(".rs").unwrap_or(part);
        BANNED_NAMES.contains(&stem)
    })?;
    Some(format!("{path}: `{vague}` does not say what is inside"))
}

fn find_word(source: &Source, text: &str, word: &str, advice: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (at, _) in text.match_indices(word) {
        let bytes = text.as_bytes();
        let joined_before = at > 0 && is_word(bytes[at - 1]);
        let joined_after =
            !word.ends_with('!') && bytes.get(at + word.len()).is_some_and(|byte| is_word(*byte));
        if !joined_before && !joined_after {
            let line = line_of(text, at);
            complaints.push(format!("{}:{line}: `{word}`: {advice}", source.path));
        }
    }
    complaints
}

/// Glob imports hide where a name comes from; only test modules may use `super::*`.
fn check_globs(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut from = 0;
    while let Some(offset) = source.product[from..].find("use ") {
        let start = from + offset;
        from = start + 4;
        let before = source.product[..start].trim_end_matches([' ', '\n']);
        let begins_item = before.is_empty()
            || before.ends_with([';', '}', '{', ']'])
            || before.ends_with("pub")
            || before.ends_with(')');
        let Some(length) = source.product[start..].find(';') else { break };
        if begins_item && source.product[start..start + length].contains('*') {
            let line = line_of(&source.product, start);
            complaints.push(format!("{}:{line}: glob import: name what is used", source.path));
        }
    }
    complaints
}

/// No control or bidirectional characters anywhere, and only ASCII in code: a reader must see what
/// the compiler sees.
fn check_characters(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        let hidden = |c: &char| {
            c.is_control()
                || matches!(*c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        };
        if let Some(found) = line.chars().find(hidden) {
            let code = u32::from(found);
            complaints.push(format!(
                "{}:{}: hidden character U+{code:04X}",
                source.path,
                number + 1
            ));
        }
    }
    for (number, line) in source.code.lines().enumerate() {
        if !line.is_ascii() {
            complaints.push(format!("{}:{}: code is not ASCII", source.path, number + 1));
        }
    }
    complaints
}

/// `unsafe` only in the files that the exemptions list for it.
pub fn check_unsafe(source: &Source, exemptions: &mut Exemptions) -> Vec<String> {
    let mut found = find_word(source, &source.code, "unsafe", "this file is not listed for it");
    // One complaint a file is enough.
    found.truncate(1);
    if found.is_empty() || exemptions.allows_unsafe(&source.path) { Vec::new() } else { found }
}

/// A crate without a listed file forbids `unsafe` in its root.
pub fn check_forbid(sources: &[Source], exemptions: &Exemptions) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        let roots = ["/src/lib.rs", "/src/main.rs"];
        let Some(krate) = roots.iter().find_map(|root| source.path.strip_suffix(root)) else {
            continue;
        };
        let forbids = source.code.contains("#![forbid(unsafe_code)]");
        if !forbids && !exemptions.any_unsafe_below(&format!("{krate}/")) {
            complaints.push(format!("{}: wants `#![forbid(unsafe_code)]`", source.path));
        }
    }
    complaints
}

/// Paths of one machine in any text of the project.
pub fn check_machine_paths(path: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for prefix in MACHINE_PATHS {
            let own = line.match_indices(prefix).any(|(at, _)| {
                // `https://host/home/x` is an address, not a path of a machine.
                at == 0 || !is_word(line.as_bytes()[at - 1])
            });
            if own {
                complaints.push(format!("{path}:{}: path of one machine: {prefix}", number + 1));
            }
        }
    }
    complaints
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        check(&Source::new("crates/a/src/lib.rs", text.to_string()))
    }

    #[test]
    fn a_clean_file_passes() {
        assert!(complaints("//! What it is.\nuse std::fmt::{self, Write};\nfn a() -> &'static str { \"dbg!(\u{b5})\" }\n").is_empty());
    }

    #[test]
    fn each_banned_word_is_found_once() {
        let text = "//! Doc.\nfn a() { todo!() }\nfn b() { dbg!(1); }\n// FIXME later\n// XXX\nfn xxx() {}\n";
        assert_eq!(complaints(text).len(), 4, "{:?}", complaints(text));
    }

    #[test]
    fn the_opening_line_is_required() {
        assert!(complaints("fn a() {}\n")[0].contains("begin with"));
    }

    #[test]
    fn globs_are_for_tests_only() {
        assert_eq!(complaints("//! D.\nuse std::fs::*;\npub use a::{b::*, c};\n").len(), 2);
        assert!(complaints("//! D.\nfn a() { let use_x = 2 * 3; }\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n").is_empty());
    }

    #[test]
    fn names_must_say_something() {
        assert!(check_name("crates/a/src/utils.rs").is_some());
        assert!(check_name("crates/a/src/common/x.rs").is_some());
        assert!(check_name("crates/a/src/table.rs").is_none());
    }

    #[test]
    fn hidden_characters_are_found() {
        assert_eq!(complaints("//! Doc.\n// a\u{202e}b\n").len(), 1);
        assert_eq!(complaints("//! Doc.\nfn \u{e9}() {}\n").len(), 1);
        assert_eq!(complaints("//! Doc.\n// 5 \u{b5}s is fine here\n").len(), 0);
    }

    #[test]
    fn unsafe_needs_a_listed_file_or_a_forbidding_root() {
        let source =
            Source::new("crates/a/src/lib.rs", "//! D.\nfn a() { unsafe { b() } }\n".to_string());
        assert_eq!(check_unsafe(&source, &mut Exemptions::default()).len(), 1);
        let mut listed = Exemptions::parse("unsafe crates/a/src/lib.rs").unwrap();
        assert!(check_unsafe(&source, &mut listed).is_empty());
        assert!(check_forbid(&[source], &listed).is_empty());
        let other = Source::new("crates/b/src/lib.rs", "//! D.\n".to_string());
        assert_eq!(check_forbid(&[other], &listed).len(), 1);
    }

    #[test]
    fn machine_paths_are_found() {
        assert_eq!(check_machine_paths("a.md", concat!("see /ho", "me/me/x")).len(), 1);
        assert!(check_machine_paths("a.md", concat!("https://example.org/ho", "me/x")).is_empty());
    }
}
