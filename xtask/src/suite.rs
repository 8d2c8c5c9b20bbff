//! `cargo xtask test`: every check and test of the project by one command, on a clean checkout. What
//! the tests need from outside is found or installed first; what cannot be had is named in the
//! summary, and is an error where `CI=true`.

mod needs;

use crate::{compatibility, tidy};
use anyhow::{Context, Result};
use needs::Needs;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Lines of failed tests that the summary repeats.
const LAST_WORDS_LINES_MAX: usize = 400;

/// What the steps so far came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Names of the failed steps and tests, in order.
    failures: Vec<String>,
    /// What tests said that they left out, each once.
    skipped: BTreeSet<String>,
    /// What the failed tests printed, for the end, where it is found.
    last_words: Vec<String>,
    /// The lines that come now are of failed tests.
    in_failures: bool,
}

impl Tally {
    fn step(&mut self, name: &str, passed: bool) {
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
            self.failures.push(name.to_string());
        }
    }

    /// Counts one line that `cargo test` printed.
    fn line(&mut self, line: &str) {
        // The heading stands before what failed tests printed, and again before their names.
        if line == "failures:" {
            self.in_failures = !self.in_failures;
        } else if self.in_failures && self.last_words.len() < LAST_WORDS_LINES_MAX {
            self.last_words.push(line.to_string());
        }
        if let Some(rest) = line.strip_prefix("test result: ") {
            self.passed += number_before(rest, " passed");
            self.failed += number_before(rest, " failed");
            self.ignored += number_before(rest, " ignored");
        } else if let Some(name) = line.strip_prefix("test ")
            && let Some(name) = name.strip_suffix(" ... FAILED")
        {
            self.failures.push(name.to_string());
        } else if let Some(what) = line.strip_prefix("SKIPPED") {
            self.skipped.insert(what.trim_start_matches([',', ':', ' ']).to_string());
        }
    }
}

/// The number that stands before `word` in `text`; zero if none does.
fn number_before(text: &str, word: &str) -> u64 {
    let Some(at) = text.find(word) else { return 0 };
    let digits = text[..at].rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// Runs every step, prints a summary, and says whether all passed. Steps go on after a failure, so
/// that one run shows everything that is wrong.
pub fn run(root: &Path) -> Result<bool> {
    let started = Instant::now();
    let needs = needs::prepare(root);
    let mut tally = Tally::default();
    if needs.must_have_peers() && !needs.missing.is_empty() {
        tally.step("what the tests need (CI=true allows no skipping)", false);
    }
    let quiet: [(&str, &[&str]); 2] = [
        ("formatting", &["fmt", "--all", "--check"]),
        ("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    ];
    for (name, arguments) in quiet {
        tally.step(name, cargo(root, name, arguments)?);
    }
    announce("tidy");
    tally.step("tidy", tidy::run(root)?);
    if root.join("fuzz/Cargo.toml").exists() {
        let arguments = ["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml"];
        tally.step("fuzz targets compile", cargo(root, "fuzz targets compile", &arguments)?);
    }
    run_tests(root, &needs, &mut tally)?;
    announce("COMPATIBILITY.md");
    tally.step("COMPATIBILITY.md is up to date", compatibility::run(root, true).unwrap_or(false));
    print_summary(&needs, &tally, started);
    Ok(tally.failed == 0)
}

fn announce(name: &str) {
    println!("\n=== {name}");
}

/// Runs one cargo command that passes or fails as a whole.
fn cargo(root: &Path, name: &str, arguments: &[&str]) -> Result<bool> {
    announce(name);
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root)
        .status()
        .with_context(|| format!("running cargo {}", arguments[0]))?;
    Ok(status.success())
}

/// Runs `cargo test` over the workspace, showing its output as it comes and counting it.
fn run_tests(root: &Path, needs: &Needs, tally: &mut Tally) -> Result<()> {
    announce("tests");
    let mut child = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--no-fail-fast", "--", "--show-output"])
        .current_dir(root)
        .envs(needs.environment())
        .stdout(Stdio::piped())
        .spawn()
        .context("running cargo test")?;
    let output = child.stdout.take().expect("stdout was asked to be a pipe");
    let failed_before = tally.failed;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        tally.line(&line);
    }
    let status = child.wait()?;
    if !status.success() && tally.failed == failed_before {
        tally.step("cargo test (did not compile, or a test program died)", false);
    }
    Ok(())
}

fn print_summary(needs: &Needs, tally: &Tally, started: Instant) {
    announce("summary");
    for (what, found) in &needs.found {
        println!("found    {what}: {found}");
    }
    for (what, consequence) in &needs.missing {
        println!("SKIPPED  {what} not found: {consequence}");
    }
    for (what, consequence) in &needs.missing_optional {
        println!("skipped  {what} not found: {consequence}");
    }
    for what in &tally.skipped {
        println!("SKIPPED  by tests: {what}");
    }
    for line in &tally.last_words {
        println!("{line}");
    }
    for name in &tally.failures {
        println!("FAILED   {name}");
    }
    println!("one test alone: cargo test -p CRATE NAME -- --nocapture\n");
    println!(
        "test result: {}. {} passed; {} failed; {} ignored; finished in {:.0} s",
        if tally.failed == 0 { "ok" } else { "FAILED" },
        tally.passed,
        tally.failed,
        tally.ignored,
        started.elapsed().as_secs_f64()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_output_is_counted() {
        let mut tally = Tally::default();
        tally.line("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out");
        tally.line("test a::b ... FAILED");
        for line in ["failures:", "---- a::b stdout ----", "boom", "failures:", "    a::b"] {
            tally.line(line);
        }
        tally.line("test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured");
        tally.line("test a::c ... ok");
        tally.line("SKIPPED: no redis-cli on PATH");
        tally.line("SKIPPED: no redis-cli on PATH");
        tally.step("clippy", true);
        assert_eq!((tally.passed, tally.failed, tally.ignored), (17, 1, 1));
        assert_eq!(tally.failures, ["a::b"]);
        assert_eq!(tally.skipped.len(), 1);
        assert_eq!(tally.last_words, ["---- a::b stdout ----", "boom"]);
    }
}
