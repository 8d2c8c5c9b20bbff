//! The configuration: one declared table of parameters, from which the file, the command line and
//! every `CONFIG` subcommand read.
//!
//! [`find`] gives a parameter by name; [`table`] and [`kept`] hold the rows; [`file`] reads
//! `redis.conf`, [`arguments`] the command line, and [`rewrite`] writes the file back.

pub mod arguments;
pub mod file;
pub mod kept;
pub mod parameter;
pub mod rewrite;
pub mod table;

use parameter::Parameter;

/// Every parameter: those that do something, then those that are accepted only.
pub fn parameters() -> impl Iterator<Item = &'static Parameter> {
    table::PARAMETERS.iter().chain(kept::PARAMETERS)
}

/// The parameter of this name or alias, in any letter case.
pub fn find(name: &[u8]) -> Option<&'static Parameter> {
    parameters().find(|parameter| {
        let mut names = std::iter::once(parameter.name).chain(parameter.alias);
        names.any(|own| own.as_bytes().eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests;
