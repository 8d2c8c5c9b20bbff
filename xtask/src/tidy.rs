//! The rules of STYLE.md that a program can check, so that reviews need not: crate arrows, opening
//! lines, lengths, banned words, places of `unsafe`, characters, paths of one machine.

mod arrows;
mod exempt;
mod lengths;
mod scanner;
mod words;

use anyhow::{Context, Result};
use exempt::Exemptions;
use scanner::Source;
use std::fs;
use std::path::Path;

/// Where the few exceptions are listed, relative to the workspace.
const EXEMPT_FILE: &str = "xtask/tidy-exempt.txt";

/// Directories whose files are the project's own, relative to the workspace.
const SOURCE_ROOTS: [&str; 3] = ["crates", "xtask", "fuzz"];

/// Runs every rule over the workspace, prints what breaks them, and says whether all hold.
pub fn run(root: &Path) -> Result<bool> {
    let complaints = check(root)?;
    for complaint in &complaints {
        println!("tidy: {complaint}");
    }
    if complaints.is_empty() {
        println!("tidy: all rules hold");
    }
    Ok(complaints.is_empty())
}

fn check(root: &Path) -> Result<Vec<String>> {
    let exempt_path = root.join(EXEMPT_FILE);
    let exempt_text =
        fs::read_to_string(&exempt_path).with_context(|| format!("reading {EXEMPT_FILE}"))?;
    let mut exemptions = Exemptions::parse(&exempt_text)?;
    let mut complaints = arrows::check(&arrows::workspace_edges(root)?);
    let mut paths = Vec::new();
    for directory in SOURCE_ROOTS {
        collect_files(root, Path::new(directory), &mut paths)?;
    }
    paths.sort();
    let mut sources = Vec::new();
    for path in &paths {
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        complaints.extend(words::check_machine_paths(path, &text));
        if path.ends_with(".rs") {
            sources.push(Source::new(path, text));
        }
    }
    for source in &sources {
        complaints.extend(words::check(source));
        complaints.extend(words::check_unsafe(source, &mut exemptions));
        complaints.extend(lengths::check(source, &mut exemptions));
    }
    complaints.extend(words::check_forbid(&sources, &exemptions));
    complaints.extend(check_documents(root)?);
    complaints.extend(exemptions.unused());
    Ok(complaints)
}

/// Machine paths in the documents at the top of the workspace and in `docs`.
fn check_documents(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    collect_files(root, Path::new("docs"), &mut paths)?;
    for entry in fs::read_dir(root)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") || name.ends_with(".toml") {
            paths.push(name);
        }
    }
    let mut complaints = Vec::new();
    for path in paths {
        if let Ok(text) = fs::read_to_string(root.join(&path)) {
            complaints.extend(words::check_machine_paths(&path, &text));
        }
    }
    Ok(complaints)
}

/// Adds every file below `directory` to `paths`, relative to `root` and with forward slashes.
/// Build output, fuzzing corpora and recorded findings are not sources.
fn collect_files(root: &Path, directory: &Path, paths: &mut Vec<String>) -> Result<()> {
    let absolute = root.join(directory);
    if !absolute.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(&absolute)? {
        let entry = entry?;
        let relative = directory.join(entry.file_name());
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if !["target", "corpus", "artifacts"].iter().any(|skipped| name == *skipped) {
                collect_files(root, &relative, paths)?;
            }
        } else {
            paths.push(relative.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}
