//! What `COMMAND INFO` tells beyond a command's row: hints for clients, and what becomes of each key.
//!
//! Both are sparse, so they stand here and not in every row: most commands have no hints, and for
//! keys the rule in [`key_uses`] holds, with the exceptions below.

use crate::command::{Command, Flags};

/// The hints of a command for clients and proxies ("tips" in Redis's words).
pub fn hints(name: &str) -> &'static [&'static str] {
    const ALL_NODES: &[&str] = &["request_policy:all_nodes", "response_policy:all_succeeded"];
    const ALL_SHARDS: &[&str] = &["request_policy:all_shards", "response_policy:all_succeeded"];
    const SHARDS_SUM: &[&str] = &["request_policy:multi_shard", "response_policy:agg_sum"];
    match name {
        "client|info" | "client|list" | "hscan" | "object|encoding" | "object|freq"
        | "object|idletime" | "object|refcount" | "pttl" | "spop" | "srandmember" | "sscan"
        | "time" | "ttl" | "xadd" | "zrandmember" | "zscan" | "xtrim" | "hrandfield" => {
            &["nondeterministic_output"]
        }
        "command" | "command|docs" | "command|info" | "command|list" | "hgetall" | "hkeys"
        | "hvals" | "smembers" => &["nondeterministic_output_order"],
        "client|setinfo" | "client|setname" | "config|resetstat" | "config|rewrite"
        | "config|set" => ALL_NODES,
        "flushall" | "flushdb" | "ping" => ALL_SHARDS,
        "dbsize" => &["request_policy:all_shards", "response_policy:agg_sum"],
        "del" | "exists" | "touch" | "unlink" => SHARDS_SUM,
        "info" => {
            &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"]
        }
        "keys" => &["request_policy:all_shards", "nondeterministic_output_order"],
        "mget" => &["request_policy:multi_shard"],
        "mset" => &["request_policy:multi_shard", "response_policy:all_succeeded"],
        "randomkey" => {
            &["request_policy:all_shards", "response_policy:special", "nondeterministic_output"]
        }
        "scan" => &["nondeterministic_output", "request_policy:special", "response_policy:special"],
        _ => &[],
    }
}

/// What a command does to its keys: one list for all of them, or one for each.
pub fn key_uses(command: &Command) -> &'static [&'static [&'static str]] {
    const INSERT: &[&[&str]] = &[&["RW", "insert"]];
    const UPDATE: &[&[&str]] = &[&["RW", "update"]];
    const DELETE: &[&[&str]] = &[&["RW", "delete"]];
    const READ_UPDATE: &[&[&str]] = &[&["RW", "access", "update"]];
    const READ_DELETE: &[&[&str]] = &[&["RW", "access", "delete"]];
    const OVERWRITE: &[&[&str]] = &[&["OW", "update"]];
    match command.name {
        "exists" | "hexists" | "hlen" | "hstrlen" | "llen" | "object|encoding" | "object|freq"
        | "object|idletime" | "object|refcount" | "scard" | "sismember" | "strlen" | "touch"
        | "type" | "xlen" | "zcard" => &[&["RO"]],
        _ if command.flags.contains(Flags::READONLY) => &[&["RO", "access"]],
        "append" | "hsetnx" | "linsert" | "lpush" | "lpushx" | "rpush" | "rpushx" | "sadd" => {
            INSERT
        }
        "hdel" | "lrem" | "ltrim" | "srem" | "xdel" | "xtrim" | "zrem" => DELETE,
        "del" | "unlink" => &[&["RM", "delete"]],
        "decr" | "decrby" | "getex" | "getset" | "hincrby" | "hincrbyfloat" | "incr" | "incrby"
        | "incrbyfloat" | "zincrby" => READ_UPDATE,
        "getdel" | "lpop" | "rpop" | "spop" | "zpopmax" | "zpopmin" => READ_DELETE,
        "mset" | "psetex" | "setex" => OVERWRITE,
        "msetnx" | "setnx" => &[&["OW", "insert"]],
        "set" => &[&["RW", "access", "update", "variable_flags"]],
        "rename" => &[&["RW", "access", "delete"], &["OW", "update"]],
        "renamenx" => &[&["RW", "access", "delete"], &["OW", "insert"]],
        _ => UPDATE,
    }
}

/// Why the uses of a command's key are what they are, where that surprises.
pub fn key_notes(name: &str) -> Option<&'static str> {
    match name {
        "getex" => Some("RW and UPDATE because it changes the TTL"),
        "set" => Some("RW and ACCESS due to the optional `GET` argument"),
        "xadd" => Some("UPDATE instead of INSERT because of the optional trimming feature"),
        _ => None,
    }
}
