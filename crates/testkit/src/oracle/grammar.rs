//! The families of commands that the oracle asks about: tables of rows. A new command is one row.

pub mod kinds;
pub mod pattern;

mod bitmap;
mod hash;
mod keys;
mod list;
mod set;
mod stream;
mod string;
mod transactions;
mod zset;

use super::judge::Rule;
use pattern::Node;

/// A command, how its arguments look, how its replies are compared.
#[derive(Debug)]
pub struct Row {
    /// In the notation of `pattern`.
    pub grammar: &'static str,
    /// How the replies are compared.
    pub rule: Rule,
    /// Whether it came after Redis 7.0, so that only a newer server can be asked.
    pub newest_only: bool,
}

impl Row {
    /// The name of the command.
    pub fn command(&self) -> &'static str {
        self.grammar.split(' ').next().expect("split gives at least one part")
    }

    /// The parsed grammar.
    pub fn pattern(&self) -> Vec<Node> {
        pattern::parse(self.grammar)
    }
}

/// Commands that work on one kind of value.
#[derive(Debug)]
pub struct Family {
    /// What the commands have in common.
    pub name: &'static str,
    /// Keys that its commands mostly use.
    pub keys: &'static [&'static str],
    /// Its commands.
    pub rows: &'static [Row],
}

/// All families.
pub const FAMILIES: [&Family; 9] = [
    &string::FAMILY,
    &keys::FAMILY,
    &list::FAMILY,
    &hash::FAMILY,
    &set::FAMILY,
    &zset::FAMILY,
    &stream::FAMILY,
    &transactions::FAMILY,
    &bitmap::FAMILY,
];

/// Every round starts with one key of each type, so that any command meets wrong types.
pub const FOREIGN: [&str; 6] = [
    "SET any:string v",
    "RPUSH any:list a b",
    "HSET any:hash f v",
    "SADD any:set a b",
    "ZADD any:zset 1 a 2 b",
    "XADD any:stream 1-1 f v",
];

/// A row whose replies must be the same bytes.
const fn exact(grammar: &'static str) -> Row {
    Row { grammar, rule: Rule::Exact, newest_only: false }
}

/// A row with its own rule.
const fn judged(grammar: &'static str, rule: Rule) -> Row {
    Row { grammar, rule, newest_only: false }
}

/// An exact row for servers newer than Redis 7.0.
const fn newest(grammar: &'static str) -> Row {
    Row { grammar, rule: Rule::Exact, newest_only: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read_and_names_known_kinds() {
        for family in FAMILIES {
            for row in family.rows {
                let nodes = row.pattern();
                assert!(matches!(&nodes[0], Node::Word(_)), "{}", row.grammar);
                pattern::each_kind(&nodes, &mut |kind| {
                    assert!(kinds::is_known(kind), "{}: unknown kind {kind}", row.grammar);
                });
            }
        }
    }
}
