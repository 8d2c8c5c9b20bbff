//! Which crate may use which: dependencies inside the workspace point downward only, so that a
//! layer can be read, tested and changed without those above it.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// What each crate may depend on inside the workspace. A new edge is a design decision.
const ALLOWED: [(&str, &[&str]); 10] = [
    ("text", &[]),
    ("resp", &["text"]),
    ("engine", &["text"]),
    ("persist", &["engine", "resp", "text"]),
    ("server", &["persist", "engine", "resp", "text"]),
    ("report", &[]),
    ("load", &["resp", "text", "report"]),
    ("redline", &["server", "load", "report", "resp", "text"]),
    ("testkit", &["server", "resp", "text"]),
    ("xtask", &["testkit", "resp", "text"]),
];

/// One dependency between two crates of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The crate that depends.
    pub from: String,
    /// The crate depended on.
    pub to: String,
    /// Whether only tests, benches and examples of `from` see `to`.
    pub dev: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

/// The dependencies among the workspace's own crates, as Cargo reads the manifests.
pub fn workspace_edges(root: &Path) -> Result<Vec<Edge>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("running cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let members: Vec<String> = metadata.packages.iter().map(|one| one.name.clone()).collect();
    let mut edges = Vec::new();
    for package in &metadata.packages {
        for dependency in package.dependencies.iter().filter(|one| members.contains(&one.name)) {
            edges.push(Edge {
                from: package.name.clone(),
                to: dependency.name.clone(),
                dev: dependency.kind.as_deref() == Some("dev"),
            });
        }
    }
    Ok(edges)
}

/// One complaint for each edge that the table does not hold. Tests may use `testkit` as well.
pub fn check(edges: &[Edge]) -> Vec<String> {
    let mut complaints = Vec::new();
    for edge in edges {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == edge.from) else {
            complaints
                .push(format!("crate `{}` has no row in the table of crate arrows", edge.from));
            continue;
        };
        let for_tests = edge.dev && edge.to == "testkit";
        if !allowed.contains(&edge.to.as_str()) && !for_tests {
            complaints.push(format!("crate `{}` must not depend on `{}`", edge.from, edge.to));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, dev: bool) -> Edge {
        Edge { from: from.to_string(), to: to.to_string(), dev }
    }

    #[test]
    fn downward_edges_and_testkit_in_tests_pass() {
        assert!(
            check(&[edge("server", "engine", false), edge("engine", "testkit", true)]).is_empty()
        );
    }

    #[test]
    fn upward_and_unlisted_edges_are_named() {
        let found = check(&[
            edge("engine", "server", false),
            edge("load", "testkit", false),
            edge("extra", "text", false),
        ]);
        assert_eq!(found.len(), 3);
        assert!(found[0].contains("`engine` must not depend on `server`"));
        assert!(found[2].contains("no row"));
    }
}
