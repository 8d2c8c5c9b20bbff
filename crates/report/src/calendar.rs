//! Wall-clock moments as dates in UTC: for headings, and for file names that sort by time.

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// A moment in UTC, in the proleptic Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Utc {
    /// The moment so many milliseconds after 1970 began.
    pub fn from_unix_ms(unix_ms: u64) -> Self {
        let (mut day, ms) = (unix_ms / DAY_MS, unix_ms % DAY_MS);
        let mut year = 1970;
        while day >= days_of_year(year) {
            day -= days_of_year(year);
            year += 1;
        }
        let mut month = 1;
        while day >= days_of_month(year, month) {
            day -= days_of_month(year, month);
            month += 1;
        }
        let second = ms / 1000;
        Self {
            year,
            month,
            day: day + 1,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
        }
    }

    /// `2026-11-21 20:49:15 UTC`.
    pub fn sentence(self) -> String {
        let Self { year, month, day, hour, minute, second } = self;
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }

    /// `20261121T204915Z`: the basic format of ISO 8601, which any file system takes.
    pub fn file_stem(self) -> String {
        let Self { year, month, day, hour, minute, second } = self;
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u64) -> u64 {
    365 + u64::from(is_leap(year))
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_have_their_dates() {
        for (unix_ms, sentence) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399_999, "2000-02-28 23:59:59 UTC"),
            (951_782_400_000, "2000-02-29 00:00:00 UTC"),
            (1_795_294_155_000, "2026-11-21 20:49:15 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(Utc::from_unix_ms(unix_ms).sentence(), sentence);
        }
        assert_eq!(Utc::from_unix_ms(1_795_294_155_000).file_stem(), "20261121T204915Z");
    }
}
