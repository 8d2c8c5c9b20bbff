//! Where real servers differ among themselves. Ours follows the newest documented Redis, so what an
//! older or another server answers differently is listed here, with the reason, and not reported.

use super::generate::Step;
use crate::client::Client;
use crate::reply::Value;
use std::io;

/// The real servers that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// Redis 7.0, as Debian has it.
    Redis70,
    /// A newer Redis.
    Redis,
    /// Valkey.
    Valkey,
}

impl Reference {
    /// Which one `client` is connected to.
    pub fn of(client: &mut Client) -> io::Result<Self> {
        let info = client.command(&["INFO", "server"])?;
        if info.info_field("valkey_version").is_some() {
            return Ok(Reference::Valkey);
        }
        let version = info.info_field("redis_version").unwrap_or_default();
        let old = version.starts_with("7.0") || version.starts_with("6.");
        Ok(if old { Reference::Redis70 } else { Reference::Redis })
    }
}

/// What follows from a listed difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The servers hold the same still: go on.
    Same,
    /// The servers may hold different things now: this round has nothing more to say.
    Parted,
}

/// A difference that is known and right.
struct Known {
    reference: Reference,
    /// Upper case, any command if empty.
    command: &'static str,
    /// What else must hold of the command.
    when: fn(&Step) -> bool,
    /// How the displayed reply of the real server begins.
    theirs: &'static str,
    /// How the displayed reply of ours begins.
    ours: &'static str,
    verdict: Verdict,
}

const fn known_of_70(
    command: &'static str,
    theirs: &'static str,
    ours: &'static str,
    verdict: Verdict,
) -> Known {
    Known { reference: Reference::Redis70, command, when: always, theirs, ours, verdict }
}

const RANGE_MESSAGE: &str = "(error) ERR value is out of range, value must between -";
const SCORE_MESSAGE: &str = "(error) ERR min or max is not a float";
const WEIGHT_MESSAGE: &str = "(error) ERR weight value is not a float";
const NOT_QUEUED: &str = "(error) ERR Command '";
const FLOAT_MESSAGE: &str = "(error) ERR value is not a valid float";

/// Each group has its reason above it.
const KNOWN: [Known; 29] = [
    // Options are checked before the key is looked up, since 7.2.
    known_of_70("GETEX", "", "(error) ERR", Verdict::Same),
    // So are the ends of a range of bits.
    known_of_70("BITCOUNT", "(integer)", "(error) ERR", Verdict::Same),
    known_of_70("BITCOUNT", "(error) WRONGTYPE", "(error) ERR", Verdict::Same),
    known_of_70("BITPOS", "(integer)", "(error) ERR", Verdict::Same),
    known_of_70("BITPOS", "(error) WRONGTYPE", "(error) ERR", Verdict::Same),
    // Valkey 9.1 takes a range of bits without an end.
    known_of_valkey("BITCOUNT", always, "", "(error) ERR syntax error", Verdict::Same),
    // The smallest integer has no counterpart above zero, and is refused since 7.2.
    known_of_70("LREM", "", RANGE_MESSAGE, Verdict::Parted),
    known_of_70("LPOS", "", RANGE_MESSAGE, Verdict::Same),
    // WITHSCORE came with 7.2.
    known_of_70("ZRANK", "(error) ERR wrong number", "(error) ERR syntax error", Verdict::Same),
    known_of_70("ZREVRANK", "(error) ERR wrong number", "(error) ERR syntax error", Verdict::Same),
    // An unknown type was a type without keys.
    known_of_70("SCAN", "(empty array)", "(error) ERR unknown type name", Verdict::Same),
    // `+` as "the last entry" came with 7.4, and the message names the command since 7.2.
    Known { when: has_plus, ..known_of_70("XREAD", "", "", Verdict::Same) },
    known_of_70("XREAD", "(error) ERR Unbalanced", "(error) ERR Unbalanced", Verdict::Same),
    // Floats were read by `strtod`, which takes hexadecimal and leading space.
    Known { when: has_odd_float, ..known_of_70("", "", SCORE_MESSAGE, Verdict::Parted) },
    Known { when: has_odd_float, ..known_of_70("", "", FLOAT_MESSAGE, Verdict::Parted) },
    Known { when: has_odd_float, ..known_of_70("", "", WEIGHT_MESSAGE, Verdict::Parted) },
    // Compact sets and lists came with 7.2, and so did deciding by the number of arguments.
    known_of_70("OBJECT", "\"quicklist\"", "\"listpack\"", Verdict::Same),
    known_of_70("OBJECT", "\"hashtable\"", "\"listpack\"", Verdict::Same),
    known_of_70("OBJECT", "\"intset\"", "\"hashtable\"", Verdict::Same),
    known_of_70("OBJECT", "\"listpack\"", "", Verdict::Same),
    // Valkey embeds strings of up to 64 bytes with their key; Redis stays at 44.
    known_of_valkey("OBJECT", always, "\"embstr\"", "\"raw\"", Verdict::Same),
    // ZADD leaves the compact encoding for any long member among its arguments in Valkey 9.1, added or
    // not, in Redis for one that it adds; and ZSCAN prints the scores of a large set with 17 digits.
    known_of_valkey("OBJECT", always, "\"skiplist\"", "\"listpack\"", Verdict::Same),
    known_of_valkey("ZSCAN", always, "1)", "1)", Verdict::Same),
    known_of_valkey("ZSCAN", always, " 1)", " 1)", Verdict::Same),
    // In Valkey these two break the transaction within which they stand; in Redis they are refused.
    known_of_valkey("MULTI", always, NOT_QUEUED, "(error) ERR MULTI calls", Verdict::Parted),
    known_of_valkey("WATCH", always, NOT_QUEUED, "(error) ERR WATCH inside", Verdict::Parted),
    // Valkey 9.1 cuts a list index to 32 bits.
    known_of_valkey("LSET", always, "OK", "(error) ERR index out of range", Verdict::Parted),
    // Valkey 9.1 reads a client name up to its first zero byte.
    known_of_valkey("CLIENT", has_zero_byte, "OK", "(error) ERR Client names", Verdict::Parted),
    // Valkey 9.1 counts a negative offset from the other end of the range; in Redis it leaves nothing.
    known_of_valkey("", has_negative_offset, "", "", Verdict::Parted),
];

const fn known_of_valkey(
    command: &'static str,
    when: fn(&Step) -> bool,
    theirs: &'static str,
    ours: &'static str,
    verdict: Verdict,
) -> Known {
    Known { reference: Reference::Valkey, command, when, theirs, ours, verdict }
}

fn always(_: &Step) -> bool {
    true
}

fn has_plus(step: &Step) -> bool {
    step.arguments.iter().any(|argument| argument == b"+")
}

fn has_zero_byte(step: &Step) -> bool {
    step.arguments.iter().any(|argument| argument.contains(&0))
}

fn has_odd_float(step: &Step) -> bool {
    step.arguments.iter().any(|argument| {
        let bare = argument.strip_prefix(b"(").unwrap_or(argument);
        bare.starts_with(b"0x") || bare.starts_with(b" ") || bare.is_empty()
    })
}

fn has_negative_offset(step: &Step) -> bool {
    let words: Vec<&[u8]> = step.arguments.iter().map(Vec::as_slice).collect();
    step.name().starts_with('Z')
        && words.windows(2).any(|pair| pair[0] == b"LIMIT" && pair[1].starts_with(b"-"))
}

/// Whether the difference between two replies is known and right.
pub fn known(reference: Reference, step: &Step, theirs: &Value, ours: &Value) -> Option<Verdict> {
    let same = if reference == Reference::Redis70 { is_longer_form } else { is_other_zero };
    if same_numbers(theirs, ours, same) {
        return Some(Verdict::Same);
    }
    if step.rule.is_scan() && step.scan_cursor() != Some(b"0") {
        // A cursor means something to the server that gave it only.
        return Some(Verdict::Same);
    }
    let name = step.name();
    let (theirs, ours) = (theirs.to_string(), ours.to_string());
    let row = KNOWN.iter().find(|row| {
        row.reference == reference
            && (row.command.is_empty() || name == row.command)
            && theirs.starts_with(row.theirs)
            && ours.starts_with(row.ours)
            && (row.when)(step)
    })?;
    Some(row.verdict)
}

/// Whether all but numbers is the same, and the texts of numbers are the same by `same`.
fn same_numbers(theirs: &Value, ours: &Value, same: fn(&[u8], &[u8]) -> bool) -> bool {
    match (theirs, ours) {
        (Value::Array(theirs), Value::Array(ours)) => {
            let mut pairs = theirs.iter().zip(ours);
            theirs.len() == ours.len() && pairs.all(|(one, other)| same_numbers(one, other, same))
        }
        (Value::Bulk(theirs), Value::Bulk(ours)) | (Value::Double(theirs), Value::Double(ours)) => {
            theirs == ours || same(theirs, ours)
        }
        _ => theirs == ours,
    }
}

/// Redis 7.0 prints scores with 17 digits, newer ones with the fewest that read back as the same
/// number, which may still be longer for being with an exponent.
fn is_longer_form(theirs: &[u8], ours: &[u8]) -> bool {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<f64>().ok();
    let is_long = theirs.len() > 16;
    is_other_zero(theirs, ours) || (is_long && number(theirs) == number(ours))
}

/// A compact sorted set of an older server keeps a score of minus zero as zero.
fn is_other_zero(theirs: &[u8], ours: &[u8]) -> bool {
    let is_zero = |text: &[u8]| text == b"0" || text == b"-0";
    is_zero(theirs) && is_zero(ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::judge::Rule;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.as_bytes().to_vec())
    }

    #[test]
    fn numbers_may_be_printed_longer_by_the_old_server_only() {
        let step = Step::of(&[b"ZSCORE", b"z", b"m"], Rule::Exact);
        let judge = |reference, theirs: &str, ours: &str| {
            known(reference, &step, &bulk(theirs), &bulk(ours)).is_some()
        };
        assert!(judge(Reference::Redis70, "0.10000000000000001", "0.1"));
        assert!(judge(Reference::Redis70, "100000.12345678901", "1.00000123456789e+5"));
        assert!(!judge(Reference::Redis70, "0.1", "0.10000000000000001"));
        assert!(!judge(Reference::Redis70, "0.10000000000000002", "0.1"));
        assert!(!judge(Reference::Valkey, "0.10000000000000001", "0.1"));
    }

    #[test]
    fn a_row_holds_for_its_command_and_server_only() {
        let getex = Step::of(&[b"getex", b"k", b"PX", b"0"], Rule::Exact);
        let get = Step::of(&[b"GET", b"k"], Rule::Exact);
        let error = Value::Error(b"ERR invalid expire time".to_vec());
        assert!(known(Reference::Redis70, &getex, &Value::NullBulk, &error).is_some());
        assert!(known(Reference::Valkey, &getex, &Value::NullBulk, &error).is_none());
        assert!(known(Reference::Redis70, &get, &Value::NullBulk, &error).is_none());
    }
}
