//! Tests of a database against a model of keys, values and expiries.

use std::collections::BTreeMap;

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::{Clock, Db, Expiry, Key};
use crate::entry::{Entry, INLINE_BYTES_MAX};

#[derive(Clone, Debug)]
enum Step {
    Set(u8, Vec<u8>, Option<u64>),
    SetKeeping(u8, Vec<u8>),
    Append(u8, Vec<u8>),
    SetRange(u8, usize, Vec<u8>),
    SetInt(u8, i64),
    Remove(u8),
    Expire(u8, Option<u64>),
    Wait(u64),
    Sweep,
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..80),
        proptest::collection::vec(any::<u8>(), INLINE_BYTES_MAX - 2..INLINE_BYTES_MAX + 40),
        any::<i16>().prop_map(|number| number.to_string().into_bytes()),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    let key = 0..12_u8;
    prop_oneof![
        (key.clone(), bytes(), proptest::option::of(1..40_u64))
            .prop_map(|(key, value, ttl)| Step::Set(key, value, ttl)),
        (key.clone(), bytes()).prop_map(|(key, value)| Step::SetKeeping(key, value)),
        (key.clone(), bytes()).prop_map(|(key, value)| Step::Append(key, value)),
        (key.clone(), 0..5000_usize, bytes())
            .prop_map(|(key, at, value)| { Step::SetRange(key, at, value) }),
        (key.clone(), any::<i64>()).prop_map(|(key, number)| Step::SetInt(key, number)),
        key.clone().prop_map(Step::Remove),
        (key, proptest::option::of(1..40_u64)).prop_map(|(key, ttl)| Step::Expire(key, ttl)),
        (1..10_u64).prop_map(Step::Wait),
        Just(Step::Sweep),
    ]
}

type Model = BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)>;

fn apply(db: &mut Db, model: &mut Model, clock: &mut Clock, step: Step) {
    let name = |key: u8| format!("key:{key}").into_bytes();
    let now = clock.now_ms;
    match step {
        Step::Set(key, value, ttl) => {
            let key = name(key);
            let expiry = ttl.map_or(Expiry::Clear, |ttl| Expiry::At(now + ttl));
            db.set_string(*clock, Key::new(&key), &value, expiry);
            model.insert(key, (value, ttl.map(|ttl| now + ttl)));
        }
        Step::SetKeeping(key, value) => {
            let key = name(key);
            db.set_string(*clock, Key::new(&key), &value, Expiry::Keep);
            model.entry(key).or_default().0 = value;
        }
        Step::Append(key, tail) => {
            let key = name(key);
            let len = db.append(*clock, Key::new(&key), &tail).unwrap();
            let value = &mut model.entry(key).or_default().0;
            value.extend(tail);
            assert_eq!(len, value.len());
        }
        Step::SetRange(key, at, patch) => {
            let key = name(key);
            let len = db.set_range(*clock, Key::new(&key), at, &patch).unwrap();
            let value = &mut model.entry(key).or_default().0;
            value.resize(value.len().max(at + patch.len()), 0);
            value[at..at + patch.len()].copy_from_slice(&patch);
            assert_eq!(len, value.len());
        }
        Step::SetInt(key, number) => {
            let key = name(key);
            db.set_int(*clock, Key::new(&key), number);
            model.entry(key).or_default().0 = number.to_string().into_bytes();
        }
        Step::Remove(key) => {
            let key = name(key);
            let removed = db.remove(*clock, Key::new(&key)).is_some();
            assert_eq!(removed, model.remove(&key).is_some());
        }
        Step::Expire(key, ttl) => {
            let key = name(key);
            let at = ttl.map(|ttl| now + ttl);
            assert_eq!(db.set_expiry(*clock, Key::new(&key), at), model.contains_key(&key));
            if let Some(value) = model.get_mut(&key) {
                value.1 = at;
            }
        }
        Step::Wait(ms) => {
            clock.now_ms += ms;
            model.retain(|_, (_, expiry)| expiry.is_none_or(|expiry| expiry > clock.now_ms));
        }
        Step::Sweep => {
            while !db.sweep(*clock, 4, drop::<Entry>) {}
            assert_eq!(db.len(), model.len());
        }
    }
}

proptest! {
    #[test]
    fn agrees_with_a_model(steps in proptest::collection::vec(steps(), 1..120)) {
        let (mut db, mut model, mut clock) = (Db::default(), Model::new(), Clock { now_ms: 1 });
        for step in steps {
            apply(&mut db, &mut model, &mut clock, step);
            let expiring = model.values().filter(|(_, expiry)| expiry.is_some()).count();
            assert!(db.expiring() >= expiring);
        }
        for (name, (value, expiry)) in &model {
            let key = Key::new(name);
            assert_eq!(db.expiry_ms(clock, key), Some(*expiry));
            let string = db.string(clock, key).unwrap().unwrap();
            assert_eq!(&string.with_bytes(<[u8]>::to_vec), value);
        }
        let mut count = 0;
        db.for_each(clock, |_| count += 1);
        assert_eq!(count, model.len());
    }
}

#[test]
fn a_number_changes_in_place_as_long_as_it_lives() {
    let mut db = Db::default();
    let key = Key::new(b"counter");
    let clock = Clock { now_ms: 10 };
    assert!(db.int_mut(clock, key).is_none());
    db.set_string(clock, key, b"41", Expiry::At(20));
    *db.int_mut(clock, key).expect("kept as a number") += 1;
    let text =
        db.string(clock, key).expect("a string").map(|found| found.with_bytes(<[u8]>::to_vec));
    assert_eq!(text.as_deref(), Some(&b"42"[..]));
    assert!(db.int_mut(Clock { now_ms: 20 }, key).is_none());
    db.set_string(clock, key, b"041", Expiry::Clear);
    assert!(db.int_mut(clock, key).is_none(), "not the canonical form");
}

#[test]
fn the_time_left_is_sampled() {
    let clock = Clock { now_ms: 1000 };
    let mut db = Db::default();
    db.set_string(clock, Key::new(b"stays"), b"", Expiry::Clear);
    assert_eq!(db.sample_ttl(clock, 10), (0, 0));
    db.set_string(clock, Key::new(b"short"), b"", Expiry::At(1500));
    db.set_string(clock, Key::new(b"long"), b"", Expiry::At(3500));
    assert_eq!(db.sample_ttl(clock, 10), (3000, 2));
    assert!(db.sample_ttl(clock, 2).1 >= 1);
}
