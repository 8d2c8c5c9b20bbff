//! The reply to `CONTAINER HELP`, in the shape that all of Redis's help texts share.

use resp::reply::Reply;

use crate::command::Command;

/// Answers the help of the container of `command`, its `HELP` subcommand: a heading, `lines` (each
/// subcommand's form, then what it does behind four spaces), and the line on `HELP` itself.
pub fn answer(command: &Command, lines: &[&str], reply: &mut Reply<'_>) {
    let (container, _) = command.name.split_once('|').unwrap_or((command.name, ""));
    let container = container.to_ascii_uppercase();
    reply.array(lines.len() + 3);
    let heading = format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    reply.simple(heading.as_bytes());
    for line in lines {
        reply.simple(line.as_bytes());
    }
    reply.simple(b"HELP");
    reply.simple(b"    Prints this help.");
}
