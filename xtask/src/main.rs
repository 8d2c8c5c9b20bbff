//! Project tasks, in the project's own language: `cargo xtask test` runs everything that must hold,
//! `cargo xtask tidy` only the source rules. `cargo xtask help` lists them all.
#![forbid(unsafe_code)]

mod compatibility;
mod peers;
mod suite;
mod tidy;
mod versus;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Tasks of the Redline project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check and test, finding or installing what they need
    Test,
    /// Check the source rules of STYLE.md that a program can check
    Tidy,
    /// Write COMPATIBILITY.md from what the built server answers
    Compatibility {
        /// Only say whether it is up to date
        #[arg(long)]
        check: bool,
    },
    /// Measure beside the peers found on this machine
    Versus(versus::Arguments),
    /// Answer every command with 64 bytes: the trivial server of `versus lab`
    #[command(hide = true)]
    ReplyServer {
        /// Loopback port to listen on
        #[arg(long)]
        port: u16,
    },
}

fn main() -> ExitCode {
    let root = workspace_root();
    let outcome = match Arguments::parse().task {
        Task::Test => suite::run(&root),
        Task::Tidy => tidy::run(&root),
        Task::Compatibility { check } => compatibility::run(&root, check),
        Task::Versus(arguments) => versus::run(&root, &arguments),
        Task::ReplyServer { port } => versus::reply_server::serve(port).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The directory of the workspace that this program was built from.
fn workspace_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask lies inside the workspace").to_path_buf()
}
