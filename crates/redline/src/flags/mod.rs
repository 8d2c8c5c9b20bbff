//! Options of the look-alike personalities: one table a personality, from which parser, help, manual page and shell
//! completions are made.
//!
//! A personality declares the structure that its options become, and its table beside it:
//!
//! ```ignore
//! pub const FLAGS: &[Section<Options>] = &[Section {
//!     title: "Options",
//!     flags: &[
//!         option(&["-h", "--host"], "ADDR", "Host of the server", |options, value| {
//!             options.host = value.into();
//!             Ok(())
//!         }),
//!         switch(&["--quiet"], "One line a test", |options, _| {
//!             options.quiet = true;
//!             Ok(())
//!         }),
//!         switch(&["--help"], "Print this text", |_, _| Err(Stop::Help)),
//!     ],
//! }];
//! ```
//!
//! Names hold their dashes; the first one is shown first. Then one of three parsers reads the command line into
//! the structure and gives back the words that are no options:
//!
//! - [`linear::parse`]: redis-cli and redis-benchmark. Exact names, the value is the next word, options end at the
//!   first word without a dash.
//! - [`getopt::parse`]: memtier_benchmark. GNU's `getopt_long`, permutation and abbreviations included.
//! - [`argparse::parse`]: resp-benchmark. Python's `argparse`.
//!
//! What to do instead of running is a [`Stop`]. [`layout`] prints the table in the shape of each of the three,
//! [`manual`] makes a manual page of it and [`completions`] scripts for shells: an applet gives both in the field
//! `manual` of its row, with [`manual::listings`].

pub mod argparse;
pub mod completions;
pub mod getopt;
pub mod layout;
pub mod linear;
pub mod manual;
pub mod tls;

/// Why there is nothing to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The help was asked for.
    Help,
    /// The version was asked for.
    Version,
    /// The command line can't be read: with [`linear`] the word that is no option or lacks its value, with the
    /// other parsers the sentence that the original prints, of which `getopt`'s begins with the program's name.
    Invalid(String),
    /// A value is refused: a sentence for standard error.
    Refused(String),
}

/// What an option does with its value, which is empty for options without one.
pub type Apply<O> = fn(&mut O, &str) -> Result<(), Stop>;

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    None,
    /// A value, under this name in the help.
    Required(&'static str),
}

/// One option.
pub struct Flag<O: 'static> {
    /// Its spellings with their dashes; the first one is shown first.
    pub names: &'static [&'static str],
    /// What follows it.
    pub value: Value,
    /// What it does, without line ends.
    pub help: &'static str,
    /// Carries it out.
    pub apply: Apply<O>,
}

/// Options under one heading of the help.
pub struct Section<O: 'static> {
    /// The heading.
    pub title: &'static str,
    /// Its options, in the order of the help.
    pub flags: &'static [Flag<O>],
}

/// An option without a value.
pub const fn switch<O>(
    names: &'static [&'static str],
    help: &'static str,
    apply: Apply<O>,
) -> Flag<O> {
    Flag { names, value: Value::None, help, apply }
}

/// An option with a value.
pub const fn option<O>(
    names: &'static [&'static str],
    value: &'static str,
    help: &'static str,
    apply: Apply<O>,
) -> Flag<O> {
    Flag { names, value: Value::Required(value), help, apply }
}

/// All options of a table, in its order.
fn each<O>(sections: &'static [Section<O>]) -> impl Iterator<Item = &'static Flag<O>> {
    sections.iter().flat_map(|section| section.flags)
}

/// The option of this exact name.
fn named<O>(sections: &'static [Section<O>], name: &str) -> Option<&'static Flag<O>> {
    each(sections).find(|flag| flag.names.contains(&name))
}

/// The long options that a word means: the one of that very name, or all that begin with it. Each comes with the
/// spelling that was met; an option with two fitting spellings comes once.
fn long_candidates<O>(
    sections: &'static [Section<O>],
    name: &str,
) -> Vec<(&'static str, &'static Flag<O>)> {
    if let Some(flag) = named(sections, name) {
        let spelling = flag.names.iter().find(|spelling| **spelling == name);
        return spelling.map(|spelling| (*spelling, flag)).into_iter().collect();
    }
    let spelling_of = |flag: &'static Flag<O>| {
        let spelling = flag
            .names
            .iter()
            .find(|spelling| spelling.starts_with("--") && spelling.starts_with(name));
        spelling.map(|spelling| (*spelling, flag))
    };
    each(sections).filter_map(spelling_of).collect()
}
