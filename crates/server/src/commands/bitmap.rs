//! Bitmaps: the commands on single bits of strings.

use engine::{Db, Key};
use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::{integer, is_word};
use crate::command::{Command, Family, Flags, Handler, KeySpec, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};

const NO_OFFSET: CommandError =
    CommandError::fixed("ERR bit offset is not an integer or out of range");
const NO_BIT: CommandError = CommandError::fixed("ERR bit is not an integer or out of range");
const NOT_ONE_BIT: CommandError = CommandError::fixed("ERR The bit argument must be 1 or 0.");
const NOT_OF_ONE: CommandError =
    CommandError::fixed("ERR BITOP NOT must be called with a single source key.");

/// The offset of a bit, which must lie within the longest string that there may be.
fn offset(context: &Context<'_>, argument: &[u8]) -> Result<usize, CommandError> {
    let number = text::integer::parse_i64(argument).ok_or(NO_OFFSET)?;
    let offset = usize::try_from(number).map_err(|_| NO_OFFSET)?;
    if offset / 8 >= context.worker.settings.bulk_bytes_max {
        return Err(NO_OFFSET);
    }
    Ok(offset)
}

/// The mask of a bit within its byte; bit 0 is the highest.
fn mask(offset: usize) -> u8 {
    0x80 >> (offset % 8)
}

fn setbit(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let offset = offset(context, args.at(2))?;
    let is_set = match text::integer::parse_i64(args.at(3)) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(NO_BIT),
    };
    let place = offset / 8;
    let found = db.string(context.clock, key)?;
    let (old, is_longer) = found.map_or((0, true), |string| {
        string.with_bytes(|bytes| (bytes.get(place).copied().unwrap_or(0), bytes.len() <= place))
    });
    let was_set = old & mask(offset) != 0;
    let new = if is_set { old | mask(offset) } else { old & !mask(offset) };
    // A string that stays the same is still written: it is one that was changed in place.
    db.set_range(context.clock, key, place, &[new])?;
    reply.integer(i64::from(was_set));
    Ok(Effect::changed_if(is_longer || was_set != is_set))
}

fn getbit(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let offset = offset(context, args.at(2))?;
    let found = db.string(context.clock, key)?;
    context.count_lookup(found.is_some());
    let byte = found
        .map_or(0, |string| string.with_bytes(|bytes| bytes.get(offset / 8).copied().unwrap_or(0)));
    reply.integer(i64::from(byte & mask(offset) != 0));
    Ok(Effect::NONE)
}

/// A range of a bitmap as a command gives it: negative ends count from the end.
struct Range {
    start: i64,
    end: i64,
    in_bits: bool,
}

impl Range {
    /// Reads a start, an end and a unit; an end that is missing is the last byte.
    fn read(start: &[u8], end: Option<&[u8]>, unit: Option<&[u8]>) -> Result<Range, CommandError> {
        let start = integer(start)?;
        let end = end.map(integer).transpose()?.unwrap_or(-1);
        Ok(Range { start, end, in_bits: is_in_bits(unit)? })
    }

    /// Whether both ends count from the end and the second stands before the first.
    fn is_reversed(&self) -> bool {
        self.start < 0 && self.end < 0 && self.start > self.end
    }

    /// The bits of a string of `len` bytes that are in the range.
    fn bits(&self, len: usize) -> std::ops::Range<usize> {
        let unit = if self.in_bits { 1 } else { 8 };
        let total = if self.in_bits { 8 * len as i64 } else { len as i64 };
        let from_front =
            |index: i64| if index < 0 { index.saturating_add(total).max(0) } else { index };
        let (first, last) = (from_front(self.start), from_front(self.end).min(total - 1));
        if first > last {
            return 0..0;
        }
        first as usize * unit..(last as usize + 1) * unit
    }
}

/// Whether a range's unit is the bit, not the byte.
fn is_in_bits(unit: Option<&[u8]>) -> Result<bool, CommandError> {
    match unit {
        None => Ok(false),
        Some(unit) if is_word(unit, "bit") => Ok(true),
        Some(unit) if is_word(unit, "byte") => Ok(false),
        Some(_) => Err(SYNTAX),
    }
}

fn bitcount(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let range = match args.len() {
        2 => Range { start: 0, end: -1, in_bits: false },
        4 | 5 => Range::read(args.at(2), args.get(3), args.get(4))?,
        _ => return Err(SYNTAX),
    };
    let found = db.string(context.clock, key)?;
    context.count_lookup(found.is_some());
    let found = found.filter(|_| !range.is_reversed());
    let count = found
        .map_or(0, |string| string.with_bytes(|bytes| count_ones(bytes, range.bits(bytes.len()))));
    reply.count(count);
    Ok(Effect::NONE)
}

fn count_ones(bytes: &[u8], bits: std::ops::Range<usize>) -> usize {
    if bits.is_empty() {
        return 0;
    }
    let (first, last) = (bits.start / 8, (bits.end - 1) / 8);
    let whole: usize = bytes[first..=last].iter().map(|byte| byte.count_ones() as usize).sum();
    // What the first and the last byte have outside of the range.
    let before = bytes[first] & !(0xff >> (bits.start % 8));
    let behind = match bits.end % 8 {
        0 => 0,
        used => bytes[last] & (0xff >> used),
    };
    whole - (before.count_ones() + behind.count_ones()) as usize
}

fn bitpos(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let wanted = match integer(args.at(2))? {
        0 => false,
        1 => true,
        _ => return Err(NOT_ONE_BIT),
    };
    let range = match args.len() {
        3 => Range { start: 0, end: -1, in_bits: false },
        4..=6 => {
            // Of two mistakes Redis names the unit before the end.
            integer(args.at(3))?;
            is_in_bits(args.get(5))?;
            Range::read(args.at(3), args.get(4), args.get(5))?
        }
        _ => return Err(SYNTAX),
    };
    let has_end = args.len() > 4;
    let found = db.string(context.clock, key)?;
    context.count_lookup(found.is_some());
    let position = match found {
        None if wanted => None,
        None => Some(0),
        Some(string) => string.with_bytes(|bytes| {
            let bits = range.bits(bytes.len());
            // Behind a string whose end was not given stand zeros.
            let beyond = (!wanted && !has_end && !bits.is_empty()).then_some(bits.end);
            find_bit(bytes, bits, wanted).or(beyond)
        }),
    };
    reply.integer(position.map_or(-1, |position| position as i64));
    Ok(Effect::NONE)
}

fn find_bit(bytes: &[u8], bits: std::ops::Range<usize>, wanted: bool) -> Option<usize> {
    let skipped = if wanted { 0x00 } else { 0xff };
    let mut at = bits.start;
    while at < bits.end {
        if at.is_multiple_of(8) && bytes[at / 8] == skipped {
            at += 8;
            continue;
        }
        if (bytes[at / 8] & mask(at) != 0) == wanted {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// How `BITOP` joins strings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
}

fn bitop(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let operations = [
        ("and", Operation::And),
        ("or", Operation::Or),
        ("xor", Operation::Xor),
        ("not", Operation::Not),
    ];
    let named = operations.into_iter().find(|(name, _)| is_word(args.at(1), name));
    let (_, operation) = named.ok_or(SYNTAX)?;
    if operation == Operation::Not && locked.key_count() != 2 {
        return Err(NOT_OF_ONE);
    }
    let mut result: Option<Vec<u8>> = None;
    for place in 1..locked.key_count() {
        let key = locked.key(place);
        let source = locked.db(key).string(context.clock, key)?;
        let source = source.map_or_else(Vec::new, |string| string.with_bytes(<[u8]>::to_vec));
        result = Some(match result {
            None if operation == Operation::Not => source.iter().map(|byte| !byte).collect(),
            None => source,
            Some(before) => join(operation, before, &source),
        });
    }
    let result = result.unwrap_or_default();
    let target = locked.key(0);
    locked.note_changed(0);
    let db = locked.db(target);
    let removed = db.remove(context.clock, target);
    reply.count(result.len());
    let was_there = removed.is_some();
    context.discard(removed);
    if result.is_empty() {
        return Ok(Effect::changed_if(was_there));
    }
    // Redis keeps the result as it keeps strings changed in place.
    db.set_range(context.clock, target, 0, &result)?;
    Ok(Effect::changed(1))
}

/// Joins two strings; the shorter one has zeros behind it.
fn join(operation: Operation, mut left: Vec<u8>, right: &[u8]) -> Vec<u8> {
    left.resize(left.len().max(right.len()), 0);
    for (place, byte) in left.iter_mut().enumerate() {
        let other = right.get(place).copied().unwrap_or(0);
        match operation {
            Operation::And => *byte &= other,
            Operation::Or => *byte |= other,
            Operation::Xor => *byte ^= other,
            Operation::Not => {}
        }
    }
    left
}

const READ: Flags = Flags::READONLY;
const GROW: Flags = Flags::WRITE.union(Flags::DENYOOM);

const FAMILY: Family = Family { group: "bitmap", categories: &["bitmap"] };

/// The bitmap family.
pub const COMMANDS: &[Command] = &[
    FAMILY.row(
        "setbit",
        4,
        GROW,
        KeySpec::FIRST,
        ["key offset value", "Sets or clears a bit and returns what it was.", "2.2.0", "O(1)"],
        Handler::Key(setbit),
    ),
    FAMILY.row(
        "getbit",
        3,
        READ.union(Flags::FAST),
        KeySpec::FIRST,
        ["key offset", "Returns a bit.", "2.2.0", "O(1)"],
        Handler::Key(getbit),
    ),
    FAMILY.row(
        "bitcount",
        -2,
        READ,
        KeySpec::FIRST,
        ["key [start end [BYTE | BIT]]", "Counts the bits that are set.", "2.6.0", "O(N)"],
        Handler::Key(bitcount),
    ),
    FAMILY.row(
        "bitpos",
        -3,
        READ,
        KeySpec::FIRST,
        [
            "key bit [start [end [BYTE | BIT]]]",
            "Finds the first bit that is set, or clear.",
            "2.8.7",
            "O(N)",
        ],
        Handler::Key(bitpos),
    ),
    FAMILY.row(
        "bitop",
        -4,
        GROW,
        KeySpec { first: 2, last: -1, step: 1, counted: 0 },
        [
            "<AND | OR | XOR | NOT> destkey key [key ...]",
            "Joins strings bit by bit and stores the result.",
            "2.6.0",
            "O(N)",
        ],
        Handler::Keys(bitop),
    ),
];

#[cfg(test)]
mod tests {
    use super::{Range, count_ones, find_bit};

    #[test]
    fn bits_are_counted_and_found_one_by_one_and_by_bytes() {
        let bytes = [0x00, 0xf1, 0xff, 0x80, 0x01];
        let is_set = |at: usize| bytes[at / 8] & (0x80 >> (at % 8)) != 0;
        for start in 0..=40 {
            for end in start..=40 {
                let expected = (start..end).filter(|at| is_set(*at)).count();
                assert_eq!(count_ones(&bytes, start..end), expected, "{start}..{end}");
                for wanted in [false, true] {
                    let expected = (start..end).find(|at| is_set(*at) == wanted);
                    let found = find_bit(&bytes, start..end, wanted).filter(|at| *at < end);
                    assert_eq!(found, expected, "{start}..{end} {wanted}");
                }
            }
        }
        let bits = |start, end, in_bits| Range { start, end, in_bits }.bits(3);
        assert_eq!(bits(0, -1, false), 0..24);
        assert_eq!(bits(-1, -2, false), 0..0);
        assert_eq!(bits(1, 100, false), 8..24);
        assert_eq!(bits(5, -2, true), 5..23);
        assert_eq!(bits(i64::MIN, i64::MAX, true), 0..24);
    }
}
