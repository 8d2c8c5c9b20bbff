//! From options to plans: the load, its kinds of requests in the order of the report, and the verification behind it.

use load::argument::Argument;
use load::plan::connections::{Connections, OnLoss, Retry, Staircase};
use load::plan::objects::{
    Fetch, ImportedItem, KeyPattern, NumberRange, ObjectCommand, Objects, OneOf, Part, Scan, Store,
    ValueContent, ValueSize, WeightedSize,
};
use load::plan::{
    Choice, Cluster, ClusterClients, CommandText, Detail, Follows, MixEntry, Pacing, Pipeline,
    PipelineMode, Plan, PlanError, ReplicaReads, Share, Stop,
};
use text::quote;

use super::monitor::{self, Reference};
use super::options::{CommandOption, Options, Protocol, ReadPreference, Requests};
use super::ranges::Pattern;
use super::stats::{Kind, SET_GET};
use super::{rules, target};

/// Requests of a client when neither `--requests` nor `--test-time` says otherwise.
pub const DEFAULT_REQUESTS: u64 = 10_000;
/// The seed without `--randomize`, so that runs repeat.
const SEED: u64 = 12_345;
/// Exponent of Zipf's law when none is given.
const ZIPF_EXPONENT: f64 = 1.0;
/// Wait before a lost connection is made anew, when there is a backoff factor.
const RECONNECT_WAIT_MS: u64 = 1_000;

/// What was read from files for a plan.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Commands of `--monitor-input`.
    pub monitor: Vec<monitor::Command>,
    /// Items of `--data-import`.
    pub imported: Vec<ImportedItem>,
}

/// A load, ready to run.
#[derive(Debug)]
pub struct Load {
    /// What is done.
    pub plan: Plan,
    /// The kinds of requests, in the order of the report.
    pub kinds: Vec<Kind>,
    /// Requests of each client; 0 in a test by time.
    pub requests_per_client: u64,
}

/// The load that the options ask for. `seed` is that of `--randomize`.
///
/// # Errors
/// A sentence that names the option that can't be served.
pub fn load(options: &Options, inputs: Inputs, seed: Option<u64>) -> Result<Load, String> {
    refuse(options)?;
    let Inputs { monitor, imported } = inputs;
    let (mix, kinds) = if options.commands.is_empty() {
        (set_get(options), built_in_kinds())
    } else {
        commands(options, monitor)?
    };
    let connections = options
        .clients
        .checked_mul(options.threads)
        .filter(|connections| *connections <= load::plan::MAX_CONNECTIONS)
        .ok_or_else(|| {
            format!("--clients times --threads must be at most {}", load::plan::MAX_CONNECTIONS)
        })?;
    let requests_per_client = requests_per_client(options, connections);
    let prefix = match options.protocol {
        Protocol::Resp2 => vec![vec!["HELLO".into(), "2".into()]],
        _ => Vec::new(),
    };
    let plan = Plan {
        title: "memtier_benchmark".into(),
        targets: vec![target::target(options)?],
        connections,
        threads: options.threads,
        pipeline: Pipeline { depth: options.pipeline, mode: PipelineMode::Window },
        prefix,
        mix,
        choice: Choice::Cycle,
        objects: objects(options, imported),
        stop: Stop {
            requests: (requests_per_client > 0)
                .then(|| requests_per_client.saturating_mul(connections.into())),
            duration_ms: options.test_time_s.map(|seconds| seconds.saturating_mul(1_000)),
            share: Share::Even,
        },
        pacing: match options.rate_limit {
            0 => Pacing::Closed,
            rate => Pacing::Constant { rate_rps: rate as f64 * f64::from(connections) },
        },
        seed: seed.unwrap_or(SEED),
        retry: options.retry_on_error.then(|| retry(options)),
        lifetime: lifetime(options),
        detail: Detail {
            command_seconds: options.json_out_file.is_some(),
            clients: options.client_stats.is_some(),
        },
        reply_timeout_ms: match options.connection_timeout_s {
            0 => None,
            seconds => Some(seconds * 1_000),
        },
        payload_bytes: options.data_size,
        cluster: options.cluster_mode.then(|| cluster(options)),
        ..Plan::default()
    };
    plan.check().map_err(|error| match error {
        PlanError::NotYet(_) if options.retry_on_error => {
            "--retry-on-error is not available yet".to_string()
        }
        other => other.to_string(),
    })?;
    Ok(Load { plan, kinds, requests_per_client })
}

/// The verification of imported data: every item is read once and compared.
pub fn verification(load: &Plan) -> Plan {
    let items = if load.objects.generate_keys {
        load.objects.key_maximum - load.objects.key_minimum + 1
    } else {
        load.objects.imported.len() as u64
    };
    let fetch = Fetch { keys: KeyPattern::Sequential, verify: true, ..Fetch::default() };
    Plan {
        title: "verification".into(),
        connections: 1,
        threads: 1,
        mix: vec![MixEntry::new("GET", vec![CommandText::Fetch(fetch)])],
        stop: Stop { requests: Some(items), ..Stop::default() },
        pacing: Pacing::Closed,
        lifetime: Connections::default(),
        detail: Detail::default(),
        retry: None,
        ..load.clone()
    }
}

/// What is understood and can't be served.
fn refuse(options: &Options) -> Result<(), String> {
    let reads_elsewhere = options.read_preference != ReadPreference::Primary;
    for (name, given) in [
        ("--read-preference without --cluster-mode", reads_elsewhere && !options.cluster_mode),
        ("--read-preference nearest", options.read_preference == ReadPreference::Nearest),
        ("--read-preference-fallback", options.read_preference_fallback.is_some()),
        ("--failed-keys-file", options.failed_keys_file.is_some()),
        (
            "--client-stats with --cluster-mode",
            options.cluster_mode && options.client_stats.is_some(),
        ),
        (
            "--clients-start with --cluster-mode",
            options.cluster_mode && options.clients_start.is_some(),
        ),
    ] {
        if given {
            return Err(format!("{name} is not available yet"));
        }
    }
    Ok(())
}

fn requests_per_client(options: &Options, connections: u32) -> u64 {
    if options.test_time_s.is_some() {
        return 0;
    }
    match options.requests {
        Some(Requests::Count(count)) => count,
        None => DEFAULT_REQUESTS,
        Some(Requests::AllKeys) => {
            let (least, most) = options.keys();
            let keys = most - least + 1;
            let is_parallel = options.key_pattern.0 == Pattern::Parallel
                || options.commands.iter().any(|command| command.pattern == Pattern::Parallel);
            if is_parallel { keys.div_ceil(connections.into()) } else { keys }
        }
    }
}

fn pattern(pattern: Pattern, options: &Options) -> KeyPattern {
    let given = |value: f64| (value > 0.0).then_some(value);
    match pattern {
        Pattern::Uniform => KeyPattern::Random,
        Pattern::Gaussian => KeyPattern::Gaussian {
            deviation: given(options.key_stddev),
            median: given(options.key_median),
        },
        Pattern::Sequential => KeyPattern::Sequential,
        Pattern::Parallel => KeyPattern::Parallel,
        Pattern::Zipfian => {
            KeyPattern::Zipf { exponent: given(options.key_zipf_exponent).unwrap_or(ZIPF_EXPONENT) }
        }
    }
}

fn number_range((least, most): (u64, u64)) -> NumberRange {
    NumberRange { least, most }
}

fn built_in_kinds() -> Vec<Kind> {
    SET_GET.map(|raw| Kind { label: raw.into(), raw: raw.into() }).into()
}

/// SETs and GETs in turn, and WAITs behind SETs.
fn set_get(options: &Options) -> Vec<MixEntry> {
    let (sets, gets) = options.ratio;
    let store = Store {
        keys: pattern(options.key_pattern.0, options),
        expiry_s: options.expiry_range.map(number_range),
        offset: options.data_offset,
    };
    let fetch = Fetch {
        keys: pattern(options.key_pattern.1, options),
        count: options.multi_key_get.max(1) as u32,
        offset: options.data_offset,
        ..Fetch::default()
    };
    let mut mix = Vec::new();
    for (label, command, weight) in [
        (SET_GET[0], CommandText::Store(store), sets),
        (SET_GET[1], CommandText::Fetch(fetch), gets),
    ] {
        if weight > 0 {
            let mut entry = MixEntry::new(label, vec![command]);
            entry.weight = weight as u32;
            mix.push(entry);
        }
    }
    let waits = options.wait_ratio.filter(|(_, waits)| *waits > 0 && sets > 0);
    if let Some((after, times)) = waits {
        let number =
            |range: Option<(u64, u64)>| vec![Part::Number(number_range(range.unwrap_or_default()))];
        let wait = ObjectCommand {
            arguments: vec![
                vec![Part::Text("WAIT".into())],
                number(options.num_slaves),
                number(options.wait_timeout),
            ],
            keys: KeyPattern::Random,
        };
        let mut entry = MixEntry::new(SET_GET[2], vec![CommandText::Objects(wait)]);
        entry.follows = Some(Follows { entry: 0, after: after as u32, times: times as u32 });
        mix.push(entry);
    }
    mix
}

/// The `--command`s, each as often in turn as its ratio says.
fn commands(
    options: &Options,
    monitor: Vec<monitor::Command>,
) -> Result<(Vec<MixEntry>, Vec<Kind>), String> {
    if options.scan_iteration {
        return scan(options);
    }
    let mut mix: Vec<MixEntry> = Vec::new();
    let mut kinds: Vec<Kind> = Vec::new();
    let mut monitor = Some(monitor);
    for command in &options.commands {
        let (raw, text) = one(command, &mut monitor, options)?;
        let mut label = raw.clone();
        if options.breakdown_by_line {
            let same = kinds.iter().filter(|kind| kind.raw == raw).count();
            label = if same == 0 { raw.clone() } else { format!("{raw} #{}", same + 1) };
        }
        if kinds.iter().all(|kind| kind.label != label) {
            kinds.push(Kind { label: label.clone(), raw });
        }
        let mut entry = MixEntry::new(label, vec![text]);
        entry.weight = u32::try_from(command.ratio).unwrap_or(u32::MAX);
        mix.push(entry);
    }
    if options.transaction {
        return Ok(transaction(mix));
    }
    Ok((mix, kinds))
}

/// One request out of all commands.
fn transaction(mix: Vec<MixEntry>) -> (Vec<MixEntry>, Vec<Kind>) {
    const LABEL: &str = "TRANSACTION";
    let commands = mix
        .into_iter()
        .flat_map(|entry| {
            let times = entry.weight as usize;
            entry.commands.into_iter().flat_map(move |one| std::iter::repeat_n(one, times))
        })
        .collect();
    let mut entry = MixEntry::new(LABEL, commands);
    entry.transaction = true;
    (vec![entry], vec![Kind { label: LABEL.into(), raw: LABEL.into() }])
}

fn words(command: &CommandOption) -> Result<Vec<Argument>, String> {
    let wrong = || format!("--command has unbalanced quotes: {}", command.text);
    let words = quote::split(command.text.as_bytes()).map_err(|_| wrong())?;
    if words.is_empty() {
        return Err("--command is empty".into());
    }
    Ok(words.into_iter().map(Argument).collect())
}

/// The name in reports and the text of a command. The recording is taken by the one command that draws from all of it.
fn one(
    command: &CommandOption,
    monitor: &mut Option<Vec<monitor::Command>>,
    options: &Options,
) -> Result<(String, CommandText), String> {
    const DRAWN: &str = "MONITOR_LINE";
    let fixed =
        |words: &[Vec<u8>]| -> Vec<Argument> { words.iter().cloned().map(Argument).collect() };
    let name = |argument: &Argument| String::from_utf8_lossy(argument.as_bytes()).to_uppercase();
    let lines = monitor.as_deref().unwrap_or_default();
    match monitor::reference(&command.text) {
        Some(_) if options.monitor_input.is_none() => {
            Err(format!("{} needs --monitor-input", command.text.trim()))
        }
        Some(Reference::Line(number)) => {
            let line = number.checked_sub(1).and_then(|index| lines.get(index));
            let line = line.ok_or_else(|| {
                format!(
                    "{} is not there: --monitor-input holds {} commands",
                    command.text.trim(),
                    lines.len()
                )
            })?;
            let arguments = fixed(line);
            let parts =
                arguments.iter().map(|argument| vec![Part::Text(argument.clone())]).collect();
            let object = ObjectCommand { arguments: parts, keys: KeyPattern::Random };
            Ok((name(&arguments[0]), CommandText::Objects(object)))
        }
        Some(Reference::Any) => {
            let commands = lines.iter().map(|line| fixed(line)).collect();
            Ok((
                DRAWN.into(),
                CommandText::OneOf(OneOf { commands, random: options.monitor_random }),
            ))
        }
        None => {
            let arguments = words(command)?;
            let object = ObjectCommand::parse(&arguments, pattern(command.pattern, options));
            Ok((name(&arguments[0]), CommandText::Objects(object)))
        }
    }
}

fn scan(options: &Options) -> Result<(Vec<MixEntry>, Vec<Kind>), String> {
    let arguments = words(&options.commands[0])?;
    let before = rules::scan_words(&options.commands[0].text).unwrap_or(1);
    let name = String::from_utf8_lossy(arguments[0].as_bytes()).to_uppercase();
    let (first, next) = (format!("{name} 0"), format!("{name} <cursor>"));
    let scan = Scan {
        command: arguments[..before].to_vec(),
        arguments: arguments[before + 1..].to_vec(),
        next_label: next.clone(),
        // The original counts continuations, the plan counts requests: the first one comes on top.
        iterations_max: match options.scan_max_iterations {
            0 => 0,
            most => u32::try_from(most + 1).unwrap_or(u32::MAX),
        },
    };
    let mix = vec![MixEntry::new(first.clone(), vec![CommandText::Scan(scan)])];
    Ok((mix, [first, next].map(|raw| Kind { label: raw.clone(), raw }).into()))
}

fn objects(options: &Options, imported: Vec<ImportedItem>) -> Objects {
    let (key_minimum, key_maximum) = options.keys();
    let value_size = match (&options.data_size_list, options.data_size_range) {
        (Some(list), _) => ValueSize::List(
            list.iter()
                .filter(|(_, weight)| *weight > 0)
                .map(|(bytes, weight)| WeightedSize { bytes: *bytes, weight: *weight as u32 })
                .collect(),
        ),
        (None, Some((least, most))) if options.data_size_spread => {
            ValueSize::Spread { least, most }
        }
        (None, Some((least, most))) => ValueSize::Range { least, most },
        (None, None) => ValueSize::Fixed { bytes: options.data_size },
    };
    Objects {
        key_prefix: options.key_prefix.as_str().into(),
        key_minimum,
        key_maximum,
        value_size,
        value_content: if options.random_data {
            ValueContent::Random
        } else {
            ValueContent::Letters
        },
        imported,
        generate_keys: options.generate_keys,
    }
}

fn lifetime(options: &Options) -> Connections {
    let per_run = |per_thread: u32| per_thread.saturating_mul(options.threads);
    let stairs = options.clients_start.zip(options.clients_step).zip(options.step_duration_s);
    Connections {
        connect_timeout_ms: options
            .connection_stage_timeout_s
            .map(|seconds| (seconds * 1_000).clamp(1, load::plan::connections::MAX_WAIT_MS)),
        reconnect_every: options.reconnect_interval,
        on_loss: if options.reconnect_on_error {
            let has_backoff = options.reconnect_backoff_factor > 0.0;
            OnLoss::Reconnect {
                attempts: u32::try_from(options.max_reconnect_attempts).unwrap_or(u32::MAX),
                wait_ms: if has_backoff { RECONNECT_WAIT_MS } else { 0 },
                backoff_factor: options.reconnect_backoff_factor.max(1.0),
            }
        } else {
            OnLoss::End
        },
        start_jitter_us: (options.jitter_max_us > 0)
            .then_some(NumberRange { least: options.jitter_min_us, most: options.jitter_max_us }),
        staircase: stairs.map(|((start, step), seconds)| Staircase {
            start: per_run(start),
            step: per_run(step),
            step_ms: seconds * 1_000,
        }),
    }
}

fn retry(options: &Options) -> Retry {
    Retry {
        attempts: options.max_retries.map_or(0, |most| u32::try_from(most).unwrap_or(u32::MAX)),
        wait_ms: options.retry_backoff_ms,
        backoff_factor: options.retry_backoff_factor.max(1.0),
        classes: options
            .retry_on
            .iter()
            .flat_map(|list| list.split(','))
            .map(|class| class.trim().to_uppercase())
            .filter(|class| !class.is_empty())
            .collect(),
        queue_max: u32::try_from(options.max_retry_queue).unwrap_or(u32::MAX),
    }
}

fn cluster(options: &Options) -> Cluster {
    Cluster {
        replica_reads: match options.read_preference {
            ReadPreference::Primary => ReplicaReads::No,
            _ => ReplicaReads::Yes,
        },
        clients: ClusterClients::EachNode,
        tags: false,
    }
}
