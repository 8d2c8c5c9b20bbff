//! The oracle judged: a server agrees with itself, and a planted mistake is found and made small.

use std::path::PathBuf;
use testkit::oracle::{self, Effort, grammar};
use testkit::peer::{self, Peer, QUIET_SERVER};

fn redis() -> Option<PathBuf> {
    peer::find("redis-server", "REDLINE_REDIS_SERVER")
}

#[test]
fn a_real_server_agrees_with_itself() {
    let (Some(one), Some(other)) = (Peer::redis(), Peer::redis()) else { return };
    for family in grammar::FAMILIES {
        let effort = Effort { commands: 400, seed: 3 };
        let report = oracle::run(family, one.address, other.address, &effort).unwrap();
        assert!(report.differences.is_empty(), "{report}");
        assert!(report.absent.is_empty(), "{report}");
    }
}

#[test]
fn a_planted_mistake_is_found_and_made_small() {
    let (Some(program), Some(real)) = (redis(), Peer::redis()) else { return };
    let renamed = ["--rename-command", "DECR", "OLD", "--rename-command", "INCR", "DECR"];
    let wrong = Peer::start(&program, &[&QUIET_SERVER[..], &renamed].concat()).unwrap();
    let string = grammar::FAMILIES[0];
    let effort = Effort { commands: 600, seed: 1 };
    let report = oracle::run(string, real.address, wrong.address, &effort).unwrap();
    assert_eq!(report.absent, ["INCR"]);
    let shortest = report.differences.iter().map(|one| one.commands.len()).min();
    assert!(shortest.is_some_and(|commands| commands <= 2), "{report}");
}
