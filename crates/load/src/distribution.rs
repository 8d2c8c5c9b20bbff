//! How a whole number is chosen for each command: uniformly, in sequence, by Zipf's law, by the normal law, by weight.
//!
//! A new law is one variant of [`Distribution`] and, for the template language, one name in [`Distribution::named`].

use std::sync::Arc;

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Exponent of `{key zipfian N}`, that of resp-benchmark.
pub const ZIPF_EXPONENT: f64 = 1.03;

/// Tries of the normal law before a number outside the range is moved to its end.
const GAUSSIAN_TRIES: u32 = 256;

/// Where a command stands in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Its number among those of its kind on its connection, from 0.
    pub own: u64,
    /// Index of the connection.
    pub index: u64,
    /// Connections of the run; at least 1.
    pub connections: u64,
}

impl Turn {
    /// Its number in the order in which all connections take turns.
    #[inline]
    pub fn of_all(self) -> u64 {
        self.index.wrapping_add(self.own.wrapping_mul(self.connections))
    }
}

impl From<u64> for Turn {
    /// The turn of an only connection.
    fn from(own: u64) -> Self {
        Self { own, index: 0, connections: 1 }
    }
}

/// A law by which numbers are drawn: in `0..below`, or `count` of them from `least` on.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// All alike.
    Uniform {
        /// The limit; at least 1.
        below: u64,
    },
    /// One after the other over all connections, from 0 again at the limit.
    Sequence {
        /// The limit; at least 1.
        below: u64,
        /// Numbers that one command takes.
        step: u64,
        /// Which of them this one is.
        position: u64,
    },
    /// Number `k` with a probability proportional to `1/(k+1)^exponent`.
    Zipf(Zipf),
    /// All of a range alike.
    Range {
        /// The first of them.
        least: u64,
        /// How many; at least 1.
        count: u64,
    },
    /// As [`Distribution::Zipf`], from a least number on.
    RangeZipf {
        /// The most frequent number.
        least: u64,
        /// The law of what is added to it.
        zipf: Zipf,
    },
    /// By the normal law, cut off at the ends of a range.
    Gaussian {
        /// Least number.
        least: u64,
        /// Greatest number.
        most: u64,
        /// Standard deviation; above 0.
        deviation: f64,
        /// Centre.
        median: f64,
    },
    /// One after the other, on each connection for itself.
    OwnSequence {
        /// The first of them.
        least: u64,
        /// How many, before it begins anew; at least 1.
        count: u64,
        /// Numbers that one command takes.
        step: u64,
        /// Which of them this one is.
        position: u64,
    },
    /// One after the other in the connection's own part of the range.
    OwnPart {
        /// The first number of all parts.
        least: u64,
        /// How many in all parts; at least 1.
        count: u64,
        /// Numbers that one command takes.
        step: u64,
        /// Which of them this one is.
        position: u64,
    },
    /// Numbers by weight: each with the sum of the weights up to and with its own, in ascending order.
    Weighted(Arc<[(u64, u64)]>),
}

impl Distribution {
    /// The law with this name in the template language; `None` for an unknown name.
    pub fn named(name: &str, below: u64) -> Option<Self> {
        match name {
            "uniform" => Some(Self::Uniform { below }),
            "sequence" => Some(Self::Sequence { below, step: 1, position: 0 }),
            "zipfian" => Some(Self::Zipf(Zipf::new(below, ZIPF_EXPONENT))),
            _ => None,
        }
    }

    /// Draws a number for the command at `turn`.
    #[inline]
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus, turn: Turn) -> u64 {
        match self {
            Self::Uniform { below } => uniform(random, *below),
            Self::Sequence { below, step, position } => {
                nth(turn.of_all(), *step, *position) % below
            }
            Self::Zipf(zipf) => zipf.draw(random),
            Self::Range { least, count } => least + uniform(random, *count),
            Self::RangeZipf { least, zipf } => least + zipf.draw(random),
            Self::Gaussian { least, most, deviation, median } => {
                gaussian(random, (*least, *most), *deviation, *median)
            }
            Self::OwnSequence { least, count, step, position } => {
                least + nth(turn.own, *step, *position) % count
            }
            Self::OwnPart { least, count, step, position } => {
                let (start, length) = part(*count, turn);
                least + start + nth(turn.own, *step, *position) % length
            }
            Self::Weighted(sums) => weighted(random, sums),
        }
    }

    /// True for a number that counts up over all connections: they must send equally many commands to leave none out.
    pub fn is_shared_sequence(&self) -> bool {
        matches!(self, Self::Sequence { .. } | Self::OwnPart { .. })
    }

    /// Tells a sequence which of how many numbers of one command it is; nothing to any other law.
    pub(crate) fn set_step(&mut self, new_step: u64, new_position: u64) {
        if let Self::Sequence { step, position, .. }
        | Self::OwnSequence { step, position, .. }
        | Self::OwnPart { step, position, .. } = self
        {
            (*step, *position) = (new_step, new_position);
        }
    }
}

fn nth(turn: u64, step: u64, position: u64) -> u64 {
    turn.wrapping_mul(step).wrapping_add(position)
}

/// Start and length of a connection's part of `count` numbers; a connection that is one too many shares a number.
fn part(count: u64, turn: Turn) -> (u64, u64) {
    let bound =
        |index: u64| (u128::from(count) * u128::from(index) / u128::from(turn.connections)) as u64;
    let start = bound(turn.index).min(count - 1);
    (start, bound(turn.index + 1).saturating_sub(start).max(1))
}

fn weighted(random: &mut Xoshiro256PlusPlus, sums: &[(u64, u64)]) -> u64 {
    let total = sums.last().map_or(1, |(sum, _)| *sum);
    let at = uniform(random, total);
    let nth = sums.partition_point(|(sum, _)| *sum <= at);
    sums.get(nth).map_or(0, |(_, number)| *number)
}

/// Marsaglia's polar method: no table, and the same bytes on every machine whose square root and logarithm agree.
fn gaussian(
    random: &mut Xoshiro256PlusPlus,
    (least, most): (u64, u64),
    deviation: f64,
    median: f64,
) -> u64 {
    let mut number = median;
    for _ in 0..GAUSSIAN_TRIES {
        let (x, y) = (unit(random) * 2.0 - 1.0, unit(random) * 2.0 - 1.0);
        let square = x * x + y * y;
        if square >= 1.0 || square == 0.0 {
            continue;
        }
        number = (median + deviation * x * (-2.0 * square.ln() / square).sqrt()).round();
        if number >= least as f64 && number <= most as f64 {
            break;
        }
    }
    (number.max(0.0) as u64).clamp(least, most)
}

/// A number from 0 to 1, 1 excluded; 53 random bits are all that the mantissa holds.
fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A number in `0..below` by multiplication: its bias, `below`/2^64, is far below what any run could show.
#[inline]
pub fn uniform(random: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(below)) >> 64) as u64
}

/// Zipf's law by rejection-inversion (Hörmann and Derflinger, 1996): no table, constant time, for any exponent above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipf {
    below: f64,
    exponent: f64,
    area_first: f64,
    area_last: f64,
    accept: f64,
}

impl Zipf {
    /// The law over `0..below` (at least 1) with this exponent (above 0).
    pub fn new(below: u64, exponent: f64) -> Self {
        debug_assert!(below >= 1 && exponent > 0.0);
        let below = below as f64;
        Self {
            below,
            exponent,
            area_first: area(1.5, exponent) - 1.0,
            area_last: area(below + 0.5, exponent),
            accept: 2.0 - area_inverse(area(2.5, exponent) - 2f64.powf(-exponent), exponent),
        }
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            let at = self.area_last + unit(random) * (self.area_first - self.area_last);
            let exact = area_inverse(at, self.exponent);
            let rank = exact.round().clamp(1.0, self.below);
            if rank - exact <= self.accept
                || at >= area(rank + 0.5, self.exponent) - rank.powf(-self.exponent)
            {
                return rank as u64 - 1;
            }
        }
    }
}

/// The area below `x^-exponent` from 1 to `x`.
fn area(x: f64, exponent: f64) -> f64 {
    let ln_x = x.ln();
    let scaled = (1.0 - exponent) * ln_x;
    if scaled.abs() < 1e-9 { ln_x } else { scaled.exp_m1() / (1.0 - exponent) }
}

/// The `x` up to which the area is `area`.
fn area_inverse(area: f64, exponent: f64) -> f64 {
    let scaled = (area * (1.0 - exponent)).max(-1.0);
    if scaled.abs() < 1e-9 { area.exp() } else { (scaled.ln_1p() / (1.0 - exponent)).exp() }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn uniform_draws_fill_the_range_evenly() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[uniform(&mut random, 10) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (9_500..10_500).contains(count)), "{seen:?}");
    }

    #[test]
    fn sequences_of_all_connections_together_leave_no_number_out() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let law = Distribution::Sequence { below: 12, step: 2, position: 1 };
        let drawn: Vec<u64> = (0..6u64).map(|turn| law.draw(&mut random, turn.into())).collect();
        assert_eq!(drawn, [1, 3, 5, 7, 9, 11]);
    }

    #[test]
    fn zipf_follows_its_law() {
        let below = 100;
        for exponent in [0.5, 1.0, ZIPF_EXPONENT, 2.0] {
            let zipf = Zipf::new(below, exponent);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
            let draws = 400_000;
            let mut seen = vec![0f64; below as usize];
            for _ in 0..draws {
                seen[zipf.draw(&mut random) as usize] += 1.0;
            }
            let norm: f64 = (1..=below).map(|rank| (rank as f64).powf(-exponent)).sum();
            for rank in [1u64, 2, 3, 10, 50, 100] {
                let expected = draws as f64 * (rank as f64).powf(-exponent) / norm;
                let error = (seen[rank as usize - 1] - expected).abs();
                assert!(error < 6.0 * expected.sqrt() + 1.0, "s={exponent} rank={rank}");
            }
        }
    }

    #[test]
    fn a_range_of_one_has_one_number() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        for name in ["uniform", "sequence", "zipfian"] {
            let law = Distribution::named(name, 1).unwrap();
            assert!((0..50u64).all(|turn| law.draw(&mut random, turn.into()) == 0), "{name}");
        }
        assert_eq!(Distribution::named("gaussian", 1), None);
    }

    #[test]
    fn parts_of_all_connections_together_are_the_range_once() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for (count, connections) in [(10u64, 3u64), (7, 7), (100, 8), (1, 1)] {
            let law = Distribution::OwnPart { least: 5, count, step: 1, position: 0 };
            let mut drawn: Vec<u64> = (0..connections)
                .flat_map(|index| {
                    let own_count = count * (index + 1) / connections - count * index / connections;
                    (0..own_count).map(move |own| Turn { own, index, connections })
                })
                .map(|turn| law.draw(&mut random, turn))
                .collect();
            drawn.sort_unstable();
            assert_eq!(drawn, (5..5 + count).collect::<Vec<_>>(), "{count} over {connections}");
        }
        // More connections than numbers: nobody is left without one, and nobody leaves the range.
        let law = Distribution::OwnPart { least: 0, count: 3, step: 1, position: 0 };
        for index in 0..5 {
            assert!(law.draw(&mut random, Turn { own: 9, index, connections: 5 }) < 3);
        }
    }

    #[test]
    fn an_own_sequence_begins_anew_after_its_last_number() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let law = Distribution::OwnSequence { least: 3, count: 3, step: 1, position: 0 };
        let turn = |own| Turn { own, index: 4, connections: 9 };
        let drawn: Vec<u64> = (0..7).map(|own| law.draw(&mut random, turn(own))).collect();
        assert_eq!(drawn, [3, 4, 5, 3, 4, 5, 3]);
    }

    #[test]
    fn the_normal_law_has_its_centre_and_width_and_stays_in_its_range() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let law = Distribution::Gaussian { least: 1, most: 1_000, deviation: 50.0, median: 400.0 };
        let drawn: Vec<f64> =
            (0..100_000u64).map(|turn| law.draw(&mut random, turn.into()) as f64).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!((mean - 400.0).abs() < 1.0, "{mean}");
        assert!((variance.sqrt() - 50.0).abs() < 1.0, "{variance}");
        let within = drawn.iter().filter(|x| (**x - 400.0).abs() <= 50.0).count();
        assert!((67_500..70_000).contains(&within), "{within}");

        let far = Distribution::Gaussian { least: 10, most: 20, deviation: 1.0, median: 1e9 };
        assert_eq!(far.draw(&mut random, 0.into()), 20);
    }

    #[test]
    fn weights_are_shares() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let law = Distribution::Weighted([(1, 10), (4, 20)].into());
        let tens =
            (0..40_000u64).filter(|turn| law.draw(&mut random, (*turn).into()) == 10).count();
        assert!((9_500..10_500).contains(&tens), "{tens}");
    }
}
