//! The requests of one connection: which command of the mix comes next, and its bytes.
//!
//! Each connection has its own random stream, derived from the plan's seed and the connection's index alone. So the same
//! seed gives the same bytes on each connection however the connections are spread over threads.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::distribution::uniform;
use crate::plan::{Plan, PlanError};
use crate::template::{Scratch, Template};

/// A plan's commands, compiled: shared by all connections.
#[derive(Debug, Clone)]
pub struct Mix {
    entries: Vec<Entry>,
    labels: Vec<String>,
    total_weight: u64,
    connections: u64,
    widest: usize,
}

/// One compiled entry of the mix.
#[derive(Debug, Clone)]
pub struct Entry {
    template: Template,
    nth: usize,
    label: usize,
    weight_end: u64,
}

impl Entry {
    /// Its place in the mix.
    pub(crate) fn nth(&self) -> usize {
        self.nth
    }

    /// Index of its label in [`Mix::labels`].
    pub fn label(&self) -> usize {
        self.label
    }

    /// For each request of the entry: whether a null or empty reply is a miss.
    pub fn reads(&self) -> &[bool] {
        self.template.reads()
    }
}

impl Mix {
    /// Compiles the commands of a plan.
    ///
    /// # Errors
    /// What [`Plan::check`] or a command's text breaks.
    pub fn compile(plan: &Plan) -> Result<Self, PlanError> {
        plan.check()?;
        let mut labels: Vec<String> = Vec::new();
        let mut entries = Vec::with_capacity(plan.mix.len());
        let mut total_weight = 0;
        for entry in &plan.mix {
            let label =
                labels.iter().position(|label| *label == entry.label).unwrap_or_else(|| {
                    labels.push(entry.label.clone());
                    labels.len() - 1
                });
            total_weight += u64::from(entry.weight);
            let template = Template::compile(&entry.commands, &plan.placeholders)?;
            let nth = entries.len();
            entries.push(Entry { template, nth, label, weight_end: total_weight });
        }
        let widest = entries.iter().map(|entry| entry.reads().len()).max().unwrap_or(1);
        Ok(Self { entries, labels, total_weight, connections: plan.connections.into(), widest })
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
#[derive(Debug, Clone)]
pub struct Generator {
    random: Xoshiro256PlusPlus,
    index: u64,
    turns: Vec<u64>,
    scratch: Scratch,
}

impl Generator {
    /// The stream of connection `index` of a run with this seed.
    pub fn new(mix: &Mix, seed: u64, index: u32) -> Self {
        let own = scramble(scramble(seed) ^ u64::from(index));
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(own),
            index: index.into(),
            turns: vec![0; mix.entries.len()],
            scratch: Scratch::default(),
        }
    }

    /// Appends the next command (or sequence) to `out` and says which entry it was.
    pub fn next<'mix>(&mut self, mix: &'mix Mix, out: &mut Vec<u8>) -> &'mix Entry {
        let chosen = if mix.entries.len() == 1 {
            0
        } else {
            let at = uniform(&mut self.random, mix.total_weight);
            mix.entries.partition_point(|entry| entry.weight_end <= at)
        };
        let entry = &mix.entries[chosen];
        let turn = self.index + self.turns[chosen] * mix.connections;
        self.turns[chosen] += 1;
        entry.template.render(&mut self.random, turn, &mut self.scratch, out);
        entry
    }
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
    use crate::plan::{CommandText, MixEntry};

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
        let sets = (0..10_000).filter(|_| generator.next(&mix, &mut out).label() == 0).count();
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
    fn entries_with_one_label_are_reported_together() {
        let mut plan = plan(1);
        plan.mix[1].label = "SET".into();
        assert_eq!(Mix::compile(&plan).unwrap().labels(), ["SET"]);
    }
}
