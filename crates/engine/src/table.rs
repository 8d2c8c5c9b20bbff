//! The hash table of the engine: the keyspace and every large set, hash and sorted set stand in one.
//!
//! A bucket is one cache line: seven one-byte tags, a byte of marks, seven pointer-sized entries.
//! A lookup reads one line, compares seven tags at once, and follows a pointer only where the tag
//! agrees. A full bucket trades its seventh slot for a chain to an overflow bucket.
//!
//! The table grows by linear hashing: one bucket is split at a time, so no operation ever moves
//! more than a bucket's worth of entries, and the load, hence the memory per entry (13 to 14 bytes,
//! chains included), is the same at every size; doubling would swing between one and two times it.
//! Buckets live in segments so that growth never copies the bucket array either.
//!
//! `SCAN` order is Redis's reverse-binary order over bucket numbers, which linear hashing respects:
//! a bucket and the one split from it are neighbours in that order, so whatever is present from the
//! first call to the last is returned at least once, through growth and shrinking.

use std::mem::{ManuallyDrop, size_of};

use rand_core::RngCore;

/// What the table holds: a pointer-sized owning handle that can say its hash again.
///
/// The table asks for the hash when it splits or merges a bucket.
pub trait Hashed: Sized {
    /// The same hash that the entry was inserted with.
    fn hash(&self) -> u64;
}

const SLOTS: usize = 7;
/// The slot that a full bucket gives up for its chain.
const CHAIN_SLOT: usize = SLOTS - 1;
/// Bit 7 of the marks byte: the seventh slot holds a chain.
const CHAINED: u8 = 0x80;
/// Buckets in a segment: 2 KiB, an allocator size class.
const SEGMENT_BUCKETS: usize = 32;
const SEGMENT_SHIFT: u32 = SEGMENT_BUCKETS.trailing_zeros();
/// Mean entries a bucket above which a bucket is split, in eighths: 6.25, so that one bucket in
/// three has a chain; fewer cost a lookup less and a key more.
const GROW_EIGHTHS: usize = 50;
/// Mean entries a bucket below which two are merged, in eighths; far from the above, so that a
/// table at either edge does not split and merge in turn.
const SHRINK_EIGHTHS: usize = 16;
/// Draws before [`Table::random`] settles for the nearest entry.
const RANDOM_DRAWS: usize = 64;
/// Places a random draw chooses among in one bucket and its chain; longer chains are as good as absent.
const RANDOM_PLACES: usize = 16;

union Slot<T> {
    entry: ManuallyDrop<T>,
    chain: *mut Bucket<T>,
    vacant: usize,
}

#[repr(C, align(64))]
struct Bucket<T> {
    /// One byte a slot: 0 is vacant, otherwise eight bits of the hash (never 0).
    tags: [u8; SLOTS],
    /// One bit a slot for the table's user, and [`CHAINED`].
    marks: u8,
    slots: [Slot<T>; SLOTS],
}

/// A hash table of pointer-sized entries; see the module's description.
pub struct Table<T: Hashed> {
    segments: Vec<Box<[Bucket<T>]>>,
    /// Buckets in use; those beyond, up to the segment's end, are empty.
    bucket_count: usize,
    len: usize,
}

/// An entry found by [`Table::find_slot`], to be read, changed in place, marked or removed.
pub struct Occupied<'a, T: Hashed> {
    table: &'a mut Table<T>,
    /// The first bucket of the chain.
    head: *mut Bucket<T>,
    /// The one of the chain that holds the entry.
    bucket: *mut Bucket<T>,
    slot: usize,
}

// SAFETY: a table owns its entries and chains outright; nothing in it is tied to a thread.
unsafe impl<T: Hashed + Send> Send for Table<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Hashed + Sync> Sync for Table<T> {}

impl<T: Hashed> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Hashed> Table<T> {
    /// An empty table, which owns no memory yet.
    pub const fn new() -> Self {
        const { assert!(size_of::<T>() == size_of::<usize>(), "entries are pointer-sized") };
        Table { segments: Vec::new(), bucket_count: 0, len: 0 }
    }

    /// Entries in the table.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the table holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entry with this hash for which `is_it` holds.
    #[inline]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        if self.bucket_count == 0 {
            return None;
        }
        let mut bucket = self.bucket(self.index_of(hash));
        let tag = tag_of(hash);
        loop {
            let mut matches = bucket.matches(tag);
            while matches != 0 {
                // SAFETY: a slot whose tag is not 0 holds an entry (the chain slot's tag is 0).
                let entry = unsafe { &*bucket.slots[first(matches)].entry };
                if is_it(entry) {
                    return Some(entry);
                }
                matches &= matches - 1;
            }
            bucket = bucket.next()?;
        }
    }

    /// As [`Self::find`], for changing the entry in place; its hash must stay what it is.
    #[inline]
    pub fn find_mut(&mut self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&mut T> {
        self.find_slot(hash, is_it).map(Occupied::into_mut)
    }

    /// As [`Self::find`], with the means to mark, replace and remove what was found.
    #[inline]
    pub fn find_slot(
        &mut self,
        hash: u64,
        mut is_it: impl FnMut(&T) -> bool,
    ) -> Option<Occupied<'_, T>> {
        if self.bucket_count == 0 {
            return None;
        }
        // All pointers into the chain are derived from this one, which stays valid for as long as
        // nobody asks the table for the bucket again.
        let head: *mut Bucket<T> = self.bucket_mut(self.index_of(hash));
        let mut bucket = head;
        let tag = tag_of(hash);
        loop {
            // SAFETY: `bucket` is the head or a chain bucket of a table borrowed exclusively.
            let here = unsafe { &mut *bucket };
            let mut matches = here.matches(tag);
            while matches != 0 {
                let slot = first(matches);
                // SAFETY: a slot whose tag is not 0 holds an entry.
                if is_it(unsafe { &*here.slots[slot].entry }) {
                    return Some(Occupied { table: self, head, bucket, slot });
                }
                matches &= matches - 1;
            }
            bucket = here.next_ptr()?;
        }
    }

    /// Adds an entry that the caller knows to be absent; `marked` sets its mark.
    #[inline]
    pub fn insert(&mut self, hash: u64, entry: T, marked: bool) {
        if self.bucket_count == 0 {
            self.add_bucket();
        }
        let index = self.index_of(hash);
        self.bucket_mut(index).put(tag_of(hash), entry, marked);
        self.len += 1;
        if self.len * 8 > self.bucket_count * GROW_EIGHTHS {
            self.split_one();
        }
    }

    /// Takes out the entry with this hash for which `is_it` holds.
    #[inline]
    pub fn remove(&mut self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<T> {
        self.find_slot(hash, is_it).map(Occupied::remove)
    }

    /// Every entry, in no promised order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.bucket_count).flat_map(|index| Chain { bucket: Some(self.bucket(index)), slot: 0 })
    }

    /// Visits the entries of one step of a scan and returns the cursor of the next, 0 at the end.
    ///
    /// A scan from cursor 0 to cursor 0 visits at least once whatever is in the table throughout.
    pub fn scan(&self, cursor: u64, mut visit: impl FnMut(&T)) -> u64 {
        if self.bucket_count == 0 {
            return 0;
        }
        let (small, large) = self.masks();
        let wide = cursor as usize & large;
        // A bucket not yet split stands for itself and its neighbour to come, in one visit.
        let index = if wide < self.bucket_count { wide } else { wide & small };
        let is_split = (index | (small + 1)) < self.bucket_count || index > small;
        let mask = (if is_split { large } else { small }) as u64;
        for entry in (Chain { bucket: Some(self.bucket(index)), slot: 0 }) {
            visit(entry);
        }
        let filled = (cursor & mask) | !mask;
        filled.reverse_bits().wrapping_add(1).reverse_bits()
    }

    /// An entry drawn at random, each about equally likely; `None` if the table is empty.
    pub fn random(&self, random: &mut impl RngCore) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        // Bucket and place are drawn alike for all, so an entry is as likely in a crowded bucket.
        let pick =
            |draw: u64| (((draw & u64::from(u32::MAX)) * self.bucket_count as u64) >> 32) as usize;
        for _ in 0..RANDOM_DRAWS {
            let draw = random.next_u64();
            let place = (draw >> 60) as usize;
            debug_assert!(place < RANDOM_PLACES);
            let found = Chain { bucket: Some(self.bucket(pick(draw))), slot: 0 }.nth(place);
            if found.is_some() {
                return found;
            }
        }
        let start = pick(random.next_u64());
        (start..self.bucket_count)
            .chain(0..start)
            .find_map(|index| Chain { bucket: Some(self.bucket(index)), slot: 0 }.next())
    }

    /// Visits the marked entries of `count` buckets from bucket `start` on and removes those for
    /// which `is_over` holds, handing them to `removed`. Returns where the next sweep goes on,
    /// 0 after the last bucket.
    pub fn sweep_marked(
        &mut self,
        start: usize,
        count: usize,
        mut is_over: impl FnMut(&T) -> bool,
        mut removed: impl FnMut(T),
    ) -> usize {
        let mut index = start;
        while index < self.bucket_count && index < start + count {
            while let Some(entry) = self.take_marked(index, &mut is_over) {
                removed(entry);
            }
            index += 1;
        }
        self.shrink();
        if index >= self.bucket_count { 0 } else { index }
    }

    /// Asks the processor for the bucket of `hash`.
    #[inline]
    pub fn prefetch_bucket(&self, hash: u64) {
        if self.bucket_count != 0 {
            prefetch(self.bucket(self.index_of(hash)));
        }
    }

    /// Asks the processor for the entries that a lookup of `hash` will follow; the bucket is read.
    #[inline]
    pub fn prefetch_entry(&self, hash: u64) {
        if self.bucket_count == 0 {
            return;
        }
        let bucket = self.bucket(self.index_of(hash));
        let matches = bucket.matches(tag_of(hash));
        if matches != 0 {
            // SAFETY: every slot is a pointer-sized initialised word; a wrong address is harmless
            // to a prefetch.
            let entry = unsafe { bucket.slots[first(matches)].chain }.cast::<u8>();
            prefetch(entry);
            // A key of ordinary length and the beginning of its value reach into the next line.
            prefetch(entry.wrapping_add(64));
        }
    }

    /// Heap bytes of the table itself: buckets, chains and directory, without the entries' own.
    pub fn memory_bytes(&self) -> usize {
        let buckets: usize = self.segments.iter().map(|segment| segment.len()).sum();
        let chains: usize = (0..self.bucket_count)
            .map(|index| {
                std::iter::successors(self.bucket(index).next(), |bucket| bucket.next()).count()
            })
            .sum();
        (buckets + chains) * size_of::<Bucket<T>>()
            + self.segments.capacity() * size_of::<Box<[Bucket<T>]>>()
    }

    /// The masks of bucket numbers before and after the current round of splits.
    #[inline]
    fn masks(&self) -> (usize, usize) {
        let large = (usize::MAX >> 1) >> (self.bucket_count.leading_zeros() - 1);
        (large >> 1, large)
    }

    #[inline]
    fn index_of(&self, hash: u64) -> usize {
        let (_, large) = self.masks();
        self.wrap(hash as usize & large)
    }

    #[inline]
    fn wrap(&self, wide: usize) -> usize {
        let (small, _) = self.masks();
        if wide < self.bucket_count { wide } else { wide & small }
    }

    #[inline]
    fn bucket(&self, index: usize) -> &Bucket<T> {
        &self.segments[index >> SEGMENT_SHIFT][index & (SEGMENT_BUCKETS - 1)]
    }

    #[inline]
    fn bucket_mut(&mut self, index: usize) -> &mut Bucket<T> {
        &mut self.segments[index >> SEGMENT_SHIFT][index & (SEGMENT_BUCKETS - 1)]
    }

    /// Makes room for one bucket more and counts it. The first segment doubles until it is whole,
    /// so that a small table is small.
    fn add_bucket(&mut self) {
        let index = self.bucket_count;
        if index < SEGMENT_BUCKETS {
            let capacity = self.segments.first().map_or(0, |segment| segment.len());
            if index == capacity {
                let old = self.segments.pop().map_or(Vec::new(), Vec::from);
                let mut wider = old;
                wider.reserve_exact(capacity.max(1));
                wider.resize_with((capacity * 2).max(1), Bucket::empty);
                self.segments.push(wider.into_boxed_slice());
            }
        } else if index >> SEGMENT_SHIFT == self.segments.len() {
            self.segments.push((0..SEGMENT_BUCKETS).map(|_| Bucket::empty()).collect());
        }
        self.bucket_count += 1;
    }

    #[cold]
    fn split_one(&mut self) {
        self.add_bucket();
        let new_index = self.bucket_count - 1;
        // The new bucket's number without its top bit is the bucket that it is split from.
        let old_index = new_index - (1 << new_index.ilog2());
        let mut old = std::mem::replace(self.bucket_mut(old_index), Bucket::empty());
        old.prefetch_entries();
        while let Some((entry, marked)) = old.take_last() {
            let hash = entry.hash();
            let index = self.index_of(hash);
            debug_assert!(index == old_index || index == new_index);
            self.bucket_mut(index).put(tag_of(hash), entry, marked);
        }
    }

    /// Merges buckets while the table is far emptier than it needs to be.
    fn shrink(&mut self) {
        while self.bucket_count > 1 && self.len * 8 < (self.bucket_count - 1) * SHRINK_EIGHTHS {
            let last = self.bucket_count - 1;
            let mut from = std::mem::replace(self.bucket_mut(last), Bucket::empty());
            self.bucket_count = last;
            let into = last - (1 << last.ilog2());
            while let Some((entry, marked)) = from.take_last() {
                let tag = tag_of(entry.hash());
                self.bucket_mut(into).put(tag, entry, marked);
            }
            if last >= SEGMENT_BUCKETS && last & (SEGMENT_BUCKETS - 1) == 0 {
                self.segments.pop();
            }
        }
        if self.len == 0 {
            *self = Table::new();
        }
    }

    /// Removes one marked entry of the chain at `index` for which `is_over` holds.
    fn take_marked(&mut self, index: usize, is_over: &mut impl FnMut(&T) -> bool) -> Option<T> {
        let head: *mut Bucket<T> = self.bucket_mut(index);
        let mut bucket = head;
        loop {
            // SAFETY: `bucket` is the head or a chain bucket of a table borrowed exclusively.
            let here = unsafe { &mut *bucket };
            let mut marks = here.marks & !CHAINED;
            while marks != 0 {
                let slot = marks.trailing_zeros() as usize;
                // SAFETY: only occupied slots are marked.
                if is_over(unsafe { &*here.slots[slot].entry }) {
                    self.len -= 1;
                    // SAFETY: `head` leads to `bucket`, whose `slot` is occupied.
                    return Some(unsafe { Bucket::take(head, bucket, slot) });
                }
                marks &= marks - 1;
            }
            bucket = here.next_ptr()?;
        }
    }
}

impl<T: Hashed> Drop for Table<T> {
    fn drop(&mut self) {
        for index in 0..self.bucket_count {
            while self.bucket_mut(index).take_last().is_some() {}
        }
    }
}

impl<'a, T: Hashed> Occupied<'a, T> {
    /// The entry.
    #[inline]
    pub fn get(&self) -> &T {
        // SAFETY: the handle borrows the table exclusively and its slot is occupied.
        unsafe { &(*self.bucket).slots[self.slot].entry }
    }

    /// The entry, for changes that keep its hash.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: as in `get`.
        unsafe { &mut (*self.bucket).slots[self.slot].entry }
    }

    /// The entry, for as long as the table is borrowed.
    #[inline]
    pub fn into_mut(self) -> &'a mut T {
        // SAFETY: as in `get`, and the table stays borrowed for 'a.
        unsafe { &mut (*self.bucket).slots[self.slot].entry }
    }

    /// Whether the entry is marked.
    #[inline]
    pub fn is_marked(&self) -> bool {
        // SAFETY: as in `get`.
        unsafe { (*self.bucket).marks & (1 << self.slot) != 0 }
    }

    /// Sets or clears the entry's mark.
    #[inline]
    pub fn set_mark(&mut self, marked: bool) {
        // SAFETY: as in `get`.
        unsafe { (*self.bucket).set_mark(self.slot, marked) }
    }

    /// Takes the entry out of the table.
    #[inline]
    pub fn remove(self) -> T {
        // SAFETY: `head` leads to `bucket`, whose slot is occupied, and the table is borrowed.
        let entry = unsafe { Bucket::take(self.head, self.bucket, self.slot) };
        self.table.len -= 1;
        if self.table.len * 8 < (self.table.bucket_count - 1) * SHRINK_EIGHTHS
            || self.table.len == 0
        {
            self.table.shrink();
        }
        entry
    }
}

impl<T> Bucket<T> {
    const fn empty() -> Self {
        Bucket { tags: [0; SLOTS], marks: 0, slots: [const { Slot { vacant: 0 } }; SLOTS] }
    }

    /// The slots whose tag is `tag`, as a mask with bit 7 of each matching byte set.
    #[inline]
    fn matches(&self, tag: u8) -> u64 {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let differing = self.word() ^ (u64::from(tag) * 0x0101_0101_0101_0101);
        // Exact: no borrow runs from byte to byte, so a byte is flagged only if it is zero.
        !(((differing & LOW) + LOW) | differing | LOW) & 0x0080_8080_8080_8080
    }

    #[inline]
    fn word(&self) -> u64 {
        let t = &self.tags;
        u64::from_le_bytes([t[0], t[1], t[2], t[3], t[4], t[5], t[6], self.marks])
    }

    #[inline]
    fn is_chained(&self) -> bool {
        self.marks & CHAINED != 0
    }

    #[inline]
    fn next_ptr(&self) -> Option<*mut Bucket<T>> {
        // SAFETY: a chained bucket's last slot holds the chain.
        if self.is_chained() { Some(unsafe { self.slots[CHAIN_SLOT].chain }) } else { None }
    }

    #[inline]
    fn next(&self) -> Option<&Bucket<T>> {
        // SAFETY: a chain is owned by its bucket and lives as long.
        self.next_ptr().map(|next| unsafe { &*next })
    }

    #[inline]
    fn set_mark(&mut self, slot: usize, marked: bool) {
        self.marks = (self.marks & !(1 << slot)) | (u8::from(marked) << slot);
    }

    #[inline]
    fn set(&mut self, slot: usize, tag: u8, entry: T, marked: bool) {
        debug_assert_eq!(self.tags[slot], 0);
        self.tags[slot] = tag;
        self.slots[slot] = Slot { entry: ManuallyDrop::new(entry) };
        self.set_mark(slot, marked);
    }

    /// Puts an entry into the first vacant slot of the chain, which grows where it must.
    #[inline]
    fn put(&mut self, tag: u8, entry: T, marked: bool) {
        let mut vacant = self.matches(0);
        if self.is_chained() {
            vacant &= !(0x80 << (8 * CHAIN_SLOT));
        }
        if vacant != 0 {
            self.set(first(vacant), tag, entry, marked);
        } else {
            self.put_in_chain(tag, entry, marked);
        }
    }

    #[cold]
    fn put_in_chain(&mut self, tag: u8, entry: T, marked: bool) {
        if let Some(next) = self.next_ptr() {
            // SAFETY: a chain is owned by its bucket, which is borrowed exclusively.
            return unsafe { &mut *next }.put(tag, entry, marked);
        }
        let mut next = Box::new(Bucket::empty());
        let moved_tag = std::mem::take(&mut self.tags[CHAIN_SLOT]);
        let moved_mark = self.marks & (1 << CHAIN_SLOT) != 0;
        // SAFETY: the bucket is full and not chained, so its last slot holds an entry, which moves.
        let moved = unsafe { std::ptr::read(&*self.slots[CHAIN_SLOT].entry) };
        next.set(0, moved_tag, moved, moved_mark);
        next.set(1, tag, entry, marked);
        self.set_mark(CHAIN_SLOT, false);
        self.slots[CHAIN_SLOT] = Slot { chain: Box::into_raw(next) };
        self.marks |= CHAINED;
    }

    /// Takes the last entry of the chain, freeing a chain bucket that it leaves empty.
    fn take_last(&mut self) -> Option<(T, bool)> {
        if let Some(next) = self.next_ptr() {
            // SAFETY: the chain is owned by this bucket, which is borrowed exclusively.
            let taken = unsafe { &mut *next }.take_last();
            // SAFETY: as above; nothing else points to it.
            if unsafe { &*next }.is_vacant() {
                // SAFETY: it came from `Box::into_raw` and is cut off here.
                drop(unsafe { Box::from_raw(next) });
                self.marks &= !CHAINED;
                self.slots[CHAIN_SLOT] = Slot { vacant: 0 };
            }
            return taken;
        }
        let slot = self.tags.iter().rposition(|&tag| tag != 0)?;
        self.tags[slot] = 0;
        let marked = self.marks & (1 << slot) != 0;
        self.set_mark(slot, false);
        // SAFETY: the slot's tag was not 0, and is now, so the entry leaves it once.
        Some((unsafe { std::ptr::read(&*self.slots[slot].entry) }, marked))
    }

    fn is_vacant(&self) -> bool {
        self.word() == 0
    }

    /// Takes the entry of `slot` in `bucket`, a bucket of the chain that starts at `head`, and
    /// fills the hole from the chain's end, so that chains stay as short as they can.
    ///
    /// # Safety
    /// Both point into one chain that the caller borrows exclusively, and the slot is occupied.
    unsafe fn take(head: *mut Bucket<T>, bucket: *mut Bucket<T>, slot: usize) -> T {
        // SAFETY: by the caller's word.
        let here = unsafe { &mut *bucket };
        here.tags[slot] = 0;
        here.set_mark(slot, false);
        // SAFETY: the slot was occupied and is vacant now.
        let entry = unsafe { std::ptr::read(&*here.slots[slot].entry) };
        if head == bucket && !here.is_chained() {
            return entry;
        }
        // SAFETY: by the caller's word; `here` is not used below.
        let head = unsafe { &mut *head };
        if head.is_chained()
            && let Some((tag, filler, marked)) = head.take_last_tagged()
        {
            head.put(tag, filler, marked);
        }
        entry
    }

    /// As [`Self::take_last`], with the entry's tag.
    fn take_last_tagged(&mut self) -> Option<(u8, T, bool)> {
        let mut last: &Bucket<T> = self;
        while let Some(next) = last.next() {
            last = next;
        }
        let tag = last.tags.iter().rev().copied().find(|&tag| tag != 0);
        match (tag, self.take_last()) {
            (Some(tag), Some((entry, marked))) => Some((tag, entry, marked)),
            // The last bucket was the hole itself and is freed by `take_last`.
            _ => None,
        }
    }

    fn prefetch_entries(&self) {
        let occupied = !self.matches(0) & 0x0080_8080_8080_8080;
        let mut rest = occupied;
        while rest != 0 {
            // SAFETY: every slot is an initialised word; a prefetch of any address is harmless.
            prefetch(unsafe { self.slots[first(rest)].chain });
            rest &= rest - 1;
        }
    }
}

/// The entries of a bucket and its chain.
struct Chain<'a, T> {
    bucket: Option<&'a Bucket<T>>,
    slot: usize,
}

impl<'a, T> Iterator for Chain<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        while let Some(bucket) = self.bucket {
            while self.slot < SLOTS {
                let slot = self.slot;
                self.slot += 1;
                if bucket.tags[slot] != 0 {
                    // SAFETY: a slot whose tag is not 0 holds an entry.
                    return Some(unsafe { &*bucket.slots[slot].entry });
                }
            }
            self.bucket = bucket.next();
            self.slot = 0;
        }
        None
    }
}

/// Eight bits of the hash that neither the bucket number (low bits) nor the shard (top bits) uses.
#[inline]
fn tag_of(hash: u64) -> u8 {
    ((hash >> 40) as u8).max(1)
}

/// The slot of the lowest match in a mask of [`Bucket::matches`].
#[inline]
fn first(matches: u64) -> usize {
    (matches.trailing_zeros() / 8) as usize
}

#[inline]
fn prefetch<P>(address: *const P) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults on no address; SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests;
