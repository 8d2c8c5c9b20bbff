//! The time in which nodes could not be reached or would not serve, as one thread saw it.

use report::model::Outage;

/// What a thread saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OutageRecord {
    first_ns: Option<u64>,
    last_ns: u64,
    longest_stall_ns: u64,
    connection_errors: u64,
    refused: u64,
    lost: u64,
}

impl OutageRecord {
    /// A connection failed.
    pub(super) fn connection_failed(&mut self, now_ns: u64) {
        self.note(now_ns);
        self.connection_errors += 1;
    }

    /// Connections that failed.
    pub(super) fn connection_errors(&self) -> u64 {
        self.connection_errors
    }

    /// A request was refused, or cut off.
    pub(super) fn refused(&mut self, now_ns: u64) {
        self.note(now_ns);
        self.refused += 1;
    }

    /// A request that had met an error has its reply after this time.
    pub(super) fn recovered(&mut self, waited_ns: u64) {
        self.longest_stall_ns = self.longest_stall_ns.max(waited_ns);
    }

    /// A request that had met an error gets no reply any more.
    pub(super) fn lost(&mut self, waited_ns: u64) {
        self.recovered(waited_ns);
        self.lost += 1;
    }

    /// Adds what another thread saw.
    pub(super) fn merge(&mut self, other: &Self) {
        self.first_ns = [self.first_ns, other.first_ns].into_iter().flatten().min();
        self.last_ns = self.last_ns.max(other.last_ns);
        self.longest_stall_ns = self.longest_stall_ns.max(other.longest_stall_ns);
        self.connection_errors += other.connection_errors;
        self.refused += other.refused;
        self.lost += other.lost;
    }

    /// The result, with times since `start_ns`; `None` when there was no error.
    pub(super) fn result(&self, start_ns: u64) -> Option<Outage> {
        Some(Outage {
            first_error_ns: self.first_ns?.saturating_sub(start_ns),
            last_error_ns: self.last_ns.saturating_sub(start_ns),
            longest_stall_ns: self.longest_stall_ns,
            connection_errors: self.connection_errors,
            refused: self.refused,
            lost: self.lost,
        })
    }

    fn note(&mut self, now_ns: u64) {
        self.first_ns.get_or_insert(now_ns);
        self.last_ns = self.last_ns.max(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_see_parts_of_one_outage() {
        let (mut one, mut other) = (OutageRecord::default(), OutageRecord::default());
        assert_eq!(one.result(0), None);
        one.connection_failed(2_000);
        one.refused(3_000);
        one.recovered(500);
        other.refused(1_500);
        other.lost(900);
        one.merge(&other);
        let expected = Outage {
            first_error_ns: 500,
            last_error_ns: 2_000,
            longest_stall_ns: 900,
            connection_errors: 1,
            refused: 2,
            lost: 1,
        };
        assert_eq!(one.result(1_000), Some(expected));
    }
}
