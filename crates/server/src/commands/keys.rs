//! Keys: the commands that work on keys whatever their values are.

mod expiry;
mod search;

use engine::{Db, Key};
use resp::args::Args;
use resp::reply::Reply;

use crate::command::{Command, Family, Flags, Handler, KeySpec, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, NO_SUCH_KEY};
use crate::help;

const NO_FREQUENCIES: CommandError = CommandError::fixed(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that \
     when switching between policies at runtime LRU and LFU data will take some time to adjust.",
);

/// `DEL` and `UNLINK`: values are freed when no lock is held, whichever of the two is asked for.
fn del(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut count = 0;
    for place in 0..locked.key_count() {
        let key = locked.key(place);
        let removed = locked.db(key).remove(context.clock, key);
        if removed.is_some() {
            locked.note_changed(place);
            count += 1;
        }
        context.discard(removed);
    }
    reply.count(count);
    Ok(Effect::changed(count))
}

fn exists(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    count_keys(context, locked, reply, |db, context, key| db.contains(context.clock, key))
}

fn touch(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    count_keys(context, locked, reply, |db, context, key| db.get(context.clock, key).is_some())
}

/// Answers for how many of the command's keys `is_there` holds; a repeated key counts again.
fn count_keys(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    reply: &mut Reply<'_>,
    is_there: impl Fn(&mut Db, &Context<'_>, Key<'_>) -> bool,
) -> Outcome {
    let mut count = 0;
    for place in 0..locked.key_count() {
        let key = locked.key(place);
        let is_hit = is_there(locked.db(key), context, key);
        context.count_lookup(is_hit);
        count += usize::from(is_hit);
    }
    reply.count(count);
    Ok(Effect::NONE)
}

fn type_of(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let found = db.peek(context.clock, key).map(|entry| entry.value().kind().name());
    context.count_lookup(found.is_some());
    reply.simple(found.unwrap_or("none").as_bytes());
    Ok(Effect::NONE)
}

fn rename(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (source, target) = (locked.key(0), locked.key(1));
    if !locked.db(source).contains(context.clock, source) {
        return Err(NO_SUCH_KEY);
    }
    let is_moved = source.bytes != target.bytes;
    if is_moved {
        relocate(context, locked, source, target);
    }
    reply.ok();
    Ok(Effect::changed_if(is_moved))
}

fn renamenx(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (source, target) = (locked.key(0), locked.key(1));
    if !locked.db(source).contains(context.clock, source) {
        return Err(NO_SUCH_KEY);
    }
    let is_moved = !locked.db(target).contains(context.clock, target);
    if is_moved {
        relocate(context, locked, source, target);
    }
    reply.integer(i64::from(is_moved));
    Ok(Effect::changed_if(is_moved))
}

/// Puts the value of `source` and its expiry in the place of what `target` has.
fn relocate(context: &mut Context<'_>, locked: &mut Locked<'_>, source: Key<'_>, target: Key<'_>) {
    let clock = context.clock;
    let entry = locked.db(source).remove(clock, source).expect("the caller has seen the key");
    let expiry_ms = entry.expiry_ms();
    let displaced = locked.db(target).put(clock, target, entry.rebuilt(target.bytes, expiry_ms));
    context.discard(displaced);
}

fn object_encoding(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let encoding = db.peek(context.clock, key).map(engine::Entry::encoding);
    context.count_lookup(encoding.is_some());
    match encoding {
        None => reply.null(),
        Some(encoding) => reply.bulk(encoding.as_bytes()),
    }
    Ok(Effect::NONE)
}

fn object_freq(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let is_there = db.contains(context.clock, key);
    context.count_lookup(is_there);
    if is_there {
        return Err(NO_FREQUENCIES);
    }
    reply.null();
    Ok(Effect::NONE)
}

fn object_idletime(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let now_s = (context.clock.now_ms / 1000) as u32;
    let idle_s = db.peek(context.clock, key).map(|entry| now_s.saturating_sub(entry.access_s()));
    context.count_lookup(idle_s.is_some());
    match idle_s {
        None => reply.null(),
        Some(idle_s) => reply.integer(i64::from(idle_s)),
    }
    Ok(Effect::NONE)
}

/// `OBJECT REFCOUNT`: nothing but the key refers to its value, as in the newest servers, which
/// share no small numbers any more.
fn object_refcount(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let is_there = db.contains(context.clock, key);
    context.count_lookup(is_there);
    if is_there {
        reply.integer(1)
    } else {
        reply.null()
    }
    Ok(Effect::NONE)
}

fn object_help(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    const LINES: &[&str] = &[
        "ENCODING <key>",
        "    Name the encoding of the value at <key>.",
        "FREQ <key>",
        "    Tell how often <key> is used, on a logarithmic scale.",
        "IDLETIME <key>",
        "    Tell for how many seconds <key> was not used.",
        "REFCOUNT <key>",
        "    Tell how many hold the value at <key>.",
    ];
    help::answer(context.command, LINES, reply);
    Ok(Effect::NONE)
}

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE: Flags = Flags::WRITE;
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
/// The key behind a subcommand's name.
const SECOND: KeySpec = KeySpec { first: 2, last: 2, step: 1, counted: 0 };

const FAMILY: Family = Family { group: "generic", categories: &["keyspace"] };

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    keys: KeySpec,
    about: [&'static str; 4],
    handler: Handler,
) -> Command {
    FAMILY.row(name, arity, flags, keys, about, handler)
}

/// The commands on keys.
pub const COMMANDS: &[Command] = &[
    row(
        "del",
        -2,
        WRITE,
        KeySpec::ALL,
        ["key [key ...]", "Deletes keys.", "1.0.0", "O(N) in the number of keys"],
        Handler::Keys(del),
    ),
    row(
        "unlink",
        -2,
        WRITE_FAST,
        KeySpec::ALL,
        [
            "key [key ...]",
            "Deletes keys without waiting for their memory to be freed.",
            "4.0.0",
            "O(N) in the number of keys",
        ],
        Handler::Keys(del),
    ),
    row(
        "exists",
        -2,
        READ_FAST,
        KeySpec::ALL,
        ["key [key ...]", "Counts which of the keys exist.", "1.0.0", "O(N) in the number of keys"],
        Handler::Keys(exists),
    ),
    row(
        "touch",
        -2,
        READ_FAST,
        KeySpec::ALL,
        [
            "key [key ...]",
            "Notes an access to keys and counts those that exist.",
            "3.2.1",
            "O(N) in the number of keys",
        ],
        Handler::Keys(touch),
    ),
    row(
        "type",
        2,
        READ_FAST,
        KeySpec::FIRST,
        ["key", "Tells the type of the value at a key.", "1.0.0", "O(1)"],
        Handler::Key(type_of),
    ),
    row(
        "expire",
        -3,
        WRITE_FAST,
        KeySpec::FIRST,
        ["key seconds [NX | XX | GT | LT]", "Lets a key expire in some seconds.", "1.0.0", "O(1)"],
        Handler::Key(expiry::expire),
    ),
    row(
        "pexpire",
        -3,
        WRITE_FAST,
        KeySpec::FIRST,
        [
            "key milliseconds [NX | XX | GT | LT]",
            "Lets a key expire in some milliseconds.",
            "2.6.0",
            "O(1)",
        ],
        Handler::Key(expiry::pexpire),
    ),
    row(
        "expireat",
        -3,
        WRITE_FAST,
        KeySpec::FIRST,
        [
            "key unix-time-seconds [NX | XX | GT | LT]",
            "Lets a key expire at a Unix time in seconds.",
            "1.2.0",
            "O(1)",
        ],
        Handler::Key(expiry::expireat),
    ),
    row(
        "pexpireat",
        -3,
        WRITE_FAST,
        KeySpec::FIRST,
        [
            "key unix-time-milliseconds [NX | XX | GT | LT]",
            "Lets a key expire at a Unix time in milliseconds.",
            "2.6.0",
            "O(1)",
        ],
        Handler::Key(expiry::pexpireat),
    ),
    row(
        "ttl",
        2,
        READ_FAST,
        KeySpec::FIRST,
        ["key", "Tells in how many seconds a key expires.", "1.0.0", "O(1)"],
        Handler::Key(expiry::ttl),
    ),
    row(
        "pttl",
        2,
        READ_FAST,
        KeySpec::FIRST,
        ["key", "Tells in how many milliseconds a key expires.", "2.6.0", "O(1)"],
        Handler::Key(expiry::pttl),
    ),
    row(
        "expiretime",
        2,
        READ_FAST,
        KeySpec::FIRST,
        ["key", "Tells the Unix time in seconds at which a key expires.", "7.0.0", "O(1)"],
        Handler::Key(expiry::expiretime),
    ),
    row(
        "pexpiretime",
        2,
        READ_FAST,
        KeySpec::FIRST,
        ["key", "Tells the Unix time in milliseconds at which a key expires.", "7.0.0", "O(1)"],
        Handler::Key(expiry::pexpiretime),
    ),
    row(
        "persist",
        2,
        WRITE_FAST,
        KeySpec::FIRST,
        ["key", "Takes the expiry from a key.", "2.2.0", "O(1)"],
        Handler::Key(expiry::persist),
    ),
    Command {
        categories: &["keyspace", "dangerous"],
        ..row(
            "keys",
            2,
            READ,
            KeySpec::NONE,
            [
                "pattern",
                "Lists the keys that match a pattern.",
                "1.0.0",
                "O(N) in the number of keys of the database",
            ],
            Handler::Server(search::keys),
        )
    },
    row(
        "scan",
        -2,
        READ,
        KeySpec::NONE,
        [
            "cursor [MATCH pattern] [COUNT count] [TYPE type]",
            "Walks through the keys step by step.",
            "2.8.0",
            "O(1) a step, O(N) for a whole walk",
        ],
        Handler::Server(search::scan),
    ),
    row(
        "randomkey",
        1,
        READ,
        KeySpec::NONE,
        ["", "Returns a key drawn at random.", "1.0.0", "O(1)"],
        Handler::Server(search::randomkey),
    ),
    row(
        "rename",
        3,
        WRITE,
        KeySpec::FIRST_TWO,
        [
            "key newkey",
            "Gives a key another name, in the place of any that has it.",
            "1.0.0",
            "O(1)",
        ],
        Handler::Keys(rename),
    ),
    row(
        "renamenx",
        3,
        WRITE_FAST,
        KeySpec::FIRST_TWO,
        ["key newkey", "Gives a key another name that no key has.", "1.0.0", "O(1)"],
        Handler::Keys(renamenx),
    ),
    Command {
        categories: &[],
        subcommands: OBJECT,
        ..row(
            "object",
            -2,
            Flags::empty(),
            KeySpec::NONE,
            [
                "",
                "A container for commands that look inside keys.",
                "2.2.3",
                "depends on the subcommand",
            ],
            Handler::CONTAINER,
        )
    },
];

const OBJECT: &[Command] = &[
    row(
        "object|encoding",
        3,
        READ,
        SECOND,
        ["key", "Tells the encoding of the value at a key.", "2.2.3", "O(1)"],
        Handler::Key(object_encoding),
    ),
    row(
        "object|freq",
        3,
        READ,
        SECOND,
        ["key", "Tells how often a key is used, on a logarithmic scale.", "4.0.0", "O(1)"],
        Handler::Key(object_freq),
    ),
    row(
        "object|help",
        2,
        Flags::LOADING.union(Flags::STALE),
        KeySpec::NONE,
        ["", "Lists the subcommands.", "6.2.0", "O(1)"],
        Handler::Connection(object_help),
    ),
    row(
        "object|idletime",
        3,
        READ,
        SECOND,
        ["key", "Tells for how many seconds a key was not used.", "2.2.3", "O(1)"],
        Handler::Key(object_idletime),
    ),
    row(
        "object|refcount",
        3,
        READ,
        SECOND,
        ["key", "Tells how many hold the value at a key.", "2.2.3", "O(1)"],
        Handler::Key(object_refcount),
    ),
];
