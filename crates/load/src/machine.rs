//! Which machine generates the load, for the result to say so. What cannot be found out stays empty.

use std::fs;

use report::model::Machine;

/// Describes this machine from what the system tells any user.
pub fn describe() -> Machine {
    let uname = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let cpu_model = field(&cpus, "model name", ':').map(String::from);
    let os = field(&release, "PRETTY_NAME", '=').map(|name| name.trim_matches('"').to_string());
    Machine {
        cpu_model: cpu_model.unwrap_or_else(|| text(uname.machine())),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
        memory_bytes: field(&memory, "MemTotal", ':').and_then(kibibytes).unwrap_or(0),
        kernel: format!("{} {}", text(uname.sysname()), text(uname.release())),
        os: os.unwrap_or_else(|| text(uname.sysname())),
    }
}

/// The value of the first line `name<separator>value`.
fn field<'text>(text: &'text str, name: &str, separator: char) -> Option<&'text str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(separator)?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// A value like `16384 kB` in bytes.
fn kibibytes(value: &str) -> Option<u64> {
    value.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        let memory = "MemTotal:       16384 kB\nMemFree:  1 kB\n";
        assert_eq!(field(memory, "MemTotal", ':').and_then(kibibytes), Some(16 << 20));
        assert_eq!(field("PRETTY_NAME=\"Debian 12\"", "PRETTY_NAME", '='), Some("\"Debian 12\""));
        assert_eq!(field(memory, "Swap", ':'), None);
        assert_eq!(kibibytes("12 MB"), None);
    }

    #[test]
    fn this_machine_has_a_core_and_a_kernel() {
        let machine = describe();
        assert!(machine.cores >= 1);
        assert!(machine.kernel.len() > 1);
    }
}
