//! Where a result goes: standard output, and files. A file that cannot be written loses no result.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use report::RunResult;
use report::calendar::Utc;
use report::render::{csv, json, text};

use super::arguments::{Arguments, Format};

/// The folder of results that were given no name, in the working directory.
const FOLDER: &str = "redline-results";
/// The name of a file that is none.
const STANDARD_OUTPUT: &str = "-";
/// How many results of one second may lie there.
const MAX_SAME_NAME: u32 = 100;

/// Prints the result and writes its files; whether each file is where it was asked for.
pub fn publish(arguments: &Arguments, run: &RunResult) -> bool {
    print(&match arguments.format {
        Format::Text => text::render(run),
        Format::Csv => csv::render(run),
        Format::Json => json::render(run),
    });
    let mut is_as_asked = true;
    if let Some(path) = &arguments.csv {
        is_as_asked &= put_csv(arguments, path, run);
    }
    match &arguments.json {
        Some(path) => is_as_asked &= put_json(arguments, path, run),
        None if arguments.no_json || arguments.format == Format::Json => {}
        None => put_anywhere(arguments, &[Path::new(FOLDER).to_owned(), in_temporary()], run),
    }
    is_as_asked
}

fn put_csv(arguments: &Arguments, path: &Path, run: &RunResult) -> bool {
    let content = csv::render(run);
    if path == Path::new(STANDARD_OUTPUT) {
        print(&content);
        return true;
    }
    match fs::write(path, &content) {
        Ok(()) => announce(arguments, "CSV", path),
        Err(error) => {
            warn(path, &error, "here it is");
            print(&content);
            return false;
        }
    }
    true
}

fn put_json(arguments: &Arguments, path: &Path, run: &RunResult) -> bool {
    if path == Path::new(STANDARD_OUTPUT) {
        print(&json::render(run));
        return true;
    }
    match fs::write(path, json::render(run)) {
        Ok(()) => announce(arguments, "Result", path),
        Err(error) => {
            warn(path, &error, "trying another place");
            put_anywhere(arguments, &[in_temporary()], run);
            return false;
        }
    }
    true
}

/// Writes the result into the first of the folders that takes it, else to standard output.
fn put_anywhere(arguments: &Arguments, folders: &[PathBuf], run: &RunResult) {
    let content = json::render(run);
    for (nth, folder) in folders.iter().enumerate() {
        match put_new(folder, run.started_at_unix_ms, &content) {
            Ok(path) => return announce(arguments, "Result", &path),
            Err(error) if nth + 1 < folders.len() => warn(folder, &error, "trying another place"),
            Err(error) => warn(folder, &error, "here is the result"),
        }
    }
    print(&content);
}

fn in_temporary() -> PathBuf {
    std::env::temp_dir().join(FOLDER)
}

/// Writes a file named by the time; a name that is taken is never written over.
fn put_new(folder: &Path, started_at_unix_ms: u64, content: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let stem = Utc::from_unix_ms(started_at_unix_ms).file_stem();
    for nth in 1..=MAX_SAME_NAME {
        let suffix = if nth == 1 { String::new() } else { format!("-{nth}") };
        let path = folder.join(format!("bench-{stem}{suffix}.json"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(content.as_bytes()).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Tells where a file is: below the table, or beside other formats, which must stay readable by programs.
fn announce(arguments: &Arguments, what: &str, path: &Path) {
    let line = format!("{what}: {}", path.display());
    if arguments.format == Format::Text {
        print(&format!("{line}\n"));
    } else if !arguments.quiet {
        eprintln!("{line}");
    }
}

fn warn(path: &Path, error: &io::Error, then: &str) {
    eprintln!("redline bench: cannot write {}: {error}; {then}", path.display());
}

/// Prints, whether or not anybody still reads: `| head` is no error.
fn print(content: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(content.as_bytes()).and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use super::{fs, put_new};

    #[test]
    fn results_of_one_second_do_not_replace_each_other() {
        let folder = std::env::temp_dir().join(format!("redline-output-{}", std::process::id()));
        let first = put_new(&folder, 1_795_294_155_000, "1").unwrap();
        let second = put_new(&folder, 1_795_294_155_000, "2").unwrap();
        assert!(first.ends_with("bench-20261121T204915Z.json"));
        assert!(second.ends_with("bench-20261121T204915Z-2.json"));
        assert_eq!(fs::read_to_string(&first).unwrap(), "1");
        fs::remove_dir_all(&folder).unwrap();
    }
}
