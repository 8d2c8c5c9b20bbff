//! The oracle: the same random commands to a real server and to ours, every reply and the final state
//! compared. It is what "compatible" means here.
//!
//! A family of commands is a table of rows (`grammar`); a row is a command, how its arguments look,
//! and how its reply is judged (`judge`). A difference is reported with the fewest commands that
//! still show it (`trial`).

pub mod generate;
pub mod grammar;
pub mod judge;
pub mod trial;
pub mod versions;

use generate::{Random, Step};
use grammar::{Family, Row};
use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use trial::{Pair, Setting};
use versions::Reference;

/// Commands between two clean starts. Long enough for states to build up, short enough that the
/// first difference of one round does not hide many others.
const ROUND_COMMANDS: usize = 200;

/// How much to ask, and from which seed.
#[derive(Debug, Clone)]
pub struct Effort {
    /// Commands for one family.
    pub commands: usize,
    /// Where the random sequence starts: the same seed asks the same questions.
    pub seed: u64,
}

impl Effort {
    /// `REDLINE_ORACLE_COMMANDS` (a family; default 5000) and `REDLINE_ORACLE_SEED` (default 1, so
    /// that a run can be repeated).
    pub fn from_environment() -> Self {
        let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        Effort {
            commands: number("REDLINE_ORACLE_COMMANDS").unwrap_or(5000) as usize,
            seed: number("REDLINE_ORACLE_SEED").unwrap_or(1),
        }
    }
}

/// One place where the two servers differ.
#[derive(Debug)]
pub struct Difference {
    /// Protocol version and encoding thresholds of the round.
    pub setting: Setting,
    /// The fewest commands that show it, in order; the last one's replies differ.
    pub commands: Vec<Step>,
    /// What the real server answered, as text.
    pub theirs: String,
    /// What ours answered, as text.
    pub ours: String,
}

/// What a run over one family found.
#[derive(Debug)]
pub struct Report {
    /// Name of the family.
    pub family: &'static str,
    /// Repeats the run.
    pub seed: u64,
    /// Commands asked.
    pub asked: usize,
    /// Commands of the family that our server does not have yet, so were not asked.
    pub absent: Vec<String>,
    /// One for each command and kind of difference.
    pub differences: Vec<Difference>,
}

/// Asks both servers about `family`. Fails if the real server cannot be reached, or says nothing.
pub fn run(
    family: &'static Family,
    theirs: SocketAddr,
    ours: SocketAddr,
    effort: &Effort,
) -> io::Result<Report> {
    let mut pair = Pair::connect(theirs, ours)?;
    let (rows, absent) = askable(family, &mut pair)?;
    let mut report = Report {
        family: family.name,
        seed: effort.seed,
        asked: 0,
        absent,
        differences: Vec::new(),
    };
    if rows.is_empty() {
        return Ok(report);
    }
    let mut seen = BTreeSet::new();
    let mut random = Random::new(effort.seed);
    for round in 0..effort.commands.div_ceil(ROUND_COMMANDS) {
        let setting = Setting { resp3: round % 2 == 1, small: pair.adjustable && round % 4 >= 2 };
        let steps = generate::steps(family, &rows, &mut random, ROUND_COMMANDS);
        report.asked += steps.len();
        let Some(found) = pair.first_difference(setting, &steps)? else { continue };
        if seen.insert(found.signature()) {
            report.differences.push(pair.shrink(setting, steps, found)?);
        }
    }
    Ok(report)
}

/// The rows whose commands both servers have, or neither; and the names that only the real one has.
fn askable(
    family: &'static Family,
    pair: &mut Pair,
) -> io::Result<(Vec<&'static Row>, Vec<String>)> {
    let newest = pair.reference != Reference::Redis70;
    let mut rows = Vec::new();
    let mut absent: Vec<String> = pair.lacking()?;
    if !absent.is_empty() {
        return Ok((rows, absent));
    }
    for row in family.rows.iter().filter(|row| newest || !row.newest_only) {
        let name = row.command();
        if !pair.only_theirs(name)? {
            rows.push(row);
        } else if !absent.iter().any(|known| known == name) {
            absent.push(name.to_string());
        }
    }
    Ok((rows, absent))
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "after {}", self.setting)?;
        for step in &self.commands {
            writeln!(out, "    {step}")?;
        }
        writeln!(out, "  the real server:\n{}", indented(&self.theirs))?;
        write!(out, "  ours:\n{}", indented(&self.ours))
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "oracle, {}: {} commands from seed {}, {} differences",
            self.family,
            self.asked,
            self.seed,
            self.differences.len()
        )?;
        if !self.absent.is_empty() {
            writeln!(out, "SKIPPED, not there yet: {}", self.absent.join(" "))?;
        }
        for (index, difference) in self.differences.iter().enumerate() {
            writeln!(out, "{}. {difference}", index + 1)?;
        }
        Ok(())
    }
}
