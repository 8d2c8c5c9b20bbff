//! Ranges of a sorted set as commands name them (by index, score or name), and how they become
//! ranges of ranks.

use std::ops::Range;

/// A range of scores, each end included or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRange {
    /// Lower end.
    pub min: f64,
    /// Whether `min` itself is out of the range.
    pub min_exclusive: bool,
    /// Upper end.
    pub max: f64,
    /// Whether `max` itself is out of the range.
    pub max_exclusive: bool,
}

impl ScoreRange {
    /// All scores.
    pub const ALL: Self = Self {
        min: f64::NEG_INFINITY,
        min_exclusive: false,
        max: f64::INFINITY,
        max_exclusive: false,
    };

    /// Reads the two ends as `ZRANGEBYSCORE` takes them (`1.5`, `(1.5`, `-inf`). `None` is Redis's
    /// "min or max is not a float".
    pub fn parse(min: &[u8], max: &[u8]) -> Option<Self> {
        let (min, min_exclusive) = text::float::parse_bound(min)?;
        let (max, max_exclusive) = text::float::parse_bound(max)?;
        Some(Self { min, min_exclusive, max, max_exclusive })
    }

    /// Whether `score` lies below the lower end.
    pub fn starts_after(&self, score: f64) -> bool {
        score < self.min || (self.min_exclusive && score == self.min)
    }

    /// Whether `score` does not lie above the upper end.
    pub fn ends_after(&self, score: f64) -> bool {
        score < self.max || (!self.max_exclusive && score == self.max)
    }
}

/// One end of a range of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexBound<'a> {
    /// `-`: before every name.
    Least,
    /// `+`: after every name.
    Greatest,
    /// `[name`
    Included(&'a [u8]),
    /// `(name`
    Excluded(&'a [u8]),
}

impl<'a> LexBound<'a> {
    /// Reads one end as `ZRANGEBYLEX` takes it. `None` is Redis's "min or max not valid string
    /// range item".
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        match text {
            b"-" => Some(Self::Least),
            b"+" => Some(Self::Greatest),
            [b'[', name @ ..] => Some(Self::Included(name)),
            [b'(', name @ ..] => Some(Self::Excluded(name)),
            _ => None,
        }
    }
}

/// A range of names, meaningful where all scores are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexRange<'a> {
    /// Lower end.
    pub min: LexBound<'a>,
    /// Upper end.
    pub max: LexBound<'a>,
}

impl<'a> LexRange<'a> {
    /// Reads the two ends as `ZRANGEBYLEX` takes them; see [`LexBound::parse`].
    pub fn parse(min: &'a [u8], max: &'a [u8]) -> Option<Self> {
        Some(Self { min: LexBound::parse(min)?, max: LexBound::parse(max)? })
    }

    /// Whether `name` lies below the lower end.
    pub fn starts_after(&self, name: &[u8]) -> bool {
        match self.min {
            LexBound::Least => false,
            LexBound::Greatest => true,
            LexBound::Included(min) => name < min,
            LexBound::Excluded(min) => name <= min,
        }
    }

    /// Whether `name` does not lie above the upper end.
    pub fn ends_after(&self, name: &[u8]) -> bool {
        match self.max {
            LexBound::Least => false,
            LexBound::Greatest => true,
            LexBound::Included(max) => name <= max,
            LexBound::Excluded(max) => name < max,
        }
    }
}

/// The ranks from index `start` to index `stop`, both included and counted from the end when
/// negative, in a set of `len` members; with `reverse`, index 0 is the greatest member. As `ZRANGE
/// key start stop [REV]`.
pub fn ranks_of_indexes(start: i64, stop: i64, len: usize, reverse: bool) -> Range<usize> {
    let size = i64::try_from(len).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { index.saturating_add(size) } else { index };
    let (start, stop) = (from_end(start).max(0), from_end(stop).min(size - 1));
    if start > stop {
        return 0..0;
    }
    let (start, end) = (start as usize, stop as usize + 1);
    if reverse { len - end..len - start } else { start..end }
}

/// What `LIMIT offset count` leaves of `ranks`; the offset counts from the upper end with
/// `reverse`. `count` is `None` for all (Redis: any negative count). A negative offset leaves
/// nothing, which is the caller's to say.
pub fn limit_ranks(
    ranks: Range<usize>,
    reverse: bool,
    offset: usize,
    count: Option<usize>,
) -> Range<usize> {
    let kept = ranks.len().saturating_sub(offset).min(count.unwrap_or(usize::MAX));
    if kept == 0 {
        return ranks.start..ranks.start;
    }
    if reverse {
        let end = ranks.end - offset;
        end - kept..end
    } else {
        let start = ranks.start + offset;
        start..start + kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_count_from_either_end() {
        assert_eq!(ranks_of_indexes(0, -1, 5, false), 0..5);
        assert_eq!(ranks_of_indexes(-2, -1, 5, false), 3..5);
        assert_eq!(ranks_of_indexes(0, 0, 5, true), 4..5);
        assert_eq!(ranks_of_indexes(-100, 100, 5, true), 0..5);
        assert!(ranks_of_indexes(3, 2, 5, false).is_empty());
        assert!(ranks_of_indexes(5, 9, 5, false).is_empty());
        assert!(ranks_of_indexes(0, -1, 0, false).is_empty());
        assert!(ranks_of_indexes(i64::MIN, i64::MIN, 5, true).is_empty());
    }

    #[test]
    fn a_limit_counts_in_the_direction_of_travel() {
        assert_eq!(limit_ranks(2..10, false, 1, Some(3)), 3..6);
        assert_eq!(limit_ranks(2..10, true, 1, Some(3)), 6..9);
        assert_eq!(limit_ranks(2..10, true, 0, None), 2..10);
        assert!(limit_ranks(2..10, false, 8, None).is_empty());
        assert!(limit_ranks(2..10, true, usize::MAX, Some(1)).is_empty());
    }

    #[test]
    fn ends_of_name_ranges_are_read_as_redis_does() {
        assert_eq!(LexBound::parse(b"[a"), Some(LexBound::Included(b"a")));
        assert_eq!(LexBound::parse(b"("), Some(LexBound::Excluded(b"")));
        for refused in [&b""[..], b"a", b"-a", b"++", b"5"] {
            assert_eq!(LexBound::parse(refused), None);
        }
    }

    #[test]
    fn score_ends_are_included_unless_told() {
        let range = ScoreRange::parse(b"(1", b"inf").expect("a range");
        assert!(range.starts_after(1.0) && !range.starts_after(1.5));
        assert!(range.ends_after(f64::INFINITY));
        assert_eq!(ScoreRange::parse(b"x", b"1"), None);
    }
}
