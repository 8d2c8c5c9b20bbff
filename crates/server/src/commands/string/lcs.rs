//! `LCS`: the longest common subsequence of two strings.

use resp::args::Args;
use resp::reply::{Aggregate, Reply};

use crate::arguments::{Options, integer, is_word};
use crate::command::{Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};

const NOT_STRINGS: CommandError =
    CommandError::fixed("ERR The specified keys must contain string values");
const LENGTH_AND_INDEXES: CommandError =
    CommandError::fixed("ERR If you want both the length and indexes, please just use IDX.");
const TOO_MUCH_MEMORY: CommandError = CommandError::fixed(
    "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
);

#[derive(Default)]
struct Wish {
    length: bool,
    indexes: bool,
    match_lengths: bool,
    match_length_min: usize,
}

/// A run of equal bytes: where it begins in the one and in the other string, and its length.
struct Run {
    one: usize,
    other: usize,
    length: usize,
}

/// `LCS key key [LEN] [IDX] [MINMATCHLEN n] [WITHMATCHLEN]`
pub fn lcs(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let one = string_of(context, locked, 0);
    let other = string_of(context, locked, 1);
    let (Some(one), Some(other)) = (one, other) else { return Err(NOT_STRINGS) };
    let wish = wish(args)?;
    let lengths = Lengths::new(&one, &other, context.worker.settings.bulk_bytes_max)?;
    if wish.indexes {
        let runs = lengths.runs(&one, &other);
        reply.map(2);
        reply.bulk(b"matches");
        let deferred = reply.deferred(Aggregate::Array);
        let mut count = 0;
        for run in runs.iter().filter(|run| run.length >= wish.match_length_min) {
            reply.array(if wish.match_lengths { 3 } else { 2 });
            for start in [run.one, run.other] {
                reply.array(2);
                reply.count(start);
                reply.count(start + run.length - 1);
            }
            if wish.match_lengths {
                reply.count(run.length);
            }
            count += 1;
        }
        reply.finish(deferred, count);
        reply.bulk(b"len");
        reply.count(lengths.whole());
    } else if wish.length {
        reply.count(lengths.whole());
    } else {
        let mut found = Vec::with_capacity(lengths.whole());
        for run in lengths.runs(&one, &other).iter().rev() {
            found.extend_from_slice(&one[run.one..run.one + run.length]);
        }
        reply.bulk(&found);
    }
    Ok(Effect::NONE)
}

/// A copy of the string at a key, empty if there is none; `None` for another type.
fn string_of(context: &Context<'_>, locked: &mut Locked<'_>, place: usize) -> Option<Vec<u8>> {
    let key = locked.key(place);
    let found = locked.db(key).string(context.clock, key);
    context.count_lookup(!matches!(found, Ok(None)));
    match found {
        Ok(None) => Some(Vec::new()),
        Ok(Some(string)) => Some(string.with_bytes(<[u8]>::to_vec)),
        Err(_) => None,
    }
}

fn wish(args: Args<'_>) -> Result<Wish, CommandError> {
    let mut wish = Wish::default();
    let mut options = Options::new(args, 3);
    while let Some(word) = options.next() {
        if is_word(word, "IDX") {
            wish.indexes = true;
        } else if is_word(word, "LEN") {
            wish.length = true;
        } else if is_word(word, "WITHMATCHLEN") {
            wish.match_lengths = true;
        } else if is_word(word, "MINMATCHLEN") {
            let least = integer(options.value()?)?;
            wish.match_length_min = usize::try_from(least).unwrap_or(0);
        } else {
            return Err(SYNTAX);
        }
    }
    if wish.indexes && wish.length { Err(LENGTH_AND_INDEXES) } else { Ok(wish) }
}

/// The length of the longest common subsequence of every pair of prefixes.
struct Lengths {
    cells: Vec<u32>,
    /// Cells in a row: one more than the other string's length.
    width: usize,
}

impl Lengths {
    fn new(one: &[u8], other: &[u8], bytes_max: usize) -> Result<Lengths, CommandError> {
        let width = other.len() + 1;
        let cell_count = width
            .checked_mul(one.len() + 1)
            .filter(|count| count.saturating_mul(size_of::<u32>()) <= bytes_max)
            .ok_or(TOO_MUCH_MEMORY)?;
        let mut cells = vec![0; cell_count];
        for (row, byte) in one.iter().enumerate() {
            let (above, here) = cells[row * width..(row + 2) * width].split_at_mut(width);
            for (column, other_byte) in other.iter().enumerate() {
                here[column + 1] = if byte == other_byte {
                    above[column] + 1
                } else {
                    above[column + 1].max(here[column])
                };
            }
        }
        Ok(Lengths { cells, width })
    }

    fn whole(&self) -> usize {
        self.cells[self.cells.len() - 1] as usize
    }

    /// The runs of the subsequence, last one first. Of several subsequences of the same length it
    /// is the one that Redis finds: where both ways are as good, the other string's byte is left out.
    fn runs(&self, one: &[u8], other: &[u8]) -> Vec<Run> {
        let (mut row, mut column) = (one.len(), other.len());
        let mut runs = Vec::new();
        let mut length = 0;
        while row > 0 && column > 0 {
            if one[row - 1] == other[column - 1] {
                (row, column, length) = (row - 1, column - 1, length + 1);
                continue;
            }
            if length > 0 {
                runs.push(Run { one: row, other: column, length });
                length = 0;
            }
            let without_one = self.cells[(row - 1) * self.width + column];
            let without_other = self.cells[row * self.width + column - 1];
            if without_one > without_other {
                row -= 1;
            } else {
                column -= 1;
            }
        }
        if length > 0 {
            runs.push(Run { one: row, other: column, length });
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::Lengths;

    #[test]
    fn finds_the_known_example() {
        let (one, other) = (b"ohmytext", b"mynewtext");
        let lengths = Lengths::new(one, other, 1 << 20).expect("small");
        assert_eq!(lengths.whole(), 6);
        let runs = lengths.runs(one, other);
        let places: Vec<_> = runs.iter().map(|run| (run.one, run.other, run.length)).collect();
        assert_eq!(places, [(4, 5, 4), (2, 0, 2)]);
    }

    #[test]
    fn empty_strings_have_nothing_in_common() {
        let lengths = Lengths::new(b"", b"abc", 1 << 20).expect("small");
        assert_eq!(lengths.whole(), 0);
        assert!(lengths.runs(b"", b"abc").is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        assert!(Lengths::new(&[0; 100], &[0; 100], 4 * 101 * 101).is_ok());
        assert!(Lengths::new(&[0; 100], &[0; 100], 4 * 101 * 101 - 1).is_err());
    }
}
