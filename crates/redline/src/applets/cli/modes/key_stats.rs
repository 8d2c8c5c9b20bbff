//! `--keystats`: how large the keys of a database are, in memory and by length, and which are the largest.

use std::io::Write;

use hdrhistogram::Histogram;

use super::byte_text::byte_text;
use super::key_types::{KeyTypes, Measure, Tally, sizes_of, types_of};
use super::live_block::{LiveBlock, progress};
use super::walk::Walk;
use super::{ModeError, quoted};

/// Printed before the walk.
pub const INTRODUCTION: &str = "
# Scanning the entire keyspace to find the biggest keys and distribution information.
# Use -i 0.1 to sleep 0.1 sec per 100 SCAN commands (not usually needed).
# Use --cursor <n> to start the scan at the cursor <n> (usually after a Ctrl-C).
# Use --top <n> to display <n> top key sizes (default is 10).
# Ctrl-C to stop the scan.

";
/// Largest size that has a place of its own in the distribution; larger ones count as this one.
const SIZE_MAX_BYTES: u64 = 1 << 40;
/// Significant figures of the distribution: 0.01 %.
const SIZE_FIGURES: u8 = 4;
/// Rows of the distribution between a percentile and half of what is left to 100 %.
const ROWS_A_HALVING: u32 = 1;
/// Limits of the distribution of the names' lengths, in bytes. No key can be longer than the last.
const NAME_LIMITS_BYTES: [u64; 7] = [32, 256, 64 << 10, 1 << 20, 16 << 20, 128 << 20, 512 << 20];
/// Bytes of a type's name in the list of the largest keys.
const TYPE_NAME_MAX: usize = 9;

/// What was found.
pub struct Findings {
    types: KeyTypes,
    /// Memory, one for each type.
    memory: Vec<Tally>,
    /// Lengths, one for each type.
    lengths: Vec<Tally>,
    sampled: u64,
    memory_bytes: u64,
    sizes: Histogram<u64>,
    names: Names,
    top: Top,
}

/// Lengths of the names of keys.
#[derive(Debug, Default)]
struct Names {
    /// Keys up to each limit; the last are those beyond.
    counts: [u64; NAME_LIMITS_BYTES.len() + 1],
    count: u64,
    total_bytes: u64,
    longest_bytes: u64,
}

/// The largest keys, largest first.
#[derive(Debug)]
struct Top {
    /// Most keys to keep; 0 for all.
    limit: usize,
    keys: Vec<(u64, usize, Vec<u8>)>,
}

impl Findings {
    /// Nothing yet; `top` keys are to be listed, all if it is 0.
    pub fn new(top: usize) -> Self {
        let types = KeyTypes::new();
        let tallies = vec![Tally::default(); types.iter().count()];
        Self {
            types,
            memory: tallies.clone(),
            lengths: tallies,
            sampled: 0,
            memory_bytes: 0,
            sizes: Histogram::new_with_bounds(1, SIZE_MAX_BYTES, SIZE_FIGURES)
                .expect("the bounds and figures are allowed"),
            names: Names::default(),
            top: Top { limit: top, keys: Vec::new() },
        }
    }

    /// Makes room for types that came with the last page.
    fn make_room(&mut self) {
        let count = self.types.iter().count();
        self.memory.resize(count, Tally::default());
        self.lengths.resize(count, Tally::default());
    }

    /// Takes in a key of the type at `index`.
    fn record(&mut self, key: &[u8], index: usize, memory_bytes: u64, length: u64) {
        self.sampled += 1;
        self.memory_bytes = self.memory_bytes.saturating_add(memory_bytes);
        self.memory[index].record(key, memory_bytes);
        self.lengths[index].record(key, length);
        self.sizes.saturating_record(memory_bytes);
        self.names.record(key.len() as u64);
        self.top.record(key, index, memory_bytes);
    }

    /// The lines that are also drawn while the walk goes on.
    fn block(&self, keys_total: u64, is_watched: bool) -> Vec<String> {
        let mut lines = progress(self.sampled, keys_total, is_watched).to_vec();
        lines.push(format!("Keys size:    {}", byte_text(self.memory_bytes)));
        lines.push(String::new());
        lines.push(format!("--- Top {} key sizes ---", self.top.limit));
        for (place, (bytes, index, key)) in self.top.keys.iter().enumerate() {
            let name: String = self.types.at(*index).name.chars().take(TYPE_NAME_MAX).collect();
            let (place, bytes) = (place + 1, byte_text(*bytes));
            lines.push(format!("{place:3} {bytes:>8} {name:<10} {}", quoted(key)));
        }
        lines.push(String::new());
        lines.push("--- Top size per type ---".to_owned());
        for (key_type, tally) in self.types.iter().zip(&self.memory) {
            if let Some(key) = &tally.biggest_key {
                let bytes = byte_text(tally.biggest);
                lines.push(format!("{:<10} {} is {bytes}", key_type.name, plain(key)));
            }
        }
        lines.push(String::new());
        lines.push("--- Top length and cardinality per type ---".to_owned());
        for (key_type, tally) in self.types.iter().zip(&self.lengths) {
            if let Some(key) = &tally.biggest_key {
                let length = length_text(tally.biggest, key_type.unit);
                lines.push(format!("{:<10} {} has {length}", key_type.name, plain(key)));
            }
        }
        lines
    }

    /// The distribution of the sizes.
    fn size_lines(&self) -> Vec<String> {
        let mut lines = vec![
            "Key size Percentile Total keys".to_owned(),
            "-------- ---------- -----------".to_owned(),
        ];
        let (mut seen, mut shown) = (0, 0);
        for step in self.sizes.iter_quantiles(ROWS_A_HALVING) {
            seen += step.count_since_last_iteration();
            if seen == shown {
                continue;
            }
            shown = seen;
            let percentile =
                if seen == self.sizes.len() { 100.0 } else { step.quantile_iterated_to() * 100.0 };
            let bytes = byte_text(self.sizes.highest_equivalent(step.value_iterated_to()));
            lines.push(format!("{bytes:>8} {percentile:9.4}% {seen:11}"));
        }
        lines.push(format!(
            "Note: 0.01% size precision, Mean: {}, StdDeviation: {}",
            byte_text(self.sizes.mean() as u64),
            byte_text(self.sizes.stdev() as u64)
        ));
        lines
    }

    /// The table of the types.
    fn type_lines(&self) -> Vec<String> {
        let mut lines = vec![
            "Type        Total keys  Keys % Tot size Avg size  Total length/card Avg ln/card"
                .to_owned(),
            "--------- ------------ ------- -------- -------- ------------------ -----------"
                .to_owned(),
        ];
        for (index, key_type) in self.types.iter().enumerate() {
            let (memory, length) = (&self.memory[index], &self.lengths[index]);
            if memory.count == 0 {
                continue;
            }
            let (total, mean) = match (key_type.length_command, key_type.unit) {
                (None, _) => (" - ".to_owned(), " - ".to_owned()),
                (_, "bytes") => (byte_text(length.total), byte_text(length.mean().round() as u64)),
                (_, unit) => (length_text(length.total, unit), format!("{:.2}", length.mean())),
            };
            lines.push(format!(
                "{:<10} {:11} {:6.2}% {:>8} {:>8} {total:>18} {mean:>11}",
                key_type.name,
                memory.count,
                memory.count as f64 / self.sampled as f64 * 100.0,
                byte_text(memory.total),
                byte_text(memory.total / memory.count),
            ));
        }
        lines
    }
}

impl Names {
    fn record(&mut self, bytes: u64) {
        let limit = NAME_LIMITS_BYTES.iter().position(|limit| bytes <= *limit);
        self.counts[limit.unwrap_or(NAME_LIMITS_BYTES.len())] += 1;
        self.count += 1;
        self.total_bytes += bytes;
        self.longest_bytes = self.longest_bytes.max(bytes);
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            "Key name length Percentile Total keys".to_owned(),
            "--------------- ---------- -----------".to_owned(),
        ];
        let mut seen = 0;
        let limits = NAME_LIMITS_BYTES.iter().copied().chain([u64::MAX]);
        for (count, limit) in self.counts.iter().zip(limits) {
            if *count == 0 {
                continue;
            }
            seen += count;
            let bytes = byte_text(limit.min(self.longest_bytes));
            let percentile = seen as f64 / self.count as f64 * 100.0;
            lines.push(format!("{bytes:>15} {percentile:9.4}% {seen:11}"));
        }
        let mean =
            self.total_bytes.checked_div(self.count).map_or_else(|| "0".to_owned(), byte_text);
        lines.push(format!("Total key length is {} ({mean} avg)", byte_text(self.total_bytes)));
        lines
    }
}

impl Top {
    fn record(&mut self, key: &[u8], index: usize, bytes: u64) {
        let place = self.keys.partition_point(|(larger, _, _)| *larger >= bytes);
        if self.limit != 0 && place >= self.limit {
            return;
        }
        self.keys.insert(place, (bytes, index, key.to_vec()));
        if self.limit != 0 {
            self.keys.truncate(self.limit);
        }
    }
}

/// Walks over all keys from where `walk` stands.
///
/// # Errors
/// All kinds of [`ModeError`].
pub fn run(
    samples: Option<i64>,
    top: usize,
    mut walk: Walk<'_>,
    out: &mut impl Write,
) -> Result<(), ModeError> {
    let mut findings = Findings::new(top);
    let mut block = LiveBlock::new();
    while let Some(keys) = walk.next_page()? {
        let types = types_of(&mut walk, &mut findings.types, &keys)?;
        findings.make_room();
        let keys: Vec<(Vec<u8>, usize)> =
            keys.into_iter().zip(types).filter_map(|(key, index)| Some((key, index?))).collect();
        let memory = sizes_of(&mut walk, &findings.types, &keys, Measure::Memory(samples))?;
        let lengths = sizes_of(&mut walk, &findings.types, &keys, Measure::Length)?;
        for ((key, index), (bytes, length)) in keys.iter().zip(memory.into_iter().zip(lengths)) {
            findings.record(key, *index, bytes, length);
        }
        block.refresh(out, || findings.block(walk.keys_total(), true))?;
    }
    block.clear(out)?;
    let parts = [
        findings.block(walk.keys_total(), block.is_watched()),
        findings.size_lines(),
        findings.names.lines(),
        findings.type_lines(),
    ];
    let text: Vec<String> = parts.iter().map(|lines| lines.join("\n") + "\n").collect();
    out.write_all(text.join("\n").as_bytes())?;
    if walk.cursor() != 0 {
        let cursor = walk.cursor();
        write!(
            out,
            "\nScan interrupted:\n\
             Use 'redis-cli --keystats --cursor {cursor}' to restart from the last cursor.\n"
        )?;
    }
    Ok(out.flush()?)
}

/// A length with its unit; bytes as people read them.
fn length_text(length: u64, unit: &str) -> String {
    if unit == "bytes" { byte_text(length) } else { format!("{length} {unit}") }
}

/// A key's name as it is, if it can be shown so; else in quotes.
fn plain(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(name) if !name.chars().any(char::is_control) => name.to_owned(),
        _ => quoted(key),
    }
}

#[cfg(test)]
mod tests {
    use super::Findings;

    /// The data of the recorded run of redis-cli 8.
    fn findings() -> Findings {
        let mut findings = Findings::new(10);
        for (key, name, bytes, length) in [
            ("h", "hash", 80, 2),
            ("z", "zset", 80, 2),
            ("str", "string", 64, 11),
            ("set", "set", 64, 3),
            ("biglist", "list", 168, 5),
            ("s", "stream", 4728, 1),
        ] {
            let index = findings.types.index(name);
            findings.record(key.as_bytes(), index, bytes, length);
        }
        findings
    }

    #[test]
    fn the_block_of_the_recorded_run() {
        let lines = findings().block(6, false);
        assert_eq!(lines[0], "100.00% keys scanned");
        assert_eq!(lines[2], "Keys size:    5.06K");
        assert_eq!(lines[4], "--- Top 10 key sizes ---");
        assert_eq!(lines[5], "  1    4.62K stream     \"s\"");
        assert_eq!(lines[6], "  2     168B list       \"biglist\"");
        assert_eq!(lines[7], "  3      80B hash       \"h\"");
        assert!(lines.contains(&"list       biglist is 168B".to_owned()));
        assert!(lines.contains(&"string     str has 11B".to_owned()));
        assert!(lines.contains(&"stream     s has 1 entries".to_owned()));
    }

    #[test]
    fn the_tables_of_the_recorded_run() {
        let findings = findings();
        assert_eq!(
            findings.size_lines()[2..],
            [
                "     64B    0.0000%           2",
                "     80B   50.0000%           4",
                "    168B   75.0000%           5",
                "   4.62K  100.0000%           6",
                "Note: 0.01% size precision, Mean: 864B, StdDeviation: 1.69K",
            ]
        );
        assert_eq!(
            findings.names.lines()[2..],
            ["             7B  100.0000%           6", "Total key length is 16B (2B avg)"]
        );
        let types = findings.type_lines();
        assert_eq!(types.len(), 8);
        assert_eq!(
            types[4],
            "stream               1  16.67%    4.62K    4.62K          1 entries        1.00"
        );
        assert_eq!(
            types[5],
            "string               1  16.67%      64B      64B                11B         11B"
        );
    }

    #[test]
    fn the_top_has_a_limit_and_keeps_the_order_of_equals() {
        for (limit, expected) in [(2, vec!["b", "c"]), (0, vec!["b", "c", "a", "d"])] {
            let mut findings = Findings::new(limit);
            for (key, bytes) in [("a", 1), ("b", 7), ("c", 7), ("d", 0)] {
                findings.record(key.as_bytes(), 0, bytes, 1);
            }
            let keys: Vec<&[u8]> =
                findings.top.keys.iter().map(|(_, _, key)| key.as_slice()).collect();
            let expected: Vec<&[u8]> = expected.iter().map(|key| key.as_bytes()).collect();
            assert_eq!(keys, expected);
        }
    }

    #[test]
    fn nothing_found_and_odd_names() {
        let empty = Findings::new(10);
        assert_eq!(empty.size_lines().len(), 3);
        assert_eq!(empty.names.lines()[2], "Total key length is 0B (0 avg)");
        let mut odd = Findings::new(10);
        odd.record(b"\x1b[2J", 0, 5, 1);
        let module = odd.types.index("vectorset-long");
        odd.make_room();
        odd.record(b"v", module, u64::MAX, 0);
        let lines = odd.block(2, false);
        assert!(lines.contains(&r#"list       "\x1b[2J" is 5B"#.to_owned()));
        assert!(lines.iter().any(|line| line.contains(" vectorset  \"v\"")));
        assert!(odd.type_lines()[3].ends_with(" -           - "));
    }
}
