//! Glob patterns as `KEYS`, `SCAN MATCH` and `PSUBSCRIBE` use them: `* ? [a-z] [^x] \`.

/// How deep Redis follows a pattern: one that holds more stars than this (runs of stars count once,
/// and a star that ends the pattern not at all) matches nothing.
const MAX_STARS: usize = 1000;

/// Whether letter case counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// `a` and `A` differ.
    Sensitive,
    /// ASCII letters match in either case.
    Insensitive,
}

/// Whether all of `text` matches `pattern`, with Redis's rules in every corner: `*` does not match
/// the empty text (KEYS and SCAN do not ask for the pattern that is a lone `*`), an unclosed class ends with the pattern, a range may stand the wrong way
/// round, bytes in ranges compare as signed, an escaped byte in a class ignores [`Case`].
///
/// Takes time in the product of the two lengths at worst: only the last star is ever retried,
/// because a longer match for an earlier one could only leave less text for the same rest.
pub fn matches(pattern: &[u8], text: &[u8], case: Case) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    let mut stars = 0;
    loop {
        if at_text == text.len() {
            return pattern[at_pattern..].iter().all(|byte| *byte == b'*');
        }
        let step = match pattern.get(at_pattern) {
            None => None,
            Some(b'*') => {
                let run = pattern[at_pattern..].iter().take_while(|byte| **byte == b'*').count();
                at_pattern += run;
                if at_pattern == pattern.len() {
                    return true;
                }
                stars += 1;
                if stars > MAX_STARS {
                    return false;
                }
                retry = Some((at_pattern, at_text));
                continue;
            }
            Some(_) => match_one(&pattern[at_pattern..], text[at_text], case),
        };
        match (step, &mut retry) {
            (Some(len), _) => {
                at_pattern += len;
                at_text += 1;
            }
            (None, Some((after_star, from))) => {
                *from += 1;
                (at_pattern, at_text) = (*after_star, *from);
                if at_text == text.len() {
                    return false;
                }
            }
            (None, None) => return false,
        }
    }
}

/// Whether the first element of `pattern`, which is not a star, matches `byte`: if so, its length.
#[inline]
fn match_one(pattern: &[u8], byte: u8, case: Case) -> Option<usize> {
    let (literal, len) = match pattern {
        [b'?', ..] => return Some(1),
        [b'[', ..] => return match_class(pattern, byte, case),
        [b'\\', escaped, ..] => (*escaped, 2),
        _ => (pattern[0], 1),
    };
    equal(literal, byte, case).then_some(len)
}

/// [`match_one`] for a class; `pattern` starts with `[`.
fn match_class(pattern: &[u8], byte: u8, case: Case) -> Option<usize> {
    let negated = pattern.get(1) == Some(&b'^');
    let mut position = if negated { 2 } else { 1 };
    let mut found = false;
    let end = loop {
        match &pattern[position..] {
            [] => break position,
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                position += 2;
            }
            [b']', ..] => break position + 1,
            [start, b'-', end, ..] => {
                found |= in_range(*start, *end, byte, case);
                position += 3;
            }
            [literal, ..] => {
                found |= equal(*literal, byte, case);
                position += 1;
            }
        }
    };
    (found != negated).then_some(end)
}

fn in_range(start: u8, end: u8, byte: u8, case: Case) -> bool {
    let (mut low, mut high) = (start as i8, end as i8);
    if low > high {
        (low, high) = (high, low);
    }
    let mut value = byte as i8;
    if case == Case::Insensitive {
        let lower = |value: i8| (value as u8).to_ascii_lowercase() as i8;
        (low, high, value) = (lower(low), lower(high), lower(value));
    }
    (low..=high).contains(&value)
}

fn equal(left: u8, right: u8, case: Case) -> bool {
    match case {
        Case::Sensitive => left == right,
        Case::Insensitive => left.eq_ignore_ascii_case(&right),
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, matches};
    use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};

    fn sensitive(pattern: &str, text: &str) -> bool {
        matches(pattern.as_bytes(), text.as_bytes(), Case::Sensitive)
    }

    #[test]
    fn rules() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", false),
            ("*", "abc", true),
            ("a*", "a", true),
            ("a**", "a", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h*llo", "hllo", true),
            ("h*l*o", "heello", true),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[^e]llo", "hbllo", true),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("h[a-b", "ha", true),
            ("[", "[", false),
            ("[^", "x", true),
            ("[]", "]", false),
            ("[]a]", "a]", false),
            ("[a-]", "]", true),
            ("[a-]", "a", true),
            ("[a-]", "-", false),
            ("[a-]x", "bx", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("a\\", "a\\", true),
            (r"[\]]", "]", true),
            (r"[\-x]", "-", true),
            ("a*b*c", "abcbc", true),
            ("a*b*c", "abcbd", false),
        ] {
            assert_eq!(sensitive(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn letter_case() {
        assert!(matches(b"HeLLo*", b"hEllo world", Case::Insensitive));
        assert!(matches(b"[A-C]", b"b", Case::Insensitive));
        assert!(!matches(br"[\A]", b"a", Case::Insensitive));
        assert!(!matches(b"A", b"a", Case::Sensitive));
    }

    #[test]
    fn many_stars_take_polynomial_time() {
        let pattern = "a*".repeat(900) + "b";
        assert!(!sensitive(&pattern, &"a".repeat(5000)));
        assert!(sensitive(&"a*".repeat(1001), &"a".repeat(1001)));
        assert!(!sensitive(&"a*".repeat(1002), &"a".repeat(1002)));
    }

    /// Backtracking without any short cut, for patterns of stars and letters.
    fn plain(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, _) => text.is_empty(),
            (Some((b'*', rest)), _) => {
                plain(rest, text) || (!text.is_empty() && plain(pattern, &text[1..]))
            }
            (Some((p, rest)), Some((t, tail))) => (*p == b'?' || p == t) && plain(rest, tail),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn agrees_with_plain_backtracking(pattern in "[ab*?]{0,8}", text in "[ab]{1,8}") {
            prop_assert_eq!(
                sensitive(&pattern, &text),
                plain(pattern.as_bytes(), text.as_bytes())
            );
        }

        #[test]
        fn any_bytes(
            pattern in prop::collection::vec(any::<u8>(), 0..40),
            text in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            matches(&pattern, &text, Case::Sensitive);
            matches(&pattern, &text, Case::Insensitive);
            let escaped: Vec<u8> = text.iter().flat_map(|byte| [b'\\', *byte]).collect();
            prop_assert!(matches(&escaped, &text, Case::Sensitive));
        }
    }
}
