//! Load on a Redis Cluster: each request goes to the node that serves the slot of its keys.
//!
//! Redirections are followed, and a request that met one counts once, with its whole time. Nodes that fail do not end the
//! run: what was sent to them is sent again when the cluster has put another node in their place, and the outage is timed.

mod client;
mod directory;
mod keys;
mod map;
mod outage;
mod pipe;
mod redirect;
mod request;
mod route;
mod run;
mod tags;
mod topology;
mod worker;

pub use topology::{Node, Topology};

pub(crate) use run::run;
