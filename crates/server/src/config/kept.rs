//! The parameters that are accepted, kept and answered, but that nothing acts upon: so that the
//! configuration files and clients of Redis go on working. A value that would promise something
//! that this server does not do is refused, with the reason.

use super::parameter::{
    Parameter, kept_boolean, kept_integer, kept_list, kept_memory, kept_text, kept_word,
};

const INT: (i64, i64) = (0, i32::MAX as i64);
const POSITIVE: (i64, i64) = (1, i32::MAX as i64);
const LONG: (i64, i64) = (0, i64::MAX);
const SIGNED: (i64, i64) = (-1, i64::MAX);
const PORT: (i64, i64) = (0, 65535);
const PERCENT: (i64, i64) = (1, 99);

const POLICIES: &[&str] = &[
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
];
const FACILITIES: &[&str] =
    &["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"];
const SHUTDOWN: &[&str] = &["default", "save", "nosave", "now", "force"];
const ALLOWED: &[&str] = &["no", "yes", "local"];

const NO_AOF: &str = "the append-only file is not supported yet";
const NO_SNAPSHOTS: &str = "snapshots are not supported yet; save \"\" goes without them";
const NO_EVICTION: &str = "eviction is not supported yet, so the policy is noeviction";
const NO_REPLICATION: &str = "replication is not supported yet";
const NO_CLUSTER: &str = "cluster mode is not supported yet";
const NO_TLS: &str = "TLS is not supported yet";
const NO_ACL: &str = "ACL files are not supported yet";
const NO_SYSLOG: &str = "logging to syslog is not supported; use logfile";
const NO_NOTIFICATIONS: &str = "keyspace notifications are not supported yet";
const NO_COMPRESSION: &str = "lists are not compressed";
const NO_DEFRAGMENTATION: &str = "active defragmentation is not supported";
const NO_PINNING: &str = "pinning threads to processors is not supported";
const NO_MODULES: &str = "modules are not supported";
const NO_SUPERVISION: &str = "signalling a supervisor is not supported";
const NO_CLIENT_EVICTION: &str = "evicting clients is not supported yet";

/// The rows.
pub const PARAMETERS: &[Parameter] = &[
    // Data on disk.
    kept_list("save", "").only(&[""], NO_SNAPSHOTS),
    kept_boolean("appendonly", "no").only(&["no"], NO_AOF),
    kept_text("dbfilename", "dump.rdb").protected(),
    kept_text("appendfilename", "appendonly.aof").startup(),
    kept_text("appenddirname", "appendonlydir").startup(),
    kept_word("appendfsync", &["everysec", "always", "no"], "everysec"),
    kept_boolean("no-appendfsync-on-rewrite", "no"),
    kept_integer("auto-aof-rewrite-percentage", INT, "100"),
    kept_memory("auto-aof-rewrite-min-size", "67108864"),
    kept_boolean("aof-load-truncated", "yes"),
    kept_boolean("aof-use-rdb-preamble", "yes"),
    kept_boolean("aof-timestamp-enabled", "no"),
    kept_boolean("aof-disable-auto-gc", "no"),
    kept_boolean("aof-rewrite-incremental-fsync", "yes"),
    kept_boolean("rdb-save-incremental-fsync", "yes"),
    kept_boolean("rdbcompression", "yes"),
    kept_boolean("rdbchecksum", "yes").startup(),
    kept_boolean("rdb-del-sync-files", "no"),
    kept_boolean("stop-writes-on-bgsave-error", "yes"),
    kept_word("sanitize-dump-payload", &["no", "yes", "clients"], "no"),
    // Memory.
    kept_word("maxmemory-policy", POLICIES, "noeviction").only(&["noeviction"], NO_EVICTION),
    kept_integer("maxmemory-samples", (1, 64), "5"),
    kept_integer("maxmemory-eviction-tenacity", (0, 100), "10"),
    kept_text("maxmemory-clients", "0").only(&["0"], NO_CLIENT_EVICTION),
    kept_integer("lfu-log-factor", INT, "10"),
    kept_integer("lfu-decay-time", INT, "1"),
    kept_boolean("lazyfree-lazy-eviction", "no"),
    kept_boolean("lazyfree-lazy-expire", "no"),
    kept_boolean("lazyfree-lazy-server-del", "no"),
    kept_boolean("lazyfree-lazy-user-del", "no"),
    kept_boolean("lazyfree-lazy-user-flush", "no"),
    kept_boolean("activerehashing", "yes"),
    kept_boolean("activedefrag", "no").only(&["no"], NO_DEFRAGMENTATION),
    kept_memory("active-defrag-ignore-bytes", "104857600"),
    kept_integer("active-defrag-threshold-lower", (0, 1000), "10"),
    kept_integer("active-defrag-threshold-upper", (0, 1000), "100"),
    kept_integer("active-defrag-cycle-min", PERCENT, "1"),
    kept_integer("active-defrag-cycle-max", PERCENT, "25"),
    kept_integer("active-defrag-max-scan-fields", (1, i64::MAX), "1000"),
    kept_integer("active-expire-effort", (1, 10), "1"),
    kept_boolean("jemalloc-bg-thread", "yes"),
    kept_integer("list-compress-depth", INT, "0").only(&["0"], NO_COMPRESSION),
    kept_memory("hll-sparse-max-bytes", "3000"),
    // The process.
    kept_boolean("dynamic-hz", "yes"),
    kept_boolean("set-proc-title", "yes").startup(),
    kept_text("proc-title-template", "{title} {listen-addr} {server-mode}"),
    kept_boolean("always-show-logo", "no").startup(),
    kept_text("locale-collate", ""),
    kept_word("supervised", &["upstart", "systemd", "auto", "no"], "no")
        .startup()
        .only(&["no", "auto"], NO_SUPERVISION),
    kept_boolean("syslog-enabled", "no").startup().only(&["no"], NO_SYSLOG),
    kept_text("syslog-ident", "redis").startup(),
    kept_word("syslog-facility", FACILITIES, "local0").startup(),
    kept_boolean("crash-log-enabled", "yes"),
    kept_boolean("crash-memcheck-enabled", "yes"),
    kept_boolean("hide-user-data-from-log", "no"),
    kept_boolean("disable-thp", "yes").startup(),
    kept_word("oom-score-adj", &["no", "yes", "relative", "absolute"], "no"),
    kept_list("oom-score-adj-values", "0 200 800"),
    kept_boolean("io-threads-do-reads", "no").startup(),
    kept_text("server-cpulist", "").alias("server_cpulist").startup().only(&[""], NO_PINNING),
    kept_text("bio-cpulist", "").alias("bio_cpulist").startup().only(&[""], NO_PINNING),
    kept_text("aof-rewrite-cpulist", "")
        .alias("aof_rewrite_cpulist")
        .startup()
        .only(&[""], NO_PINNING),
    kept_text("bgsave-cpulist", "").alias("bgsave_cpulist").startup().only(&[""], NO_PINNING),
    kept_text("ignore-warnings", ""),
    kept_word("shutdown-on-sigint", SHUTDOWN, "default"),
    kept_word("shutdown-on-sigterm", SHUTDOWN, "default"),
    kept_integer("shutdown-timeout", INT, "10"),
    kept_integer("max-new-connections-per-cycle", (1, 1000), "10"),
    kept_integer("socket-mark-id", (0, u32::MAX as i64), "0"),
    kept_text("bind-source-addr", ""),
    // Scripts, slow log, latency, notifications, tracking.
    kept_integer("busy-reply-threshold", LONG, "5000").alias("lua-time-limit"),
    kept_integer("slowlog-log-slower-than", SIGNED, "10000"),
    kept_integer("slowlog-max-len", LONG, "128"),
    kept_integer("latency-monitor-threshold", LONG, "0"),
    kept_boolean("latency-tracking", "yes"),
    kept_list("latency-tracking-info-percentiles", "50 99 99.9"),
    kept_text("notify-keyspace-events", "").only(&[""], NO_NOTIFICATIONS),
    kept_integer("tracking-table-max-keys", LONG, "1000000"),
    kept_word("enable-module-command", ALLOWED, "no").startup().only(&["no"], NO_MODULES),
    kept_text("aclfile", "").startup().only(&[""], NO_ACL),
    kept_integer("acllog-max-len", LONG, "128"),
    kept_word("acl-pubsub-default", &["allchannels", "resetchannels"], "resetchannels"),
    // Replication.
    kept_list("replicaof", "").alias("slaveof").startup().only(&["", "no one"], NO_REPLICATION),
    kept_text("masterauth", ""),
    kept_text("masteruser", ""),
    kept_boolean("replica-serve-stale-data", "yes").alias("slave-serve-stale-data"),
    kept_boolean("replica-read-only", "yes").alias("slave-read-only"),
    kept_boolean("replica-ignore-maxmemory", "yes").alias("slave-ignore-maxmemory"),
    kept_boolean("replica-lazy-flush", "no").alias("slave-lazy-flush"),
    kept_boolean("replica-ignore-disk-write-errors", "no"),
    kept_boolean("replica-announced", "yes"),
    kept_integer("replica-priority", INT, "100").alias("slave-priority"),
    kept_text("replica-announce-ip", "").alias("slave-announce-ip"),
    kept_integer("replica-announce-port", PORT, "0").alias("slave-announce-port"),
    kept_boolean("repl-diskless-sync", "yes"),
    kept_integer("repl-diskless-sync-delay", INT, "5"),
    kept_integer("repl-diskless-sync-max-replicas", INT, "0"),
    kept_word(
        "repl-diskless-load",
        &["disabled", "on-empty-db", "swapdb", "flush-before-load"],
        "disabled",
    ),
    kept_boolean("repl-disable-tcp-nodelay", "no"),
    kept_integer("repl-ping-replica-period", POSITIVE, "10").alias("repl-ping-slave-period"),
    kept_integer("repl-timeout", POSITIVE, "60"),
    kept_memory("repl-backlog-size", "1048576"),
    kept_integer("repl-backlog-ttl", LONG, "3600"),
    kept_integer("min-replicas-to-write", INT, "0")
        .alias("min-slaves-to-write")
        .only(&["0"], NO_REPLICATION),
    kept_integer("min-replicas-max-lag", INT, "10").alias("min-slaves-max-lag"),
    kept_word("propagation-error-behavior", &["ignore", "panic", "panic-on-replicas"], "ignore"),
    // Cluster.
    kept_boolean("cluster-enabled", "no").startup().only(&["no"], NO_CLUSTER),
    kept_text("cluster-config-file", "nodes.conf").startup(),
    kept_integer("cluster-port", PORT, "0").startup(),
    kept_integer("cluster-node-timeout", LONG, "15000"),
    kept_integer("cluster-replica-validity-factor", INT, "10")
        .alias("cluster-slave-validity-factor"),
    kept_integer("cluster-migration-barrier", INT, "1"),
    kept_boolean("cluster-allow-replica-migration", "yes"),
    kept_boolean("cluster-require-full-coverage", "yes"),
    kept_boolean("cluster-replica-no-failover", "no").alias("cluster-slave-no-failover"),
    kept_boolean("cluster-allow-reads-when-down", "no"),
    kept_boolean("cluster-allow-pubsubshard-when-down", "yes"),
    kept_memory("cluster-link-sendbuf-limit", "0"),
    kept_text("cluster-announce-ip", ""),
    kept_text("cluster-announce-hostname", ""),
    kept_text("cluster-announce-human-nodename", ""),
    kept_integer("cluster-announce-port", PORT, "0"),
    kept_integer("cluster-announce-tls-port", PORT, "0"),
    kept_integer("cluster-announce-bus-port", PORT, "0"),
    kept_word("cluster-preferred-endpoint-type", &["ip", "hostname", "unknown-endpoint"], "ip"),
    // TLS.
    kept_integer("tls-port", PORT, "0").only(&["0"], NO_TLS),
    kept_boolean("tls-replication", "no").only(&["no"], NO_TLS),
    kept_boolean("tls-cluster", "no").only(&["no"], NO_TLS),
    kept_text("tls-cert-file", "").only(&[""], NO_TLS),
    kept_text("tls-key-file", "").only(&[""], NO_TLS),
    kept_text("tls-ca-cert-file", "").only(&[""], NO_TLS),
    kept_text("tls-ca-cert-dir", "").only(&[""], NO_TLS),
];
