//! The small languages of option values: ranges, ratios, weighted sizes, percentiles, key patterns.
//!
//! Each reader answers `None` for what it does not understand; which option it was for, only the caller knows.

/// Largest value that a size option may ask for, in bytes: what servers take.
pub const MAX_VALUE_BYTES: u64 = 512 << 20;
/// Most sizes in `--data-size-list`.
const MAX_SIZES: usize = 10_000;
/// Most percentiles in `--print-percentiles`.
const MAX_PERCENTILES: usize = 100;

/// How the number of the next key is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pattern {
    /// `R`: uniform random.
    #[default]
    Uniform,
    /// `G`: a normal distribution.
    Gaussian,
    /// `S`: each client counts through the whole range.
    Sequential,
    /// `P`: the clients share the range, each counts through its part.
    Parallel,
    /// `Z`: Zipf.
    Zipfian,
}

impl Pattern {
    /// From its letter.
    pub fn from_letter(letter: &str) -> Option<Self> {
        Some(match letter {
            "R" => Self::Uniform,
            "G" => Self::Gaussian,
            "S" => Self::Sequential,
            "P" => Self::Parallel,
            "Z" => Self::Zipfian,
            _ => return None,
        })
    }

    /// Its letter.
    pub fn letter(self) -> char {
        match self {
            Self::Uniform => 'R',
            Self::Gaussian => 'G',
            Self::Sequential => 'S',
            Self::Parallel => 'P',
            Self::Zipfian => 'Z',
        }
    }
}

/// A decimal number without sign, as all counts are written.
pub fn count(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Two numbers around a separator, `1:10` say.
pub fn pair(text: &str, separator: char) -> Option<(u64, u64)> {
    let (left, right) = text.split_once(separator)?;
    Some((count(left)?, count(right)?))
}

/// A range `least-most` whose end is not before its start.
pub fn range(text: &str) -> Option<(u64, u64)> {
    pair(text, '-').filter(|(least, most)| least <= most)
}

/// Two key patterns around a colon; only both may be `P`.
pub fn patterns(text: &str) -> Option<(Pattern, Pattern)> {
    let (set, get) = text.split_once(':')?;
    let (set, get) = (Pattern::from_letter(set)?, Pattern::from_letter(get)?);
    ((set == Pattern::Parallel) == (get == Pattern::Parallel)).then_some((set, get))
}

/// Sizes with weights, `size:weight,size:weight`; at least one weight is not zero.
pub fn weighted_sizes(text: &str) -> Option<Vec<(u64, u64)>> {
    let sizes: Vec<(u64, u64)> =
        text.split(',').map(|item| pair(item, ':')).collect::<Option<_>>()?;
    let good = sizes.len() <= MAX_SIZES
        && sizes.iter().all(|(bytes, _)| (1..=MAX_VALUE_BYTES).contains(bytes))
        && sizes.iter().any(|(_, weight)| *weight > 0)
        && sizes.iter().all(|(_, weight)| *weight <= u64::from(u32::MAX));
    good.then_some(sizes)
}

/// Percentiles above 0 and up to 100, between commas.
pub fn percentiles(text: &str) -> Option<Vec<f64>> {
    let wanted: Vec<f64> =
        text.split(',').map(|item| item.trim().parse().ok()).collect::<Option<_>>()?;
    let good = wanted.len() <= MAX_PERCENTILES
        && wanted.iter().all(|percentile| *percentile > 0.0 && *percentile <= 100.0);
    good.then_some(wanted)
}

/// Ascending positive bounds in seconds, between commas.
pub fn bounds(text: &str) -> Option<Vec<f64>> {
    let bounds: Vec<f64> =
        text.split(',').map(|item| item.trim().parse().ok()).collect::<Option<_>>()?;
    let good = bounds.len() <= MAX_PERCENTILES
        && bounds.iter().all(|bound| bound.is_finite() && *bound > 0.0)
        && bounds.windows(2).all(|two| two[0] < two[1]);
    good.then_some(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_ranges() {
        assert_eq!(pair("1:10", ':'), Some((1, 10)));
        assert_eq!(range("8-24"), Some((8, 24)));
        for wrong in ["", "1", "1-", "-1", "a-b", "9-8", "1-2-3", "+1-2", "1 - 2"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn parallel_keys_are_parallel_on_both_sides() {
        assert_eq!(patterns("R:Z"), Some((Pattern::Uniform, Pattern::Zipfian)));
        assert_eq!(patterns("P:P"), Some((Pattern::Parallel, Pattern::Parallel)));
        for wrong in ["P:R", "S:P", "R", "R:", "X:R", "r:r"] {
            assert_eq!(patterns(wrong), None, "{wrong}");
        }
        for letter in ["R", "G", "S", "P", "Z"] {
            assert_eq!(Pattern::from_letter(letter).unwrap().letter().to_string(), letter);
        }
    }

    #[test]
    fn lists() {
        assert_eq!(weighted_sizes("8:1,16:0"), Some(vec![(8, 1), (16, 0)]));
        assert_eq!(percentiles("50,99.9"), Some(vec![50.0, 99.9]));
        assert_eq!(bounds("0.1,1"), Some(vec![0.1, 1.0]));
        for wrong in ["", "8", "8:0", "0:1", "8:1,", "999999999999:1"] {
            assert_eq!(weighted_sizes(wrong), None, "{wrong}");
        }
        for wrong in ["", "0", "101", "50,,99", "nan"] {
            assert_eq!(percentiles(wrong), None, "{wrong}");
        }
        for wrong in ["", "1,1", "2,1", "0", "inf"] {
            assert_eq!(bounds(wrong), None, "{wrong}");
        }
    }
}
