//! Streams: appending, trimming, deleting and reading ranges of entries.

use engine::stream::{AddError, IdError, IdRange, Keep, NewId, SetIdError, Stream, StreamId, Trim};
use engine::{Collection, Db, Expiry, Key, Limits};
use resp::args::Args;
use resp::reply::{Aggregate, Reply};
use smallvec::SmallVec;

use crate::arguments::{Options, integer, is_word};
use crate::command::{Command, Family, Flags, Handler, KeyHandler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::{CommandError, NO_SUCH_KEY, SYNTAX};

const MAXLEN_AND_MINID: CommandError = CommandError::fixed(
    "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
);
const NEGATIVE_MAXLEN: CommandError = CommandError::fixed("ERR The MAXLEN argument must be >= 0.");
const NEGATIVE_LIMIT: CommandError = CommandError::fixed("ERR The LIMIT argument must be >= 0.");
const LIMIT_WITHOUT_STRATEGY: CommandError = CommandError::fixed(
    "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
);
const LIMIT_WITHOUT_APPROXIMATE: CommandError =
    CommandError::fixed("ERR syntax error, LIMIT cannot be used without the special ~ option");

const TRIM_WITHOUT_STRATEGY: CommandError = CommandError::fixed(
    "ERR syntax error, XTRIM must be called with MAXLEN or MINID trim strategy",
);
const NEGATIVE_ENTRIES_ADDED: CommandError =
    CommandError::fixed("ERR entries_added must be positive");
const ID_BELOW_GIVEN_DELETED: CommandError = CommandError::fixed(
    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
);

/// Ids of one `XDEL` kept on the stack; more go to the heap.
const IDS_INLINE: usize = 8;
/// `~` without `LIMIT` removes the entries of about so many nodes, as in Redis.
const TRIM_NODES_MAX: usize = 100;
/// What `~` without `LIMIT` removes where nodes have no limit of entries, and at most.
const TRIM_ENTRIES_DEFAULT: usize = 10_000;
const TRIM_ENTRIES_MAX: usize = 1_000_000;

impl From<IdError> for CommandError {
    fn from(error: IdError) -> CommandError {
        CommandError::new(format!("ERR {error}"))
    }
}

impl From<AddError> for CommandError {
    fn from(error: AddError) -> CommandError {
        CommandError::new(format!("ERR {error}"))
    }
}

impl From<SetIdError> for CommandError {
    fn from(error: SetIdError) -> CommandError {
        CommandError::new(format!("ERR {error}"))
    }
}

/// The trimming options of `XADD` and `XTRIM`, as they are being read.
#[derive(Default)]
struct TrimOptions {
    keep: Option<Keep>,
    approximate: bool,
    limit: Option<usize>,
}

impl TrimOptions {
    /// Takes the options that the cursor stands before, if it is one of these.
    fn take(&mut self, options: &mut Options<'_>) -> Result<bool, CommandError> {
        // A last argument is no option, for there is no value behind it.
        if options.remaining() < 2 {
            return Ok(false);
        }
        if options.take_word("maxlen") {
            let text = self.strategy_value(options)?;
            let count = usize::try_from(integer(text)?).map_err(|_| NEGATIVE_MAXLEN)?;
            self.keep = Some(Keep::MaxLen(count));
        } else if options.take_word("minid") {
            let text = self.strategy_value(options)?;
            self.keep = Some(Keep::MinId(StreamId::parse_strict(text, 0)?));
        } else if options.take_word("limit") {
            let limit = integer(options.value()?)?;
            self.limit = Some(usize::try_from(limit).map_err(|_| NEGATIVE_LIMIT)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// The value of `MAXLEN` or `MINID`, behind `=` or `~`.
    fn strategy_value<'a>(&mut self, options: &mut Options<'a>) -> Result<&'a [u8], CommandError> {
        if self.keep.is_some() {
            return Err(MAXLEN_AND_MINID);
        }
        // The last argument is the value, whatever it is.
        if options.remaining() >= 2 {
            self.approximate = options.take_word("~");
            if !self.approximate {
                options.take_word("=");
            }
        }
        options.value()
    }

    /// The trimming that all options together ask for.
    fn finish(self, limits: &Limits) -> Result<Option<Trim>, CommandError> {
        let Some(keep) = self.keep else {
            // Redis takes a limit of 0 for none here.
            let has_limit = self.limit.is_some_and(|limit| limit != 0);
            if has_limit {
                return Err(LIMIT_WITHOUT_STRATEGY);
            }
            return if self.limit.is_some() { Err(LIMIT_WITHOUT_APPROXIMATE) } else { Ok(None) };
        };
        let limit = match self.limit {
            Some(_) if !self.approximate => return Err(LIMIT_WITHOUT_APPROXIMATE),
            Some(0) => None,
            Some(limit) => Some(limit),
            None if self.approximate => Some(default_limit(limits)),
            None => None,
        };
        Ok(Some(Trim { keep, approximate: self.approximate, limit }))
    }
}

/// The `LIMIT` of an approximate trimming that gives none.
fn default_limit(limits: &Limits) -> usize {
    match limits.stream_node_max_entries.saturating_mul(TRIM_NODES_MAX) {
        0 => TRIM_ENTRIES_DEFAULT,
        entries => entries.min(TRIM_ENTRIES_MAX),
    }
}

/// The arguments of `XADD` before the fields.
struct AddArguments {
    trim: Option<Trim>,
    /// `NOMKSTREAM`: a key that is not there stays so.
    keeps_absent: bool,
    id: NewId,
    /// Index of the first field.
    first_field: usize,
}

impl AddArguments {
    fn read(args: Args<'_>, limits: &Limits) -> Result<AddArguments, CommandError> {
        let mut options = Options::new(args, 2);
        let mut trim = TrimOptions::default();
        let (mut keeps_absent, mut id) = (false, None);
        while id.is_none() && options.remaining() > 0 {
            if trim.take(&mut options)? {
                continue;
            }
            if options.take_word("nomkstream") {
                keeps_absent = true;
                continue;
            }
            // 0-0 is refused later than what is no id at all.
            id = Some(match NewId::parse(options.value()?) {
                Err(IdError::Zero) => Err(IdError::Zero),
                parsed => Ok(parsed?),
            });
        }
        let trim = trim.finish(limits)?;
        let fields = options.remaining();
        match id {
            Some(id) if fields >= 2 && fields.is_multiple_of(2) => {
                Ok(AddArguments { trim, keeps_absent, id: id?, first_field: options.index() })
            }
            _ => Err(CommandError::wrong_arity("xadd")),
        }
    }
}

fn xadd(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let arguments = AddArguments::read(args, context.limits())?;
    let fields = (arguments.first_field..args.len())
        .step_by(2)
        .map(|index| (args.at(index), args.at(index + 1)));
    let append = |stream: &mut Stream| {
        let id = stream.add(arguments.id, context.clock.now_ms, fields, context.limits())?;
        arguments.trim.map(|trim| stream.trim(trim));
        Ok::<_, CommandError>(id)
    };
    let id = match db.collection_mut::<Stream>(context.clock, key)? {
        Some(stream) => append(stream)?,
        None if arguments.keeps_absent => {
            reply.null();
            return Ok(Effect::NONE);
        }
        None => {
            let mut stream = Stream::new();
            let id = append(&mut stream)?;
            let displaced = db.set(context.clock, key, stream.into_value(), Expiry::Clear);
            debug_assert!(displaced.is_none(), "there was no key");
            id
        }
    };
    bulk_id(reply, id);
    Ok(Effect::changed(1))
}

fn bulk_id(reply: &mut Reply<'_>, id: StreamId) {
    reply.bulk_written(|bytes| id.push(bytes));
}

fn xlen(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let stream = elements::lookup::<Stream>(context, db, key)?;
    reply.count(stream.map_or(0, Stream::len));
    Ok(Effect::NONE)
}

fn xrange(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    read(context, db, key, args, reply, false)
}

fn xrevrange(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    read(context, db, key, args, reply, true)
}

fn read(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    reverse: bool,
) -> Outcome {
    let (first, second) = (args.at(2), args.at(3));
    let (start, end) = if reverse { (second, first) } else { (first, second) };
    let range = IdRange::parse(start, end)?;
    let mut options = Options::new(args, 4);
    let mut count = None;
    while let Some(option) = options.next() {
        if !is_word(option, "count") || options.remaining() == 0 {
            return Err(SYNTAX);
        }
        count = Some(usize::try_from(integer(options.value()?)?).unwrap_or(0));
    }
    match elements::lookup::<Stream>(context, db, key)? {
        None => reply.array(0),
        Some(_) if count == Some(0) => reply.null_array(),
        Some(stream) => {
            let entries = reply.deferred(Aggregate::Array);
            let mut written = 0;
            stream.range(range, reverse, count, |id, fields| {
                reply.array(2);
                bulk_id(reply, id);
                reply.array(2 * fields.len());
                for (field, value) in fields {
                    elements::bulk(reply, field);
                    elements::bulk(reply, value);
                }
                written += 1;
            });
            reply.finish(entries, written);
        }
    }
    Ok(Effect::NONE)
}

fn xdel(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(stream) = db.collection_mut::<Stream>(context.clock, key)? else {
        reply.count(0);
        return Ok(Effect::NONE);
    };
    let ids = args.skip(2).iter().map(|text| StreamId::parse_strict(text, 0));
    let ids: SmallVec<[StreamId; IDS_INLINE]> = ids.collect::<Result<_, _>>()?;
    let deleted = ids.into_iter().filter(|&id| stream.delete(id)).count();
    reply.count(deleted);
    Ok(Effect::changed(deleted))
}

fn xtrim(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut options = Options::new(args, 2);
    let mut trim = TrimOptions::default();
    while options.remaining() > 0 {
        if !trim.take(&mut options)? {
            return Err(SYNTAX);
        }
    }
    let trim = trim.finish(context.limits())?.ok_or(TRIM_WITHOUT_STRATEGY)?;
    let stream = db.collection_mut::<Stream>(context.clock, key)?;
    let removed = stream.map_or(0, |stream| stream.trim(trim));
    reply.count(removed);
    Ok(Effect::changed(removed))
}

fn xsetid(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let id = StreamId::parse_strict(args.at(2), 0)?;
    let mut options = Options::new(args, 3);
    let (mut entries_added, mut max_deleted_id) = (None, None);
    while let Some(option) = options.next() {
        if options.remaining() == 0 {
            return Err(SYNTAX);
        }
        if is_word(option, "entriesadded") {
            let number = integer(options.value()?)?;
            entries_added = Some(u64::try_from(number).map_err(|_| NEGATIVE_ENTRIES_ADDED)?);
        } else if is_word(option, "maxdeletedid") {
            let max_deleted = StreamId::parse_strict(options.value()?, 0)?;
            if id < max_deleted {
                return Err(ID_BELOW_GIVEN_DELETED);
            }
            max_deleted_id = Some(max_deleted);
        } else {
            return Err(SYNTAX);
        }
    }
    let stream = db.collection_mut::<Stream>(context.clock, key)?.ok_or(NO_SUCH_KEY)?;
    stream.set_last_id(id, entries_added, max_deleted_id)?;
    reply.ok();
    Ok(Effect::changed(1))
}

const FAST_ADD: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);
const FAST_TAKE: Flags = Flags::WRITE.union(Flags::FAST);
const FAST_READ: Flags = Flags::READONLY.union(Flags::FAST);

const FAMILY: Family = Family { group: "stream", categories: &["stream"] };

/// A row of this family; `doc` is syntax, summary, first version and complexity.
const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    doc: [&'static str; 4],
    handler: KeyHandler,
) -> Command {
    FAMILY.row(name, arity, flags, KeySpec::FIRST, doc, Handler::Key(handler))
}

/// The stream family.
pub const COMMANDS: &[Command] = &[
    row(
        "xadd",
        -5,
        FAST_ADD,
        [
            "key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value [field value ...]",
            "Appends an entry to a stream, which is made if it is not there.",
            "5.0.0",
            "O(1) to append; O(N) to trim N entries",
        ],
        xadd,
    ),
    row("xlen", 2, FAST_READ, ["key", "Counts the entries of a stream.", "5.0.0", "O(1)"], xlen),
    row(
        "xrange",
        -4,
        Flags::READONLY,
        [
            "key start end [COUNT count]",
            "Returns the entries in a range of ids.",
            "5.0.0",
            "O(N) for N entries returned",
        ],
        xrange,
    ),
    row(
        "xrevrange",
        -4,
        Flags::READONLY,
        [
            "key end start [COUNT count]",
            "Returns the entries in a range of ids, the last first.",
            "5.0.0",
            "O(N) for N entries returned",
        ],
        xrevrange,
    ),
    row(
        "xdel",
        -3,
        FAST_TAKE,
        ["key id [id ...]", "Deletes entries from a stream.", "5.0.0", "O(1) for each entry"],
        xdel,
    ),
    row(
        "xtrim",
        -4,
        Flags::WRITE,
        [
            "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count]",
            "Removes the oldest entries of a stream.",
            "5.0.0",
            "O(N) for N entries removed",
        ],
        xtrim,
    ),
    row(
        "xsetid",
        -3,
        FAST_ADD,
        [
            "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
            "Sets the last id of a stream.",
            "5.0.0",
            "O(1)",
        ],
        xsetid,
    ),
];
