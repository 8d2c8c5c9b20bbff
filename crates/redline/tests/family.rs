//! What is made of the table of applets: links, manual pages, completions, and the help of them all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The programs that links are made for.
const PROGRAMS: [&str; 7] = [
    "redis-server",
    "valkey-server",
    "redis-cli",
    "valkey-cli",
    "redis-benchmark",
    "valkey-benchmark",
    "resp-benchmark",
];

/// A folder of the test's own, empty.
fn empty_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It may be left over from an earlier run.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn redline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline")).args(arguments).output().unwrap()
}

/// Standard output of a run that must succeed.
fn printed(arguments: &[&str]) -> String {
    let output = redline(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn links_are_made_once_and_run_what_they_name() {
    let folder = empty_folder("links");
    let path = folder.to_str().unwrap();
    let shown = printed(&["link", path, "--print"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(printed(&["link", path]), shown);
    assert!(printed(&["link", path]).lines().all(|line| line.ends_with(" (is there)")));
    for program in PROGRAMS {
        let output = Command::new(folder.join(program)).arg("--version").output().unwrap();
        assert!(output.status.success(), "{program}");
    }
    let version = Command::new(folder.join("redis-benchmark")).arg("-v").output().unwrap();
    assert!(version.stdout.starts_with(b"redis-benchmark "), "{version:?}");
}

#[test]
fn what_is_no_link_of_ours_is_kept_unless_forced() {
    let folder = empty_folder("links-kept");
    let path = folder.to_str().unwrap();
    let (file, other) = (folder.join("redis-cli"), folder.join("valkey-server"));
    fs::write(&file, "mine").unwrap();
    let output = redline(&["link", path]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("redis-cli is there and no link to this program"), "{said}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_file(&file).unwrap();
    symlink("/nowhere", &other).unwrap();
    assert_eq!(redline(&["link", path]).status.code(), Some(1));
    assert!(printed(&["link", path, "--force"]).contains("valkey-server -> "));
    assert!(fs::canonicalize(&other).is_ok());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(redline(&["link", path, "--force"]).status.code(), Some(1));
    assert_eq!(redline(&["link", "/nowhere/at/all"]).status.code(), Some(1));
    assert_eq!(redline(&["link"]).status.code(), Some(2));
}

#[test]
fn the_help_shows_the_family_on_one_screen() {
    let help = printed(&["--help"]);
    assert!(help.lines().count() <= 24 && help.lines().all(|line| line.len() <= 80), "{help}");
    for name in [
        "bench",
        "server",
        "cli",
        "redis-benchmark",
        "resp-benchmark",
        "link",
        "man",
        "completions",
    ] {
        assert!(help.contains(&format!("\n  {name} ")), "{name}: {help}");
    }
}

#[test]
fn every_program_has_a_manual_page() {
    for program in PROGRAMS {
        let page = printed(&["man", program]);
        assert!(page.starts_with(".TH "), "{page}");
        assert!(page.contains(&format!("\n.SH NAME\n{} \\- ", program.replace('-', "\\-"))));
        assert!(page.contains("\n.TP\n\\fB"), "{page}");
    }
    let output = redline(&["man", "nonsense"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("there is no applet 'nonsense'"));
}

#[test]
fn bash_completes_applets_and_options() {
    let script = printed(&["completions", "bash"]);
    for (words, expected) in [
        ("redline ben", "bench"),
        ("redis-benchmark --thre", "--threads"),
        ("redline redis-benchmark --thre", "--threads"),
        ("redline bench --pipe", "--pipeline"),
        ("redline completions zs", ""),
    ] {
        let count = words.split(' ').count() - 1;
        let ask = format!(
            "{script}\nCOMP_WORDS=({words}) COMP_CWORD={count}\n_redline\necho \"${{COMPREPLY[*]}}\"\n"
        );
        let output = Command::new("bash").args(["-c", &ask]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), expected, "{words}");
    }
    assert!(printed(&["completions", "zsh"]).starts_with("#compdef redline redis-server "));
    assert!(
        printed(&["completions", "fish"])
            .contains("\ncomplete -c redis-benchmark -l threads -r -d ")
    );
}
