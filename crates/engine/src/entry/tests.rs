//! Tests of the entry's layout: whatever goes in comes out, at every shape.

use std::sync::Arc;

use proptest::prelude::{any, proptest};

use super::{Entry, INLINE_BYTES_MAX, StringRef, Value, ValueRef};

fn string(entry: &Entry) -> Vec<u8> {
    match entry.value() {
        ValueRef::String(string) => string.with_bytes(<[u8]>::to_vec),
        other => panic!("a {:?} is no string", other.kind()),
    }
}

#[test]
fn the_headline_entry_fits_its_allocator_class() {
    let entry = Entry::new(&[b'k'; 16], Value::Bytes(vec![b'v'; 64]), None);
    assert_eq!(entry.allocated_bytes(), 92);
}

#[test]
fn long_keys_and_values_survive_every_change() {
    let key = vec![b'k'; 70_000];
    let value = vec![b'v'; INLINE_BYTES_MAX + 1];
    let entry = Entry::new(&key, Value::Bytes(value.clone()), Some(5));
    assert_eq!((entry.key(), entry.expiry_ms()), (&key[..], Some(5)));
    let entry = entry.rebuilt(b"short", None);
    assert_eq!((entry.key(), entry.expiry_ms(), string(&entry)), (&b"short"[..], None, value));
}

#[test]
fn a_shared_value_is_copied_only_when_a_reply_holds_it() {
    let mut entry = Entry::new(b"k", Value::Bytes(vec![1; 5000]), None);
    let ValueRef::String(StringRef::Shared(held)) = entry.value() else { panic!("shared") };
    let held = Arc::clone(held);
    entry.shared_mut().unwrap().push(2);
    assert_eq!((held.len(), string(&entry).len()), (5000, 5001));
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn appending_uses_the_room_and_refuses_beyond_it() {
    let mut entry = Entry::inline(b"key", b"abc", 5, None);
    assert!(entry.try_append_inline(b"de") && !entry.try_append_inline(b"f"));
    assert_eq!(string(&entry), b"abcde");
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(
        key in proptest::collection::vec(any::<u8>(), 0..300),
        value in proptest::collection::vec(any::<u8>(), 0..5000),
        next in proptest::collection::vec(any::<u8>(), 0..100),
        expiry in any::<Option<u64>>(),
        number in any::<i64>(),
    ) {
        let mut entry = Entry::new(&key, Value::Bytes(value.clone()), expiry);
        assert_eq!(entry.key(), &key[..]);
        assert_eq!(string(&entry), value);
        assert_eq!(entry.expiry_ms(), expiry);
        if entry.try_set_inline(&next) {
            assert_eq!(string(&entry), next);
            assert_eq!(entry.key(), &key[..]);
        }
        let before = string(&entry);
        let entry = entry.rebuilt(&next, Some(number as u64));
        assert_eq!(string(&entry), before);
        assert_eq!((entry.key(), entry.expiry_ms()), (&next[..], Some(number as u64)));
        let mut entry = Entry::new(&key, Value::Int(number), expiry);
        assert_eq!(string(&entry), number.to_string().into_bytes());
        *entry.int_mut().unwrap() = 7;
        assert_eq!(entry.encoding(), "int");
        assert_eq!(string(&entry), b"7");
    }
}
