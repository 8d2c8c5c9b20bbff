//! Commands on objects: the bytes they render to, in each protocol.

use super::*;
use crate::distribution::Turn;
use crate::plan::CommandText;
use crate::plan::Placeholders;
use crate::plan::objects::WeightedSize;
use crate::template::{Scratch, Template};

fn objects() -> Objects {
    Objects {
        key_prefix: "k-".into(),
        key_minimum: 1,
        key_maximum: 10,
        value_size: ValueSize::Fixed { bytes: 3 },
        ..Objects::default()
    }
}

fn template(objects: &Objects, protocol: Protocol, command: CommandText) -> Template {
    let source = Arc::new(ObjectSource::new(objects, protocol));
    Template::compile_with(&[command], &Placeholders::default(), &source).unwrap()
}

/// The first commands of an only connection.
fn rendered(template: &Template, count: u64) -> Vec<String> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut scratch = Scratch::default();
    (0..count)
        .map(|turn| {
            let mut out = Vec::new();
            template.render(&mut random, turn, &mut scratch, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        })
        .collect()
}

fn store(keys: KeyPattern) -> CommandText {
    CommandText::Store(Store { keys, ..Store::default() })
}

fn fetch(keys: KeyPattern, count: u32) -> CommandText {
    CommandText::Fetch(Fetch { keys, count, ..Fetch::default() })
}

#[test]
fn each_protocol_has_its_words() {
    use KeyPattern::Sequential;
    let expiry = CommandText::Store(Store {
        keys: Sequential,
        expiry_s: Some(NumberRange { least: 7, most: 7 }),
        offset: 0,
    });
    let offset = CommandText::Store(Store { keys: Sequential, expiry_s: None, offset: 5 });
    let part = CommandText::Fetch(Fetch { keys: Sequential, offset: 5, ..Fetch::default() });
    for (protocol, command, bytes) in [
        (Protocol::Resp2, store(Sequential), "*3\r\n$3\r\nSET\r\n$3\r\nk-1\r\n$3\r\nxxx\r\n"),
        (
            Protocol::Resp3,
            expiry.clone(),
            "*4\r\n$5\r\nSETEX\r\n$3\r\nk-1\r\n$1\r\n7\r\n$3\r\nxxx\r\n",
        ),
        (Protocol::Resp2, offset, "*4\r\n$8\r\nSETRANGE\r\n$3\r\nk-1\r\n$1\r\n5\r\n$3\r\nxxx\r\n"),
        (Protocol::Resp2, part, "*4\r\n$8\r\nGETRANGE\r\n$3\r\nk-1\r\n$1\r\n5\r\n$1\r\n8\r\n"),
        (Protocol::Resp2, fetch(Sequential, 1), "*2\r\n$3\r\nGET\r\n$3\r\nk-1\r\n"),
        (Protocol::Resp2, fetch(Sequential, 2), "*3\r\n$4\r\nMGET\r\n$3\r\nk-1\r\n$3\r\nk-2\r\n"),
        (Protocol::MemcacheText, expiry.clone(), "set k-1 0 7 3\r\nxxx\r\n"),
        (Protocol::MemcacheText, fetch(Sequential, 3), "get k-1 k-2 k-3\r\n"),
        (Protocol::MemcacheMeta, expiry, "ms k-1 3 T7\r\nxxx\r\n"),
        (Protocol::MemcacheMeta, fetch(Sequential, 1), "mg k-1 v\r\n"),
        (Protocol::MemcacheMeta, fetch(Sequential, 2), "mg k-1 v q O1\r\nmg k-2 v q O1\r\nmn\r\n"),
    ] {
        let template = template(&objects(), protocol, command);
        assert_eq!(rendered(&template, 1), [bytes], "{protocol:?}");
    }
    let binary = template(&objects(), Protocol::MemcacheBinary, store(Sequential));
    let mut out = Vec::new();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    binary.render(&mut random, 0, &mut Scratch::default(), &mut out);
    // Magic, opcode, key length, extras, body length: the frame of the protocol's specification.
    assert_eq!(out[..12], [0x80, 1, 0, 3, 8, 0, 0, 0, 0, 0, 0, 14]);
    assert_eq!(out[24..], *b"\0\0\0\0\0\0\0\0k-1xxx");
}

#[test]
fn patterns_choose_keys_within_the_range_both_ends_included() {
    let numbers = |keys, count| -> Vec<u64> {
        rendered(&template(&objects(), Protocol::Resp2, fetch(keys, 1)), count)
            .iter()
            .map(|text| text.trim_end().rsplit('-').next().unwrap().parse().unwrap())
            .collect()
    };
    assert_eq!(numbers(KeyPattern::Sequential, 12), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2]);
    for keys in [
        KeyPattern::Random,
        KeyPattern::Gaussian { deviation: None, median: None },
        KeyPattern::Zipf { exponent: 1.0 },
    ] {
        let drawn = numbers(keys, 20_000);
        let (least, most) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
        assert_eq!((*least, *most), (1, 10), "{keys:?}");
    }
    let zipf = numbers(KeyPattern::Zipf { exponent: 1.0 }, 20_000);
    let share = |key: u64| zipf.iter().filter(|drawn| **drawn == key).count();
    assert!(share(1) > share(2) && share(2) > share(5) && share(5) > share(10));
}

#[test]
fn a_parallel_pattern_meets_every_key_once_over_all_connections() {
    let template = template(&objects(), Protocol::Resp2, fetch(KeyPattern::Parallel, 1));
    assert!(template.has_sequence());
    let mut met = Vec::new();
    for index in 0..5 {
        for own in 0..2 {
            let mut out = Vec::new();
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            let turn = Turn { own, index, connections: 5 };
            template.render(&mut random, turn, &mut Scratch::default(), &mut out);
            let text = String::from_utf8(out).unwrap();
            met.push(text.trim_end().rsplit('-').next().unwrap().parse::<u64>().unwrap());
        }
    }
    met.sort_unstable();
    assert_eq!(met, (1..=10).collect::<Vec<_>>());
}

#[test]
fn several_keys_of_one_command_are_neighbours_in_a_sequence_and_may_have_affixes() {
    let arguments = ["MSET", "__key__", "__data__", "h:{__key__}", "v"].map(Into::into);
    let command = ObjectCommand::parse(&arguments, KeyPattern::Sequential);
    let template = template(&objects(), Protocol::Resp2, CommandText::Objects(command));
    let sent = rendered(&template, 2);
    assert_eq!(
        sent[0],
        "*5\r\n$4\r\nMSET\r\n$3\r\nk-1\r\n$3\r\nxxx\r\n$7\r\nh:{k-2}\r\n$1\r\nv\r\n"
    );
    assert!(sent[1].contains("k-3") && sent[1].contains("{k-4}"));
}

#[test]
fn sizes_are_fixed_drawn_or_follow_the_key() {
    let lengths = |value_size| -> Vec<usize> {
        let objects = Objects { value_size, ..objects() };
        rendered(&template(&objects, Protocol::Resp2, store(KeyPattern::Sequential)), 1_000)
            .iter()
            .map(|text| text.chars().filter(|letter| *letter == 'x').count())
            .collect()
    };
    let range = lengths(ValueSize::Range { least: 2, most: 4 });
    assert!(
        (2..=4).all(|length| range.contains(&length))
            && range.iter().all(|at| (2..=4).contains(at))
    );
    let spread = lengths(ValueSize::Spread { least: 10, most: 100 });
    assert_eq!(spread[..10], [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    let list = vec![WeightedSize { bytes: 1, weight: 1 }, WeightedSize { bytes: 9, weight: 3 }];
    let listed = lengths(ValueSize::List(list));
    let nines = listed.iter().filter(|length| **length == 9).count();
    assert!((680..820).contains(&nines) && listed.iter().all(|at| [1, 9].contains(at)), "{nines}");
}

#[test]
fn random_values_differ_and_have_their_length() {
    let objects = Objects {
        value_content: ValueContent::Random,
        value_size: ValueSize::Fixed { bytes: 64 },
        ..objects()
    };
    let source = ObjectSource::new(&objects, Protocol::Resp2);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut values: Vec<Vec<u8>> = (0..1_000)
        .map(|_| {
            let mut out = Vec::new();
            source.append_value(64, None, &mut random, &mut out);
            out
        })
        .collect();
    assert!(values.iter().all(|value| value.len() == 64));
    values.sort();
    values.dedup();
    assert_eq!(values.len(), 1_000);
}

#[test]
fn imported_items_are_written_with_their_keys_expiry_and_flags() {
    let item = |key: &str, value: &str, expiry_s, flags| ImportedItem {
        key: key.into(),
        value: value.into(),
        expiry_s,
        flags,
    };
    let mut objects =
        Objects { imported: vec![item("a", "1", 0, 3), item("b", "22", 60, 0)], ..objects() };
    let sequential = || store(KeyPattern::Sequential);
    let redis = template(&objects, Protocol::Resp2, sequential());
    assert_eq!(
        rendered(&redis, 3),
        [
            "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n",
            "*4\r\n$5\r\nSETEX\r\n$1\r\nb\r\n$2\r\n60\r\n$2\r\n22\r\n",
            "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n",
        ]
    );
    let memcached = template(&objects, Protocol::MemcacheText, sequential());
    assert_eq!(rendered(&memcached, 2), ["set a 3 0 1\r\n1\r\n", "set b 0 60 2\r\n22\r\n"]);

    objects.generate_keys = true;
    let generated = template(&objects, Protocol::MemcacheText, sequential());
    assert_eq!(rendered(&generated, 2), ["set k-1 3 0 1\r\n1\r\n", "set k-2 0 60 2\r\n22\r\n"]);
}
