//! The parameters that do something: adding one is a row here and a field of the settings.

use crate::server::Server;
use crate::settings::{Allowed, IoBackend, LogLevel, OutputLimit, OutputLimits, Settings};

use super::parameter::{Parameter, boolean, integer, list, memory, octal, text, word};

const INT_MAX: i64 = i32::MAX as i64;
/// Most addresses that Redis listens on.
const BIND_MAX: usize = 16;

const ALLOWED: &[&str] = &["no", "yes", "local"];
const LOG_LEVELS: &[&str] = &["debug", "verbose", "notice", "warning", "nothing"];
const IO_BACKENDS: &[&str] = &["auto", "uring", "poll"];

/// The rows.
pub const PARAMETERS: &[Parameter] = &[
    list("bind", get_bind, set_bind)
        .startup()
        .note("in Redis `CONFIG SET` can change it"),
    integer("port", (0, 65535), get_port, set_port)
        .startup()
        .note("in Redis `CONFIG SET` can change it"),
    text("unixsocket", get_unix_socket, set_unix_socket).startup(),
    octal("unixsocketperm", (0, 0o777), |s| s.unix_socket_mode.into(), |s, v| {
        s.unix_socket_mode = v as u32;
    })
    .startup(),
    integer("tcp-backlog", (0, INT_MAX), |s| s.tcp_backlog.into(), |s, v| s.tcp_backlog = v as i32)
        .startup(),
    integer("tcp-keepalive", (0, INT_MAX), |s| s.tcp_keepalive_s.into(), |s, v| {
        s.tcp_keepalive_s = v as u32;
    }),
    integer("timeout", (0, INT_MAX), |s| s.timeout_s.into(), |s, v| s.timeout_s = v as u32),
    boolean("protected-mode", |s| s.protected_mode, |s, v| s.protected_mode = v),
    text("requirepass", |s| s.password.clone(), |s, v| {
        s.password = v.to_vec();
        Ok(())
    }),
    integer("maxclients", (1, u32::MAX as i64), |s| s.clients_max as i64, |s, v| {
        s.clients_max = v as usize;
    })
    .apply(apply_clients_max),
    integer("databases", (1, INT_MAX), |s| s.databases as i64, |s, v| s.databases = v as usize)
        .startup(),
    integer("io-threads", (0, 1024), |s| s.threads as i64, |s, v| s.threads = v as usize)
        .startup()
        .note("the threads that run commands; 0, the default, is one a core; `--threads` is another name for it on the command line"),
    word("io-backend", IO_BACKENDS, get_io_backend, set_io_backend)
        .startup()
        .note("Redline's own: what threads wait on; `auto` is io_uring where the kernel allows it"),
    memory("proto-max-bulk-len", (1 << 20, i64::MAX), |s| s.bulk_bytes_max as i64, |s, v| {
        s.bulk_bytes_max = v as usize;
    }),
    memory("client-query-buffer-limit", (1 << 20, i64::MAX), |s| s.query_bytes_max as i64, |s, v| {
        s.query_bytes_max = v as usize;
    }),
    list("client-output-buffer-limit", get_output_limits, set_output_limits)
        .note("there are no replicas so far"),
    memory("maxmemory", (0, i64::MAX), |s| s.memory_bytes_max as i64, |s, v| {
        s.memory_bytes_max = v as u64;
    })
    .apply(apply_memory),
    integer("hz", (0, INT_MAX), |s| s.hz.into(), |s, v| s.hz = (v as u32).clamp(1, 500)),
    word("loglevel", LOG_LEVELS, get_log_level, set_log_level),
    text("logfile", |s| s.log_file.clone().into_bytes(), |s, v| {
        s.log_file = utf8(v)?;
        Ok(())
    })
    .startup(),
    text("dir", get_directory, set_directory).protected(),
    text("pidfile", |s| s.pid_file.clone().into_bytes(), |s, v| {
        s.pid_file = utf8(v)?;
        Ok(())
    })
    .startup(),
    boolean("daemonize", |s| s.daemonize, |s, v| s.daemonize = v).startup(),
    word("enable-debug-command", ALLOWED, |s| allowed_word(s.debug_command), |s, v| {
        s.debug_command = allowed(v);
    })
    .startup(),
    word("enable-protected-configs", ALLOWED, |s| allowed_word(s.protected_configs), |s, v| {
        s.protected_configs = allowed(v);
    })
    .startup(),
    integer("hash-max-listpack-entries", (0, i64::MAX), |s| s.limits.hash_max_listpack_entries as i64, |s, v| {
        s.limits.hash_max_listpack_entries = v as usize;
    })
    .alias("hash-max-ziplist-entries"),
    memory("hash-max-listpack-value", (0, i64::MAX), |s| s.limits.hash_max_listpack_value as i64, |s, v| {
        s.limits.hash_max_listpack_value = v as usize;
    })
    .alias("hash-max-ziplist-value"),
    integer("list-max-listpack-size", (i32::MIN as i64, INT_MAX), |s| s.limits.list_max_listpack_size.into(), |s, v| {
        s.limits.list_max_listpack_size = v as i32;
    })
    .alias("list-max-ziplist-size"),
    integer("set-max-intset-entries", (0, i64::MAX), |s| s.limits.set_max_intset_entries as i64, |s, v| {
        s.limits.set_max_intset_entries = v as usize;
    }),
    integer("set-max-listpack-entries", (0, i64::MAX), |s| s.limits.set_max_listpack_entries as i64, |s, v| {
        s.limits.set_max_listpack_entries = v as usize;
    }),
    memory("set-max-listpack-value", (0, i64::MAX), |s| s.limits.set_max_listpack_value as i64, |s, v| {
        s.limits.set_max_listpack_value = v as usize;
    }),
    integer("zset-max-listpack-entries", (0, i64::MAX), |s| s.limits.zset_max_listpack_entries as i64, |s, v| {
        s.limits.zset_max_listpack_entries = v as usize;
    })
    .alias("zset-max-ziplist-entries"),
    memory("zset-max-listpack-value", (0, i64::MAX), |s| s.limits.zset_max_listpack_value as i64, |s, v| {
        s.limits.zset_max_listpack_value = v as usize;
    })
    .alias("zset-max-ziplist-value"),
    memory("stream-node-max-bytes", (0, i64::MAX), |s| s.limits.stream_node_max_bytes as i64, |s, v| {
        s.limits.stream_node_max_bytes = v as usize;
    }),
    integer("stream-node-max-entries", (0, i64::MAX), |s| s.limits.stream_node_max_entries as i64, |s, v| {
        s.limits.stream_node_max_entries = v as usize;
    }),
];

/// The classes of `client-output-buffer-limit` as `CONFIG GET` names them, with their limits.
pub fn output_classes(limits: &OutputLimits) -> [(&'static str, OutputLimit); 3] {
    [("normal", limits.normal), ("slave", limits.replica), ("pubsub", limits.pubsub)]
}

fn utf8(value: &[u8]) -> Result<String, String> {
    String::from_utf8(value.to_vec()).map_err(|_| "argument must be UTF-8 text".into())
}

fn get_bind(settings: &Settings) -> Vec<u8> {
    settings.bind.join(" ").into_bytes()
}

fn set_bind(settings: &mut Settings, words: &[Vec<u8>]) -> Result<(), String> {
    if words.len() > BIND_MAX {
        return Err("Too many bind addresses specified.".into());
    }
    let words = words.iter().filter(|word| !word.is_empty());
    settings.bind = words.map(|word| utf8(word)).collect::<Result<_, _>>()?;
    Ok(())
}

fn get_port(settings: &Settings) -> i64 {
    if settings.listens_on_tcp { settings.port.into() } else { 0 }
}

fn set_port(settings: &mut Settings, port: i64) {
    settings.listens_on_tcp = port != 0;
    settings.port = port as u16;
}

fn get_unix_socket(settings: &Settings) -> Vec<u8> {
    settings.unix_socket.clone().unwrap_or_default().into_bytes()
}

fn set_unix_socket(settings: &mut Settings, path: &[u8]) -> Result<(), String> {
    settings.unix_socket = Some(utf8(path)?).filter(|path| !path.is_empty());
    Ok(())
}

fn get_io_backend(settings: &Settings) -> &'static str {
    match settings.io_backend {
        IoBackend::Auto => "auto",
        IoBackend::Uring => "uring",
        IoBackend::Poll => "poll",
    }
}

fn set_io_backend(settings: &mut Settings, word: &'static str) {
    settings.io_backend = match word {
        "uring" => IoBackend::Uring,
        "poll" => IoBackend::Poll,
        _ => IoBackend::Auto,
    };
}

fn get_log_level(settings: &Settings) -> &'static str {
    match settings.log_level {
        LogLevel::Debug => "debug",
        LogLevel::Verbose => "verbose",
        LogLevel::Notice => "notice",
        LogLevel::Warning => "warning",
        LogLevel::Nothing => "nothing",
    }
}

fn set_log_level(settings: &mut Settings, word: &'static str) {
    settings.log_level = match word {
        "debug" => LogLevel::Debug,
        "verbose" => LogLevel::Verbose,
        "warning" => LogLevel::Warning,
        "nothing" => LogLevel::Nothing,
        _ => LogLevel::Notice,
    };
}

fn allowed_word(allowed: Allowed) -> &'static str {
    match allowed {
        Allowed::No => "no",
        Allowed::Yes => "yes",
        Allowed::Local => "local",
    }
}

fn allowed(word: &'static str) -> Allowed {
    match word {
        "yes" => Allowed::Yes,
        "local" => Allowed::Local,
        _ => Allowed::No,
    }
}

fn get_directory(settings: &Settings) -> Vec<u8> {
    settings.directory_path().into_os_string().into_encoded_bytes()
}

fn set_directory(settings: &mut Settings, path: &[u8]) -> Result<(), String> {
    // Relative to the present one, as a change of the process's directory would be.
    let wanted = settings.directory_path().join(utf8(path)?);
    let found = std::fs::canonicalize(wanted).map_err(|error| crate::log::error_text(&error))?;
    if !found.is_dir() {
        return Err("Not a directory".into());
    }
    settings.directory = utf8(found.as_os_str().as_encoded_bytes())?;
    Ok(())
}

fn get_output_limits(settings: &Settings) -> Vec<u8> {
    let classes = output_classes(&settings.output_limits).map(|(name, limit)| {
        format!("{name} {} {} {}", limit.hard_bytes, limit.soft_bytes, limit.soft_seconds)
    });
    classes.join(" ").into_bytes()
}

fn set_output_limits(settings: &mut Settings, words: &[Vec<u8>]) -> Result<(), String> {
    if !words.len().is_multiple_of(4) {
        return Err("Wrong number of arguments in buffer limit configuration.".into());
    }
    let mut limits = settings.output_limits;
    for class in words.chunks_exact(4) {
        let limit = match class[0].to_ascii_lowercase().as_slice() {
            b"normal" => &mut limits.normal,
            b"slave" | b"replica" => &mut limits.replica,
            b"pubsub" => &mut limits.pubsub,
            _ => return Err("Invalid client class specified in buffer limit configuration.".into()),
        };
        *limit = parse_output_limit(class)
            .ok_or("Error in hard, soft or soft_seconds setting in buffer limit configuration.")?;
    }
    settings.output_limits = limits;
    Ok(())
}

fn parse_output_limit(class: &[Vec<u8>]) -> Option<OutputLimit> {
    Some(OutputLimit {
        hard_bytes: text::memory::parse(&class[1])?,
        soft_bytes: text::memory::parse(&class[2])?,
        soft_seconds: text::integer::parse_i64(&class[3])?.try_into().ok()?,
    })
}

fn apply_clients_max(server: &Server) -> Result<(), String> {
    let wanted = server.settings().clients_max;
    let possible = crate::open_files::raise_for(wanted).clients_max();
    if possible < wanted {
        return Err(format!(
            "The operating system is not able to handle the specified number of clients, try with \
             {possible}"
        ));
    }
    Ok(())
}

fn apply_memory(server: &Server) -> Result<(), String> {
    server.check_memory();
    Ok(())
}
