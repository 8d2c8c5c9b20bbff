//! Where the reports go: standard output or a file, JSON, histograms, and a file for each client.

use std::fs::{self, File};
use std::io::{self, Write};

use report::StepResult;

use super::hdr_files;
use super::json::{self, Verification};
use super::options::Options;
use super::plans::Load;
use super::stats::{Kind, Stats};
use super::{End, client_stats};

/// The open reports.
pub struct Reports {
    text: Box<dyn Write>,
    json: Option<(String, File)>,
}

impl Reports {
    /// Opens all files, before any load: a path that can't be written is known at once.
    ///
    /// # Errors
    /// The file that can't be created.
    pub fn open(options: &Options) -> Result<Self, End> {
        let json = match &options.json_out_file {
            None => None,
            Some(path) => {
                let file = create(path)?;
                eprintln!("Json file {path} created...");
                Some((path.clone(), file))
            }
        };
        let text: Box<dyn Write> = match &options.out_file {
            None => {
                eprintln!("Writing results to stdout");
                Box::new(io::stdout())
            }
            Some(path) => {
                let file = create(path)?;
                eprintln!("Writing results to {path}...");
                Box::new(file)
            }
        };
        Ok(Self { text, json })
    }

    /// Adds to the text report.
    ///
    /// # Errors
    /// It can't be written.
    pub fn add(&mut self, text: &str) -> Result<(), End> {
        self.text.write_all(text.as_bytes())?;
        Ok(self.text.flush()?)
    }

    /// Writes the JSON report, if one is wanted.
    ///
    /// # Errors
    /// It can't be written.
    pub fn finish(
        self,
        options: &Options,
        load: &Load,
        sets: &[(String, Stats)],
        verification: Option<Verification>,
    ) -> Result<(), End> {
        if let Some((path, mut file)) = self.json {
            eprintln!("Saving JSON output file: {path}");
            let text = json::render(options, load.requests_per_client, sets, verification);
            file.write_all(text.as_bytes())?;
            eprintln!("Json file closed.");
        }
        Ok(())
    }
}

/// Writes the histograms of a run.
///
/// # Errors
/// The file that can't be written.
pub fn write_histograms(prefix: &str, run: u32, stats: &Stats) -> Result<(), End> {
    for part in hdr_files::parts(stats) {
        let path = format!("{prefix}_{}_{run}", part.file);
        let title = &part.title;
        eprintln!("Writing {title} command HDR latency histogram results to {path}.txt...");
        write(&format!("{path}.txt"), &hdr_files::percentile_table(part.latencies))?;
        eprintln!(
            "Writing {title} command HDR latency histogram results in HistogramLogProcessor format to {path}.hgrm..."
        );
        write(&format!("{path}.hgrm"), &hdr_files::log(&part, stats))?;
    }
    Ok(())
}

/// Writes a file for each client of a run.
///
/// # Errors
/// The file that can't be written.
pub fn write_clients(
    prefix: &str,
    run: u32,
    step: &StepResult,
    kinds: &[Kind],
    options: &Options,
) -> Result<(), End> {
    eprintln!("[RUN {run}] Writing client stats files...");
    for client in &step.clients {
        let path = format!("{prefix}-{run}-{}-{}.csv", client.thread, client.client);
        let is_set_get = options.commands.is_empty();
        write(&path, &client_stats::render(client, kinds, is_set_get, options.cluster_mode))?;
    }
    Ok(())
}

fn create(path: &str) -> Result<File, End> {
    File::create(path).map_err(|error| cannot(path, &error))
}

fn write(path: &str, text: &str) -> Result<(), End> {
    fs::write(path, text).map_err(|error| cannot(path, &error))
}

fn cannot(path: &str, error: &io::Error) -> End {
    End::Sentence(format!("cannot write {path}: {error}"), 1)
}
