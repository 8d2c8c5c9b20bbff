//! One thread's view of the cluster: its nodes by number, who serves each slot, and where a request goes.
//!
//! Redirections change it at once; a new topology replaces it, but nodes keep their numbers, for connections and records
//! hang on them.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use report::model::NodeRole;
use text::slot::SLOT_COUNT;

use super::directory::{Known, Place};
use crate::distribution::uniform;
use crate::plan::{ReplicaReads, Target};

/// A slot that nobody serves.
const NOBODY: u16 = u16::MAX;
/// How long a node that could not be reached is left alone the first time; doubled each further time, up to
/// [`MOST_REST_NS`].
const FIRST_REST_NS: u64 = 25_000_000;
const MOST_REST_NS: u64 = 1_000_000_000;

/// What a thread knows of the cluster.
#[derive(Debug)]
pub(super) struct Map {
    seed: Target,
    reads: ReplicaReads,
    nodes: Vec<MapNode>,
    shards: Vec<Shard>,
    /// For each slot the number of its shard.
    owners: Vec<u16>,
    /// The nodes that clients call their own, in turn, and their shards.
    homes: Vec<(usize, usize)>,
}

/// A node by its number.
#[derive(Debug)]
pub(super) struct MapNode {
    pub(super) place: Arc<Place>,
    pub(super) id: String,
    pub(super) role: NodeRole,
    pub(super) slots: u32,
    /// Nothing is to be sent to it before this.
    rests_until_ns: u64,
    rest_ns: u64,
}

#[derive(Debug)]
struct Shard {
    primary: usize,
    replicas: Vec<usize>,
    slots: Vec<u16>,
}

/// What decides where a request goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub(super) slot: Option<u16>,
    pub(super) reads_only: bool,
    /// The client's index in the plan.
    pub(super) client: usize,
}

impl Map {
    /// A thread's view at the start.
    pub(super) fn new(known: &Known, seed: &Target, reads: ReplicaReads) -> Self {
        let mut map = Self {
            seed: seed.clone(),
            reads,
            nodes: Vec::new(),
            shards: Vec::new(),
            owners: Vec::new(),
            homes: Vec::new(),
        };
        map.update(known);
        map
    }

    /// Takes over a topology.
    pub(super) fn update(&mut self, known: &Known) {
        for node in &mut self.nodes {
            (node.role, node.slots) = (NodeRole::Gone, 0);
        }
        let topology = &known.topology;
        let told = topology.nodes().iter().zip(&known.places);
        let numbers: Vec<usize> = told
            .map(|(node, place)| {
                let at = self.number(place);
                let mine = &mut self.nodes[at];
                mine.id.clone_from(&node.id);
                mine.role =
                    if node.primary.is_none() { NodeRole::Primary } else { NodeRole::Replica };
                let primary = node.primary.unwrap_or(usize::MAX);
                mine.slots = topology.nodes().get(primary).unwrap_or(node).slots;
                at
            })
            .collect();
        self.shards.clear();
        let mut shard_of = vec![NOBODY; topology.nodes().len()];
        for primary in topology.primaries() {
            shard_of[primary] = self.shards.len() as u16;
            let replicas = topology.replicas(primary).map(|replica| numbers[replica]).collect();
            self.shards.push(Shard { primary: numbers[primary], replicas, slots: Vec::new() });
        }
        let owner = |slot| topology.owner(slot).map_or(NOBODY, |primary| shard_of[primary]);
        self.owners = (0..SLOT_COUNT).map(owner).collect();
        for (slot, shard) in self.owners.iter().enumerate() {
            if let Some(shard) = self.shards.get_mut(usize::from(*shard)) {
                shard.slots.push(slot as u16);
            }
        }
        self.choose_homes();
    }

    /// All nodes that were ever known.
    pub(super) fn nodes(&self) -> &[MapNode] {
        &self.nodes
    }

    /// The number of the client's own node; `None` without one.
    pub(super) fn home(&self, client: usize) -> Option<usize> {
        let (node, _) = self.homes.get(client % self.homes.len().max(1))?;
        Some(*node)
    }

    /// Some slot of the client's own node.
    pub(super) fn slot_of_home(&self, client: usize, random: &mut Xoshiro256PlusPlus) -> u16 {
        let Some((_, shard)) = self.homes.get(client % self.homes.len().max(1)) else { return 0 };
        let slots = &self.shards[*shard].slots;
        let at = uniform(random, slots.len().max(1) as u64);
        slots.get(at as usize).copied().unwrap_or(0)
    }

    /// Nodes that requests of this plan may go to at the start.
    pub(super) fn first_nodes(&self, with_primaries: bool) -> Vec<usize> {
        let mut nodes: Vec<usize> = self.homes.iter().map(|(node, _)| *node).collect();
        if with_primaries {
            nodes.extend(self.shards.iter().map(|shard| shard.primary));
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Primaries that serve slots.
    pub(super) fn primaries(&self) -> usize {
        self.shards.len()
    }

    /// Where a request goes now; `None` when nobody serves its slot.
    pub(super) fn node_for(
        &self,
        wish: Wish,
        now_ns: u64,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<usize> {
        let Some(slot) = wish.slot else { return self.home(wish.client) };
        let shard = self.shards.get(usize::from(*self.owners.get(usize::from(slot))?))?;
        if self.reads == ReplicaReads::No || !wish.reads_only {
            return Some(shard.primary);
        }
        let is_up = |node: &usize| now_ns >= self.nodes[*node].rests_until_ns;
        let home = self.home(wish.client).filter(is_up);
        if let Some(home) = home
            && (shard.replicas.contains(&home)
                || self.reads == ReplicaReads::All && home == shard.primary)
        {
            return Some(home);
        }
        let members = shard.replicas.len() + usize::from(self.reads == ReplicaReads::All);
        let first = match self.reads {
            ReplicaReads::All => uniform(random, members as u64) as usize,
            _ => wish.client,
        };
        (0..members)
            .map(|nth| (first + nth) % members)
            .map(|nth| shard.replicas.get(nth).copied().unwrap_or(shard.primary))
            .find(is_up)
            .or(Some(shard.primary))
    }

    /// Follows a redirection of a slot: from now on it is served at this address. Gives the node's number, or `None` when
    /// its name would have to be looked up first.
    pub(super) fn moved(&mut self, slot: u16, from: usize, address: (&str, u16)) -> Option<usize> {
        let node = self.node_at(from, address)?;
        let shard =
            self.shards.iter().position(|shard| shard.primary == node).unwrap_or_else(|| {
                self.shards.push(Shard { primary: node, replicas: Vec::new(), slots: Vec::new() });
                self.shards.len() - 1
            });
        let owner = self.owners.get_mut(usize::from(slot))?;
        let before = std::mem::replace(owner, shard as u16);
        if let Some(before) = self.shards.get_mut(usize::from(before)) {
            before.slots.retain(|own| *own != slot);
        }
        self.shards[shard].slots.push(slot);
        Some(node)
    }

    /// The number of the node at an address that node `from` named; an empty host is its own.
    pub(super) fn node_at(&mut self, from: usize, (host, port): (&str, u16)) -> Option<usize> {
        let own = self.nodes[from].place.target.address.host().to_owned();
        let host = if host.is_empty() { own.as_str() } else { host };
        let target = Place::target(&self.seed, host, port);
        let known = self.nodes.iter().position(|node| node.place.target == target);
        known.or_else(|| {
            let place = Arc::new(Place::numeric(target)?);
            Some(self.number(&place))
        })
    }

    /// True when nothing is to be sent to this node for now.
    pub(super) fn rests(&self, node: usize, now_ns: u64) -> bool {
        now_ns < self.nodes[node].rests_until_ns
    }

    /// A connection to this node failed: it is left alone for a while, longer each time.
    pub(super) fn failed(&mut self, node: usize, now_ns: u64) {
        let node = &mut self.nodes[node];
        if now_ns < node.rests_until_ns {
            return;
        }
        node.rest_ns = (node.rest_ns * 2).clamp(FIRST_REST_NS, MOST_REST_NS);
        node.rests_until_ns = now_ns + node.rest_ns;
    }

    /// This node has answered.
    pub(super) fn answered(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        (node.rests_until_ns, node.rest_ns) = (0, 0);
    }

    fn number(&mut self, place: &Arc<Place>) -> usize {
        let is_it = |node: &MapNode| node.place.target == place.target;
        if let Some(at) = self.nodes.iter().position(is_it) {
            self.nodes[at].place = Arc::clone(place);
            return at;
        }
        self.nodes.push(MapNode {
            place: Arc::clone(place),
            id: String::new(),
            role: NodeRole::Gone,
            slots: 0,
            rests_until_ns: 0,
            rest_ns: 0,
        });
        self.nodes.len() - 1
    }

    fn choose_homes(&mut self) {
        self.homes.clear();
        let is_alone = self.shards.iter().all(|shard| shard.replicas.is_empty());
        for (nth, shard) in self.shards.iter().enumerate() {
            // A cluster without replicas is read from its primaries whatever is wished.
            if self.reads != ReplicaReads::Yes || is_alone {
                self.homes.push((shard.primary, nth));
            }
            if self.reads != ReplicaReads::No {
                self.homes.extend(shard.replicas.iter().map(|replica| (*replica, nth)));
            }
        }
    }
}
