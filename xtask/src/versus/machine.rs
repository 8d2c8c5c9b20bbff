//! The machine that a figure belongs to, and the cores that programs are bound to.

use crate::peers;
use serde::Serialize;
use std::fs;
use std::thread;

/// What a reader must know to compare figures.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Name and release of the kernel.
    pub kernel: String,
    /// How programs were bound to cores.
    pub pinning: String,
}

impl Machine {
    /// Reads it from the system; `unknown` where it does not say.
    pub fn describe(pinning: &Pinning) -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model =
            cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let uname = rustix::system::uname();
        let kernel =
            format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy());
        Machine {
            processor: model.map_or("unknown", |(_, name)| name).to_string(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            kernel,
            pinning: pinning.describe(),
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        format!("{}, {} cores, {}; {}", self.processor, self.cores, self.kernel, self.pinning)
    }
}

/// Which cores servers and clients are bound to, if this machine can bind them.
#[derive(Debug, Clone)]
pub struct Pinning {
    cores: Option<(usize, usize)>,
}

impl Pinning {
    /// Binds by `taskset`; without it, or with one core only, says so and binds nothing.
    pub fn new(server_core: usize, client_core: usize) -> Self {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let possible = peers::on_path("taskset").is_some() && count > server_core.max(client_core);
        if !possible {
            eprintln!("not pinned: needs taskset and two cores; expect wide spreads");
        }
        Pinning { cores: possible.then_some((server_core, client_core)) }
    }

    /// Words before a server's command line.
    pub fn server_prefix(&self) -> Vec<String> {
        self.cores.map_or_else(Vec::new, |(core, _)| taskset(core))
    }

    /// Words before a client's command line.
    pub fn client_prefix(&self) -> Vec<String> {
        self.cores.map_or_else(Vec::new, |(_, core)| taskset(core))
    }

    fn describe(&self) -> String {
        self.cores.map_or_else(
            || "not pinned".to_string(),
            |(server, client)| format!("servers on core {server}, clients on core {client}"),
        )
    }
}

fn taskset(core: usize) -> Vec<String> {
    ["taskset", "-c"].iter().map(|word| word.to_string()).chain([core.to_string()]).collect()
}

/// Processor time that a process has used, in nanoseconds. Zero if the process is gone.
pub fn processor_time_ns(pid: u32) -> u64 {
    // The fields after the name: state is the first, user and system time are the 12th and 13th.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after_name.split(' ').collect();
    let ticks: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    // Linux reports these in units of 1/100 s on every architecture.
    ticks * 10_000_000
}

/// Resident memory of a process in bytes. Zero if the process is gone.
pub fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes =
        line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_the_missing_one_none() {
        assert!(resident_bytes(std::process::id()) > 100_000);
        assert_eq!(resident_bytes(u32::MAX), 0);
        assert_eq!(processor_time_ns(u32::MAX), 0);
    }
}
