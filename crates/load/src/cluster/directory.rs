//! The topology that all threads of a run share, and the thread that reads it anew when something has changed.
//!
//! Threads follow redirections by themselves and only leave a note here, so that nobody waits. However many notes there
//! are, nodes are asked at most once in [`LEAST_INTERVAL`]; without any, once in [`MOST_INTERVAL`], for nodes that are new.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::topology::{Node, Topology};
use crate::connect::Peer;
use crate::error::RunError;
use crate::plan::{Address, Target};
use crate::stream::Dialer;

/// Shortest time between two readings.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// Longest time between two readings.
const MOST_INTERVAL: Duration = Duration::from_secs(10);
/// How long a node may take to answer a reading.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the first node may take.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);

/// A topology with the places to connect to.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) topology: Topology,
    /// In the order of the topology's nodes.
    pub(super) places: Vec<Arc<Place>>,
}

/// Where connections to a node are made.
#[derive(Debug)]
pub(super) struct Place {
    /// The node with the credentials of the plan's target.
    pub(super) target: Target,
    /// Its address, and what makes connections to it; `None` where the name has no address.
    pub(super) way: Option<(Dialer, Peer)>,
}

/// The topology shared by all threads.
#[derive(Debug)]
pub(super) struct Directory {
    seeds: Vec<Target>,
    known: Mutex<Arc<Known>>,
    version: AtomicU64,
    readings: AtomicU64,
    notes: Mutex<Notes>,
    noted: Condvar,
}

#[derive(Debug, Default)]
struct Notes {
    is_wanted: bool,
    is_over: bool,
}

impl Directory {
    /// Reads the topology from the first of the targets that answers.
    ///
    /// # Errors
    /// Why the last of them did not.
    pub(super) fn open(seeds: &[Target]) -> Result<Self, RunError> {
        let mut last = None;
        for seed in seeds {
            match Topology::ask(seed, FIRST_PATIENCE) {
                Ok(topology) => {
                    return Ok(Self {
                        seeds: seeds.to_vec(),
                        known: Mutex::new(Arc::new(Known::of(topology, seed, None))),
                        version: AtomicU64::new(1),
                        readings: AtomicU64::new(0),
                        notes: Mutex::default(),
                        noted: Condvar::new(),
                    });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("a plan has a target"))
    }

    /// The topology as it was read last.
    pub(super) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts up with each topology that differs from the one before.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// How often the topology was read since the start.
    pub(super) fn readings(&self) -> u64 {
        self.readings.load(Ordering::Relaxed)
    }

    /// Asks for a reading; does not wait for it.
    pub(super) fn want(&self) {
        let mut notes = self.notes();
        if !notes.is_wanted {
            notes.is_wanted = true;
            self.noted.notify_one();
        }
    }

    /// Ends [`Directory::keep`].
    pub(super) fn close(&self) {
        self.notes().is_over = true;
        self.noted.notify_one();
    }

    /// Reads the topology whenever it is wanted, until it is told to end.
    pub(super) fn keep(&self) {
        let mut first = 0;
        while self.wait() {
            let begun = Instant::now();
            self.read(first);
            // Another node the next time: one that is cut off from the others tells old news for ever.
            first += 1;
            let notes = self.notes();
            let rest = LEAST_INTERVAL.saturating_sub(begun.elapsed());
            let is_going_on = |notes: &mut Notes| !notes.is_over;
            drop(self.noted.wait_timeout_while(notes, rest, is_going_on));
        }
    }

    /// Waits until a reading is wanted; false when it is over.
    fn wait(&self) -> bool {
        let is_calm = |notes: &mut Notes| !notes.is_wanted && !notes.is_over;
        let waited = self.noted.wait_timeout_while(self.notes(), MOST_INTERVAL, is_calm);
        let (mut notes, _) = waited.unwrap_or_else(PoisonError::into_inner);
        notes.is_wanted = false;
        !notes.is_over
    }

    /// Asks one node after the other, beginning with the `first`, until one answers.
    fn read(&self, first: usize) {
        let known = self.known();
        let nodes = known.places.iter().map(|place| &place.target);
        let candidates: Vec<&Target> = nodes.chain(&self.seeds).collect();
        for nth in 0..candidates.len() {
            if self.notes().is_over {
                return;
            }
            let target = candidates[(first + nth) % candidates.len()];
            let Ok(topology) = Topology::ask(target, PATIENCE) else { continue };
            self.readings.fetch_add(1, Ordering::Relaxed);
            if topology != known.topology {
                let fresh = Arc::new(Known::of(topology, &self.seeds[0], Some(&known)));
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
                self.version.fetch_add(1, Ordering::Release);
            }
            return;
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Finds the places of a topology's nodes; those that were known before are kept.
    fn of(topology: Topology, seed: &Target, before: Option<&Known>) -> Self {
        let place = |node: &Node| {
            let target = node.target(seed);
            let known = before.and_then(|before| {
                before.places.iter().find(|place| place.target == target && place.way.is_some())
            });
            known.map_or_else(|| Arc::new(Place::resolve(target)), Arc::clone)
        };
        let places = topology.nodes().iter().map(place).collect();
        Self { topology, places }
    }
}

impl Place {
    /// The target of a node, which has all but the address from a seed.
    pub(super) fn target(seed: &Target, host: &str, port: u16) -> Target {
        Target { address: Address::Tcp { host: host.to_owned(), port }, ..seed.clone() }
    }

    /// The place of a node, whose name is looked up; this may take a while.
    pub(super) fn resolve(target: Target) -> Self {
        let way = || {
            let dialer = Dialer::new(&target).ok()?;
            let peer = Peer::resolve(&dialer).ok()?;
            Some((dialer, peer))
        };
        let way = way();
        Self { target, way }
    }

    /// The place of a node that is given by its address, without looking up names.
    pub(super) fn numeric(target: Target) -> Option<Self> {
        let Address::Tcp { host, .. } = &target.address else { return None };
        host.parse::<std::net::IpAddr>().ok()?;
        Some(Self::resolve(target))
    }
}
