//! The result of a run as data: what was asked, where, and what was seen. Every rendering is a pure function of it.
//!
//! Units are in the field names; every latency is in nanoseconds. A consumer that meets a higher
//! [`SCHEMA_VERSION`] than its own must refuse: fields are added without a new version, never changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// The version of this model that [`RunResult::schema_version`] carries.
pub const SCHEMA_VERSION: u32 = 1;

/// One run of the lab: one or more steps (tests) against one target, and all that is needed to read or repeat it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Always [`SCHEMA_VERSION`] when written by this version of the crate.
    pub schema_version: u32,
    /// The program that made the run.
    pub tool: Tool,
    /// Wall clock at the start, milliseconds since the Unix epoch.
    pub started_at_unix_ms: u64,
    /// The plans that were run, as an array with one plan a step; secrets are left out.
    pub plan: serde_json::Value,
    /// The machine that generated the load.
    pub machine: Machine,
    /// What was measured.
    pub target: Target,
    /// The steps in the order they were run.
    pub steps: Vec<StepResult>,
    /// True when the run was ended early by the user.
    pub interrupted: bool,
    /// Sentences that belong to every rendering: what was prepared, what was left behind.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The sentence that ended the run early, when an error did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The program that made a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name, `redline`.
    pub name: String,
    /// Its version, as `--version` prints it.
    pub version: String,
}

/// The machine that generated the load; a field that could not be found out is empty or zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu_model: String,
    /// Logical processors this process may use.
    pub cores: u32,
    /// Physical memory.
    pub memory_bytes: u64,
    /// Kernel name and release.
    pub kernel: String,
    /// Operating system, as it names itself.
    pub os: String,
}

/// What was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// `redis://host:port/db` or `unix:path`, without credentials.
    pub url: String,
    /// The server's name for itself (`redis`, `valkey`, `redline`, …); empty when it would not say.
    pub server_name: String,
    /// The server's version; empty when it would not say.
    pub server_version: String,
    /// True when no target was named, so that the store inside this program was measured.
    pub embedded: bool,
    /// Threads that the server runs commands on; 0 when it is not known.
    #[serde(default)]
    pub server_threads: u32,
}

/// Which moment a reply's latency ends at, and which it starts from: the tools that this lab replaces differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyClock {
    /// From the write of a batch to its first reply byte, given to every request of the batch (redis-benchmark).
    FirstByte,
    /// From the write of a batch to its last reply, given to every request of the batch (resp-benchmark).
    WholeBatch,
    /// From each request's own write to its own reply (memtier_benchmark, and the default here).
    #[default]
    PerRequest,
}

impl LatencyClock {
    /// The clock in words, for every report to name it.
    pub fn describe(self) -> &'static str {
        match self {
            Self::FirstByte => {
                "write of the batch to its first reply byte, for all requests of the batch"
            }
            Self::WholeBatch => {
                "write of the batch to its last reply, for all requests of the batch"
            }
            Self::PerRequest => "each request's own write to its own reply",
        }
    }
}

/// One step of a run: one test, or one command, under constant conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// The test's title (`SET`, `LRANGE_100 (first 100 elements)`, or the command itself).
    pub title: String,
    /// Replies received in the measured time, error replies included.
    pub requests: u64,
    /// Requests that had been sent, or were due, and had no reply when the step ended.
    pub unanswered: u64,
    /// Measured time, from the first send to the last reply or the deadline; warm-up is not in it.
    pub duration_ns: u64,
    /// Wall clock at the start of the measured time, milliseconds since the Unix epoch.
    pub started_at_unix_ms: u64,
    /// Connections, over all threads.
    pub connections: u32,
    /// Threads that generated load.
    pub threads: u32,
    /// Requests that a connection has in flight at most.
    pub pipeline: u32,
    /// Size of the values written, where the test has one size; the length of the encoded command for custom commands.
    pub payload_bytes: u64,
    /// False when each request (or batch) had a connection of its own.
    pub keep_alive: bool,
    /// Version and cipher suite of TLS, `TLSv1.3 TLS_AES_256_GCM_SHA384` say, those of different servers with commas between;
    /// absent when nothing was encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// The rate asked for over all connections, for an open loop; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_rate_rps: Option<f64>,
    /// Where latencies start and end.
    pub clock: LatencyClock,
    /// Results by command, in the order of the plan's mix.
    pub commands: Vec<CommandResult>,
    /// All commands together; its label is `Totals`.
    pub totals: CommandResult,
    /// Second by second, from the start of the measured time; seconds without a reply are present.
    pub series: Vec<SeriesPoint>,
    /// What can be said about the generator itself: whether it, not the server, was the limit.
    pub generator: Generator,
    /// Bytes read from the server in the measured time.
    pub bytes_in: u64,
    /// Bytes written to the server in the measured time.
    pub bytes_out: u64,
    /// How connections came and went.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// Each connection's own results, where the plan asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientResult>,
    /// True when the user ended the step early.
    pub interrupted: bool,
    /// What the nodes did, when the target was a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterResult>,
    /// When servers could not be reached or would not serve, in a run that goes on over that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
}

/// How the connections of a step came and went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Connections lost, or not made, in the measured time, in a plan that goes on after that.
    pub connection_errors: u64,
    /// Connections made anew in the measured time, for whatever reason.
    pub reconnections: u64,
    /// Connections that were active at the end of each second; empty where all are active throughout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<u32>,
}

/// What one connection did in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientResult {
    /// Thread that it lived on, from 0.
    pub thread: u32,
    /// Its number among the connections of that thread, from 0.
    pub client: u32,
    /// Its results by command, with their seconds, in the order of [`StepResult::commands`].
    pub commands: Vec<CommandResult>,
}

impl StepResult {
    /// Replies a second over the measured time; 0 for a step that had no time.
    pub fn requests_per_s(&self) -> f64 {
        per_second(self.requests, self.duration_ns)
    }

    /// The measured time in seconds.
    pub fn duration_s(&self) -> f64 {
        self.duration_ns as f64 / 1e9
    }
}

/// What one command (or all together) did in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandResult {
    /// The command's name, or the label that the plan gave it.
    pub label: String,
    /// Replies that were no errors: the samples of both histograms.
    pub count: u64,
    /// Error replies by class: the first word of the error (`ERR`, `MOVED`, `OOM`, …). They are in no histogram.
    pub errors: BTreeMap<String, u64>,
    /// What made requests be sent again, by class: redirections (`MOVED`, `ASK`), refusals that pass (`TRYAGAIN`,
    /// `CLUSTERDOWN`, …), lost connections ([`LOST_CONNECTION`]). Such a request counts once, with its last reply.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retried: BTreeMap<String, u64>,
    /// Replies of read commands that found something.
    pub hits: u64,
    /// Replies of read commands that found nothing (null, or an empty collection).
    pub misses: u64,
    /// Bytes of its replies, error replies included.
    #[serde(default)]
    pub bytes_in: u64,
    /// Bytes of its requests.
    #[serde(default)]
    pub bytes_out: u64,
    /// Transactions that the server did not carry out.
    #[serde(default)]
    pub aborts: u64,
    /// Values that were what they should be, in a verification.
    #[serde(default)]
    pub verified: u64,
    /// Values that were something else, or not there, in a verification.
    #[serde(default)]
    pub verify_failed: u64,
    /// Requests that were in flight when their connection was lost; they have no reply.
    #[serde(default)]
    pub lost: u64,
    /// Sent to done.
    pub service: Histogram,
    /// Due to done; in a closed loop a request is due when it is sent, so this equals `service`.
    pub response: Histogram,
    /// Second by second over all connections, where the plan asked for it; seconds in which nothing happened are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<CommandPoint>,
}

/// What one command did in one second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandPoint {
    /// Whole seconds since the start of the measured time.
    pub second: u32,
    /// Error replies; `MOVED` and `ASK` are among them.
    pub errors: u64,
    /// `MOVED` replies.
    pub moved: u64,
    /// `ASK` replies.
    pub ask: u64,
    /// Replies of reads that found something.
    pub hits: u64,
    /// Replies of reads that found nothing.
    pub misses: u64,
    /// Bytes of replies.
    pub bytes_in: u64,
    /// Bytes of requests.
    pub bytes_out: u64,
    /// Response times; their count is that of the replies that were no errors. Those of a single connection are coarse.
    pub latencies: Histogram,
}

impl CommandPoint {
    /// Adds another point's counts and samples to this one; the second stays.
    pub fn merge(&mut self, other: &Self) {
        self.errors += other.errors;
        self.moved += other.moved;
        self.ask += other.ask;
        self.hits += other.hits;
        self.misses += other.misses;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.latencies.merge(&other.latencies);
    }
}

impl CommandResult {
    /// An empty result with this label.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            count: 0,
            errors: BTreeMap::new(),
            retried: BTreeMap::new(),
            hits: 0,
            misses: 0,
            bytes_in: 0,
            bytes_out: 0,
            aborts: 0,
            verified: 0,
            verify_failed: 0,
            lost: 0,
            service: Histogram::new(),
            response: Histogram::new(),
            series: Vec::new(),
        }
    }

    /// Error replies of all classes.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Adds another result's counts and samples to this one; the label stays.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        for (class, count) in &other.errors {
            *self.errors.entry(class.clone()).or_default() += count;
        }
        for (class, count) in &other.retried {
            *self.retried.entry(class.clone()).or_default() += count;
        }
        self.hits += other.hits;
        self.misses += other.misses;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.aborts += other.aborts;
        self.verified += other.verified;
        self.verify_failed += other.verify_failed;
        self.lost += other.lost;
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.merge_series(&other.series);
    }

    /// Both series are in the order of their seconds, and so is the result.
    fn merge_series(&mut self, other: &[CommandPoint]) {
        for point in other {
            match self.series.binary_search_by_key(&point.second, |own| own.second) {
                Ok(at) => self.series[at].merge(point),
                Err(at) => self.series.insert(at, point.clone()),
            }
        }
    }

    /// Successful replies a second over a step's measured time.
    pub fn count_per_s(&self, duration_ns: u64) -> f64 {
        per_second(self.count, duration_ns)
    }
}

/// One second of a step. Latencies are response times (due to done).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Whole seconds since the start of the measured time.
    pub second: u32,
    /// Replies in this second that were no errors.
    pub count: u64,
    /// Error replies in this second.
    pub errors: u64,
    /// Connections lost, or not made, in this second.
    #[serde(default)]
    pub connection_errors: u64,
    /// Mean latency.
    pub mean_ns: f64,
    /// Median latency.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Largest latency.
    pub max_ns: u64,
}

/// The load generator's own state: the answer to "was the client the limit?".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    /// Processor time that each thread used in the measured time.
    pub thread_cpu_ns: Vec<u64>,
    /// How late the latest send was against its due time; 0 in a closed loop.
    pub max_send_lag_ns: u64,
    /// Most requests that were due and not yet sent, on any one connection; 0 in a closed loop.
    pub max_backlog: u64,
}

/// What the nodes of a cluster did in a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterResult {
    /// Every node that was ever connected to or known, primaries first, in the order of their slots.
    pub nodes: Vec<NodeResult>,
    /// How often the map of slots was read during the step.
    pub refreshes: u64,
    /// Requests of the busiest primary over the mean of all primaries that have slots; 1 is even, 0 without requests.
    pub imbalance: f64,
}

/// What one node of a cluster did in a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    /// Its id in the cluster; empty when only its address became known.
    pub id: String,
    /// `host:port`.
    pub address: String,
    /// What it was at the end of the step.
    pub role: NodeRole,
    /// Slots that it (or its primary) served at the end of the step.
    pub slots: u32,
    /// Replies that were no errors: the samples of `service`.
    pub count: u64,
    /// Error replies by class.
    pub errors: BTreeMap<String, u64>,
    /// What this node answered, or failed to answer, to requests that were sent again.
    pub retried: BTreeMap<String, u64>,
    /// First send of a request, which may have been to another node, to the reply of this one.
    pub service: Histogram,
}

/// What a node of a cluster is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeRole {
    /// It serves slots of its own.
    Primary,
    /// It follows a primary.
    Replica,
    /// The cluster does not name it (any more).
    #[default]
    Gone,
}

/// A time in which servers could not be reached or would not serve. Times are since the start of the measured time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// When the first connection failed, or the first request was refused.
    pub first_error_ns: u64,
    /// When the last one was.
    pub last_error_ns: u64,
    /// Longest time that a request waited for its reply, over all its attempts, if it met any of these errors.
    pub longest_stall_ns: u64,
    /// Connections that could not be made, or broke.
    pub connection_errors: u64,
    /// Requests that were refused or cut off, each time that happened to them.
    pub refused: u64,
    /// Requests that were given up, or had no reply when the step ended.
    pub lost: u64,
}

/// The class in [`CommandResult::retried`] of requests whose connection broke or could not be made.
pub const LOST_CONNECTION: &str = "CONNECTION";

fn per_second(count: u64, duration_ns: u64) -> f64 {
    if duration_ns == 0 { 0.0 } else { count as f64 * 1e9 / duration_ns as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> StepResult {
        let mut get = CommandResult::new("GET");
        get.count = 2;
        get.hits = 1;
        get.misses = 1;
        get.errors.insert("MOVED".into(), 3);
        get.service.record(1_000, 2);
        get.response.record(2_000, 2);
        let mut totals = CommandResult::new("Totals");
        totals.merge(&get);
        StepResult {
            title: "GET".into(),
            requests: 5,
            unanswered: 0,
            duration_ns: 500_000_000,
            started_at_unix_ms: 1,
            connections: 1,
            threads: 1,
            pipeline: 1,
            payload_bytes: 3,
            keep_alive: true,
            tls: None,
            target_rate_rps: None,
            clock: LatencyClock::PerRequest,
            commands: vec![get],
            totals,
            series: vec![SeriesPoint { second: 0, count: 2, errors: 3, ..SeriesPoint::default() }],
            generator: Generator::default(),
            bytes_in: 10,
            bytes_out: 20,
            lifetime: Lifetime::default(),
            clients: Vec::new(),
            interrupted: false,
            cluster: Some(ClusterResult {
                nodes: vec![NodeResult { address: "h:1".into(), ..NodeResult::default() }],
                refreshes: 1,
                imbalance: 1.5,
            }),
            outage: Some(Outage { lost: 2, ..Outage::default() }),
        }
    }

    #[test]
    fn a_result_survives_json() {
        let run = RunResult {
            schema_version: SCHEMA_VERSION,
            tool: Tool::default(),
            started_at_unix_ms: 7,
            plan: serde_json::json!([{ "title": "GET" }]),
            machine: Machine::default(),
            target: Target::default(),
            steps: vec![step()],
            interrupted: false,
            notes: Vec::new(),
            error: None,
        };
        let text = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), run);
    }

    #[test]
    fn seconds_of_commands_are_merged_by_their_number() {
        let point = |second, latency_ns| {
            let mut point = CommandPoint { second, hits: 1, ..CommandPoint::default() };
            point.latencies.record(latency_ns, 1);
            point
        };
        let mut one = CommandResult::new("GET");
        one.series = vec![point(0, 1_000), point(2, 3_000)];
        let mut other = CommandResult::new("GET");
        other.series = vec![point(0, 5_000), point(1, 2_000)];
        one.merge(&other);
        let counts: Vec<(u32, u64, u64)> = one
            .series
            .iter()
            .map(|point| (point.second, point.hits, point.latencies.max_ns()))
            .collect();
        assert_eq!(counts, [(0, 2, 5_000), (1, 1, 2_000), (2, 1, 3_000)]);
    }

    #[test]
    fn rates_count_error_replies_apart() {
        let step = step();
        assert_eq!(step.requests_per_s(), 10.0);
        assert_eq!(step.totals.count_per_s(step.duration_ns), 4.0);
        assert_eq!(step.totals.error_count(), 3);
        assert_eq!(per_second(5, 0), 0.0);
    }
}
