//! The store beside a real server: random commands, the same replies, the same state. More of them:
//! `REDLINE_ORACLE_COMMANDS=100000 REDLINE_ORACLE_SEED=7 cargo test -p redline oracle -- --nocapture`.

use crate::store;
use testkit::oracle::{self, Effort, grammar};
use testkit::peer::Peer;

/// Asks each real server that there is about the family called `name`.
fn compare(name: &str) {
    let families = grammar::FAMILIES;
    let family = families.into_iter().find(|one| one.name == name).expect("a family has that name");
    let effort = Effort::from_environment();
    let mut wrong = String::new();
    for (server, real) in [("Redis", Peer::redis()), ("Valkey", Peer::valkey())] {
        let Some(real) = real else { continue };
        let ours = store::start();
        let report = oracle::run(family, real.address, ours.address, &effort)
            .expect("the real server and ours take connections");
        println!("{server}: {report}");
        if !report.differences.is_empty() {
            wrong.push_str(&format!("beside {server}, {report}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn strings() {
    compare("string");
}

#[test]
fn keys() {
    compare("keys");
}

#[test]
fn lists() {
    compare("list");
}

#[test]
fn hashes() {
    compare("hash");
}

#[test]
fn sets() {
    compare("set");
}

#[test]
fn sorted_sets() {
    compare("zset");
}

#[test]
fn streams() {
    compare("stream");
}

#[test]
fn transactions() {
    compare("transactions");
}

#[test]
fn bitmaps() {
    compare("bitmap");
}
