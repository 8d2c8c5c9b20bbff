//! A command as `COMMAND INFO` describes it.

use resp::reply::Reply;

use super::facts;
use crate::command::{Command, Flags, KeySpec};

/// The categories in the order in which they are told.
const CATEGORIES: &[&str] = &[
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// Describes a command, its subcommands included.
pub fn push(reply: &mut Reply<'_>, command: &Command) {
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.integer(command.arity.into());
    let flags: Vec<&str> = Flags::NAMES
        .iter()
        .filter_map(|&(flag, name)| command.flags.contains(flag).then_some(name))
        .collect();
    push_words(reply, &flags);
    reply.integer(command.keys.first.into());
    reply.integer(command.keys.last.into());
    reply.integer(command.keys.step.into());
    let categories: Vec<String> = categories(command).map(|name| format!("@{name}")).collect();
    push_words(reply, &categories);
    let hints = facts::hints(command.name);
    reply.set(hints.len());
    hints.iter().for_each(|hint| reply.bulk(hint.as_bytes()));
    push_key_specs(reply, command);
    if command.subcommands.is_empty() {
        reply.set(0);
    } else {
        reply.array(command.subcommands.len());
        command.subcommands.iter().for_each(|subcommand| push(reply, subcommand));
    }
}

/// The `ACL` categories of a command: its row's, and those that follow from its flags.
pub fn categories(command: &Command) -> impl Iterator<Item = &'static str> {
    CATEGORIES.iter().copied().filter(|category| {
        let follows = match *category {
            "read" => command.flags.contains(Flags::READONLY),
            "write" => command.flags.contains(Flags::WRITE),
            "admin" | "dangerous" => command.flags.contains(Flags::ADMIN),
            "pubsub" => command.flags.contains(Flags::PUBSUB),
            "fast" => command.flags.contains(Flags::FAST),
            "slow" => !command.flags.contains(Flags::FAST),
            "blocking" => command.flags.contains(Flags::BLOCKING),
            _ => false,
        };
        follows || command.categories.contains(category)
    })
}

/// How many key specifications a command has.
pub fn key_spec_count(command: &Command) -> usize {
    if command.keys == KeySpec::NONE { 0 } else { facts::key_uses(command).len() }
}

fn push_key_specs(reply: &mut Reply<'_>, command: &Command) {
    let count = key_spec_count(command);
    reply.set(count);
    for (place, uses) in facts::key_uses(command).iter().take(count).enumerate() {
        let notes = facts::key_notes(command.name);
        reply.map(3 + usize::from(notes.is_some()));
        if let Some(notes) = notes {
            reply.bulk(b"notes");
            reply.bulk(notes.as_bytes());
        }
        reply.bulk(b"flags");
        push_words(reply, uses);
        let keys = command.keys;
        let first = i64::from(keys.first) + place as i64 * i64::from(keys.step);
        // The last key counts from the first; where each key has a specification, it is the first.
        let last = match i64::from(keys.last) {
            _ if count > 1 => 0,
            last @ ..0 => last,
            last => last - first,
        };
        reply.bulk(b"begin_search");
        reply.map(2);
        reply.bulk(b"type");
        reply.bulk(b"index");
        reply.bulk(b"spec");
        reply.map(1);
        reply.bulk(b"index");
        reply.integer(first);
        reply.bulk(b"find_keys");
        reply.map(2);
        reply.bulk(b"type");
        reply.bulk(b"range");
        reply.bulk(b"spec");
        reply.map(3);
        reply.bulk(b"lastkey");
        reply.integer(last);
        reply.bulk(b"keystep");
        reply.integer(keys.step.into());
        reply.bulk(b"limit");
        reply.integer(0);
    }
}

/// A set of words as statuses, which is how flags are told.
pub fn push_words(reply: &mut Reply<'_>, words: &[impl AsRef<str>]) {
    reply.set(words.len());
    words.iter().for_each(|word| reply.simple(word.as_ref().as_bytes()));
}
