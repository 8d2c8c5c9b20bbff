//! Lists against a `VecDeque`, and the encodings at the edges where Redis changes them.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::{List, Place, Side, clamp_range};
use crate::limits::Limits;
use crate::listpack::Entry;

fn limits(list_max_listpack_size: i32) -> Limits {
    Limits { list_max_listpack_size, ..Limits::default() }
}

#[derive(Clone, Debug)]
enum Step {
    Push(Side, usize, Vec<u8>),
    Pop(Side, usize),
    Set(i64, Vec<u8>),
    Insert(Place, usize, Vec<u8>),
    Remove(i64, usize),
    Trim(i64, i64),
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0i64..30).prop_map(|value| value.to_string().into_bytes()),
        4 => prop::collection::vec(any::<u8>(), 0..40),
        2 => (400usize..1500).prop_map(|len| vec![b'm'; len]),
        1 => (8000usize..9000).prop_map(|len| vec![b'l'; len]),
    ]
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Left), Just(Side::Right)]
}

fn step() -> impl Strategy<Value = Step> {
    let place = prop_oneof![Just(Place::Before), Just(Place::After)];
    prop_oneof![
        6 => (side(), 1usize..40, value()).prop_map(|(side, n, value)| Step::Push(side, n, value)),
        3 => (side(), 1usize..30).prop_map(|(side, count)| Step::Pop(side, count)),
        3 => (-90i64..90, value()).prop_map(|(index, value)| Step::Set(index, value)),
        4 => (place, any::<usize>(), value()).prop_map(|(at, n, value)| Step::Insert(at, n, value)),
        2 => (-4i64..5, any::<usize>()).prop_map(|(count, index)| Step::Remove(count, index)),
        1 => (-90i64..20, -20i64..90).prop_map(|(start, stop)| Step::Trim(start, stop)),
    ]
}

fn apply(list: &mut List, model: &mut VecDeque<Vec<u8>>, limits: &Limits, step: Step) {
    match step {
        Step::Push(side, count, value) => {
            for _ in 0..count {
                list.push(limits, side, &value);
                match side {
                    Side::Left => model.push_front(value.clone()),
                    Side::Right => model.push_back(value.clone()),
                }
            }
        }
        Step::Pop(side, count) => {
            for _ in 0..count {
                let expected = match side {
                    Side::Left => model.pop_front(),
                    Side::Right => model.pop_back(),
                };
                assert_eq!(list.pop(limits, side), expected);
            }
        }
        Step::Set(index, value) => {
            let absolute = if index < 0 { index + model.len() as i64 } else { index };
            let slot = usize::try_from(absolute).ok().and_then(|index| model.get_mut(index));
            assert_eq!(list.set(limits, index, &value), slot.is_some());
            if let Some(slot) = slot {
                *slot = value;
            }
        }
        Step::Insert(place, index, value) => {
            let pivot = match model.len() {
                0 => b"absent".to_vec(),
                len => model[index % len].clone(),
            };
            let found = model.iter().position(|element| *element == pivot);
            assert_eq!(list.insert(limits, place, &pivot, &value), found.is_some());
            if let Some(found) = found {
                model.insert(found + usize::from(place == Place::After), value);
            }
        }
        Step::Remove(count, index) => {
            let value = match model.len() {
                0 => b"absent".to_vec(),
                len => model[index % len].clone(),
            };
            assert_eq!(list.remove(limits, count, &value), model_remove(model, count, &value));
        }
        Step::Trim(start, stop) => {
            let kept = list.clamp(start, stop);
            list.trim(limits, kept.clone());
            *model = model.drain(kept).collect();
        }
    }
}

fn model_remove(model: &mut VecDeque<Vec<u8>>, count: i64, value: &[u8]) -> usize {
    let mut matches: Vec<usize> = (0..model.len()).filter(|&index| model[index] == value).collect();
    if count < 0 {
        matches.reverse();
    }
    if count != 0 {
        matches.truncate(count.unsigned_abs() as usize);
    }
    matches.sort_unstable();
    for &index in matches.iter().rev() {
        model.remove(index);
    }
    matches.len()
}

fn check(list: &List, model: &VecDeque<Vec<u8>>) {
    assert_eq!(list.len(), model.len());
    assert!(list.iter().map(Entry::to_vec).eq(model.iter().cloned()));
    assert!(list.iter().rev().map(Entry::to_vec).eq(model.iter().rev().cloned()));
    for index in [0, 1, 7, model.len() / 2, model.len().saturating_sub(2)] {
        assert_eq!(list.get(index as i64).map(Entry::to_vec).as_ref(), model.get(index));
        let from_end = list.get(-(index as i64) - 1).map(Entry::to_vec);
        assert_eq!(from_end.as_ref(), model.iter().rev().nth(index));
        let range = list.clamp(index as i64, index as i64 + 40);
        let mut seen = Vec::new();
        list.for_range(range.clone(), |entry| seen.push(entry.to_vec()));
        assert!(model.range(range).eq(seen.iter()));
    }
    if let Some(value) = model.get(model.len() / 2) {
        let forward = (0..model.len()).filter(|&index| model[index] == *value);
        assert!(list.positions(value, 1, usize::MAX).eq(forward.clone()));
        assert!(list.positions(value, -2, usize::MAX).eq(forward.rev().skip(1)));
        assert!(list.positions(value, 2, 10).all(|index| index < 10));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn behaves_as_a_deque(
        size in prop_oneof![Just(-2), Just(-1), Just(1), Just(3), Just(16), Just(0)],
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let limits = limits(size);
        let (mut list, mut model) = (List::new(), VecDeque::new());
        for step in steps {
            apply(&mut list, &mut model, &limits, step);
            check(&list, &model);
        }
    }
}

#[test]
fn ranges_are_cut_as_redis_cuts_them() {
    let cases = [
        ((0, -1), 0..5),
        ((-3, -2), 2..4),
        ((-100, 100), 0..5),
        ((3, 1), 0..0),
        ((5, 9), 0..0),
        ((-9, -6), 0..0),
        ((i64::MIN, i64::MAX), 0..5),
        ((4, i64::MAX), 4..5),
    ];
    for ((start, stop), range) in cases {
        assert_eq!(clamp_range(5, start, stop), range, "{start} {stop}");
    }
    assert_eq!(clamp_range(0, 0, -1), 0..0);
}

#[test]
fn counted_lists_change_encoding_at_the_limit_and_at_half() {
    let limits = limits(10);
    let mut list = List::new();
    for index in 0..10 {
        list.push(&limits, Side::Right, b"x");
        assert_eq!(list.encoding(), "listpack", "{index}");
    }
    list.push(&limits, Side::Right, b"x");
    assert_eq!(list.encoding(), "quicklist");
    // Two nodes of 10 and 1: only popping from the right end leaves one node soon.
    for left in (6..=10).rev() {
        list.pop(&limits, Side::Right);
        assert_eq!((list.len(), list.encoding()), (left, "quicklist"));
    }
    list.pop(&limits, Side::Right);
    assert_eq!((list.len(), list.encoding()), (5, "listpack"));
}

#[test]
fn sized_lists_change_encoding_by_bytes() {
    let limits = limits(-2);
    let mut list = List::new();
    let value = [b'v'; 1000];
    for _ in 0..8 {
        list.push(&limits, Side::Left, &value);
    }
    assert_eq!(list.encoding(), "listpack");
    list.push(&limits, Side::Left, &value);
    assert_eq!(list.encoding(), "quicklist");
    list.trim(&limits, 0..1);
    assert_eq!(list.encoding(), "listpack");
    list.push(&limits, Side::Right, &[b'l'; 9000]);
    assert_eq!(list.encoding(), "quicklist");
    assert_eq!(list.remove(&limits, 0, &[b'l'; 9000]), 1);
    assert_eq!(list.encoding(), "listpack");
}

/// Recorded from Valkey 9.1, which has the rules of Redis 7.2.
#[test]
fn encodings_at_the_edges_are_those_of_redis() {
    let limits = limits(-2);
    let mut list = List::new();
    list.prepare(&limits, 8185, 3);
    assert_eq!(list.encoding(), "listpack");
    list.prepare(&limits, 8186, 3);
    assert_eq!(list.encoding(), "quicklist");
    let held = |value: &[u8]| {
        let mut list = List::new();
        list.push(&limits, Side::Right, value);
        list
    };
    let mut list = held(&[b'a'; 100]);
    assert!(!list.insert(&limits, Place::Before, b"nope", &[b'z'; 9000]));
    assert_eq!(list.encoding(), "quicklist");
    let mut list = held(&[b'a'; 100]);
    assert!(!list.set(&limits, 5, &[b'z'; 9000]));
    assert_eq!(list.encoding(), "quicklist");
    assert!(list.set(&limits, 0, &[b'z'; 9000]));
    assert_eq!(list.encoding(), "quicklist");
    assert!(list.set(&limits, 0, b"z"));
    assert_eq!(list.encoding(), "listpack");
}

#[test]
fn a_long_list_takes_little_more_than_its_text() {
    let limits = limits(-2);
    let mut list = List::new();
    for index in 0..200_000 {
        list.push(&limits, Side::Left, format!("element:{index:08}").as_bytes());
    }
    let per_element = list.memory_bytes() as f64 / list.len() as f64;
    assert!(per_element < 19.0, "{per_element} bytes for 16 bytes of text");
    for index in [0, 1, 77_777, 100_000, 199_999] {
        let expected = format!("element:{:08}", 199_999 - index);
        assert_eq!(list.get(index).map(Entry::to_vec), Some(expected.into_bytes()));
    }
}

#[test]
fn a_command_s_values_change_the_encoding_together() {
    let limits = limits(-1);
    let value = vec![b'v'; 100];
    // 40 values are 4000 bytes of text, below 4096; with their own bytes they are more.
    let mut together = List::new();
    together.push_all(&limits, Side::Right, std::iter::repeat_n(value.as_slice(), 40));
    assert_eq!((together.encoding(), together.len()), ("listpack", 40));
    let mut single = List::new();
    (0..40).for_each(|_| single.push(&limits, Side::Right, &value));
    assert_eq!((single.encoding(), single.len()), ("quicklist", 40));
    together.push_all(&limits, Side::Left, std::iter::once(value.as_slice()));
    assert_eq!((together.encoding(), together.len()), ("quicklist", 41));
}

#[test]
fn rotation_leaves_the_encoding_until_it_is_done() {
    let limits = limits(4);
    let mut list = List::new();
    for value in [b"a", b"b", b"c", b"d", b"e"] {
        list.push(&limits, Side::Right, value);
    }
    list.pop(&limits, Side::Left);
    list.pop(&limits, Side::Left);
    assert_eq!((list.encoding(), list.len()), ("quicklist", 3));
    assert_eq!(list.rotate(&limits, Side::Right, Side::Left), Some(b"e".to_vec()));
    assert_eq!(list.encoding(), "quicklist");
    let texts: Vec<_> = list.iter().map(Entry::to_vec).collect();
    assert_eq!(texts, [b"e", b"c", b"d"]);
    assert_eq!(List::new().rotate(&limits, Side::Left, Side::Left), None);
}
