//! Latencies on the grid that redis-benchmark prints: microseconds in buckets of an HDR histogram from 10 µs to 3 s.
//!
//! With three figures the unit of that histogram is 8 µs, so that printed values are 8n+7 (`0.095`, `0.103`); scripts and
//! old results expect those. Our own samples are nanoseconds; they are put on the grid only to be printed here.

use report::histogram::Histogram;

/// Latencies above this count as this, in microseconds.
const HIGHEST_US: u64 = 3_000_000;
/// Binary digits of the unit that a least value of 10 µs leads to: buckets of 8 µs.
const UNIT_BITS: u32 = 3;
/// Step of the cumulative distribution, in microseconds.
const STEP_US: u64 = 100;
/// Above this the cumulative distribution goes in long steps.
const LONG_STEPS_ABOVE_US: u64 = 2_000;
/// The long step.
const LONG_STEP_US: u64 = 1_000;

/// Counts of latencies by bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    half_bits: u32,
    counts: Vec<u64>,
    total: u64,
}

/// One line of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Share of all samples, in per cent.
    pub percent: f64,
    /// Highest latency that falls into the bucket, in microseconds.
    pub latency_us: u64,
    /// Samples up to and in that bucket.
    pub count: u64,
}

impl Grid {
    /// An empty grid with this many significant figures, 1 to 4.
    pub fn new(figures: u8) -> Self {
        let finest = 2 * 10u64.pow(figures.into());
        let half_bits = finest.next_power_of_two().ilog2() - 1;
        let mut grid = Self { half_bits, counts: Vec::new(), total: 0 };
        grid.counts = vec![0; grid.bucket_of(HIGHEST_US) + 2];
        grid
    }

    /// The samples of a histogram of nanoseconds.
    pub fn of(histogram: &Histogram, figures: u8) -> Self {
        let mut grid = Self::new(figures);
        for bucket in histogram.buckets() {
            grid.record(bucket.highest_ns / 1_000, bucket.count);
        }
        grid
    }

    /// Adds samples.
    pub fn record(&mut self, latency_us: u64, count: u64) {
        let bucket = self.bucket_of(latency_us.min(HIGHEST_US));
        self.counts[bucket] += count;
        self.total += count;
    }

    /// Lowest latency of the lowest bucket with samples; 0 without samples.
    pub fn min_us(&self) -> u64 {
        self.counts.iter().position(|count| *count > 0).map_or(0, |bucket| self.lowest_us(bucket))
    }

    /// Highest latency of the highest bucket with samples; 0 without samples.
    pub fn max_us(&self) -> u64 {
        self.counts.iter().rposition(|count| *count > 0).map_or(0, |bucket| self.highest_us(bucket))
    }

    /// Mean of the middles of the buckets; 0 without samples.
    pub fn mean_us(&self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        let middle = |bucket: usize| self.lowest_us(bucket) + (self.width_us(bucket) >> 1);
        let sum: f64 = self
            .counts
            .iter()
            .enumerate()
            .map(|(bucket, count)| *count as f64 * middle(bucket) as f64)
            .sum();
        sum / self.total as f64
    }

    /// The highest latency of the bucket that `percent` of the samples reach; 0 without samples.
    pub fn percentile_us(&self, percent: f64) -> u64 {
        let wanted = ((percent.min(100.0) / 100.0 * self.total as f64 + 0.5) as u64).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        reached.map_or(0, |bucket| self.highest_us(bucket))
    }

    /// The distribution by percentiles that halve the rest: 0, 50, 75, 87.5 … and 100. A line is left out when its count is
    /// that of the line before, unless it is the count of all.
    pub fn by_percentile(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut next_percent = 0.0f64;
        let mut seen = 0;
        let mut highest_us = 0;
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            seen += count;
            highest_us = self.highest_us(bucket);
            let here = 100.0 * seen as f64 / self.total as f64;
            while next_percent <= here {
                lines.push(Line { percent: next_percent, latency_us: highest_us, count: seen });
                let halvings = ((100.0 / (100.0 - next_percent)).ln() / 2f64.ln()) as i32 + 1;
                next_percent += 100.0 / 2f64.powi(halvings);
                if seen == self.total {
                    break;
                }
            }
        }
        if self.total > 0 {
            lines.push(Line { percent: 100.0, latency_us: highest_us, count: seen });
        }
        self.without_repeats(lines)
    }

    /// The distribution in steps of 0.1 ms, above 2 ms of 1 ms; lines are left out as in [`Grid::by_percentile`]. It goes
    /// on until all samples are counted, and where buckets are wider than steps, until the step has caught up.
    pub fn cumulative(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let (mut next_us, mut step_us) = (STEP_US, STEP_US);
        let mut seen = 0;
        let mut is_over = self.total == 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            while !is_over && self.lowest_us(bucket) >= self.lowest_like_us(next_us) {
                let percent = seen as f64 / self.total as f64 * 100.0;
                let latency_us = self.highest_us(bucket);
                lines.push(Line { percent, latency_us, count: seen });
                next_us += step_us;
                if latency_us > LONG_STEPS_ABOVE_US {
                    step_us = LONG_STEP_US;
                }
                is_over = seen == self.total && latency_us < self.lowest_like_us(next_us);
            }
        }
        self.without_repeats(lines)
    }

    fn without_repeats(&self, lines: Vec<Line>) -> Vec<Line> {
        let mut before = None;
        let keep = |line: &Line| {
            before.replace(line.count) != Some(line.count) || line.count == self.total
        };
        lines.into_iter().filter(keep).collect()
    }

    /// Buckets go by the unit up to twice `2^half_bits` of it, and by twice the width with each doubling above.
    fn bucket_of(&self, latency_us: u64) -> usize {
        let units = latency_us >> UNIT_BITS;
        let shift = (units | ((2 << self.half_bits) - 1)).ilog2() - self.half_bits;
        ((u64::from(shift) << self.half_bits) + (units >> shift)) as usize
    }

    fn shift_of(&self, bucket: usize) -> u32 {
        ((bucket >> self.half_bits) as u32).saturating_sub(1)
    }

    fn lowest_us(&self, bucket: usize) -> u64 {
        let shift = self.shift_of(bucket);
        (bucket as u64 - (u64::from(shift) << self.half_bits)) << (shift + UNIT_BITS)
    }

    fn width_us(&self, bucket: usize) -> u64 {
        1 << (self.shift_of(bucket) + UNIT_BITS)
    }

    fn highest_us(&self, bucket: usize) -> u64 {
        self.lowest_us(bucket) + self.width_us(bucket) - 1
    }

    fn lowest_like_us(&self, latency_us: u64) -> u64 {
        self.lowest_us(self.bucket_of(latency_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(figures: u8, samples: &[(u64, u64)]) -> Grid {
        let mut grid = Grid::new(figures);
        samples.iter().for_each(|(latency_us, count)| grid.record(*latency_us, *count));
        grid
    }

    fn printed(lines: &[Line]) -> Vec<(String, u64, u64)> {
        let text = |line: &Line| (format!("{:.3}", line.percent), line.latency_us, line.count);
        lines.iter().map(text).collect()
    }

    fn line(percent: &str, latency_us: u64, count: u64) -> (String, u64, u64) {
        (percent.into(), latency_us, count)
    }

    #[test]
    fn printed_values_are_those_of_the_original() {
        let grid = grid(3, &[(10, 1), (96, 1), (103, 1), (16_383, 1), (16_384, 1)]);
        assert_eq!((grid.min_us(), grid.percentile_us(50.0)), (8, 103));
        assert_eq!(grid.percentile_us(80.0), 16_383);
        assert_eq!(grid.max_us(), 16_399);
    }

    #[test]
    fn what_is_beyond_the_grid_counts_as_its_end() {
        for figures in 1..=4 {
            let grid = grid(figures, &[(0, 1), (u64::MAX, 1)]);
            assert_eq!(grid.min_us(), 0);
            let most_us = grid.max_us();
            assert!((HIGHEST_US..HIGHEST_US + HIGHEST_US / 10).contains(&most_us), "{most_us}");
        }
    }

    #[test]
    fn every_bucket_begins_where_the_one_before_ends() {
        for figures in 1..=4 {
            let grid = Grid::new(figures);
            let mut expected_us = 0;
            for bucket in 0..grid.counts.len() {
                assert_eq!(grid.lowest_us(bucket), expected_us);
                assert_eq!(grid.bucket_of(expected_us), bucket);
                assert_eq!(grid.bucket_of(grid.highest_us(bucket)), bucket);
                expected_us = grid.highest_us(bucket) + 1;
            }
        }
    }

    /// What redis-benchmark 7.0 printed for ten requests with `--precision 1`: where its samples lay follows from it.
    #[test]
    fn a_recorded_coarse_distribution_comes_out_again() {
        let grid = grid(1, &[(330, 1), (400, 1), (3_300, 7), (3_400, 1)]);
        let by_percentile = printed(&grid.by_percentile());
        assert_eq!(by_percentile[0], line("0.000", 335, 1));
        assert_eq!(by_percentile[1], line("50.000", 3_327, 9));
        assert_eq!(by_percentile[2], line("93.750", 3_455, 10));
        assert_eq!(by_percentile[3], line("100.000", 3_455, 10));
        let cumulative = printed(&grid.cumulative());
        assert_eq!(cumulative[0], line("0.000", 103, 0));
    }

    /// The counts at each step of a recorded run of redis-benchmark 7.0 (`set key:__rand_int__ value`, 2000 requests): put
    /// at the ends of their steps, they come out as they were printed.
    #[test]
    fn a_recorded_cumulative_distribution_comes_out_again() {
        let recorded = [
            ("0.000", 103, 0),
            ("1.550", 207, 31),
            ("16.550", 303, 331),
            ("59.600", 407, 1_192),
            ("90.750", 1_903, 1_815),
            ("91.300", 2_007, 1_826),
            ("91.800", 2_103, 1_836),
            ("94.850", 3_103, 1_897),
            ("99.650", 4_103, 1_993),
            ("100.000", 5_103, 2_000),
        ];
        let mut before = 0;
        let mut grid = Grid::new(3);
        for (_, latency_us, count) in recorded {
            grid.record(latency_us, count - before);
            before = count;
        }
        let expected: Vec<_> =
            recorded.iter().map(|(percent, us, count)| line(percent, *us, *count)).collect();
        assert_eq!(printed(&grid.cumulative()), expected);
        let last_two: Vec<u64> =
            grid.by_percentile().iter().rev().take(2).map(|line| line.count).collect();
        assert_eq!(last_two, [2_000, 2_000]);
    }

    #[test]
    fn percentiles_halve_the_rest() {
        let mut grid = Grid::new(3);
        (1..=1_024).for_each(|step| grid.record(step * 8, 1));
        let percents: Vec<f64> = grid.by_percentile().iter().map(|line| line.percent).collect();
        assert_eq!(percents[..5], [0.0, 50.0, 75.0, 87.5, 93.75]);
        assert_eq!(percents.last(), Some(&100.0));
        let counts: Vec<u64> = grid.by_percentile().iter().map(|line| line.count).collect();
        assert_eq!(counts[..4], [1, 512, 768, 896]);
    }

    #[test]
    fn a_grid_without_samples_prints_nothing() {
        let grid = Grid::new(3);
        assert!(grid.by_percentile().is_empty() && grid.cumulative().is_empty());
        assert_eq!((grid.min_us(), grid.max_us(), grid.percentile_us(50.0)), (0, 0, 0));
        assert_eq!(grid.mean_us(), 0.0);
    }

    #[test]
    fn nanoseconds_fall_into_the_microsecond_that_they_have_completed() {
        let mut histogram = Histogram::new();
        histogram.record(103_900, 2);
        histogram.record(104_500, 1);
        let grid = Grid::of(&histogram, 3);
        assert_eq!((grid.percentile_us(50.0), grid.max_us(), grid.total), (103, 111, 3));
    }
}
