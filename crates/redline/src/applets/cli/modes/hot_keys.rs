//! `--hotkeys`: the keys that are used most, by the counters that a server with an LFU policy keeps.

use std::io::Write;

use resp::Value;

use super::live_block::{LiveBlock, progress};
use super::walk::Walk;
use super::{ModeError, quoted};

/// Printed before the walk.
pub const INTRODUCTION: &str = "
# Scanning the entire keyspace to find hot keys as well as
# average sizes per key type.  You can use -i 0.1 to sleep 0.1 sec
# per 100 SCAN commands (not usually needed).

";
/// Keys that are kept.
const HOTTEST: usize = 16;
/// Keys between two lines that only tell that it goes on.
const KEYS_A_LINE: u64 = 1_000_000;

/// The keys with the highest counters, lowest first.
#[derive(Debug, Default)]
pub struct Hottest(Vec<(u64, Vec<u8>)>);

impl Hottest {
    /// Takes in a key; true if it is among the hottest so far.
    pub fn record(&mut self, key: &[u8], counter: u64) -> bool {
        let is_full = self.0.len() == HOTTEST;
        if counter == 0 || is_full && counter <= self.0[0].0 {
            return false;
        }
        if is_full {
            self.0.remove(0);
        }
        let place = self.0.partition_point(|(lower, _)| *lower < counter);
        self.0.insert(place, (counter, key.to_vec()));
        true
    }

    /// A line for each, hottest first.
    pub fn lines(&self) -> Vec<String> {
        let line = |(counter, key): &(u64, Vec<u8>)| {
            format!("hot key found with counter: {counter}\tkeyname: {}", quoted(key))
        };
        self.0.iter().rev().map(line).collect()
    }
}

/// Walks over all keys.
///
/// # Errors
/// All kinds of [`ModeError`]; the server's own words when it keeps no counters.
pub fn run(mut walk: Walk<'_>, out: &mut impl Write) -> Result<(), ModeError> {
    let mut hottest = Hottest::default();
    let mut block = LiveBlock::new();
    let (mut sampled, mut percent) = (0_u64, 0.0);
    while let Some(keys) = walk.next_page()? {
        percent = walk.percent(sampled);
        let counters = counters(&mut walk, &keys)?;
        for (key, counter) in keys.iter().zip(counters) {
            sampled += 1;
            let is_hot = hottest.record(key, counter);
            if block.is_watched() {
                continue;
            }
            if sampled.is_multiple_of(KEYS_A_LINE) {
                writeln!(out, "[{percent:05.2}%] Sampled {sampled} keys so far")?;
            }
            if is_hot {
                let key = quoted(key);
                writeln!(
                    out,
                    "[{percent:05.2}%] Hot key {key} found so far with counter {counter}"
                )?;
            }
        }
        block.refresh(out, || {
            let mut lines = progress(sampled, walk.keys_total(), true).to_vec();
            lines.push(String::new());
            lines.extend(hottest.lines());
            lines
        })?;
    }
    block.clear(out)?;
    if block.is_watched() {
        let lines = progress(sampled, walk.keys_total(), true);
        writeln!(out, "{}\n{}", lines[0], lines[1])?;
    }
    write!(out, "\n-------- summary -------\n\n")?;
    if !block.is_watched() {
        let cut_at =
            if walk.is_interrupted() { format!("[{percent:05.2}%] ") } else { String::new() };
        writeln!(out, "{cut_at}Sampled {sampled} keys in the keyspace!")?;
    }
    for line in hottest.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// The counter of each key; 0 for one that is gone.
fn counters(walk: &mut Walk<'_>, keys: &[Vec<u8>]) -> Result<Vec<u64>, ModeError> {
    let commands: Vec<Vec<&[u8]>> =
        keys.iter().map(|key| vec![b"OBJECT".as_slice(), b"FREQ", key]).collect();
    let replies = walk.ask_all(&commands)?;
    let counter = |(key, reply): (&Vec<u8>, &Value)| match reply {
        Value::Integer(counter) => Ok(u64::try_from(*counter).unwrap_or(0)),
        // Some servers have this error for a key that is gone, where others have a null.
        Value::Error(message) if message.as_slice() != b"ERR no such key" => {
            Err(ModeError::told("Error:", message))
        }
        _ => {
            let key = quoted(key);
            eprintln!("Warning: OBJECT freq on {key} failed (may have been deleted)");
            Ok(0)
        }
    };
    keys.iter().zip(&replies).map(counter).collect()
}

#[cfg(test)]
mod tests {
    use super::{HOTTEST, Hottest};

    #[test]
    fn the_hottest_stay() {
        let mut hottest = Hottest::default();
        assert!(!hottest.record(b"cold", 0));
        for counter in 1..=20_u64 {
            assert!(hottest.record(format!("k{counter}").as_bytes(), counter));
        }
        assert!(!hottest.record(b"same as the lowest", 5));
        assert!(hottest.record(b"tie", 20));
        let lines = hottest.lines();
        assert_eq!(lines.len(), HOTTEST);
        // The earlier of two equals stands first.
        assert_eq!(lines[0], "hot key found with counter: 20\tkeyname: \"k20\"");
        assert_eq!(lines[1], "hot key found with counter: 20\tkeyname: \"tie\"");
        assert_eq!(lines[15], "hot key found with counter: 6\tkeyname: \"k6\"");
    }
}
