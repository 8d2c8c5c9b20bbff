//! The steps in which a distribution is printed: ten to each halving of what is left, as HdrHistogram's percentile iteration has them.

use report::histogram::Histogram;

/// Steps to each halving of the distance to 100 %.
const TICKS_PER_HALF: f64 = 10.0;

/// One line of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// This latency …
    pub value_ns: u64,
    /// … is not exceeded by so many per cent of the samples, …
    pub percentile: f64,
    /// … which are so many.
    pub cumulative: u64,
}

/// The lines of a distribution, the last of which is at 100 %; a histogram without samples has that line only.
pub fn ticks(histogram: &Histogram) -> Vec<Tick> {
    let total = histogram.count();
    let (mut cumulative, mut wanted, mut value_ns) = (0, 0.0, 0);
    let mut ticks = Vec::new();
    for bucket in histogram.buckets() {
        cumulative += bucket.count;
        value_ns = bucket.highest_ns;
        let reached = 100.0 * cumulative as f64 / total as f64;
        while wanted <= reached {
            ticks.push(Tick { value_ns, percentile: wanted, cumulative });
            let halvings = (100.0 / (100.0 - wanted)).log2().floor() as i32 + 1;
            wanted += 100.0 / (TICKS_PER_HALF * 2f64.powi(halvings));
            if cumulative == total {
                break;
            }
        }
    }
    ticks.push(Tick { value_ns, percentile: 100.0, cumulative });
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_finer_towards_the_end() {
        let mut histogram = Histogram::new();
        (1..=1_000).for_each(|micros| histogram.record(micros * 1_000, 1));
        let ticks = ticks(&histogram);
        let percentiles: Vec<f64> = ticks.iter().map(|tick| tick.percentile).collect();
        assert_eq!(percentiles[..3], [0.0, 5.0, 10.0]);
        assert_eq!(percentiles[10..13], [50.0, 52.5, 55.0]);
        assert_eq!(percentiles[20..22], [75.0, 76.25]);
        let last = ticks.last().unwrap();
        assert_eq!((last.percentile, last.value_ns, last.cumulative), (100.0, 1_000_000, 1_000));
        assert!(ticks.windows(2).all(|two| two[0].value_ns <= two[1].value_ns));
    }

    #[test]
    fn one_value_and_none() {
        let mut histogram = Histogram::new();
        assert_eq!(ticks(&histogram), [Tick { value_ns: 0, percentile: 100.0, cumulative: 0 }]);
        histogram.record(7_000, 3);
        let lines: Vec<f64> = ticks(&histogram).iter().map(|tick| tick.percentile).collect();
        assert_eq!(lines, [0.0, 100.0]);
    }
}
