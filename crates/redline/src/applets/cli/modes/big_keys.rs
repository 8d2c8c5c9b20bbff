//! `--bigkeys` and `--memkeys`: the largest key of each type, by length or by memory.

use std::io::Write;

use super::key_types::{KeyTypes, Measure, Tally, sizes_of, types_of};
use super::live_block::{LiveBlock, progress};
use super::walk::Walk;
use super::{ModeError, quoted};

/// Printed before the walk.
pub const INTRODUCTION: &str = "
# Scanning the entire keyspace to find biggest keys as well as
# average sizes per key type.  You can use -i 0.1 to sleep 0.1 sec
# per 100 SCAN commands (not usually needed).

";
/// Keys between two lines that only tell that it goes on.
const KEYS_A_LINE: u64 = 1_000_000;

/// What was found.
#[derive(Debug)]
pub struct Findings {
    measure: Measure,
    types: KeyTypes,
    /// One for each type.
    tallies: Vec<Tally>,
    sampled: u64,
    name_bytes: u64,
}

impl Findings {
    /// Nothing yet.
    pub fn new(measure: Measure) -> Self {
        let types = KeyTypes::new();
        let tallies = vec![Tally::default(); types.iter().count()];
        Self { measure, types, tallies, sampled: 0, name_bytes: 0 }
    }

    /// Takes in a key of the type at `index`; `percent` is how much was seen before its page. Lines for an output that is no terminal.
    fn record(&mut self, key: &[u8], index: usize, size: u64, percent: f64) -> String {
        self.sampled += 1;
        self.name_bytes += key.len() as u64;
        let mut lines = String::new();
        if self.tallies[index].record(key, size) {
            let key_type = self.types.at(index);
            lines = format!(
                "[{percent:05.2}%] Biggest {:<6} found so far {} with {size} {}\n",
                key_type.name,
                quoted(key),
                self.measure.unit(key_type)
            );
        }
        if self.sampled.is_multiple_of(KEYS_A_LINE) {
            lines += &format!("[{percent:05.2}%] Sampled {} keys so far\n", self.sampled);
        }
        lines
    }

    /// The lines of a block that is drawn while the walk goes on.
    fn block(&self, keys_total: u64) -> Vec<String> {
        let mut lines = progress(self.sampled, keys_total, true).to_vec();
        lines.push(String::new());
        for (key_type, tally) in self.types.iter().zip(&self.tallies) {
            if let Some(key) = &tally.biggest_key {
                lines.push(format!(
                    "Biggest {:<9} found so far {} with {} {}",
                    key_type.name,
                    quoted(key),
                    tally.biggest,
                    self.measure.unit(key_type)
                ));
            }
        }
        lines
    }

    /// The last words; `sampled_line` says how many keys were seen, where nothing else does.
    fn summary(&self, sampled_line: &str) -> String {
        let mean =
            |sum: u64| if self.sampled == 0 { 0.0 } else { sum as f64 / self.sampled as f64 };
        let mut text = format!(
            "\n-------- summary -------\n\n{sampled_line}\
             Total key length in bytes is {} (avg len {:.2})\n\n",
            self.name_bytes,
            mean(self.name_bytes)
        );
        let rows = || self.types.iter().zip(&self.tallies);
        for (key_type, tally) in rows() {
            if let Some(key) = &tally.biggest_key {
                text += &format!(
                    "Biggest {:>6} found {} has {} {}\n",
                    key_type.name,
                    quoted(key),
                    tally.biggest,
                    self.measure.unit(key_type)
                );
            }
        }
        text.push('\n');
        for (key_type, tally) in rows() {
            text += &format!(
                "{} {}s with {} {} ({:05.2}% of keys, avg size {:.2})\n",
                tally.count,
                key_type.name,
                tally.total,
                self.measure.unit(key_type),
                mean(tally.count) * 100.0,
                tally.mean()
            );
        }
        text
    }
}

/// Walks over all keys.
///
/// # Errors
/// All kinds of [`ModeError`].
pub fn run(measure: Measure, mut walk: Walk<'_>, out: &mut impl Write) -> Result<(), ModeError> {
    let mut findings = Findings::new(measure);
    let mut block = LiveBlock::new();
    let mut percent = 0.0;
    while let Some(keys) = walk.next_page()? {
        percent = walk.percent(findings.sampled);
        let types = types_of(&mut walk, &mut findings.types, &keys)?;
        let keys: Vec<(Vec<u8>, usize)> =
            keys.into_iter().zip(types).filter_map(|(key, index)| Some((key, index?))).collect();
        findings.tallies.resize(findings.types.iter().count(), Tally::default());
        let sizes = sizes_of(&mut walk, &findings.types, &keys, measure)?;
        for ((key, index), size) in keys.iter().zip(sizes) {
            let lines = findings.record(key, *index, size, percent);
            if !block.is_watched() {
                out.write_all(lines.as_bytes())?;
            }
        }
        block.refresh(out, || findings.block(walk.keys_total()))?;
    }
    block.clear(out)?;
    let sampled_line = if block.is_watched() {
        let lines = progress(findings.sampled, walk.keys_total(), true);
        out.write_all(format!("{}\n{}\n", lines[0], lines[1]).as_bytes())?;
        String::new()
    } else {
        let cut_at =
            if walk.is_interrupted() { format!("[{percent:05.2}%] ") } else { String::new() };
        format!("{cut_at}Sampled {} keys in the keyspace!\n", findings.sampled)
    };
    out.write_all(findings.summary(&sampled_line).as_bytes())?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::{Findings, Measure, Tally};

    #[test]
    fn lines_as_the_original_prints_them() {
        let mut findings = Findings::new(Measure::Length);
        let string = findings.types.index("string");
        let stream = findings.types.index("stream");
        assert_eq!(
            findings.record(b"s", stream, 1, 0.0),
            "[00.00%] Biggest stream found so far \"s\" with 1 entries\n"
        );
        assert_eq!(
            findings.record(b"bin\x01\xffq\"", string, 7, 53.535),
            "[53.53%] Biggest string found so far \"bin\\x01\\xffq\\\"\" with 7 bytes\n"
        );
        assert_eq!(findings.record(b"empty", string, 0, 100.0), "");
        assert_eq!(
            findings.summary("Sampled 3 keys in the keyspace!\n"),
            "\n-------- summary -------\n\nSampled 3 keys in the keyspace!\n\
             Total key length in bytes is 13 (avg len 4.33)\n\n\
             Biggest stream found \"s\" has 1 entries\n\
             Biggest string found \"bin\\x01\\xffq\\\"\" has 7 bytes\n\n\
             0 lists with 0 items (00.00% of keys, avg size 0.00)\n\
             0 hashs with 0 fields (00.00% of keys, avg size 0.00)\n\
             1 streams with 1 entries (33.33% of keys, avg size 1.00)\n\
             2 strings with 7 bytes (66.67% of keys, avg size 3.50)\n\
             0 sets with 0 members (00.00% of keys, avg size 0.00)\n\
             0 zsets with 0 members (00.00% of keys, avg size 0.00)\n"
        );
        let block = findings.block(3);
        assert_eq!(block[1], "Keys sampled: 3");
        assert_eq!(block[3], "Biggest stream    found so far \"s\" with 1 entries");
    }

    #[test]
    fn a_module_s_type_has_no_length_but_memory() {
        let mut findings = Findings::new(Measure::Memory(None));
        let index = findings.types.index("ReJSON-RL");
        findings.tallies.push(Tally::default());
        findings.record(b"j", index, 64, 0.0);
        let text = findings.summary("");
        assert!(text.contains("Biggest ReJSON-RL found \"j\" has 64 bytes\n"), "{text}");
        assert!(text.ends_with("1 ReJSON-RLs with 64 bytes (100.00% of keys, avg size 64.00)\n"));
    }

    #[test]
    fn no_keys_at_all() {
        let text = Findings::new(Measure::Length).summary("");
        assert!(
            text.contains("Total key length in bytes is 0 (avg len 0.00)\n\n\n0 lists"),
            "{text}"
        );
    }
}
