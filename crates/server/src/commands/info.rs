//! `INFO`: what the server tells of itself, section by section, with Redis's names. A figure that
//! this server does not have is left out rather than made up.

use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::Whole;
use engine::keyspace::SHARDS;
use resp::args::Args;
use resp::reply::Reply;

use crate::command::{Command, Doc, Flags, Handler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::memory;
use crate::server::{REDIS_VERSION, Server, clock};
use crate::settings::IoBackend;
use crate::stats::Totals;
use crate::system::{self, Whose};

/// Entries of each shard of which the average time to live is taken.
const TTL_ENTRIES_MAX: usize = 16;

/// One section.
struct Section {
    title: &'static str,
    /// Whether `INFO` shows it unasked.
    is_default: bool,
    /// Whether `INFO all` shows it; `everything` shows all.
    is_in_all: bool,
    write: fn(&Server, &mut Whole<'_>, &mut Fields),
}

/// The sections, in their order.
const SECTIONS: &[Section] = &[
    section("Server", server),
    section("Clients", clients),
    section("Memory", used_memory),
    section("Persistence", persistence),
    section("Stats", stats),
    section("Replication", replication),
    section("CPU", cpu),
    Section { is_in_all: false, ..section("Modules", modules) },
    section("Errorstats", errorstats),
    section("Cluster", cluster),
    section("Keyspace", keyspace),
];

const fn section(title: &'static str, write: fn(&Server, &mut Whole<'_>, &mut Fields)) -> Section {
    Section { title, is_default: true, is_in_all: true, write }
}

impl Section {
    /// Whether the words behind `INFO` ask for it.
    fn is_wanted(&self, words: &Args<'_>) -> bool {
        if words.len() == 1 {
            return self.is_default;
        }
        words.iter().skip(1).any(|word| {
            word.eq_ignore_ascii_case(self.title.as_bytes())
                || word.eq_ignore_ascii_case(b"everything")
                || self.is_default && word.eq_ignore_ascii_case(b"default")
                || self.is_in_all && word.eq_ignore_ascii_case(b"all")
        })
    }
}

/// The text under way.
#[derive(Default)]
struct Fields(String);

impl Fields {
    fn put(&mut self, name: &str, value: impl Display) {
        write!(self.0, "{name}:{value}\r\n").expect("writing to a string does not fail");
    }

    /// A number of bytes, and the same for people.
    fn put_bytes(&mut self, name: &str, bytes: u64) {
        self.put(name, bytes);
        self.put(&format!("{name}_human"), text::memory::human(bytes));
    }
}

fn info(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut fields = Fields::default();
    for section in SECTIONS.iter().filter(|section| section.is_wanted(&args)) {
        if !fields.0.is_empty() {
            fields.0.push_str("\r\n");
        }
        fields.0.push_str(&format!("# {}\r\n", section.title));
        (section.write)(context.server, keyspace, &mut fields);
    }
    reply.verbatim(*b"txt", fields.0.as_bytes());
    Ok(Effect::NONE)
}

fn server(server: &Server, _keyspace: &mut Whole<'_>, fields: &mut Fields) {
    let settings = server.settings();
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let uptime_s = server.started_at.elapsed().as_secs();
    fields.put("redis_version", REDIS_VERSION);
    fields.put("redline_version", env!("CARGO_PKG_VERSION"));
    fields.put("redis_mode", "standalone");
    let system = rustix::system::uname();
    fields.put(
        "os",
        format_args!(
            "{} {} {}",
            system.sysname().to_string_lossy(),
            system.release().to_string_lossy(),
            system.machine().to_string_lossy()
        ),
    );
    fields.put("arch_bits", usize::BITS);
    fields.put("process_id", std::process::id());
    fields.put("run_id", &server.run_id);
    fields.put("tcp_port", if settings.listens_on_tcp { settings.port } else { 0 });
    fields.put("server_time_usec", since_epoch.as_micros());
    fields.put("uptime_in_seconds", uptime_s);
    fields.put("uptime_in_days", uptime_s / 86_400);
    fields.put("hz", settings.hz);
    fields.put("configured_hz", settings.hz);
    fields.put("lru_clock", since_epoch.as_secs() & 0xff_ffff);
    let executable = std::env::current_exe().unwrap_or_default();
    fields.put("executable", executable.display());
    let config_file = server.origin.config_file.as_deref().unwrap_or("".as_ref());
    fields.put("config_file", config_file.display());
    fields.put("io_threads_active", u8::from(server.worker_stats.len() > 1));
    fields.put("worker_threads", server.worker_stats.len());
    let backend = match settings.io_backend {
        IoBackend::Auto => "auto",
        IoBackend::Uring => "uring",
        IoBackend::Poll => "poll",
    };
    fields.put("io_backend", backend);
}

fn clients(server: &Server, _keyspace: &mut Whole<'_>, fields: &mut Fields) {
    let clients = server.clients.list();
    let most = |bytes: fn(&crate::client::ClientInfo) -> usize| {
        clients.iter().map(|client| bytes(client)).max().unwrap_or(0)
    };
    fields.put("connected_clients", clients.len());
    fields.put("cluster_connections", 0);
    fields.put("maxclients", server.settings().clients_max);
    let input = most(|client| client.query_bytes.load(Ordering::Relaxed));
    let output = most(|client| client.waiting_output_bytes());
    fields.put("client_recent_max_input_buffer", input);
    fields.put("client_recent_max_output_buffer", output);
    fields.put("blocked_clients", server.blocked_clients.load(Ordering::Relaxed));
    fields.put("tracking_clients", 0);
    fields.put("pubsub_clients", clients.iter().filter(|client| client.is_subscriber()).count());
    let watching = |client: &std::sync::Arc<crate::client::ClientInfo>| {
        client.watched_keys.load(Ordering::Relaxed) > 0
    };
    fields.put("watching_clients", clients.iter().filter(|client| watching(client)).count());
    fields.put("clients_in_timeout_table", 0);
    fields.put("total_watched_keys", server.observers.watched_keys());
    fields.put("total_blocking_keys", server.observers.awaited_keys());
    fields.put("total_blocking_keys_on_nokey", 0);
}

fn used_memory(server: &Server, keyspace: &mut Whole<'_>, fields: &mut Fields) {
    server.check_memory();
    let settings = server.settings();
    let allocator = memory::allocator_bytes();
    let used = allocator.allocated;
    let peak = server.history.lock().peak_bytes().max(used);
    fields.put_bytes("used_memory", used);
    let resident_set = memory::resident_set_bytes();
    if let Some(bytes) = resident_set {
        fields.put_bytes("used_memory_rss", bytes);
    }
    fields.put_bytes("used_memory_peak", peak);
    fields.put("used_memory_peak_perc", format_args!("{:.2}%", ratio(used, peak) * 100.0));
    let start = server.start_bytes.load(Ordering::Relaxed);
    let overhead = start + table_bytes(keyspace) + client_bytes(server);
    let dataset = used.saturating_sub(overhead);
    fields.put("used_memory_overhead", overhead);
    fields.put("used_memory_startup", start);
    fields.put("used_memory_dataset", dataset);
    let growth = used.saturating_sub(start);
    fields.put("used_memory_dataset_perc", format_args!("{:.2}%", ratio(dataset, growth) * 100.0));
    fields.put("allocator_allocated", allocator.allocated);
    fields.put("allocator_active", allocator.active);
    fields.put("allocator_resident", allocator.resident);
    if let Some(bytes) = memory::machine_bytes() {
        fields.put_bytes("total_system_memory", bytes);
    }
    fields.put_bytes("maxmemory", settings.memory_bytes_max);
    fields.put("maxmemory_policy", "noeviction");
    put_ratio(fields, "allocator_frag", allocator.active, allocator.allocated);
    put_ratio(fields, "allocator_rss", allocator.resident, allocator.active);
    if let Some(bytes) = resident_set {
        put_ratio(fields, "rss_overhead", bytes, allocator.resident);
        let fragmentation = ratio(bytes, used);
        fields.put("mem_fragmentation_ratio", format_args!("{fragmentation:.2}"));
        fields.put("mem_fragmentation_bytes", bytes as i64 - used as i64);
    }
    fields.put("mem_clients_normal", client_bytes(server));
    fields.put("mem_allocator", format_args!("jemalloc-{}", memory::ALLOCATOR_VERSION));
    fields.put("active_defrag_running", 0);
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn put_ratio(fields: &mut Fields, name: &str, part: u64, whole: u64) {
    fields.put(&format!("{name}_ratio"), format_args!("{:.2}", ratio(part, whole)));
    fields.put(&format!("{name}_bytes"), part as i64 - whole as i64);
}

/// Bytes of the tables, without entries.
fn table_bytes(keyspace: &mut Whole<'_>) -> u64 {
    let bytes = (0..SHARDS).map(|shard| {
        let mut shard = keyspace.lock(shard);
        shard.dbs().map(|(_, db)| db.table_bytes()).sum::<usize>()
    });
    bytes.sum::<usize>() as u64
}

/// Bytes of input and output that wait.
fn client_bytes(server: &Server) -> u64 {
    let waiting =
        server.clients.list().into_iter().map(|client| {
            client.query_bytes.load(Ordering::Relaxed) + client.waiting_output_bytes()
        });
    waiting.sum::<usize>() as u64
}

fn persistence(server: &Server, keyspace: &mut Whole<'_>, fields: &mut Fields) {
    let totals = Totals::since_start(server, keyspace);
    fields.put("loading", 0);
    fields.put("async_loading", 0);
    fields.put("rdb_changes_since_last_save", totals.changes);
    fields.put("rdb_bgsave_in_progress", 0);
    fields.put("aof_enabled", 0);
    fields.put("aof_rewrite_in_progress", 0);
    fields.put("aof_rewrite_scheduled", 0);
}

fn stats(server: &Server, keyspace: &mut Whole<'_>, fields: &mut Fields) {
    let totals = Totals::since_reset(server, keyspace);
    let rates = server.history.lock().rates();
    fields.put("total_connections_received", totals.connections);
    fields.put("total_commands_processed", totals.commands);
    fields.put("instantaneous_ops_per_sec", rates.commands as u64);
    fields.put("total_net_input_bytes", totals.input_bytes);
    fields.put("total_net_output_bytes", totals.output_bytes);
    fields.put("total_net_repl_input_bytes", 0);
    fields.put("total_net_repl_output_bytes", 0);
    fields.put("instantaneous_input_kbps", format_args!("{:.2}", rates.input_bytes / 1024.0));
    fields.put("instantaneous_output_kbps", format_args!("{:.2}", rates.output_bytes / 1024.0));
    fields.put("instantaneous_input_repl_kbps", "0.00");
    fields.put("instantaneous_output_repl_kbps", "0.00");
    fields.put("rejected_connections", totals.rejected);
    fields.put("sync_full", 0);
    fields.put("sync_partial_ok", 0);
    fields.put("sync_partial_err", 0);
    fields.put("expired_keys", totals.expired);
    fields.put("evicted_keys", 0);
    fields.put("evicted_clients", 0);
    fields.put("keyspace_hits", totals.hits);
    fields.put("keyspace_misses", totals.misses);
    fields.put("pubsub_channels", server.pubsub.channels.len());
    fields.put("pubsub_patterns", server.pubsub.pattern_count());
    fields.put("pubsubshard_channels", server.pubsub.shard_channels.len());
    fields.put("latest_fork_usec", 0);
    fields.put("total_forks", 0);
    fields.put("active_defrag_hits", 0);
    fields.put("active_defrag_misses", 0);
    fields.put("total_error_replies", totals.errors);
}

fn replication(_server: &Server, _keyspace: &mut Whole<'_>, fields: &mut Fields) {
    fields.put("role", "master");
    fields.put("connected_slaves", 0);
    fields.put("master_failover_state", "no-failover");
    fields.put("master_repl_offset", 0);
    fields.put("repl_backlog_active", 0);
}

fn cpu(_server: &Server, _keyspace: &mut Whole<'_>, fields: &mut Fields) {
    for (whose, suffix) in [(Whose::Process, ""), (Whose::Children, "_children")] {
        let (user, kernel) = system::cpu_times(whose);
        fields.put(&format!("used_cpu_sys{suffix}"), format_args!("{:.6}", kernel.as_secs_f64()));
        fields.put(&format!("used_cpu_user{suffix}"), format_args!("{:.6}", user.as_secs_f64()));
    }
}

/// There are none, and for none the section is empty.
fn modules(_server: &Server, _keyspace: &mut Whole<'_>, _fields: &mut Fields) {}

fn errorstats(server: &Server, keyspace: &mut Whole<'_>, fields: &mut Fields) {
    for (code, count) in Totals::since_reset(server, keyspace).error_codes {
        fields.put(&format!("errorstat_{code}"), format_args!("count={count}"));
    }
}

fn cluster(_server: &Server, _keyspace: &mut Whole<'_>, fields: &mut Fields) {
    fields.put("cluster_enabled", 0);
}

/// What the keyspace section says of one database.
#[derive(Clone, Copy, Default)]
struct Database {
    keys: usize,
    expires: usize,
    ttl_ms: u64,
    ttl_count: u64,
}

fn keyspace(_server: &Server, keyspace: &mut Whole<'_>, fields: &mut Fields) {
    let now = clock();
    let mut databases: Vec<Database> = Vec::new();
    for shard in 0..SHARDS {
        for (index, db) in keyspace.lock(shard).dbs() {
            if databases.len() <= index {
                databases.resize(index + 1, Database::default());
            }
            let database = &mut databases[index];
            let (ttl_ms, ttl_count) = db.sample_ttl(now, TTL_ENTRIES_MAX);
            database.keys += db.len();
            database.expires += db.expiring();
            database.ttl_ms += ttl_ms;
            database.ttl_count += ttl_count;
        }
    }
    for (index, database) in databases.iter().enumerate().filter(|(_, one)| one.keys > 0) {
        let Database { keys, expires, ttl_ms, ttl_count } = database;
        let average = ttl_ms.checked_div(*ttl_count).unwrap_or(0);
        fields.put(
            &format!("db{index}"),
            format_args!("keys={keys},expires={expires},avg_ttl={average},subexpiry=0"),
        );
    }
}

/// The row.
pub const COMMANDS: &[Command] = &[Command {
    name: "info",
    arity: -1,
    flags: Flags::LOADING.union(Flags::STALE),
    keys: KeySpec::NONE,
    categories: &["dangerous"],
    doc: Doc {
        syntax: "[section [section ...]]",
        summary: "Tells of the server, its data and its load.",
        since: "1.0.0",
        group: "server",
        complexity: "O(1)",
    },
    handler: Handler::Server(info),
    subcommands: &[],
}];
