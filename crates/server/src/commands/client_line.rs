//! A client's line in `CLIENT LIST`: the fields of Redis 8, in its order.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::Ordering;

use engine::Clock;

use crate::client::ClientInfo;
use crate::command::CommandTable;

/// The names of commands by what a client notes of the last it sent.
pub struct CommandNames(HashMap<usize, &'static str>);

impl CommandNames {
    /// The names of all commands and subcommands.
    pub fn new(commands: &CommandTable) -> CommandNames {
        let all = commands.iter().flat_map(|command| command.subcommands.iter().chain([command]));
        CommandNames(all.map(|command| (command.address(), command.name)).collect())
    }

    fn get(&self, address: usize) -> &'static str {
        self.0.get(&address).copied().unwrap_or("NULL")
    }
}

/// Appends the line of `client`, with its line end.
pub fn push(out: &mut Vec<u8>, client: &ClientInfo, names: &CommandNames, clock: Clock) {
    let labels = client.labels.lock().clone();
    let query_bytes = client.query_bytes.load(Ordering::Relaxed);
    let output_bytes = client.waiting_output_bytes();
    let memory_bytes = size_of::<ClientInfo>()
        + labels.name.capacity()
        + labels.library_name.capacity()
        + labels.library_version.capacity()
        + query_bytes
        + output_bytes;
    let idle_s = clock.now_ms.saturating_sub(client.last_active_ms.load(Ordering::Relaxed)) / 1000;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // Writing to a vector does not fail.
    let _ = writeln!(
        out,
        "id={} addr={} laddr={} fd={} name={} age={} idle={idle_s} flags={} db={} sub={} psub={} \
         ssub={} multi={} watch={} qbuf={query_bytes} qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 \
         obl={output_bytes} oll=0 omem=0 tot-mem={memory_bytes} events={} cmd={} user=default \
         redir=-1 resp={} lib-name={} lib-ver={} io-thread={} tot-net-in={} tot-net-out={} \
         tot-cmds={}",
        client.id,
        client.address_text(),
        client.local_address_text(),
        client.descriptor,
        text(&labels.name),
        client.connected_at.elapsed().as_secs(),
        flags(client),
        client.db_index.load(Ordering::Relaxed),
        client.channels.load(Ordering::Relaxed),
        client.patterns.load(Ordering::Relaxed),
        client.shard_channels.load(Ordering::Relaxed),
        client.queued_commands.load(Ordering::Relaxed),
        client.watched_keys.load(Ordering::Relaxed),
        if output_bytes > 0 { "rw" } else { "r" },
        names.get(client.last_command.load(Ordering::Relaxed)),
        client.protocol.load(Ordering::Relaxed),
        text(&labels.library_name),
        text(&labels.library_version),
        client.worker_index,
        client.input_bytes.get(),
        client.sent_bytes.get(),
        client.commands.get(),
    );
}

/// The letters of what sets the client apart, `N` if nothing does.
fn flags(client: &ClientInfo) -> String {
    let letters: String = [
        ('b', client.is_blocked.load(Ordering::Relaxed)),
        ('P', client.is_subscriber()),
        ('x', client.queued_commands.load(Ordering::Relaxed) >= 0),
        ('U', client.address.is_none()),
        ('e', client.no_evict.load(Ordering::Relaxed)),
        ('T', client.no_touch.load(Ordering::Relaxed)),
    ]
    .into_iter()
    .filter_map(|(letter, is_set)| is_set.then_some(letter))
    .collect();
    if letters.is_empty() { "N".into() } else { letters }
}
