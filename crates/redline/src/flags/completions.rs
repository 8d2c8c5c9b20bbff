//! Completions of all applets for bash, zsh and fish, from the same tables as their parsers.

use std::fmt::Write as _;

use super::manual::{Listed, Manual};

/// A program whose command line can be completed.
pub struct Program {
    /// The first argument of `redline` that runs it.
    pub applet: &'static str,
    /// Links that run it.
    pub links: &'static [&'static str],
    /// One line about it.
    pub summary: &'static str,
    /// Its options.
    pub manual: Manual,
}

impl Program {
    fn options(&self) -> impl Iterator<Item = &Listed> {
        self.manual.sections.iter().flat_map(|section| &section.options)
    }

    /// Its applet's name and its links, each once.
    fn names(&self) -> Vec<&'static str> {
        let mut names = vec![self.applet];
        names.extend(self.links.iter().filter(|link| **link != self.applet));
        names
    }
}

/// A script for bash.
pub fn bash(programs: &[Program]) -> String {
    let applets: Vec<&str> = programs.iter().map(|program| program.applet).collect();
    let mut script = format!(
        "_redline() {{\n    local current=${{COMP_WORDS[COMP_CWORD]}} program=${{COMP_WORDS[0]##*/}} options=\n    \
         COMPREPLY=()\n    if [[ $program == redline ]]; then\n        if ((COMP_CWORD == 1)); then\n            \
         COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n            return\n        fi\n        \
         program=${{COMP_WORDS[1]}}\n    fi\n    case $program in\n",
        applets.join(" ")
    );
    for program in programs {
        let names: Vec<&str> =
            program.options().flat_map(|option| &option.names).map(String::as_str).collect();
        let _ =
            writeln!(script, "    {}) options='{}' ;;", program.names().join("|"), names.join(" "));
    }
    let _ = write!(
        script,
        "    esac\n    if [[ $current == -* ]]; then\n        \
         COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n    fi\n}}\n\
         complete -o default -F _redline {}\n",
        commands(programs)
    );
    script
}

/// A script for zsh, to be stored as `_redline` in a folder of `fpath`.
pub fn zsh(programs: &[Program]) -> String {
    let mut script = format!(
        "#compdef {}\n\nlocal program=${{service:t}}\nif [[ $program == redline ]]; then\n    \
         if (( CURRENT == 2 )); then\n        local -a applets=(\n",
        commands(programs)
    );
    for program in programs {
        let _ = writeln!(
            script,
            "            {}",
            quoted(&format!("{}:{}", program.applet, program.summary))
        );
    }
    script.push_str(
        "        )\n        _describe applet applets\n        return\n    fi\n    program=$words[2]\n    \
         shift words\n    (( CURRENT-- ))\nfi\ncase $program in\n",
    );
    for program in programs {
        let _ = writeln!(script, "({})\n    _arguments \\", program.names().join("|"));
        for option in program.options() {
            for name in &option.names {
                let help = option.help.replace('[', "(").replace(']', ")").replace(':', "\\:");
                let value = option.value.as_deref().map_or(String::new(), |value| {
                    format!(":{}:_default", value.replace(':', "\\:"))
                });
                let _ =
                    writeln!(script, "        {} \\", quoted(&format!("*{name}[{help}]{value}")));
            }
        }
        script.push_str("        '*::argument:_default'\n    ;;\n");
    }
    script.push_str("esac\n");
    script
}

/// A script for fish.
pub fn fish(programs: &[Program]) -> String {
    let mut script = String::new();
    for program in programs {
        let _ = writeln!(
            script,
            "complete -c redline -n __fish_use_subcommand -f -a {} -d {}",
            program.applet,
            fish_quoted(program.summary)
        );
        for option in program.options() {
            let mut line = String::new();
            for name in &option.names {
                let _ = match (name.strip_prefix("--"), name.strip_prefix('-')) {
                    (Some(long), _) => write!(line, " -l {long}"),
                    (None, Some(letter)) if letter.len() == 1 => write!(line, " -s {letter}"),
                    (None, word) => write!(line, " -o {}", word.unwrap_or_default()),
                };
            }
            if option.value.is_some() {
                line.push_str(" -r");
            }
            let _ = write!(line, " -d {}", fish_quoted(&option.help));
            let condition = format!("__fish_seen_subcommand_from {}", program.names().join(" "));
            let _ = writeln!(script, "complete -c redline -n '{condition}'{line}");
            for link in program.links {
                let _ = writeln!(script, "complete -c {link}{line}");
            }
        }
    }
    script
}

/// All names under which completions are asked for.
fn commands(programs: &[Program]) -> String {
    let links = programs.iter().flat_map(|program| program.links).copied();
    std::iter::once("redline").chain(links).collect::<Vec<_>>().join(" ")
}

/// A word for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A word for fish.
fn fish_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
