//! Real servers to test and measure beside: found on this machine, started on a free loopback port,
//! and ended with their guard.

use crate::client::Client;
use crate::ports;
use crate::reply::Value;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to answer its first PING.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// Tries with another port, should somebody take the free one first.
const START_ATTEMPTS: usize = 5;

/// A running server; dropping it kills the process.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    /// Where it listens, on loopback.
    pub address: SocketAddr,
}

impl Peer {
    /// Starts `command` with `--port N` appended, N a free port, and waits until it answers PING.
    /// Fails if the program cannot be started or never answers.
    pub fn start(program: &Path, arguments: &[&str]) -> io::Result<Self> {
        Self::start_prefixed(&[], program, arguments)
    }

    /// As `start`, with words before the program (`taskset -c 0`, say); they must end up executing it
    /// in their own process, so that ending it is ending the server.
    pub fn start_prefixed(prefix: &[&str], program: &Path, arguments: &[&str]) -> io::Result<Self> {
        let mut problem = io::Error::from(io::ErrorKind::AddrInUse);
        for _ in 0..START_ATTEMPTS {
            let address = ports::free_address();
            let mut words: Vec<OsString> = prefix.iter().map(OsString::from).collect();
            words.push(program.into());
            words.extend(arguments.iter().map(OsString::from));
            words.extend(["--port".into(), address.port().to_string().into()]);
            let child = Command::new(&words[0])
                .args(&words[1..])
                .current_dir(env::temp_dir())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            let mut peer = Peer { child, address };
            match peer.wait_until_ready() {
                Ok(()) => return Ok(peer),
                // Somebody may have taken the port; any other trouble would come again.
                Err(error) if error.kind() == io::ErrorKind::Other => problem = error,
                Err(error) => return Err(error),
            }
        }
        Err(problem)
    }

    /// A real Redis server without persistence; `None` if this machine has none.
    pub fn redis() -> Option<Self> {
        Self::start_found("redis-server", "REDLINE_REDIS_SERVER", true)
    }

    /// A real Valkey server without persistence; `None` if this machine has none.
    pub fn valkey() -> Option<Self> {
        Self::start_found("valkey-server", "REDLINE_VALKEY_SERVER", false)
    }

    /// A real memcached with these arguments more, 64 MiB by default; `None` if this machine has none.
    pub fn memcached(arguments: &[&str]) -> Option<Self> {
        let program = found("memcached", "REDLINE_MEMCACHED", true)?;
        for _ in 0..START_ATTEMPTS {
            let address = ports::free_address();
            let child = Command::new(&program)
                // It refuses to run as root unless it is told to.
                .args(["-l", "127.0.0.1", "-U", "0", "-u", "root", "-p"])
                .arg(address.port().to_string())
                .args(arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("a program that was found can be started");
            let mut peer = Peer { child, address };
            let deadline = Instant::now() + START_PATIENCE;
            while matches!(peer.child.try_wait(), Ok(None)) && Instant::now() < deadline {
                if TcpStream::connect(address).is_ok() {
                    return Some(peer);
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        panic!("{} does not start", program.display());
    }

    fn start_found(name: &str, variable: &str, required: bool) -> Option<Self> {
        let program = found(name, variable, required)?;
        let peer = Peer::start(&program, &QUIET_SERVER);
        Some(peer.unwrap_or_else(|error| panic!("{} does not start: {error}", program.display())))
    }

    /// A new connection to it. Panics if it does not take one: a peer that dies is no test result.
    pub fn client(&self) -> Client {
        Client::connect(self.address).expect("a running peer takes connections")
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("it ended at once: {status}")));
            }
            let ready =
                Client::connect(self.address).and_then(|mut client| client.command(&["PING"]));
            if ready.is_ok_and(|reply| !is_loading(&reply)) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A process that is already gone is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that is reading its data answers, but only with that.
fn is_loading(reply: &Value) -> bool {
    matches!(reply, Value::Error(text) if text.starts_with(b"LOADING"))
}

/// Arguments for a Redis or Valkey server that keeps nothing on disk.
pub const QUIET_SERVER: [&str; 10] = [
    "--bind",
    "127.0.0.1",
    "--save",
    "",
    "--appendonly",
    "no",
    "--enable-debug-command",
    "yes",
    // Not the name under which some other server may have left a snapshot in the same directory.
    "--dbfilename",
    "redline-peer-never-saves.rdb",
];

/// As [`find`]; says aloud that what needs it is skipped, and fails where that must not be.
fn found(name: &str, variable: &str, required: bool) -> Option<PathBuf> {
    let program = find(name, variable);
    if program.is_none() {
        let strict = required && env::var_os("CI").is_some_and(|value| value == "true");
        assert!(
            !strict,
            "{name} is needed where CI=true: put it on PATH, or name it in {variable}"
        );
        eprintln!("SKIPPED: no {name} on PATH or in {variable}");
    }
    program
}

/// The program named by `variable`, else `name` on `PATH`.
pub fn find(name: &str, variable: &str) -> Option<PathBuf> {
    let named = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_file());
    named.or_else(|| on_path(OsStr::new(name)))
}

fn on_path(name: &OsStr) -> Option<PathBuf> {
    let directories = env::var_os("PATH")?;
    env::split_paths(&directories).map(|directory| directory.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_answers_and_ends_with_its_guard() {
        let Some(peer) = Peer::redis() else { return };
        let address = peer.address;
        assert!(peer.client().command(&["SET", "a", "1"]).is_ok());
        drop(peer);
        assert!(Client::connect(address).is_err());
    }

    #[test]
    fn a_program_that_ends_is_an_error() {
        assert!(Peer::start(Path::new("/bin/false"), &[]).is_err());
    }
}
