//! The tree against a sorted vector, with its invariants checked after every step.

use super::*;
use crate::zset::member::Member;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Members with stable addresses, by name.
#[derive(Default)]
struct Pool(BTreeMap<Vec<u8>, Member>);

impl Pool {
    fn add(&mut self, score: f64, name: &[u8]) -> MemberRef {
        let member = self.0.entry(name.to_vec()).or_insert_with(|| Member::new(score, name));
        // SAFETY: the pool is declared before the tree in every test, so it is dropped after it.
        unsafe { member.share() }
    }

    fn sorted(&self) -> Vec<(f64, Vec<u8>)> {
        let mut all: Vec<_> = self.0.iter().map(|(name, m)| (m.score(), name.clone())).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        all
    }
}

/// Checks depth, counts, least members, order and fill; returns the node's depth and how full the
/// leaves are.
fn check_node(
    node: &Node,
    edges: Edges,
    top: bool,
    seen: &mut Vec<MemberRef>,
    counts: &mut NodeCounts,
) -> usize {
    let edge = edges.left || edges.right;
    assert!(top || node.slots() > 0, "empty node");
    assert!(edge || node.slots() >= LEAST_SLOTS, "thin node: {}", node.slots());
    match node {
        Node::Leaf(leaf) => {
            counts.leaves += 1;
            seen.extend(leaf.iter().copied());
            1
        }
        Node::Inner(inner) => {
            counts.inners += 1;
            assert!(!top || inner.len() > 1, "a root with one child");
            let mut depth = None;
            for (index, child) in inner.iter().enumerate() {
                let start = seen.len();
                let below = Edges {
                    left: edges.left && index == 0,
                    right: edges.right && index + 1 == inner.len(),
                };
                let own = check_node(&child.node, below, false, seen, counts);
                assert_eq!(*depth.get_or_insert(own), own, "uneven depth");
                assert_eq!(child.count, seen.len() - start);
                assert!(child.least == seen[start]);
                assert_eq!(child.least_score, child.least.score());
            }
            1 + depth.expect("children")
        }
    }
}

fn check(tree: &Tree) -> Vec<(f64, Vec<u8>)> {
    let mut seen = Vec::new();
    let mut counts = NodeCounts::default();
    let depth =
        check_node(&tree.root, Edges { left: true, right: true }, true, &mut seen, &mut counts);
    assert!(depth <= MAX_HEIGHT);
    assert_eq!(seen.len(), tree.len());
    assert_eq!((counts.leaves, counts.inners), (tree.nodes.leaves, tree.nodes.inners));
    for pair in seen.windows(2) {
        assert_eq!(pair[0].order(pair[1].score(), pair[1].name()), Ordering::Less);
    }
    seen.iter().map(|m| (m.score(), m.name().to_vec())).collect()
}

fn filled(pool: &mut Pool, scores: impl Iterator<Item = f64>) -> Tree {
    let mut tree = Tree::new();
    for (index, score) in scores.enumerate() {
        tree.insert(pool.add(score, format!("m{index:09}").as_bytes()));
    }
    tree
}

#[test]
fn nodes_have_the_promised_sizes() {
    assert_eq!(size_of::<Leaf>(), 512);
    assert!(size_of::<Inner>() <= 2560);
    assert_eq!(size_of::<Child>(), 40);
}

#[test]
fn growing_upwards_or_downwards_fills_the_leaves() {
    for sign in [1.0, -1.0] {
        let mut pool = Pool::default();
        let tree = filled(&mut pool, (0..50_000).map(|n| sign * f64::from(n)));
        check(&tree);
        let fill = tree.len() as f64 / (tree.nodes.leaves * LEAF_SLOTS) as f64;
        assert!(fill > 0.99, "{fill}");
    }
}

#[test]
fn growing_in_no_order_fills_the_leaves_to_three_quarters() {
    let mut pool = Pool::default();
    let tree = filled(&mut pool, (0..50_000u32).map(|n| f64::from(n.wrapping_mul(0x9E37_79B1))));
    check(&tree);
    let fill = tree.len() as f64 / (tree.nodes.leaves * LEAF_SLOTS) as f64;
    assert!(fill > 0.75, "{fill}");
}

#[test]
fn empties_from_either_end_and_from_the_middle() {
    for pick in [0usize, 1, 2] {
        let mut pool = Pool::default();
        let mut tree = filled(&mut pool, (0..5_000).map(f64::from));
        while !tree.is_empty() {
            let rank = [0, tree.len() - 1, tree.len() / 2][pick];
            let member = *tree.at(rank).expect("rank below len");
            assert!(tree.remove(member.score(), member.name()).is_some());
            if tree.len() % 97 == 0 {
                check(&tree);
            }
        }
        assert_eq!((tree.nodes.leaves, tree.nodes.inners), (1, 0));
        assert!(tree.at(0).is_none());
    }
}

#[test]
fn iterates_any_span_both_ways() {
    let mut pool = Pool::default();
    let tree = filled(&mut pool, (0..9_000).map(|n| f64::from(n * 7919 % 9_000)));
    for span in [
        0..0,
        0..1,
        0..9_000,
        62..64,
        63..63,
        4_000..4_500,
        8_999..9_000,
        8_999..20_000,
        9_000..9_001,
    ] {
        let expected: Vec<f64> = span.clone().filter(|&n| n < 9_000).map(|n| n as f64).collect();
        let up: Vec<f64> = tree.iter(span.clone(), false).map(|m| m.score()).collect();
        let mut down: Vec<f64> = tree.iter(span, true).map(|m| m.score()).collect();
        down.reverse();
        assert_eq!(up, expected);
        assert_eq!(down, expected);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(i8, u16),
    Remove(u16),
    Rescore(u16, i8),
    RemoveSpan(u16, u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (any::<i8>(), 0..3_000u16).prop_map(|(s, n)| Step::Insert(s, n)),
        2 => (0..3_000u16).prop_map(Step::Remove),
        2 => (0..3_000u16, any::<i8>()).prop_map(|(n, s)| Step::Rescore(n, s)),
        1 => (any::<u16>(), any::<u8>()).prop_map(|(at, len)| Step::RemoveSpan(at, len)),
    ];
    prop::collection::vec(step, 1..1_500)
}

fn apply(tree: &mut Tree, pool: &mut Pool, step: &Step) {
    match *step {
        Step::Insert(score, name) => {
            let name = name.to_be_bytes();
            if !pool.0.contains_key(&name[..]) {
                tree.insert(pool.add(f64::from(score) / 4.0, &name));
            }
        }
        Step::Remove(name) => {
            let name = name.to_be_bytes();
            let score = pool.0.get(&name[..]).map_or(0.0, Member::score);
            assert_eq!(tree.remove(score, &name).is_some(), pool.0.contains_key(&name[..]));
            pool.0.remove(&name[..]);
        }
        Step::Rescore(name, score) => {
            let name = name.to_be_bytes();
            let old = pool.0.get(&name[..]).map_or(0.0, Member::score);
            assert_eq!(
                tree.rescore(old, &name, f64::from(score) / 4.0),
                pool.0.contains_key(&name[..])
            );
        }
        Step::RemoveSpan(at, len) => {
            for _ in 0..len {
                if let Some(member) = tree.at(usize::from(at) % tree.len().max(1)).copied() {
                    tree.remove(member.score(), member.name());
                    pool.0.remove(member.name());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn behaves_as_a_sorted_vector(steps in steps()) {
        let mut pool = Pool::default();
        let mut tree = Tree::new();
        for (number, step) in steps.iter().enumerate() {
            apply(&mut tree, &mut pool, step);
            if number % 50 == 0 || number + 1 == steps.len() {
                let model = pool.sorted();
                prop_assert_eq!(&check(&tree), &model);
                for (rank, (score, name)) in model.iter().enumerate().step_by(13) {
                    prop_assert_eq!(tree.rank(*score, name), rank);
                    prop_assert_eq!(tree.at(rank).expect("rank below len").name(), &name[..]);
                    let below = tree.count_before(|own, _| own < *score);
                    prop_assert_eq!(below, model.partition_point(|m| m.0 < *score));
                }
            }
        }
    }
}
