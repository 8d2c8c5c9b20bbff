//! A command's arguments as places in the receive buffer, so that parsing copies nothing.

/// A range of bytes of some buffer, known to whoever made the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes of `buffer` in this span; panics when `buffer` is not the one it was made for.
    #[inline]
    pub fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start as usize..self.end as usize]
    }
}

/// A command with its arguments, name first: a borrowed view of a buffer.
#[derive(Debug, Clone, Copy)]
pub struct Args<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Args<'a> {
    /// The arguments at `spans` of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self { bytes, spans }
    }

    /// How many arguments there are, the command's name included.
    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is not even a name; never so for a command that the parser completed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Argument `index`, when there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.spans.get(index).map(|span| span.of(self.bytes))
    }

    /// Argument `index`; panics when there is none. Unlike indexing it lends for as long as the
    /// buffer lives.
    #[inline]
    pub fn at(&self, index: usize) -> &'a [u8] {
        self.spans[index].of(self.bytes)
    }

    /// The arguments from `index` on (none, when there are not as many).
    #[inline]
    pub fn skip(&self, index: usize) -> Args<'a> {
        Args { bytes: self.bytes, spans: self.spans.get(index..).unwrap_or_default() }
    }

    /// All arguments in order.
    #[inline]
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = &'a [u8]> + DoubleEndedIterator + Clone + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(move |span| span.of(bytes))
    }
}

impl std::ops::Index<usize> for Args<'_> {
    type Output = [u8];

    #[inline]
    fn index(&self, index: usize) -> &[u8] {
        self.at(index)
    }
}
