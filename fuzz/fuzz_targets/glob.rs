//! Globs: any pattern ends in bounded time, and a text matches itself escaped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use text::glob::{Case, matches};

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (pattern, text) = input;
    let found = matches(&pattern, &text, Case::Sensitive);
    matches(&pattern, &text, Case::Insensitive);
    // A star behind a pattern that matches changes nothing, unless a class or an escape takes it in.
    if found && !pattern.contains(&b'[') && !pattern.contains(&b'\\') && !text.is_empty() {
        assert!(matches(&[&pattern[..], b"*"].concat(), &text, Case::Sensitive));
    }
    let escaped: Vec<u8> = text.iter().flat_map(|byte| [b'\\', *byte]).collect();
    assert!(matches(&escaped, &text, Case::Sensitive));
});
