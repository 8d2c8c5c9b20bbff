//! `CONFIG`: the configuration read and changed while the server runs.

use engine::Whole;
use resp::args::Args;
use resp::reply::Reply;
use text::glob::{self, Case};

use crate::command::{Command, Doc, Flags, Handler, KeySpec, Outcome};
use crate::config::parameter::{Change, Parameter};
use crate::config::{self, rewrite};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};
use crate::help;
use crate::settings::Allowed;
use crate::stats::Totals;

const NO_FILE: CommandError =
    CommandError::fixed("ERR The server is running without a config file");

fn get(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let settings = context.server.settings();
    let mut found: Vec<(Vec<u8>, &Parameter)> = Vec::new();
    for pattern in args.iter().skip(2) {
        if !pattern.iter().any(|byte| b"*?[".contains(byte)) {
            let is_new = !found.iter().any(|(name, _)| name.eq_ignore_ascii_case(pattern));
            if let (Some(parameter), true) = (config::find(pattern), is_new) {
                // Redis answers the name as it was asked for.
                found.push((pattern.to_vec(), parameter));
            }
            continue;
        }
        for parameter in config::parameters() {
            for name in std::iter::once(parameter.name).chain(parameter.alias) {
                let is_new =
                    !found.iter().any(|(one, _)| one.eq_ignore_ascii_case(name.as_bytes()));
                if is_new && glob::matches(pattern, name.as_bytes(), Case::Insensitive) {
                    found.push((name.into(), parameter));
                }
            }
        }
    }
    reply.map(found.len());
    for (name, parameter) in found {
        reply.bulk(&name);
        reply.bulk(&parameter.get(&settings));
    }
    Ok(Effect::NONE)
}

fn set(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if !args.len().is_multiple_of(2) {
        return Err(SYNTAX);
    }
    let changes = changes(context, args)?;
    let before = context.server.settings();
    context.server.change_settings(|settings| {
        let mut changed = settings.clone();
        for &(parameter, name, value) in &changes {
            parameter.set_argument(&mut changed, value).map_err(|why| refused(name, &why))?;
        }
        *settings = changed;
        Ok::<(), CommandError>(())
    })?;
    for &(parameter, name, _) in &changes {
        let Some(apply) = parameter.apply else { continue };
        if let Err(why) = apply(context.server) {
            context.server.change_settings(|settings| {
                for (parameter, _, _) in &changes {
                    parameter
                        .set_argument(settings, &parameter.get(&before))
                        .expect("a parameter takes back what it gave");
                }
            });
            return Err(refused(name, &why));
        }
    }
    reply.ok();
    Ok(Effect::NONE)
}

/// A parameter to change, its name as it was given, and the new value.
type Requested<'a> = (&'static Parameter, &'a [u8], &'a [u8]);

/// What `CONFIG SET` is to change, if all of it may be changed. A name that is none is reported
/// before anything else.
fn changes<'a>(context: &Context<'_>, args: Args<'a>) -> Result<Vec<Requested<'a>>, CommandError> {
    let mut changes: Vec<Requested<'a>> = Vec::new();
    let mut refusal = None;
    for index in (2..args.len()).step_by(2) {
        let name = args.at(index);
        let Some(parameter) = config::find(name) else {
            let before = "ERR Unknown option or number of arguments for CONFIG SET - '";
            return Err(CommandError::quoting(before, name, "'"));
        };
        let is_doubled = changes.iter().any(|(other, _, _)| std::ptr::eq(*other, parameter));
        let why = match parameter.change {
            Change::Startup => Some("can't set immutable config"),
            Change::Protected if !allows_protected(context) => Some("can't set protected config"),
            _ if is_doubled => Some("duplicate parameter"),
            _ => None,
        };
        if let (Some(why), None) = (why, &refusal) {
            refusal = Some(refused(name, why));
        }
        changes.push((parameter, name, args.at(index + 1)));
    }
    refusal.map_or(Ok(changes), Err)
}

fn allows_protected(context: &Context<'_>) -> bool {
    match context.worker.settings.protected_configs {
        Allowed::No => false,
        Allowed::Yes => true,
        Allowed::Local => context.client.shared.is_local(),
    }
}

fn refused(name: &[u8], why: &str) -> CommandError {
    let after = format!("') - {why}");
    CommandError::quoting("ERR CONFIG SET failed (possibly related to argument '", name, &after)
}

fn reset_stat(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let totals = Totals::since_start(context.server, keyspace);
    *context.server.totals_before.lock() = totals;
    context.server.history.lock().reset();
    reply.ok();
    Ok(Effect::NONE)
}

fn rewrite(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let path = context.server.origin.config_file.as_ref().ok_or(NO_FILE)?;
    rewrite::rewrite_file(path, &context.server.settings()).map_err(|error| {
        let why = crate::log::error_text(&error);
        CommandError::new(format!("ERR Rewriting config file: {why}"))
    })?;
    reply.ok();
    Ok(Effect::NONE)
}

fn answer_help(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    help::answer(context.command, HELP, reply);
    Ok(Effect::NONE)
}

const HELP: &[&str] = &[
    "GET <pattern> [<pattern> ...]",
    "    Answers the parameters whose names match, with their values.",
    "SET <name> <value> [<name> <value> ...]",
    "    Changes parameters, all of them or none.",
    "RESETSTAT",
    "    Begins the counts of INFO anew.",
    "REWRITE",
    "    Brings the configuration file up to date.",
];

const ADMINISTRATION: Flags =
    Flags::ADMIN.union(Flags::NOSCRIPT).union(Flags::LOADING).union(Flags::STALE);

const fn row(
    name: &'static str,
    arity: i16,
    syntax: &'static str,
    summary: &'static str,
    handler: Handler,
) -> Command {
    Command {
        name,
        arity,
        flags: ADMINISTRATION,
        keys: KeySpec::NONE,
        categories: &[],
        doc: Doc {
            syntax,
            summary,
            since: "2.0.0",
            group: "server",
            complexity: "O(N) in the number of parameters",
        },
        handler,
        subcommands: &[],
    }
}

const SUBCOMMANDS: &[Command] = &[
    row(
        "config|get",
        -3,
        "parameter [parameter ...]",
        "Returns the values of parameters.",
        Handler::Connection(get),
    ),
    Command {
        doc: Doc {
            syntax: "",
            summary: "Returns what the subcommands are.",
            since: "5.0.0",
            group: "server",
            complexity: "O(1)",
        },
        flags: Flags::LOADING.union(Flags::STALE),
        ..row("config|help", 2, "", "", Handler::Connection(answer_help))
    },
    row("config|resetstat", 2, "", "Begins the counts of INFO anew.", Handler::Server(reset_stat)),
    row(
        "config|rewrite",
        2,
        "",
        "Brings the configuration file up to date.",
        Handler::Connection(rewrite),
    ),
    row(
        "config|set",
        -4,
        "parameter value [parameter value ...]",
        "Changes parameters while the server runs.",
        Handler::Connection(set),
    ),
];

/// The container and its subcommands.
pub const COMMANDS: &[Command] = &[Command {
    flags: Flags::empty(),
    subcommands: SUBCOMMANDS,
    ..row("config", -2, "", "A container of the commands on the configuration.", Handler::CONTAINER)
}];
