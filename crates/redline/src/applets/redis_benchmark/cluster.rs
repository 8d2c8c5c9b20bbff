//! `--cluster`: the nodes that the options ask for, what is printed about them before any test, and their settings.

use std::fmt::Write as _;
use std::time::Duration;

use load::RunError;
use load::cluster::{Node, Topology};
use load::plan::{Address, ReplicaReads, Target};

use super::flags::Options;
use super::server_config::{self, no_connection, no_encryption};
use super::steps;

/// How long a node may take to tell about its cluster.
const PATIENCE: Duration = Duration::from_secs(30);
/// Programs with this in their name speak as Valkey's does.
const VALKEY: &str = "valkey";

/// A cluster as it is before the tests.
pub struct Nodes {
    /// The nodes that are loaded, as targets.
    pub targets: Vec<Target>,
    /// What comes before the first test.
    pub preamble: String,
    /// What is printed of them in each report.
    pub settings: NodeSettings,
}

/// What is printed about a cluster in each report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSettings {
    /// What the nodes are called: `masters`.
    pub noun: &'static str,
    /// The settings of each node; `None` where it would not say.
    pub nodes: Vec<Option<server_config::ServerConfig>>,
}

/// Looks at the cluster that the options name.
///
/// # Errors
/// The lines to end with: no connection, no cluster, or one that is too small.
pub fn look(program: &str, options: &Options) -> Result<Nodes, String> {
    let seed = steps::target(options);
    let topology = Topology::ask(&seed, PATIENCE).map_err(|error| sentence(&seed, error))?;
    let is_valkey = program.contains(VALKEY);
    let is_wanted = |node: &&Node| match options.replica_reads {
        ReplicaReads::No => node.primary.is_none(),
        ReplicaReads::Yes => node.primary.is_some(),
        ReplicaReads::All => true,
    };
    let nodes: Vec<&Node> = topology.nodes().iter().filter(is_wanted).collect();
    // The original can't be used on one node; Valkey's can.
    if nodes.len() <= usize::from(!is_valkey) {
        return Err(format!("Invalid cluster: {} node(s).", nodes.len()));
    }
    let (kind, noun) = words(options.replica_reads, is_valkey);
    let mut preamble = format!("Cluster has {} {kind} nodes:\n\n", nodes.len());
    let (mut targets, mut settings) = (Vec::new(), Vec::new());
    for (nth, node) in nodes.iter().enumerate() {
        let role = match (node.primary.is_none(), is_valkey) {
            (true, false) => format!("Master {nth}"),
            (false, false) => format!("Replica {nth}"),
            (true, true) => format!("Node {nth}(Primary)"),
            (false, true) => format!("Node {nth}(Replica)"),
        };
        let gap = if node.id.is_empty() { "" } else { " " };
        let _ = writeln!(preamble, "{role}: {}{gap}{}:{}", node.id, node.host, node.port);
        let target = node.target(&seed);
        let config = server_config::fetch(&target)?;
        if config.is_none() {
            eprintln!("WARNING: Could not fetch node CONFIG {}:{}", node.host, node.port);
        }
        settings.push(config);
        targets.push(target);
    }
    preamble.push('\n');
    Ok(Nodes { targets, preamble, settings: NodeSettings { noun, nodes: settings } })
}

impl NodeSettings {
    /// The lines of a report.
    pub fn text(&self) -> String {
        let mut text = format!("  cluster mode: yes ({} {})\n", self.nodes.len(), self.noun);
        for (nth, node) in self.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            let save = if node.save.is_empty() { "NONE" } else { &node.save };
            let _ = write!(
                text,
                "  node [{nth}] configuration:\n    save: {save}\n    appendonly: {}\n",
                node.appendonly
            );
        }
        text
    }
}

/// What nodes are called in the preamble, and in reports.
fn words(reads: ReplicaReads, is_valkey: bool) -> (&'static str, &'static str) {
    match (reads, is_valkey) {
        (ReplicaReads::No, false) => ("master", "masters"),
        (ReplicaReads::No, true) => ("primary", "primary"),
        (ReplicaReads::Yes, false) => ("replica", "replicas"),
        (ReplicaReads::Yes, true) => ("replica", "replica"),
        (ReplicaReads::All, false) => ("cluster", "nodes"),
        (ReplicaReads::All, true) => ("cluster", "cluster"),
    }
}

fn sentence(seed: &Target, error: RunError) -> String {
    let place = match &seed.address {
        Address::Tcp { host, port } => format!("{host}:{port}"),
        Address::Unix { path } => path.clone(),
    };
    match error {
        RunError::Connect { source, .. } | RunError::Resolve { source, .. } => {
            no_connection(&seed.address, &source)
        }
        RunError::NoCluster { message, .. } | RunError::Refused { message, .. } => format!(
            "Cluster node {place} replied with error:\n{message}\n\
             Failed to fetch cluster configuration from {place}"
        ),
        error @ (RunError::Tls { .. } | RunError::TlsSettings(_)) => no_encryption(&error),
        error => format!("Error: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server_config::ServerConfig;

    #[test]
    fn settings_are_printed_node_by_node() {
        let config = |save: &str| Some(ServerConfig { save: save.into(), appendonly: "no".into() });
        let settings =
            NodeSettings { noun: "masters", nodes: vec![config(""), None, config("60 1")] };
        let expected = "  cluster mode: yes (3 masters)
  node [0] configuration:
    save: NONE
    appendonly: no
  node [2] configuration:
    save: 60 1
    appendonly: no
";
        assert_eq!(settings.text(), expected);
    }
}
