//! What the options mean: the plans of all steps, and those that make the keys before and delete them after.

use std::time::Duration;

use load::generator::Mix;
use load::plan::{
    CommandText, ErrorPolicy, MixEntry, Pacing, Pipeline, PipelineMode, Plan, Protocol, Stop,
    Target, WarmUp,
};
use report::render::text::grouped;

use super::arguments::Arguments;
use super::suite::{self, Sizes, Space, Test};
use super::target;

/// Measured time of a test, where nothing else is said.
const TEST_DURATION: Duration = Duration::from_millis(1_500);
/// Measured time of a command, where nothing else is said.
const COMMAND_DURATION: Duration = Duration::from_secs(10);
/// Connections that make and delete keys.
const PREPARING_CONNECTIONS: u32 = 16;
/// Deepest pipeline of those.
const PREPARING_DEPTH: u64 = 64;
/// What one of those connections may have on its way, roughly, in bytes.
const PREPARING_BYTES: u64 = 1 << 20;

/// All that will be sent.
#[derive(Debug)]
pub struct Steps {
    /// Deletes what an earlier run may have left.
    pub clear: Vec<Plan>,
    /// Makes the keys.
    pub fill: Vec<Plan>,
    /// Keys that `fill` makes on all targets together.
    pub filled_keys: u64,
    /// What is measured.
    pub measured: Vec<Plan>,
}

/// How the cores are shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    /// Threads that generate load.
    pub generator: u32,
    /// Threads of the embedded store.
    pub store: u32,
}

impl Cores {
    /// Store and generator get half of the cores each when they share a machine, for both work hard: on loopback a
    /// request costs the two about the same. A server elsewhere leaves all of them to the generator.
    pub fn share(arguments: &Arguments, cores: u32) -> Self {
        let is_shared = arguments.targets.iter().all(target::is_local);
        let half = (cores / 2).max(1);
        let left = |taken: u32| cores.saturating_sub(taken).max(1);
        let generator = match (arguments.threads, arguments.store_threads) {
            (Some(threads), _) => threads,
            (None, Some(store)) => left(store),
            (None, None) if is_shared => half,
            (None, None) => cores.max(1),
        };
        Self { generator, store: arguments.store_threads.unwrap_or_else(|| left(generator)) }
    }
}

/// Makes the plans for these targets.
///
/// # Errors
/// A sentence on options that make no plan.
pub fn plan(arguments: &Arguments, targets: Vec<Target>, threads: u32) -> Result<Steps, String> {
    let base = base(arguments, targets, threads);
    if !arguments.commands.is_empty() {
        let measured = vec![custom(arguments, base)?];
        return Ok(Steps { clear: Vec::new(), fill: Vec::new(), filled_keys: 0, measured });
    }
    if !arguments.weights.is_empty() {
        return Err("--weight needs a --command at the same place".into());
    }
    let sizes = Sizes { keys: arguments.keys, value_bytes: arguments.data_size };
    let tests = suite::chosen(&arguments.tests)?;
    let mut spaces: Vec<&Space> = Vec::new();
    for space in tests.iter().filter_map(|test| test.space) {
        if !spaces.iter().any(|known| std::ptr::eq(*known, space)) {
            spaces.push(space);
        }
    }
    let mut steps =
        Steps { clear: Vec::new(), fill: Vec::new(), filled_keys: 0, measured: Vec::new() };
    for targets in keepers(&base) {
        for space in &spaces {
            let base = Plan { targets: targets.to_vec(), ..base.clone() };
            steps.clear.push(preparing(&base, space, sizes, space.delete_command(sizes)));
            if let Some(text) = space.fill_command(sizes) {
                steps.fill.push(preparing(&base, space, sizes, text));
                steps.filled_keys += sizes.count(space.count);
            }
        }
    }
    steps.measured = tests.iter().map(|test| measured(&base, test, sizes, arguments)).collect();
    for plan in steps.clear.iter().chain(&steps.fill).chain(&steps.measured) {
        Mix::compile(plan).map_err(|error| error.to_string())?;
    }
    Ok(steps)
}

/// Those that keep keys of their own: each target, or the cluster that all of them belong to.
fn keepers(base: &Plan) -> impl Iterator<Item = &[Target]> {
    let at_once = if base.cluster.is_some() { base.targets.len() } else { 1 };
    base.targets.chunks(at_once)
}

fn base(arguments: &Arguments, mut targets: Vec<Target>, threads: u32) -> Plan {
    for target in &mut targets {
        target.database = arguments.db.unwrap_or(target.database);
        target.protocol = if arguments.protocol == 3 { Protocol::Resp3 } else { Protocol::Resp2 };
    }
    let default_duration =
        if arguments.commands.is_empty() { TEST_DURATION } else { COMMAND_DURATION };
    let duration = match (arguments.duration, arguments.requests) {
        (None, Some(_)) => None,
        (given, _) => Some(given.unwrap_or(default_duration)),
    };
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Plan {
        targets,
        connections: arguments.connections,
        threads: threads.min(arguments.connections),
        pipeline: Pipeline { depth: arguments.pipeline.unwrap_or(1), mode: PipelineMode::Window },
        stop: Stop {
            requests: arguments.requests,
            duration_ms: duration.map(milliseconds),
            ..Stop::default()
        },
        warm_up: WarmUp { requests: 0, duration_ms: milliseconds(arguments.warm_up) },
        pacing: match arguments.rate {
            None => Pacing::Closed,
            Some(rate_rps) => Pacing::Constant { rate_rps },
        },
        seed: arguments.seed,
        reply_timeout_ms: Some(milliseconds(arguments.timeout)),
        cluster: arguments.cluster_plan(),
        ..Plan::default()
    }
}

fn measured(base: &Plan, test: &Test, sizes: Sizes, arguments: &Arguments) -> Plan {
    let mix = test.mix.iter().map(|(label, weight, text)| MixEntry {
        weight: *weight,
        ..MixEntry::new(*label, vec![CommandText::Line(sizes.apply(text))])
    });
    Plan {
        title: test.title.into(),
        mix: mix.collect(),
        pipeline: Pipeline { depth: test.pipeline.unwrap_or(base.pipeline.depth), ..base.pipeline },
        payload_bytes: arguments.data_size.into(),
        ..base.clone()
    }
}

/// A plan that goes through all keys of a space once, fast, and stops at the first error.
fn preparing(base: &Plan, space: &Space, sizes: Sizes, text: String) -> Plan {
    let count = sizes.count(space.count);
    let depth = (PREPARING_BYTES / space.fill_bytes(sizes)).clamp(1, PREPARING_DEPTH);
    let connections = u64::from(base.connections.min(PREPARING_CONNECTIONS)).min(count);
    Plan {
        title: "keys".into(),
        connections: connections as u32,
        threads: 1,
        pipeline: Pipeline { depth: depth as u32, mode: PipelineMode::Window },
        mix: vec![MixEntry::new(
            text.split(' ').next().unwrap_or_default(),
            vec![CommandText::Line(text.clone())],
        )],
        stop: Stop { requests: Some(count), ..Stop::default() },
        warm_up: WarmUp::default(),
        pacing: Pacing::Closed,
        errors: ErrorPolicy::Stop,
        ..base.clone()
    }
}

/// The one step of all `--command`s, mixed by their weights.
fn custom(arguments: &Arguments, base: Plan) -> Result<Plan, String> {
    let (commands, weights) = (&arguments.commands, &arguments.weights);
    if !weights.is_empty() && weights.len() != commands.len() {
        return Err(format!(
            "there must be as many --weight as --command, but there are {} and {}",
            weights.len(),
            commands.len()
        ));
    }
    let name = |text: &str| text.split_whitespace().next().unwrap_or_default().to_uppercase();
    let is_alone =
        |text: &str| commands.iter().filter(|other| name(other) == name(text)).count() == 1;
    let mix: Vec<MixEntry> = commands
        .iter()
        .enumerate()
        .map(|(nth, text)| MixEntry {
            weight: weights.get(nth).copied().unwrap_or(1),
            ..MixEntry::new(
                if is_alone(text) { name(text) } else { text.clone() },
                vec![CommandText::Line(text.clone())],
            )
        })
        .collect();
    let title = match commands.as_slice() {
        [one] => one.clone(),
        _ => {
            let labels: Vec<&str> = mix.iter().map(|entry| entry.label.as_str()).collect();
            let shares: Vec<String> =
                mix.iter().map(|entry| grouped(entry.weight.into())).collect();
            format!("{} {}", labels.join(":"), shares.join(":"))
        }
    };
    let plan = Plan { title, mix, ..base };
    Mix::compile(&plan).map_err(|error| error.to_string())?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use load::plan::ReplicaReads;

    use super::{Arguments, Cores, Pacing, Protocol, Steps, Target, plan};

    fn arguments(words: &str) -> Arguments {
        Arguments::try_parse_from(words.split(' ')).unwrap()
    }

    fn steps(words: &str) -> Result<Steps, String> {
        plan(&arguments(words), vec![Target::tcp("h", 1), Target::tcp("i", 2)], 4)
    }

    #[test]
    fn cores_are_shared_with_a_server_on_this_machine() {
        for (words, cores, generator, store) in [
            ("bench", 2, 1, 1),
            ("bench", 1, 1, 1),
            ("bench", 9, 4, 5),
            ("bench --threads 3", 8, 3, 5),
            ("bench --store-threads 6", 8, 2, 6),
            ("bench 127.0.0.1", 8, 4, 4),
            ("bench example.org", 8, 8, 1),
        ] {
            let share = Cores::share(&arguments(words), cores);
            assert_eq!(share, Cores { generator, store }, "{words} {cores}");
        }
    }

    #[test]
    fn every_target_is_filled_and_cleared() {
        let steps =
            steps("bench --tests get,set,lrange_100 --keys 500 --db 3 --protocol 3").unwrap();
        assert_eq!(steps.clear.len(), 4);
        assert_eq!(steps.fill.len(), 4);
        assert_eq!(steps.filled_keys, 2 * (500 + 5));
        assert!(steps.fill.iter().all(|plan| plan.targets.len() == 1));
        for plan in &steps.measured {
            assert_eq!(plan.targets.len(), 2);
            assert!(plan.targets.iter().all(|target| target.database == 3));
            assert!(plan.targets.iter().all(|target| target.protocol == Protocol::Resp3));
        }
        let titles: Vec<&str> = steps.measured.iter().map(|plan| plan.title.as_str()).collect();
        assert_eq!(titles, ["SET", "GET", "LRANGE_100"]);
    }

    #[test]
    fn a_cluster_is_filled_and_cleared_once() {
        let steps = steps("bench --cluster --replica-reads all --tests get --keys 500").unwrap();
        assert_eq!((steps.clear.len(), steps.fill.len(), steps.filled_keys), (1, 1, 500));
        assert!(steps.fill[0].targets.len() == 2 && steps.fill[0].cluster.is_some());
        let cluster = steps.measured[0].cluster.unwrap();
        assert_eq!(cluster.replica_reads, ReplicaReads::All);
        assert!(Arguments::try_parse_from(["bench", "--replica-reads", "all"]).is_err());
    }

    #[test]
    fn a_number_of_requests_replaces_the_duration() {
        let stop = |words| steps(words).unwrap().measured[0].stop;
        assert_eq!(stop("bench").duration_ms, Some(1_500));
        assert_eq!(stop("bench --command PING").duration_ms, Some(10_000));
        assert_eq!(stop("bench -n 7").duration_ms, None);
        assert_eq!(stop("bench -n 7 --duration 2s").duration_ms, Some(2_000));
        assert_eq!(stop("bench -n 7").requests, Some(7));
    }

    #[test]
    fn a_default_run_takes_less_than_30_seconds() {
        let steps = steps("bench").unwrap();
        let ms: u64 = steps
            .measured
            .iter()
            .map(|plan| plan.stop.duration_ms.unwrap() + plan.warm_up.duration_ms)
            .sum();
        // The rest is for connecting, filling and deleting.
        assert!(ms <= 25_000, "{ms}");
    }

    #[test]
    fn commands_are_mixed_by_weight() {
        let custom = |words: &[&str]| {
            let arguments = Arguments::try_parse_from(words).unwrap();
            plan(&arguments, vec![Target::default()], 1).map(|mut steps| steps.measured.remove(0))
        };
        let plan = custom(&[
            "bench",
            "--command",
            "get {key uniform 5}",
            "--weight",
            "10",
            "--command",
            "SET a b",
            "--weight",
            "1",
            "--rate",
            "100",
        ])
        .unwrap();
        assert_eq!(plan.title, "GET:SET 10:1");
        assert_eq!(plan.pacing, Pacing::Constant { rate_rps: 100.0 });
        assert_eq!(plan.mix[0].weight, 10);
        let plan = custom(&["bench", "--command", "GET a", "--command", "GET b"]).unwrap();
        assert_eq!(plan.mix[1].label, "GET b");
        for (words, part) in [
            (&["bench", "--command", "GET {key odd 5}"][..], "unknown placeholder"),
            (&["bench", "--command", ""], "empty"),
            (&["bench", "--command", "A", "--command", "B", "--weight", "1"], "as many"),
        ] {
            let error = custom(words).unwrap_err();
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }
}
