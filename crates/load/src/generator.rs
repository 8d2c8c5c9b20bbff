//! The requests of one connection: which command of the mix comes next, and its bytes.
//!
//! Each connection has its own random stream, derived from the plan's seed and the connection's index alone. So the same
//! seed gives the same bytes on each connection however the connections are spread over threads.

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::distribution::{Turn, uniform};
use crate::plan::{Choice, CommandText, Plan, PlanError, Protocol};
use crate::template::objects::ObjectSource;
use crate::template::{RequestKind, Scratch, Template};

/// A plan's commands, compiled: shared by all connections.
#[derive(Debug, Clone)]
pub struct Mix {
    entries: Vec<Entry>,
    labels: Vec<String>,
    total_weight: u64,
    connections: u64,
    widest: usize,
    /// The entries that are sent in turn; empty when they are drawn.
    cycle: Vec<usize>,
}

/// One compiled entry of the mix.
#[derive(Debug, Clone)]
pub struct Entry {
    template: Template,
    nth: usize,
    label: usize,
    weight: u32,
    weight_end: u64,
    followers: Vec<Follower>,
    scan: Option<ScanEntry>,
}

/// What an iteration needs beside its commands.
#[derive(Debug, Clone, Copy)]
struct ScanEntry {
    next_label: usize,
    /// Steps of one iteration at most.
    iterations_max: u32,
}

/// An entry that is sent `times` times after each `after` of another one.
#[derive(Debug, Clone, Copy)]
struct Follower {
    entry: usize,
    after: u64,
    times: u32,
}

impl Entry {
    /// Its place in the mix.
    pub(crate) fn nth(&self) -> usize {
        self.nth
    }

    /// What the reply to each request of the entry is to be taken for.
    pub fn requests(&self) -> &[RequestKind] {
        self.template.requests()
    }
}

impl Mix {
    /// Compiles the commands of a plan.
    ///
    /// # Errors
    /// What [`Plan::check`] or a command's text breaks.
    pub fn compile(plan: &Plan) -> Result<Self, PlanError> {
        plan.check()?;
        let protocol = plan.targets.first().map_or(Protocol::Resp2, |target| target.protocol);
        let objects = Arc::new(ObjectSource::new(&plan.objects, protocol));
        let mut labels: Vec<String> = Vec::new();
        let mut entries: Vec<Entry> = Vec::with_capacity(plan.mix.len());
        let mut total_weight = 0;
        for entry in &plan.mix {
            let label = label_index(&mut labels, &entry.label);
            let scan = entry.commands.iter().find_map(|command| match command {
                CommandText::Scan(scan) => Some(ScanEntry {
                    next_label: label_index(&mut labels, &scan.next_label),
                    iterations_max: match scan.iterations_max {
                        0 => u32::MAX,
                        most => most,
                    },
                }),
                _ => None,
            });
            total_weight += u64::from(entry.weight);
            let compile = if entry.transaction {
                Template::compile_transaction
            } else {
                Template::compile_with
            };
            entries.push(Entry {
                template: compile(&entry.commands, &plan.placeholders, &objects)?,
                nth: entries.len(),
                label,
                weight: entry.weight,
                weight_end: total_weight,
                followers: Vec::new(),
                scan,
            });
        }
        for (at, follows) in
            plan.mix.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.follows?)))
        {
            let follower =
                Follower { entry: at, after: follows.after.into(), times: follows.times };
            entries[follows.entry as usize].followers.push(follower);
        }
        let is_in_turn = |at: &usize| plan.mix[*at].follows.is_none();
        let cycle = match plan.choice {
            Choice::Random => Vec::new(),
            Choice::Cycle => (0..entries.len()).filter(is_in_turn).collect(),
        };
        let widest = entries.iter().map(|entry| entry.requests().len()).max().unwrap_or(1);
        let connections = plan.connections.into();
        Ok(Self { entries, labels, total_weight, connections, widest, cycle })
    }

    /// How many entries it has.
    pub(crate) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// One rendering of an entry, to see what it is made of.
    pub(crate) fn sample(&self, entry: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
        self.entries[entry].template.render(&mut random, 0, &mut Scratch::default(), &mut out);
        out
    }

    /// Labels in the order of the plan.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Most requests that one entry sends at once.
    pub fn widest(&self) -> usize {
        self.widest
    }

    /// True when a number counts up over all connections, so that connections must send equally many requests.
    pub fn has_sequence(&self) -> bool {
        self.entries.iter().any(|entry| entry.template.has_sequence())
    }
}

/// The stream of requests of one connection.
#[derive(Debug)]
pub struct Generator {
    random: Xoshiro256PlusPlus,
    index: u64,
    turns: Vec<u64>,
    scratch: Scratch,
    /// Place in the cycle, how often that entry has been sent in this turn, and who follows before it goes on.
    cycle_at: usize,
    cycle_sent: u32,
    following: Vec<(usize, u32)>,
    /// Steps that the iteration may still take before it starts anew.
    iterations_left: u32,
}

impl Generator {
    /// The stream of connection `index` of a run with this seed.
    pub fn new(mix: &Mix, seed: u64, index: u32) -> Self {
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(stream_seed(seed, index)),
            index: index.into(),
            turns: vec![0; mix.entries.len()],
            scratch: Scratch::default(),
            cycle_at: 0,
            cycle_sent: 0,
            following: Vec::new(),
            iterations_left: 0,
        }
    }

    /// Why a script of the mix could not go on: then the last command was not appended.
    pub fn failure(&self) -> Option<&str> {
        self.scratch.failure()
    }

    /// Appends the next command (or sequence) to `out` and says which entry it was, and the index of its label.
    pub fn next<'mix>(&mut self, mix: &'mix Mix, out: &mut Vec<u8>) -> (&'mix Entry, usize) {
        let chosen = if mix.entries.len() == 1 {
            0
        } else if mix.cycle.is_empty() {
            let at = uniform(&mut self.random, mix.total_weight);
            mix.entries.partition_point(|entry| entry.weight_end <= at)
        } else {
            self.next_in_cycle(mix)
        };
        let entry = &mix.entries[chosen];
        let turn =
            Turn { own: self.turns[chosen], index: self.index, connections: mix.connections };
        self.turns[chosen] += 1;
        entry.template.render(&mut self.random, turn, &mut self.scratch, out);
        let label = match &entry.scan {
            Some(scan) => self.iterate(entry, scan),
            None => entry.label,
        };
        (entry, label)
    }

    /// Sets where an iteration goes on; 0 starts a new one.
    pub fn set_cursor(&mut self, cursor: u64) {
        self.scratch.cursor = if self.iterations_left == 0 { 0 } else { cursor };
    }

    /// Counts a step of an iteration, and says which label it has.
    fn iterate(&mut self, entry: &Entry, scan: &ScanEntry) -> usize {
        if self.scratch.cursor == 0 {
            self.iterations_left = scan.iterations_max;
        }
        self.iterations_left = self.iterations_left.saturating_sub(1);
        if self.scratch.cursor == 0 { entry.label } else { scan.next_label }
    }

    /// The value that the reply to the last command must hold, where that is known.
    pub fn expected<'mix>(&self, entry: &'mix Entry) -> Option<&'mix [u8]> {
        entry.template.expected(&self.scratch)
    }

    fn next_in_cycle(&mut self, mix: &Mix) -> usize {
        if let Some((entry, times)) = self.following.last_mut() {
            let entry = *entry;
            *times -= 1;
            if *times == 0 {
                self.following.pop();
            }
            return entry;
        }
        let chosen = mix.cycle[self.cycle_at];
        let entry = &mix.entries[chosen];
        self.cycle_sent += 1;
        if self.cycle_sent >= entry.weight {
            self.cycle_sent = 0;
            self.cycle_at = (self.cycle_at + 1) % mix.cycle.len();
        }
        for follower in entry.followers.iter().rev() {
            if (self.turns[chosen] + 1).is_multiple_of(follower.after) {
                self.following.push((follower.entry, follower.times));
            }
        }
        chosen
    }
}

/// Seed of what is drawn for connection `index` of a run with this seed.
pub(crate) fn stream_seed(seed: u64, index: u32) -> u64 {
    scramble(scramble(seed) ^ u64::from(index))
}

fn label_index(labels: &mut Vec<String>, label: &str) -> usize {
    labels.iter().position(|known| known == label).unwrap_or_else(|| {
        labels.push(label.to_string());
        labels.len() - 1
    })
}

/// Spreads a number over all 64 bits (the finisher of SplitMix64), so that neighbouring indices get unrelated streams.
fn scramble(value: u64) -> u64 {
    let mut bits = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Follows, MixEntry};

    fn plan(connections: u32) -> Plan {
        let line = |text: &str| vec![CommandText::Line(text.into())];
        let mut set = MixEntry::new("SET", line("SET {key zipfian 1000} {value 20}"));
        set.weight = 3;
        Plan {
            connections,
            mix: vec![set, MixEntry::new("GET", line("GET {key sequence 1000}"))],
            ..Plan::default()
        }
    }

    fn bytes(mix: &Mix, seed: u64, index: u32, commands: usize) -> Vec<u8> {
        let mut generator = Generator::new(mix, seed, index);
        let mut out = Vec::new();
        for _ in 0..commands {
            generator.next(mix, &mut out);
        }
        out
    }

    #[test]
    fn a_stream_depends_on_seed_and_index_alone() {
        let mix = Mix::compile(&plan(8)).unwrap();
        assert_eq!(bytes(&mix, 5, 3, 100), bytes(&mix, 5, 3, 100));
        assert_ne!(bytes(&mix, 5, 3, 100), bytes(&mix, 5, 4, 100));
        assert_ne!(bytes(&mix, 5, 3, 100), bytes(&mix, 6, 3, 100));
    }

    #[test]
    fn weights_are_shares() {
        let mix = Mix::compile(&plan(1)).unwrap();
        let mut generator = Generator::new(&mix, 1, 0);
        let mut out = Vec::new();
        let sets = (0..10_000).filter(|_| generator.next(&mix, &mut out).1 == 0).count();
        assert!((7_300..7_700).contains(&sets), "{sets}");
    }

    #[test]
    fn a_sequence_over_all_connections_leaves_no_key_out() {
        let mut plan = plan(4);
        plan.mix.remove(0);
        let mix = Mix::compile(&plan).unwrap();
        assert!(mix.has_sequence());
        let mut all: Vec<String> = (0..4)
            .flat_map(|index| {
                let text = String::from_utf8(bytes(&mix, 0, index, 25)).unwrap();
                text.split("\r\n")
                    .filter(|part| part.starts_with("key_"))
                    .map(String::from)
                    .collect::<Vec<_>>()
            })
            .collect();
        all.sort();
        assert_eq!(all, (0..100).map(|key| format!("key_{key:010}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_cycle_sends_each_entry_in_its_turn_and_followers_after_their_leaders() {
        let entry = |name: &str, weight| {
            let command = vec![CommandText::arguments([name])];
            MixEntry { weight, ..MixEntry::new(name, command) }
        };
        let follows = Some(Follows { entry: 0, after: 2, times: 1 });
        let mix = vec![entry("S", 1), entry("G", 3), MixEntry { follows, ..entry("W", 1) }];
        let mix = Mix::compile(&Plan { mix, choice: Choice::Cycle, ..Plan::default() }).unwrap();
        let mut generator = Generator::new(&mix, 1, 0);
        let sent: String = (0..18)
            .map(|_| mix.labels()[generator.next(&mix, &mut Vec::new()).1].as_str())
            .collect();
        assert_eq!(sent, "SGGGSWGGGSGGGSWGGG");
    }

    #[test]
    fn entries_with_one_label_are_reported_together() {
        let mut plan = plan(1);
        plan.mix[1].label = "SET".into();
        assert_eq!(Mix::compile(&plan).unwrap().labels(), ["SET"]);
    }
}
