//! The store as a process of its own, as people run it.

use std::path::Path;
use testkit::peer::Peer;
use testkit::script::check;

/// The built binary.
pub const BINARY: &str = env!("CARGO_BIN_EXE_redline");

/// Starts `redline server` on a free loopback port with two workers, so that sharing is tested too.
pub fn start() -> Peer {
    start_with(&[])
}

/// The same with more arguments, as `redis-server` takes them.
pub fn start_with(arguments: &[&str]) -> Peer {
    let arguments = [&["server", "--bind", "127.0.0.1", "--threads", "2"], arguments].concat();
    Peer::start(Path::new(BINARY), &arguments).expect("the store starts")
}

/// Plays `script` to the store, and to Valkey where it is found, so that the script is known to say
/// what a real server says.
pub fn check_beside_valkey(script: &str) {
    check(start().address, script);
    if let Some(real) = Peer::valkey() {
        check(real.address, script);
    }
}
