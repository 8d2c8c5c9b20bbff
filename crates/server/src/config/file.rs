//! Reading `redis.conf`: lines, quoting, `include`, and Redis's report of the line that is wrong.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use text::glob::{self, Case};

use crate::settings::Settings;

/// How deep files may include others; Redis has no limit and fails when a file includes itself.
const INCLUDE_DEPTH_MAX: usize = 16;
/// Longest file in bytes: a device given by mistake must not fill the memory.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Directives of older versions, which Redis ignores too.
const IGNORED: [&[u8]; 3] =
    [b"list-max-ziplist-entries", b"list-max-ziplist-value", b"lua-replicate-commands"];

/// Why a configuration cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum FileError {
    /// A line is wrong.
    Line {
        /// Its number, from 1.
        number: usize,
        /// The line without the spaces around it.
        line: String,
        /// What is wrong.
        reason: String,
    },
    /// A file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}

impl fmt::Display for FileError {
    /// As Redis prints it behind the heading that names the version.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Line { number, line, reason } => {
                writeln!(formatter, "Reading the configuration file, at line {number}")?;
                writeln!(formatter, ">>> '{line}'")?;
                write!(formatter, "{reason}")
            }
            FileError::Unreadable { path, reason } => {
                write!(
                    formatter,
                    "Fatal error, can't open config file '{}': {reason}",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for FileError {}

/// Reads the file at `path`.
///
/// # Errors
/// It cannot be read, or is longer than any configuration.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    read_from(File::open(path).map_err(|error| unreadable(path, &error))?, path)
}

/// Reads what `source` has, which errors call `path`.
///
/// # Errors
/// It cannot be read, or is longer than any configuration.
pub fn read_from(source: impl Read, path: &Path) -> Result<Vec<u8>, FileError> {
    let mut text = Vec::new();
    let result = source.take(FILE_BYTES_MAX + 1).read_to_end(&mut text);
    result.map_err(|error| unreadable(path, &error))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let reason = format!("it has more than {FILE_BYTES_MAX} bytes");
        return Err(FileError::Unreadable { path: path.to_owned(), reason });
    }
    Ok(text)
}

/// Applies every line of a configuration to the settings.
///
/// # Errors
/// The first line that is wrong; the settings are then half changed and of no use.
pub fn load(settings: &mut Settings, text: &[u8]) -> Result<(), FileError> {
    load_nested(settings, text, 0)
}

/// The words of a line of the file, the first in lower case; none for a comment or an empty line.
///
/// # Errors
/// `Unbalanced quotes in configuration line`.
pub fn words_of(line: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let line = line.trim_ascii();
    if line.is_empty() || line[0] == b'#' {
        return Ok(Vec::new());
    }
    let mut words =
        text::quote::split(line).map_err(|_| "Unbalanced quotes in configuration line")?;
    if let Some(name) = words.first_mut() {
        name.make_ascii_lowercase();
    }
    Ok(words)
}

fn load_nested(settings: &mut Settings, text: &[u8], depth: usize) -> Result<(), FileError> {
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let wrong = |reason: String| FileError::Line {
            number: index + 1,
            line: String::from_utf8_lossy(line.trim_ascii()).into_owned(),
            reason,
        };
        let words = words_of(line).map_err(wrong)?;
        let Some((name, values)) = words.split_first() else { continue };
        if name == b"include" && values.len() == 1 {
            if depth == INCLUDE_DEPTH_MAX {
                let reason = format!("more than {INCLUDE_DEPTH_MAX} files include each other");
                return Err(wrong(reason));
            }
            for path in included(&values[0]).map_err(wrong)? {
                load_nested(settings, &read(&path)?, depth + 1)?;
            }
        } else {
            apply(settings, name, values).map_err(wrong)?;
        }
    }
    Ok(())
}

fn apply(settings: &mut Settings, name: &[u8], values: &[Vec<u8>]) -> Result<(), String> {
    if let Some(parameter) = super::find(name) {
        return parameter.set(settings, values);
    }
    if IGNORED.contains(&name) && values.len() == 1 {
        return Ok(());
    }
    Err(match name {
        b"rename-command" => "Renaming commands is not supported".into(),
        b"user" => "Users in the configuration file are not supported yet; use requirepass".into(),
        b"loadmodule" => "Modules are not supported".into(),
        b"sentinel" => "Sentinel is not supported".into(),
        _ => "Bad directive or wrong number of arguments".into(),
    })
}

/// The files that an `include` names; one with wildcards may name none.
fn included(pattern: &[u8]) -> Result<Vec<PathBuf>, String> {
    let pattern = std::str::from_utf8(pattern).map_err(|_| "the path is not UTF-8 text")?;
    if !has_wildcard(pattern) {
        return Ok(vec![pattern.into()]);
    }
    let start = if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
    let mut found = vec![start];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = found.iter().flat_map(|directory| matching(directory, part)).collect();
    }
    found.retain(|path| path.is_file());
    Ok(found)
}

fn has_wildcard(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

/// The entries of a directory that one part of a pattern matches, in the order of their names.
fn matching(directory: &Path, part: &str) -> Vec<PathBuf> {
    if !has_wildcard(part) {
        return vec![directory.join(part)];
    }
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    // As with a shell's wildcard, what cannot be listed matches nothing.
    let Ok(entries) = std::fs::read_dir(listed) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names
        .filter(|name| {
            let name = name.as_encoded_bytes();
            let is_shown = !name.starts_with(b".") || part.starts_with('.');
            is_shown && glob::matches(part.as_bytes(), name, Case::Sensitive)
        })
        .collect();
    names.sort();
    names.into_iter().map(|name| directory.join(name)).collect()
}

fn unreadable(path: &Path, error: &io::Error) -> FileError {
    FileError::Unreadable { path: path.to_owned(), reason: crate::log::error_text(error) }
}
