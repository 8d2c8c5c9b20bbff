//! What only the system's C interface tells: the local time, and the processor time used.

use std::mem::MaybeUninit;
use std::time::Duration;

/// A time of day and a date in the local time zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocalTime {
    /// Year of the common era.
    pub year: i32,
    /// Month from 0.
    pub month: i32,
    /// Day of the month from 1.
    pub day: i32,
    /// Hour from 0.
    pub hour: i32,
    /// Minute from 0.
    pub minute: i32,
    /// Second from 0.
    pub second: i32,
}

/// The local time of a Unix time in seconds; the zone is the system's or `TZ`'s.
pub fn local_time(unix_seconds: i64) -> LocalTime {
    let mut parts = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are valid for the call; the zeroed result is a valid `tm` even where
    // the call fails and writes nothing.
    let parts = unsafe {
        libc::localtime_r(&unix_seconds, parts.as_mut_ptr());
        parts.assume_init()
    };
    LocalTime {
        year: parts.tm_year + 1900,
        month: parts.tm_mon,
        day: parts.tm_mday,
        hour: parts.tm_hour,
        minute: parts.tm_min,
        second: parts.tm_sec,
    }
}

/// Whose processor time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// All threads of this process.
    Process,
    /// Children that ended.
    Children,
}

/// Processor time in user mode and in the kernel.
pub fn cpu_times(whose: Whose) -> (Duration, Duration) {
    let who = match whose {
        Whose::Process => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for the call; the zeroed result is a valid `rusage` even where
    // the call fails and writes nothing.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    (duration(usage.ru_utime), duration(usage.ru_stime))
}

#[cfg(test)]
mod tests {
    use super::{Whose, cpu_times, local_time};

    #[test]
    fn local_time_lies_within_a_day_of_utc() {
        let noon = local_time(1_700_049_600);
        assert_eq!((noon.year, noon.month), (2023, 10));
        assert!((14..=16).contains(&noon.day), "{noon:?}");
    }

    #[test]
    fn cpu_time_grows() {
        let (user, _) = cpu_times(Whose::Process);
        let mut number = 1_u64;
        while cpu_times(Whose::Process).0 == user {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
        assert!(cpu_times(Whose::Process).0 > user);
    }
}
