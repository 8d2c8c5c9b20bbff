//! The connection's own commands: who it is, which protocol and database it uses, its end.

use resp::args::Args;
use resp::reply::{Protocol, Reply};

use crate::arguments::{integer, is_word};
use crate::client::ReplyMode;
use crate::command::{Command, Doc, Flags, Handler, KeySpec, Outcome};
use crate::commands::client::{INVALID_NAME, is_label};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};
use crate::server::REDIS_VERSION;
use crate::transaction;

const WRONG_PASSWORD: CommandError =
    CommandError::fixed("WRONGPASS invalid username-password pair or user is disabled.");
const NO_PASSWORD_SET: CommandError = CommandError::fixed(
    "ERR AUTH <password> called without any password configured for the default user. Are you \
     sure your configuration is correct?",
);
const NO_PROTOCOL: CommandError = CommandError::fixed("NOPROTO unsupported protocol version");
const PROTOCOL_NOT_AN_INTEGER: CommandError =
    CommandError::fixed("ERR Protocol version is not an integer or out of range");
const HELLO_NEEDS_AUTH: CommandError = CommandError::fixed(
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
     <proto> AUTH <user> <pass> option can be used to authenticate the client and select the \
     RESP protocol version at the same time",
);
const DB_OUT_OF_RANGE: CommandError = CommandError::fixed("ERR DB index is out of range");

/// The one user there is.
const DEFAULT_USER: &[u8] = b"default";

fn ping(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if context.client.is_listening_only() && args.len() <= 2 {
        reply.array(2);
        reply.bulk(b"pong");
        reply.bulk(args.get(1).unwrap_or_default());
        return Ok(Effect::NONE);
    }
    match args.len() {
        1 => reply.simple(b"PONG"),
        2 => reply.bulk(args.at(1)),
        _ => return Err(CommandError::wrong_arity(context.command.name)),
    }
    Ok(Effect::NONE)
}

fn echo(_context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.bulk(args.at(1));
    Ok(Effect::NONE)
}

fn auth(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    match args.len() {
        2 if context.worker.settings.password.is_empty() => return Err(NO_PASSWORD_SET),
        2 => authenticate(context, DEFAULT_USER, args.at(1))?,
        3 => authenticate(context, args.at(1), args.at(2))?,
        _ => return Err(SYNTAX),
    }
    reply.ok();
    Ok(Effect::NONE)
}

fn hello(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let protocol = match args.get(1) {
        None => context.client.protocol,
        Some(version) => match integer(version).map_err(|_| PROTOCOL_NOT_AN_INTEGER)? {
            2 => Protocol::Resp2,
            3 => Protocol::Resp3,
            _ => return Err(NO_PROTOCOL),
        },
    };
    let mut credentials = None;
    let mut name = None;
    let mut at = 2;
    while let Some(option) = args.get(at) {
        let following = args.len() - at - 1;
        if is_word(option, "auth") && following >= 2 {
            credentials = Some((args.at(at + 1), args.at(at + 2)));
            at += 3;
        } else if is_word(option, "setname") && following >= 1 {
            let wanted = args.at(at + 1);
            if !is_label(wanted) {
                return Err(INVALID_NAME);
            }
            name = Some(wanted);
            at += 2;
        } else {
            let option = String::from_utf8_lossy(option);
            return Err(CommandError::new(format!("ERR Syntax error in HELLO option '{option}'")));
        }
    }
    if let Some((user, password)) = credentials {
        authenticate(context, user, password)?;
    }
    if !context.client.is_authenticated {
        return Err(HELLO_NEEDS_AUTH);
    }
    if let Some(name) = name {
        context.client.shared.labels.lock().name = name.to_vec();
    }
    context.client.set_protocol(protocol);
    reply.set_protocol(protocol);
    describe_server(context, reply);
    Ok(Effect::NONE)
}

/// What `HELLO` answers. Clients switch on the server's name, so it is the one they know.
fn describe_server(context: &Context<'_>, reply: &mut Reply<'_>) {
    reply.map(7);
    reply.bulk(b"server");
    reply.bulk(b"redis");
    reply.bulk(b"version");
    reply.bulk(REDIS_VERSION.as_bytes());
    reply.bulk(b"proto");
    reply.integer(if reply.protocol() == Protocol::Resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(context.client.shared.id as i64);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
}

fn select(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let number = integer(args.at(1))?;
    if i32::try_from(number).is_err() {
        return Err(CommandError::new(format!(
            "ERR value is out of range, value must between {} and {}",
            i32::MIN,
            i32::MAX
        )));
    }
    let db_index = usize::try_from(number).map_err(|_| DB_OUT_OF_RANGE)?;
    if db_index >= context.worker.settings.databases {
        return Err(DB_OUT_OF_RANGE);
    }
    context.client.select(db_index);
    reply.ok();
    Ok(Effect::NONE)
}

fn quit(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    context.client.closes_after_reply = true;
    reply.ok();
    Ok(Effect::NONE)
}

fn reset(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let needs_password = !context.worker.settings.password.is_empty();
    transaction::discard(context.client, &context.server.observers);
    context.server.pubsub.end(context.client);
    let client = &mut *context.client;
    client.select(0);
    client.set_protocol(Protocol::Resp2);
    client.reply_mode = ReplyMode::On;
    client.is_authenticated = !needs_password;
    client.shared.reset();
    reply.set_protocol(Protocol::Resp2);
    reply.simple(b"RESET");
    Ok(Effect::NONE)
}

/// Lets the client in if the password is the user's; without one, any is right.
fn authenticate(
    context: &mut Context<'_>,
    user: &[u8],
    password: &[u8],
) -> Result<(), CommandError> {
    let expected = &context.worker.settings.password;
    let is_right = expected.is_empty() || is_same_secret(password, expected);
    if user != DEFAULT_USER || !is_right {
        return Err(WRONG_PASSWORD);
    }
    context.client.is_authenticated = true;
    Ok(())
}

/// Compares in a time that tells nothing of where the two differ.
fn is_same_secret(given: &[u8], expected: &[u8]) -> bool {
    let difference = expected
        .iter()
        .enumerate()
        .fold(0, |sum, (index, byte)| sum | (byte ^ given.get(index).copied().unwrap_or(!byte)));
    difference == 0 && given.len() == expected.len()
}

/// Flags of the commands that must work before authentication.
const ENTRANCE: Flags = Flags::NOSCRIPT
    .union(Flags::LOADING)
    .union(Flags::STALE)
    .union(Flags::FAST)
    .union(Flags::NO_AUTH)
    .union(Flags::ALLOW_BUSY);

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

/// The connection family.
pub const COMMANDS: &[Command] = &[
    row(
        "auth",
        -2,
        ENTRANCE,
        doc(
            "[username] password",
            "Authenticates the connection.",
            "1.0.0",
            "O(N) where N is the number of passwords defined for the user",
        ),
        auth,
    ),
    row(
        "echo",
        2,
        Flags::LOADING.union(Flags::STALE).union(Flags::FAST),
        doc("message", "Answers the message.", "1.0.0", "O(1)"),
        echo,
    ),
    row(
        "hello",
        -1,
        ENTRANCE,
        doc(
            "[protover [AUTH username password] [SETNAME clientname]]",
            "Chooses the protocol version and describes the server.",
            "6.0.0",
            "O(1)",
        ),
        hello,
    ),
    row(
        "ping",
        -1,
        Flags::FAST,
        doc("[message]", "Answers PONG, or the message.", "1.0.0", "O(1)"),
        ping,
    ),
    row("quit", -1, ENTRANCE, doc("", "Closes the connection.", "1.0.0", "O(1)"), quit),
    row(
        "reset",
        1,
        ENTRANCE,
        doc("", "Brings the connection back to how it began.", "6.2.0", "O(1)"),
        reset,
    ),
    row(
        "select",
        2,
        Flags::LOADING.union(Flags::STALE).union(Flags::FAST),
        doc("index", "Chooses the database.", "1.0.0", "O(1)"),
        select,
    ),
];

#[cfg(test)]
mod tests {
    use super::is_same_secret;

    #[test]
    fn secrets_are_the_same_only_if_every_byte_is() {
        assert!(is_same_secret(b"", b""));
        assert!(is_same_secret(b"secret", b"secret"));
        for other in [&b""[..], b"secre", b"secrets", b"Secret", b"secret\0"] {
            assert!(!is_same_secret(other, b"secret"), "{other:?}");
            assert!(!is_same_secret(b"secret", other), "{other:?}");
        }
    }
}
