//! When requests are due: an open loop of constant rate on one clock for the whole run.
//!
//! Request `i` is due at start + `i`/rate whatever happened before it, so a stall of the server makes the requests behind
//! it late instead of making them vanish. Connections take turns by index; nothing is sent in bursts by window.

/// Binary digits after the point of a period in nanoseconds: a billion requests in, due times are off by 0.2 ns.
const FRACTION_BITS: u32 = 32;

/// Due times of a constant-rate open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    start_ns: u64,
    /// Time between two units over all connections, in 2^-32 ns.
    period: u128,
    connections: u64,
}

impl Schedule {
    /// A schedule of `rate_rps` requests a second (above 0) from `start_ns` on, in units of `unit_requests` that are
    /// sent, and due, together, over `connections` that take turns.
    pub fn new(start_ns: u64, rate_rps: f64, unit_requests: u64, connections: u64) -> Self {
        let period_ns = 1e9 * unit_requests as f64 / rate_rps;
        let period = (period_ns * (1u64 << FRACTION_BITS) as f64).round() as u128;
        Self { start_ns, period: period.max(1), connections }
    }

    /// When unit `unit` of the whole run is due.
    pub fn due_ns(&self, unit: u64) -> u64 {
        self.start_ns + ((u128::from(unit) * self.period) >> FRACTION_BITS) as u64
    }

    /// When the `turn`-th unit of connection `index` is due.
    pub fn connection_due_ns(&self, index: u64, turn: u64) -> u64 {
        self.due_ns(index + turn * self.connections)
    }

    /// How many units of connection `index` are due at or before `now_ns`, counted from its first.
    pub fn connection_units_due(&self, index: u64, now_ns: u64) -> u64 {
        let first_ns = self.due_ns(index);
        if now_ns < first_ns {
            return 0;
        }
        let elapsed = u128::from(now_ns - first_ns) << FRACTION_BITS;
        (elapsed / (self.period * u128::from(self.connections))) as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_keep_the_rate_to_the_nanosecond_and_their_spacing_even() {
        for rate in [1.0, 10.0, 49.0, 50.0, 51.0, 99.0, 147.0, 149.0, 1_000.0, 1e6, 0.5] {
            let schedule = Schedule::new(1_000, rate, 1, 50);
            let units = (rate * 1_000.0) as u64;
            let expected_ns = 1_000.0 + units as f64 * 1e9 / rate;
            assert!((schedule.due_ns(units) as f64 - expected_ns).abs() <= 2.0, "{rate}");
            let gaps = (0..1_000).map(|unit| schedule.due_ns(unit + 1) - schedule.due_ns(unit));
            let (least, most) =
                gaps.fold((u64::MAX, 0), |(least, most), gap| (least.min(gap), most.max(gap)));
            assert!(most - least <= 1, "{rate}: {least}..{most}");
        }
    }

    #[test]
    fn a_rate_for_each_connection_is_kept_by_each_and_they_do_not_send_together() {
        let connections = 200;
        for rate in [1.0, 10.0, 49.0, 50.0, 51.0, 99.0, 147.0, 149.0, 1_000.0] {
            let schedule = Schedule::new(0, rate * connections as f64, 1, connections);
            for index in [0, 1, 117, 199] {
                let in_ten_seconds = schedule.connection_units_due(index, 10_000_000_000 - 1);
                let error = (in_ten_seconds as f64 - rate * 10.0).abs();
                assert!(error <= 1.0, "{rate}, connection {index}: {in_ten_seconds}");
                let gaps = (0..100).map(|turn| {
                    schedule.connection_due_ns(index, turn + 1)
                        - schedule.connection_due_ns(index, turn)
                });
                let exact_ns = 1e9 / rate;
                assert!(gaps.into_iter().all(|gap| (gap as f64 - exact_ns).abs() <= 2.0), "{rate}");
            }
            let apart_ns = schedule.connection_due_ns(1, 0) - schedule.connection_due_ns(0, 0);
            assert!(apart_ns > 0, "{rate}");
        }
    }

    #[test]
    fn connections_take_turns() {
        let schedule = Schedule::new(0, 1_000.0, 1, 4);
        assert_eq!(schedule.connection_due_ns(1, 2), schedule.due_ns(9));
        assert_eq!(schedule.connection_units_due(1, 999_999), 0);
        assert_eq!(schedule.connection_units_due(1, 1_000_000), 1);
        assert_eq!(schedule.connection_units_due(1, 9_000_000), 3);
    }

    #[test]
    fn a_unit_of_several_requests_keeps_the_rate_of_requests() {
        let schedule = Schedule::new(0, 1_000.0, 16, 1);
        assert_eq!(schedule.due_ns(1), 16_000_000);
    }
}
