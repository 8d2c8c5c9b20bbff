//! Publishing and subscribing.

use std::collections::BTreeSet;

use resp::args::Args;
use resp::reply::Reply;

use crate::command::{Command, Family, Flags, Handler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::CommandError;
use crate::help;
use crate::mailbox::Mailbox;
use crate::pubsub::{PubSub, Subscriptions};

const MUST_NOT_WAIT: CommandError =
    CommandError::fixed("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client");

type Names = BTreeSet<Box<[u8]>>;

/// One of the three kinds of subscriptions.
struct Kind {
    subscribed: &'static [u8],
    unsubscribed: &'static [u8],
    names: fn(&mut Subscriptions) -> &mut Names,
    add: fn(&PubSub, &[u8], &std::sync::Arc<crate::client::ClientInfo>),
    remove: fn(&PubSub, &[u8], &crate::client::ClientInfo),
    /// The number that replies tell.
    count: fn(&Subscriptions) -> usize,
}

const CHANNELS: Kind = Kind {
    subscribed: b"subscribe",
    unsubscribed: b"unsubscribe",
    names: |subscriptions| &mut subscriptions.channels,
    add: |pubsub, name, client| pubsub.channels.add(name, client),
    remove: |pubsub, name, client| pubsub.channels.remove(name, client),
    count: |subscriptions| subscriptions.channels.len() + subscriptions.patterns.len(),
};
const PATTERNS: Kind = Kind {
    subscribed: b"psubscribe",
    unsubscribed: b"punsubscribe",
    names: |subscriptions| &mut subscriptions.patterns,
    add: PubSub::add_pattern,
    remove: PubSub::remove_pattern,
    count: CHANNELS.count,
};
const SHARD_CHANNELS: Kind = Kind {
    subscribed: b"ssubscribe",
    unsubscribed: b"sunsubscribe",
    names: |subscriptions| &mut subscriptions.shard_channels,
    add: |pubsub, name, client| pubsub.shard_channels.add(name, client),
    remove: |pubsub, name, client| pubsub.shard_channels.remove(name, client),
    count: |subscriptions| subscriptions.shard_channels.len(),
};

impl Kind {
    fn subscribe(&self, context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) {
        let client = &mut *context.client;
        client.shared.mailbox.get_or_init(Mailbox::new);
        let subscriptions = client.subscriptions.get_or_insert_default();
        for name in args.iter().skip(1) {
            if (self.names)(subscriptions).insert(name.into()) {
                (self.add)(&context.server.pubsub, name, &client.shared);
            }
            reply.push(3);
            reply.bulk(self.subscribed);
            reply.bulk(name);
            reply.count((self.count)(subscriptions));
        }
        client.shared.note_subscriptions(subscriptions);
    }

    fn unsubscribe(&self, context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) {
        let client = &mut *context.client;
        let mut subscriptions = client.subscriptions.take().unwrap_or_default();
        let names: Vec<Box<[u8]>> = if args.len() > 1 {
            args.iter().skip(1).map(Into::into).collect()
        } else {
            (self.names)(&mut subscriptions).iter().cloned().collect()
        };
        for name in &names {
            if (self.names)(&mut subscriptions).remove(name) {
                (self.remove)(&context.server.pubsub, name, &client.shared);
            }
            reply.push(3);
            reply.bulk(self.unsubscribed);
            reply.bulk(name);
            reply.count((self.count)(&subscriptions));
        }
        if names.is_empty() {
            reply.push(3);
            reply.bulk(self.unsubscribed);
            reply.null();
            reply.count((self.count)(&subscriptions));
        }
        client.shared.note_subscriptions(&subscriptions);
        client.subscriptions = (!subscriptions.is_empty()).then_some(subscriptions);
    }
}

fn subscribe(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    CHANNELS.subscribe(context, args, reply);
    Ok(Effect::NONE)
}

fn unsubscribe(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    CHANNELS.unsubscribe(context, args, reply);
    Ok(Effect::NONE)
}

fn psubscribe(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    PATTERNS.subscribe(context, args, reply);
    Ok(Effect::NONE)
}

fn punsubscribe(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    PATTERNS.unsubscribe(context, args, reply);
    Ok(Effect::NONE)
}

fn ssubscribe(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if context.is_queued {
        return Err(MUST_NOT_WAIT);
    }
    SHARD_CHANNELS.subscribe(context, args, reply);
    Ok(Effect::NONE)
}

fn sunsubscribe(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    SHARD_CHANNELS.unsubscribe(context, args, reply);
    Ok(Effect::NONE)
}

fn publish(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let worker = &mut *context.worker;
    let limit = worker.settings.output_limits.pubsub;
    let pubsub = &context.server.pubsub;
    reply.count(pubsub.publish(&mut worker.patterns, limit, args.at(1), args.at(2)));
    Ok(Effect::NONE)
}

fn spublish(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let limit = context.worker.settings.output_limits.pubsub;
    let pubsub = &context.server.pubsub;
    reply.count(pubsub.publish_to_shard(limit, args.at(1), args.at(2)));
    Ok(Effect::NONE)
}

fn channels(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    answer_names(&context.server.pubsub.channels.names(args.get(2)), reply);
    Ok(Effect::NONE)
}

fn shard_channels(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    answer_names(&context.server.pubsub.shard_channels.names(args.get(2)), reply);
    Ok(Effect::NONE)
}

fn answer_names(names: &[Box<[u8]>], reply: &mut Reply<'_>) {
    reply.array(names.len());
    names.iter().for_each(|name| reply.bulk(name));
}

fn numsub(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let channels = &context.server.pubsub.channels;
    answer_counts(args, reply, |name| channels.subscribers(name));
    Ok(Effect::NONE)
}

fn shardnumsub(context: &mut Context<'_>, args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let channels = &context.server.pubsub.shard_channels;
    answer_counts(args, reply, |name| channels.subscribers(name));
    Ok(Effect::NONE)
}

fn answer_counts(args: Args<'_>, reply: &mut Reply<'_>, count: impl Fn(&[u8]) -> usize) {
    reply.array(2 * (args.len() - 2));
    for name in args.iter().skip(2) {
        reply.bulk(name);
        reply.count(count(name));
    }
}

fn numpat(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.count(context.server.pubsub.pattern_count());
    Ok(Effect::NONE)
}

fn answer_help(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    const LINES: &[&str] = &[
        "CHANNELS [<pattern>]",
        "    List the channels that somebody hears, those that match <pattern>.",
        "NUMPAT",
        "    Count the patterns that somebody hears.",
        "NUMSUB [<channel> ...]",
        "    Count who hears each channel.",
        "SHARDCHANNELS [<pattern>]",
        "    List the shard channels that somebody hears.",
        "SHARDNUMSUB [<shardchannel> ...]",
        "    Count who hears each shard channel.",
    ];
    help::answer(context.command, LINES, reply);
    Ok(Effect::NONE)
}

const TALK: Flags = Flags::PUBSUB.union(Flags::LOADING).union(Flags::STALE);
const LISTEN: Flags = TALK.union(Flags::NOSCRIPT);
const SEND: Flags = TALK.union(Flags::FAST);

const FAMILY: Family = Family { group: "pubsub", categories: &[] };

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    about: [&'static str; 4],
    handler: fn(&mut Context<'_>, Args<'_>, &mut Reply<'_>) -> Outcome,
) -> Command {
    FAMILY.row(name, arity, flags, KeySpec::NONE, about, Handler::Connection(handler))
}

const BY_COUNT: &str = "O(N) in the number of names";

/// The family.
pub const COMMANDS: &[Command] = &[
    row(
        "subscribe",
        -2,
        LISTEN,
        ["channel [channel ...]", "Hears channels from now on.", "2.0.0", BY_COUNT],
        subscribe,
    ),
    row(
        "unsubscribe",
        -1,
        LISTEN,
        ["[channel [channel ...]]", "Hears channels no more, or none.", "2.0.0", BY_COUNT],
        unsubscribe,
    ),
    row(
        "psubscribe",
        -2,
        LISTEN,
        ["pattern [pattern ...]", "Hears all channels that match patterns.", "2.0.0", BY_COUNT],
        psubscribe,
    ),
    row(
        "punsubscribe",
        -1,
        LISTEN,
        ["[pattern [pattern ...]]", "Hears patterns no more, or none.", "2.0.0", BY_COUNT],
        punsubscribe,
    ),
    row(
        "ssubscribe",
        -2,
        LISTEN,
        ["shardchannel [shardchannel ...]", "Hears shard channels.", "7.0.0", BY_COUNT],
        ssubscribe,
    ),
    row(
        "sunsubscribe",
        -1,
        LISTEN,
        ["[shardchannel [shardchannel ...]]", "Hears shard channels no more.", "7.0.0", BY_COUNT],
        sunsubscribe,
    ),
    row(
        "publish",
        3,
        SEND,
        [
            "channel message",
            "Sends a message to all who hear a channel.",
            "2.0.0",
            "O(N+M) where N is the number of clients that hear the channel and M is the number \
             of patterns",
        ],
        publish,
    ),
    row(
        "spublish",
        3,
        SEND,
        [
            "shardchannel message",
            "Sends a message to all who hear a shard channel.",
            "7.0.0",
            "O(N) in the number of clients that hear it",
        ],
        spublish,
    ),
    Command {
        subcommands: PUBSUB,
        ..FAMILY.row(
            "pubsub",
            -2,
            Flags::empty(),
            KeySpec::NONE,
            [
                "",
                "A container for commands that tell who hears what.",
                "2.8.0",
                "Depends on subcommand.",
            ],
            Handler::CONTAINER,
        )
    },
];

const PUBSUB: &[Command] = &[
    row(
        "pubsub|channels",
        -2,
        TALK,
        ["[pattern]", "Lists the channels that somebody hears.", "2.8.0", "O(N) in their number"],
        channels,
    ),
    row(
        "pubsub|help",
        2,
        Flags::LOADING.union(Flags::STALE),
        ["", "Lists the subcommands.", "6.2.0", "O(1)"],
        answer_help,
    ),
    row(
        "pubsub|numpat",
        2,
        TALK,
        ["", "Counts the patterns that somebody hears.", "2.8.0", "O(1)"],
        numpat,
    ),
    row(
        "pubsub|numsub",
        -2,
        TALK,
        ["[channel [channel ...]]", "Counts who hears each channel.", "2.8.0", BY_COUNT],
        numsub,
    ),
    row(
        "pubsub|shardchannels",
        -2,
        TALK,
        [
            "[pattern]",
            "Lists the shard channels that somebody hears.",
            "7.0.0",
            "O(N) in their number",
        ],
        shard_channels,
    ),
    row(
        "pubsub|shardnumsub",
        -2,
        TALK,
        [
            "[shardchannel [shardchannel ...]]",
            "Counts who hears each shard channel.",
            "7.0.0",
            BY_COUNT,
        ],
        shardnumsub,
    ),
];
