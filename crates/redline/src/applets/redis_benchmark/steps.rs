//! From options to plans: one step for each chosen test, or one for the command given.

use load::argument::Argument;
use load::plan::{
    Cluster, ClusterClients, CommandText, ErrorPolicy, MixEntry, Pacing, Pipeline, PipelineMode,
    Placeholders, Plan, Protocol, Share, Stop, Target, WarmUp,
};
use report::model::LatencyClock;

use super::flags::{Options, number};
use super::suite;

/// Requests of a test when neither `-n` nor `--duration` says otherwise.
const DEFAULT_REQUESTS: u64 = 100_000;

/// Something to measure.
pub struct Step {
    /// What the load does.
    pub plan: Plan,
    /// A command that is sent once before it.
    pub before: Option<Vec<String>>,
}

/// The values of `-d`: a linear congruential generator from a fixed seed, so that every run writes the same. The suite
/// draws one value each time round.
pub struct Values {
    state: u32,
}

impl Values {
    /// At the beginning.
    pub fn new() -> Self {
        Self { state: 1234 }
    }

    /// The next value of this many bytes, each one of the 64 characters from `0` on.
    pub fn next(&mut self, bytes: usize) -> Vec<u8> {
        let draw = |_| {
            self.state = self.state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            b'0' + ((self.state >> 16) & 63) as u8
        };
        (0..bytes).map(draw).collect()
    }
}

/// The server that the options name.
pub fn target(options: &Options) -> Target {
    let mut target = match &options.socket {
        Some(path) => Target::unix(path),
        None => Target::tcp(&options.host, options.port),
    };
    target.tls = options.tls.settings();
    target.password.clone_from(&options.password);
    target.user = options.user.clone().filter(|_| options.password.is_some());
    target
}

/// The steps of the suite, in order, for one time round.
pub fn of_suite(options: &Options, seed: u64, data: Vec<u8>) -> Vec<Step> {
    let data = Argument(data);
    suite::chosen(options.tests.as_deref())
        .zip(seed..)
        .map(|(test, seed)| {
            let command = (test.command)(options);
            let command = if options.cluster { suite::tagged(command) } else { command };
            let mut plan = plan(options, seed, vec![command]);
            plan.title = test.title.into();
            plan.mix[0].label = test.title.into();
            plan.placeholders.data = data.clone();
            plan.payload_bytes = options.data_bytes as u64;
            Step { plan, before: test.before.map(|before| before(options)) }
        })
        .collect()
}

/// The step of the command in the options, whose last argument may come from elsewhere.
pub fn of_command(options: &Options, seed: u64, data: Vec<u8>, last: Option<Vec<u8>>) -> Step {
    let words: Vec<_> = options.command.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let title = words.join(" ");
    let arguments: Vec<Vec<u8>> = options.command.iter().cloned().chain(last).collect();
    let mut plan = plan(options, seed, sequence(&arguments));
    plan.payload_bytes = encoded_bytes(&plan.mix[0].commands, &data);
    plan.placeholders.data = Argument(data);
    plan.mix[0].label.clone_from(&title);
    plan.title = title;
    Step { plan, before: None }
}

fn plan(options: &Options, seed: u64, commands: Vec<CommandText>) -> Plan {
    let unit = u64::from(options.pipeline) * commands.len() as u64;
    let by_time = (options.duration_s > 0).then(|| options.duration_s * 1_000);
    let wanted = options.requests.unwrap_or(DEFAULT_REQUESTS);
    let mut target = target(options);
    let mut prefix: Vec<Vec<Argument>> = Vec::new();
    if options.tracking {
        prefix.push(vec!["CLIENT".into(), "TRACKING".into(), "on".into()]);
    }
    match u32::try_from(options.database) {
        // As in the original: a cluster of Redis has one database.
        _ if options.cluster => {}
        Ok(database) => target.database = database,
        // Not ours to judge: the server refuses it in its own words.
        Err(_) => prefix.push(vec!["SELECT".into(), options.database.to_string().into()]),
    }
    target.protocol = if options.resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
    Plan {
        targets: vec![target],
        // The original makes one connection whatever is asked for.
        connections: options.clients.max(1) as u32,
        threads: options.threads.max(1),
        pipeline: Pipeline { depth: options.pipeline, mode: PipelineMode::Batch },
        keep_alive: options.keep_alive,
        prefix,
        mix: vec![MixEntry::new("", commands)],
        placeholders: Placeholders {
            keyspace: options.keyspace,
            sequential: options.sequential,
            data: Argument::default(),
            fields: Vec::new(),
        },
        stop: Stop {
            // Whole batches are issued as long as fewer requests than asked for have been.
            requests: by_time.is_none().then(|| wanted.div_ceil(unit) * unit),
            duration_ms: by_time,
            // Who asks for a seed wants to see the same again, which a race for the last requests would spoil.
            share: if options.seed.is_some() { Share::Even } else { Share::FirstCome },
        },
        warm_up: WarmUp { requests: 0, duration_ms: options.warm_up_s * 1_000 },
        pacing: match options.rate_rps {
            0 => Pacing::Closed,
            rate => Pacing::Constant { rate_rps: rate as f64 },
        },
        clock: LatencyClock::FirstByte,
        seed,
        errors: ErrorPolicy::Stop,
        cluster: options.cluster.then_some(Cluster {
            replica_reads: options.replica_reads,
            clients: ClusterClients::One,
            tags: true,
        }),
        ..Plan::default()
    }
}

/// The commands between `;` arguments, each repeated as often as a number in front of it says.
fn sequence(arguments: &[Vec<u8>]) -> Vec<CommandText> {
    let mut commands = Vec::new();
    for words in arguments.split(|word| word == b";") {
        let Some((first, rest)) = words.split_first() else { continue };
        let is_number = first.first().is_some_and(|digit| (b'1'..=b'9').contains(digit));
        let (times, words) =
            if is_number { (number(&String::from_utf8_lossy(first)), rest) } else { (1, words) };
        if !words.is_empty() {
            let command = CommandText::arguments(words.iter().cloned());
            commands.extend(std::iter::repeat_n(command, times as usize));
        }
    }
    commands
}

/// The length of the encoded commands. Numbers are as long as the names that they replace; values are not.
fn encoded_bytes(commands: &[CommandText], data: &[u8]) -> u64 {
    const NAME: &[u8] = b"__data__";
    let filled = |argument: &Argument| {
        let bytes = argument.as_bytes();
        let names = bytes.windows(NAME.len()).filter(|window| *window == NAME).count();
        vec![0; bytes.len() - names * NAME.len() + names * data.len()]
    };
    let mut encoded = Vec::new();
    for command in commands {
        if let CommandText::Arguments(arguments) = command {
            let arguments: Vec<Vec<u8>> = arguments.iter().map(filled).collect();
            resp::encode::command(&mut encoded, &arguments);
        }
    }
    encoded.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applets::redis_benchmark::flags;

    fn options(line: &str) -> Options {
        flags::parse(line.split(' ').map(Into::into).collect()).unwrap()
    }

    fn command(line: &str) -> Step {
        of_command(&options(line), 1, Values::new().next(3), None)
    }

    #[test]
    fn values_are_those_of_the_original() {
        let mut values = Values::new();
        assert_eq!(values.next(3), b"VXK");
        assert_ne!(values.next(3), b"VXK");
        assert!(values.next(10_000).iter().all(|byte| (b'0'..=b'o').contains(byte)));
    }

    #[test]
    fn requests_go_in_whole_batches() {
        for (line, requests) in
            [("-n 33 -P 16 get a", 48), ("-n 32 -P 16 get a", 32), ("-n 0 get a", 0)]
        {
            assert_eq!(command(line).plan.stop.requests, Some(requests), "{line}");
        }
        assert_eq!(command("-n 10 -P 2 -- get a ; 2 set a b").plan.stop.requests, Some(12));
        assert_eq!(command("--duration 2 get a").plan.stop.requests, None);
        assert_eq!(command("get a").plan.stop.requests, Some(100_000));
    }

    #[test]
    fn titles_and_payloads_of_commands_are_those_of_the_original() {
        let step = command("-r 100 set key:__rand_int__ value");
        assert_eq!(step.plan.title, "set key:__rand_int__ value");
        // Recorded from redis-benchmark 7.0.
        assert_eq!(step.plan.payload_bytes, 47);
        assert_eq!(command("set a b").plan.payload_bytes, 27);
        assert_eq!(command("set a __data__").plan.payload_bytes, 29);
        let step = of_command(&options("set a"), 1, Vec::new(), Some(b"hello".to_vec()));
        assert_eq!((step.plan.title.as_str(), step.plan.payload_bytes), ("set a", 31));
    }

    #[test]
    fn sequences_are_divided_and_repeated() {
        let get = CommandText::arguments(["get", "a"]);
        let set = CommandText::arguments(["set", "a", "b"]);
        assert_eq!(command("get a ; 2 set a b ;").plan.mix[0].commands, [get, set.clone(), set]);
    }

    #[test]
    fn what_comes_first_on_a_connection() {
        let plan = command("--user u -a p --dbnum 3 -3 --enable-tracking get a").plan;
        assert_eq!(plan.targets[0].user.as_deref(), Some("u"));
        assert_eq!((plan.targets[0].database, plan.targets[0].protocol), (3, Protocol::Resp3));
        assert_eq!(plan.prefix.len(), 1);
        assert_eq!(command("--user u get a").plan.targets[0].user, None);
        assert_eq!(command("--dbnum -3 get a").plan.prefix[0][1], "-3".into());
    }

    #[test]
    fn every_step_of_the_suite_is_a_valid_plan() {
        let options = options(
            "-t ping,set,get,incr,lpush,mset,mget,zadd,fcall,function_load,xadd -r 10 -P 4",
        );
        let steps = of_suite(&options, 7, vec![b'x'; 3]);
        assert_eq!(steps.len(), 12);
        for (nth, step) in steps.iter().enumerate() {
            assert_eq!(step.plan.check(), Ok(()), "{}", step.plan.title);
            assert_eq!(step.plan.seed, 7 + nth as u64);
            assert_eq!(step.plan.payload_bytes, 3);
        }
    }
}
