//! `CLIENT`: what a connection says of itself, and the list of all of them.

use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::{integer, is_word};
use crate::client::{ClientInfo, ReplyMode};
use crate::command::{Command, Doc, Flags, Handler, KeySpec, Outcome};
use crate::commands::client_line;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};
use crate::help;

/// A client's name would not fit into the list's line.
pub const INVALID_NAME: CommandError =
    CommandError::fixed("ERR Client names cannot contain spaces, newlines or special characters.");
const NO_SUCH_CLIENT: CommandError = CommandError::fixed("ERR No such client");
const INVALID_ID: CommandError = CommandError::fixed("ERR Invalid client ID");
const ID_NOT_POSITIVE: CommandError = CommandError::fixed("ERR client-id should be greater than 0");
const AGE_NOT_AN_INTEGER: CommandError =
    CommandError::fixed("ERR maxage is not an integer or out of range");
const AGE_NOT_POSITIVE: CommandError = CommandError::fixed("ERR maxage should be greater than 0");

/// Whether a name or label can stand in the list: printable ASCII without spaces.
pub fn is_label(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_graphic)
}

fn id(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.integer(context.client.shared.id as i64);
    Ok(Effect::NONE)
}

fn get_name(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let labels = context.client.shared.labels.lock();
    if labels.name.is_empty() {
        reply.null();
    } else {
        reply.bulk(&labels.name);
    }
    Ok(Effect::NONE)
}

fn set_name(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let name = args.at(2);
    if !is_label(name) {
        return Err(INVALID_NAME);
    }
    context.client.shared.labels.lock().name = name.to_vec();
    reply.ok();
    Ok(Effect::NONE)
}

fn set_info(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (attribute, value) = (args.at(2), args.at(3));
    let is_name = is_word(attribute, "lib-name");
    let shown = String::from_utf8_lossy(attribute);
    if !is_name && !is_word(attribute, "lib-ver") {
        return Err(CommandError::new(format!("ERR Unrecognized option '{shown}'")));
    }
    if !is_label(value) {
        return Err(CommandError::new(format!(
            "ERR {shown} cannot contain spaces, newlines or special characters."
        )));
    }
    let mut labels = context.client.shared.labels.lock();
    let label = if is_name { &mut labels.library_name } else { &mut labels.library_version };
    *label = value.to_vec();
    reply.ok();
    Ok(Effect::NONE)
}

fn info(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let names = client_line::CommandNames::new(&context.server.commands);
    let mut text = Vec::new();
    client_line::push(&mut text, &context.client.shared, &names, context.clock);
    reply.verbatim(*b"txt", &text);
    Ok(Effect::NONE)
}

fn list(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut selected = context.server.clients.list();
    match args.get(2) {
        None => {}
        Some(word) if is_word(word, "type") && args.len() == 4 => {
            let kind = Kind::parse(args.at(3))?;
            selected.retain(|client| kind.includes(client));
        }
        Some(word) if is_word(word, "id") && args.len() > 3 => {
            let ids: Result<Vec<i64>, CommandError> =
                args.iter().skip(3).map(|id| integer(id).map_err(|_| INVALID_ID)).collect();
            let ids = ids?;
            selected.retain(|client| ids.contains(&(client.id as i64)));
        }
        Some(_) => return Err(SYNTAX),
    }
    let names = client_line::CommandNames::new(&context.server.commands);
    let mut text = Vec::new();
    for client in selected {
        client_line::push(&mut text, &client, &names, context.clock);
    }
    reply.verbatim(*b"txt", &text);
    Ok(Effect::NONE)
}

fn kill(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() == 3 {
        // The old form names an address, spares nobody and answers with a status.
        let filter = Filter { address: Some(args.at(2)), ..Filter::default() };
        return match disconnect(context, &filter) {
            0 => Err(NO_SUCH_CLIENT),
            _ => {
                reply.ok();
                Ok(Effect::NONE)
            }
        };
    }
    let mut filter = Filter { skips_caller: true, ..Filter::default() };
    let mut at = 2;
    while let Some(option) = args.get(at) {
        let value = args.get(at + 1).ok_or(SYNTAX)?;
        filter.read(option, value)?;
        at += 2;
    }
    let count = disconnect(context, &filter);
    reply.count(count);
    Ok(Effect::NONE)
}

/// Ends the connections that the filter selects, the caller's own after its reply; how many.
fn disconnect(context: &mut Context<'_>, filter: &Filter<'_>) -> usize {
    let own_id = context.client.shared.id;
    let mut count = 0;
    for client in context.server.clients.list() {
        if !filter.selects(&client) || (filter.skips_caller && client.id == own_id) {
            continue;
        }
        count += 1;
        if client.id == own_id {
            context.client.closes_after_reply = true;
        } else {
            client.disconnect();
        }
    }
    count
}

fn reply_mode(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mode = args.at(2);
    let client = &mut *context.client;
    if is_word(mode, "on") {
        client.reply_mode = ReplyMode::On;
        reply.ok();
    } else if is_word(mode, "off") {
        client.reply_mode = ReplyMode::Off;
    } else if is_word(mode, "skip") {
        if client.reply_mode != ReplyMode::Off {
            client.reply_mode = ReplyMode::SkipNext;
        }
    } else {
        return Err(SYNTAX);
    }
    Ok(Effect::NONE)
}

fn no_evict(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let is_on = on_or_off(args.at(2))?;
    context.client.shared.no_evict.store(is_on, std::sync::atomic::Ordering::Relaxed);
    reply.ok();
    Ok(Effect::NONE)
}

fn no_touch(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let is_on = on_or_off(args.at(2))?;
    context.client.shared.no_touch.store(is_on, std::sync::atomic::Ordering::Relaxed);
    reply.ok();
    Ok(Effect::NONE)
}

fn on_or_off(word: &[u8]) -> Result<bool, CommandError> {
    if is_word(word, "on") {
        Ok(true)
    } else if is_word(word, "off") {
        Ok(false)
    } else {
        Err(SYNTAX)
    }
}

fn help(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    help::answer(context.command, HELP, reply);
    Ok(Effect::NONE)
}

/// The kinds of clients that filters tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Master,
    Replica,
    Subscriber,
}

impl Kind {
    fn parse(word: &[u8]) -> Result<Kind, CommandError> {
        const NAMES: &[(&str, Kind)] = &[
            ("normal", Kind::Normal),
            ("slave", Kind::Replica),
            ("replica", Kind::Replica),
            ("pubsub", Kind::Subscriber),
            ("master", Kind::Master),
        ];
        let found = NAMES.iter().find(|(name, _)| is_word(word, name));
        found.map(|&(_, kind)| kind).ok_or_else(|| {
            let word = String::from_utf8_lossy(word);
            CommandError::new(format!("ERR Unknown client type '{word}'"))
        })
    }

    /// Whether a client is of this kind. Without replication and subscriptions all are normal.
    fn includes(self, _client: &ClientInfo) -> bool {
        self == Kind::Normal
    }
}

/// Which clients `CLIENT KILL` is to end: those that pass all that is given.
#[derive(Default)]
struct Filter<'a> {
    id: Option<u64>,
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    kind: Option<Kind>,
    age_min_s: u64,
    skips_caller: bool,
}

impl<'a> Filter<'a> {
    /// Takes over one option with its value.
    fn read(&mut self, option: &[u8], value: &'a [u8]) -> Result<(), CommandError> {
        if is_word(option, "id") {
            let id = integer(value).ok().and_then(|id| u64::try_from(id).ok());
            self.id = Some(id.filter(|&id| id > 0).ok_or(ID_NOT_POSITIVE)?);
        } else if is_word(option, "type") {
            self.kind = Some(Kind::parse(value)?);
        } else if is_word(option, "addr") {
            self.address = Some(value);
        } else if is_word(option, "laddr") {
            self.local_address = Some(value);
        } else if is_word(option, "user") {
            // The default user is the one there is, and everybody's.
            if value != b"default" {
                let user = String::from_utf8_lossy(value);
                return Err(CommandError::new(format!("ERR No such user '{user}'")));
            }
        } else if is_word(option, "skipme") {
            self.skips_caller = yes_or_no(value)?;
        } else if is_word(option, "maxage") {
            let age_s = integer(value).map_err(|_| AGE_NOT_AN_INTEGER)?;
            let age_s = u64::try_from(age_s).ok().filter(|&age_s| age_s > 0);
            self.age_min_s = age_s.ok_or(AGE_NOT_POSITIVE)?;
        } else {
            return Err(SYNTAX);
        }
        Ok(())
    }

    fn selects(&self, client: &ClientInfo) -> bool {
        self.id.is_none_or(|id| client.id == id)
            && self.address.is_none_or(|text| client.address_text().as_bytes() == text)
            && self.local_address.is_none_or(|text| client.local_address_text().as_bytes() == text)
            && self.kind.is_none_or(|kind| kind.includes(client))
            && client.connected_at.elapsed().as_secs() >= self.age_min_s
    }
}

fn yes_or_no(word: &[u8]) -> Result<bool, CommandError> {
    if is_word(word, "yes") {
        Ok(true)
    } else if is_word(word, "no") {
        Ok(false)
    } else {
        Err(SYNTAX)
    }
}

const HELP: &[&str] = &[
    "GETNAME",
    "    The name of this connection.",
    "ID",
    "    The number of this connection.",
    "INFO",
    "    The line of this connection in the list.",
    "KILL <ip:port>",
    "    End the connection from this address.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    End the connections that pass all of these options:",
    "    * ID <client-id>",
    "      The connection of this number.",
    "    * ADDR (<ip:port>|<unixsocket>:0)",
    "      Connections from this address.",
    "    * LADDR (<ip:port>|<unixsocket>:0)",
    "      Connections to this address of the server.",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      Connections of this type.",
    "    * USER <username>",
    "      Connections of this user.",
    "    * SKIPME (YES|NO)",
    "      Whether this connection is spared (default: yes).",
    "    * MAXAGE <seconds>",
    "      Connections at least this old.",
    "LIST [option ...]",
    "    The list of connections, a line each. Options are:",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "      Connections of this type.",
    "    * ID <client-id> [<client-id> ...]",
    "      Connections of these numbers.",
    "NO-EVICT (ON|OFF)",
    "    Spare this connection when connections are cut for their memory.",
    "NO-TOUCH (ON|OFF)",
    "    Leave the access times of keys as they are when this connection reads them.",
    "REPLY (ON|OFF|SKIP)",
    "    Whether this connection gets replies; SKIP leaves out the next.",
    "SETINFO (LIB-NAME|LIB-VER) <value>",
    "    Tell the name or the version of the client library.",
    "SETNAME <name>",
    "    Name this connection.",
];

/// Flags of most subcommands.
const PLAIN: Flags = Flags::NOSCRIPT.union(Flags::LOADING).union(Flags::STALE);
/// Flags of those that look at or end other clients.
const ADMIN: Flags = PLAIN.union(Flags::ADMIN);

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    doc: Doc,
    handler: fn(&mut Context<'_>, Args<'_>, &mut Reply<'_>) -> Outcome,
) -> Command {
    Command {
        name,
        arity,
        flags,
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
    Doc { syntax, summary, since, group: "connection", complexity }
}

const COUNT_OF_CLIENTS: &str = "O(N) where N is the number of client connections";

const SUBCOMMANDS: &[Command] = &[
    row(
        "client|getname",
        2,
        PLAIN,
        doc("", "Answers the name of the connection.", "2.6.9", "O(1)"),
        get_name,
    ),
    row(
        "client|help",
        2,
        Flags::LOADING.union(Flags::STALE),
        doc("", "Lists the subcommands.", "5.0.0", "O(1)"),
        help,
    ),
    row(
        "client|id",
        2,
        PLAIN,
        doc("", "Answers the number of the connection.", "5.0.0", "O(1)"),
        id,
    ),
    row("client|info", 2, PLAIN, doc("", "Describes the connection.", "6.2.0", "O(1)"), info),
    row(
        "client|kill",
        -3,
        ADMIN,
        doc(
            "<ip:port | [ID client-id] [TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB>] [USER username] \
             [ADDR ip:port] [LADDR ip:port] [SKIPME yes/no] [MAXAGE maxage]>",
            "Ends connections.",
            "2.4.0",
            COUNT_OF_CLIENTS,
        ),
        kill,
    ),
    row(
        "client|list",
        -2,
        ADMIN,
        doc(
            "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
            "Describes all connections, a line each.",
            "2.4.0",
            COUNT_OF_CLIENTS,
        ),
        list,
    ),
    row(
        "client|no-evict",
        3,
        ADMIN,
        doc(
            "<ON | OFF>",
            "Spares the connection when connections are cut for their memory.",
            "7.0.0",
            "O(1)",
        ),
        no_evict,
    ),
    row(
        "client|no-touch",
        3,
        PLAIN,
        doc(
            "<ON | OFF>",
            "Leaves the access times of keys alone when the connection reads them.",
            "7.2.0",
            "O(1)",
        ),
        no_touch,
    ),
    row(
        "client|reply",
        3,
        PLAIN,
        doc("<ON | OFF | SKIP>", "Chooses whether the connection gets replies.", "3.2.0", "O(1)"),
        reply_mode,
    ),
    row(
        "client|setinfo",
        4,
        PLAIN,
        doc(
            "<LIB-NAME libname | LIB-VER libver>",
            "Tells the server about the client library.",
            "7.2.0",
            "O(1)",
        ),
        set_info,
    ),
    row(
        "client|setname",
        3,
        PLAIN,
        doc("connection-name", "Names the connection.", "2.6.9", "O(1)"),
        set_name,
    ),
];

/// The client family.
pub const COMMANDS: &[Command] = &[Command {
    name: "client",
    arity: -2,
    flags: Flags::empty(),
    keys: KeySpec::NONE,
    categories: &[],
    doc: doc("", "A container for the commands on connections.", "2.4.0", "Depends on subcommand."),
    handler: Handler::CONTAINER,
    subcommands: SUBCOMMANDS,
}];
