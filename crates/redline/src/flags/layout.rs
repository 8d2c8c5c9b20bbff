//! A table of options as text, in the shape that the originals give their help.

use std::fmt::Write as _;

use super::{Flag, Section, Value};

/// Width of the help in columns.
const WIDTH: usize = 80;

/// How a table is printed.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Blanks in front of a name.
    pub indent: usize,
    /// Column in which the descriptions begin.
    pub column: usize,
    /// How an option's spellings and value are put together.
    pub name: NameStyle,
}

/// How an option's spellings and value are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStyle {
    /// The first spelling, a blank, the value: ` -h <hostname>`.
    First,
    /// Letter, long name and value, long names below each other: `  -h, --host=ADDR`, `      --tls`.
    Aligned,
    /// All spellings, each with the value: `  -v, --version`, `  --dbid DBID`.
    All,
}

/// As redis-benchmark and redis-cli print their options.
pub const REDIS: Layout = Layout { indent: 1, column: 20, name: NameStyle::First };
/// As memtier_benchmark prints its options.
pub const GETOPT: Layout = Layout { indent: 2, column: 33, name: NameStyle::Aligned };
/// As Python's argparse prints options.
pub const ARGPARSE: Layout = Layout { indent: 2, column: 22, name: NameStyle::All };

impl Layout {
    /// The options of a section, one entry each, without its title.
    pub fn options<O>(&self, section: &Section<O>) -> String {
        let mut text = String::new();
        for flag in section.flags {
            self.entry(&mut text, &self.name_of(flag), flag.help);
        }
        text
    }

    /// One entry: the name, and its description folded in a column of its own.
    pub fn entry(&self, text: &mut String, name: &str, description: &str) {
        let column = self.column;
        let mut line = format!("{:indent$}{name}", "", indent = self.indent);
        if line.len() >= column {
            let _ = writeln!(text, "{line}");
            line.clear();
        }
        let mut is_empty = true;
        for word in description.split(' ') {
            if !is_empty && line.len() + 1 + word.len() > WIDTH {
                let _ = writeln!(text, "{line}");
                line.clear();
                is_empty = true;
            }
            if is_empty {
                line = format!("{line:column$}{word}");
                is_empty = false;
            } else {
                line.push(' ');
                line.push_str(word);
            }
        }
        let _ = writeln!(text, "{line}");
    }

    fn name_of<O>(&self, flag: &Flag<O>) -> String {
        match self.name {
            NameStyle::First => format!("{}{}", flag.names[0], behind(flag.value, ' ')),
            NameStyle::All => {
                let value = behind(flag.value, ' ');
                let names: Vec<String> =
                    flag.names.iter().map(|name| format!("{name}{value}")).collect();
                names.join(", ")
            }
            NameStyle::Aligned => {
                let letter = flag.names.iter().find(|name| !name.starts_with("--"));
                let long = flag.names.iter().find(|name| name.starts_with("--"));
                match (letter, long) {
                    (Some(letter), Some(long)) => {
                        format!("{letter}, {long}{}", behind(flag.value, '='))
                    }
                    (None, Some(long)) => format!("    {long}{}", behind(flag.value, '=')),
                    (letter, None) => {
                        format!("{}{}", letter.unwrap_or(&""), behind(flag.value, ' '))
                    }
                }
            }
        }
    }
}

/// An option's value as it stands behind the name.
fn behind(value: Value, joint: char) -> String {
    match value {
        Value::None => String::new(),
        Value::Required(name) => format!("{joint}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{ARGPARSE, GETOPT, REDIS};
    use crate::flags::{Section, option, switch};

    const FLAGS: Section<()> = Section {
        title: "Options",
        flags: &[
            option(&["-h", "--host"], "ADDR", "Where the server is", |_, _| Ok(())),
            switch(&["--a-very-long-name-of-an-option"], "What it does", |_, _| Ok(())),
        ],
    };

    #[test]
    fn each_layout_has_its_names_and_its_column() {
        let rows = |text: String| text.lines().map(String::from).collect::<Vec<_>>();
        assert_eq!(
            rows(REDIS.options(&FLAGS)),
            [
                " -h ADDR            Where the server is",
                " --a-very-long-name-of-an-option",
                "                    What it does",
            ]
        );
        assert_eq!(
            rows(GETOPT.options(&FLAGS))[..2],
            [
                "  -h, --host=ADDR                Where the server is",
                "      --a-very-long-name-of-an-option",
            ]
        );
        assert_eq!(rows(ARGPARSE.options(&FLAGS))[0], "  -h ADDR, --host ADDR",);
    }

    #[test]
    fn long_descriptions_are_folded_within_eighty_columns() {
        let mut text = String::new();
        REDIS.entry(&mut text, "-x", &"word ".repeat(40));
        assert!(text.lines().count() > 2 && text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
