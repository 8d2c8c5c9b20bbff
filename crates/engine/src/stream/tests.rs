//! Streams against a model, and their nodes against bytes recorded from redis-server 7.0.

use super::*;
use proptest::prelude::*;

type Pair = (Vec<u8>, Vec<u8>);
type Model = BTreeMap<StreamId, Vec<Pair>>;

fn borrowed(fields: &[Pair]) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
    fields.iter().map(|(field, value)| (&field[..], &value[..]))
}

fn pairs(fields: &[(&str, &str)]) -> Vec<Pair> {
    fields
        .iter()
        .map(|(field, value)| (field.as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect()
}

fn explicit(ms: u64, seq: u64) -> NewId {
    NewId::Explicit(StreamId { ms, seq })
}

fn owned(fields: Fields<'_>) -> Vec<Pair> {
    let stated = fields.len();
    let all: Vec<Pair> = fields.map(|(field, value)| (field.to_vec(), value.to_vec())).collect();
    assert_eq!(all.len(), stated);
    all
}

fn collect(
    stream: &Stream,
    range: IdRange,
    reverse: bool,
    count: Option<usize>,
) -> Vec<(StreamId, Vec<Pair>)> {
    let mut found = Vec::new();
    stream.range(range, reverse, count, |id, fields| found.push((id, owned(fields))));
    found
}

/// A stream of `len` entries `n-0` with one field.
fn counted(len: u64, limits: &Limits) -> Stream {
    let mut stream = Stream::new();
    for ms in 1..=len {
        let value = ms.to_string();
        stream
            .add(explicit(ms, 0), 0, borrowed(&pairs(&[("n", &value)])), limits)
            .expect("rising ids");
    }
    stream
}

/// `DUMP` of three entries, one of them deleted, with `rdbcompression no`.
#[test]
fn a_node_is_byte_for_byte_redis_s() {
    let recorded: &[u8] = b"\x43\0\0\0\x19\0\x02\x01\x01\x01\x02\x01\x81\x61\x02\x81\x62\x02\0\x01\x02\x01\0\x01\0\x01\
        \x01\x01\x83\x78\x79\x7a\x04\x05\x01\x03\x01\x02\x01\xdf\xff\x02\x02\x01\x81\x71\x02\x05\x01\0\x01\x02\x01\
        \xc2\x57\x02\x01\x01\x81\x63\x02\x81\x64\x02\x06\x01\xff";
    let limits = Limits::default();
    let mut stream = Stream::new();
    let added = [
        (explicit(1000, 1), pairs(&[("a", "1"), ("b", "xyz")])),
        (explicit(1002, 0), pairs(&[("a", "2"), ("b", "q")])),
        (explicit(1002, 600), pairs(&[("c", "d")])),
    ];
    for (id, fields) in &added {
        stream.add(*id, 0, borrowed(fields), &limits).expect("rising ids");
    }
    assert!(stream.delete(StreamId::new(1002, 0)));
    let (base, node) = stream.nodes.first_key_value().expect("a node");
    assert_eq!(*base, StreamId::new(1000, 1));
    assert_eq!(node.as_bytes(), recorded);
    assert_eq!((stream.entries_added(), stream.len()), (3, 2));
    assert_eq!(stream.max_deleted_id(), StreamId::new(1002, 0));
}

#[test]
fn ids_of_new_entries_are_redis_s() {
    let limits = Limits::default();
    let one = pairs(&[("f", "v")]);
    let mut stream = Stream::new();
    let mut add = |id, now_ms| stream.add(id, now_ms, borrowed(&one), &limits);
    assert_eq!(add(NewId::AutoSequence { ms: 0 }, 9), Ok(StreamId::new(0, 1)));
    assert_eq!(add(NewId::Auto, 5), Ok(StreamId::new(5, 0)));
    assert_eq!(add(NewId::Auto, 4), Ok(StreamId::new(5, 1)));
    assert_eq!(add(NewId::AutoSequence { ms: 5 }, 9), Ok(StreamId::new(5, 2)));
    assert_eq!(add(NewId::AutoSequence { ms: 4 }, 9), Err(AddError::NotGreater));
    assert_eq!(add(explicit(5, 2), 9), Err(AddError::NotGreater));
    assert_eq!(add(explicit(0, 0), 9), Err(AddError::NotGreater));
    assert_eq!(add(explicit(7, u64::MAX), 9), Ok(StreamId::new(7, u64::MAX)));
    assert_eq!(add(NewId::AutoSequence { ms: 7 }, 9), Err(AddError::NotGreater));
    assert_eq!(add(NewId::Auto, 7), Ok(StreamId::new(8, 0)));
    assert_eq!(add(explicit(u64::MAX, u64::MAX), 9), Ok(StreamId::MAX));
    assert_eq!(add(NewId::Auto, 9), Err(AddError::Exhausted));
    assert_eq!(add(explicit(1, 1), 9), Err(AddError::Exhausted));
    assert_eq!(stream.len(), 7);
}

#[test]
fn errors_have_redis_s_texts() {
    assert_eq!(
        AddError::NotGreater.to_string(),
        "The ID specified in XADD is equal or smaller than the target stream top item"
    );
    assert_eq!(IdError::Zero.to_string(), "The ID specified in XADD must be greater than 0-0");
    assert_eq!(AddError::TooLarge.to_string(), "Elements are too large to be stored");
}

#[test]
fn nodes_end_at_a_hundred_entries_or_four_kilobytes() {
    let stream = counted(1000, &Limits::default());
    assert_eq!(stream.node_count(), 10);
    let limits = Limits { stream_node_max_entries: 0, ..Limits::default() };
    let stream = counted(1000, &limits);
    assert!(stream.nodes.values().all(|node| node.as_bytes().len() <= 4096 + 20));
    let limits = Limits { stream_node_max_entries: 0, stream_node_max_bytes: 0, ..limits };
    assert_eq!(counted(5000, &limits).node_count(), 1);
}

#[test]
fn trims_exactly_and_by_whole_nodes() {
    let limits = Limits { stream_node_max_entries: 10, ..Limits::default() };
    let trimmed = |keep, approximate, limit| {
        let mut stream = counted(100, &limits);
        let removed = stream.trim(Trim { keep, approximate, limit });
        assert_eq!(removed + stream.len(), 100);
        removed
    };
    let min_id = |ms| Keep::MinId(StreamId::new(ms, 0));
    assert_eq!(trimmed(Keep::MaxLen(15), false, None), 85);
    assert_eq!(trimmed(Keep::MaxLen(15), true, None), 80);
    assert_eq!(trimmed(Keep::MaxLen(15), true, Some(35)), 30);
    assert_eq!(trimmed(Keep::MaxLen(15), true, Some(9)), 0);
    assert_eq!(trimmed(Keep::MaxLen(0), false, None), 100);
    assert_eq!(trimmed(Keep::MaxLen(100), false, None), 0);
    assert_eq!(trimmed(min_id(26), false, None), 25);
    assert_eq!(trimmed(min_id(26), true, None), 20);
    assert_eq!(trimmed(min_id(21), true, None), 20);
    assert_eq!(trimmed(min_id(1000), true, None), 100);
    assert_eq!(trimmed(min_id(0), false, None), 0);
}

#[test]
fn an_emptied_stream_keeps_its_last_id() {
    let mut stream = counted(3, &Limits::default());
    assert_eq!(
        (stream.first_entry_id(), stream.last_entry_id()),
        (Some(StreamId::new(1, 0)), Some(StreamId::new(3, 0)))
    );
    assert!(stream.delete(StreamId::new(3, 0)));
    assert_eq!(stream.last_entry_id(), Some(StreamId::new(2, 0)));
    stream.trim(Trim { keep: Keep::MaxLen(0), approximate: false, limit: None });
    assert!(stream.is_empty() && stream.node_count() == 0);
    assert_eq!((stream.first_entry_id(), stream.last_id()), (None, StreamId::new(3, 0)));
    assert_eq!(stream.max_deleted_id(), StreamId::new(3, 0));
    assert!(!stream.delete(StreamId::new(3, 0)));
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64, u64, Vec<Pair>),
    Delete(u64, u64),
    TrimLen(usize, bool, Option<usize>),
    TrimId(u64, u64, bool),
}

fn fields() -> impl Strategy<Value = Vec<Pair>> {
    let word = || {
        prop_oneof![
            prop::sample::select(vec![b"a".to_vec(), b"b".to_vec(), b"77".to_vec()]),
            prop::collection::vec(any::<u8>(), 0..40),
            any::<i64>().prop_map(|value| value.to_string().into_bytes()),
        ]
    };
    prop_oneof![
        2 => word().prop_map(|value| vec![(b"a".to_vec(), value)]),
        2 => (word(), word()).prop_map(|(a, b)| vec![(b"a".to_vec(), a), (b"12".to_vec(), b)]),
        1 => prop::collection::vec((word(), word()), 1..5),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (0u64..3, 0u64..5, fields()).prop_map(|(ms, seq, fields)| Step::Add(ms, seq, fields)),
        8 => (0u64..300, 0u64..5).prop_map(|(ms, seq)| Step::Delete(ms, seq)),
        1 => (0usize..200, any::<bool>(), prop::option::of(0usize..50))
            .prop_map(|(len, approximate, limit)| Step::TrimLen(len, approximate, limit)),
        1 => (0u64..300, 0u64..5, any::<bool>()).prop_map(|(ms, seq, approximate)| Step::TrimId(ms, seq, approximate)),
    ];
    prop::collection::vec(step, 1..400)
}

fn trim_both(stream: &mut Stream, model: &mut Model, trim: Trim) {
    let removed = stream.trim(trim);
    let wanted = match trim.keep {
        Keep::MaxLen(max) => model.len().saturating_sub(max),
        Keep::MinId(id) => model.range(..id).count(),
    };
    assert!(removed <= wanted);
    assert!(trim.approximate || trim.limit.is_some() || removed == wanted, "{removed} of {wanted}");
    // A node that the limit lets begin may be trimmed inside, so the limit holds as is.
    assert!(trim.limit.is_none_or(|limit| removed <= limit));
    for _ in 0..removed {
        model.pop_first();
    }
}

fn apply(stream: &mut Stream, model: &mut Model, step: &Step, limits: &Limits) {
    match step {
        Step::Add(ms, seq, fields) => {
            let last = stream.last_id();
            let id = StreamId::new(last.ms + ms, if *ms == 0 { last.seq + 1 + seq } else { *seq });
            assert_eq!(stream.add(NewId::Explicit(id), 0, borrowed(fields), limits), Ok(id));
            model.insert(id, fields.clone());
        }
        Step::Delete(ms, seq) => {
            let id = StreamId::new(*ms, *seq);
            assert_eq!(stream.delete(id), model.remove(&id).is_some());
        }
        Step::TrimLen(max, approximate, limit) => {
            let trim = Trim { keep: Keep::MaxLen(*max), approximate: *approximate, limit: *limit };
            trim_both(stream, model, trim);
        }
        Step::TrimId(ms, seq, approximate) => {
            let keep = Keep::MinId(StreamId::new(*ms, *seq));
            trim_both(stream, model, Trim { keep, approximate: *approximate, limit: None });
        }
    }
}

#[test]
fn the_last_id_is_set_above_what_there_is_and_was() {
    let limits = Limits::default();
    let mut stream = Stream::new();
    let fields = pairs(&[("f", "v")]);
    for ms in [3, 5] {
        stream.add(explicit(ms, 0), 0, borrowed(&fields), &limits).expect("ids rise");
    }
    let id = |ms| StreamId::new(ms, 0);
    assert_eq!(stream.set_last_id(id(4), None, None), Err(SetIdError::BelowTop));
    assert_eq!(stream.set_last_id(id(6), Some(1), None), Err(SetIdError::BelowLength));
    assert!(stream.delete(id(5)));
    assert_eq!(stream.set_last_id(id(4), None, None), Err(SetIdError::BelowDeleted));
    assert_eq!(stream.set_last_id(id(7), None, Some(StreamId::MIN)), Ok(()));
    assert_eq!((stream.last_id(), stream.max_deleted_id()), (id(7), id(5)));
    assert_eq!(stream.set_last_id(id(8), Some(9), Some(id(8))), Ok(()));
    assert_eq!((stream.entries_added(), stream.max_deleted_id()), (9, id(8)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_a_map_in_order(
        steps in steps(),
        node_entries in prop::sample::select(vec![1usize, 3, 100, 0]),
        node_bytes in prop::sample::select(vec![0usize, 128, 4096]),
        ends in ((0u64..300, 0u64..5), (0u64..300, 0u64..5)),
        count in prop::option::of(0usize..20),
    ) {
        let limits = Limits {
            stream_node_max_entries: node_entries,
            stream_node_max_bytes: node_bytes,
            ..Limits::default()
        };
        let (mut stream, mut model) = (Stream::new(), Model::new());
        for step in &steps {
            apply(&mut stream, &mut model, step, &limits);
            prop_assert_eq!(stream.len(), model.len());
        }
        prop_assert_eq!(stream.first_entry_id(), model.keys().next().copied());
        prop_assert_eq!(stream.last_entry_id(), model.keys().next_back().copied());
        let start = StreamId::new(ends.0.0, ends.0.1);
        let end = StreamId::new(ends.1.0, ends.1.1);
        for range in [IdRange::ALL, IdRange { start, end }, IdRange { start: end, end: start }] {
            for reverse in [false, true] {
                let mut expected: Vec<(StreamId, Vec<Pair>)> = model
                    .iter()
                    .filter(|&(&id, _)| id >= range.start && id <= range.end)
                    .map(|(&id, fields)| (id, fields.clone()))
                    .collect();
                if reverse {
                    expected.reverse();
                }
                prop_assert_eq!(&collect(&stream, range, reverse, None), &expected);
                expected.truncate(count.unwrap_or(usize::MAX));
                prop_assert_eq!(&collect(&stream, range, reverse, count), &expected);
            }
        }
    }
}
