//! `DEBUG`: what tests of servers and of clients need, and nobody else; off unless the configuration
//! allows it.

use std::time::Duration;

use engine::{Expiry, Key, Keyspace, Whole};
use resp::args::Args;
use resp::reply::{Protocol, Reply};

use crate::arguments::{count, is_word};
use crate::command::{Command, Doc, Flags, Handler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, NO_SUCH_KEY};
use crate::help;
use crate::settings::Allowed;

const NOT_ALLOWED: CommandError = CommandError::fixed(
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can \
     run it from a local connection, otherwise you need to set this option in the configuration \
     file, and then restart the server.",
);
const WRONG_TYPE_NAME: CommandError = CommandError::fixed(
    "ERR Wrong protocol type name. Please use one of the following: \
     string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
);
const NEEDS_RESP3: CommandError = CommandError::fixed("ERR RESP2 is not supported by this command");

fn debug(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    if !is_allowed(context) {
        return Err(NOT_ALLOWED);
    }
    let name = args.at(1);
    let is = |word: &str, argument_counts: std::ops::RangeInclusive<usize>| {
        is_word(name, word) && argument_counts.contains(&args.len())
    };
    if is("help", 2..=2) {
        help::answer(context.command, HELP, reply);
    } else if is("sleep", 3..=3) {
        // Redis reads the number as C does: what is none is zero.
        let seconds = text::float::parse(args.at(2)).unwrap_or(0.0);
        std::thread::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        reply.ok();
    } else if is("set-active-expire", 3..=3) {
        let is_on = text::integer::parse_i64(args.at(2)).is_some_and(|number| number != 0);
        context.server.change_settings(|settings| settings.active_expire = is_on);
        reply.ok();
    } else if is("error", 3..=3) {
        reply.error(args.at(2));
    } else if is("object", 3..=4) {
        return object(context, keyspace, args.at(2), reply);
    } else if is("populate", 3..=5) {
        return populate(context, keyspace, args, reply);
    } else if is("protocol", 3..=3) {
        return protocol(args.at(2), reply);
    } else {
        let name = String::from_utf8_lossy(name);
        return Err(CommandError::new(format!(
            "ERR unknown subcommand or wrong number of arguments for '{name}'. Try DEBUG HELP."
        )));
    }
    Ok(Effect::NONE)
}

fn is_allowed(context: &Context<'_>) -> bool {
    match context.worker.settings.debug_command {
        Allowed::No => false,
        Allowed::Yes => true,
        Allowed::Local => context.client.shared.is_local(),
    }
}

/// Tells how a value is kept. What stands behind `serializedlength` is the size of the entry in
/// memory, the collection's own memory not included.
fn object(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    name: &[u8],
    reply: &mut Reply<'_>,
) -> Outcome {
    let key = Key::new(name);
    let mut shard = keyspace.lock(Keyspace::shard_of(key.hash));
    let db = shard.db(context.client.db_index);
    let entry = db.peek(context.clock, key).ok_or(NO_SUCH_KEY)?;
    let idle_s = ((context.clock.now_ms / 1000) as u32).wrapping_sub(entry.access_s());
    let text = format!(
        "Value at:{:#x} refcount:1 encoding:{} serializedlength:{} lru:{} lru_seconds_idle:{idle_s}",
        entry.key().as_ptr().addr(),
        entry.encoding(),
        entry.allocated_bytes(),
        entry.access_s(),
    );
    reply.simple(text.as_bytes());
    Ok(Effect::NONE)
}

/// Makes keys `PREFIX:0` and so on with values `value:0` and so on, which are padded with zero bytes
/// or cut to a length if one is given; keys that are there stay.
fn populate(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let keys = count(args.at(2))?;
    let prefix = args.get(3).unwrap_or(b"key");
    let length = args.get(4).map(count).transpose()?.filter(|&length| length > 0);
    if length.is_some_and(|length| length > context.worker.settings.bulk_bytes_max) {
        return Err(crate::error::STRING_TOO_LONG);
    }
    let mut made = 0;
    for number in 0..keys {
        let name = [prefix, format!(":{number}").as_bytes()].concat();
        let key = Key::new(&name);
        let mut shard = keyspace.lock(Keyspace::shard_of(key.hash));
        let db = shard.db(context.client.db_index);
        if db.contains(context.clock, key) {
            continue;
        }
        let mut value = format!("value:{number}").into_bytes();
        if let Some(length) = length {
            value.resize(length, 0);
        }
        // A key that was not there displaces nothing.
        let _ = db.set_string(context.clock, key, &value, Expiry::Clear);
        made += 1;
    }
    reply.ok();
    Ok(Effect::changed(made))
}

/// Answers a value of each type of the protocol, for tests of clients.
#[expect(clippy::approx_constant, reason = "it is the number that Redis answers")]
fn protocol(type_name: &[u8], reply: &mut Reply<'_>) -> Outcome {
    if is_word(type_name, "string") {
        reply.bulk(b"Hello World");
    } else if is_word(type_name, "integer") {
        reply.integer(12345);
    } else if is_word(type_name, "double") {
        reply.double(3.141);
    } else if is_word(type_name, "null") {
        reply.null();
    } else if is_word(type_name, "array") {
        reply.array(3);
        (0..3).for_each(|number| reply.integer(number));
    } else if is_word(type_name, "set") {
        reply.set(3);
        (0..3).for_each(|number| reply.integer(number));
    } else if is_word(type_name, "map") {
        reply.map(3);
        (0..3).for_each(|number| {
            reply.integer(number);
            reply.boolean(number == 1);
        });
    } else if is_word(type_name, "attrib") {
        if reply.attribute(1) {
            reply.bulk(b"key-popularity");
            reply.array(2);
            reply.bulk(b"key:123");
            reply.integer(90);
        }
        reply.bulk(b"Some real reply following the attribute");
    } else if is_word(type_name, "push") {
        if reply.protocol() == Protocol::Resp2 {
            return Err(NEEDS_RESP3);
        }
        reply.push(2);
        reply.bulk(b"server-cpu-usage");
        reply.integer(42);
        reply.bulk(b"Some real reply following the push reply");
    } else if is_word(type_name, "true") {
        reply.boolean(true);
    } else if is_word(type_name, "false") {
        reply.boolean(false);
    } else if is_word(type_name, "verbatim") {
        reply.verbatim(*b"txt", b"This is a verbatim\nstring");
    } else if is_word(type_name, "bignum") {
        reply.big_number(b"1234567999999999999999999999999999999");
    } else {
        return Err(WRONG_TYPE_NAME);
    }
    Ok(Effect::NONE)
}

const HELP: &[&str] = &[
    "ERROR <string>",
    "    Answer an error with this text.",
    "OBJECT <key>",
    "    Tell how the value of a key is kept.",
    "POPULATE <count> [<prefix>] [<size>]",
    "    Make so many keys with string values.",
    "PROTOCOL <type>",
    "    Answer a value of this type of the protocol.",
    "SET-ACTIVE-EXPIRE <0|1>",
    "    Whether expired keys are looked for in the background.",
    "SLEEP <seconds>",
    "    Stop the worker that serves this connection for so long.",
];

/// The one command for tests.
pub const COMMANDS: &[Command] = &[Command {
    name: "debug",
    arity: -2,
    flags: Flags::ADMIN.union(Flags::NOSCRIPT).union(Flags::LOADING).union(Flags::STALE),
    keys: KeySpec::NONE,
    categories: &[],
    doc: Doc {
        syntax: "subcommand [argument [argument ...]]",
        summary: "Helps tests.",
        since: "1.0.0",
        group: "server",
        complexity: "Depends on subcommand.",
    },
    handler: Handler::Server(debug),
    subcommands: &[],
}];
