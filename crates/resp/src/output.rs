//! What a connection is about to send: bytes, and large shared values that are not copied.

use std::sync::Arc;

/// A shared value of at least this many bytes is sent from where it is; a shorter one is copied,
/// which costs less than another element of a vectored write.
pub const SHARED_THRESHOLD: usize = 16 * 1024;

/// Output in order: a buffer, with shared segments standing between its bytes.
#[derive(Debug, Default)]
pub struct OutputBuffer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) segments: Vec<Segment>,
    shared_len: usize,
}

/// A shared value that comes before the byte at `offset` of the buffer.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) offset: usize,
    pub(crate) data: Arc<Vec<u8>>,
}

impl OutputBuffer {
    /// An empty buffer that owns no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many bytes are to be sent, shared ones included.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.bytes.len() + self.shared_len
    }

    /// Memory that the buffer itself holds, in bytes, without the shared values.
    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity() + self.segments.capacity() * size_of::<Segment>()
    }

    /// Whether there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.segments.is_empty()
    }

    /// Forgets all output, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.segments.clear();
        self.shared_len = 0;
    }

    /// Forgets all output written since `mark` was taken.
    pub fn truncate(&mut self, mark: OutputMark) {
        self.bytes.truncate(mark.bytes);
        for segment in self.segments.drain(mark.segments..) {
            self.shared_len -= segment.data.len();
        }
    }

    /// The present end of the output, to come back to with [`truncate`](Self::truncate).
    pub fn mark(&self) -> OutputMark {
        OutputMark { bytes: self.bytes.len(), segments: self.segments.len() }
    }

    /// Appends bytes that are in wire form already.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the output of `other`, sharing what that shares.
    pub fn append(&mut self, other: &OutputBuffer) {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.segments.extend(other.segments.iter().map(|segment| Segment {
            offset: base + segment.offset,
            data: Arc::clone(&segment.data),
        }));
        self.shared_len += other.shared_len;
    }

    /// Appends a shared value, copied or not as its length suggests.
    pub fn shared(&mut self, data: &Arc<Vec<u8>>) {
        if data.len() < SHARED_THRESHOLD {
            self.bytes.extend_from_slice(data);
        } else {
            self.shared_len += data.len();
            let offset = self.bytes.len();
            self.segments.push(Segment { offset, data: Arc::clone(data) });
        }
    }

    /// Takes the bytes of a buffer without shared values, to lend them to an asynchronous write;
    /// give them back with [`restore`](Self::restore).
    pub fn take_contiguous(&mut self) -> Option<Vec<u8>> {
        self.segments.is_empty().then(|| std::mem::take(&mut self.bytes))
    }

    /// Makes `bytes` the buffer's memory again, emptied. Output written meanwhile stays.
    pub fn restore(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        if self.bytes.capacity() < bytes.capacity() {
            bytes.extend_from_slice(&self.bytes);
            self.bytes = bytes;
        }
    }

    /// The pieces to send, in order, none empty.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let mut offset = 0;
        let tail = self.segments.iter().map(Some).chain(std::iter::once(None));
        tail.flat_map(move |segment| {
            let end = segment.map_or(self.bytes.len(), |segment| segment.offset);
            let own = &self.bytes[offset..end];
            offset = end;
            [own, segment.map_or(&[][..], |segment| segment.data.as_slice())]
        })
        .filter(|chunk| !chunk.is_empty())
    }

    /// All output in one piece, for tests and for replies that go elsewhere than to a socket.
    pub fn to_vec(&self) -> Vec<u8> {
        self.chunks().collect::<Vec<_>>().concat()
    }

    /// Puts `inserted` in place of `removed` bytes at `offset` of the buffer, and moves what is behind.
    /// Segments at `offset` itself stand behind the replaced bytes.
    pub(crate) fn splice(&mut self, offset: usize, removed: usize, inserted: &[u8]) {
        if inserted.len() == removed {
            self.bytes[offset..offset + removed].copy_from_slice(inserted);
            return;
        }
        self.bytes.splice(offset..offset + removed, inserted.iter().copied());
        for segment in self.segments.iter_mut().rev() {
            if segment.offset < offset + removed {
                break;
            }
            segment.offset = segment.offset - removed + inserted.len();
        }
    }
}

/// A place in an [`OutputBuffer`].
#[derive(Debug, Clone, Copy)]
pub struct OutputMark {
    bytes: usize,
    segments: usize,
}

#[cfg(test)]
mod tests {
    use super::{OutputBuffer, SHARED_THRESHOLD};
    use std::sync::Arc;

    #[test]
    fn chunks_in_order() {
        let large = Arc::new(vec![b'x'; SHARED_THRESHOLD]);
        let mut out = OutputBuffer::new();
        assert!(out.is_empty());
        assert_eq!(out.chunks().count(), 0);
        out.shared(&large);
        out.raw(b"ab");
        out.shared(&large);
        out.shared(&large);
        out.shared(&Arc::new(b"small".to_vec()));
        assert_eq!(out.len_bytes(), 3 * SHARED_THRESHOLD + 7);
        let all = [&large[..], b"ab", &large, &large, b"small"].concat();
        assert_eq!(out.to_vec(), all);
        assert!(out.take_contiguous().is_none());
        assert_eq!(out.chunks().count(), 5);
        assert!(out.chunks().all(|chunk| !chunk.is_empty()));
    }

    #[test]
    fn truncate_and_append() {
        let large = Arc::new(vec![b'x'; SHARED_THRESHOLD]);
        let mut out = OutputBuffer::new();
        out.raw(b"ab");
        let mark = out.mark();
        out.shared(&large);
        out.raw(b"cd");
        let mut twice = OutputBuffer::new();
        twice.raw(b"0");
        twice.append(&out);
        assert_eq!(twice.to_vec(), [b"0ab", &large[..], b"cd"].concat());
        out.truncate(mark);
        assert_eq!(out.len_bytes(), 2);
        assert_eq!(Arc::strong_count(&large), 2);
        let lent = out.take_contiguous().expect("no shared value");
        assert_eq!(lent, b"ab");
        out.raw(b"next");
        out.restore(lent);
        assert_eq!(out.to_vec(), b"next");
        out.clear();
        assert!(out.is_empty());
    }
}
