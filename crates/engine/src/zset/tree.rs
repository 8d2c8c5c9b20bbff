//! The order of a large sorted set: a B+tree of member pointers by (score, name) whose inner nodes
//! count what lies below them, so that a rank, and the member at a rank, cost one descent.
//!
//! A leaf is 63 pointers and a length: 512 bytes, an allocator class. It does not repeat the
//! scores: sixteen bytes a slot instead of eight would cost 8 to 12 bytes a member, and the search
//! reads only the six or so members that it probes. Inner nodes do repeat the least score of each
//! child (they are a sixtieth of the slots), so a descent reads no member before the leaf unless
//! scores tie. A node that overflows at the end, or the beginning, of the whole tree is cut there
//! and stays full: sets that grow in score order, up or down, fill their leaves. In-between, nodes
//! split in the middle.

use super::member::MemberRef;
use arrayvec::ArrayVec;
use std::cmp::Ordering;
use std::ops::Range;

/// Members in a leaf: with the length it makes 512 bytes.
const LEAF_SLOTS: usize = 63;
/// Children of an inner node: 2528 bytes, in the allocator's 2560-byte class.
const INNER_SLOTS: usize = 63;
/// A node that a removal leaves with fewer slots than this is joined with, or filled from, a
/// neighbour.
const LEAST_SLOTS: usize = 16;
/// Free slots that make a neighbour worth sharing with before a full node is split.
const SPILL_SLOTS: usize = 8;
/// Levels of inner nodes an iterator can hold: at `LEAST_SLOTS` children each, enough for 2^44
/// members.
const MAX_HEIGHT: usize = 10;

type Leaf = ArrayVec<MemberRef, LEAF_SLOTS>;
type Inner = ArrayVec<Child, INNER_SLOTS>;

enum Node {
    Leaf(Box<Leaf>),
    Inner(Box<Inner>),
}

/// A child of an inner node with what its parent knows of it.
struct Child {
    node: Node,
    /// Members below.
    count: usize,
    /// The least member below, and its score.
    least: MemberRef,
    least_score: f64,
}

/// Order-statistics tree of the members of one sorted set.
pub struct Tree {
    root: Node,
    len: usize,
    nodes: NodeCounts,
}

/// How many nodes there are, for [`Tree::memory_bytes`].
#[derive(Clone, Copy, Default)]
struct NodeCounts {
    leaves: usize,
    inners: usize,
}

/// Whether a node is on the left or the right edge of the whole tree.
#[derive(Clone, Copy)]
struct Edges {
    left: bool,
    right: bool,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl Tree {
    /// An empty tree.
    pub fn new() -> Self {
        Self {
            root: Node::Leaf(Box::default()),
            len: 0,
            nodes: NodeCounts { leaves: 1, inners: 0 },
        }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the nodes, as asked of the allocator.
    pub fn memory_bytes(&self) -> usize {
        self.nodes.leaves * size_of::<Leaf>() + self.nodes.inners * size_of::<Inner>()
    }

    /// Adds a member, which must not be in the tree yet.
    pub fn insert(&mut self, member: MemberRef) {
        let edges = Edges { left: true, right: true };
        let score = member.score();
        if let Some(right) = self.root.insert(member, score, edges, &mut self.nodes) {
            let left = std::mem::replace(&mut self.root, Node::Leaf(Box::default()));
            let mut inner = Box::<Inner>::default();
            inner.push(Child::over(left));
            inner.push(right);
            self.root = Node::Inner(inner);
            self.nodes.inners += 1;
        }
        self.len += 1;
    }

    /// Takes out the member with this score and name. `None` when there is none.
    pub fn remove(&mut self, score: f64, name: &[u8]) -> Option<MemberRef> {
        let removed = self.root.remove(score, name, &mut self.nodes)?;
        self.len -= 1;
        while let Node::Inner(inner) = &mut self.root {
            match inner.len() {
                0 => {
                    self.root = Node::Leaf(Box::default());
                    self.nodes.leaves += 1;
                }
                1 => {
                    let only = inner.pop().expect("one child");
                    self.root = only.node;
                }
                _ => break,
            }
            self.nodes.inners -= 1;
        }
        Some(removed)
    }

    /// Gives a member a new score; `false` (and nothing done) when it is not in the tree under
    /// `(score, name)`.
    pub fn rescore(&mut self, score: f64, name: &[u8], new_score: f64) -> bool {
        if let Some(member) = self.keeps_place(score, name, new_score) {
            member.set_score(new_score);
            return true;
        }
        let Some(mut member) = self.remove(score, name) else {
            return false;
        };
        member.set_score(new_score);
        self.insert(member);
        true
    }

    /// The member of rank `rank`, counted from 0 at the least.
    pub fn at(&self, rank: usize) -> Option<&MemberRef> {
        let mut left = rank;
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(leaf) => return leaf.get(left),
                Node::Inner(inner) => node = &child_at(inner, &mut left)?.1.node,
            }
        }
    }

    /// How many members come before the first for which `before` is false. `before(score, member)`
    /// must be true for a prefix of the order and false for the rest; it is given the score apart
    /// so that it need not read the member.
    pub fn count_before(&self, before: impl Fn(f64, &MemberRef) -> bool) -> usize {
        let mut rank = 0;
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(leaf) => return rank + leaf.partition_point(|m| before(m.score(), m)),
                Node::Inner(inner) => {
                    let after = inner.partition_point(|c| before(c.least_score, &c.least));
                    let Some(last) = after.checked_sub(1) else {
                        return rank;
                    };
                    rank += inner[..last].iter().map(|c| c.count).sum::<usize>();
                    node = &inner[last].node;
                }
            }
        }
    }

    /// Rank of `(score, name)`: how many members are less.
    pub fn rank(&self, score: f64, name: &[u8]) -> usize {
        self.count_before(|own, member| is_before(own, member, score, name))
    }

    /// The members whose ranks are in `ranks`, upwards, or downwards from the last of them.
    pub fn iter(&self, ranks: Range<usize>, reverse: bool) -> Iter<'_> {
        let end = ranks.end.min(self.len);
        let remaining = end.saturating_sub(ranks.start);
        let mut iter = Iter { path: ArrayVec::new(), leaf: &[], position: 0, remaining, reverse };
        if remaining > 0 {
            iter.seek(&self.root, if reverse { end - 1 } else { ranks.start });
        }
        iter
    }

    /// The member under `(score, name)`, if `new_score` leaves it between its neighbours inside its
    /// leaf.
    fn keeps_place(&mut self, score: f64, name: &[u8], new_score: f64) -> Option<&mut MemberRef> {
        let mut node = &mut self.root;
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let position = leaf.binary_search_by(|m| m.order(score, name)).ok()?;
                    let before = leaf.get(position.checked_sub(1)?)?;
                    let after = leaf.get(position + 1)?;
                    let stays = before.order(new_score, name) == Ordering::Less
                        && after.order(new_score, name) == Ordering::Greater;
                    return if stays { Some(&mut leaf[position]) } else { None };
                }
                Node::Inner(inner) => {
                    let index = child_for(inner, score, name);
                    node = &mut inner[index].node;
                }
            }
        }
    }
}

/// Walks members in one direction; made by [`Tree::iter`].
pub struct Iter<'a> {
    path: ArrayVec<(&'a Inner, usize), MAX_HEIGHT>,
    leaf: &'a [MemberRef],
    position: usize,
    remaining: usize,
    reverse: bool,
}

impl<'a> Iter<'a> {
    /// Goes down from `node` to the member of rank `rank` below it.
    fn seek(&mut self, mut node: &'a Node, mut rank: usize) {
        loop {
            match node {
                Node::Leaf(leaf) => {
                    self.leaf = leaf;
                    self.position = rank;
                    return;
                }
                Node::Inner(inner) => {
                    let (index, child) =
                        child_at(inner, &mut rank).expect("the rank was checked against the count");
                    self.path.push((inner, index));
                    node = &child.node;
                }
            }
        }
    }

    /// Goes to the first member of the next leaf, or the last member of the leaf before.
    fn next_leaf(&mut self) {
        while let Some((inner, index)) = self.path.pop() {
            let next = if self.reverse { index.checked_sub(1) } else { Some(index + 1) };
            let Some(next) = next.filter(|&next| next < inner.len()) else {
                continue;
            };
            self.path.push((inner, next));
            let child = &inner[next];
            self.seek(&child.node, if self.reverse { child.count - 1 } else { 0 });
            return;
        }
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a MemberRef;

    fn next(&mut self) -> Option<&'a MemberRef> {
        if self.remaining == 0 {
            return None;
        }
        let member = &self.leaf[self.position];
        self.remaining -= 1;
        if self.remaining > 0 {
            match (self.reverse, self.position) {
                (true, 0) => self.next_leaf(),
                (true, _) => self.position -= 1,
                (false, last) if last + 1 == self.leaf.len() => self.next_leaf(),
                (false, _) => self.position += 1,
            }
        }
        Some(member)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl Child {
    /// Wraps a node that is not empty.
    fn over(node: Node) -> Self {
        let least = node.least().expect("a child is never empty");
        Self { count: node.count(), least, least_score: least.score(), node }
    }

    /// Counts again, and looks up the least again, after members moved between nodes.
    fn refresh(&mut self) {
        self.count = self.node.count();
        self.least = self.node.least().expect("a child is never empty");
        self.least_score = self.least.score();
    }
}

impl Node {
    /// Members below.
    fn count(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.len(),
            Self::Inner(inner) => inner.iter().map(|c| c.count).sum(),
        }
    }

    /// The least member below.
    fn least(&self) -> Option<MemberRef> {
        match self {
            Self::Leaf(leaf) => leaf.first().copied(),
            Self::Inner(inner) => inner.first().map(|c| c.least),
        }
    }

    /// Members of a leaf, children of an inner node.
    fn slots(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.len(),
            Self::Inner(inner) => inner.len(),
        }
    }

    /// Members or children that could be added.
    fn free_slots(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.remaining_capacity(),
            Self::Inner(inner) => inner.remaining_capacity(),
        }
    }

    /// Adds a member below; a node that had to be split off comes back, to stand to the right of
    /// this one.
    fn insert(
        &mut self,
        member: MemberRef,
        score: f64,
        edges: Edges,
        nodes: &mut NodeCounts,
    ) -> Option<Child> {
        match self {
            Self::Leaf(leaf) => {
                let position =
                    leaf.partition_point(|m| is_before(m.score(), m, score, member.name()));
                let right = insert_slot(leaf, position, member, edges)?;
                nodes.leaves += 1;
                Some(Child::over(Self::Leaf(right)))
            }
            Self::Inner(inner) => {
                let mut index = child_for(inner, score, member.name());
                if inner[index].node.free_slots() == 0 && spill(inner, index, nodes) {
                    index = child_for(inner, score, member.name());
                }
                let below = Edges {
                    left: edges.left && index == 0,
                    right: edges.right && index + 1 == inner.len(),
                };
                let child = &mut inner[index];
                let Some(split_off) = child.node.insert(member, score, below, nodes) else {
                    child.count += 1;
                    if child.least.order(score, member.name()) == Ordering::Greater {
                        child.least = member;
                        child.least_score = score;
                    }
                    return None;
                };
                child.refresh();
                let right = insert_slot(inner, index + 1, split_off, edges)?;
                nodes.inners += 1;
                Some(Child::over(Self::Inner(right)))
            }
        }
    }

    /// Takes a member out below. The node may be left empty, which its parent mends.
    fn remove(&mut self, score: f64, name: &[u8], nodes: &mut NodeCounts) -> Option<MemberRef> {
        match self {
            Self::Leaf(leaf) => {
                let position = leaf.binary_search_by(|m| m.order(score, name)).ok()?;
                Some(leaf.remove(position))
            }
            Self::Inner(inner) => {
                let index = child_for(inner, score, name);
                let child = &mut inner[index];
                let removed = child.node.remove(score, name, nodes)?;
                if child.node.slots() == 0 {
                    nodes.forget(&child.node);
                    inner.remove(index);
                    return Some(removed);
                }
                child.count -= 1;
                if child.least == removed {
                    child.refresh();
                }
                if child.node.slots() < LEAST_SLOTS {
                    mend(inner, index, nodes);
                }
                Some(removed)
            }
        }
    }
}

impl NodeCounts {
    fn forget(&mut self, node: &Node) {
        match node {
            Node::Leaf(_) => self.leaves -= 1,
            Node::Inner(_) => self.inners -= 1,
        }
    }
}

/// Whether a member, whose score is `own`, comes before `(score, name)`.
fn is_before(own: f64, member: &MemberRef, score: f64, name: &[u8]) -> bool {
    own < score || (own == score && member.name() < name)
}

/// Index of the child under which `(score, name)` is, or would be.
fn child_for(inner: &Inner, score: f64, name: &[u8]) -> usize {
    let not_after =
        |c: &Child| c.least_score < score || (c.least_score == score && c.least.name() <= name);
    inner.partition_point(not_after).saturating_sub(1)
}

/// The child that holds the member of rank `rank` below `inner`; `rank` becomes the rank below that
/// child.
fn child_at<'a>(inner: &'a Inner, rank: &mut usize) -> Option<(usize, &'a Child)> {
    for (index, child) in inner.iter().enumerate() {
        if *rank < child.count {
            return Some((index, child));
        }
        *rank -= child.count;
    }
    None
}

/// Inserts into a node's slots; when they are full, cuts off and returns the right part.
fn insert_slot<T, const N: usize>(
    slots: &mut Box<ArrayVec<T, N>>,
    position: usize,
    slot: T,
    edges: Edges,
) -> Option<Box<ArrayVec<T, N>>> {
    if slots.len() < N {
        slots.insert(position, slot);
        return None;
    }
    let cut = if edges.right && position == N {
        N
    } else if edges.left && position <= 1 {
        position
    } else {
        N / 2
    };
    let mut right = Box::new(ArrayVec::new());
    right.extend(slots.drain(cut..));
    if position > cut || right.len() < slots.len() {
        right.insert(position - cut, slot);
    } else {
        slots.insert(position, slot);
    }
    Some(right)
}

/// Makes room in the full child `index` by sharing its slots with a neighbour that has room to
/// spare; `false` if neither has. Random insertion then leaves leaves four fifths full, not two
/// thirds.
fn spill(inner: &mut Inner, index: usize, nodes: &mut NodeCounts) -> bool {
    let has_room = |at: usize| inner.get(at).is_some_and(|c| c.node.free_slots() >= SPILL_SLOTS);
    if index > 0 && has_room(index - 1) {
        balance(inner, index - 1, nodes);
    } else if has_room(index + 1) {
        balance(inner, index, nodes);
    } else {
        return false;
    }
    true
}

/// Joins the child `index`, which has few slots left, with a neighbour, or evens the two out. An
/// only child is left alone.
fn mend(inner: &mut Inner, index: usize, nodes: &mut NodeCounts) {
    if index + 1 < inner.len() {
        balance(inner, index, nodes);
    } else if index > 0 {
        balance(inner, index - 1, nodes);
    }
}

/// Joins the children `left` and `left + 1` if they fit into one node, else evens them out.
fn balance(inner: &mut Inner, left: usize, nodes: &mut NodeCounts) {
    let (head, tail) = inner.split_at_mut(left + 1);
    let (first, second) = (&mut head[left], &mut tail[0]);
    match (&mut first.node, &mut second.node) {
        (Node::Leaf(left), Node::Leaf(right)) => even_out(left, right),
        (Node::Inner(left), Node::Inner(right)) => even_out(left, right),
        _ => unreachable!("neighbours are on one level"),
    }
    first.refresh();
    if second.node.slots() > 0 {
        second.refresh();
    } else {
        nodes.forget(&second.node);
        inner.remove(left + 1);
    }
}

/// Moves all slots to the left node if they fit, else gives each node half of them.
fn even_out<T, const N: usize>(left: &mut ArrayVec<T, N>, right: &mut ArrayVec<T, N>) {
    let total = left.len() + right.len();
    let left_share = if total <= N { total } else { total / 2 };
    if left.len() <= left_share {
        left.extend(right.drain(..left_share - left.len()));
    } else {
        let mut moved: ArrayVec<T, N> = left.drain(left_share..).collect();
        moved.extend(right.drain(..));
        *right = moved;
    }
}

#[cfg(test)]
mod tests;
