//! `--latency-dist`: a row of coloured characters an interval, one character for each stretch of latencies.

use std::fmt::Write as _;
use std::io::Write;
use std::time::{Duration, Instant};

use super::ModeError;
use super::latency::SAMPLE_WAIT;
use super::patient::Patient;

/// Stretches of latencies: the longest in microseconds, and the character. Those above the last are shown as [`BEYOND`].
const STRETCHES: [(u64, char); 30] = [
    (10, '.'),
    (125, '-'),
    (250, '*'),
    (500, '#'),
    (1_000, '1'),
    (2_000, '2'),
    (3_000, '3'),
    (4_000, '4'),
    (5_000, '5'),
    (6_000, '6'),
    (7_000, '7'),
    (8_000, '8'),
    (9_000, '9'),
    (10_000, 'A'),
    (20_000, 'B'),
    (30_000, 'C'),
    (40_000, 'D'),
    (50_000, 'E'),
    (100_000, 'F'),
    (200_000, 'G'),
    (300_000, 'H'),
    (400_000, 'I'),
    (500_000, 'J'),
    (1_000_000, 'K'),
    (2_000_000, 'L'),
    (4_000_000, 'M'),
    (8_000_000, 'N'),
    (16_000_000, 'O'),
    (30_000_000, 'P'),
    (60_000_000, 'Q'),
];
/// The character of everything longer.
const BEYOND: char = '?';
/// Colours of the 256-colour terminal from no samples to all of them.
const COLORS: [u8; 19] =
    [0, 233, 234, 235, 237, 239, 241, 243, 245, 247, 144, 143, 142, 184, 226, 214, 208, 202, 196];
/// The same in greys, for `--mono`.
const GREYS: [u8; 13] = [0, 233, 234, 235, 237, 239, 241, 243, 245, 247, 249, 251, 253];
/// Length of an interval without `-i`.
const INTERVAL: Duration = Duration::from_secs(1);
/// Rows under one legend.
const ROWS_A_LEGEND: usize = 20;
const RULE: &str = "---------------------------------------------\n";

/// Counts of one interval.
#[derive(Debug, Default, Clone)]
pub struct Spectrum {
    counts: [u64; STRETCHES.len() + 1],
    total: u64,
}

impl Spectrum {
    /// Counts a sample.
    pub fn record(&mut self, latency_ns: u64) {
        let stretch = STRETCHES.iter().position(|(longest_us, _)| latency_ns <= longest_us * 1_000);
        self.counts[stretch.unwrap_or(STRETCHES.len())] += 1;
        self.total += 1;
    }

    /// The row, with its end of line.
    pub fn row(&self, palette: &[u8]) -> String {
        let characters = STRETCHES.iter().map(|(_, character)| *character).chain([BEYOND]);
        let mut text = String::from("\x1b[38;5;0m");
        for (count, character) in self.counts.iter().zip(characters) {
            let share = *count as f64 / self.total.max(1) as f64;
            let color = palette[(share * (palette.len() - 1) as f64).ceil() as usize];
            write!(text, "\x1b[48;5;{color}m{character}")
                .expect("a String takes all that is written to it");
        }
        text.push_str("\x1b[0m\n");
        text
    }
}

/// The colours that `--mono` chooses between.
pub fn palette(is_mono: bool) -> &'static [u8] {
    if is_mono { &GREYS } else { &COLORS }
}

/// What the characters and colours mean.
pub fn legend(palette: &[u8]) -> String {
    let colors: String = palette.iter().map(|color| format!("\x1b[48;5;{color}m ")).collect();
    format!(
        "{RULE}. - * #          .01 .125 .25 .5 milliseconds\n\
         1,2,3,...,9      from 1 to 9     milliseconds\n\
         A,B,C,D,E        10,20,30,40,50  milliseconds\n\
         F,G,H,I,J        .1,.2,.3,.4,.5       seconds\n\
         K,L,M,N,O,P,Q,?  1,2,4,8,16,30,60,>60 seconds\n\
         From 0 to 100%: {colors}\x1b[0m\n{RULE}"
    )
}

/// Measures for ever.
///
/// # Errors
/// All kinds of [`ModeError`].
pub fn run(
    interval: Option<Duration>,
    is_mono: bool,
    server: &mut Patient<'_>,
    out: &mut impl Write,
) -> Result<(), ModeError> {
    let (interval, palette) = (interval.unwrap_or(INTERVAL), palette(is_mono));
    let mut rows = 0;
    loop {
        let mut spectrum = Spectrum::default();
        let start = Instant::now();
        while start.elapsed() <= interval {
            spectrum.record(server.ping_ns()?);
            std::thread::sleep(SAMPLE_WAIT);
        }
        if rows % ROWS_A_LEGEND == 0 {
            out.write_all(legend(palette).as_bytes())?;
        }
        out.write_all(spectrum.row(palette).as_bytes())?;
        out.flush()?;
        rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Spectrum, legend, palette};

    /// The characters of a row with their colours.
    fn cells(row: &str) -> Vec<(String, char)> {
        let row = row.strip_prefix("\x1b[38;5;0m").unwrap().strip_suffix("\x1b[0m\n").unwrap();
        row.split("\x1b[48;5;")
            .skip(1)
            .map(|cell| {
                let (color, character) = cell.split_once('m').unwrap();
                (color.to_owned(), character.chars().next().unwrap())
            })
            .collect()
    }

    #[test]
    fn samples_color_their_stretch() {
        let mut spectrum = Spectrum::default();
        for latency_ns in [10_000, 10_001, 124_000, 125_000, 60_000_000_001] {
            spectrum.record(latency_ns);
        }
        let cells = cells(&spectrum.row(palette(false)));
        let characters: String = cells.iter().map(|cell| cell.1).collect();
        assert_eq!(characters, ".-*#123456789ABCDEFGHIJKLMNOPQ?");
        // One of five: 3.6 of 18 steps, rounded up; three of five: 10.8.
        assert_eq!(cells[0].0, "237");
        assert_eq!(cells[1].0, "143");
        assert_eq!(cells[2].0, "0");
        assert_eq!(cells[30].0, "237");
    }

    #[test]
    fn one_stretch_with_all_has_the_last_color() {
        let mut spectrum = Spectrum::default();
        spectrum.record(1);
        assert_eq!(cells(&spectrum.row(palette(false)))[0].0, "196");
        assert_eq!(cells(&spectrum.row(palette(true)))[0].0, "253");
        assert!(cells(&Spectrum::default().row(palette(true))).iter().all(|cell| cell.0 == "0"));
    }

    #[test]
    fn the_legend_shows_every_color() {
        assert_eq!(legend(palette(true)).matches("\x1b[48;5;").count(), 13);
        assert_eq!(legend(palette(false)).lines().count(), 8);
    }
}
