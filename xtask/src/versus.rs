//! `cargo xtask versus`: Redline measured beside the programs of others on this machine. Servers are
//! pinned to one core and clients to another, runs are interleaved, so that a drifting machine drifts
//! for all; what counts is the ratio of medians, with its spread. A tool for people, not a test.

mod lab;
mod machine;
mod memory;
pub mod reply_server;
mod series;
mod store;

use crate::peers;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use machine::Pinning;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::peer::{self, Peer, QUIET_SERVER};

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    subject: Subject,
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    json: bool,
    /// Use target/release/redline as it is
    #[arg(long, global = true)]
    no_build: bool,
    /// Core of the servers
    #[arg(long, global = true, default_value_t = 0)]
    server_core: usize,
    /// Core of the clients
    #[arg(long, global = true, default_value_t = 1)]
    client_core: usize,
}

#[derive(Subcommand)]
enum Subject {
    /// The store beside other servers, all loaded by the same client
    Store(store::Options),
    /// The load generators, all against the same trivial server
    Lab(lab::Options),
    /// Bytes a key of each server
    Memory(memory::Options),
}

/// Runs the measurement and prints it. Fails if there is nobody to measure.
pub fn run(root: &Path, arguments: &Arguments) -> Result<bool> {
    let pinning = Pinning::new(arguments.server_core, arguments.client_core);
    let redline = redline_binary(root, arguments.no_build)?;
    let bench = Bench { root: root.to_path_buf(), redline, pinning, json: arguments.json };
    match &arguments.subject {
        Subject::Store(options) => store::run(&bench, options)?,
        Subject::Lab(options) => lab::run(&bench, options)?,
        Subject::Memory(options) => memory::run(&bench, options)?,
    }
    Ok(true)
}

/// What all measurements share.
pub struct Bench {
    root: PathBuf,
    redline: Option<PathBuf>,
    pinning: Pinning,
    json: bool,
}

/// A server that can be measured.
pub struct Contender {
    /// Name and version.
    pub name: String,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Bench {
    /// The servers found, Redline first.
    fn servers(&self) -> Result<Vec<Contender>> {
        let quiet: Vec<String> = QUIET_SERVER.iter().map(|word| word.to_string()).collect();
        let mut found = Vec::new();
        if let Some(redline) = &self.redline {
            let words = ["server", "--threads", "1", "--bind", "127.0.0.1"];
            let arguments = words.iter().map(|word| word.to_string()).collect();
            found.push(("redline", redline.clone(), arguments));
        }
        if let Some(program) = peers::redis_server() {
            found.push(("redis", program, quiet.clone()));
        }
        if let Some(program) = peers::valkey_server(&self.root) {
            found.push(("valkey", program, quiet));
        }
        let mut servers = Vec::new();
        for (name, program, arguments) in found {
            let mut server = Contender { name: name.to_string(), program, arguments };
            match self.start(&server).and_then(|peer| version(&peer)) {
                Ok(version) => server.name = format!("{name} {version}"),
                Err(error) => {
                    eprintln!("left out: {name}: {error:#}");
                    continue;
                }
            }
            servers.push(server);
        }
        if servers.is_empty() {
            bail!("no server to measure: install redis-server, or build redline");
        }
        Ok(servers)
    }

    /// Starts a server on its core.
    fn start(&self, server: &Contender) -> Result<Peer> {
        let prefix = self.pinning.server_prefix();
        let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
        let arguments: Vec<&str> = server.arguments.iter().map(String::as_str).collect();
        Peer::start_prefixed(&prefix, &server.program, &arguments)
            .with_context(|| format!("starting {}", server.program.display()))
    }

    /// A command that runs on the clients' core.
    fn client_command(&self, program: &Path) -> Command {
        let prefix = self.pinning.client_prefix();
        let Some((first, rest)) = prefix.split_first() else { return Command::new(program) };
        let mut command = Command::new(first);
        command.args(rest).arg(program);
        command
    }
}

/// What `INFO` says of the version, Valkey's own before the one it claims for old clients.
fn version(peer: &Peer) -> Result<String> {
    let info = peer.client().command(&["INFO", "server"])?;
    let fields = ["redline_version", "valkey_version", "redis_version"];
    let version = fields.iter().find_map(|field| info.info_field(field));
    Ok(version.unwrap_or_default())
}

/// The release build of Redline, built first unless the caller says not to.
fn redline_binary(root: &Path, no_build: bool) -> Result<Option<PathBuf>> {
    if !no_build {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--release", "--package", "redline"])
            .current_dir(root)
            .status()
            .context("running cargo build")?;
        if !status.success() {
            bail!("redline does not build");
        }
    }
    let binary = peers::built(root, "release");
    if !binary.is_file() {
        eprintln!("left out: redline: {} does not exist", binary.display());
        return Ok(None);
    }
    Ok(Some(binary))
}

/// A program of others, by name.
fn program(name: &str) -> Option<PathBuf> {
    peer::find(name, "")
}
