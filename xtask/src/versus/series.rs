//! Repeated measurements and what may be said of them: medians, ratios of medians, and how far the
//! ratios of single rounds spread.

use serde::Serialize;

/// The measurements of one contender in one cell of the table, one a round, in order.
#[derive(Debug, Clone, Serialize)]
pub struct Series {
    /// Who was measured.
    pub contender: String,
    /// What was measured, one value a round.
    pub values: Vec<f64>,
    /// Processor time of the server for one request, in nanoseconds, one value a round.
    pub server_ns: Vec<f64>,
}

/// A ratio of two series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// Ratio of the medians.
    pub of_medians: f64,
    /// Smallest ratio of a round.
    pub low: f64,
    /// Largest ratio of a round.
    pub high: f64,
}

/// One row of the result: a workload and how all contenders did.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// `GET P=16`, say.
    pub workload: String,
    /// The contenders, in the order of the table.
    pub series: Vec<Series>,
}

/// The middle value, or the mean of the two middle ones; zero of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

/// How `one` compares with `other`.
pub fn ratio(one: &[f64], other: &[f64]) -> Ratio {
    let rounds: Vec<f64> = one.iter().zip(other).map(|(one, other)| one / other).collect();
    Ratio {
        of_medians: median(one) / median(other),
        low: rounds.iter().copied().fold(f64::INFINITY, f64::min),
        high: rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

impl Cell {
    /// The first contender beside the fastest of the others, and that one's name.
    pub fn ratio_to_fastest(&self) -> Option<(Ratio, &str)> {
        let (first, others) = self.series.split_first()?;
        let fastest = others
            .iter()
            .max_by(|one, other| median(&one.values).total_cmp(&median(&other.values)))?;
        Some((ratio(&first.values, &fastest.values), &fastest.contender))
    }
}

/// The cells as a table for people: thousand requests a second, and processor time of the server
/// where it was measured.
pub fn print_rates(cells: &[Cell]) {
    for cell in cells {
        println!("\n{}", cell.workload);
        for series in &cell.series {
            let low = series.values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = series.values.iter().copied().fold(0.0, f64::max);
            println!(
                "  {:<28} {:>8.1} k/s  ({:.1} .. {:.1})   server {:>6.0} ns/request",
                series.contender,
                median(&series.values) / 1e3,
                low / 1e3,
                high / 1e3,
                median(&series.server_ns)
            );
        }
        if let Some((ratio, fastest)) = cell.ratio_to_fastest() {
            println!(
                "  {} / {fastest}: {:.2} x  ({:.2} .. {:.2})",
                cell.series[0].contender, ratio.of_medians, ratio.low, ratio.high
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ratios() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        let got = ratio(&[2.0, 4.0, 9.0], &[1.0, 4.0, 3.0]);
        assert_eq!(got, Ratio { of_medians: 4.0 / 3.0, low: 1.0, high: 3.0 });
    }

    #[test]
    fn the_fastest_other_is_the_one_to_beat() {
        let series = |contender: &str, value: f64| Series {
            contender: contender.to_string(),
            values: vec![value],
            server_ns: vec![],
        };
        let cell = Cell {
            workload: "GET".to_string(),
            series: vec![series("ours", 6.0), series("a", 2.0), series("b", 3.0)],
        };
        let (ratio, name) = cell.ratio_to_fastest().unwrap();
        assert_eq!((ratio.of_medians, name), (2.0, "b"));
    }
}
