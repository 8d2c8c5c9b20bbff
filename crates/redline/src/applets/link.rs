//! `redline link DIR`: links by which this program is called under the names of those that it stands for.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory as _, Parser};

use super::{APPLETS, Applet};
use crate::flags::manual::{self, Manual};

/// The row of the links.
pub const APPLET: Applet = Applet {
    name: "link",
    links: &[],
    summary: "links, so that redis-server and the others are this",
    manual: || Manual {
        synopsis: "DIR [--force] [--print]",
        description: ABOUT.into(),
        sections: manual::of_clap(Arguments::command()),
    },
    run,
};

const ABOUT: &str = "Makes links to this program under the names of those that it stands for: scripts that call them \
    then run it. Files and links that lead elsewhere are left alone unless --force is given; what is there already is kept.";

#[derive(Debug, Parser)]
#[command(name = "redline link", about = ABOUT)]
struct Arguments {
    /// The folder; best one that comes early in PATH
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace files and links of these names
    #[arg(long)]
    force: bool,
    /// Only say what would be made
    #[arg(long)]
    print: bool,
}

/// What stands at the place of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// The link that was to be made.
    Same,
    /// Something that is not ours.
    Other,
    Folder,
}

fn run(program: &str, words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let arguments = match super::parsed::<Arguments>(program, words)? {
        Ok(arguments) => arguments,
        Err(status) => return Ok(status),
    };
    let own = std::env::current_exe().and_then(fs::canonicalize);
    let own = own.context("cannot tell where this program is")?;
    let said = make(&arguments, &own)?;
    super::show(&said)
}

/// Looks at all places first, so that nothing is made if one can't be. Says what was made.
fn make(arguments: &Arguments, own: &Path) -> anyhow::Result<String> {
    let folder = &arguments.folder;
    let is_folder = fs::metadata(folder).with_context(|| folder.display().to_string())?.is_dir();
    anyhow::ensure!(is_folder, "{}: not a folder", folder.display());
    let names = APPLETS.iter().flat_map(|applet| applet.links);
    let places: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    let found: Vec<Found> =
        places.iter().map(|place| found(place, own)).collect::<anyhow::Result<_>>()?;
    for (place, found) in places.iter().zip(&found) {
        let place = place.display();
        anyhow::ensure!(*found != Found::Folder, "{place} is a folder; nothing was linked");
        anyhow::ensure!(
            *found != Found::Other || arguments.force,
            "{place} is there and no link to this program; nothing was linked (--force replaces it)"
        );
    }
    let mut said = String::new();
    for (place, found) in places.iter().zip(found) {
        let note = match found {
            Found::Same => " (is there)",
            Found::Other => " (replaced)",
            Found::Nothing | Found::Folder => "",
        };
        said += &format!("{} -> {}{note}\n", place.display(), own.display());
        if !arguments.print && found != Found::Same {
            replace(place, own, found).with_context(|| place.display().to_string())?;
        }
    }
    Ok(said)
}

fn found(place: &Path, own: &Path) -> anyhow::Result<Found> {
    match fs::symlink_metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(error).with_context(|| place.display().to_string()),
        Ok(metadata) if metadata.is_dir() => Ok(Found::Folder),
        Ok(metadata) => {
            let is_own =
                metadata.is_symlink() && fs::canonicalize(place).is_ok_and(|target| target == own);
            Ok(if is_own { Found::Same } else { Found::Other })
        }
    }
}

fn replace(place: &Path, own: &Path, found: Found) -> io::Result<()> {
    if found == Found::Other {
        fs::remove_file(place)?;
    }
    symlink(own, place)
}
