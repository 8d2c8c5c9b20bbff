//! What the server tells of its commands (`COMMAND DOCS`), for help, hints and completion at the prompt.

use resp::Value;

/// Bold, grey, yellow and plain, as the original colours its help.
const BOLD: &str = "\x1b[1m";
const GREY: &str = "\x1b[90m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";
/// How deep arguments and subcommands may be nested; nothing sensible is near it.
const MAX_DEPTH: usize = 16;

/// One command or subcommand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDoc {
    /// Its words in capitals, a blank between.
    pub name: String,
    summary: String,
    since: String,
    group: String,
    /// Its arguments in order, as the help shows them.
    arguments: Vec<ArgumentDoc>,
}

/// One argument at the top level of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ArgumentDoc {
    text: String,
    is_optional: bool,
    /// More of it may follow.
    is_multiple: bool,
}

/// All commands of a server, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Docs {
    commands: Vec<CommandDoc>,
}

impl Docs {
    /// Reads a reply to `COMMAND DOCS`, be it of RESP3's maps or of RESP2's flat arrays. What is not understood is left out.
    pub fn new(reply: &Value) -> Self {
        let mut commands = Vec::new();
        for (name, doc) in pairs(reply) {
            add_command(&mut commands, &text(name).to_uppercase(), doc, 0);
        }
        commands.sort_by(|a, b| a.name.cmp(&b.name));
        Self { commands }
    }

    /// Names of commands and groups (`@string`) that begin with `prefix`, whatever its case.
    pub fn topics(&self, prefix: &str) -> Vec<String> {
        let mut topics = self.names(prefix);
        let mut groups: Vec<String> =
            self.commands.iter().map(|command| format!("@{}", command.group)).collect();
        groups.sort_unstable();
        groups.dedup();
        topics.extend(groups.into_iter().filter(|group| group.starts_with(prefix)));
        topics
    }

    /// Names of commands that begin with `prefix`, in the case of its first letter.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let is_lower = prefix.starts_with(|letter: char| letter.is_ascii_lowercase());
        let wanted = prefix.to_uppercase();
        let fitting = self.commands.iter().filter(|command| command.name.starts_with(&wanted));
        fitting
            .map(|command| match is_lower {
                true => command.name.to_lowercase(),
                false => command.name.clone(),
            })
            .collect()
    }

    /// What may follow the words typed so far; `None` when no command has them.
    pub fn hint(&self, words: &[String]) -> Option<String> {
        let command = self.command_of(words)?;
        let mut left: Vec<&ArgumentDoc> = command.arguments.iter().collect();
        let mut values_expected = 0;
        for word in &words[command.name.split(' ').count()..] {
            if values_expected > 0 {
                values_expected -= 1;
                continue;
            }
            let named = left.iter().position(|argument| argument.is_named(word));
            if let Some(index) = named {
                values_expected = left.remove(index).text.split(' ').count() - 1;
                continue;
            }
            // Options that have been passed over can't come any more once their successor is there.
            let Some(index) = left.iter().position(|argument| !argument.is_optional) else {
                continue;
            };
            if left[index].is_multiple {
                continue;
            }
            left.remove(index);
        }
        let texts: Vec<&str> = left.iter().map(|argument| argument.text.as_str()).collect();
        Some(texts.join(" "))
    }

    /// The answer to `help` with these words; empty when there is nothing on them.
    pub fn help(&self, words: &[String]) -> String {
        let mut out = String::from("\r\n");
        if let [group] = words
            && let Some(group) = group.strip_prefix('@')
        {
            let fitting = self.commands.iter().filter(|command| command.group == group);
            fitting.for_each(|command| command.push(&mut out, false));
            return out;
        }
        let wanted = words.join(" ").to_uppercase();
        let family = format!("{wanted} ");
        for command in &self.commands {
            if command.name == wanted || command.name.starts_with(&family) {
                command.push(&mut out, true);
            }
        }
        out
    }

    /// The command with the longest name that `words` begin with.
    fn command_of(&self, words: &[String]) -> Option<&CommandDoc> {
        [2, 1].into_iter().filter(|count| *count <= words.len()).find_map(|count| {
            let name = words[..count].join(" ").to_uppercase();
            let found = self.commands.binary_search_by(|command| command.name.cmp(&name));
            found.ok().map(|index| &self.commands[index])
        })
    }
}

impl CommandDoc {
    fn push(&self, out: &mut String, with_group: bool) {
        let arguments: Vec<&str> =
            self.arguments.iter().map(|argument| argument.text.as_str()).collect();
        let arguments = arguments.join(" ");
        *out += &format!("  {BOLD}{}{PLAIN} {GREY}{arguments}{PLAIN}\r\n", self.name);
        *out += &format!("  {YELLOW}summary:{PLAIN} {}\r\n", self.summary);
        *out += &format!("  {YELLOW}since:{PLAIN} {}\r\n", self.since);
        if with_group {
            *out += &format!("  {YELLOW}group:{PLAIN} {}\r\n", self.group);
        }
        *out += "\r\n";
    }
}

impl ArgumentDoc {
    /// Whether `word` is the word that this option begins with, or one of several between bars.
    fn is_named(&self, word: &str) -> bool {
        let inner = self.text.trim_start_matches('[').trim_end_matches(']');
        self.is_optional
            && inner.split('|').any(|one| {
                let first = one.split([' ', ']']).next().unwrap_or_default();
                let is_token = first.chars().any(|letter| letter.is_ascii_uppercase());
                is_token && first.eq_ignore_ascii_case(word)
            })
    }
}

fn add_command(commands: &mut Vec<CommandDoc>, name: &str, doc: &Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let field = |wanted: &str| {
        pairs(doc).into_iter().find(|(name, _)| text(name) == wanted).map(|(_, value)| value)
    };
    let word = |name: &str| field(name).map(text).unwrap_or_default();
    let arguments = field("arguments").map(elements).unwrap_or_default();
    commands.push(CommandDoc {
        name: name.to_owned(),
        summary: word("summary"),
        since: word("since"),
        group: word("group"),
        arguments: arguments.iter().map(|argument| argument_doc(argument, 0)).collect(),
    });
    for (subcommand, doc) in field("subcommands").map(pairs).unwrap_or_default() {
        let name = text(subcommand).to_uppercase().replace('|', " ");
        add_command(commands, &name, doc, depth + 1);
    }
}

fn argument_doc(argument: &Value, depth: usize) -> ArgumentDoc {
    let fields = pairs(argument);
    let field = |wanted: &str| {
        fields.iter().find(|(name, _)| text(name) == wanted).map(|(_, value)| *value)
    };
    let word = |name: &str| field(name).map(text).filter(|word| !word.is_empty());
    let flags: Vec<String> =
        field("flags").map(elements).unwrap_or_default().iter().map(text).collect();
    let has = |flag: &str| flags.iter().any(|one| one == flag);
    let inner = |joint: &str| {
        let parts = field("arguments").map(elements).unwrap_or_default();
        let texts: Vec<String> = match depth < MAX_DEPTH {
            true => parts.iter().map(|part| argument_doc(part, depth + 1).text).collect(),
            false => Vec::new(),
        };
        texts.join(joint)
    };
    let token = word("token");
    let value = match word("type").as_deref() {
        Some("oneof") => inner("|"),
        Some("block") => inner(" "),
        Some("pure-token") => String::new(),
        _ => word("display_text").or_else(|| word("name")).unwrap_or_default(),
    };
    let mut shown: Vec<String> = token.clone().into_iter().collect();
    shown.extend(Some(value.clone()).filter(|value| !value.is_empty()));
    let mut shown = shown.join(" ");
    let is_multiple = has("multiple");
    if is_multiple {
        let again = match (has("multiple_token"), &token) {
            (true, Some(token)) => format!("{token} {value}"),
            _ => value,
        };
        shown = format!("{shown} [{again} ...]");
    }
    let is_optional = has("optional");
    if is_optional {
        shown = format!("[{shown}]");
    }
    ArgumentDoc { text: shown, is_optional, is_multiple }
}

/// Pairs of a map, or of the flat array that stands for one.
fn pairs(value: &Value) -> Vec<(&Value, &Value)> {
    match value {
        Value::Map(pairs) => pairs.iter().map(|(key, value)| (key, value)).collect(),
        Value::Array(elements) => {
            elements.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect()
        }
        _ => Vec::new(),
    }
}

fn elements(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(elements) | Value::Set(elements) => elements.clone(),
        _ => Vec::new(),
    }
}

fn text(value: &Value) -> String {
    String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Value {
        Value::Bulk(text.as_bytes().to_vec())
    }

    fn flat(fields: &[(&str, Value)]) -> Value {
        let element = |(name, value): &(&str, Value)| [word(name), value.clone()];
        Value::Array(fields.iter().flat_map(element).collect())
    }

    fn argument(name: &str, kind: &str, flags: &[&str], more: &[(&str, Value)]) -> Value {
        let mut fields = vec![("name", word(name)), ("type", word(kind))];
        if !flags.is_empty() {
            let flags = flags.iter().map(|flag| word(flag)).collect();
            fields.push(("flags", Value::Array(flags)));
        }
        fields.extend_from_slice(more);
        flat(&fields)
    }

    fn docs() -> Docs {
        let seconds = argument("seconds", "integer", &[], &[("token", word("EX"))]);
        let keep = argument("keepttl", "pure-token", &[], &[("token", word("KEEPTTL"))]);
        let expiry = argument(
            "expiration",
            "oneof",
            &["optional"],
            &[("arguments", Value::Array(vec![seconds, keep]))],
        );
        let arguments = Value::Array(vec![
            argument("key", "key", &[], &[]),
            argument("value", "string", &[], &[]),
            expiry,
        ]);
        let set = flat(&[
            ("summary", word("Sets a value.")),
            ("since", word("1.0.0")),
            ("group", word("string")),
            ("arguments", arguments),
        ]);
        let names = argument("parameter", "string", &["multiple"], &[]);
        let get = flat(&[
            ("summary", word("Reads settings.")),
            ("group", word("server")),
            ("arguments", Value::Array(vec![names])),
        ]);
        let config = flat(&[
            ("summary", word("Settings.")),
            ("group", word("server")),
            ("subcommands", flat(&[("config|get", get)])),
        ]);
        Docs::new(&flat(&[("set", set), ("config", config)]))
    }

    fn hint(line: &str) -> Option<String> {
        docs().hint(&line.split(' ').map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn hints_are_what_is_left() {
        let all = "key value [EX seconds|KEEPTTL]";
        assert_eq!(hint("set").as_deref(), Some(all));
        assert_eq!(hint("SET a").as_deref(), Some("value [EX seconds|KEEPTTL]"));
        assert_eq!(hint("set a b").as_deref(), Some("[EX seconds|KEEPTTL]"));
        assert_eq!(hint("set a b keepttl").as_deref(), Some(""));
        assert_eq!(hint("config get").as_deref(), Some("parameter [parameter ...]"));
        assert_eq!(hint("config get a").as_deref(), Some("parameter [parameter ...]"));
        assert_eq!(hint("nonsense"), None);
    }

    #[test]
    fn help_is_on_a_command_its_subcommands_or_a_group() {
        let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
        let help = docs().help(&words("set"));
        assert!(help.starts_with("\r\n  \x1b[1mSET\x1b[0m \x1b[90mkey value [EX"), "{help}");
        assert!(help.contains("\x1b[33mgroup:\x1b[0m string\r\n\r\n"), "{help}");
        let help = docs().help(&words("config"));
        assert!(help.contains("CONFIG\x1b") && help.contains("CONFIG GET"), "{help}");
        let help = docs().help(&words("@string"));
        assert!(help.contains("SET") && !help.contains("group:"), "{help}");
        assert_eq!(docs().help(&words("nonsense")), "\r\n");
    }

    #[test]
    fn names_complete_in_the_case_that_was_typed() {
        assert_eq!(docs().names("co"), ["config", "config get"]);
        assert_eq!(docs().names("S"), ["SET"]);
        assert_eq!(docs().topics("@s"), ["@server", "@string"]);
    }
}
