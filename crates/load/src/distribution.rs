//! How a whole number below a limit is chosen for each command: uniformly, in sequence, by Zipf's law.
//!
//! A new law is one variant of [`Distribution`] and one name in [`Distribution::named`].

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Exponent of `{key zipfian N}`, that of resp-benchmark.
pub const ZIPF_EXPONENT: f64 = 1.03;

/// A law by which numbers in `0..below` are drawn.
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

    /// Draws a number. `turn` is the number of the command in the order in which all connections take turns.
    #[inline]
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus, turn: u64) -> u64 {
        match self {
            Self::Uniform { below } => uniform(random, *below),
            Self::Sequence { below, step, position } => {
                turn.wrapping_mul(*step).wrapping_add(*position) % below
            }
            Self::Zipf(zipf) => zipf.draw(random),
        }
    }
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
            // 53 random bits: all that the mantissa holds.
            let unit = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let at = self.area_last + unit * (self.area_first - self.area_last);
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
        let drawn: Vec<u64> = (0..6).map(|turn| law.draw(&mut random, turn)).collect();
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
            assert!((0..50).all(|turn| law.draw(&mut random, turn) == 0), "{name}");
        }
        assert_eq!(Distribution::named("gaussian", 1), None);
    }
}
