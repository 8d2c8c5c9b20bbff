//! A real Redis Cluster to test with: primaries and replicas on free loopback ports, which end with their guard.
//!
//! Nodes fail over within seconds: their node timeout is one second.

use crate::client::Client;
use crate::peer::find;
use crate::ports;
use crate::reply::Value;
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, process};

/// How long any change of the cluster may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked for.
const BEAT: Duration = Duration::from_millis(20);
/// Slots of a cluster.
const SLOTS: usize = 16_384;
/// The cluster's own port lies this far above that for clients.
const BUS_OFFSET: u16 = 10_000;
/// Tries with other ports, should somebody take the free ones first.
const START_ATTEMPTS: usize = 5;
/// Keys moved in one step of a migration.
const KEYS_A_STEP: usize = 100;

/// A running cluster; dropping it ends its nodes.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    primaries: usize,
    folder: PathBuf,
}

#[derive(Debug)]
struct Node {
    process: Child,
    address: SocketAddr,
    id: String,
}

impl Cluster {
    /// Starts a cluster whose slots are shared evenly by `primaries`, each with this many replicas. `None`, said aloud, if
    /// this machine has no redis-server. Panics if it does not become whole in time.
    pub fn start(primaries: usize, replicas_each: usize) -> Option<Self> {
        Self::start_with(primaries, replicas_each, &[])
    }

    /// As [`Cluster::start`], with more arguments for each server.
    pub fn start_with(primaries: usize, replicas_each: usize, arguments: &[&str]) -> Option<Self> {
        let Some(program) = find("redis-server", "REDLINE_REDIS_SERVER") else {
            let strict = env::var_os("CI").is_some_and(|value| value == "true");
            assert!(!strict, "redis-server is needed where CI=true");
            eprintln!("SKIPPED: no redis-server on PATH or in REDLINE_REDIS_SERVER");
            return None;
        };
        let folder = new_folder().expect("the folder for temporary files can be written");
        let mut cluster = Self { nodes: Vec::new(), primaries, folder };
        for _ in 0..primaries * (1 + replicas_each) {
            let node = start_node(&program, &cluster.folder, arguments)
                .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
            cluster.nodes.push(node);
        }
        cluster.join(replicas_each);
        Some(cluster)
    }

    /// How many nodes it was started with.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Where a node listens. The first nodes are the primaries, then come the replicas of all primaries in turn.
    pub fn address(&self, node: usize) -> SocketAddr {
        self.nodes[node].address
    }

    /// A node's id in the cluster.
    pub fn id(&self, node: usize) -> &str {
        &self.nodes[node].id
    }

    /// A new connection to a node. Panics if it does not take one.
    pub fn client(&self, node: usize) -> Client {
        Client::connect(self.address(node)).expect("a running node takes connections")
    }

    /// Sends a command to a node. Panics on an error reply.
    pub fn command(&self, node: usize, command: &[&str]) -> Value {
        let reply = self.client(node).command(command).expect("a running node answers");
        assert!(!matches!(reply, Value::Error(_)), "{command:?}: {reply:?}");
        reply
    }

    /// Kills a node, as a crash would.
    pub fn kill(&mut self, node: usize) {
        // A process that is already gone is what we want.
        let _ = self.nodes[node].process.kill();
        let _ = self.nodes[node].process.wait();
    }

    /// Moves a slot with all its keys from one primary to another, as redis-cli's `reshard` does, a few keys at a time with
    /// a `pause` in between. Returns how many keys were moved.
    pub fn migrate(&self, slot: u16, from: usize, to: usize, pause: Duration) -> usize {
        let text = slot.to_string();
        self.command(to, &["CLUSTER", "SETSLOT", &text, "IMPORTING", self.id(from)]);
        self.command(from, &["CLUSTER", "SETSLOT", &text, "MIGRATING", self.id(to)]);
        thread::sleep(pause);
        let port = self.address(to).port().to_string();
        let (step, mut moved) = (KEYS_A_STEP.to_string(), 0);
        loop {
            let keys = match self.command(from, &["CLUSTER", "GETKEYSINSLOT", &text, &step]) {
                Value::Array(keys) => keys,
                other => panic!("{other:?}"),
            };
            if keys.is_empty() {
                break;
            }
            moved += keys.len();
            let mut migrate = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            let keys: Vec<String> = keys.iter().map(bulk_text).collect();
            migrate.extend(keys.iter().map(String::as_str));
            self.command(from, &migrate);
            thread::sleep(pause);
        }
        for node in [to, from] {
            self.command(node, &["CLUSTER", "SETSLOT", &text, "NODE", self.id(to)]);
        }
        moved
    }

    /// The node that serves a slot, as a node sees it.
    pub fn owner(&self, asked: usize, slot: u16) -> Option<usize> {
        let Value::Array(runs) = self.command(asked, &["CLUSTER", "SLOTS"]) else { return None };
        runs.iter().find_map(|run| {
            let Value::Array(run) = run else { return None };
            let [Value::Integer(first), Value::Integer(last), Value::Array(primary), ..] =
                run.as_slice()
            else {
                return None;
            };
            let Some(Value::Integer(port)) = primary.get(1) else { return None };
            let is_here = (*first..=*last).contains(&i64::from(slot));
            let port = u16::try_from(*port).ok().filter(|_| is_here)?;
            self.nodes.iter().position(|node| node.address.port() == port)
        })
    }

    /// Adds the nodes to one cluster, and waits until all of them agree on it.
    fn join(&mut self, replicas_each: usize) {
        for node in 0..self.nodes.len() {
            self.nodes[node].id = bulk_text(&self.command(node, &["CLUSTER", "MYID"]));
            let epoch = (node + 1).to_string();
            self.command(node, &["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
        }
        for node in 0..self.primaries {
            let first = (node * SLOTS / self.primaries).to_string();
            let last = ((node + 1) * SLOTS / self.primaries - 1).to_string();
            self.command(node, &["CLUSTER", "ADDSLOTSRANGE", &first, &last]);
        }
        for node in 1..self.nodes.len() {
            let port = self.address(node).port().to_string();
            self.command(0, &["CLUSTER", "MEET", "127.0.0.1", &port]);
        }
        let known = format!("cluster_known_nodes:{}\r\n", self.nodes.len());
        self.wait("all nodes know each other", |cluster, node| {
            cluster.information(node, &["CLUSTER", "INFO"]).contains(&known)
        });
        for nth in 0..self.primaries * replicas_each {
            let primary = self.id(nth % self.primaries).to_owned();
            self.command(self.primaries + nth, &["CLUSTER", "REPLICATE", &primary]);
        }
        let members = 3 + replicas_each;
        self.wait("all slots are served and all replicas follow", |cluster, node| {
            let is_ok =
                cluster.information(node, &["CLUSTER", "INFO"]).contains("cluster_state:ok");
            let Value::Array(runs) = cluster.command(node, &["CLUSTER", "SLOTS"]) else {
                return false;
            };
            let is_full = |run: &Value| matches!(run, Value::Array(run) if run.len() == members);
            let role = cluster.information(node, &["INFO", "replication"]);
            let follows = node < cluster.primaries || role.contains("master_link_status:up");
            is_ok && runs.len() == cluster.primaries && runs.iter().all(is_full) && follows
        });
    }

    /// Waits until something holds on every node.
    fn wait(&self, what: &str, holds: impl Fn(&Self, usize) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        for node in 0..self.nodes.len() {
            while !holds(self, node) {
                assert!(Instant::now() < deadline, "not in time: {what}");
                thread::sleep(BEAT);
            }
        }
    }

    fn information(&self, node: usize, command: &[&str]) -> String {
        bulk_text(&self.command(node, command))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in 0..self.nodes.len() {
            self.kill(node);
        }
        // What is left of a folder in the place for temporary files is no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn bulk_text(value: &Value) -> String {
    match value {
        Value::Bulk(bytes) | Value::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("no text: {other:?}"),
    }
}

fn new_folder() -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("redline-cluster-{}-{nth}", process::id()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn start_node(program: &Path, folder: &Path, arguments: &[&str]) -> io::Result<Node> {
    let mut problem = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..START_ATTEMPTS {
        let address = free_address();
        let port = address.port().to_string();
        let config = format!("nodes-{port}.conf");
        // Where the system can, nodes die with the thread that started them, however that ends.
        let mut words: Vec<OsString> = match find("setpriv", "REDLINE_SETPRIV") {
            Some(setpriv) => vec![setpriv.into(), "--pdeathsig".into(), "KILL".into()],
            None => Vec::new(),
        };
        words.push(program.into());
        let fixed = [
            "--bind",
            "127.0.0.1",
            "--port",
            &port,
            "--save",
            "",
            "--appendonly",
            "no",
            "--cluster-enabled",
            "yes",
            "--cluster-config-file",
            &config,
            "--cluster-node-timeout",
            "1000",
            "--repl-diskless-sync-delay",
            "0",
            "--repl-ping-replica-period",
            "1",
            "--enable-debug-command",
            "yes",
        ];
        words.extend(fixed.iter().chain(arguments).map(OsString::from));
        let mut process = Command::new(&words[0])
            .args(&words[1..])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        match wait_until_ready(&mut process, address) {
            Ok(()) => return Ok(Node { process, address, id: String::new() }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                problem = error;
            }
        }
    }
    Err(problem)
}

fn wait_until_ready(process: &mut Child, address: SocketAddr) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = process.try_wait()? {
            return Err(io::Error::other(format!("it ended at once: {status}")));
        }
        if Client::connect(address).and_then(|mut client| client.command(&["PING"])).is_ok() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A loopback address whose port, and whose cluster port, nobody listens on at this moment.
fn free_address() -> SocketAddr {
    loop {
        let address = ports::free_address();
        if ports::is_free(address.port() + BUS_OFFSET) {
            return address;
        }
    }
}
