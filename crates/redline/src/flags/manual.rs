//! What an applet's manual page and completions are made of, and the page itself in roff.

use std::fmt::Write as _;

use super::{Section, Value};

/// What is known of an applet's command line.
#[derive(Debug, Clone, Default)]
pub struct Manual {
    /// What follows the program's name: `[OPTIONS] [COMMAND ...]`.
    pub synopsis: &'static str,
    /// Paragraphs, divided by empty lines.
    pub description: String,
    /// The options under their headings.
    pub sections: Vec<Listing>,
}

/// Options under one heading.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The heading.
    pub title: String,
    /// Its options.
    pub options: Vec<Listed>,
}

/// An option without what carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its spellings with their dashes.
    pub names: Vec<String>,
    /// What its value is called, if it takes one.
    pub value: Option<String>,
    /// What it does.
    pub help: String,
}

/// The options of a table as they are shown.
pub fn listings<O>(sections: &'static [Section<O>]) -> Vec<Listing> {
    let listed = |section: &'static Section<O>| {
        section.flags.iter().map(|flag| {
            let value = match flag.value {
                Value::None => None,
                Value::Required(name) => Some(name),
            };
            Listed {
                names: flag.names.iter().map(|name| (*name).into()).collect(),
                value: value.map(|name| name.trim_matches(['<', '>']).into()),
                help: flag.help.into(),
            }
        })
    };
    let listing = |section: &'static Section<O>| Listing {
        title: section.title.into(),
        options: listed(section).collect(),
    };
    sections.iter().map(listing).collect()
}

/// The options of a command of clap, under one heading.
pub fn of_clap(mut command: clap::Command) -> Vec<Listing> {
    command.build();
    let shown = command.get_arguments().filter(|argument| !argument.is_positional());
    let options = shown.map(|argument| {
        let letter = argument.get_short().map(|letter| format!("-{letter}"));
        let long = argument.get_long().map(|name| format!("--{name}"));
        let takes_value = argument.get_action().takes_values();
        let value = argument.get_value_names().and_then(|names| names.first());
        Listed {
            names: letter.into_iter().chain(long).collect(),
            value: value.filter(|_| takes_value).map(ToString::to_string),
            help: argument.get_help().map(ToString::to_string).unwrap_or_default(),
        }
    });
    vec![Listing { title: "Options".into(), options: options.collect() }]
}

/// The manual page of a program in roff, for `man -l -`.
pub fn page(name: &str, summary: &str, version: &str, manual: &Manual) -> String {
    let mut page = format!(
        ".TH {} 1 \"\" \"Redline {version}\" \"Redline\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n{}\n.SH DESCRIPTION\n",
        escape(&name.to_uppercase()),
        escape(name),
        escape(summary),
        escape(name),
        escape(manual.synopsis),
    );
    let paragraphs: Vec<String> = manual.description.split("\n\n").map(escape).collect();
    let _ = writeln!(page, "{}", paragraphs.join("\n.PP\n"));
    for section in manual.sections.iter().filter(|section| !section.options.is_empty()) {
        let _ = writeln!(page, ".SH {}", escape(&section.title.to_uppercase()));
        for option in &section.options {
            let names: Vec<String> =
                option.names.iter().map(|name| format!("\\fB{}\\fR", escape(name))).collect();
            let value = option.value.as_deref().map(escape).unwrap_or_default();
            let value = if value.is_empty() { value } else { format!(" \\fI{value}\\fR") };
            let _ = writeln!(page, ".TP\n{}{value}\n{}", names.join(", "), escape(&option.help));
        }
    }
    page
}

/// Text that roff prints as it is: dashes stay dashes, and no line is taken for a request.
fn escape(text: &str) -> String {
    let lines = text.trim().lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Manual, listings, page};
    use crate::flags::{Section, option, switch};

    const FLAGS: &[Section<()>] = &[Section {
        title: "Options",
        flags: &[
            option(&["-h", "--host"], "<name>", ".dots and \\slashes", |_, _| Ok(())),
            switch(&["-q"], "Quiet", |_, _| Ok(())),
        ],
    }];

    #[test]
    fn a_page_prints_what_the_table_says() {
        let manual = Manual {
            synopsis: "[-h name]",
            description: "One.\n\nTwo.".into(),
            sections: listings(FLAGS),
        };
        assert_eq!(
            page("a-b", "does it", "1.0", &manual),
            ".TH A\\-B 1 \"\" \"Redline 1.0\" \"Redline\"\n.SH NAME\na\\-b \\- does it\n.SH SYNOPSIS\n.B a\\-b\n\
             [\\-h name]\n.SH DESCRIPTION\nOne.\n.PP\nTwo.\n.SH OPTIONS\n\
             .TP\n\\fB\\-h\\fR, \\fB\\-\\-host\\fR \\fIname\\fR\n\\&.dots and \\eslashes\n\
             .TP\n\\fB\\-q\\fR\nQuiet\n"
        );
    }
}
