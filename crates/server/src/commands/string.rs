//! Strings: the commands on values that are bytes or a number.

use engine::{Db, Expiry, Key, StringRef};
use resp::args::Args;
use resp::reply::Reply;

use crate::command::{Command, Doc, Flags, Handler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;

fn get(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let found = db.string(context.clock, key)?;
    context.count_lookup(found.is_some());
    bulk_or_null(reply, found);
    Ok(Effect::NONE)
}

fn set(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let displaced = db.set_string(context.clock, key, args.at(2), Expiry::Clear);
    context.discard(displaced);
    reply.ok();
    Ok(Effect::changed(1))
}

/// Answers a string as a bulk, the null if there is none.
fn bulk_or_null(reply: &mut Reply<'_>, string: Option<StringRef<'_>>) {
    match string {
        None => reply.null(),
        Some(StringRef::Int(number)) => reply.bulk_integer(number),
        Some(StringRef::Inline(bytes)) => reply.bulk(bytes),
        Some(StringRef::Shared(bytes)) => reply.bulk_shared(bytes),
    }
}

/// The string family.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "get",
        arity: 2,
        flags: Flags::READONLY.union(Flags::FAST),
        keys: KeySpec::FIRST,
        categories: &["string"],
        doc: Doc {
            syntax: "key",
            summary: "Returns the string at a key.",
            since: "1.0.0",
            group: "string",
            complexity: "O(1)",
        },
        handler: Handler::Key(get),
        subcommands: &[],
    },
    Command {
        name: "set",
        arity: -3,
        flags: Flags::WRITE.union(Flags::DENYOOM),
        keys: KeySpec::FIRST,
        categories: &["string"],
        doc: Doc {
            syntax: "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
            summary: "Sets a key to a string, with conditions and an expiry if asked for.",
            since: "1.0.0",
            group: "string",
            complexity: "O(1)",
        },
        handler: Handler::Key(set),
        subcommands: &[],
    },
];
