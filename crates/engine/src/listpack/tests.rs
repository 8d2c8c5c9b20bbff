//! Listpacks against a `VecDeque`, against bytes recorded from Redis 7.0, and on bad bytes.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::{Entry, FRONT_SLACK_FROM, Listpack};

fn texts(listpack: &Listpack) -> Vec<Vec<u8>> {
    listpack.iter().map(Entry::to_vec).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// `DUMP` of a Redis 7.0.15 list, its listpack only.
const RECORDED_LIST: &str = "\
    2a0100001e0001017f01c08002dfff02cfff02f1001003d00002f1ffef03f1ff7f03f200800004f1008003f2ff\
    7fff04f2ffff7f04f30000800005f200008004f3ffff7fff05f3ffffff7f05f4000000800000000009f3000000\
    8005f4ffffff7fffffffff09f4ffffffffffffff7f09f400000000000000800993393232333337323033363835\
    34373735383038148568656c6c6f0680018330303704822d3003822b3103bf7878787878787878787878787878\
    787878787878787878787878787878787878787878787878787878787878787878787878787878787878787878\
    7878787840e0407979797979797979797979797979797979797979797979797979797979797979797979797979\
    797979797979797979797979797979797979797979797979797942ff";

/// `DUMP` of a Redis 7.0.15 hash, its listpack only.
const RECORDED_HASH: &str = "320000000800846e616d6505877265646c696e6508847965617205c7e90285656d70\
    7479068001836e656704f290eefe04ff";

#[test]
fn bytes_are_those_of_redis() {
    let long = ["x".repeat(63), "y".repeat(64)];
    let list = [
        "1",
        "127",
        "128",
        "-1",
        "4095",
        "4096",
        "-4096",
        "-4097",
        "32767",
        "32768",
        "-32768",
        "-32769",
        "8388607",
        "8388608",
        "-8388608",
        "-8388609",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "hello",
        "",
        "007",
        "-0",
        "+1",
        &long[0],
        &long[1],
    ];
    let hash = ["name", "redline", "year", "2025", "empty", "", "neg", "-70000"];
    for (values, recorded) in [(&list[..], RECORDED_LIST), (&hash[..], RECORDED_HASH)] {
        let mut listpack = Listpack::new();
        for value in values {
            listpack.push_back(value.as_bytes());
        }
        assert_eq!(listpack.as_bytes(), hex(recorded));
        let read = Listpack::from_bytes(&hex(recorded)).unwrap();
        assert_eq!(texts(&read), values.map_bytes());
    }
}

trait MapBytes {
    fn map_bytes(&self) -> Vec<Vec<u8>>;
}

impl MapBytes for [&str] {
    fn map_bytes(&self) -> Vec<Vec<u8>> {
        self.iter().map(|text| text.as_bytes().to_vec()).collect()
    }
}

#[test]
fn encodings_change_where_redis_changes_them() {
    // (length of a text of 'a', first bytes, last bytes before the end), from Redis 7.0.15.
    let recorded = [
        (63, "bf", "6140"),
        (64, "e040", "6142"),
        (125, "e07d", "617f"),
        (126, "e07e", "610180"),
        (4095, "efff", "612081"),
        (4096, "f000100000", "612085"),
        (16_377, "f0f93f0000", "617ffe"),
        (16_378, "f0fa3f0000", "6100ffff"),
        (16_379, "f0fb3f0000", "61018080"),
        (2_097_145, "f0f9ff1f00", "617ffffe"),
        (2_097_146, "f0faff1f00", "6100ffffff"),
        (2_097_147, "f0fbff1f00", "6101808080"),
    ];
    for (len, head, tail) in recorded {
        let mut listpack = Listpack::new();
        listpack.push_back(vec![b'a'; len].as_slice());
        listpack.push_back(b"end");
        let position = listpack.last().unwrap();
        let before_end = &listpack.as_bytes()[6..position.offset()];
        assert!(before_end.starts_with(&hex(head)), "{len}");
        assert!(before_end.ends_with(&hex(tail)), "{len}");
        let first = listpack.previous(position).unwrap();
        assert_eq!(Some(first), listpack.first());
        assert_eq!(listpack.get(first).text_len(), len);
    }
}

#[test]
fn only_canonical_integers_are_integers() {
    for text in ["", "-", "-0", "+1", "01", "1 ", " 1", "1a", "9223372036854775808"] {
        assert_eq!(Entry::from(text.as_bytes()), Entry::Bytes(text.as_bytes()));
    }
    for value in [0, 7, -7, 10, 99, i64::MAX, i64::MIN] {
        assert_eq!(Entry::from(value.to_string().as_bytes()), Entry::Int(value));
        assert_eq!(Entry::Int(value).text_len(), value.to_string().len());
    }
}

#[test]
fn counts_beyond_the_header_are_found_by_walking() {
    let mut listpack = Listpack::new();
    for value in 0..70_000 {
        listpack.push_back(value);
    }
    assert_eq!(listpack.len(), 70_000);
    assert_eq!(listpack.stated_count(), u16::MAX);
    assert_eq!(listpack.seek(-1).map(|at| listpack.get(at)), Some(Entry::Int(69_999)));
    assert_eq!(listpack.remove_run(listpack.seek(10).unwrap(), 69_000), 69_000);
    assert_eq!(listpack.len(), 1000);
    assert_eq!(listpack.stated_count(), 1000);
}

#[test]
fn slack_stays_within_its_bounds() {
    let mut listpack = Listpack::new();
    for value in 0..2000 {
        listpack.push_front(value);
        assert!(listpack.memory_bytes() <= 16 + listpack.total_bytes() * 5 / 4);
    }
    while let Some(last) = listpack.last() {
        listpack.remove(last);
        assert!(listpack.memory_bytes() <= 16 + listpack.total_bytes() * 5 / 2);
    }
    assert_eq!(listpack.memory_bytes(), 8);
}

#[test]
fn entries_not_in_shortest_form_are_taken_and_encoded_anew() {
    // "7" as a string, 1 as a 16-bit integer.
    let foreign = hex("0e0000000200813702f1010003ff");
    let read = Listpack::from_bytes(&foreign).unwrap();
    assert_eq!(read.iter().collect::<Vec<_>>(), [Entry::Int(7), Entry::Int(1)]);
    assert!(read.find(read.first().unwrap(), b"1", 0).is_some());
}

#[derive(Clone, Debug)]
enum Step {
    PushBack(Vec<u8>),
    PushFront(Vec<u8>),
    InsertBefore(usize, Vec<u8>),
    InsertAfter(usize, Vec<u8>),
    Replace(usize, Vec<u8>),
    Remove(usize),
    RemoveRun(usize, usize),
    PopFront(usize),
    PopBack(usize),
    SplitAndJoin(usize),
    RetainEven,
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => any::<i64>().prop_map(|value| value.to_string().into_bytes()),
        4 => (-5000i64..5000).prop_map(|value| value.to_string().into_bytes()),
        6 => prop::collection::vec(any::<u8>(), 0..20),
        2 => prop::collection::vec(any::<u8>(), 50..200),
        1 => prop::collection::vec(any::<u8>(), 4000..4200),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => value().prop_map(Step::PushBack),
        4 => value().prop_map(Step::PushFront),
        2 => (any::<usize>(), value()).prop_map(|(at, value)| Step::InsertBefore(at, value)),
        2 => (any::<usize>(), value()).prop_map(|(at, value)| Step::InsertAfter(at, value)),
        2 => (any::<usize>(), value()).prop_map(|(at, value)| Step::Replace(at, value)),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => (any::<usize>(), 0usize..8).prop_map(|(at, count)| Step::RemoveRun(at, count)),
        1 => (1usize..5).prop_map(Step::PopFront),
        1 => (1usize..5).prop_map(Step::PopBack),
        1 => any::<usize>().prop_map(Step::SplitAndJoin),
        1 => Just(Step::RetainEven),
    ]
}

fn apply(listpack: &mut Listpack, model: &mut VecDeque<Vec<u8>>, step: Step) {
    let at = |index: usize, model: &VecDeque<Vec<u8>>| index % model.len();
    match step {
        Step::PushBack(value) => {
            listpack.push_back(value.as_slice());
            model.push_back(value);
        }
        Step::PushFront(value) => {
            listpack.push_front(value.as_slice());
            model.push_front(value);
        }
        Step::PopFront(count) => {
            for _ in 0..count.min(model.len()) {
                listpack.remove(listpack.first().unwrap());
                model.pop_front();
            }
        }
        Step::PopBack(count) => {
            for _ in 0..count.min(model.len()) {
                listpack.remove(listpack.last().unwrap());
                model.pop_back();
            }
        }
        Step::RetainEven => {
            let mut index = 0;
            let keep = |_: Entry<'_>| {
                index += 1;
                index % 2 == 1
            };
            assert_eq!(listpack.retain(keep), model.len() / 2);
            let mut index = 0;
            model.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
        _ if model.is_empty() => {}
        Step::InsertBefore(index, value) => {
            let index = at(index, model);
            let position = listpack.seek(index as isize).unwrap();
            let placed = listpack.insert_before(position, value.as_slice());
            assert!(listpack.get(placed).is_text(&value));
            model.insert(index, value);
        }
        Step::InsertAfter(index, value) => {
            let index = at(index, model);
            let position = listpack.seek(index as isize - model.len() as isize).unwrap();
            let placed = listpack.insert_after(position, value.as_slice());
            assert!(listpack.get(placed).is_text(&value));
            model.insert(index + 1, value);
        }
        Step::Replace(index, value) => {
            let index = at(index, model);
            listpack.replace(listpack.seek(index as isize).unwrap(), value.as_slice());
            model[index] = value;
        }
        Step::Remove(index) => {
            let index = at(index, model);
            let next = listpack.remove(listpack.seek(index as isize).unwrap());
            model.remove(index);
            let next = next.map(|next| listpack.get(next).to_vec());
            assert_eq!(next.as_ref(), model.get(index));
        }
        Step::RemoveRun(index, count) => {
            let index = at(index, model);
            let end = model.len().min(index + count);
            let position = listpack.seek(index as isize).unwrap();
            assert_eq!(listpack.remove_run(position, count), end - index);
            model.drain(index..end);
        }
        Step::SplitAndJoin(index) => {
            let index = at(index, model);
            let tail = listpack.split_off(listpack.seek(index as isize).unwrap());
            assert_eq!((listpack.len(), tail.len()), (index, model.len() - index));
            listpack.append(&tail);
        }
    }
}

fn check(listpack: &Listpack, model: &VecDeque<Vec<u8>>) {
    assert_eq!(listpack.len(), model.len());
    assert_eq!(listpack.is_empty(), model.is_empty());
    assert!(listpack.iter().map(Entry::to_vec).eq(model.iter().cloned()));
    assert!(listpack.iter().rev().map(Entry::to_vec).eq(model.iter().rev().cloned()));
    let rebuilt = Listpack::from_bytes(listpack.as_bytes()).expect("own bytes are valid");
    assert_eq!(&rebuilt, listpack);
    for skip in [0, 1, 2] {
        let Some(wanted) = model.iter().step_by(skip + 1).next_back() else { continue };
        let found = listpack.find(listpack.first().unwrap(), wanted, skip).unwrap();
        assert!(listpack.get(found).is_text(wanted));
    }
    assert!(listpack.memory_bytes() <= 16 + listpack.total_bytes() * 5 / 2);
}

proptest! {
    #[test]
    fn behaves_as_a_deque(steps in prop::collection::vec(step(), 1..120)) {
        let (mut listpack, mut model) = (Listpack::new(), VecDeque::new());
        for step in steps {
            apply(&mut listpack, &mut model, step);
            check(&listpack, &model);
        }
        listpack.shrink_to_fit();
        check(&listpack, &model);
    }

    /// Long runs at the ends, where slack moves between front and back.
    #[test]
    fn behaves_as_a_queue(
        runs in prop::collection::vec((any::<bool>(), any::<bool>(), 1usize..400), 1..12),
    ) {
        let (mut listpack, mut model) = (Listpack::new(), VecDeque::new());
        let mut next = 0i64;
        for (push, front, count) in runs {
            for _ in 0..count {
                next += 1;
                let text = next.to_string().into_bytes();
                let step = match (push, front) {
                    (true, true) => Step::PushFront(text),
                    (true, false) => Step::PushBack(text),
                    (false, true) => Step::PopFront(1),
                    (false, false) => Step::PopBack(1),
                };
                apply(&mut listpack, &mut model, step);
            }
            check(&listpack, &model);
        }
    }

    #[test]
    fn foreign_bytes_are_refused_or_read(
        mut bytes in prop::collection::vec(any::<u8>(), 0..64),
        honest_header in any::<bool>(),
    ) {
        if honest_header && bytes.len() > 6 {
            let total = bytes.len() as u32;
            bytes[..4].copy_from_slice(&total.to_le_bytes());
            bytes[4..6].copy_from_slice(&u16::MAX.to_le_bytes());
            *bytes.last_mut().unwrap() = 0xFF;
        }
        if let Ok(listpack) = Listpack::from_bytes(&bytes) {
            prop_assert_eq!(listpack.iter().count(), listpack.iter().rev().count());
        }
    }

    #[test]
    fn one_changed_byte_never_panics(
        values in prop::collection::vec(value(), 1..20),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut listpack = Listpack::new();
        values.iter().for_each(|value| listpack.push_back(value.as_slice()));
        let mut bytes = listpack.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(read) = Listpack::from_bytes(&bytes) {
            prop_assert_eq!(texts(&read).len(), read.len());
        }
    }
}

#[test]
fn work_at_the_head_of_a_large_listpack_moves_little() {
    let mut listpack = Listpack::new();
    while listpack.total_bytes() < FRONT_SLACK_FROM * 16 {
        listpack.push_back(b"some element");
    }
    let mut moved = 0;
    for _ in 0..1000 {
        let before = listpack.buffer.as_ptr();
        listpack.push_front(b"job");
        listpack.remove(listpack.last().unwrap());
        moved += usize::from(listpack.buffer.as_ptr() != before);
    }
    assert!(moved < 100, "{moved} of 1000 rounds moved the whole buffer");
}
