//! What the line editor asks while a command is typed: how it may go on.

use std::borrow::Cow;

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::docs::Docs;

/// Hints and completions from what the server tells of its commands.
pub struct Assistant {
    /// The commands; none if the server did not tell.
    pub docs: Docs,
    /// Hints are shown (`:set hints`).
    pub shows_hints: bool,
    /// Columns behind the prompt: a hint ends where its line does.
    pub columns: usize,
}

impl Assistant {
    /// Shows hints from the start.
    pub fn new(docs: Docs) -> Self {
        Self { docs, shows_hints: true, columns: 0 }
    }

    /// Whether the server has told anything.
    pub fn has_docs(&self) -> bool {
        self.docs != Docs::default()
    }
}

impl Helper for Assistant {}

impl Validator for Assistant {}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = &line[..position];
        let start = ["help ", "? "].iter().find(|prefix| {
            typed.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        });
        Ok(match start {
            Some(prefix) => (prefix.len(), self.docs.topics(&typed[prefix.len()..])),
            None => (0, self.docs.names(typed)),
        })
    }
}

impl Hinter for Assistant {
    type Hint = String;

    fn hint(&self, line: &str, position: usize, _: &Context<'_>) -> Option<String> {
        if !self.shows_hints || position < line.len() {
            return None;
        }
        let words = text::quote::split(line.as_bytes()).ok().filter(|words| !words.is_empty())?;
        let words: Vec<String> =
            words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let hint = self.docs.hint(&words).filter(|hint| !hint.is_empty())?;
        let hint = if line.ends_with(' ') { hint } else { format!(" {hint}") };
        // The cursor takes the last column.
        let room = self.columns.saturating_sub(line.chars().count() + 1);
        Some(hint.chars().take(room).collect())
    }
}

impl Highlighter for Assistant {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[90m{hint}\x1b[0m"))
    }
}
