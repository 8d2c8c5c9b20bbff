//! Hashes against a `HashMap`, across the thresholds.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Hash;
use crate::limits::Limits;
use crate::listpack::Entry;

fn small_limits() -> Limits {
    Limits { hash_max_listpack_entries: 8, hash_max_listpack_value: 30, ..Limits::default() }
}

#[derive(Clone, Debug)]
enum Step {
    Set(Vec<u8>, Vec<u8>),
    SetNew(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
}

fn field() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => (0i64..40).prop_map(|value| value.to_string().into_bytes()),
        8 => (0i64..40).prop_map(|value| format!("field:{value}").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
        1 => (100usize..140).prop_map(|len| vec![b'f'; len]),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<i64>().prop_map(|value| value.to_string().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..34),
        (0usize..20_000).prop_map(|len| vec![b'v'; len]),
    ]
}

fn step(long: bool) -> impl Strategy<Value = Step> {
    let kept = move |text: Vec<u8>| if long { text } else { text.into_iter().take(30).collect() };
    prop_oneof![
        4 => (field(), value()).prop_map(move |(name, value)| Step::Set(kept(name), kept(value))),
        1 => (field(), value()).prop_map(move |(name, value)| Step::SetNew(kept(name), kept(value))),
        3 => field().prop_map(move |name| Step::Remove(kept(name))),
    ]
}

fn pairs(hash: &Hash) -> HashMap<Vec<u8>, Vec<u8>> {
    let pairs: HashMap<_, _> =
        hash.iter().map(|(field, value)| (field.to_vec(), value.to_vec())).collect();
    assert_eq!(pairs.len(), hash.len());
    pairs
}

fn scanned(hash: &Hash) -> HashMap<Vec<u8>, Vec<u8>> {
    let (mut pairs, mut cursor) = (HashMap::new(), 0);
    loop {
        cursor = hash.scan(cursor, 3, |field, value| {
            pairs.insert(field.to_vec(), value.to_vec());
        });
        if cursor == 0 {
            return pairs;
        }
    }
}

proptest! {
    #[test]
    fn behaves_as_a_map(
        steps in any::<bool>().prop_flat_map(|long| prop::collection::vec(step(long), 1..200)),
    ) {
        let limits = small_limits();
        let (mut hash, mut model) = (Hash::new(), HashMap::new());
        let mut was_table = false;
        for step in steps {
            match step {
                Step::Set(field, value) => {
                    was_table |= field.len().max(value.len()) > 30;
                    let is_new = model.insert(field.clone(), value.clone()).is_none();
                    prop_assert_eq!(hash.set(&limits, &field, &value), is_new);
                }
                Step::SetNew(field, value) => {
                    let is_new = !model.contains_key(&field);
                    prop_assert_eq!(hash.set_new(&limits, &field, &value), is_new);
                    if is_new {
                        was_table |= field.len().max(value.len()) > 30;
                        model.insert(field, value);
                    }
                }
                Step::Remove(field) => {
                    prop_assert_eq!(hash.remove(&field), model.remove(&field).is_some());
                    prop_assert!(!hash.contains(&field));
                }
            }
            was_table |= model.len() > 8;
            prop_assert_eq!(hash.encoding(), if was_table { "hashtable" } else { "listpack" });
            prop_assert_eq!(&pairs(&hash), &model);
        }
        for (field, value) in &model {
            prop_assert!(hash.get(field).unwrap().is_text(value));
        }
        prop_assert_eq!(&scanned(&hash), &model);
    }

    #[test]
    fn draws_are_of_what_is_there(len in 0usize..40, count in 0usize..50, seed in any::<u64>()) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut hash = Hash::new();
        for index in 0..len {
            let text = index.to_string();
            hash.set(&small_limits(), text.as_bytes(), format!("v{text}").as_bytes());
        }
        let is_pair = |field: Entry<'_>, value: Entry<'_>| hash.get(&field.to_vec()) == Some(value);
        let mut seen = HashSet::new();
        hash.random_distinct(&mut random, count, |field, value| {
            assert!(is_pair(field, value));
            assert!(seen.insert(field.to_vec()));
        });
        prop_assert_eq!(seen.len(), count.min(len));
        let mut drawn = 0;
        hash.random_repeating(&mut random, count, |field, value| {
            assert!(is_pair(field, value));
            drawn += 1;
        });
        prop_assert_eq!(drawn, if len == 0 { 0 } else { count });
        prop_assert_eq!(hash.random(&mut random).is_some(), len > 0);
    }
}

#[test]
fn a_whole_command_is_looked_at_first() {
    let limits = Limits::default();
    let mut hash = Hash::new();
    hash.prepare(&limits, 512, 64);
    assert_eq!(hash.encoding(), "listpack");
    hash.prepare(&limits, 513, 1);
    assert_eq!(hash.encoding(), "hashtable");
    let mut hash = Hash::new();
    hash.prepare(&limits, 1, 65);
    assert_eq!(hash.encoding(), "hashtable");
}

#[test]
fn memory_is_what_the_documentation_says() {
    let limits = Limits::default();
    let mut hash = Hash::new();
    for index in 0..3 {
        hash.set(&limits, format!("f{index}").as_bytes(), b"value");
    }
    assert_eq!(hash.memory_bytes(), 48);
    assert!(size_of::<Hash>() <= 16);
    for index in 0..100_000 {
        hash.set(&limits, format!("field:{index:08}").as_bytes(), b"0123456789");
    }
    // 24 bytes of text and 2 of lengths take a class of 32.
    let per_pair = hash.memory_bytes() as f64 / hash.len() as f64;
    assert!((44.0..48.0).contains(&per_pair), "{per_pair}");
}
