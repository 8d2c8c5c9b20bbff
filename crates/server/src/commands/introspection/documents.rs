//! A command as `COMMAND DOCS` documents it.

use resp::reply::Reply;

use super::details;
use super::syntax::{self, Argument, Kind};
use crate::command::Command;

/// Documents a command: its name and a map, its subcommands included.
pub fn push(reply: &mut Reply<'_>, command: &Command) {
    let arguments = syntax::parse(command.doc.syntax);
    let fields =
        4 + usize::from(!arguments.is_empty()) + usize::from(!command.subcommands.is_empty());
    reply.bulk(command.name.as_bytes());
    reply.map(fields);
    for (field, text) in [
        ("summary", command.doc.summary),
        ("since", command.doc.since),
        ("group", command.doc.group),
        ("complexity", command.doc.complexity),
    ] {
        reply.bulk(field.as_bytes());
        reply.bulk(text.as_bytes());
    }
    if !arguments.is_empty() {
        let mut keys = Keys { seen: 0, specs: details::key_spec_count(command) };
        reply.bulk(b"arguments");
        push_arguments(reply, &arguments, &mut keys);
    }
    if !command.subcommands.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(command.subcommands.len());
        command.subcommands.iter().for_each(|subcommand| push(reply, subcommand));
    }
}

/// Which key specification the next key argument belongs to.
struct Keys {
    seen: usize,
    specs: usize,
}

fn push_arguments(reply: &mut Reply<'_>, arguments: &[Argument], keys: &mut Keys) {
    reply.array(arguments.len());
    for argument in arguments {
        push_argument(reply, argument, keys);
    }
}

fn push_argument(reply: &mut Reply<'_>, argument: &Argument, keys: &mut Keys) {
    let (type_name, inner) = match &argument.kind {
        // A name that is a key elsewhere is plain text in a command without keys.
        Kind::Key if keys.specs == 0 => ("string", None),
        Kind::Key => ("key", None),
        Kind::String => ("string", None),
        Kind::Integer => ("integer", None),
        Kind::Double => ("double", None),
        Kind::Pattern => ("pattern", None),
        Kind::UnixTime => ("unix-time", None),
        Kind::PureToken => ("pure-token", None),
        Kind::OneOf(inner) => ("oneof", Some(inner)),
        Kind::Block(inner) => ("block", Some(inner)),
    };
    let flags: Vec<&str> = [
        ("optional", argument.is_optional),
        ("multiple", argument.is_multiple),
        ("multiple_token", argument.is_token_multiple),
    ]
    .into_iter()
    .filter_map(|(name, is_set)| is_set.then_some(name))
    .collect();
    let is_key = type_name == "key";
    // The display text stands where there are no inner arguments, so it is either or.
    let fields = 3
        + usize::from(is_key)
        + usize::from(argument.token.is_some())
        + usize::from(!flags.is_empty());
    reply.map(fields);
    push_field(reply, "name", &argument.name);
    push_field(reply, "type", type_name);
    if inner.is_none() {
        push_field(reply, "display_text", &argument.name);
    }
    if is_key {
        reply.bulk(b"key_spec_index");
        reply.count(keys.seen.min(keys.specs - 1));
        keys.seen += 1;
    }
    if let Some(token) = &argument.token {
        push_field(reply, "token", token);
    }
    if !flags.is_empty() {
        reply.bulk(b"flags");
        details::push_words(reply, &flags);
    }
    if let Some(inner) = inner {
        reply.bulk(b"arguments");
        push_arguments(reply, inner, keys);
    }
}

fn push_field(reply: &mut Reply<'_>, name: &str, value: &str) {
    reply.bulk(name.as_bytes());
    reply.bulk(value.as_bytes());
}
