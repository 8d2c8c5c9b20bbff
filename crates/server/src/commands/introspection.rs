//! `COMMAND`: what the server says of its own commands.

mod details;
mod documents;
mod facts;
mod syntax;

use resp::args::Args;
use resp::reply::{Aggregate, Reply};
use text::glob::{self, Case};

use crate::arguments::is_word;
use crate::command::{Command, CommandTable, Doc, Flags, Handler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};
use crate::help;

const INVALID_COMMAND: CommandError = CommandError::fixed("ERR Invalid command specified");
const NO_KEYS: CommandError = CommandError::fixed("ERR The command has no key arguments");
const INVALID_ARITY: CommandError =
    CommandError::fixed("ERR Invalid number of arguments specified for command");

fn command(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let commands = context.server.commands.iter();
    reply.array(commands.len());
    commands.for_each(|command| details::push(reply, command));
    Ok(Effect::NONE)
}

fn count(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.count(context.server.commands.iter().len());
    Ok(Effect::NONE)
}

fn info(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() == 2 {
        return command(context, args, reply);
    }
    reply.array(args.len() - 2);
    for name in args.iter().skip(2) {
        match find(&context.server.commands, name) {
            Some(command) => details::push(reply, command),
            None => reply.null(),
        }
    }
    Ok(Effect::NONE)
}

fn docs(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let table = &context.server.commands;
    let wanted: Vec<&Command> = if args.len() == 2 {
        table.iter().collect()
    } else {
        args.iter().skip(2).filter_map(|name| find(table, name)).collect()
    };
    reply.map(wanted.len());
    wanted.into_iter().for_each(|command| documents::push(reply, command));
    Ok(Effect::NONE)
}

fn list(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let filter = match (args.len(), args.get(2), args.get(3), args.get(4)) {
        (2, ..) => Filter::All,
        (5, Some(word), Some(kind), Some(value)) if is_word(word, "filterby") => {
            if is_word(kind, "module") {
                Filter::Nothing
            } else if is_word(kind, "aclcat") {
                Filter::Category(value)
            } else if is_word(kind, "pattern") {
                Filter::Pattern(value)
            } else {
                return Err(SYNTAX);
            }
        }
        _ => return Err(SYNTAX),
    };
    let listed = reply.deferred(Aggregate::Array);
    let mut listed_count = 0;
    let all = context.server.commands.iter();
    for command in all.flat_map(|command| std::iter::once(command).chain(command.subcommands)) {
        if filter.selects(command) {
            reply.bulk(command.name.as_bytes());
            listed_count += 1;
        }
    }
    reply.finish(listed, listed_count);
    Ok(Effect::NONE)
}

/// Which commands `COMMAND LIST` names.
enum Filter<'a> {
    All,
    /// Those of a module: there are no modules.
    Nothing,
    Category(&'a [u8]),
    Pattern(&'a [u8]),
}

impl Filter<'_> {
    fn selects(&self, command: &Command) -> bool {
        match self {
            Filter::All => true,
            Filter::Nothing => false,
            Filter::Category(name) => {
                details::categories(command).any(|category| is_word(name, category))
            }
            Filter::Pattern(pattern) => {
                glob::matches(pattern, command.name.as_bytes(), Case::Insensitive)
            }
        }
    }
}

fn get_keys(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (command, call) = called(context, args)?;
    let indexes: Vec<usize> = command.keys.indexes(call).collect();
    reply.array(indexes.len());
    indexes.into_iter().for_each(|index| reply.bulk(call.at(index)));
    Ok(Effect::NONE)
}

fn get_keys_and_flags(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (command, call) = called(context, args)?;
    let uses = facts::key_uses(command);
    let indexes: Vec<usize> = command.keys.indexes(call).collect();
    reply.array(indexes.len());
    for (place, index) in indexes.into_iter().enumerate() {
        reply.array(2);
        reply.bulk(call.at(index));
        let uses = match command.name {
            // What SET does to its key depends on one of its options.
            "set" if call.iter().skip(3).any(|option| is_word(option, "get")) => {
                &["RW", "access", "update"]
            }
            "set" => &["OW", "update"][..],
            _ => uses[place.min(uses.len() - 1)],
        };
        details::push_words(reply, uses);
    }
    Ok(Effect::NONE)
}

/// The command whose call stands behind the subcommand's name, and that call.
fn called<'a>(
    context: &Context<'_>,
    args: Args<'a>,
) -> Result<(&'static Command, Args<'a>), CommandError> {
    let call = args.skip(2);
    let command = context.server.commands.find(call.at(0)).ok_or(INVALID_COMMAND)?;
    let command = match call.get(1) {
        Some(name) if !command.subcommands.is_empty() => {
            subcommand(command, name).ok_or(INVALID_COMMAND)?
        }
        _ => command,
    };
    if command.keys == KeySpec::NONE {
        return Err(NO_KEYS);
    }
    if command.refuses_arity(call.len()) {
        return Err(INVALID_ARITY);
    }
    Ok((command, call))
}

/// The command of a name, which may be `container|subcommand`.
fn find(table: &CommandTable, name: &[u8]) -> Option<&'static Command> {
    match name.iter().position(|&byte| byte == b'|') {
        None => table.find(name),
        Some(bar) => subcommand(table.find(&name[..bar])?, &name[bar + 1..]),
    }
}

fn subcommand(container: &'static Command, name: &[u8]) -> Option<&'static Command> {
    let is_named = |command: &&Command| {
        command.name.split_once('|').is_some_and(|(_, own)| is_word(name, own))
    };
    container.subcommands.iter().find(is_named)
}

fn answer_help(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    help::answer(context.command, HELP, reply);
    Ok(Effect::NONE)
}

const HELP: &[&str] = &[
    "(no subcommand)",
    "    Describe all commands.",
    "COUNT",
    "    Count the commands.",
    "DOCS [<command-name> ...]",
    "    Document these commands, or all.",
    "GETKEYS <full-command>",
    "    Find the keys in a command.",
    "GETKEYSANDFLAGS <full-command>",
    "    Find the keys in a command, and what it does to them.",
    "INFO [<command-name> ...]",
    "    Describe these commands, or all.",
    "LIST [FILTERBY (MODULE|ACLCAT|PATTERN) <value>]",
    "    Name the commands.",
];

const FLAGS: Flags = Flags::LOADING.union(Flags::STALE);

const fn row(
    name: &'static str,
    arity: i16,
    doc: Doc,
    handler: fn(&mut Context<'_>, Args<'_>, &mut Reply<'_>) -> Outcome,
) -> Command {
    Command {
        name,
        arity,
        flags: FLAGS,
        keys: KeySpec::NONE,
        categories: &["connection"],
        doc,
        handler: Handler::Connection(handler),
        subcommands: &[],
    }
}

const fn doc(
    syntax: &'static str,
    summary: &'static str,
    since: &'static str,
    complexity: &'static str,
) -> Doc {
    Doc { syntax, summary, since, group: "server", complexity }
}

const SUBCOMMANDS: &[Command] = &[
    row("command|count", 2, doc("", "Counts the commands.", "2.8.13", "O(1)"), count),
    row(
        "command|docs",
        -2,
        doc(
            "[command-name [command-name ...]]",
            "Documents commands.",
            "7.0.0",
            "O(N) where N is the number of commands to look up",
        ),
        docs,
    ),
    row(
        "command|getkeys",
        -3,
        doc(
            "command [arg [arg ...]]",
            "Finds the keys in a command.",
            "2.8.13",
            "O(N) where N is the number of arguments to the command",
        ),
        get_keys,
    ),
    row(
        "command|getkeysandflags",
        -3,
        doc(
            "command [arg [arg ...]]",
            "Finds the keys in a command, and what it does to them.",
            "7.0.0",
            "O(N) where N is the number of arguments to the command",
        ),
        get_keys_and_flags,
    ),
    row("command|help", 2, doc("", "Lists the subcommands.", "5.0.0", "O(1)"), answer_help),
    row(
        "command|info",
        -2,
        doc(
            "[command-name [command-name ...]]",
            "Describes commands.",
            "2.8.13",
            "O(N) where N is the number of commands to look up",
        ),
        info,
    ),
    row(
        "command|list",
        -2,
        doc(
            "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
            "Names the commands.",
            "7.0.0",
            "O(N) where N is the total number of commands",
        ),
        list,
    ),
];

/// The commands on commands.
pub const COMMANDS: &[Command] = &[Command {
    subcommands: SUBCOMMANDS,
    ..row(
        "command",
        -1,
        doc(
            "",
            "Describes all commands.",
            "2.8.13",
            "O(N) where N is the total number of commands",
        ),
        command,
    )
}];
