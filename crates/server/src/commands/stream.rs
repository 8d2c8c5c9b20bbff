//! Streams: appending, trimming, deleting and reading ranges of entries.

use engine::stream::{AddError, IdError, Keep, NewId, Stream, StreamId, Trim};
use engine::{Collection, Db, Expiry, Key, Limits};
use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::{Options, integer};
use crate::command::{Command, Doc, Flags, Handler, KeyHandler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::CommandError;

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

const ADD: Flags = Flags::WRITE.union(Flags::FAST).union(Flags::DENYOOM);

/// A row of this family; `doc` is syntax, summary, first version and complexity.
const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    doc: [&'static str; 4],
    handler: KeyHandler,
) -> Command {
    let [syntax, summary, since, complexity] = doc;
    Command {
        name,
        arity,
        flags,
        keys: KeySpec::FIRST,
        categories: &["stream"],
        doc: Doc { syntax, summary, since, group: "stream", complexity },
        handler: Handler::Key(handler),
        subcommands: &[],
    }
}

/// The stream family.
pub const COMMANDS: &[Command] = &[row(
    "xadd",
    -5,
    ADD,
    [
        "key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value [field value ...]",
        "Appends an entry to a stream, which is made if it is not there.",
        "5.0.0",
        "O(1) to append; O(N) to trim N entries",
    ],
    xadd,
)];
