//! The kinds of arguments that grammars name, each a pool with its edges.

use super::super::generate::Random;
use super::{FOREIGN, Family};

type Produce = fn(&Family, &mut Random) -> Vec<u8>;

/// Name and producer of every kind.
const KINDS: [(&str, Produce); 25] = [
    ("key", |family, random| if random.chance(6) { foreign(random) } else { own(family, random) }),
    ("any", |family, random| if random.chance(50) { foreign(random) } else { own(family, random) }),
    ("lexkey", |_, random| text(random, &["lex:0", "lex:1", "lex:2"])),
    ("value", |_, random| value(random)),
    ("element", |_, random| if random.chance(70) { small(random) } else { value(random) }),
    ("member", |_, random| if random.chance(80) { small(random) } else { value(random) }),
    ("field", |_, random| if random.chance(80) { small(random) } else { value(random) }),
    ("integer", |_, random| integer(random)),
    ("float", |_, random| float(random)),
    ("score", |_, random| score(random)),
    ("score_bound", |_, random| score_bound(random)),
    ("lex_bound", |_, random| lex_bound(random)),
    ("index", |_, random| index(random)),
    ("offset", |_, random| text(random, &["0", "1", "5", "30", "100", "-1", "536870912"])),
    ("count", |_, random| text(random, &["0", "1", "2", "3", "5", "10", "100", "-1", "-3"])),
    ("limit", |_, random| text(random, &["0", "1", "2", "5", "50"])),
    ("keys_number", |_, random| text(random, &["1", "2", "2", "2", "3", "0", "-1"])),
    ("weight", |_, random| text(random, &["0", "1", "2", "-1", "0.5", "inf", "x"])),
    ("pattern", |_, random| {
        text(random, &["*", "?*", "*:*", "a*", "[ab]*", "*[^0-9]", "none", "\\*", "*1"])
    }),
    ("ttl", |_, random| time(random, 1)),
    ("ttl_ms", |_, random| time(random, 1000)),
    ("at", |_, random| moment(random, 1)),
    ("at_ms", |_, random| moment(random, 1000)),
    ("new_id", |_, random| new_id(random)),
    ("id", |_, random| id(random)),
];

/// Whether `kind` has a producer.
pub fn is_known(kind: &str) -> bool {
    KINDS.iter().any(|(name, _)| *name == kind)
}

/// An argument of `kind`. Panics on an unknown one; a test reads every grammar.
pub fn produce(kind: &str, family: &Family, random: &mut Random) -> Vec<u8> {
    let found = KINDS.iter().find(|(name, _)| *name == kind);
    let (_, produce) = found.expect("grammars name known kinds");
    produce(family, random)
}

fn text(random: &mut Random, pool: &[&str]) -> Vec<u8> {
    random.pick(pool).as_bytes().to_vec()
}

fn own(family: &Family, random: &mut Random) -> Vec<u8> {
    text(random, family.keys)
}

/// A key of any type, or one that never exists.
fn foreign(random: &mut Random) -> Vec<u8> {
    if random.chance(10) {
        return b"missing".to_vec();
    }
    let command = random.pick(&FOREIGN);
    let key = command.split(' ').nth(1).expect("each sets a key");
    key.as_bytes().to_vec()
}

fn small(random: &mut Random) -> Vec<u8> {
    match random.below(3) {
        0 => random.below(8).to_string().into_bytes(),
        _ => vec![b'a' + random.below(8) as u8],
    }
}

/// Integers, short and long texts, binary, and lengths next to the limits of encodings: 20 and 44
/// bytes for strings, 64 for elements of small collections.
fn value(random: &mut Random) -> Vec<u8> {
    match random.below(12) {
        0..=3 => integer(random),
        4 => float(random),
        5 => Vec::new(),
        6 => b"\x00\xff\r\n \"\\\x80".to_vec(),
        7 => {
            let length = *random.pick(&[19, 20, 21, 43, 44, 45, 63, 64, 65, 128, 1000]);
            let letter = b'a' + random.below(3) as u8;
            vec![letter; length]
        }
        _ => {
            let words = ["hello", "world", "Hello World", "foo", "bar", "ab", "\u{e9}\u{4e16}"];
            text(random, &words)
        }
    }
}

fn integer(random: &mut Random) -> Vec<u8> {
    let edges = [
        i64::MAX,
        i64::MIN,
        i64::MAX - 1,
        i64::from(i32::MAX),
        i64::from(i32::MAX) + 1,
        i64::from(i16::MIN),
        127,
        128,
        4095,
        4096,
        9999,
        10000,
    ];
    let number =
        if random.chance(20) { *random.pick(&edges) } else { random.below(30) as i64 - 10 };
    number.to_string().into_bytes()
}

fn float(random: &mut Random) -> Vec<u8> {
    let pool = [
        "0.1",
        "0.2",
        "-0.5",
        "1.5",
        "3",
        "10.25",
        "1e3",
        "2.5e-3",
        "-1e-10",
        "123456789.123456789",
        "5.0e3",
        "1e17",
        "0.30000000000000004",
        "inf",
        "-inf",
        "nan",
        "1.0000000000000002",
        "100000000000000000000",
    ];
    text(random, &pool)
}

fn score(random: &mut Random) -> Vec<u8> {
    if random.chance(60) {
        return (random.below(12) as i64 - 3).to_string().into_bytes();
    }
    let pool = [
        "0.1",
        "1.5",
        "-2.25",
        "inf",
        "-inf",
        "+inf",
        "nan",
        "1e20",
        "1e-5",
        "3.0",
        "0",
        "-0",
        "1e300",
        "123456789012345678",
        "0.1234567890123456789",
        "1e5",
        "abc",
        "17",
        "4503599627370497.5",
    ];
    text(random, &pool)
}

fn score_bound(random: &mut Random) -> Vec<u8> {
    let bound = score(random);
    if random.chance(25) { [b"(".as_slice(), &bound].concat() } else { bound }
}

fn lex_bound(random: &mut Random) -> Vec<u8> {
    match random.below(8) {
        0 | 1 => b"-".to_vec(),
        2 | 3 => b"+".to_vec(),
        4 | 5 => [b"[".as_slice(), &small(random)].concat(),
        6 => [b"(".as_slice(), &small(random)].concat(),
        _ => small(random),
    }
}

fn index(random: &mut Random) -> Vec<u8> {
    if random.chance(5) {
        return text(random, &["9223372036854775807", "-9223372036854775808", "100", "-100", "x"]);
    }
    (random.below(14) as i64 - 7).to_string().into_bytes()
}

/// A time to live. Either far away, so that no key expires while two servers are asked one after the
/// other, or gone at once.
fn time(random: &mut Random, per_second: u64) -> Vec<u8> {
    if random.chance(12) {
        return text(
            random,
            &["0", "-1", "-100", "9223372036854775807", "9223372036854775", "x", "1.5"],
        );
    }
    ((1_000 + random.below(1_000_000)) * per_second).to_string().into_bytes()
}

/// A moment in Unix time: in the year 2065 or after, long past, or no moment.
fn moment(random: &mut Random, per_second: u64) -> Vec<u8> {
    if random.chance(15) {
        return text(random, &["0", "-1", "1", "1000000000", "9223372036854775807", "x"]);
    }
    ((3_000_000_000 + random.below(1_000_000_000)) * per_second).to_string().into_bytes()
}

fn new_id(random: &mut Random) -> Vec<u8> {
    if random.chance(20) {
        return id(random);
    }
    random.stream_ms += random.below(2);
    let sequence = random.below(4);
    match random.below(3) {
        0 => format!("{}-*", random.stream_ms),
        1 => format!("{}-{sequence}", random.stream_ms),
        _ => {
            random.stream_ms += 1;
            random.stream_ms.to_string()
        }
    }
    .into_bytes()
}

fn id(random: &mut Random) -> Vec<u8> {
    match random.below(10) {
        0 | 1 => b"-".to_vec(),
        2 | 3 => b"+".to_vec(),
        4 => {
            let pool = [
                "0-0",
                "0",
                "18446744073709551615-18446744073709551615",
                "18446744073709551616",
                "1-",
                "-5",
                "1-1-1",
                "(-",
                "(5-0",
                "(18446744073709551615-18446744073709551615",
            ];
            text(random, &pool)
        }
        5 => format!("({}", below_now(random, 1)).into_bytes(),
        6 => below_now(random, 2).to_string().into_bytes(),
        _ => format!("{}-{}", below_now(random, 1), random.below(3)).into_bytes(),
    }
}

/// A millisecond up to `beyond` minus one after the newest that was used.
fn below_now(random: &mut Random, beyond: u64) -> u64 {
    let limit = random.stream_ms + beyond;
    random.below(limit)
}
