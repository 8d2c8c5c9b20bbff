//! Tests of the table against a model, and of the promises of scans, marks and memory.

use std::collections::{BTreeMap, BTreeSet};

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Hashed, Table};

/// A boxed number whose drops are checked by the leak detector of the allocator's users: the model
/// owns as many as the table does.
struct Number(Box<u64>);

impl Hashed for Number {
    fn hash(&self) -> u64 {
        mix(*self.0)
    }
}

fn mix(number: u64) -> u64 {
    crate::hashing::hash_bytes(&number.to_le_bytes())
}

fn put(table: &mut Table<Number>, number: u64, marked: bool) {
    table.insert(mix(number), Number(Box::new(number)), marked);
}

fn has(table: &Table<Number>, number: u64) -> bool {
    table.find(mix(number), |entry| *entry.0 == number).is_some()
}

#[test]
fn agrees_with_a_model_through_growth_and_shrinking() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut table = Table::new();
    let mut model = BTreeMap::new();
    for round in 0..60_000_u64 {
        let number = random.next_u64() % 5_000;
        let growing = (round / 15_000) % 2 == 0;
        let wants = random.next_u64() % 4 < if growing { 3 } else { 1 };
        let marked = random.next_u64().is_multiple_of(2);
        if wants && !model.contains_key(&number) {
            put(&mut table, number, marked);
            model.insert(number, marked);
        } else if !wants {
            let taken = table.remove(mix(number), |entry| *entry.0 == number);
            assert_eq!(taken.map(|entry| *entry.0), model.remove(&number).map(|_| number));
        }
        assert_eq!(table.len(), model.len());
    }
    for number in 0..5_000 {
        assert_eq!(has(&table, number), model.contains_key(&number), "{number}");
    }
    let seen: BTreeSet<u64> = table.iter().map(|entry| *entry.0).collect();
    assert!(seen.iter().eq(model.keys()));
    for (&number, &marked) in &model {
        let slot = table.find_slot(mix(number), |entry| *entry.0 == number);
        assert_eq!(slot.map(|slot| slot.is_marked()), Some(marked));
    }
}

#[test]
fn a_scan_sees_what_stays_while_the_table_grows_and_shrinks() {
    for seed in 0..40 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut table = Table::new();
        let stays = random.next_u64() % 800;
        for number in 0..stays {
            put(&mut table, number, false);
        }
        let mut extra = 1_000_000;
        let mut extras = Vec::new();
        let mut seen = BTreeSet::new();
        let mut cursor = 0;
        loop {
            cursor = table.scan(cursor, |entry| {
                seen.insert(*entry.0);
            });
            if cursor == 0 {
                break;
            }
            let step = random.next_u64() % 40;
            if seed % 2 == 0 {
                for _ in 0..step {
                    extra += 1;
                    extras.push(extra);
                    put(&mut table, extra, false);
                }
                if extras.len() > 4_000 {
                    for number in extras.drain(..) {
                        table.remove(mix(number), |entry| *entry.0 == number);
                    }
                }
            } else if let Some(number) = extras.pop() {
                table.remove(mix(number), |entry| *entry.0 == number);
            }
        }
        assert!((0..stays).all(|number| seen.contains(&number)), "seed {seed}");
    }
}

#[test]
fn a_quiet_scan_sees_each_entry_once() {
    for count in [0_u64, 1, 7, 8, 50, 333, 4_000] {
        let mut table = Table::new();
        (0..count).for_each(|number| put(&mut table, number, false));
        let (mut seen, mut cursor) = (0, 0);
        loop {
            cursor = table.scan(cursor, |_| seen += 1);
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(seen, count);
    }
}

#[test]
fn a_sweep_takes_the_marked_entries_that_are_over() {
    let mut table = Table::new();
    (0..3_000).for_each(|number| put(&mut table, number, number % 3 == 0));
    let mut taken = BTreeSet::new();
    let mut at = 0;
    loop {
        at = table.sweep_marked(
            at,
            16,
            |entry| *entry.0 < 1_500,
            |entry| {
                taken.insert(*entry.0);
            },
        );
        if at == 0 {
            break;
        }
    }
    assert!(taken.iter().copied().eq((0..1_500).filter(|number| number % 3 == 0)));
    assert_eq!(table.len(), 2_500);
}

#[test]
fn memory_a_key_is_even_at_every_size() {
    let mut table = Table::new();
    for number in 0..60_000_u64 {
        put(&mut table, number, false);
        if number > 2_000 && number % 977 == 0 {
            let bytes = table.memory_bytes() as f64 / table.len() as f64;
            assert!(bytes < 16.5, "{bytes} bytes an entry at {number}");
        }
    }
}

#[test]
fn random_draws_are_about_even() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut table = Table::new();
    (0..100).for_each(|number| put(&mut table, number, false));
    let mut counts = [0_u32; 100];
    for _ in 0..100_000 {
        counts[*table.random(&mut random).unwrap().0 as usize] += 1;
    }
    assert!(counts.iter().all(|&count| (700..1300).contains(&count)), "{counts:?}");
}

#[test]
fn an_emptied_table_owns_nothing() {
    let mut table = Table::new();
    (0..500).for_each(|number| put(&mut table, number, false));
    (0..500).for_each(|number| {
        assert!(table.remove(mix(number), |entry| *entry.0 == number).is_some());
    });
    assert_eq!((table.len(), table.memory_bytes()), (0, 0));
}
