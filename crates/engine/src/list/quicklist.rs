//! Long lists: a row of listpacks, and of single values too large for one.

use std::collections::VecDeque;
use std::ops::Range;

use super::limit::NodeLimit;
use super::{Place, Side};
use crate::listpack::{self, Entry, Listpack, Position};
use crate::size_class::size_class;

/// What Redis adds to a value's length when it asks whether a node has room for it.
const ENTRY_OVERHEAD: usize = 8;

/// Bytes that two listpacks have once when they are joined: header and end.
const FRAME: usize = 7;

/// One node. The count stands beside the pointer, so that finding an index reads no node.
#[derive(Clone, Debug)]
enum Node {
    Packed { listpack: Listpack, count: u32 },
    Plain(Box<[u8]>),
}

/// Where an element stands: its node, and its place in it (none in a plain node).
#[derive(Clone, Copy)]
struct Spot {
    node: usize,
    position: Option<Position>,
}

/// A list of more than one listpack.
#[derive(Clone, Debug, Default)]
pub(super) struct Quicklist {
    nodes: VecDeque<Node>,
    len: usize,
}

impl Quicklist {
    pub(super) fn from_listpack(listpack: Listpack) -> Self {
        let mut list = Self::default();
        if !listpack.is_empty() {
            list.len = listpack.len();
            list.nodes.push_back(Node::packed(listpack));
        }
        list
    }

    /// The one listpack that the list has become, if it is small enough to be only that.
    pub(super) fn take_listpack(&mut self, limit: NodeLimit) -> Option<Listpack> {
        if self.nodes.is_empty() {
            return Some(Listpack::new());
        }
        let (1, Some(Node::Packed { listpack, count })) = (self.nodes.len(), self.nodes.front())
        else {
            return None;
        };
        if !limit.allows_return(listpack.total_bytes(), *count as usize) {
            return None;
        }
        match self.nodes.pop_front() {
            Some(Node::Packed { listpack, .. }) => Some(listpack),
            _ => None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let nodes: usize = self.nodes.iter().map(Node::memory_bytes).sum();
        nodes + size_class(self.nodes.capacity() * size_of::<Node>()) + size_of::<Self>()
    }

    pub(super) fn push(&mut self, limit: NodeLimit, side: Side, value: &[u8]) {
        self.len += 1;
        let end = match side {
            Side::Left => self.nodes.front_mut(),
            Side::Right => self.nodes.back_mut(),
        };
        if let Some(node) = end {
            if node.has_room(limit, value) {
                return node.push(side, value);
            }
            node.shrink_to_fit();
        }
        let node = Node::holding(limit, value);
        match side {
            Side::Left => self.nodes.push_front(node),
            Side::Right => self.nodes.push_back(node),
        }
    }

    pub(super) fn pop<R>(&mut self, side: Side, read: impl FnOnce(Entry<'_>) -> R) -> Option<R> {
        let index = match side {
            Side::Left => 0,
            Side::Right => self.nodes.len().checked_sub(1)?,
        };
        let node = self.nodes.get(index)?;
        let position = match side {
            Side::Left => node.first(),
            Side::Right => node.last(),
        };
        let value = read(node.get(position));
        self.remove_at(Spot { node: index, position });
        Some(value)
    }

    pub(super) fn get(&self, index: usize) -> Option<Entry<'_>> {
        let spot = self.locate(index)?;
        Some(self.nodes[spot.node].get(spot.position))
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        self.nodes.iter().flat_map(Node::iter)
    }

    pub(super) fn for_range(&self, range: Range<usize>, mut visit: impl FnMut(Entry<'_>)) {
        let Some(spot) = self.locate(range.start) else { return };
        let mut left = range.len();
        let mut entries = self.nodes[spot.node].iter_from(spot.position);
        for next in spot.node + 1.. {
            for entry in entries.take(left) {
                visit(entry);
                left -= 1;
            }
            match self.nodes.get(next) {
                Some(node) if left > 0 => entries = node.iter(),
                _ => return,
            }
        }
    }

    pub(super) fn set(&mut self, limit: NodeLimit, index: usize, value: &[u8]) -> bool {
        let Some(spot) = self.locate(index) else { return false };
        if let Some(Node::Packed { listpack, .. }) = self.nodes.get_mut(spot.node)
            && let Some(position) = spot.position
        {
            let old = listpack.get(position).text_len();
            let grown = (listpack.total_bytes() + value.len()).saturating_sub(old);
            if limit.allows(grown, 0) {
                listpack.replace(position, value);
                return true;
            }
        } else if limit.is_large(value) {
            self.nodes[spot.node] = Node::Plain(value.into());
            return true;
        }
        self.insert_at(limit, spot, Place::Before, value);
        // One element further now, wherever the new one went.
        let old = self.locate(index + 1).expect("the element that was there");
        self.remove_at(old);
        self.merge_around(limit, old.node);
        true
    }

    /// Inserts beside the first element that is `pivot`; false if there is none.
    pub(super) fn insert(
        &mut self,
        limit: NodeLimit,
        place: Place,
        pivot: &[u8],
        value: &[u8],
    ) -> bool {
        let found = self.nodes.iter().enumerate().find_map(|(index, node)| match node {
            Node::Packed { listpack, .. } => {
                let position = listpack.find(listpack.first()?, pivot, 0)?;
                Some(Spot { node: index, position: Some(position) })
            }
            Node::Plain(bytes) => {
                (**bytes == *pivot).then_some(Spot { node: index, position: None })
            }
        });
        let Some(spot) = found else { return false };
        self.insert_at(limit, spot, place, value);
        true
    }

    /// Removes elements that are `value`: `count` of them from the given side.
    pub(super) fn remove(&mut self, side: Side, count: usize, value: &[u8]) -> usize {
        let mut left = count;
        let mut remove = |node: &mut Node| {
            if left > 0 {
                left -= node.remove_matching(side, left, value);
            }
        };
        match side {
            Side::Left => self.nodes.iter_mut().for_each(&mut remove),
            Side::Right => self.nodes.iter_mut().rev().for_each(&mut remove),
        }
        self.nodes.retain(|node| node.count() > 0);
        self.len -= count - left;
        count - left
    }

    /// Removes `count` elements from one side.
    pub(super) fn drop_from(&mut self, side: Side, count: usize) {
        let mut left = count.min(self.len);
        self.len -= left;
        while left > 0 {
            let node = match side {
                Side::Left => self.nodes.front_mut(),
                Side::Right => self.nodes.back_mut(),
            };
            let Some(node) = node else { return };
            let size = node.count();
            if size > left {
                return node.drop_from(side, left);
            }
            left -= size;
            match side {
                Side::Left => self.nodes.pop_front(),
                Side::Right => self.nodes.pop_back(),
            };
        }
    }

    /// Finds the element at `index`, adding up node counts from the nearer end.
    fn locate(&self, index: usize) -> Option<Spot> {
        if index >= self.len {
            return None;
        }
        let (node, inner) = if index < self.len / 2 {
            let mut left = index;
            let node = self.nodes.iter().position(|node| {
                let is_here = left < node.count();
                if !is_here {
                    left -= node.count();
                }
                is_here
            })?;
            (node, left)
        } else {
            let mut left = self.len - index;
            let node = self.nodes.iter().rposition(|node| {
                let is_here = left <= node.count();
                if !is_here {
                    left -= node.count();
                }
                is_here
            })?;
            (node, self.nodes[node].count() - left)
        };
        Some(Spot { node, position: self.nodes[node].seek(inner) })
    }

    fn remove_at(&mut self, spot: Spot) {
        self.len -= 1;
        match (&mut self.nodes[spot.node], spot.position) {
            (Node::Packed { listpack, count }, Some(position)) if *count > 1 => {
                listpack.remove(position);
                *count -= 1;
            }
            _ => drop(self.nodes.remove(spot.node)),
        }
    }

    /// Inserts beside the element at `spot`, splitting its node where that has no room.
    fn insert_at(&mut self, limit: NodeLimit, spot: Spot, place: Place, value: &[u8]) {
        self.len += 1;
        let index = spot.node;
        let node = &mut self.nodes[index];
        let has_room = node.has_room(limit, value);
        let after = match node {
            Node::Packed { listpack, count } => {
                let position = spot.position.expect("a packed node's spot has a position");
                if has_room {
                    *count += 1;
                    match place {
                        Place::Before => listpack.insert_before(position, value),
                        Place::After => listpack.insert_after(position, value),
                    };
                    return;
                }
                match place {
                    Place::Before => Some(position),
                    Place::After => listpack.next(position),
                }
            }
            Node::Plain(_) => None,
        };
        let is_first = match (&place, spot.position) {
            (Place::Before, Some(_)) => node.first() == after,
            (Place::Before, None) => true,
            (Place::After, _) => false,
        };
        if is_first {
            return self.insert_between(limit, index, value);
        }
        if let Some(after) = after {
            let tail = node.split_off(after);
            self.nodes.insert(index + 1, tail);
        }
        self.insert_between(limit, index + 1, value);
        self.merge_around(limit, index);
    }

    /// Adds a value between the node at `next` and the one before it.
    fn insert_between(&mut self, limit: NodeLimit, next: usize, value: &[u8]) {
        if let Some(before) = next.checked_sub(1).and_then(|index| self.nodes.get_mut(index))
            && before.has_room(limit, value)
        {
            return before.push(Side::Right, value);
        }
        if let Some(after) = self.nodes.get_mut(next)
            && after.has_room(limit, value)
        {
            return after.push(Side::Left, value);
        }
        self.nodes.insert(next, Node::holding(limit, value));
    }

    /// Joins the nodes near `index` that fit into one, so that splits do not pile up small nodes.
    fn merge_around(&mut self, limit: NodeLimit, index: usize) {
        for first in (index.saturating_sub(2)..=index + 1).rev() {
            let (Some(Node::Packed { listpack: left, count: left_count }), Some(right)) =
                (self.nodes.get(first), self.nodes.get(first + 1))
            else {
                continue;
            };
            let Node::Packed { listpack: right, count: right_count } = right else { continue };
            let bytes = left.total_bytes() + right.total_bytes() - FRAME;
            if !limit.allows(bytes, (left_count + right_count) as usize) {
                continue;
            }
            if let Some(Node::Packed { listpack: right, count: right_count }) =
                self.nodes.remove(first + 1)
                && let Some(Node::Packed { listpack, count }) = self.nodes.get_mut(first)
            {
                listpack.append(&right);
                *count += right_count;
            }
        }
    }
}

impl Node {
    fn packed(listpack: Listpack) -> Self {
        let count = listpack.len() as u32;
        Node::Packed { listpack, count }
    }

    /// A new node with one value.
    fn holding(limit: NodeLimit, value: &[u8]) -> Self {
        if limit.is_large(value) {
            return Node::Plain(value.into());
        }
        let mut listpack = Listpack::new();
        listpack.push_back(value);
        Node::Packed { listpack, count: 1 }
    }

    fn count(&self) -> usize {
        match self {
            Node::Packed { count, .. } => *count as usize,
            Node::Plain(_) => 1,
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Node::Packed { listpack, .. } => listpack.memory_bytes(),
            Node::Plain(bytes) => size_class(bytes.len()),
        }
    }

    fn has_room(&self, limit: NodeLimit, value: &[u8]) -> bool {
        match self {
            Node::Packed { listpack, count } => {
                let bytes = listpack.total_bytes() + value.len() + ENTRY_OVERHEAD;
                limit.allows(bytes, *count as usize + 1)
            }
            Node::Plain(_) => false,
        }
    }

    /// Adds a value at an end; the caller knows that there is room.
    fn push(&mut self, side: Side, value: &[u8]) {
        if let Node::Packed { listpack, count } = self {
            *count += 1;
            match side {
                Side::Left => listpack.push_front(value),
                Side::Right => listpack.push_back(value),
            }
        }
    }

    fn shrink_to_fit(&mut self) {
        if let Node::Packed { listpack, .. } = self {
            listpack.shrink_to_fit();
        }
    }

    fn first(&self) -> Option<Position> {
        match self {
            Node::Packed { listpack, .. } => listpack.first(),
            Node::Plain(_) => None,
        }
    }

    fn last(&self) -> Option<Position> {
        match self {
            Node::Packed { listpack, .. } => listpack.last(),
            Node::Plain(_) => None,
        }
    }

    fn seek(&self, index: usize) -> Option<Position> {
        match self {
            Node::Packed { listpack, .. } => listpack.seek(index.cast_signed()),
            Node::Plain(_) => None,
        }
    }

    fn get(&self, position: Option<Position>) -> Entry<'_> {
        match (self, position) {
            (Node::Packed { listpack, .. }, Some(position)) => listpack.get(position),
            (Node::Packed { .. }, None) => unreachable!("a packed node's spot has a position"),
            (Node::Plain(bytes), _) => Entry::Bytes(bytes),
        }
    }

    fn iter(&self) -> NodeIter<'_> {
        self.iter_from(self.first())
    }

    fn iter_from(&self, position: Option<Position>) -> NodeIter<'_> {
        match self {
            Node::Packed { listpack, .. } => {
                NodeIter { packed: position.map(|at| listpack.iter_from(at)), plain: None }
            }
            Node::Plain(bytes) => NodeIter { packed: None, plain: Some(Entry::Bytes(bytes)) },
        }
    }

    /// Splits off the elements from `position` on.
    fn split_off(&mut self, position: Position) -> Self {
        let Node::Packed { listpack, count } = self else {
            unreachable!("only packed nodes split")
        };
        let tail = Node::packed(listpack.split_off(position));
        *count -= tail.count() as u32;
        tail
    }

    fn drop_from(&mut self, side: Side, dropped: usize) {
        if let Node::Packed { listpack, count } = self {
            *count -= dropped as u32;
            let start = match side {
                Side::Left => listpack.first(),
                Side::Right => listpack.seek(-dropped.cast_signed()),
            };
            if let Some(start) = start {
                listpack.remove_run(start, dropped);
            }
        }
    }

    /// Removes up to `most` elements that are `value`, counted from `side`. A plain node that
    /// matches becomes an empty packed one.
    fn remove_matching(&mut self, side: Side, most: usize, value: &[u8]) -> usize {
        match self {
            Node::Packed { listpack, count } => {
                let removed = super::remove_matching(listpack, side, most, value);
                *count -= removed as u32;
                removed
            }
            Node::Plain(bytes) if most > 0 && **bytes == *value => {
                *self = Node::Packed { listpack: Listpack::new(), count: 0 };
                1
            }
            Node::Plain(_) => 0,
        }
    }
}

/// The elements of one node.
struct NodeIter<'a> {
    packed: Option<listpack::Iter<'a>>,
    plain: Option<Entry<'a>>,
}

impl<'a> Iterator for NodeIter<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        match &mut self.packed {
            Some(entries) => entries.next(),
            None => self.plain.take(),
        }
    }
}

impl DoubleEndedIterator for NodeIter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.packed {
            Some(entries) => entries.next_back(),
            None => self.plain.take(),
        }
    }
}
