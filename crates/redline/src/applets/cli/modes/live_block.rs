//! A block of lines on a terminal that is drawn over itself while a walk goes on.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time between two drawings.
const REFRESH: Duration = Duration::from_millis(300);
/// Width of the bar in characters.
const BAR_WIDTH: usize = 60;
/// A terminal that does not tell its size: columns and rows.
const DEFAULT_SIZE: (usize, usize) = (80, 24);

/// The block, or nothing if nobody watches.
#[derive(Debug)]
pub struct LiveBlock {
    is_watched: bool,
    drawn: Instant,
}

impl LiveBlock {
    /// A block on standard output; `FAKETTY` in the environment makes a terminal of anything, as in the original.
    pub fn new() -> Self {
        let is_watched = io::stdout().is_terminal() || std::env::var_os("FAKETTY").is_some();
        Self { is_watched, drawn: Instant::now() }
    }

    /// Whether there is a terminal.
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Draws what `lines` makes if it is time to, and leaves the cursor at the block's start.
    ///
    /// # Errors
    /// Those of the output.
    pub fn refresh(
        &mut self,
        out: &mut impl Write,
        lines: impl FnOnce() -> Vec<String>,
    ) -> io::Result<()> {
        if !self.is_watched || self.drawn.elapsed() < REFRESH {
            return Ok(());
        }
        self.drawn = Instant::now();
        let (columns, rows) = terminal_size();
        out.write_all(drawing(&lines(), columns, rows).as_bytes())?;
        out.flush()
    }

    /// Clears the block, so that the last words stand in its place.
    ///
    /// # Errors
    /// Those of the output.
    pub fn clear(&self, out: &mut impl Write) -> io::Result<()> {
        if self.is_watched { out.write_all(b"\r\x1b[J") } else { Ok(()) }
    }
}

/// The first two lines of every walk: how far it is, and how many keys it saw.
pub fn progress(sampled: u64, keys_total: u64, is_watched: bool) -> [String; 2] {
    let share = if keys_total == 0 { 0.0 } else { sampled as f64 / keys_total as f64 };
    // Keys that came in the meantime must not make it more than all.
    let share = share.min(1.0);
    let done = (share * BAR_WIDTH as f64).round() as usize;
    let bar = if is_watched {
        let (done, rest) = ("|".repeat(done), "-".repeat(BAR_WIDTH - done));
        format!("\x1b[32m{done}\x1b[31m{rest}\x1b[39m")
    } else {
        "keys scanned".to_owned()
    };
    [format!("{:6.2}% {bar}", share * 100.0), format!("Keys sampled: {sampled}")]
}

/// Columns and rows of the terminal that standard output is; neither is 0.
pub fn terminal_size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 1 => (size.ws_col.into(), size.ws_row.into()),
        _ => DEFAULT_SIZE,
    }
}

/// The lines, cut so that none wraps and none scrolls away, with what brings the cursor back.
fn drawing(lines: &[String], columns: usize, rows: usize) -> String {
    let shown = &lines[..lines.len().min(rows - 1)];
    let mut text: String =
        shown.iter().map(|line| format!("\x1b[2K\r{}\n", cut(line, columns))).collect();
    text.push_str(&format!("\x1b[J\x1b[{}A\r", shown.len()));
    text
}

/// The start of a line that fits; escape sequences have no width, and none is cut off.
fn cut(line: &str, columns: usize) -> String {
    let (mut width, mut is_escape) = (0, false);
    line.chars()
        .filter(|character| {
            if *character == '\x1b' {
                is_escape = true;
                return true;
            }
            if is_escape {
                is_escape = !character.is_ascii_alphabetic();
                return true;
            }
            width += 1;
            width <= columns
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{cut, drawing, progress};

    #[test]
    fn the_bar_fills() {
        let [bar, keys] = progress(1, 3, true);
        let done = "|".repeat(20);
        let rest = "-".repeat(40);
        assert_eq!(bar, format!(" 33.33% \x1b[32m{done}\x1b[31m{rest}\x1b[39m"));
        assert_eq!(keys, "Keys sampled: 1");
        assert_eq!(progress(6, 6, false)[0], "100.00% keys scanned");
        assert_eq!(progress(9, 6, false)[0], "100.00% keys scanned");
        assert_eq!(progress(0, 0, false)[0], "  0.00% keys scanned");
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        assert_eq!(cut("\x1b[32mabc\x1b[39m", 2), "\x1b[32mab\x1b[39m");
        assert_eq!(cut("ab", 2), "ab");
        let lines = ["one".to_owned(), "two".to_owned(), "three".to_owned()];
        assert_eq!(drawing(&lines, 80, 3), "\x1b[2K\rone\n\x1b[2K\rtwo\n\x1b[J\x1b[2A\r");
    }
}
