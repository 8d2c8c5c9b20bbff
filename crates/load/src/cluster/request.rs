//! A request of a cluster's load on its way, over all its attempts.

/// One command, or the part of it that one slot gets.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    /// The client that drew it: its place on the thread.
    pub(super) client: usize,
    /// The index of its label.
    pub(super) command: usize,
    /// A null or empty reply is a miss.
    pub(super) reads: bool,
    /// A replica may answer it.
    pub(super) reads_only: bool,
    /// It may be sent again.
    pub(super) may_retry: bool,
    /// The slot of its keys.
    pub(super) slot: Option<u16>,
    /// When it was due.
    pub(super) due_ns: u64,
    /// When it was first sent.
    pub(super) sent_ns: u64,
    /// How often it was sent in vain.
    pub(super) attempts: u32,
    /// It met a node that could not be reached or would not serve.
    pub(super) met_outage: bool,
    /// The divided command that it is a part of.
    pub(super) whole: Option<usize>,
}

/// A divided command whose parts are on their way.
#[derive(Debug, Clone, Default)]
pub(super) struct Whole {
    /// Parts without an answer.
    pub(super) left: u32,
    /// The first error among the answers.
    pub(super) error: Option<Vec<u8>>,
}

/// Divided commands by number; numbers of finished ones are given anew.
#[derive(Debug, Default)]
pub(super) struct Wholes {
    all: Vec<Whole>,
    free: Vec<usize>,
}

impl Wholes {
    /// A new command of this many parts.
    pub(super) fn begin(&mut self, parts: u32) -> usize {
        let whole = Whole { left: parts, error: None };
        match self.free.pop() {
            Some(at) => {
                self.all[at] = whole;
                at
            }
            None => {
                self.all.push(whole);
                self.all.len() - 1
            }
        }
    }

    /// Takes in one part's answer, an error or not; gives the command back with its last part.
    pub(super) fn answer(&mut self, at: usize, error: Option<&[u8]>) -> Option<Whole> {
        let whole = &mut self.all[at];
        whole.left -= 1;
        if let (Some(text), None) = (error, &whole.error) {
            whole.error = Some(text.to_vec());
        }
        if whole.left > 0 {
            return None;
        }
        self.free.push(at);
        Some(std::mem::take(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divided_command_is_answered_by_its_last_part() {
        let mut wholes = Wholes::default();
        let first = wholes.begin(3);
        let second = wholes.begin(1);
        assert!(wholes.answer(first, None).is_none());
        assert!(wholes.answer(second, None).is_some());
        assert!(wholes.answer(first, Some(b"ERR a")).is_none());
        let whole = wholes.answer(first, Some(b"ERR b")).unwrap();
        assert_eq!(whole.error.as_deref(), Some(&b"ERR a"[..]));
        assert_eq!(wholes.begin(2), first);
    }
}
