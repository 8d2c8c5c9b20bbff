//! What a command is: one row of a table, from which lookup, gates, locking and `COMMAND` all read.
//!
//! A row stands at the bottom of its family's file in `commands/`. Its handler has one of four
//! shapes, and the shape tells the dispatcher what to lock.

use std::collections::HashMap;

use engine::keyspace::Shards;
use engine::{Db, Key, Whole};
use resp::args::Args;
use resp::reply::Reply;
use smallvec::SmallVec;

use crate::context::Context;
use crate::effects::Effect;
use crate::error::CommandError;

/// What a handler answers: what it changed, or the error to reply with. A handler that fails has
/// written no reply.
pub type Outcome = Result<Effect, CommandError>;

/// What runs a command on one key, whose shard is locked.
pub type KeyHandler = fn(&mut Context<'_>, &mut Db, Key<'_>, Args<'_>, &mut Reply<'_>) -> Outcome;

/// What runs a command on several keys, whose shards are locked.
pub type KeysHandler = fn(&mut Context<'_>, &mut Locked<'_>, Args<'_>, &mut Reply<'_>) -> Outcome;

/// How a command reaches its data.
#[derive(Clone, Copy)]
pub enum Handler {
    /// Touches the connection or the server's own state, no key.
    Connection(fn(&mut Context<'_>, Args<'_>, &mut Reply<'_>) -> Outcome),
    /// Works on the key at `first_key`; its shard is locked.
    Key(KeyHandler),
    /// Works on all keys that the key specification names; their shards are locked together.
    Keys(KeysHandler),
    /// Works on the whole keyspace, shard by shard.
    Server(fn(&mut Context<'_>, &mut Whole<'_>, Args<'_>, &mut Reply<'_>) -> Outcome),
    /// `EXEC`: runs the queued commands under the locks of all of them.
    Transaction,
}

impl Handler {
    /// The handler of a container that does nothing without a subcommand: its arity, -2, keeps
    /// calls without one away, and the gates put the subcommand's row in its place.
    pub const CONTAINER: Handler = Handler::Connection(refuse_bare_container);
}

/// The keys of a command that works on several, with their shards locked.
pub struct Locked<'a> {
    shards: Shards<'a>,
    db_index: usize,
    keys: &'a [Key<'a>],
    /// The places of the keys that changed, if they were told apart.
    changed: Option<SmallVec<[usize; 4]>>,
}

impl<'a> Locked<'a> {
    /// The keys `keys` of database `db_index`, whose shards are locked. Asks for the memory that
    /// looking them up will need: first all buckets, then all entries.
    pub fn new(shards: Shards<'a>, db_index: usize, keys: &'a [Key<'a>]) -> Locked<'a> {
        let mut locked = Locked { shards, db_index, keys, changed: None };
        if locked.keys.len() > 1 {
            for place in 0..locked.keys.len() {
                let key = locked.keys[place];
                locked.db(key).prefetch_bucket(key.hash);
            }
            for place in 0..locked.keys.len() {
                let key = locked.keys[place];
                locked.db(key).prefetch_entry(key.hash);
            }
        }
        locked
    }

    /// Notes that of the command's keys the one at `place` has changed, and that those which are
    /// never noted have not. Without a note all are taken to have changed where anything has.
    pub fn note_changed(&mut self, place: usize) {
        self.changed.get_or_insert_default().push(place);
    }

    /// The keys that a command which changed something has changed.
    pub fn changed_keys(&self) -> impl Iterator<Item = Key<'a>> {
        let places = match &self.changed {
            Some(places) => places.clone(),
            None => (0..self.keys.len()).collect(),
        };
        places.into_iter().map(|place| self.keys[place])
    }

    /// How many keys the command names, repeated ones as often as they stand there.
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }

    /// The key that stands at `place` among the command's keys, from 0; it is hashed already.
    pub fn key(&self, place: usize) -> Key<'a> {
        self.keys[place]
    }

    /// The database that holds `key`, one of the command's keys.
    pub fn db(&mut self, key: Key<'_>) -> &mut Db {
        self.shards.db(self.db_index, key)
    }

    /// The same database, for looking into several at once; `None` if it was never used.
    pub fn view(&self, key: Key<'_>) -> Option<&Db> {
        self.shards.view(self.db_index, key)
    }
}

/// Where the keys stand among the arguments: every `step`-th from `first` to `last`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeySpec {
    /// Index of the first key, 0 if there are none.
    pub first: u8,
    /// Index of the last key; negative counts from the end, -1 being the last argument.
    pub last: i8,
    /// Distance between keys.
    pub step: u8,
    /// Index of the argument that tells how many keys stand behind it, 0 if none does.
    pub counted: u8,
}

impl KeySpec {
    /// No keys.
    pub const NONE: KeySpec = KeySpec { first: 0, last: 0, step: 0, counted: 0 };
    /// The first argument is the only key.
    pub const FIRST: KeySpec = KeySpec { first: 1, last: 1, step: 1, counted: 0 };
    /// The first two arguments are keys.
    pub const FIRST_TWO: KeySpec = KeySpec { first: 1, last: 2, step: 1, counted: 0 };
    /// Every argument is a key.
    pub const ALL: KeySpec = KeySpec { first: 1, last: -1, step: 1, counted: 0 };
    /// Every second argument is a key (`MSET`).
    pub const PAIRS: KeySpec = KeySpec { first: 1, last: -1, step: 2, counted: 0 };

    /// The keys stand behind their number, which is argument `counted`.
    pub const fn counted(counted: u8) -> KeySpec {
        KeySpec { counted, ..KeySpec::NONE }
    }

    /// The first argument is a key; more stand behind their number, which is argument `counted`.
    pub const fn first_and_counted(counted: u8) -> KeySpec {
        KeySpec { counted, ..KeySpec::FIRST }
    }

    /// All arguments but the last are keys.
    pub const ALL_BUT_LAST: KeySpec = KeySpec { first: 1, last: -2, step: 1, counted: 0 };

    /// The indexes of the keys among these arguments. Where their number is no number, or too
    /// large, it stands for none: the command refuses it.
    #[inline]
    pub fn indexes(self, args: Args<'_>) -> impl Iterator<Item = usize> + use<> {
        let argument_count = args.len();
        let last = if self.last >= 0 {
            self.last as usize
        } else {
            argument_count.saturating_sub(self.last.unsigned_abs() as usize)
        };
        let first = if self.first == 0 { usize::MAX } else { self.first as usize };
        let fixed =
            (first..=last.min(argument_count.saturating_sub(1))).step_by(self.step.max(1) as usize);
        fixed.chain(self.counted_indexes(args))
    }

    fn counted_indexes(self, args: Args<'_>) -> std::ops::Range<usize> {
        let at = self.counted as usize;
        if at == 0 {
            return 0..0;
        }
        let count = args.get(at).and_then(text::integer::parse_i64);
        match count.and_then(|count| usize::try_from(count).ok()) {
            Some(count) if count < args.len() - at => at + 1..at + 1 + count,
            _ => 0..0,
        }
    }
}

bitflags::bitflags! {
    /// Properties of a command, as `COMMAND INFO` lists them.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Flags: u32 {
        /// May change data.
        const WRITE = 1;
        /// Only reads data.
        const READONLY = 1 << 1;
        /// May need memory, so refused when there is none left.
        const DENYOOM = 1 << 2;
        /// For administrators.
        const ADMIN = 1 << 3;
        /// Publishes or subscribes.
        const PUBSUB = 1 << 4;
        /// Not allowed in scripts.
        const NOSCRIPT = 1 << 5;
        /// May wait.
        const BLOCKING = 1 << 6;
        /// Allowed while the data set is loading.
        const LOADING = 1 << 7;
        /// Allowed on a stale replica.
        const STALE = 1 << 8;
        /// Not shown by `MONITOR`.
        const SKIP_MONITOR = 1 << 9;
        /// Not put into the slow log.
        const SKIP_SLOWLOG = 1 << 10;
        /// Takes constant or logarithmic time.
        const FAST = 1 << 11;
        /// Allowed before authentication.
        const NO_AUTH = 1 << 12;
        /// Not allowed inside `MULTI`.
        const NO_MULTI = 1 << 13;
        /// Keys depend on arguments beyond the key specification.
        const MOVABLE_KEYS = 1 << 14;
        /// Allowed while a script is busy.
        const ALLOW_BUSY = 1 << 15;
        /// Not worth propagating asynchronously under failure; see Redis's `no_async_loading`.
        const NO_ASYNC_LOADING = 1 << 16;
    }
}

impl Flags {
    /// The flags in the order and with the names in which `COMMAND INFO` answers them.
    pub const NAMES: &'static [(Flags, &'static str)] = &[
        (Flags::WRITE, "write"),
        (Flags::READONLY, "readonly"),
        (Flags::DENYOOM, "denyoom"),
        (Flags::ADMIN, "admin"),
        (Flags::PUBSUB, "pubsub"),
        (Flags::NOSCRIPT, "noscript"),
        (Flags::BLOCKING, "blocking"),
        (Flags::LOADING, "loading"),
        (Flags::STALE, "stale"),
        (Flags::SKIP_MONITOR, "skip_monitor"),
        (Flags::SKIP_SLOWLOG, "skip_slowlog"),
        (Flags::FAST, "fast"),
        (Flags::NO_AUTH, "no_auth"),
        (Flags::NO_ASYNC_LOADING, "no_async_loading"),
        (Flags::NO_MULTI, "no_multi"),
        (Flags::MOVABLE_KEYS, "movablekeys"),
        (Flags::ALLOW_BUSY, "allow_busy"),
    ];
}

/// One command.
pub struct Command {
    /// Its name in lower case; a subcommand's is `container|name`.
    pub name: &'static str,
    /// Arguments with the name: exactly this many, or at least its opposite if negative.
    pub arity: i16,
    /// Its properties.
    pub flags: Flags,
    /// Where its keys stand.
    pub keys: KeySpec,
    /// Its `ACL` categories beyond those that follow from the flags, without the `@`.
    pub categories: &'static [&'static str],
    /// The group, first version, complexity and summary that `COMMAND DOCS` tells.
    pub doc: Doc,
    /// What it does.
    pub handler: Handler,
    /// Its subcommands, if it is a container.
    pub subcommands: &'static [Command],
}

/// What `COMMAND DOCS` tells of a command.
pub struct Doc {
    /// The arguments in the notation of the Redis manual, without the command's name, for example
    /// `key value [NX | XX] [GET]`; the argument tree is read from it.
    pub syntax: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The Redis version that had it first.
    pub since: &'static str,
    /// The manual's group: `string`, `list`, `generic`…
    pub group: &'static str,
    /// Order of growth.
    pub complexity: &'static str,
}

/// What the rows of a family have in common.
pub struct Family {
    /// See [`Doc::group`].
    pub group: &'static str,
    /// See [`Command::categories`].
    pub categories: &'static [&'static str],
}

impl Family {
    /// A row; `about` is syntax, summary, first version and complexity.
    pub const fn row(
        &self,
        name: &'static str,
        arity: i16,
        flags: Flags,
        keys: KeySpec,
        about: [&'static str; 4],
        handler: Handler,
    ) -> Command {
        let [syntax, summary, since, complexity] = about;
        let doc = Doc { syntax, summary, since, group: self.group, complexity };
        let categories = self.categories;
        Command { name, arity, flags, keys, categories, doc, handler, subcommands: &[] }
    }
}

impl Command {
    /// A number that stands for this row, which lives as long as the program; never 0.
    pub fn address(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Whether a call with this many arguments, the name included, has too few or too many.
    pub fn refuses_arity(&self, argument_count: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        if self.arity >= 0 { argument_count != wanted } else { argument_count < wanted }
    }
}

fn refuse_bare_container(
    context: &mut Context<'_>,
    _args: Args<'_>,
    _reply: &mut Reply<'_>,
) -> Outcome {
    Err(CommandError::wrong_arity(context.command.name))
}

/// Longest command name, which lookup folds to lower case on the stack.
const NAME_BYTES_MAX: usize = 32;

/// All commands by name.
pub struct CommandTable {
    by_name: HashMap<&'static [u8], &'static Command, foldhash::fast::FixedState>,
    in_order: Vec<&'static Command>,
}

impl CommandTable {
    /// The table of all families.
    pub fn new(families: &[&'static [Command]]) -> CommandTable {
        let in_order: Vec<_> = families.iter().copied().flatten().collect();
        let by_name = in_order.iter().map(|&command| (command.name.as_bytes(), command)).collect();
        CommandTable { by_name, in_order }
    }

    /// The command of this name, in any case.
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<&'static Command> {
        let mut folded = [0; NAME_BYTES_MAX];
        let folded = folded.get_mut(..name.len())?;
        folded.copy_from_slice(name);
        folded.make_ascii_lowercase();
        self.by_name.get(&*folded).copied()
    }

    /// Every command, families in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'static Command> {
        self.in_order.iter().copied()
    }
}
