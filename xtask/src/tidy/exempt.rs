//! The list of exceptions to the length and `unsafe` rules. It is a ratchet: a listed length must be
//! the measured one, so that what shrinks stays small, and an entry without need is a complaint.

use anyhow::{Result, bail};

/// What an exception is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file longer than the limit.
    File,
    /// A function longer than the limit.
    Function,
    /// A file that may hold `unsafe`.
    Unsafe,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Function => "function",
            Kind::Unsafe => "unsafe",
        }
    }
}

#[derive(Debug)]
struct Entry {
    kind: Kind,
    /// `path` or, for a function, `path::name`.
    subject: String,
    /// Measured lines; zero for `unsafe`.
    lines: usize,
    used: bool,
}

/// The parsed list.
#[derive(Debug, Default)]
pub struct Exemptions {
    entries: Vec<Entry>,
}

impl Exemptions {
    /// Reads lines of `file PATH LINES`, `function PATH::NAME LINES` and `unsafe PATH`; `#` begins a
    /// comment. Fails on any other line.
    pub fn parse(text: &str) -> Result<Self> {
        let mut entries = Vec::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (kind, subject, lines) = match fields[..] {
                [] => continue,
                ["file", subject, lines] => (Kind::File, subject, lines.parse()?),
                ["function", subject, lines] => (Kind::Function, subject, lines.parse()?),
                ["unsafe", subject] => (Kind::Unsafe, subject, 0),
                _ => bail!("tidy exemptions: cannot read `{line}`"),
            };
            entries.push(Entry { kind, subject: subject.to_string(), lines, used: false });
        }
        Ok(Exemptions { entries })
    }

    /// Whether `subject` is listed as one that may hold `unsafe`. Marks the entry as needed.
    pub fn allows_unsafe(&mut self, subject: &str) -> bool {
        self.find(Kind::Unsafe, subject).is_some()
    }

    /// Whether any file below `prefix` may hold `unsafe`.
    pub fn any_unsafe_below(&self, prefix: &str) -> bool {
        self.entries.iter().any(|one| one.kind == Kind::Unsafe && one.subject.starts_with(prefix))
    }

    /// The complaint about `subject` of `lines` lines, if it is over `limit` and not listed so.
    pub fn judge(
        &mut self,
        kind: Kind,
        subject: &str,
        lines: usize,
        limit: usize,
    ) -> Option<String> {
        if lines <= limit {
            return None;
        }
        let word = kind.word();
        let Some(listed) = self.find(kind, subject) else {
            return Some(format!("{subject}: {word} of {lines} lines; the limit is {limit}"));
        };
        match lines.cmp(&listed) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => {
                Some(format!("{subject}: {word} grew from {listed} to {lines} lines"))
            }
            std::cmp::Ordering::Less => Some(format!(
                "{subject}: {word} shrank from {listed} to {lines} lines; lower its entry"
            )),
        }
    }

    /// A complaint for every entry that no file or function needed.
    pub fn unused(&self) -> Vec<String> {
        let unused = self.entries.iter().filter(|one| !one.used);
        unused
            .map(|one| format!("{}: no need for its `{}` exemption", one.subject, one.kind.word()))
            .collect()
    }

    fn find(&mut self, kind: Kind, subject: &str) -> Option<usize> {
        let entry =
            self.entries.iter_mut().find(|one| one.kind == kind && one.subject == subject)?;
        entry.used = true;
        Some(entry.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratchet_turns_one_way() {
        let mut list = Exemptions::parse("# why\nfunction a.rs::long 90 # table\n").unwrap();
        assert_eq!(list.judge(Kind::Function, "a.rs::long", 90, 70), None);
        assert!(list.judge(Kind::Function, "a.rs::long", 91, 70).unwrap().contains("grew"));
        assert!(list.judge(Kind::Function, "a.rs::long", 80, 70).unwrap().contains("shrank"));
        assert!(list.judge(Kind::Function, "a.rs::other", 71, 70).unwrap().contains("limit"));
        assert_eq!(list.judge(Kind::Function, "a.rs::other", 70, 70), None);
    }

    #[test]
    fn needless_and_unreadable_entries_are_errors() {
        let mut list = Exemptions::parse("unsafe a.rs\nfile b.rs 900").unwrap();
        assert!(list.allows_unsafe("a.rs"));
        assert!(!list.allows_unsafe("b.rs"));
        assert!(list.any_unsafe_below("a"));
        assert_eq!(list.unused().len(), 1);
        assert!(Exemptions::parse("folder x").is_err());
    }
}
