//! Which nodes a cluster has and which of them serves each slot, as any one of them tells it.
//!
//! `CLUSTER SLOTS` is asked first, because every server with the protocol has it and it gives the port of the kind of
//! connection that asks; `CLUSTER SHARDS` and `CLUSTER NODES` are for those that have dropped it.

use std::time::Duration;

use resp::{Value, ValueDecoder};
use text::slot::SLOT_COUNT;

use super::redirect::host_and_port;
use crate::connect;
use crate::error::{RunError, message_text};
use crate::plan::{Address, Target};

/// Most nodes of a cluster; Redis recommends at most 1000.
pub const MAX_NODES: usize = 10_000;
/// A slot that nobody serves.
const NOBODY: u16 = u16::MAX;

/// The nodes of a cluster, and the slots they serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Primaries in the order of their slots, then replicas.
    nodes: Vec<Node>,
    /// For each slot the index of its primary.
    owners: Box<[u16]>,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id; empty where the server has none.
    pub id: String,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The index of its primary; `None` for a primary.
    pub primary: Option<usize>,
    /// Slots that it serves as a primary.
    pub slots: u32,
}

/// A shard as far as it has been read: runs of slots, and nodes with the primary first.
#[derive(Debug, Default)]
struct Shard {
    ranges: Vec<(u16, u16)>,
    nodes: Vec<(String, String, u16)>,
}

/// Reads one kind of answer; the host that was asked stands for one that is not told.
type Reader = fn(&Value, &str) -> Option<Vec<Shard>>;

impl Topology {
    /// Asks the node at `target`, waiting at most `patience` for each answer.
    ///
    /// # Errors
    /// What keeps it from answering; [`RunError::NoCluster`] when it is no node of a cluster or tells of no slot.
    pub fn ask(target: &Target, patience: Duration) -> Result<Self, RunError> {
        let Address::Tcp { host, .. } = &target.address else {
            return Err(crate::plan::PlanError::ClusterNeedsTcp.into());
        };
        let no_cluster =
            |message: String| RunError::NoCluster { address: target.address.to_string(), message };
        let mut refusal = String::new();
        let readers: [(&str, Reader); 3] = [("SLOTS", slots), ("SHARDS", shards), ("NODES", nodes)];
        for (question, read) in readers {
            let reply = connect::ask_within(target, &["CLUSTER", question], patience)?;
            match ValueDecoder::new().next(&reply) {
                Ok(Some((Value::Error(message), _))) if refusal.is_empty() => {
                    refusal = message_text(&message);
                }
                Ok(Some((Value::Error(_), _))) => {}
                Ok(Some((value, _))) => {
                    return read(&value, host)
                        .and_then(Self::of)
                        .ok_or_else(|| no_cluster("it tells of no node that serves slots".into()));
                }
                Ok(None) | Err(_) => return Err(no_cluster("its answer makes no sense".into())),
            }
        }
        Err(no_cluster(refusal))
    }

    /// All nodes: primaries in the order of their slots, then replicas.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Indices of the primaries that serve slots.
    pub fn primaries(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].slots > 0)
    }

    /// Indices of the replicas of a primary.
    pub fn replicas(&self, primary: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(move |node| self.nodes[*node].primary == Some(primary))
    }

    /// The primary that serves a slot.
    pub fn owner(&self, slot: u16) -> Option<usize> {
        self.owners
            .get(usize::from(slot))
            .copied()
            .filter(|owner| *owner != NOBODY)
            .map(usize::from)
    }

    /// Puts shards in order; `None` without a slot that is served.
    fn of(mut shards: Vec<Shard>) -> Option<Self> {
        let first_slot = |shard: &Shard| shard.ranges.iter().map(|range| range.0).min();
        shards.retain(|shard| !shard.nodes.is_empty() && !shard.ranges.is_empty());
        shards.sort_by_key(first_slot);
        if shards.is_empty()
            || shards.iter().map(|shard| shard.nodes.len()).sum::<usize>() > MAX_NODES
        {
            return None;
        }
        let mut owners = vec![NOBODY; usize::from(SLOT_COUNT)];
        let mut topology = Self { nodes: Vec::new(), owners: Box::default() };
        for (nth, shard) in shards.iter().enumerate() {
            for (first, last) in &shard.ranges {
                owners[usize::from(*first)..=usize::from(*last)].fill(nth as u16);
            }
            let slots = owners.iter().filter(|owner| usize::from(**owner) == nth).count();
            topology.push(shard.nodes[0].clone(), None, slots as u32);
        }
        for (nth, shard) in shards.iter().enumerate() {
            for node in &shard.nodes[1..] {
                topology.push(node.clone(), Some(nth), 0);
            }
        }
        topology.owners = owners.into();
        Some(topology)
    }

    fn push(&mut self, node: (String, String, u16), primary: Option<usize>, slots: u32) {
        let (id, host, port) = node;
        self.nodes.push(Node { id, host, port, primary, slots });
    }
}

impl Node {
    /// The node as a target, which has all but the address from the node that was asked.
    pub fn target(&self, asked: &Target) -> Target {
        let address = Address::Tcp { host: self.host.clone(), port: self.port };
        Target { address, ..asked.clone() }
    }
}

/// Reads `CLUSTER SLOTS`: runs of slots, each with its primary and replicas. `asked` stands for a host that is not told.
fn slots(reply: &Value, asked: &str) -> Option<Vec<Shard>> {
    let mut shards: Vec<Shard> = Vec::new();
    for run in elements(reply)? {
        let run = elements(run)?;
        let range = (slot(run.first()?)?, slot(run.get(1)?)?);
        let node = |node: &Value| {
            let node = elements(node)?;
            let host = host(text(node.first()?).unwrap_or_default(), asked)?;
            let id = node.get(2).and_then(text).unwrap_or_default();
            Some((id, host, port(node.get(1)?)?))
        };
        let nodes: Vec<_> = run[2..].iter().filter_map(node).collect();
        let is_same = |shard: &&mut Shard| shard.nodes.first() == nodes.first();
        match shards.iter_mut().find(is_same) {
            Some(shard) => shard.ranges.push(range),
            None => shards.push(Shard { ranges: vec![range], nodes }),
        }
    }
    in_order(shards)
}

/// Reads `CLUSTER SHARDS`: maps, or arrays of names and values in turn.
fn shards(reply: &Value, asked: &str) -> Option<Vec<Shard>> {
    let mut shards = Vec::new();
    for entry in elements(reply)? {
        let mut shard = Shard::default();
        for pair in elements(field(entry, "slots")?)?.chunks_exact(2) {
            shard.ranges.push((slot(&pair[0])?, slot(&pair[1])?));
        }
        for node in elements(field(entry, "nodes")?)? {
            let named = |name: &str| field(node, name).and_then(text);
            let is_up = named("health").is_none_or(|health| health == "online");
            let place = named("endpoint").or_else(|| named("ip")).unwrap_or_default();
            let at = field(node, "port").or_else(|| field(node, "tls-port")).and_then(port);
            let (Some(host), Some(at), true) = (host(place, asked), at, is_up) else { continue };
            let node = (named("id").unwrap_or_default(), host, at);
            match named("role").as_deref() {
                Some("master" | "primary") => shard.nodes.insert(0, node),
                _ => shard.nodes.push(node),
            }
        }
        shards.push(shard);
    }
    in_order(shards)
}

/// Reads `CLUSTER NODES`: a line for each node.
fn nodes(reply: &Value, asked: &str) -> Option<Vec<Shard>> {
    let lines = text(reply)?;
    let mut primaries: Vec<(String, Shard)> = Vec::new();
    let mut replicas: Vec<(String, (String, String, u16))> = Vec::new();
    for line in lines.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [id, address, flags, primary, _, _, _, _, ranges @ ..] = words.as_slice() else {
            continue;
        };
        let is = |flag: &str| flags.split(',').any(|own| own == flag);
        let address = address.split(['@', ',']).next().unwrap_or_default();
        let Some((place, at)) = host_and_port(address) else { continue };
        let Some(host) = host(place.to_owned(), asked) else { continue };
        if is("noaddr") || is("handshake") || is("fail") {
            continue;
        }
        let node = ((*id).to_owned(), host, at);
        if is("master") || is("primary") {
            // Slots on their way stand in brackets, and are the old node's until they have arrived.
            let ranges = ranges.iter().filter(|range| !range.starts_with('[')).map(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                Some((number_of_slot(first)?, number_of_slot(last)?))
            });
            let ranges = ranges.collect::<Option<Vec<_>>>()?;
            primaries.push(((*id).to_owned(), Shard { ranges, nodes: vec![node] }));
        } else {
            replicas.push(((*primary).to_owned(), node));
        }
    }
    for (primary, node) in replicas {
        if let Some((_, shard)) = primaries.iter_mut().find(|(id, _)| *id == primary) {
            shard.nodes.push(node);
        }
    }
    in_order(primaries.into_iter().map(|(_, shard)| shard).collect())
}

/// The shards, if all their runs of slots go upwards.
fn in_order(shards: Vec<Shard>) -> Option<Vec<Shard>> {
    let mut ranges = shards.iter().flat_map(|shard| &shard.ranges);
    ranges.all(|(first, last)| first <= last).then_some(shards)
}

fn elements(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(elements) | Value::Set(elements) => Some(elements),
        _ => None,
    }
}

/// A field of a map, or of an array of names and values in turn.
fn field<'value>(value: &'value Value, name: &str) -> Option<&'value Value> {
    let is_name = |key: &Value| key.as_bytes() == Some(name.as_bytes());
    match value {
        Value::Map(pairs) => pairs.iter().find(|(key, _)| is_name(key)).map(|(_, value)| value),
        _ => {
            let pairs = elements(value)?.chunks_exact(2);
            pairs.into_iter().find(|pair| is_name(&pair[0])).map(|pair| &pair[1])
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// The host of a node: that of the one asked where it is not told, and none where the cluster does not know it.
fn host(told: String, asked: &str) -> Option<String> {
    match told.as_str() {
        "" => Some(asked.to_owned()),
        "?" => None,
        _ => Some(told),
    }
}

fn slot(value: &Value) -> Option<u16> {
    match value {
        Value::Integer(slot) => u16::try_from(*slot).ok().filter(|slot| *slot < SLOT_COUNT),
        other => number_of_slot(&text(other)?),
    }
}

fn number_of_slot(text: &str) -> Option<u16> {
    text.parse().ok().filter(|slot| *slot < SLOT_COUNT)
}

fn port(value: &Value) -> Option<u16> {
    match value {
        Value::Integer(port) => u16::try_from(*port).ok().filter(|port| *port > 0),
        other => text(other)?.parse().ok().filter(|port| *port > 0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::*;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.into())
    }

    fn node(host: &str, port: i64, id: &str) -> Value {
        Value::Array(vec![bulk(host), Value::Integer(port), bulk(id), Value::Array(vec![])])
    }

    fn run(first: i64, last: i64, nodes: Vec<Value>) -> Value {
        let mut run = vec![Value::Integer(first), Value::Integer(last)];
        run.extend(nodes);
        Value::Array(run)
    }

    fn summary(shards: Option<Vec<Shard>>) -> Vec<(String, u16, Option<usize>, u32)> {
        let topology = Topology::of(shards.unwrap()).unwrap();
        let node = |node: &Node| (node.host.clone(), node.port, node.primary, node.slots);
        topology.nodes().iter().map(node).collect()
    }

    fn expected() -> Vec<(String, u16, Option<usize>, u32)> {
        vec![
            ("h1".into(), 1, None, 8_193),
            ("h2".into(), 2, None, 8_191),
            ("h3".into(), 3, Some(0), 0),
        ]
    }

    #[test]
    fn slots_are_read_and_put_in_order() {
        let reply = Value::Array(vec![
            run(8_193, 16_383, vec![node("h2", 2, "b")]),
            run(0, 100, vec![node("", 1, "a"), node("h3", 3, "c")]),
            run(101, 8_192, vec![node("", 1, "a"), node("h3", 3, "c"), node("?", 4, "d")]),
        ]);
        assert_eq!(summary(slots(&reply, "h1")), expected());
        let topology = Topology::of(slots(&reply, "h1").unwrap()).unwrap();
        assert_eq!((topology.owner(8_192), topology.owner(8_193)), (Some(0), Some(1)));
        assert_eq!(topology.owner(u16::MAX), None);
        assert_eq!(topology.primaries().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(topology.replicas(0).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn shards_are_read_as_maps_and_as_arrays() {
        let pairs = |pairs: Vec<(&str, Value)>, is_map: bool| {
            let pairs = pairs.into_iter().map(|(name, value)| (bulk(name), value));
            match is_map {
                true => Value::Map(pairs.collect()),
                false => Value::Array(pairs.flat_map(|(name, value)| [name, value]).collect()),
            }
        };
        for is_map in [true, false] {
            let member = |id: &str, host: &str, port, role: &str, health: &str| {
                let fields = vec![
                    ("id", bulk(id)),
                    ("port", Value::Integer(port)),
                    ("ip", bulk(host)),
                    ("endpoint", bulk(host)),
                    ("role", bulk(role)),
                    ("health", bulk(health)),
                ];
                pairs(fields, is_map)
            };
            let shard = |slots: [i64; 2], nodes: Vec<Value>| {
                let slots = Value::Array(slots.map(Value::Integer).into());
                pairs(vec![("slots", slots), ("nodes", Value::Array(nodes))], is_map)
            };
            let reply = Value::Array(vec![
                shard(
                    [0, 8_192],
                    vec![
                        member("c", "h3", 3, "replica", "online"),
                        member("a", "h1", 1, "master", "online"),
                        member("d", "h4", 4, "replica", "fail"),
                    ],
                ),
                shard([8_193, 16_383], vec![member("b", "h2", 2, "master", "online")]),
            ]);
            assert_eq!(summary(shards(&reply, "x")), expected());
        }
    }

    #[test]
    fn lines_of_nodes_are_read() {
        let lines = "\
a h1:1@101 myself,master - 0 0 1 connected 0-8191 8192 [8193->-b]
b h2:2@102,name master - 0 0 2 connected 8193-16383
c h3:3@103 slave a 0 0 1 connected
d h4:4@104 slave,fail b 0 0 1 disconnected
e :0@0 master,noaddr - 0 0 1 disconnected
";
        assert_eq!(summary(nodes(&bulk(lines), "x")), expected());
    }

    #[test]
    fn nonsense_is_no_topology() {
        for reply in [
            Value::Integer(1),
            Value::Array(vec![run(5, 4, vec![node("h", 1, "a")])]),
            Value::Array(vec![run(0, 16_384, vec![node("h", 1, "a")])]),
        ] {
            assert!(slots(&reply, "h").is_none(), "{reply:?}");
        }
        assert!(Topology::of(Vec::new()).is_none());
        assert!(Topology::of(slots(&Value::Array(vec![]), "h").unwrap()).is_none());
    }

    proptest! {
        #[test]
        fn no_reply_causes_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let line = Value::Bulk(bytes.clone());
            let _ = nodes(&line, "h");
            if let Ok(Some((value, _))) = ValueDecoder::new().next(&bytes) {
                let _ = (slots(&value, "h"), shards(&value, "h"));
            }
        }
    }
}
