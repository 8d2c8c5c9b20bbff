//! Sets against a `HashSet`, across the thresholds, and the encodings that Redis 7.2 gives.

use std::collections::HashSet;

use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Set;
use crate::limits::Limits;
use crate::listpack::Entry;

fn small_limits() -> Limits {
    Limits {
        set_max_intset_entries: 16,
        set_max_listpack_entries: 8,
        set_max_listpack_value: 12,
        ..Limits::default()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<u8>),
    Remove(Vec<u8>),
    Pop,
    PopMany(usize),
}

fn member(texts: bool) -> impl Strategy<Value = Vec<u8>> {
    let number = (-20i64..20).prop_map(|value| value.to_string().into_bytes());
    let large = any::<i64>().prop_map(|value| value.to_string().into_bytes());
    let text = (0..20).prop_map(|value| format!("m{value}").into_bytes());
    let odd = prop::collection::vec(any::<u8>(), 0..16);
    if texts {
        prop_oneof![3 => number, 1 => large, 6 => text, 1 => odd].boxed()
    } else {
        prop_oneof![8 => number, 1 => large].boxed()
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    any::<bool>().prop_flat_map(|texts| {
        let step = prop_oneof![
            8 => member(texts).prop_map(Step::Add),
            4 => member(texts).prop_map(Step::Remove),
            1 => Just(Step::Pop),
            1 => (0usize..6).prop_map(Step::PopMany),
        ];
        prop::collection::vec(step, 1..150)
    })
}

fn members(set: &Set) -> HashSet<Vec<u8>> {
    let members: HashSet<_> = set.iter().map(Entry::to_vec).collect();
    assert_eq!(members.len(), set.len());
    members
}

fn scanned(set: &Set) -> HashSet<Vec<u8>> {
    let (mut members, mut cursor) = (HashSet::new(), 0);
    loop {
        cursor = set.scan(cursor, 3, |member| {
            members.insert(member.to_vec());
        });
        if cursor == 0 {
            return members;
        }
    }
}

proptest! {
    #[test]
    fn behaves_as_a_set(steps in steps(), seed in any::<u64>()) {
        let limits = small_limits();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut set, mut model) = (Set::new(), HashSet::new());
        for step in steps {
            match step {
                Step::Add(member) => {
                    prop_assert_eq!(set.add(&limits, &member), model.insert(member.clone()));
                    prop_assert!(set.contains(&member));
                }
                Step::Remove(member) => {
                    prop_assert_eq!(set.remove(&member), model.remove(&member));
                    prop_assert!(!set.contains(&member));
                }
                Step::Pop => {
                    let popped = set.pop(&mut random);
                    prop_assert_eq!(popped.is_some(), !model.is_empty());
                    prop_assert!(popped.is_none_or(|member| model.remove(&member)));
                }
                Step::PopMany(count) => {
                    let wanted = count.min(model.len());
                    let mut popped = 0;
                    set.pop_many(&limits, &mut random, count, |member| {
                        assert!(model.remove(&member.to_vec()));
                        popped += 1;
                    });
                    prop_assert_eq!(popped, wanted);
                }
            }
            prop_assert_eq!(&members(&set), &model);
            let most = match set.encoding() {
                "intset" => limits.set_max_intset_entries,
                "listpack" => limits.set_max_listpack_entries,
                _ => usize::MAX,
            };
            prop_assert!(set.len() <= most);
        }
        prop_assert_eq!(&scanned(&set), &model);
    }

    #[test]
    fn draws_are_of_what_is_there(
        len in 0usize..40,
        texts in any::<bool>(),
        count in 0usize..50,
        seed in any::<u64>(),
    ) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut set = Set::new();
        for index in 0..len {
            let text = if texts { format!("m{index}") } else { index.to_string() };
            set.add(&small_limits(), text.as_bytes());
        }
        let mut seen = HashSet::new();
        set.random_distinct(&mut random, count, |member| {
            assert!(set.contains(&member.to_vec()));
            assert!(seen.insert(member.to_vec()));
        });
        prop_assert_eq!(seen.len(), count.min(len));
        let mut drawn = 0;
        set.random_repeating(&mut random, count, |member| {
            assert!(set.contains(&member.to_vec()));
            drawn += 1;
        });
        prop_assert_eq!(drawn, if len == 0 { 0 } else { count });
        prop_assert_eq!(set.random(&mut random).is_some(), len > 0);
    }
}

/// A set made as one `SADD` makes it.
fn added(members: impl IntoIterator<Item = String>) -> Set {
    let limits = Limits::default();
    let members: Vec<String> = members.into_iter().collect();
    let first = members.first().map_or(&b""[..], |first| first.as_bytes());
    let mut set = Set::for_members(&limits, first, members.len());
    for member in &members {
        set.add(&limits, member.as_bytes());
    }
    set
}

/// Recorded from Valkey 9.1, which has the rules of Redis 7.2.
#[test]
fn encodings_are_those_of_redis() {
    let numbers = |count: usize| (0..count).map(|index| index.to_string());
    let texts = |count: usize| (0..count).map(|index| format!("m{index}"));
    let text = |len: usize| std::iter::once("x".repeat(len));
    assert_eq!(added(numbers(512)).encoding(), "intset");
    assert_eq!(added(numbers(513)).encoding(), "hashtable");
    assert_eq!(added(texts(128)).encoding(), "listpack");
    assert_eq!(added(texts(129)).encoding(), "hashtable");
    assert_eq!(added(numbers(127).chain(text(64))).encoding(), "listpack");
    assert_eq!(added(numbers(128).chain(text(64))).encoding(), "hashtable");
    assert_eq!(added(numbers(3).chain(text(65))).encoding(), "hashtable");
    assert_eq!(added(text(64)).encoding(), "listpack");
    assert_eq!(added(text(65)).encoding(), "hashtable");
    let limits = Limits::default();
    let mut set = added(numbers(512));
    set.add(&limits, b"512");
    assert_eq!(set.encoding(), "hashtable");
    let mut set = added(texts(3));
    set.prepare(&limits, 128);
    assert_eq!(set.encoding(), "listpack");
    set.prepare(&limits, 129);
    assert_eq!(set.encoding(), "hashtable");
}

#[test]
fn a_table_that_little_is_left_of_becomes_a_listpack() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut set = added((0..1000).map(|index| format!("m{index}")));
    set.pop_many(&Limits::default(), &mut random, 100, |_| {});
    assert_eq!((set.len(), set.encoding()), (900, "hashtable"));
    set.pop_many(&Limits::default(), &mut random, 800, |_| {});
    assert_eq!((set.len(), set.encoding()), (100, "listpack"));
}

#[test]
fn memory_is_what_the_documentation_says() {
    let limits = Limits::default();
    assert!(size_of::<Set>() <= 24);
    assert_eq!(added((0..512).map(|index| index.to_string())).memory_bytes(), 1280);
    let mut set = Set::new();
    for index in 0..100_000 {
        set.add(&limits, format!("element:{index:07}").as_bytes());
    }
    // 15 bytes of text and one of length take a class of 16.
    let per_member = set.memory_bytes() as f64 / set.len() as f64;
    assert!((28.0..31.0).contains(&per_member), "{per_member}");
}

#[test]
fn an_intersection_begins_compact_and_ends_as_integers_if_it_can() {
    let limits = small_limits();
    let mut table = Set::for_members(&limits, b"a", 20);
    assert_eq!(table.encoding(), "hashtable");
    let mut result = table.empty_intersection();
    assert_eq!(result.encoding(), "listpack");
    result.add(&limits, b"2");
    result.add(&limits, b"1");
    result.prefer_intset(&limits);
    assert_eq!(result.encoding(), "intset");
    assert_eq!(result.empty_intersection().encoding(), "intset");
    (0..17).for_each(|value: i32| {
        table.add(&limits, value.to_string().as_bytes());
    });
    table.prefer_intset(&limits);
    assert_eq!(table.encoding(), "hashtable", "too many for an intset");
    let mut text = Set::for_members(&limits, b"a", 1);
    text.add(&limits, b"a");
    text.prefer_intset(&limits);
    assert_eq!((text.encoding(), text.len()), ("listpack", 1));
}
