//! A run as data: what is sent where, by how many connections, for how long, how fast, and which clock reads it.
//!
//! Every command line becomes a [`Plan`]; the engine knows nothing else. Stop rule, pacing and clock are values here,
//! so that no loop is written twice. A plan in JSON can be run again; passwords are left out of it.

pub mod connections;
pub mod objects;

use report::model::LatencyClock;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::argument::Argument;
use connections::{Connections, Retry};
use objects::{Fetch, ObjectCommand, Objects, OneOf, Scan, Store};

/// Most connections that one plan may open.
pub const MAX_CONNECTIONS: u32 = 100_000;
/// Most threads that one plan may start.
pub const MAX_THREADS: u32 = 500;
/// Deepest pipeline.
pub const MAX_PIPELINE: u32 = 100_000;
/// Highest rate of an open loop, requests a second.
pub const MAX_RATE_RPS: f64 = 1e8;
/// Most commands in a mix.
pub const MAX_MIX: usize = 1_000;

/// One step of a run, complete: the engine needs nothing else to carry it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The test's title in reports.
    pub title: String,
    /// Where the load goes: connection `i` uses target `i % targets`.
    pub targets: Vec<Target>,
    /// Connections over all threads.
    pub connections: u32,
    /// Threads; connection `i` lives on thread `i % threads`.
    pub threads: u32,
    /// How many requests a connection has in flight, and when it sends the next.
    pub pipeline: Pipeline,
    /// False: each batch has a connection of its own (redis-benchmark's `-k 0`).
    pub keep_alive: bool,
    /// Commands that each new connection sends after authentication and selection; an error reply to one ends the run.
    pub prefix: Vec<Vec<Argument>>,
    /// What is sent; which entry is next is the plan's `choice`.
    pub mix: Vec<MixEntry>,
    /// How the next entry of the mix is chosen.
    #[serde(default)]
    pub choice: Choice,
    /// What [`CommandText::Store`], [`CommandText::Fetch`] and [`CommandText::Objects`] write and read.
    #[serde(default)]
    pub objects: Objects,
    /// What `__rand_int__` and its kin stand for.
    pub placeholders: Placeholders,
    /// When the step is over.
    pub stop: Stop,
    /// What is sent before the measured time and not recorded.
    pub warm_up: WarmUp,
    /// Closed loop or open loop.
    pub pacing: Pacing,
    /// Where latencies start and end.
    pub clock: LatencyClock,
    /// Seed of all random choices: the same seed gives the same bytes on each connection, whatever the thread count.
    pub seed: u64,
    /// What an error reply does.
    pub errors: ErrorPolicy,
    /// Requests that are sent again when they fail; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How connections come and go.
    #[serde(default)]
    pub lifetime: Connections,
    /// What is kept of the run beyond its totals.
    #[serde(default)]
    pub detail: Detail,
    /// The run fails when a connection waits longer than this for a reply; absent: as long as the stop rule allows.
    #[serde(default)]
    pub reply_timeout_ms: Option<u64>,
    /// Size of the values written, for reports only.
    pub payload_bytes: u64,
    /// The targets are nodes of a cluster, whose slots say where each request goes; absent: each connection keeps to
    /// its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
}

impl Default for Plan {
    /// 50 connections of one thread to 127.0.0.1:6379, closed loop, 100,000 `PING`s: the defaults of redis-benchmark.
    fn default() -> Self {
        Self {
            title: "PING".into(),
            targets: vec![Target::default()],
            connections: 50,
            threads: 1,
            pipeline: Pipeline::default(),
            keep_alive: true,
            prefix: Vec::new(),
            mix: vec![MixEntry::new("PING", vec![CommandText::arguments(["PING"])])],
            choice: Choice::default(),
            objects: Objects::default(),
            placeholders: Placeholders::default(),
            stop: Stop { requests: Some(100_000), ..Stop::default() },
            warm_up: WarmUp::default(),
            pacing: Pacing::Closed,
            clock: LatencyClock::PerRequest,
            seed: 0,
            errors: ErrorPolicy::Count,
            retry: None,
            lifetime: Connections::default(),
            detail: Detail::default(),
            reply_timeout_ms: None,
            payload_bytes: 0,
            cluster: None,
        }
    }
}

/// How a cluster is loaded. Each connection of the plan is then a client: it draws requests, keeps `pipeline` of them in
/// flight, and sends each to the node that serves the slot of its keys, over a socket of its own to that node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Which nodes get commands that only read.
    #[serde(default)]
    pub replica_reads: ReplicaReads,
    /// How clients relate to nodes.
    #[serde(default)]
    pub clients: ClusterClients,
    /// Every `{tag}` in a command stands for a hash tag whose slot is served by the client's own node; all
    /// requests sent together share one (redis-benchmark).
    #[serde(default)]
    pub tags: bool,
}

/// Which nodes of a cluster get commands that only read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaReads {
    /// Primaries.
    #[default]
    No,
    /// Replicas; the primary where there is none that can be reached.
    Yes,
    /// Primary and replicas in equal shares.
    All,
}

/// How clients relate to the nodes of a cluster. In both, client `i` calls node `i % nodes` its own: commands without a
/// key go there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterClients {
    /// A client has `pipeline` requests in flight, wherever they go (redis-benchmark).
    #[default]
    One,
    /// A client has `pipeline` requests in flight for each primary (memtier_benchmark's `--cluster-mode`).
    EachNode,
}

/// One server to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// User name for `AUTH`; needs a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Password for `AUTH`; never written to JSON.
    #[serde(default, skip_serializing)]
    pub password: Option<String>,
    /// Database for `SELECT`, which is sent when it is not 0.
    #[serde(default)]
    pub database: u32,
    /// Protocol version; 3 sends `HELLO 3`.
    #[serde(default)]
    pub protocol: Protocol,
    /// How its connections are encrypted; absent: they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
}

impl Default for Target {
    fn default() -> Self {
        Self::tcp("127.0.0.1", 6379)
    }
}

impl Target {
    /// A target at a TCP address, without credentials, in database 0, with RESP2.
    pub fn tcp(host: impl Into<String>, port: u16) -> Self {
        Self::at(Address::Tcp { host: host.into(), port })
    }

    /// A target at a Unix socket, without credentials, in database 0, with RESP2.
    pub fn unix(path: impl Into<String>) -> Self {
        Self::at(Address::Unix { path: path.into() })
    }

    fn at(address: Address) -> Self {
        Self {
            address,
            user: None,
            password: None,
            database: 0,
            protocol: Protocol::Resp2,
            tls: None,
        }
    }
}

/// How connections are encrypted and whom they trust. Paths are text, as the command line had them; no secret is in here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tls {
    /// The server's name: sent to it (SNI), and looked for in its certificate. Absent: the host of the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni: Option<String>,
    /// PEM file of the certificates to trust. Without file and directory: those that the system trusts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// Directory whose `*.pem` and `*.crt` files hold certificates to trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_directory: Option<String>,
    /// PEM file of the certificate to show to the server, with those between it and its CA after it; needs a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// PEM file of that certificate's private key: PKCS#8, PKCS#1 or SEC1, not encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The server's certificate is not verified at all.
    pub insecure: bool,
    /// Cipher suites of TLS 1.2 in order of preference, OpenSSL's names with colons between; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ciphers: Option<String>,
    /// Cipher suites of TLS 1.3, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ciphersuites: Option<String>,
    /// Versions that may be used; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<TlsVersion>,
}

/// A version of TLS. Older ones are broken, and no maintained server asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "TLSv1.2")]
    Tls12,
    /// TLS 1.3.
    #[serde(rename = "TLSv1.3")]
    Tls13,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// A TCP host name or address, and a port.
    Tcp {
        /// Name or address; IPv6 without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix stream socket.
    Unix {
        /// Its path.
        path: String,
    },
}

impl Address {
    /// The host; of a socket in the file system, nothing.
    pub fn host(&self) -> &str {
        match self {
            Self::Tcp { host, .. } => host,
            Self::Unix { .. } => "",
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(formatter, "{host}:{port}"),
            Self::Unix { path } => write!(formatter, "{path}"),
        }
    }
}

/// Protocol version of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// What every server speaks without being asked.
    #[default]
    Resp2,
    /// Asked for by `HELLO 3`.
    Resp3,
    /// memcached's text protocol. Like the other two of memcached it has only [`CommandText::Store`] and
    /// [`CommandText::Fetch`], and all targets of the plan must speak it.
    MemcacheText,
    /// memcached's binary protocol; user and password are sent by SASL PLAIN.
    MemcacheBinary,
    /// memcached's meta commands, `ms` and `mg`.
    MemcacheMeta,
}

impl Protocol {
    /// True for the protocols of memcached.
    pub fn is_memcache(self) -> bool {
        matches!(self, Self::MemcacheText | Self::MemcacheBinary | Self::MemcacheMeta)
    }
}

/// Requests in flight on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipeline {
    /// Most of them; at least 1. With sequences of commands it counts sequences.
    pub depth: u32,
    /// When the next are sent.
    pub mode: PipelineMode,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self { depth: 1, mode: PipelineMode::Window }
    }
}

/// When a connection sends its next requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineMode {
    /// `depth` at once, the next `depth` after all their replies (redis-benchmark, resp-benchmark).
    Batch,
    /// As soon as a reply makes room (memtier_benchmark, and the default here).
    #[default]
    Window,
}

/// How the next entry of a mix is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// At random, by weight.
    #[default]
    Random,
    /// In turn, on each connection for itself: each entry as often as its weight says, from the first to the last, and over again.
    Cycle,
}

/// What is kept of a run beyond its totals; each part costs memory, so none is kept unasked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// Each second of each command, with its histogram: [`report::model::CommandResult::series`].
    pub command_seconds: bool,
    /// Each connection's own results, with its seconds: [`report::model::StepResult::clients`].
    pub clients: bool,
}

/// An entry that is not in the cycle but follows another one: memtier_benchmark's `WAIT`s after its `SET`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follows {
    /// Index in the mix of the entry that it follows; that one follows none.
    pub entry: u32,
    /// After so many of those …
    pub after: u32,
    /// … come so many of these.
    pub times: u32,
}

/// A command, or a sequence of commands sent together, and how often it is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixEntry {
    /// Its name in reports; entries with the same label are reported together.
    pub label: String,
    /// One command, or several that are always sent in this order; each reply is one request.
    pub commands: Vec<CommandText>,
    /// Its share: weight over the sum of all weights; at least 1. In a cycle: how many times it is sent in turn.
    pub weight: u32,
    /// It is not chosen, but sent after another entry; needs [`Choice::Cycle`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Follows>,
    /// The commands are sent between `MULTI` and `EXEC`, and are one request whose latency ends with the reply to `EXEC`; a null
    /// reply to that is an abort ([`report::model::CommandResult::aborts`]).
    #[serde(default)]
    pub transaction: bool,
}

impl MixEntry {
    /// An entry of weight 1.
    pub fn new(label: impl Into<String>, commands: Vec<CommandText>) -> Self {
        Self { label: label.into(), commands, weight: 1, follows: None, transaction: false }
    }
}

/// A command with placeholders, in one of the syntaxes that people know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandText {
    /// Arguments with the placeholders of redis-benchmark and valkey-benchmark: `__rand_int__`, `__rand_1st__` to
    /// `__rand_9th__`, `__data__`.
    Arguments(Vec<Argument>),
    /// A line with the placeholders of resp-benchmark: `{key uniform N}`, `{key sequence N}`, `{key zipfian N}`,
    /// `{value N}`, `{rand N}`, `{range N W}`. Quotes protect spaces; `{{` is a brace.
    Line(String),
    /// Sent as it is, ended by CR LF: an inline command; placeholders as in `Arguments`.
    Inline(String),
    /// Lua text that defines `generate()`, which returns the words of each command (resp-benchmark's `--lua`). It stands
    /// alone in its entry, and is not for memcached.
    Script(String),
    /// Writes an object of the plan.
    Store(Store),
    /// Reads objects of the plan.
    Fetch(Fetch),
    /// Arguments that hold keys and values of the plan's objects.
    Objects(ObjectCommand),
    /// One of many commands.
    OneOf(OneOf),
    /// The next request of an iteration over the keyspace.
    Scan(Scan),
}

impl CommandText {
    /// [`CommandText::Arguments`] from anything that makes arguments.
    pub fn arguments<A: Into<Argument>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self::Arguments(arguments.into_iter().map(Into::into).collect())
    }
}

/// What the placeholders of [`CommandText::Arguments`] stand for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placeholders {
    /// `__rand_int__` and `__rand_1st__`… are 12 digits below this; absent: they are sent literally; 0: always zero.
    pub keyspace: Option<u64>,
    /// They count up instead of being random.
    pub sequential: bool,
    /// What `__data__` stands for.
    pub data: Argument,
    /// What `__field:NAME__` stands for: all fields of a command or sequence come from one row, the
    /// rows in turn over all connections. A name that is not among them is sent literally.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

/// A column of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its value in each row; every field of a plan has as many.
    pub values: Vec<Argument>,
}

/// When a step is over: whichever comes first of those that are present; none present means when it is told to stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// After this many measured requests over all connections.
    pub requests: Option<u64>,
    /// After this measured time.
    pub duration_ms: Option<u64>,
    /// How `requests` are shared among the connections.
    #[serde(default)]
    pub share: Share,
}

/// How a number of requests is shared among connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Each connection sends the same number, so that runs repeat byte for byte and sequences leave no key out.
    #[default]
    Even,
    /// Each connection takes from one budget as fast as it can (redis-benchmark). Plans with sequences stay even.
    FirstCome,
}

/// What is sent before the measured time; it is over when every part that is present is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUp {
    /// At least this many requests over all connections; 0 for none.
    pub requests: u64,
    /// At least this long; 0 for none.
    pub duration_ms: u64,
}

/// When requests are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// A request is due when the pipeline has room for it: as fast as the server answers.
    #[default]
    Closed,
    /// Request `i` of the run is due at start + `i`/rate, whether or not the server keeps up; none is dropped.
    Constant {
        /// Requests a second over all connections. They take turns, so a rate for each connection is that rate times the
        /// connections: each keeps its own exactly, evenly spaced, and they do not send together.
        rate_rps: f64,
    },
}

/// What an error reply does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorPolicy {
    /// It is counted by class, and the run goes on.
    #[default]
    Count,
    /// The first one ends the run with its text (redis-benchmark).
    Stop,
}

/// Why a plan can't be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A number is outside its limits.
    #[error("{field} must be from {least} to {most}")]
    OutOfRange {
        /// The field's name in the plan.
        field: &'static str,
        /// Least value allowed.
        least: u64,
        /// Greatest value allowed.
        most: u64,
    },
    /// A list that needs an element has none.
    #[error("{0} must not be empty")]
    Empty(&'static str),
    /// The clock gives all requests of a batch one latency, but there are no batches.
    #[error("this latency clock needs the batch pipeline mode")]
    ClockNeedsBatches,
    /// A connection for each batch can't be had with a sliding window.
    #[error("a connection for each batch needs the batch pipeline mode")]
    ReconnectNeedsBatches,
    /// Fields that can't be rows of one data set.
    #[error("every field of a data set needs a value in each row, and at least one row")]
    UnevenFields,
    /// A client certificate without its key, or the other way round.
    #[error("a client certificate needs its private key, and a key needs its certificate")]
    CertificateWithoutKey,
    /// A part of the plan that the engine can't carry out.
    #[error("{0} is not available yet")]
    NotYet(&'static str),
    /// A normal law without a width.
    #[error("the standard deviation must be above 0 and finite, and the median finite")]
    Gaussian,
    /// Memcached's protocols beside others, or with commands that they don't have.
    #[error(
        "memcached's protocols have only sets and gets of objects, and all targets must speak the same one"
    )]
    Memcache,
    /// A follower of a follower, of itself or of nothing, or one outside a cycle.
    #[error("an entry can only follow another one that is in the cycle")]
    Follower,
    /// An iteration beside other commands, or with requests in flight.
    #[error("an iteration with SCAN must be the only command, with a pipeline depth of 1")]
    ScanAlone,
    /// Values to compare with, where there are none.
    #[error("verification needs imported items, and one key a request")]
    NothingToVerify,
    /// A read of several keys from an offset.
    #[error("a read of several keys has no offset")]
    OffsetOfMany,
    /// A user without a password.
    #[error("a user name needs a password")]
    UserWithoutPassword,
    /// A cluster that is named by a socket in the file system.
    #[error("a cluster needs the TCP address of one of its nodes")]
    ClusterNeedsTcp,
    /// A command's text can't be understood.
    #[error("{0}")]
    Template(#[from] crate::template::TemplateError),
}

impl Plan {
    /// Checks all limits that can be checked without compiling the commands.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), PlanError> {
        within("connections", self.connections.into(), 1, MAX_CONNECTIONS.into())?;
        within("threads", self.threads.into(), 1, MAX_THREADS.into())?;
        within("pipeline depth", self.pipeline.depth.into(), 1, MAX_PIPELINE.into())?;
        within("mix", self.mix.len() as u64, 1, MAX_MIX as u64)?;
        if self.targets.is_empty() {
            return Err(PlanError::Empty("targets"));
        }
        if self.targets.iter().any(|target| target.user.is_some() && target.password.is_none()) {
            return Err(PlanError::UserWithoutPassword);
        }
        if self
            .targets
            .iter()
            .filter_map(|target| target.tls.as_ref())
            .any(|tls| tls.certificate.is_some() != tls.key.is_some())
        {
            return Err(PlanError::CertificateWithoutKey);
        }
        for entry in &self.mix {
            within("weight", entry.weight.into(), 1, u32::MAX.into())?;
            if entry.commands.is_empty() {
                return Err(PlanError::Empty("commands"));
            }
        }
        self.objects.check()?;
        self.lifetime.check(self.connections)?;
        self.retry.iter().try_for_each(Retry::check)?;
        self.check_mix()?;
        self.check_availability()?;
        let rows = self.placeholders.fields.first().map(|field| field.values.len());
        if self
            .placeholders
            .fields
            .iter()
            .any(|field| field.values.is_empty() || Some(field.values.len()) != rows)
        {
            return Err(PlanError::UnevenFields);
        }
        if self.prefix.iter().any(Vec::is_empty) {
            return Err(PlanError::Empty("prefix command"));
        }
        if let Pacing::Constant { rate_rps } = self.pacing
            && !(rate_rps > 0.0 && rate_rps <= MAX_RATE_RPS)
        {
            return Err(PlanError::OutOfRange {
                field: "rate",
                least: 0,
                most: MAX_RATE_RPS as u64,
            });
        }
        let batches = self.pipeline.mode == PipelineMode::Batch || self.pipeline.depth == 1;
        if self.clock != LatencyClock::PerRequest && !batches {
            return Err(PlanError::ClockNeedsBatches);
        }
        if !self.keep_alive && !batches {
            return Err(PlanError::ReconnectNeedsBatches);
        }
        let is_unix = |target: &Target| matches!(target.address, Address::Unix { .. });
        if self.cluster.is_some() && self.targets.iter().any(is_unix) {
            return Err(PlanError::ClusterNeedsTcp);
        }
        Ok(())
    }

    /// Rules of the mix that concern objects, followers, iterations and protocols.
    fn check_mix(&self) -> Result<(), PlanError> {
        let is_in_cycle = |entry: &MixEntry| entry.follows.is_none();
        for entry in &self.mix {
            if let Some(follows) = entry.follows {
                let leader = self.mix.get(follows.entry as usize);
                if self.choice != Choice::Cycle || !leader.is_some_and(is_in_cycle) {
                    return Err(PlanError::Follower);
                }
                within("follower ratio", follows.after.into(), 1, u32::MAX.into())?;
                within("follower ratio", follows.times.into(), 1, u32::MAX.into())?;
            }
            for command in &entry.commands {
                self.check_command(command)?;
            }
        }
        let memcache = self.targets.iter().find(|target| target.protocol.is_memcache());
        if let Some(first) = memcache {
            let is_plain = |command: &CommandText| {
                matches!(command, CommandText::Store(Store { offset: 0, .. }))
                    || matches!(command, CommandText::Fetch(Fetch { offset: 0, .. }))
            };
            let are_alike = self.targets.iter().all(|target| target.protocol == first.protocol);
            let mut commands = self.mix.iter().flat_map(|entry| &entry.commands);
            let has_transaction = self.mix.iter().any(|entry| entry.transaction);
            if !are_alike || has_transaction || !commands.all(is_plain) || !self.prefix.is_empty() {
                return Err(PlanError::Memcache);
            }
        }
        Ok(())
    }

    fn check_command(&self, command: &CommandText) -> Result<(), PlanError> {
        match command {
            CommandText::Store(store) => {
                store.keys.check()?;
                within("offset", store.offset, 0, objects::MAX_VALUE_BYTES)?;
                store.expiry_s.map_or(Ok(()), |range| range.check("greatest expiry"))
            }
            CommandText::Fetch(fetch) => {
                fetch.keys.check()?;
                within("offset", fetch.offset, 0, objects::MAX_VALUE_BYTES)?;
                within("keys of a read", fetch.count.into(), 1, objects::MAX_FETCH_KEYS)?;
                if fetch.verify && (self.objects.imported.is_empty() || fetch.count != 1) {
                    return Err(PlanError::NothingToVerify);
                }
                if fetch.offset > 0 && fetch.count > 1 {
                    return Err(PlanError::OffsetOfMany);
                }
                Ok(())
            }
            CommandText::Objects(command) => {
                command.keys.check()?;
                command.arguments.iter().flatten().try_for_each(|part| match part {
                    objects::Part::Number(range) => range.check("greatest number"),
                    _ => Ok(()),
                })
            }
            CommandText::OneOf(one_of) => {
                within(
                    "commands to choose from",
                    one_of.commands.len() as u64,
                    1,
                    objects::MAX_CHOICES,
                )?;
                if one_of.commands.iter().any(Vec::is_empty) {
                    return Err(PlanError::Empty("command"));
                }
                Ok(())
            }
            CommandText::Scan(scan) => {
                if scan.command.is_empty() {
                    return Err(PlanError::Empty("command"));
                }
                let is_alone = self.mix.len() == 1 && self.mix[0].commands.len() == 1;
                if is_alone && self.pipeline.depth == 1 {
                    Ok(())
                } else {
                    Err(PlanError::ScanAlone)
                }
            }
            CommandText::Arguments(_)
            | CommandText::Line(_)
            | CommandText::Inline(_)
            | CommandText::Script(_) => Ok(()),
        }
    }

    /// What the engine does not do yet.
    fn check_availability(&self) -> Result<(), PlanError> {
        let one_of = |command: &CommandText| {
            let fetch =
                matches!(command, CommandText::Fetch(fetch) if fetch.verify || fetch.count > 1);
            fetch || matches!(command, CommandText::OneOf(_) | CommandText::Scan(_))
        };
        let is_single = self.cluster.is_some()
            && self.mix.iter().any(|entry| entry.transaction || entry.commands.iter().any(one_of));
        let parts = [
            (
                is_single,
                "a transaction, an iteration, a recording, a verification or a multi-key get in a cluster",
            ),
            (self.cluster.is_some() && self.detail.clients, "detail by client in a cluster"),
            (
                self.cluster.is_some()
                    && (self.lifetime.reconnect_every > 0
                        || self.lifetime.staircase.is_some()
                        || self.lifetime.start_jitter_us.is_some()
                        || self.lifetime.connect_timeout_ms.is_some()),
                "a staircase, a planned reconnection, a jitter or a limit of the time to connect in a cluster",
            ),
            (self.retry.is_some(), "a retry after an error reply"),
        ];
        match parts.into_iter().find(|(is_wanted, _)| *is_wanted) {
            Some((_, name)) => Err(PlanError::NotYet(name)),
            None => Ok(()),
        }
    }

    /// Threads that have a connection.
    pub fn busy_threads(&self) -> u32 {
        self.threads.min(self.connections)
    }
}

fn within(field: &'static str, value: u64, least: u64, most: u64) -> Result<(), PlanError> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(PlanError::OutOfRange { field, least, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_json_but_its_password_does_not() {
        let mut plan = Plan {
            pacing: Pacing::Constant { rate_rps: 1000.5 },
            mix: vec![MixEntry::new(
                "SET",
                vec![CommandText::Line("SET {key uniform 10} x".into())],
            )],
            ..Plan::default()
        };
        plan.targets[0].password = Some("secret".into());
        plan.targets[0].tls = Some(Tls {
            sni: Some("db.example.org".into()),
            insecure: true,
            versions: vec![TlsVersion::Tls12, TlsVersion::Tls13],
            ..Tls::default()
        });
        let text = serde_json::to_string(&plan).unwrap();
        assert!(!text.contains("secret"));
        let read: Plan = serde_json::from_str(&text).unwrap();
        plan.targets[0].password = None;
        assert_eq!(read, plan);
    }

    #[test]
    fn rules_of_mixes_have_their_errors() {
        let store = || MixEntry::new("SET", vec![CommandText::Store(Store::default())]);
        let follower = |entry| {
            let follows = Some(Follows { entry, after: 1, times: 1 });
            MixEntry {
                follows,
                ..MixEntry::new("WAIT", vec![CommandText::arguments(["WAIT", "1", "0"])])
            }
        };
        let plan = |mix| Plan { mix, choice: Choice::Cycle, ..Plan::default() };
        assert_eq!(plan(vec![store(), follower(1)]).check(), Err(PlanError::Follower));
        assert_eq!(plan(vec![store(), follower(2)]).check(), Err(PlanError::Follower));
        let random = Plan { choice: Choice::Random, ..plan(vec![store(), follower(0)]) };
        assert_eq!(random.check(), Err(PlanError::Follower));

        let memcache = |mix| {
            let mut plan = plan(mix);
            plan.targets[0].protocol = Protocol::MemcacheText;
            plan.check()
        };
        let get = MixEntry::new("GET", vec![CommandText::arguments(["GET", "a"])]);
        assert_eq!(memcache(vec![store(), get]), Err(PlanError::Memcache));

        let scan = Scan {
            command: vec!["SCAN".into()],
            arguments: Vec::new(),
            next_label: "SCAN".into(),
            iterations_max: 0,
        };
        let scan = MixEntry::new("SCAN 0", vec![CommandText::Scan(scan)]);
        assert_eq!(plan(vec![scan, store()]).check(), Err(PlanError::ScanAlone));

        let fetch = |fetch| MixEntry::new("GET", vec![CommandText::Fetch(fetch)]);
        let verify = Fetch { verify: true, ..Fetch::default() };
        assert_eq!(plan(vec![fetch(verify)]).check(), Err(PlanError::NothingToVerify));
        let many = Fetch { offset: 1, count: 2, ..Fetch::default() };
        assert_eq!(plan(vec![fetch(many)]).check(), Err(PlanError::OffsetOfMany));
        let zipf = Fetch { keys: objects::KeyPattern::Zipf { exponent: 5.0 }, ..Fetch::default() };
        assert!(matches!(plan(vec![fetch(zipf)]).check(), Err(PlanError::OutOfRange { .. })));
    }

    #[test]
    fn each_limit_has_its_error() {
        let good = Plan::default();
        assert_eq!(good.check(), Ok(()));
        type Breaking = fn(&mut Plan);
        let broken: [(Breaking, &str); 9] = [
            (|plan| plan.connections = 0, "connections must be from 1 to 100000"),
            (|plan| plan.threads = 501, "threads must be from 1 to 500"),
            (|plan| plan.mix.clear(), "mix must be from 1 to 1000"),
            (|plan| plan.targets.clear(), "targets must not be empty"),
            (|plan| plan.targets[0].user = Some("u".into()), "a user name needs a password"),
            (
                |plan| {
                    let key = Some("client.key".into());
                    plan.targets[0].tls = Some(Tls { key, ..Tls::default() });
                },
                "a client certificate needs its private key, and a key needs its certificate",
            ),
            (
                |plan| plan.pacing = Pacing::Constant { rate_rps: f64::NAN },
                "rate must be from 0 to 100000000",
            ),
            (
                |plan| {
                    plan.pipeline.depth = 2;
                    plan.clock = LatencyClock::FirstByte;
                },
                "this latency clock needs the batch pipeline mode",
            ),
            (
                |plan| {
                    plan.targets[0] = Target::unix("/s");
                    plan.cluster = Some(Cluster::default());
                },
                "a cluster needs the TCP address of one of its nodes",
            ),
        ];
        for (breaking, text) in broken {
            let mut plan = good.clone();
            breaking(&mut plan);
            assert_eq!(plan.check().unwrap_err().to_string(), text);
        }
    }
}
