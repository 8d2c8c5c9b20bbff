//! A key and its value in one allocation.
//!
//! ```text
//! header 8 | expiry 8, if it has one | key length 8, if over 65,534 | body | key | inline value
//! ```
//! The body is a number or a pointer (8 bytes), or the length and capacity of an inline string
//! (4 bytes). A 16-byte key with a 64-byte value is 92 bytes, in the allocator's class of 96.
//!
//! This file holds the only pointer arithmetic over entries; all else sees [`ValueRef`].

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::hash::Hash;
use crate::hashing::hash_bytes;
use crate::list::List;
use crate::set::Set;
use crate::stream::Stream;
use crate::table::Hashed;
use crate::zset::Zset;

/// Longest string kept in the entry itself; longer ones are shared, so that replies need not copy
/// them under the shard's lock.
pub const INLINE_BYTES_MAX: usize = 4096;
/// Longest string whose encoding Redis calls `embstr` (`OBJ_ENCODING_EMBSTR_SIZE_LIMIT`).
const EMBSTR_BYTES_MAX: usize = 44;

const FLAG_EXPIRY: u8 = 1;
const FLAG_LONG_KEY: u8 = 2;
/// The string was changed in place, which Redis answers with the encoding `raw` at any length.
const FLAG_RAW: u8 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Body {
    Int,
    Inline,
    Shared,
    List,
    Hash,
    Set,
    Zset,
    Stream,
}

#[repr(C)]
struct Header {
    body: Body,
    flags: u8,
    key_len: u16,
    /// Seconds of the engine's clock at the last access, for `OBJECT IDLETIME` and eviction.
    access: u32,
}

const HEADER_BYTES: usize = size_of::<Header>();
const WORD: usize = 8;
const INLINE_LENGTHS: usize = 4;
const LONG_KEY: u16 = u16::MAX;

/// An owned entry of the keyspace.
#[repr(transparent)]
pub struct Entry(NonNull<Header>, PhantomData<Value>);

// SAFETY: an entry owns its allocation and its value, and every kind of value is Send (checked
// below).
unsafe impl Send for Entry {}

const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Value>();
};

/// The type of a value, as `TYPE` names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A string, in any of its encodings.
    String,
    /// A list.
    List,
    /// A hash.
    Hash,
    /// A set.
    Set,
    /// A sorted set.
    Zset,
    /// A stream.
    Stream,
}

impl Kind {
    /// The word that `TYPE` answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::List => "list",
            Kind::Hash => "hash",
            Kind::Set => "set",
            Kind::Zset => "zset",
            Kind::Stream => "stream",
        }
    }
}

/// A value on its way into an entry.
pub enum Value {
    /// A whole number, Redis's encoding `int`.
    Int(i64),
    /// A string of any length.
    Bytes(Vec<u8>),
    /// A long string that others may hold too.
    Shared(Arc<Vec<u8>>),
    /// A list.
    List(Box<List>),
    /// A hash.
    Hash(Box<Hash>),
    /// A set.
    Set(Box<Set>),
    /// A sorted set.
    Zset(Box<Zset>),
    /// A stream.
    Stream(Box<Stream>),
}

/// A string value as it is kept.
#[derive(Clone, Copy)]
pub enum StringRef<'a> {
    /// A whole number.
    Int(i64),
    /// Bytes inside the entry.
    Inline(&'a [u8]),
    /// Bytes that a reply may share instead of copying.
    Shared(&'a Arc<Vec<u8>>),
}

/// A value read in place.
#[derive(Clone, Copy)]
pub enum ValueRef<'a> {
    /// A string.
    String(StringRef<'a>),
    /// A list.
    List(&'a List),
    /// A hash.
    Hash(&'a Hash),
    /// A set.
    Set(&'a Set),
    /// A sorted set.
    Zset(&'a Zset),
    /// A stream.
    Stream(&'a Stream),
}

/// A value that is not a string, changed in place.
pub enum CollectionMut<'a> {
    /// A list.
    List(&'a mut List),
    /// A hash.
    Hash(&'a mut Hash),
    /// A set.
    Set(&'a mut Set),
    /// A sorted set.
    Zset(&'a mut Zset),
    /// A stream.
    Stream(&'a mut Stream),
}

impl StringRef<'_> {
    /// Runs `read` over the string's bytes; a number is formatted first.
    pub fn with_bytes<R>(self, read: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            StringRef::Int(number) => read(itoa::Buffer::new().format(number).as_bytes()),
            StringRef::Inline(bytes) => read(bytes),
            StringRef::Shared(bytes) => read(bytes),
        }
    }

    /// The string's length in bytes.
    pub fn len_bytes(self) -> usize {
        self.with_bytes(<[u8]>::len)
    }
}

impl ValueRef<'_> {
    /// The value's type.
    pub fn kind(self) -> Kind {
        match self {
            ValueRef::String(_) => Kind::String,
            ValueRef::List(_) => Kind::List,
            ValueRef::Hash(_) => Kind::Hash,
            ValueRef::Set(_) => Kind::Set,
            ValueRef::Zset(_) => Kind::Zset,
            ValueRef::Stream(_) => Kind::Stream,
        }
    }
}

impl Value {
    fn body(&self) -> Body {
        match self {
            Value::Int(_) => Body::Int,
            Value::Bytes(bytes) if bytes.len() <= INLINE_BYTES_MAX => Body::Inline,
            Value::Bytes(_) | Value::Shared(_) => Body::Shared,
            Value::List(_) => Body::List,
            Value::Hash(_) => Body::Hash,
            Value::Set(_) => Body::Set,
            Value::Zset(_) => Body::Zset,
            Value::Stream(_) => Body::Stream,
        }
    }
}

/// What of an entry decides where its parts lie.
#[derive(Clone, Copy)]
struct Shape {
    body: Body,
    flags: u8,
    key_len: usize,
    inline_capacity: usize,
}

impl Shape {
    fn new(body: Body, expires: bool, key_len: usize, inline_capacity: usize) -> Shape {
        let long = if key_len >= LONG_KEY as usize { FLAG_LONG_KEY } else { 0 };
        let flags = long | if expires { FLAG_EXPIRY } else { 0 };
        Shape { body, flags, key_len, inline_capacity }
    }

    fn body_at(self) -> usize {
        body_offset(self.flags)
    }

    fn key_at(self) -> usize {
        self.body_at() + if self.body == Body::Inline { INLINE_LENGTHS } else { WORD }
    }

    fn value_at(self) -> usize {
        self.key_at() + self.key_len
    }

    fn layout(self) -> Layout {
        let bytes = self.value_at() + self.inline_capacity;
        Layout::from_size_align(bytes, WORD).expect("a key is at most 512 MB")
    }
}

#[inline]
fn body_offset(flags: u8) -> usize {
    HEADER_BYTES
        + WORD * usize::from(flags & FLAG_EXPIRY != 0)
        + WORD * usize::from(flags & FLAG_LONG_KEY != 0)
}

impl Entry {
    /// An entry of `key` and `value`, which expires at `expiry_ms` (Unix time) if that is given.
    pub fn new(key: &[u8], value: Value, expiry_ms: Option<u64>) -> Entry {
        match value {
            Value::Bytes(bytes) if bytes.len() <= INLINE_BYTES_MAX => {
                Entry::inline(key, &bytes, bytes.len(), expiry_ms)
            }
            value => {
                let shape = Shape::new(value.body(), expiry_ms.is_some(), key.len(), 0);
                let mut entry = Entry::allocate(shape, key, expiry_ms);
                entry.write_value(value);
                entry
            }
        }
    }

    /// An entry whose string lies inside it, with room for `capacity` bytes.
    pub fn inline(key: &[u8], value: &[u8], capacity: usize, expiry_ms: Option<u64>) -> Entry {
        // The allocation's layout and every write into it follow from these two.
        assert!(value.len() <= capacity && capacity <= u16::MAX as usize);
        let shape = Shape::new(Body::Inline, expiry_ms.is_some(), key.len(), capacity);
        let mut entry = Entry::allocate(shape, key, expiry_ms);
        entry.set_inline(value, capacity);
        entry
    }

    /// The entry's key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let header = self.header();
        let body_bytes = if header.body == Body::Inline { INLINE_LENGTHS } else { WORD };
        let key_at = body_offset(header.flags) + body_bytes;
        // SAFETY: the key's bytes were written there by `allocate`.
        unsafe { std::slice::from_raw_parts(self.at(key_at), self.key_len()) }
    }

    /// The value, read in place.
    #[inline]
    pub fn value(&self) -> ValueRef<'_> {
        let word = self.body_ptr();
        // SAFETY: the body says what `write_value` put into the word, and it is still there.
        unsafe {
            match self.header().body {
                Body::Int => ValueRef::String(StringRef::Int(word.cast::<i64>().read())),
                Body::Inline => ValueRef::String(StringRef::Inline(self.inline_bytes())),
                Body::Shared => ValueRef::String(StringRef::Shared(&*word.cast())),
                Body::List => ValueRef::List(&*word.cast::<Box<List>>()),
                Body::Hash => ValueRef::Hash(&*word.cast::<Box<Hash>>()),
                Body::Set => ValueRef::Set(&*word.cast::<Box<Set>>()),
                Body::Zset => ValueRef::Zset(&*word.cast::<Box<Zset>>()),
                Body::Stream => ValueRef::Stream(&*word.cast::<Box<Stream>>()),
            }
        }
    }

    /// The value for changing in place, unless it is a string.
    #[inline]
    pub fn collection_mut(&mut self) -> Option<CollectionMut<'_>> {
        let word = self.body_ptr();
        // SAFETY: as in `value`, and the entry is borrowed exclusively.
        unsafe {
            Some(match self.header().body {
                Body::Int | Body::Inline | Body::Shared => return None,
                Body::List => CollectionMut::List(&mut *word.cast::<Box<List>>()),
                Body::Hash => CollectionMut::Hash(&mut *word.cast::<Box<Hash>>()),
                Body::Set => CollectionMut::Set(&mut *word.cast::<Box<Set>>()),
                Body::Zset => CollectionMut::Zset(&mut *word.cast::<Box<Zset>>()),
                Body::Stream => CollectionMut::Stream(&mut *word.cast::<Box<Stream>>()),
            })
        }
    }

    /// The number of a string kept as one, for changing in place.
    pub fn int_mut(&mut self) -> Option<&mut i64> {
        // SAFETY: the body says that the word is a number; the entry is borrowed exclusively.
        (self.header().body == Body::Int).then(|| unsafe { &mut *self.body_ptr().cast::<i64>() })
    }

    /// The bytes of a long string, for changing in place; they are copied first if others hold them.
    pub fn shared_mut(&mut self) -> Option<&mut Vec<u8>> {
        if self.header().body != Body::Shared {
            return None;
        }
        // SAFETY: the word of a shared body is an `Arc`; the entry is borrowed exclusively.
        let shared = unsafe { &mut *self.body_ptr().cast::<Arc<Vec<u8>>>() };
        Some(Arc::make_mut(shared))
    }

    /// Overwrites an inline string with one of at most its capacity; false if it does not fit, or
    /// would leave more than half of a roomy entry unused.
    #[inline]
    pub fn try_set_inline(&mut self, value: &[u8]) -> bool {
        if self.header().body != Body::Inline {
            return false;
        }
        let capacity = self.inline_capacity();
        if value.len() > capacity || (capacity > 64 && value.len() < capacity / 2) {
            return false;
        }
        self.set_inline(value, capacity);
        self.header_mut().flags &= !FLAG_RAW;
        true
    }

    /// Appends to an inline string that has the room; false if it has not, or is none.
    pub fn try_append_inline(&mut self, tail: &[u8]) -> bool {
        if self.header().body != Body::Inline {
            return false;
        }
        let (len, capacity) = (self.inline_bytes().len(), self.inline_capacity());
        if len + tail.len() > capacity {
            return false;
        }
        let value_at = self.shape().value_at();
        // SAFETY: the capacity was allocated, and `tail` cannot alias an entry borrowed exclusively.
        unsafe { self.at(value_at + len).copy_from_nonoverlapping(tail.as_ptr(), tail.len()) };
        self.write_inline_lengths(len + tail.len(), capacity);
        true
    }

    /// When the entry expires, Unix time in milliseconds.
    #[inline]
    pub fn expiry_ms(&self) -> Option<u64> {
        if self.header().flags & FLAG_EXPIRY == 0 {
            return None;
        }
        // SAFETY: the flag says that the word after the header is the expiry.
        Some(unsafe { self.at(HEADER_BYTES).cast::<u64>().read() })
    }

    /// Moves the expiry of an entry that has one; false if it has none.
    pub fn try_set_expiry_ms(&mut self, expiry_ms: u64) -> bool {
        let has_one = self.header().flags & FLAG_EXPIRY != 0;
        if has_one {
            // SAFETY: as in `expiry_ms`.
            unsafe { self.at(HEADER_BYTES).cast::<u64>().write(expiry_ms) };
        }
        has_one
    }

    /// The same value under another key, or with another expiry, in a new allocation.
    pub fn rebuilt(self, key: &[u8], expiry_ms: Option<u64>) -> Entry {
        let (access, is_raw) = (self.access_s(), self.header().flags & FLAG_RAW);
        let mut new = if self.header().body == Body::Inline {
            Entry::inline(key, self.inline_bytes(), self.inline_capacity(), expiry_ms)
        } else {
            let shape = Shape::new(self.header().body, expiry_ms.is_some(), key.len(), 0);
            let new = Entry::allocate(shape, key, expiry_ms);
            // SAFETY: the word moves to the new entry, and the old one is freed without it.
            unsafe { new.body_ptr().copy_from_nonoverlapping(self.body_ptr(), WORD) };
            ManuallyDrop::new(self).free();
            new
        };
        let header = new.header_mut();
        header.access = access;
        header.flags |= is_raw;
        new
    }

    /// Seconds of the engine's clock at the last access.
    pub fn access_s(&self) -> u32 {
        self.header().access
    }

    /// Notes an access; writes only when the second has changed.
    #[inline]
    pub fn touch(&mut self, now_s: u32) {
        if self.header().access != now_s {
            self.header_mut().access = now_s;
        }
    }

    /// Marks a string as changed in place, see [`Self::encoding`].
    pub fn mark_raw(&mut self) {
        self.header_mut().flags |= FLAG_RAW;
    }

    /// The name that `OBJECT ENCODING` gives the value.
    pub fn encoding(&self) -> &'static str {
        match self.value() {
            ValueRef::String(StringRef::Int(_)) => "int",
            ValueRef::String(StringRef::Inline(bytes))
                if bytes.len() <= EMBSTR_BYTES_MAX && self.header().flags & FLAG_RAW == 0 =>
            {
                "embstr"
            }
            ValueRef::String(_) => "raw",
            ValueRef::List(list) => list.encoding(),
            ValueRef::Hash(hash) => hash.encoding(),
            ValueRef::Set(set) => set.encoding(),
            ValueRef::Zset(zset) => zset.encoding(),
            ValueRef::Stream(stream) => stream.encoding(),
        }
    }

    /// Whether freeing the value takes so long that it should not be done under a lock.
    pub fn frees_slowly(&self) -> bool {
        const ELEMENTS: usize = 64;
        /// From about here on the allocator gives memory back to the system piece by piece.
        const STRING_BYTES: usize = 1 << 20;
        match self.value() {
            ValueRef::String(StringRef::Shared(bytes)) => bytes.len() > STRING_BYTES,
            ValueRef::String(_) => false,
            ValueRef::List(list) => list.len() > ELEMENTS,
            ValueRef::Hash(hash) => hash.len() > ELEMENTS,
            ValueRef::Set(set) => set.len() > ELEMENTS,
            ValueRef::Zset(zset) => zset.len() > ELEMENTS,
            ValueRef::Stream(stream) => stream.len() > ELEMENTS,
        }
    }

    /// Bytes of the entry's own allocation, before the allocator rounds them up.
    pub fn allocated_bytes(&self) -> usize {
        self.shape().layout().size()
    }

    /// Allocates an entry and writes all but its body and value.
    fn allocate(shape: Shape, key: &[u8], expiry_ms: Option<u64>) -> Entry {
        let layout = shape.layout();
        // SAFETY: the layout holds at least a header.
        let Some(raw) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        let key_len = if shape.flags & FLAG_LONG_KEY != 0 { LONG_KEY } else { key.len() as u16 };
        let header = Header { body: shape.body, flags: shape.flags, key_len, access: 0 };
        // SAFETY: all of these places lie within the layout just allocated, at aligned offsets.
        unsafe {
            raw.cast::<Header>().write(header);
            let mut at = HEADER_BYTES;
            if let Some(expiry_ms) = expiry_ms {
                raw.add(at).cast::<u64>().write(expiry_ms);
                at += WORD;
            }
            if key_len == LONG_KEY {
                raw.add(at).cast::<u64>().write(key.len() as u64);
            }
            let key_to = raw.add(shape.key_at()).as_ptr();
            key_to.copy_from_nonoverlapping(key.as_ptr(), key.len());
        }
        Entry(raw.cast(), PhantomData)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: an entry begins with its header.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn header_mut(&mut self) -> &mut Header {
        // SAFETY: an entry begins with its header, and is borrowed exclusively.
        unsafe { self.0.as_mut() }
    }

    #[inline]
    fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: callers pass offsets within the entry's layout.
        unsafe { self.0.cast::<u8>().as_ptr().add(offset) }
    }

    #[inline]
    fn key_len(&self) -> usize {
        let header = self.header();
        if header.key_len != LONG_KEY {
            return header.key_len as usize;
        }
        let at = HEADER_BYTES + WORD * usize::from(header.flags & FLAG_EXPIRY != 0);
        // SAFETY: a long key's length stands there.
        unsafe { self.at(at).cast::<u64>().read() as usize }
    }

    fn shape(&self) -> Shape {
        let header = self.header();
        let inline = if header.body == Body::Inline { self.inline_capacity() } else { 0 };
        Shape {
            body: header.body,
            flags: header.flags,
            key_len: self.key_len(),
            inline_capacity: inline,
        }
    }

    #[inline]
    fn body_ptr(&self) -> *mut u8 {
        self.at(body_offset(self.header().flags))
    }

    fn inline_capacity(&self) -> usize {
        // SAFETY: an inline body is two 16-bit lengths.
        unsafe { self.body_ptr().cast::<[u16; 2]>().read()[1] as usize }
    }

    #[inline]
    fn inline_bytes(&self) -> &[u8] {
        // SAFETY: an inline body is two 16-bit lengths, and the value follows the key.
        unsafe {
            let len = self.body_ptr().cast::<[u16; 2]>().read()[0] as usize;
            let value = self.body_ptr().add(INLINE_LENGTHS + self.key_len());
            std::slice::from_raw_parts(value, len)
        }
    }

    fn set_inline(&mut self, value: &[u8], capacity: usize) {
        self.write_inline_lengths(value.len(), capacity);
        // SAFETY: the capacity was allocated behind the key, and `value` is no part of an entry
        // borrowed exclusively.
        unsafe {
            let to = self.body_ptr().add(INLINE_LENGTHS + self.key_len());
            to.copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
    }

    fn write_inline_lengths(&mut self, len: usize, capacity: usize) {
        // SAFETY: an inline body is two 16-bit lengths.
        unsafe { self.body_ptr().cast::<[u16; 2]>().write([len as u16, capacity as u16]) };
    }

    /// Moves a value that is not an inline string into the body.
    fn write_value(&mut self, value: Value) {
        let word = self.body_ptr();
        // SAFETY: every body but an inline one is a word, and each of these is as large as one.
        unsafe {
            match value {
                Value::Int(number) => word.cast::<i64>().write(number),
                Value::Bytes(bytes) => word.cast::<Arc<Vec<u8>>>().write(Arc::new(bytes)),
                Value::Shared(bytes) => word.cast::<Arc<Vec<u8>>>().write(bytes),
                Value::List(list) => word.cast::<Box<List>>().write(list),
                Value::Hash(hash) => word.cast::<Box<Hash>>().write(hash),
                Value::Set(set) => word.cast::<Box<Set>>().write(set),
                Value::Zset(zset) => word.cast::<Box<Zset>>().write(zset),
                Value::Stream(stream) => word.cast::<Box<Stream>>().write(stream),
            }
        }
    }

    /// Frees the allocation without the value.
    fn free(&self) {
        // SAFETY: it was allocated with this very layout, and the caller forgets the entry.
        unsafe { dealloc(self.0.cast().as_ptr(), self.shape().layout()) };
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: the word is what `write_value` put there, and is used no more after this.
        unsafe {
            let word = self.body_ptr();
            match self.header().body {
                Body::Int | Body::Inline => {}
                Body::Shared => word.cast::<Arc<Vec<u8>>>().drop_in_place(),
                Body::List => word.cast::<Box<List>>().drop_in_place(),
                Body::Hash => word.cast::<Box<Hash>>().drop_in_place(),
                Body::Set => word.cast::<Box<Set>>().drop_in_place(),
                Body::Zset => word.cast::<Box<Zset>>().drop_in_place(),
                Body::Stream => word.cast::<Box<Stream>>().drop_in_place(),
            }
        }
        self.free();
    }
}

impl Hashed for Entry {
    fn hash(&self) -> u64 {
        hash_bytes(self.key())
    }
}

#[cfg(test)]
mod tests;
