//! Where the next reply ends and what kind it is, whichever protocol the target speaks.

use resp::{DecodeError, ReplyScanner, Scanned};

use crate::memcache;
use crate::plan::Protocol;

/// Where replies end, by the protocol.
#[derive(Debug)]
pub(crate) enum Scanner {
    Resp(ReplyScanner),
    Memcache(memcache::Scanner),
}

impl Scanner {
    pub(crate) fn new(protocol: Protocol) -> Self {
        if protocol.is_memcache() {
            Self::Memcache(memcache::Scanner::new(protocol))
        } else {
            Self::Resp(ReplyScanner::new())
        }
    }

    #[inline]
    /// The reply at the start of `input`, which holds all input behind the last one; `None` when more of it must come.
    pub(crate) fn next(&mut self, input: &[u8]) -> Result<Option<Scanned>, DecodeError> {
        match self {
            Self::Resp(scanner) => scanner.next(input),
            Self::Memcache(scanner) => scanner.next(input),
        }
    }
}
