//! The log, line by line as Redis writes it: `PID:ROLE 21 Nov 2026 19:52:37.123 * text`.
//!
//! The file is opened for every line, so that it may be moved away at any time; lines are few.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::server::Server;
use crate::settings::{LogLevel, Settings};
use crate::system;

/// The letter of a process that is still starting.
pub const STARTING: char = 'C';
/// The letter of a running server that is no replica.
pub const MASTER: char = 'M';

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Writes a line where the settings say, if its level is to be logged.
pub fn write(settings: &Settings, role: char, level: LogLevel, text: &str) {
    if level < settings.log_level {
        return;
    }
    // There is nowhere to report that the log cannot be written.
    let _ = write_line(settings, line(role, level, text).as_bytes());
}

/// Writes a line about a signal that was received.
pub fn write_signal(settings: &Settings, text: &str) {
    if LogLevel::Warning < settings.log_level {
        return;
    }
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let line = format!("{}:signal-handler ({seconds}) {text}\n", std::process::id());
    // There is nowhere to report that the log cannot be written.
    let _ = write_line(settings, line.as_bytes());
}

/// What the system says of an error, without its number: `Address already in use`.
pub fn error_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Whether the log's file, if there is one, can be written.
///
/// # Errors
/// It cannot be opened.
pub fn check_file(settings: &Settings) -> io::Result<()> {
    open(settings).map(drop)
}

impl Server {
    /// Logs, unless this server runs within another program.
    pub fn log(&self, level: LogLevel, text: &str) {
        if self.origin.logs {
            write(&self.settings(), MASTER, level, text);
        }
    }
}

fn open(settings: &Settings) -> io::Result<Option<std::fs::File>> {
    if settings.log_file.is_empty() {
        return Ok(None);
    }
    let path = settings.directory_path().join(&settings.log_file);
    OpenOptions::new().create(true).append(true).open(path).map(Some)
}

fn write_line(settings: &Settings, line: &[u8]) -> io::Result<()> {
    match open(settings)? {
        Some(mut file) => file.write_all(line),
        None => io::stdout().lock().write_all(line).and_then(|()| io::stdout().flush()),
    }
}

fn line(role: char, level: LogLevel, text: &str) -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = system::local_time(since_epoch.as_secs() as i64);
    let month = MONTHS.get(time.month as usize).copied().unwrap_or("???");
    let sign = match level {
        LogLevel::Debug => '.',
        LogLevel::Verbose => '-',
        LogLevel::Notice => '*',
        LogLevel::Warning | LogLevel::Nothing => '#',
    };
    format!(
        "{}:{role} {:02} {month} {} {:02}:{:02}:{:02}.{:03} {sign} {text}\n",
        std::process::id(),
        time.day,
        time.year,
        time.hour,
        time.minute,
        time.second,
        since_epoch.subsec_millis(),
    )
}

#[cfg(test)]
mod tests {
    use super::{STARTING, error_text, line, write};
    use crate::settings::{LogLevel, Settings};

    #[test]
    fn a_line_looks_like_one_of_redis() {
        let line = line('M', LogLevel::Warning, "some text");
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words.len(), 8);
        assert_eq!(words[0], format!("{}:M", std::process::id()));
        assert_eq!((words[1].len(), words[2].len(), words[3].len()), (2, 3, 4));
        assert_eq!(words[4].len(), "19:52:37.123".len());
        assert_eq!(&words[5..], ["#", "some", "text\n"]);
    }

    #[test]
    fn levels_and_files() {
        let directory = std::env::temp_dir().join(format!("redline-log-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let settings = Settings {
            directory: directory.to_str().unwrap().into(),
            log_file: "server.log".into(),
            ..Settings::default()
        };
        write(&settings, STARTING, LogLevel::Verbose, "not this");
        write(&settings, STARTING, LogLevel::Notice, "this");
        write(&settings, STARTING, LogLevel::Warning, "and this");
        let text = std::fs::read_to_string(directory.join("server.log")).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains(" * this\n") && text.contains(" # and this\n"), "{text}");
    }

    #[test]
    fn system_errors_without_numbers() {
        let error = std::io::Error::from_raw_os_error(2);
        assert_eq!(error_text(&error), "No such file or directory");
        assert_eq!(error_text(&std::io::Error::other("odd")), "odd");
    }
}
