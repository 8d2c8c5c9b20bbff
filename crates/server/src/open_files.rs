//! The limit of open files: raised so that `maxclients` connections fit.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors beyond the clients': listeners, logs, rings, files of the data set. Redis's number.
const RESERVED: u64 = 32;
/// By how much less to ask for after a refusal. Redis's number.
const STEP: u64 = 16;

/// What came of [`raise_for`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Raised {
    /// The limit was high enough.
    Enough {
        /// As many clients as were asked for.
        clients_max: usize,
    },
    /// The limit is now as high as needed.
    Raised {
        /// As many clients as were asked for.
        clients_max: usize,
        /// The limit as it was.
        before: u64,
        /// The limit now.
        now: u64,
    },
    /// The system refuses; the limit is as high as it allows.
    Refused {
        /// How many clients fit.
        clients_max: usize,
        /// The limit that was needed.
        needed: u64,
        /// The limit now.
        now: u64,
        /// What the system said.
        reason: String,
    },
}

impl Raised {
    /// How many clients fit.
    pub fn clients_max(&self) -> usize {
        match *self {
            Raised::Enough { clients_max }
            | Raised::Raised { clients_max, .. }
            | Raised::Refused { clients_max, .. } => clients_max,
        }
    }
}

/// Raises the process's limit, if need be, for this many clients, or as near as the system allows.
pub fn raise_for(clients_max: usize) -> Raised {
    let needed = clients_max as u64 + RESERVED;
    let limit = getrlimit(Resource::Nofile);
    let before = limit.current.unwrap_or(u64::MAX);
    if before >= needed {
        return Raised::Enough { clients_max };
    }
    let mut refusal = None;
    let mut wanted = needed;
    while wanted > before {
        let maximum = limit.maximum.map(|maximum| maximum.max(wanted));
        match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
            Ok(()) => break,
            Err(error) => refusal = Some(crate::log::error_text(&error.into())),
        }
        // The hard limit is where an ordinary user's wishes end, so the search may begin there.
        let below = wanted.saturating_sub(STEP);
        wanted = limit.maximum.map_or(below, |maximum| below.min(maximum));
    }
    let now = wanted.max(before);
    match refusal {
        None => Raised::Raised { clients_max, before, now },
        Some(reason) => {
            let clients_max = now.saturating_sub(RESERVED).max(1) as usize;
            Raised::Refused { clients_max, needed, now, reason }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Raised, raise_for};

    #[test]
    fn few_clients_always_fit() {
        assert_eq!(raise_for(1), Raised::Enough { clients_max: 1 });
    }
}
