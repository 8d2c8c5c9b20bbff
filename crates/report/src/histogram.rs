//! Latency histogram: nanoseconds in, three significant figures, exact count, mean, minimum and maximum.
//!
//! A layer over the `hdrhistogram` crate that never loses a sample: what lies above [`HIGHEST_NS`] is counted in the
//! highest bucket and in [`Histogram::above_limit`], and the exact extremes are kept beside the buckets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{
    Deserializer as HdrReader, Serializer as _, V2DeflateSerializer,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Highest latency that has a bucket of its own: one hour.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Significant decimal figures: a value read back is within 0.1 % of the one recorded.
pub const SIGNIFICANT_FIGURES: u8 = 3;

/// Longest encoded histogram that is read back, in bytes of base64 text.
const ENCODED_LIMIT_BYTES: usize = 4 << 20;

/// A latency distribution in nanoseconds.
#[derive(Debug, Clone)]
pub struct Histogram {
    buckets: Hdr<u64>,
    sum_ns: f64,
    min_ns: u64,
    max_ns: u64,
    above_limit: u64,
}

/// A stretch of latencies and how many samples fell into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Largest latency that falls into this bucket.
    pub highest_ns: u64,
    /// Samples in it.
    pub count: u64,
}

impl Histogram {
    /// An empty histogram; it allocates as it grows.
    pub fn new() -> Self {
        let mut buckets = Hdr::new(SIGNIFICANT_FIGURES).expect("three figures are allowed");
        buckets.auto(true);
        Self { buckets, sum_ns: 0.0, min_ns: u64::MAX, max_ns: 0, above_limit: 0 }
    }

    /// An empty histogram of one significant figure, for keeping very many of them: count, mean and extremes are exact as
    /// ever, percentiles within 10 %.
    pub fn coarse() -> Self {
        let mut buckets = Hdr::new(1).expect("one figure is allowed");
        buckets.auto(true);
        Self { buckets, ..Self::new() }
    }

    /// Records `count` samples of one latency.
    pub fn record(&mut self, latency_ns: u64, count: u64) {
        self.record_bucket(latency_ns, count);
        self.record_summary(count, latency_ns as f64 * count as f64, latency_ns, latency_ns);
    }

    /// Records `count` samples into the bucket of `latency_ns` alone: for a recorder that keeps exact sum and extremes
    /// itself, and hands them over with [`Histogram::record_summary`].
    pub fn record_bucket(&mut self, latency_ns: u64, count: u64) {
        if latency_ns > HIGHEST_NS {
            self.above_limit += count;
        }
        self.buckets
            .record_n(latency_ns.min(HIGHEST_NS), count)
            .expect("an auto-resizing histogram takes any value up to the limit");
    }

    /// Takes over the exact sum and extremes of `count` samples that went in by [`Histogram::record_bucket`].
    pub fn record_summary(&mut self, count: u64, sum_ns: f64, min_ns: u64, max_ns: u64) {
        if count > 0 {
            self.sum_ns += sum_ns;
            self.min_ns = self.min_ns.min(min_ns);
            self.max_ns = self.max_ns.max(max_ns);
        }
    }

    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.buckets
            .add(&other.buckets)
            .expect("an auto-resizing histogram takes another of its kind");
        self.above_limit += other.above_limit;
        self.record_summary(other.count(), other.sum_ns, other.min_ns, other.max_ns);
    }

    /// Samples.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// True without samples.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Exact mean; 0 without samples.
    pub fn mean_ns(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.sum_ns / self.count() as f64 }
    }

    /// Exact minimum; 0 without samples.
    pub fn min_ns(&self) -> u64 {
        if self.is_empty() { 0 } else { self.min_ns }
    }

    /// Exact maximum; 0 without samples.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Samples above [`HIGHEST_NS`]; they are in the count, the mean and the maximum.
    pub fn above_limit(&self) -> u64 {
        self.above_limit
    }

    /// The latency that `percentile` (0..=100) per cent of the samples do not exceed, within 0.1 % and never outside
    /// the exact extremes; 0 without samples.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.exact_at_ends(self.buckets.value_at_percentile(percentile))
    }

    /// The occupied buckets in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.buckets.iter_recorded().map(|step| Bucket {
            highest_ns: self
                .exact_at_ends(self.buckets.highest_equivalent(step.value_iterated_to())),
            count: step.count_at_value(),
        })
    }

    /// The buckets in the field's exchange format: HDR V2, deflated, base64 (`HISTFAAAA…`). Any HdrHistogram tool reads it.
    pub fn to_hdr_base64(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.buckets, &mut bytes)
            .expect("a Vec takes all that is written to it");
        STANDARD.encode(&bytes)
    }

    /// As [`Histogram::to_hdr_base64`], but in microseconds: what readers of other tools' histograms expect.
    pub fn to_hdr_base64_us(&self) -> String {
        let mut micros = Self::new();
        for bucket in self.buckets() {
            micros.record_bucket(bucket.highest_ns / 1_000, bucket.count);
        }
        micros.to_hdr_base64()
    }

    /// A bucket's value, kept within the exact extremes: its nominal upper end may lie beyond the largest sample.
    fn exact_at_ends(&self, latency_ns: u64) -> u64 {
        if self.above_limit > 0 && latency_ns >= self.buckets.lowest_equivalent(HIGHEST_NS) {
            return self.max_ns;
        }
        latency_ns.clamp(self.min_ns.min(self.max_ns), self.max_ns)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.buckets == other.buckets
            && self.min_ns == other.min_ns
            && self.max_ns == other.max_ns
            && self.above_limit == other.above_limit
            && (self.mean_ns() - other.mean_ns()).abs() <= self.mean_ns() * 1e-9
    }
}

/// A histogram in JSON: exact figures, the usual percentiles for readers without an HDR library, and the buckets.
#[derive(Serialize, Deserialize)]
struct Encoded {
    count: u64,
    mean_ns: f64,
    min_ns: u64,
    p50_ns: u64,
    p95_ns: u64,
    p99_ns: u64,
    p99_9_ns: u64,
    max_ns: u64,
    above_limit: u64,
    hdr_v2_base64: String,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Encoded {
            count: self.count(),
            mean_ns: self.mean_ns(),
            min_ns: self.min_ns(),
            p50_ns: self.percentile_ns(50.0),
            p95_ns: self.percentile_ns(95.0),
            p99_ns: self.percentile_ns(99.0),
            p99_9_ns: self.percentile_ns(99.9),
            max_ns: self.max_ns(),
            above_limit: self.above_limit,
            hdr_v2_base64: self.to_hdr_base64(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let encoded = Encoded::deserialize(deserializer)?;
        if encoded.hdr_v2_base64.len() > ENCODED_LIMIT_BYTES {
            return Err(D::Error::custom("histogram: encoded text too long"));
        }
        let bytes = STANDARD
            .decode(&encoded.hdr_v2_base64)
            .map_err(|error| D::Error::custom(format!("histogram: {error}")))?;
        let read: Hdr<u64> = HdrReader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| D::Error::custom(format!("histogram: {error}")))?;
        if read.len() != encoded.count {
            return Err(D::Error::custom("histogram: count differs from its buckets"));
        }
        let mut histogram = Histogram::new();
        histogram
            .buckets
            .add(&read)
            .map_err(|error| D::Error::custom(format!("histogram: {error}")))?;
        histogram.above_limit = encoded.above_limit;
        histogram.record_summary(
            encoded.count,
            encoded.mean_ns * encoded.count as f64,
            encoded.min_ns,
            encoded.max_ns,
        );
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn within_a_thousandth(read_ns: u64, true_ns: u64) -> bool {
        read_ns.abs_diff(true_ns) as f64 <= true_ns as f64 * 0.001
    }

    #[test]
    fn known_delays_read_back_within_a_thousandth() {
        // 5 µs, 50 µs, 1 ms, 15 ms, 50 ms, 1 s, 5 s and 60 s, with an odd rest so that no bucket edge is hit.
        for delay_ns in [
            5_003,
            50_017,
            1_000_033,
            15_000_101,
            50_000_777,
            1_000_003_333,
            5_000_012_345,
            60_000_001_111,
        ] {
            let mut histogram = Histogram::new();
            histogram.record(delay_ns, 3);
            histogram.record(delay_ns * 2, 1);
            assert!(within_a_thousandth(histogram.percentile_ns(50.0), delay_ns), "{delay_ns}");
            assert_eq!(histogram.min_ns(), delay_ns);
            assert_eq!(histogram.max_ns(), delay_ns * 2);
            assert_eq!(histogram.mean_ns(), delay_ns as f64 * 5.0 / 4.0);
        }
    }

    #[test]
    fn samples_above_the_limit_are_counted_and_keep_their_maximum() {
        let mut histogram = Histogram::new();
        histogram.record(1_000, 9);
        histogram.record(HIGHEST_NS * 3, 1);
        assert_eq!(histogram.count(), 10);
        assert_eq!(histogram.above_limit(), 1);
        assert_eq!(histogram.max_ns(), HIGHEST_NS * 3);
        assert_eq!(histogram.percentile_ns(100.0), HIGHEST_NS * 3);
        assert_eq!(histogram.buckets().map(|bucket| bucket.count).sum::<u64>(), 10);
    }

    #[test]
    fn an_empty_histogram_reads_as_zero() {
        let histogram = Histogram::new();
        assert_eq!((histogram.min_ns(), histogram.max_ns(), histogram.mean_ns()), (0, 0, 0.0));
        assert_eq!(histogram.percentile_ns(99.0), 0);
        assert_eq!(histogram.buckets().count(), 0);
        let text = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
    }

    #[test]
    fn a_damaged_encoding_is_refused() {
        let mut histogram = Histogram::new();
        histogram.record(5, 1);
        let good = serde_json::to_value(&histogram).unwrap();
        for (field, value) in
            [("hdr_v2_base64", serde_json::json!("HISTFAAA")), ("count", serde_json::json!(2))]
        {
            let mut bad = good.clone();
            bad[field] = value;
            assert!(serde_json::from_value::<Histogram>(bad).is_err(), "{field}");
        }
    }

    #[test]
    fn the_encoding_is_the_field_s_own() {
        assert!(Histogram::new().to_hdr_base64().starts_with("HISTFAAAA"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn percentiles_merge_and_json_agree_with_a_sorted_list(
            left in prop::collection::vec(1u64..100_000_000_000, 1..200),
            right in prop::collection::vec(1u64..100_000_000_000, 1..200),
            percentile in 0.0f64..=100.0,
        ) {
            let mut merged = Histogram::new();
            let mut other = Histogram::new();
            left.iter().for_each(|value| merged.record(*value, 1));
            right.iter().for_each(|value| other.record(*value, 1));
            merged.merge(&other);
            let mut all: Vec<u64> = left.iter().chain(&right).copied().collect();
            all.sort_unstable();
            // The rank of the nearest-rank definition; one to either side allows for rounding of the rank itself.
            let rank = ((percentile / 100.0 * all.len() as f64).ceil() as usize).clamp(1, all.len()) - 1;
            let near = &all[rank.saturating_sub(1)..(rank + 2).min(all.len())];
            let read = merged.percentile_ns(percentile);
            prop_assert!(near.iter().any(|value| within_a_thousandth(read, *value)), "{} not near {:?}", read, near);
            prop_assert_eq!(merged.count(), all.len() as u64);
            prop_assert_eq!(merged.max_ns(), *all.last().unwrap());
            let text = serde_json::to_string(&merged).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), merged);
        }
    }
}
