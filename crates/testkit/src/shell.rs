//! Command lines as a shell splits them, for recorded ones.

/// Splits a line at blanks; quotes and backslashes protect them. Nothing is expanded.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), _) if letter == open => quote = None,
            (None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (Some('"'), '\\') if matches!(letters.peek(), Some('"' | '\\' | '$' | '`')) => {
                word.get_or_insert_default().extend(letters.next());
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    #[test]
    fn quotes_and_backslashes_protect() {
        for (line, words) in [
            (r#" a  "b c" d'e f'g "" "#, &["a", "b c", "de fg", ""][..]),
            (r#""\"x\\y\n" '\' a\ b"#, &["\"x\\y\\n", "\\", "a b"]),
        ] {
            assert_eq!(super::words(line), words, "{line}");
        }
    }
}
