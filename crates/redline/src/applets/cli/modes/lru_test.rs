//! `--lru-test`: a cache under load. Half the commands write and half read keys of a power law in which a fifth of the keys gets
//! four fifths of the accesses; each second it says how many reads found their key.

use std::io::Write;
use std::time::{Duration, Instant};

use resp::{Value, encode};

use super::ModeError;
use crate::applets::cli::connection::Connection;

/// Exponent of the power law that gives the 80-20 rule.
const EXPONENT: f64 = 6.2;
/// Writes, and then reads, that are sent at once.
const BATCH: usize = 250;
/// Time between two lines.
const CYCLE: Duration = Duration::from_secs(1);
/// Bytes of a value.
const VALUE_BYTES: usize = 5;

/// Draws keys and values.
#[derive(Debug)]
pub struct Keys {
    count: u64,
    state: u64,
}

impl Keys {
    /// Keys 1 to `count`, which is at least one.
    pub fn new(count: u64, seed: u64) -> Self {
        debug_assert!(count > 0);
        Self { count: count.max(1), state: seed }
    }

    /// The number of the next key: low ones are the rarer.
    pub fn next(&mut self) -> u64 {
        // A sample of the density x^EXPONENT on 1..=count+1, by inversion, counted from the top.
        let (low, high) = (1.0_f64, self.count as f64 + 1.0);
        let power = EXPONENT + 1.0;
        let unit = (self.random() >> 11) as f64 / (1_u64 << 53) as f64;
        let drawn = ((high / low).powf(power) - 1.0).mul_add(unit, 1.0).powf(1.0 / power) * low;
        let from_top = (drawn as u64).clamp(1, self.count);
        self.count + 1 - from_top
    }

    /// A value of capital letters.
    fn value(&mut self) -> [u8; VALUE_BYTES] {
        let mut random = self.random();
        std::array::from_fn(|_| {
            let letter = (random % 26) as u8;
            random /= 26;
            b'A' + letter
        })
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The line of a cycle.
pub fn line(hits: u64, misses: u64) -> String {
    let reads = hits + misses;
    let share = |part: u64| part as f64 / reads.max(1) as f64 * 100.0;
    format!(
        "{reads} Gets/sec | Hits: {hits} ({:.2}%) | Misses: {misses} ({:.2}%)\n",
        share(hits),
        share(misses)
    )
}

/// Loads the server for ever.
///
/// # Errors
/// All kinds of [`ModeError`].
pub fn run(
    mut keys: Keys,
    connection: &mut Connection,
    out: &mut impl Write,
) -> Result<(), ModeError> {
    loop {
        let start = Instant::now();
        let (mut hits, mut misses) = (0, 0);
        while start.elapsed() < CYCLE {
            for reply in exchange(connection, &writes(&mut keys))? {
                report_error(&reply);
            }
            for reply in exchange(connection, &reads(&mut keys))? {
                match reply {
                    Value::Error(_) => report_error(&reply),
                    Value::Null => misses += 1,
                    _ => hits += 1,
                }
            }
        }
        out.write_all(line(hits, misses).as_bytes())?;
        out.flush()?;
    }
}

fn writes(keys: &mut Keys) -> Vec<u8> {
    let mut batch = Vec::new();
    for _ in 0..BATCH {
        let key = format!("lru:{}", keys.next());
        encode::command(&mut batch, &[b"SET", key.as_bytes(), &keys.value()]);
    }
    batch
}

fn reads(keys: &mut Keys) -> Vec<u8> {
    let mut batch = Vec::new();
    for _ in 0..BATCH {
        encode::command(&mut batch, &["GET", &format!("lru:{}", keys.next())]);
    }
    batch
}

fn exchange(connection: &mut Connection, batch: &[u8]) -> Result<Vec<Value>, ModeError> {
    connection.write(batch)?;
    let mut replies = Vec::with_capacity(BATCH);
    while replies.len() < BATCH {
        match connection.read()? {
            Value::Push(_) => {}
            reply => replies.push(reply),
        }
    }
    Ok(replies)
}

/// Says what the server refused, a full memory for one.
fn report_error(reply: &Value) {
    if let Value::Error(message) = reply {
        eprintln!("{}", String::from_utf8_lossy(message));
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, line};

    #[test]
    fn a_fifth_of_the_keys_gets_four_fifths_of_the_draws() {
        let mut keys = Keys::new(1_000, 7);
        let (mut draws, mut within) = (0, 0);
        for _ in 0..100_000 {
            let key = keys.next();
            assert!((1..=1_000).contains(&key));
            draws += 1;
            within += u64::from(key <= 200);
        }
        // (1 - 0.8^7.2) = 0.7995 by the law itself.
        let share = within as f64 / draws as f64;
        assert!((share - 0.7995).abs() < 0.01, "{share}");
    }

    #[test]
    fn one_key_and_very_many() {
        assert!((0..100).all(|seed| Keys::new(1, seed).next() == 1));
        assert!((0..100).all(|seed| (1..=1 << 62).contains(&Keys::new(1 << 62, seed).next())));
    }

    #[test]
    fn a_line_as_the_original_prints_it() {
        assert_eq!(
            line(174_903, 597),
            "175500 Gets/sec | Hits: 174903 (99.66%) | Misses: 597 (0.34%)\n"
        );
        assert_eq!(line(0, 0), "0 Gets/sec | Hits: 0 (0.00%) | Misses: 0 (0.00%)\n");
    }
}
