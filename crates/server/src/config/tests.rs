//! Tests of the table as a whole, and of reading files.

use std::collections::HashSet;

use proptest::prelude::{any, prop, proptest};

use super::file::{FileError, load};
use super::{find, parameters};
use crate::settings::Settings;

fn load_text(text: &str) -> Result<Settings, FileError> {
    let mut settings = Settings::default();
    load(&mut settings, text.as_bytes()).map(|()| settings)
}

fn get(settings: &Settings, name: &str) -> String {
    String::from_utf8(find(name.as_bytes()).unwrap().get(settings)).unwrap()
}

#[test]
fn every_parameter_takes_back_what_it_gives() {
    let settings = Settings::default();
    for parameter in parameters() {
        let value = parameter.get(&settings);
        let mut changed = settings.clone();
        let result = parameter.set_argument(&mut changed, &value);
        assert_eq!(result, Ok(()), "{} {:?}", parameter.name, String::from_utf8_lossy(&value));
        assert_eq!(parameter.get(&changed), value, "{}", parameter.name);
        let mut line = format!("{} ", parameter.name).into_bytes();
        line.extend(parameter.file_text(&settings));
        let mut loaded = Settings::default();
        load(&mut loaded, &line).unwrap();
        assert_eq!(parameter.get(&loaded), value, "{}", parameter.name);
    }
}

#[test]
fn names_differ_and_are_lower_case() {
    let mut names = HashSet::new();
    for name in
        parameters().flat_map(|parameter| std::iter::once(parameter.name).chain(parameter.alias))
    {
        assert!(names.insert(name), "{name} twice");
        assert_eq!(name, name.to_ascii_lowercase());
        assert!(find(name.to_ascii_uppercase().as_bytes()).is_some());
    }
}

#[test]
fn values_and_their_forms() {
    for (line, name, shown) in [
        ("maxmemory 1gb", "maxmemory", "1073741824"),
        ("MAXMEMORY 1k", "maxmemory", "1000"),
        ("unixsocketperm 0700", "unixsocketperm", "700"),
        ("port 0", "port", "0"),
        ("bind 127.0.0.1 -::1", "bind", "127.0.0.1 -::1"),
        ("requirepass \"a b\"", "requirepass", "a b"),
        ("io-backend POLL", "io-backend", "poll"),
        ("hz 1000", "hz", "500"),
        ("zset-max-ziplist-entries 5", "zset-max-listpack-entries", "5"),
        (
            "client-output-buffer-limit replica 1 2 3",
            "client-output-buffer-limit",
            "normal 0 0 0 slave 1 2 3 pubsub 33554432 8388608 60",
        ),
        ("save \"\"", "save", ""),
        ("supervised auto", "supervised", "auto"),
        ("replicaof no one", "replicaof", "no one"),
        ("# port 1\n\n  \t\r\nhz 7\r", "hz", "7"),
    ] {
        assert_eq!(get(&load_text(line).unwrap(), name), shown, "{line}");
    }
    let settings = load_text("port 0").unwrap();
    assert!(!settings.listens_on_tcp);
}

#[test]
fn errors_are_those_of_redis() {
    for (line, reason) in [
        ("port abc", "argument couldn't be parsed into an integer"),
        ("port 65536", "argument must be between 0 and 65535 inclusive"),
        ("port", "wrong number of arguments"),
        ("port 1 2", "wrong number of arguments"),
        ("maxmemory -1", "argument must be a memory value"),
        ("protected-mode maybe", "argument must be 'yes' or 'no'"),
        ("unixsocketperm 9", "argument couldn't be parsed as an octal number"),
        ("appendfsync x", "argument(s) must be one of the following: everysec, always, no"),
        ("port \"0", "Unbalanced quotes in configuration line"),
        ("foo bar", "Bad directive or wrong number of arguments"),
        (
            "client-output-buffer-limit x",
            "Wrong number of arguments in buffer limit configuration.",
        ),
        (
            "client-output-buffer-limit x 0 0 0",
            "Invalid client class specified in buffer limit configuration.",
        ),
        ("appendonly yes", "the append-only file is not supported yet"),
        ("save 3600 1", "snapshots are not supported yet; save \"\" goes without them"),
        ("dir /nonexistent-directory", "No such file or directory"),
        ("rename-command GET \"\"", "Renaming commands is not supported"),
    ] {
        let Err(FileError::Line { number, line: shown, reason: given }) =
            load_text(&format!("\n  {line}  "))
        else {
            panic!("{line} was taken");
        };
        assert_eq!((number, shown.as_str(), given.as_str()), (2, line, reason));
    }
}

#[test]
fn files_include_files() {
    let directory = std::env::temp_dir().join(format!("redline-include-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("more")).unwrap();
    let place = directory.to_str().unwrap();
    for (name, text) in [
        ("a.conf", "hz 11\n".to_owned()),
        ("b.conf", "timeout 12\nhz 12\n".to_owned()),
        ("more/c.conf", "databases 3\n".to_owned()),
        ("more/ignored.txt", "nonsense\n".to_owned()),
        ("self.conf", format!("include {place}/self.conf\n")),
        ("bad.conf", "hz 1\nhz x\n".to_owned()),
    ] {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let all =
        load_text(&format!("include {place}/[ab].conf\ninclude {place}/m*/*.conf\n")).unwrap();
    assert_eq!((all.hz, all.timeout_s, all.databases), (12, 12, 3));
    load_text(&format!("include {place}/none*.conf")).unwrap();
    let bad = load_text(&format!("port 1\n\n\ninclude {place}/bad.conf")).unwrap_err();
    assert!(matches!(bad, FileError::Line { number: 2, .. }), "{bad}");
    assert!(matches!(
        load_text(&format!("include {place}/self.conf")),
        Err(FileError::Line { .. })
    ));
    let missing = load_text(&format!("include {place}/missing.conf")).unwrap_err();
    assert_eq!(
        missing.to_string(),
        format!(
            "Fatal error, can't open config file '{place}/missing.conf': No such file or directory"
        )
    );
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Writes the table of the documentation where it differs, if `REDLINE_BLESS` is set.
#[test]
fn the_documentation_lists_every_parameter() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let document = std::fs::read_to_string(path).unwrap();
    const BEGIN: &str = "<!-- parameters: begin -->\n";
    const END: &str = "<!-- parameters: end -->\n";
    let begin = document.find(BEGIN).unwrap() + BEGIN.len();
    let end = document.find(END).unwrap();
    let mut table = String::from("| Parameter | Default | Changed | Here |\n|---|---|---|---|\n");
    for parameter in parameters() {
        let default = match parameter.name {
            "dir" => "the present directory".to_owned(),
            _ => {
                let value = get(&Settings::default(), parameter.name);
                if value.is_empty() { "`\"\"`".to_owned() } else { format!("`{value}`") }
            }
        };
        let alias = parameter.alias.map_or(String::new(), |alias| format!(" (`{alias}`)"));
        let change = match parameter.change {
            super::parameter::Change::Anytime => "any time",
            super::parameter::Change::Startup => "at the start",
            super::parameter::Change::Protected => "protected",
        };
        table.push_str(&format!(
            "| `{}`{alias} | {default} | {change} | {} |\n",
            parameter.name,
            parameter.status()
        ));
    }
    if document[begin..end] != table {
        if std::env::var_os("REDLINE_BLESS").is_some() {
            let blessed = format!("{}{table}{}", &document[..begin], &document[end..]);
            std::fs::write(path, blessed).unwrap();
            return;
        }
        panic!("docs/configuration.md is out of date: run this test with REDLINE_BLESS=1");
    }
}

#[test]
fn a_file_without_an_end_is_refused() {
    let error = super::file::read_from(std::io::repeat(b'#'), std::path::Path::new("-"));
    assert!(matches!(error, Err(FileError::Unreadable { .. })), "{error:?}");
}

proptest! {
    #[test]
    fn no_file_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
        // Only that it returns is of interest.
        let _ = load(&mut Settings::default(), &text);
    }

    #[test]
    fn no_value_panics(index in 0_usize..500, value in prop::collection::vec(any::<u8>(), 0..30)) {
        let count = parameters().count();
        let parameter = parameters().nth(index % count).unwrap();
        let mut settings = Settings::default();
        if parameter.set_argument(&mut settings, &value).is_ok() {
            let shown = parameter.get(&settings);
            parameter.set_argument(&mut settings, &shown).unwrap();
            assert_eq!(parameter.get(&settings), shown, "{}", parameter.name);
            let text = super::rewrite::rewritten(b"", &settings);
            let mut again = Settings::default();
            load(&mut again, &text).unwrap();
            assert_eq!(parameter.get(&again), shown, "{}", parameter.name);
        }
    }
}
