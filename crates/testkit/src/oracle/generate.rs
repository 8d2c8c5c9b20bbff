//! Random commands from the rows of a family. Small pools of keys, members and numbers, so that
//! commands meet; now and then an argument too many, too few or out of place.

use super::grammar::pattern::Node;
use super::grammar::{Family, Row, kinds};
use super::judge::Rule;
use std::fmt;

/// One command to ask, and how its reply is judged.
#[derive(Debug, Clone)]
pub struct Step {
    /// The command's name and arguments.
    pub arguments: Vec<Vec<u8>>,
    /// How the replies are compared.
    pub rule: Rule,
}

impl Step {
    /// A step of plain words.
    pub fn of(words: &[&[u8]], rule: Rule) -> Self {
        Step { arguments: words.iter().map(|word| word.to_vec()).collect(), rule }
    }

    /// Where a scan command has its cursor.
    pub fn scan_cursor_place(&self) -> usize {
        if self.name() == "SCAN" { 1 } else { 2 }
    }

    /// The cursor of a scan command.
    pub fn scan_cursor(&self) -> Option<&[u8]> {
        self.arguments.get(self.scan_cursor_place()).map(Vec::as_slice)
    }

    /// The command's name in upper case.
    pub fn name(&self) -> String {
        self.arguments
            .first()
            .map_or_else(String::new, |name| String::from_utf8_lossy(name).to_uppercase())
    }
}

/// As one would type it into `redis-cli`.
impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, argument) in self.arguments.iter().enumerate() {
            let plain = !argument.is_empty()
                && argument.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(byte));
            let shown = if plain { argument.clone() } else { text::quote::repr(argument) };
            let gap = if index == 0 { "" } else { " " };
            write!(out, "{gap}{}", String::from_utf8_lossy(&shown))?;
        }
        Ok(())
    }
}

/// A seeded source of numbers (SplitMix64, public domain constants by Sebastiano Vigna), and what the
/// generator has to remember between commands.
#[derive(Debug)]
pub struct Random {
    state: u64,
    /// Grows with each stream entry, so that most new ids are valid.
    pub stream_ms: u64,
}

impl Random {
    /// The sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Random { state: seed, stream_ms: 1 }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which is not empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}

/// Arguments that belong nowhere: each is an edge of some parser.
const EDGES: [&[u8]; 18] = [
    b"",
    b"0",
    b"-1",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"1.5",
    b"+1",
    b" 1",
    b"1 ",
    b"01",
    b"0x10",
    b"1e3",
    b"inf",
    b"nan",
    b"abc",
    b"\x00\xff\r\n",
];

/// `count` commands from `rows`.
pub fn steps(
    family: &Family,
    rows: &[&'static Row],
    random: &mut Random,
    count: usize,
) -> Vec<Step> {
    let patterns: Vec<Vec<Node>> = rows.iter().map(|row| row.pattern()).collect();
    (0..count)
        .map(|_| {
            let index = random.below(rows.len() as u64) as usize;
            let mut arguments = Vec::new();
            render(&patterns[index], family, random, &mut arguments);
            if random.chance(4) && !fills_name_range(&arguments) {
                disturb(&mut arguments, random);
            }
            if random.chance(10) {
                arguments[0].make_ascii_lowercase();
            }
            Step { arguments, rule: rows[index].rule }
        })
        .collect()
}

fn render(nodes: &[Node], family: &Family, random: &mut Random, arguments: &mut Vec<Vec<u8>>) {
    for node in nodes {
        match node {
            Node::Word(word) => arguments.push(word.as_bytes().to_vec()),
            Node::Kind(kind) => arguments.push(kinds::produce(kind, family, random)),
            Node::Choice(branches) => {
                let branch: &Vec<Node> = random.pick(branches);
                render(branch, family, random, arguments);
            }
            Node::Maybe(inner) => {
                if random.chance(35) {
                    render(inner, family, random, arguments);
                }
            }
            Node::Many(inner) => {
                for _ in 0..=random.below(4) {
                    render(inner, family, random, arguments);
                }
            }
        }
    }
}

/// Whether a command adds to a set that is asked for ranges of names, which are open where scores
/// differ: Redis answers by the heights of its skip list, which are random.
fn fills_name_range(arguments: &[Vec<u8>]) -> bool {
    arguments[0] == b"ZADD" && arguments.get(1).is_some_and(|key| key.starts_with(b"lex:"))
}

/// Makes a command wrong in one way: an argument less, one more, or another in its place.
fn disturb(arguments: &mut Vec<Vec<u8>>, random: &mut Random) {
    match random.below(4) {
        0 if arguments.len() > 1 => {
            arguments.pop();
        }
        1 => arguments.push(random.pick(&EDGES).to_vec()),
        _ if arguments.len() > 1 => {
            let place = 1 + random.below(arguments.len() as u64 - 1) as usize;
            arguments[place] = random.pick(&EDGES).to_vec();
        }
        _ => arguments.push(b"extra".to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::grammar::FAMILIES;

    #[test]
    fn a_seed_always_asks_the_same() {
        for family in FAMILIES {
            let rows: Vec<&Row> = family.rows.iter().collect();
            let show = |seed| {
                let steps = steps(family, &rows, &mut Random::new(seed), 300);
                steps.iter().map(|step| step.to_string()).collect::<Vec<_>>()
            };
            assert_eq!(show(7), show(7));
            assert_ne!(show(7), show(8));
        }
    }
}
