//! Sorted sets against a model (a map and a sorted vector), across the change of encoding.

use super::*;
use crate::zset::range::{LexBound, limit_ranks};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, f64>;
type Pairs = Vec<(Vec<u8>, f64)>;

fn limits(entries: usize) -> Limits {
    Limits { zset_max_listpack_entries: entries, ..Limits::default() }
}

fn sorted(model: &Model) -> Pairs {
    let mut all: Pairs = model.iter().map(|(name, &score)| (name.clone(), score)).collect();
    all.sort_by(|a, b| a.1.partial_cmp(&b.1).expect("no NaN").then_with(|| a.0.cmp(&b.0)));
    all
}

fn collect<'a>(iter: impl Iterator<Item = (Entry<'a>, f64)>) -> Pairs {
    iter.map(|(name, score)| (name.to_vec(), score)).collect()
}

fn set_of(members: &[(&str, f64)], limits: &Limits) -> Zset {
    let mut set = Zset::new();
    for (name, score) in members {
        set.add(name.as_bytes(), *score, AddFlags::default(), limits);
    }
    set
}

#[test]
fn leaves_the_listpack_where_redis_does() {
    let limits = Limits::default();
    let mut set = Zset::new();
    assert_eq!(set.encoding(), "listpack");
    for index in 0..128 {
        set.add(format!("{index}").as_bytes(), f64::from(index), AddFlags::default(), &limits);
    }
    set.add(b"5", 1e300, AddFlags::default(), &limits);
    assert_eq!(set.encoding(), "listpack");
    set.add(b"128", 0.5, AddFlags::default(), &limits);
    assert_eq!((set.encoding(), set.len()), ("skiplist", 129));
    assert_eq!(set.rank(b"128", false), Some((1, 0.5)));
    for index in 0..120 {
        set.remove(format!("{index}").as_bytes());
    }
    assert_eq!((set.encoding(), set.len()), ("skiplist", 9));

    let mut set = set_of(&[("a", 1.0)], &limits);
    set.add(&[b'x'; 64], 1.0, AddFlags::default(), &limits);
    assert_eq!(set.encoding(), "listpack");
    set.add(&[b'x'; 65], 1.0, AddFlags::default(), &limits);
    assert_eq!(set.encoding(), "skiplist");
}

#[test]
fn conditions_decide_as_in_redis() {
    let flags = |nx, xx, gt, lt, incr| AddFlags { nx, xx, gt, lt, incr };
    use AddOutcome::{Added, NotANumber, Rejected, Unchanged, Updated};
    for limits in [limits(0), limits(128)] {
        let mut set = set_of(&[("a", 5.0), ("top", f64::INFINITY)], &limits);
        let mut add = |name: &[u8], score, flags| set.add(name, score, flags, &limits);
        assert_eq!(add(b"a", 6.0, flags(true, false, false, false, false)), Rejected);
        assert_eq!(add(b"b", 6.0, flags(false, true, false, false, false)), Rejected);
        assert_eq!(add(b"b", 6.0, flags(true, false, false, false, false)), Added(6.0));
        assert_eq!(add(b"a", 5.0, AddFlags::default()), Unchanged(5.0));
        assert_eq!(add(b"a", 5.0, flags(false, false, true, false, false)), Rejected);
        assert_eq!(add(b"a", 4.0, flags(false, true, true, false, false)), Rejected);
        assert_eq!(add(b"a", 7.5, flags(false, true, true, false, false)), Updated(7.5));
        assert_eq!(add(b"a", -1.0, flags(false, false, false, true, true)), Updated(6.5));
        assert_eq!(add(b"a", 1.0, flags(false, false, false, true, true)), Rejected);
        assert_eq!(add(b"new", 2.0, flags(false, false, true, false, true)), Added(2.0));
        assert_eq!(
            add(b"top", f64::NEG_INFINITY, flags(false, false, false, false, true)),
            NotANumber
        );
        assert_eq!(add(b"a", f64::NAN, AddFlags::default()), NotANumber);
        assert_eq!(set.score(b"top"), Some(f64::INFINITY));
        assert_eq!(set.score(b"a"), Some(6.5));
    }
}

#[test]
fn every_kind_of_score_survives_the_listpack() {
    let scores = [
        0.1,
        -1e-300,
        1e300,
        3.0e18,
        5.0e18,
        9.3e18,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.0 / 3.0,
        f64::MAX,
    ];
    let limits = Limits::default();
    for score in scores {
        let mut set = Zset::new();
        set.add(b"m", score, AddFlags::default(), &limits);
        assert_eq!((set.encoding(), set.score(b"m")), ("listpack", Some(score)));
    }
}

/// `DUMP` of `ZADD z 1 a 0.5 17 inf x -3 bb` from redis-server 7.0, without header and footer.
#[test]
fn a_small_set_is_byte_for_byte_redis_s() {
    let recorded: &[u8] = b"\x22\0\0\0\x08\0\x82bb\x03\xdf\xfd\x02\x11\x01\x830.5\x04\x81a\x02\x01\x01\x81x\x02\x83inf\x04\xff";
    let members = [("a", 1.0), ("17", 0.5), ("x", f64::INFINITY), ("bb", -3.0)];
    let Encoding::Compact(set) = set_of(&members, &Limits::default()).encoding else {
        panic!("four members are a small set");
    };
    assert_eq!(set.as_bytes(), recorded);
}

#[test]
fn a_set_is_two_words_and_may_change_threads() {
    fn shareable<T: Send + Sync>() {}
    shareable::<Zset>();
    assert_eq!(size_of::<Zset>(), 16);
}

/// `ZRANGEBYLEX m - [c` and so on over differing scores: replies of redis-server 7.0.
#[test]
fn ranges_of_names_over_differing_scores_are_redis_s_in_a_listpack() {
    let set = set_of(&[("d", 1.0), ("c", 2.0), ("b", 3.0), ("a", 4.0)], &Limits::default());
    let ranks = |min: &'static [u8], max: &'static [u8], reverse| {
        set.ranks_of_names(&LexRange::parse(min, max).expect("a range"), reverse)
    };
    assert!(ranks(b"-", b"[c", false).is_empty());
    assert!(ranks(b"[b", b"+", false).is_empty());
    assert!(ranks(b"-", b"[c", true).is_empty());
    assert!(ranks(b"[b", b"[c", false).is_empty());
    assert_eq!(ranks(b"-", b"+", true), 0..4);
}

#[test]
fn draws_are_distinct_and_reach_every_member() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    for (limits, len) in [(limits(128), 20), (limits(0), 1000)] {
        let names: Vec<String> = (0..len).map(|n| format!("m{n}")).collect();
        let members: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
        let set = set_of(&members, &limits);
        for count in [0, 1, len / 10, len / 2, len, len * 2] {
            let mut drawn = HashSet::new();
            set.random_distinct(count, &mut random, |name, _| assert!(drawn.insert(name.to_vec())));
            assert_eq!(drawn.len(), count.min(len));
        }
        let mut seen = HashSet::new();
        for _ in 0..len * 20 {
            seen.insert(set.random(&mut random).expect("a member").0.to_vec());
        }
        assert_eq!(seen.len(), len);
    }
    assert!(Zset::new().random(&mut random).is_none());
}

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<u8>, f64, AddFlags),
    Remove(Vec<u8>),
    Pop(usize, bool),
    RemoveScores(ScoreRange),
    RemoveRanks(usize, usize),
}

/// Names that repeat, some of them integers.
fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => (-60i32..300).prop_map(|n| n.to_string().into_bytes()),
        1 => prop::collection::vec(97u8..100, 0..5),
    ]
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (-8i32..8).prop_map(f64::from),
        3 => (-40i32..40).prop_map(|n| f64::from(n) / 7.0),
        1 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, 1e300, -0.0, 4.0e18]),
    ]
}

fn score_range() -> impl Strategy<Value = ScoreRange> {
    (score(), any::<bool>(), score(), any::<bool>()).prop_map(
        |(min, min_exclusive, max, max_exclusive)| ScoreRange {
            min,
            min_exclusive,
            max,
            max_exclusive,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let flags = (0u8..32).prop_map(|bits| AddFlags {
        nx: bits & 7 == 1,
        xx: bits & 7 == 2,
        gt: bits & 7 == 3,
        lt: bits & 7 == 4,
        incr: bits & 24 == 24,
    });
    let step = prop_oneof![
        40 => (name(), score(), flags).prop_map(|(name, score, flags)| Step::Add(name, score, flags)),
        8 => name().prop_map(Step::Remove),
        1 => (0usize..20, any::<bool>()).prop_map(|(count, greatest)| Step::Pop(count, greatest)),
        1 => score_range().prop_map(Step::RemoveScores),
        1 => (0usize..300, 0usize..30).prop_map(|(start, count)| Step::RemoveRanks(start, count)),
    ];
    prop::collection::vec(step, 1..400)
}

fn add_to_model(model: &mut Model, name: &[u8], score: f64, flags: AddFlags) -> AddOutcome {
    let outcome = flags.decide(model.get(name).copied(), score);
    if let AddOutcome::Added(score) | AddOutcome::Updated(score) = outcome {
        model.insert(name.to_vec(), score);
    }
    outcome
}

fn remove_from_model(model: &mut Model, ranks: Range<usize>) -> Pairs {
    let removed: Pairs = sorted(model)[ranks].to_vec();
    for (name, _) in &removed {
        model.remove(name);
    }
    removed
}

fn apply(set: &mut Zset, model: &mut Model, step: &Step, limits: &Limits) {
    match step {
        Step::Add(name, score, flags) => {
            let expected = add_to_model(model, name, *score, *flags);
            assert_eq!(set.add(name, *score, *flags, limits), expected);
        }
        Step::Remove(name) => assert_eq!(set.remove(name), model.remove(name)),
        Step::Pop(count, greatest) => {
            let len = model.len();
            let count = (*count).min(len);
            let mut expected =
                remove_from_model(model, if *greatest { len - count..len } else { 0..count });
            if *greatest {
                expected.reverse();
            }
            let mut popped = Vec::new();
            set.pop(count, *greatest, |name, score| popped.push((name.to_vec(), score)));
            assert_eq!(popped, expected);
        }
        Step::RemoveScores(range) => {
            let ranks = ranks_in_model(
                &sorted(model),
                |score| range.starts_after(score),
                |score| range.ends_after(score),
            );
            let removed = remove_from_model(model, ranks);
            assert_eq!(set.remove_ranks(set.ranks_of_scores(range)), removed.len());
        }
        Step::RemoveRanks(start, count) => {
            let end = (start + count).min(model.len());
            let removed = remove_from_model(model, (*start).min(end)..end);
            assert_eq!(set.remove_ranks(*start..start + count), removed.len());
        }
    }
}

fn ranks_in_model(
    all: &Pairs,
    starts_after: impl Fn(f64) -> bool,
    ends_after: impl Fn(f64) -> bool,
) -> Range<usize> {
    let inside: Vec<usize> = (0..all.len())
        .filter(|&rank| !starts_after(all[rank].1) && ends_after(all[rank].1))
        .collect();
    inside.first().map_or(0..0, |&first| first..first + inside.len())
}

fn check(set: &Zset, model: &Model) {
    let all = sorted(model);
    let len = all.len();
    assert_eq!(set.len(), len);
    assert_eq!(collect(set.iter(0..len, false)), all);
    let mut reversed = collect(set.iter(0..len + 5, true));
    reversed.reverse();
    assert_eq!(reversed, all);
    for (rank, (name, score)) in all.iter().enumerate().step_by(7) {
        assert_eq!(set.score(name), Some(*score));
        assert_eq!(set.rank(name, false), Some((rank, *score)));
        assert_eq!(set.rank(name, true), Some((len - 1 - rank, *score)));
    }
    let mut scanned = Model::new();
    let mut cursor = 0;
    loop {
        cursor = set.scan(cursor, |name, score| {
            scanned.insert(name.to_vec(), score);
        });
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(&scanned, model);
}

fn check_ranges(
    set: &Zset,
    model: &Model,
    range: &ScoreRange,
    offset: usize,
    count: Option<usize>,
) {
    let all = sorted(model);
    let ranks =
        ranks_in_model(&all, |score| range.starts_after(score), |score| range.ends_after(score));
    let found = set.ranks_of_scores(range);
    assert_eq!(found.len(), ranks.len());
    for reverse in [false, true] {
        let mut expected = all[ranks.clone()].to_vec();
        if reverse {
            expected.reverse();
        }
        let expected: Pairs =
            expected.into_iter().skip(offset).take(count.unwrap_or(usize::MAX)).collect();
        let limited = limit_ranks(found.clone(), reverse, offset, count);
        assert_eq!(collect(set.iter(limited, reverse)), expected);
    }
}

#[test]
fn what_is_expected_decides_the_encoding() {
    let limits = limits(3);
    assert!(Zset::with_expected(3, 64, &limits).is_compact());
    assert!(!Zset::with_expected(4, 1, &limits).is_compact());
    assert!(!Zset::with_expected(1, 65, &limits).is_compact());
    let mut set = set_of(&[("a", 1.0)], &limits);
    set.expect_members(3, &limits);
    assert!(set.is_compact());
    set.expect_members(4, &limits);
    assert!(!set.is_compact());
    assert_eq!(set.score(b"a"), Some(1.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_a_sorted_map(
        steps in steps(),
        entries in prop::sample::select(vec![0usize, 5, 40, 128]),
        range in score_range(),
        offset in 0usize..10,
        count in prop::option::of(0usize..30),
    ) {
        let limits = limits(entries);
        let (mut set, mut model) = (Zset::new(), Model::new());
        for (number, step) in steps.iter().enumerate() {
            apply(&mut set, &mut model, step, &limits);
            if number % 40 == 0 || number + 1 == steps.len() {
                check(&set, &model);
                check_ranges(&set, &model, &range, offset, count);
            }
        }
    }

    #[test]
    fn ranges_of_names_are_those_of_a_sorted_set_of_names(
        names in prop::collection::btree_set(name(), 0..200),
        ends in (name(), name()),
        kinds in (0u8..4, 0u8..4),
        entries in prop::sample::select(vec![0usize, 128]),
    ) {
        let bound = |kind, name| match kind {
            0 => LexBound::Least,
            1 => LexBound::Greatest,
            2 => LexBound::Included(name),
            _ => LexBound::Excluded(name),
        };
        let range = LexRange { min: bound(kinds.0, &ends.0[..]), max: bound(kinds.1, &ends.1[..]) };
        let mut set = Zset::new();
        for name in &names {
            set.add(name, 3.5, AddFlags::default(), &limits(entries));
        }
        let expected: Vec<&Vec<u8>> =
            names.iter().filter(|name| !range.starts_after(name) && range.ends_after(name)).collect();
        for reverse in [false, true] {
            let ranks = set.ranks_of_names(&range, reverse);
            let found: Vec<Vec<u8>> = set.iter(ranks, false).map(|(name, _)| name.to_vec()).collect();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected.clone());
        }
    }
}
