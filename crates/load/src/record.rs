//! What a worker writes down: latencies by command, errors by class, hits and misses, and the second they fell into.
//!
//! Recording one latency is an index and an addition; once a second the counts move into the histograms of the step and
//! into the shared series. A worker owns its recorder, so nothing is shared on the way of a request.

use std::collections::BTreeMap;
use std::sync::Mutex;

use report::histogram::{HIGHEST_NS, Histogram};
use report::model::{CommandPoint, CommandResult, SeriesPoint};

use crate::plan::Plan;

/// One second in the clock's unit.
const SECOND_NS: u64 = 1_000_000_000;
/// Error classes told apart for each command; further ones are counted as [`OTHER_CLASS`].
const MAX_CLASSES: usize = 64;
/// Longest class name; a longer first word is no code.
const MAX_CLASS_BYTES: usize = 32;
/// Class of errors without a code word, and of those past [`MAX_CLASSES`].
pub const OTHER_CLASS: &str = "OTHER";

/// Latencies below this have a bucket each; above, each doubling has half as many buckets. These are the buckets of an HDR
/// histogram of three figures, so nothing is lost when counts move into one.
const LINEAR: u64 = 2048;
const HALF: usize = LINEAR as usize / 2;
/// The bucket of what lies beyond the highest latency; its samples keep their exact sum and maximum.
const BEYOND: usize = bucket_of(HIGHEST_NS) + 1;

/// Counts of latencies since they last moved into a histogram.
#[derive(Debug, Clone)]
struct Tally {
    counts: Vec<u32>,
    lowest: usize,
    highest: usize,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Tally {
    fn new() -> Self {
        Self {
            counts: Vec::new(),
            lowest: usize::MAX,
            highest: 0,
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    fn record(&mut self, latency_ns: u64, count: u32) {
        let bucket = if latency_ns > HIGHEST_NS { BEYOND } else { bucket_of(latency_ns) };
        if bucket >= self.counts.len() {
            // Once: commands of a mix that are never drawn cost no memory.
            self.counts.resize(BEYOND + 1, 0);
        }
        self.counts[bucket] += count;
        self.lowest = self.lowest.min(bucket);
        self.highest = self.highest.max(bucket);
        self.count += u64::from(count);
        self.sum_ns += u128::from(latency_ns) * u128::from(count);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Moves everything into the histograms, and leaves this empty.
    fn move_into(&mut self, histograms: &mut [&mut Histogram]) {
        if self.count == 0 {
            return;
        }
        for bucket in self.lowest..=self.highest {
            let count = u64::from(std::mem::take(&mut self.counts[bucket]));
            if count > 0 {
                let latency_ns = if bucket == BEYOND { HIGHEST_NS + 1 } else { latency_of(bucket) };
                for histogram in histograms.iter_mut() {
                    histogram.record_bucket(latency_ns, count);
                }
            }
        }
        for histogram in histograms.iter_mut() {
            histogram.record_summary(self.count, self.sum_ns as f64, self.min_ns, self.max_ns);
        }
        self.lowest = usize::MAX;
        self.highest = 0;
        self.count = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }
}

const fn bucket_of(latency_ns: u64) -> usize {
    let shift = (latency_ns | (LINEAR - 1)).ilog2() - (LINEAR.ilog2() - 1);
    shift as usize * HALF + (latency_ns >> shift) as usize
}

/// The lowest latency of a bucket.
fn latency_of(bucket: usize) -> u64 {
    let shift = (bucket / HALF).saturating_sub(1);
    ((bucket - shift * HALF) as u64) << shift
}

/// What one worker saw.
#[derive(Debug)]
pub struct Recorder {
    commands: Vec<CommandRecord>,
    open_loop: bool,
    start_ns: u64,
    second: u32,
    second_end_ns: u64,
    second_errors: u64,
    second_connection_errors: u64,
    connection_errors: u64,
    /// Each second is kept here too: the recorder is that of a single connection.
    keeps_seconds: bool,
    requests: u64,
    errors: u64,
    latency_ns: u128,
    last_reply_ns: u64,
}

#[derive(Debug)]
struct CommandRecord {
    service: Tally,
    response: Tally,
    result: CommandResult,
    /// What the result held when the last second was handed over.
    handed: CommandPoint,
}

impl CommandRecord {
    /// The counts, without latencies, since the last call.
    fn take_counts(&mut self, second: u32) -> CommandPoint {
        let result = &self.result;
        let of_class = |class: &str| result.errors.get(class).copied().unwrap_or(0);
        let now = CommandPoint {
            second,
            errors: result.error_count(),
            moved: of_class("MOVED"),
            ask: of_class("ASK"),
            hits: result.hits,
            misses: result.misses,
            bytes_in: result.bytes_in,
            bytes_out: result.bytes_out,
            latencies: Histogram::coarse(),
        };
        let before = std::mem::replace(&mut self.handed, now);
        let now = &self.handed;
        CommandPoint {
            second,
            errors: now.errors - before.errors,
            moved: now.moved - before.moved,
            ask: now.ask - before.ask,
            hits: now.hits - before.hits,
            misses: now.misses - before.misses,
            bytes_in: now.bytes_in - before.bytes_in,
            bytes_out: now.bytes_out - before.bytes_out,
            latencies: before.latencies,
        }
    }
}

impl Recorder {
    /// An empty recorder for commands with these labels. In an open loop response times are kept apart from service
    /// times; in a closed loop they are the same by definition.
    pub fn new(labels: &[String], open_loop: bool) -> Self {
        let commands = labels
            .iter()
            .map(|label| CommandRecord {
                service: Tally::new(),
                response: Tally::new(),
                result: CommandResult::new(label),
                handed: CommandPoint { latencies: Histogram::coarse(), ..CommandPoint::default() },
            })
            .collect();
        Self {
            commands,
            open_loop,
            start_ns: u64::MAX,
            second: 0,
            second_end_ns: u64::MAX,
            second_errors: 0,
            second_connection_errors: 0,
            connection_errors: 0,
            keeps_seconds: false,
            requests: 0,
            errors: 0,
            latency_ns: 0,
            last_reply_ns: 0,
        }
    }

    /// The same for a single connection: its seconds are in its results, beside being in the series.
    pub fn keep_seconds(mut self) -> Self {
        self.keeps_seconds = true;
        self
    }

    /// Counts a connection that was lost, or could not be made.
    pub fn connection_error(&mut self) {
        self.connection_errors += 1;
        self.second_connection_errors += 1;
    }

    /// Counts requests that have no reply because their connection was lost.
    pub fn lost(&mut self, command: usize, count: u32) {
        self.commands[command].result.lost += u64::from(count);
    }

    /// Connections lost, or not made, so far.
    pub fn connection_errors(&self) -> u64 {
        self.connection_errors
    }

    /// Sets the start of the measured time; requests due earlier are not recorded.
    pub fn start_at(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.second_end_ns = start_ns.saturating_add(SECOND_NS);
    }

    /// True when a request due at `due_ns` counts.
    pub fn measures(&self, due_ns: u64) -> bool {
        due_ns >= self.start_ns
    }

    /// Records `count` successful replies with the same times.
    pub fn record(&mut self, command: usize, due_ns: u64, sent_ns: u64, done_ns: u64, count: u32) {
        let record = &mut self.commands[command];
        let response_ns = done_ns.saturating_sub(due_ns);
        record.service.record(done_ns.saturating_sub(sent_ns), count);
        if self.open_loop {
            record.response.record(response_ns, count);
        }
        self.requests += u64::from(count);
        self.latency_ns += u128::from(response_ns) * u128::from(count);
        self.last_reply_ns = self.last_reply_ns.max(done_ns);
    }

    /// Counts replies of reads that found something, or nothing.
    pub fn found(&mut self, command: usize, hits: u32, misses: u32) {
        let result = &mut self.commands[command].result;
        result.hits += u64::from(hits);
        result.misses += u64::from(misses);
    }

    /// Counts bytes of replies and of requests.
    pub fn bytes(&mut self, command: usize, bytes_in: u64, bytes_out: u64) {
        let result = &mut self.commands[command].result;
        result.bytes_in += bytes_in;
        result.bytes_out += bytes_out;
    }

    /// Counts a value that was, or was not, what it should be.
    pub fn verified(&mut self, command: usize, is_right: bool) {
        let result = &mut self.commands[command].result;
        result.verified += u64::from(is_right);
        result.verify_failed += u64::from(!is_right);
    }

    /// Counts a transaction that was not carried out.
    pub fn aborted(&mut self, command: usize) {
        self.commands[command].result.aborts += 1;
    }

    /// Counts an error reply by its text (without the leading type byte).
    pub fn error(&mut self, command: usize, text: &[u8], done_ns: u64) {
        let errors = &mut self.commands[command].result.errors;
        let mut class = error_class(text);
        if errors.len() >= MAX_CLASSES && !errors.contains_key(class) {
            class = OTHER_CLASS;
        }
        match errors.get_mut(class) {
            Some(count) => *count += 1,
            None => {
                errors.insert(class.to_string(), 1);
            }
        }
        self.requests += 1;
        self.errors += 1;
        self.second_errors += 1;
        self.last_reply_ns = self.last_reply_ns.max(done_ns);
    }

    /// Replies so far, error replies among them, and the sum of the response times of the others.
    pub fn totals(&self) -> (u64, u64, u128) {
        (self.requests, self.errors, self.latency_ns)
    }

    /// When the last recorded reply came; 0 for none.
    pub fn last_reply_ns(&self) -> u64 {
        self.last_reply_ns
    }

    /// True when the second being filled is over.
    pub fn second_is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.second_end_ns
    }

    /// Hands all seconds that are over at `now_ns` to the series.
    pub fn finish_seconds(&mut self, now_ns: u64, series: &Series) {
        while self.second_is_over(now_ns) {
            self.finish_second(series);
            self.second += 1;
            self.second_end_ns += SECOND_NS;
        }
    }

    /// Hands over the second being filled, and gives the results by command.
    pub fn finish(mut self, series: &Series) -> Vec<CommandResult> {
        if self.start_ns != u64::MAX {
            self.finish_second(series);
        }
        self.commands
            .into_iter()
            .map(|mut record| {
                if !self.open_loop {
                    record.result.response = record.result.service.clone();
                }
                record.result.count = record.result.service.count();
                record.result
            })
            .collect()
    }

    fn finish_second(&mut self, series: &Series) {
        let mut state = series.lock();
        let OpenSecond { latencies, commands, errors, connection_errors, workers } =
            state.open.entry(self.second).or_default();
        for (nth, record) in self.commands.iter_mut().enumerate() {
            let wants_counts = self.keeps_seconds || series.by_command;
            let mut counts = wants_counts.then(|| record.take_counts(self.second));
            let CommandRecord { service: sent_to_done, response: due_to_done, result, .. } = record;
            let CommandResult { service, response, series: kept, .. } = result;
            let mut sinks = vec![&mut *latencies];
            if let (true, Some(counts)) = (series.by_command, &counts) {
                if commands.len() <= nth {
                    commands.resize_with(nth + 1, CommandPoint::default);
                }
                commands[nth].second = self.second;
                commands[nth].merge(counts);
                sinks.push(&mut commands[nth].latencies);
            }
            if let Some(counts) = counts.as_mut().filter(|_| self.keeps_seconds) {
                sinks.push(&mut counts.latencies);
            }
            if self.open_loop {
                sent_to_done.move_into(&mut [service]);
                sinks.push(response);
                due_to_done.move_into(&mut sinks);
            } else {
                sinks.push(service);
                sent_to_done.move_into(&mut sinks);
            }
            kept.extend(counts.filter(|point| self.keeps_seconds && !is_empty(point)));
        }
        *errors += std::mem::take(&mut self.second_errors);
        *connection_errors += std::mem::take(&mut self.second_connection_errors);
        *workers += 1;
        state.close_complete(series.workers);
    }
}

/// True for a second in which the command did nothing.
fn is_empty(point: &CommandPoint) -> bool {
    point.latencies.is_empty() && point.errors == 0 && point.bytes_in == 0 && point.bytes_out == 0
}

/// The class of an error: its first word, when that is a code (`ERR`, `MOVED`, `WRONGTYPE`).
pub fn error_class(text: &[u8]) -> &str {
    let word = text.split(|byte| matches!(byte, b' ' | b'\r' | b'\n')).next().unwrap_or_default();
    let is_code = (1..=MAX_CLASS_BYTES).contains(&word.len())
        && word
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    match std::str::from_utf8(word) {
        Ok(class) if is_code => class,
        _ => OTHER_CLASS,
    }
}

/// The seconds of a step, put together from what the workers hand in.
#[derive(Debug)]
pub struct Series {
    workers: u32,
    by_command: bool,
    state: Mutex<SeriesState>,
}

#[derive(Debug, Default)]
struct SeriesState {
    open: BTreeMap<u32, OpenSecond>,
    points: Vec<SeriesPoint>,
    commands: Vec<Vec<CommandPoint>>,
    last_latencies: Histogram,
}

/// A second that not all workers have handed in.
#[derive(Debug, Default)]
struct OpenSecond {
    latencies: Histogram,
    /// By command, where that is kept.
    commands: Vec<CommandPoint>,
    errors: u64,
    connection_errors: u64,
    workers: u32,
}

impl Series {
    /// An empty series that this many workers fill.
    pub fn new(workers: u32) -> Self {
        Self { workers, by_command: false, state: Mutex::default() }
    }

    /// The same, keeping each command's seconds apart if the plan asks for that.
    pub fn of_plan(workers: u32, plan: &Plan) -> Self {
        Self { by_command: plan.detail.command_seconds, ..Self::new(workers) }
    }

    /// The last second that is complete, and its latencies.
    pub fn last_second(&self) -> Option<(SeriesPoint, Histogram)> {
        let state = self.lock();
        Some((*state.points.last()?, state.last_latencies.clone()))
    }

    /// All seconds in order, also those that not all workers handed in; and those of each command, where they are kept.
    pub fn into_points(self) -> (Vec<SeriesPoint>, Vec<Vec<CommandPoint>>) {
        let mut state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (second, open) in std::mem::take(&mut state.open) {
            state.points.push(open.point(second));
            state.keep_commands(open.commands);
        }
        state.points.sort_by_key(|point| point.second);
        state.commands.iter_mut().for_each(|points| points.sort_by_key(|point| point.second));
        (state.points, state.commands)
    }

    /// A worker that panicked leaves whole seconds behind, so a poisoned lock is still good.
    fn lock(&self) -> std::sync::MutexGuard<'_, SeriesState> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl SeriesState {
    fn close_complete(&mut self, workers: u32) {
        while let Some(first) = self.open.first_entry()
            && first.get().workers >= workers
        {
            let (second, complete) = first.remove_entry();
            self.points.push(complete.point(second));
            self.keep_commands(complete.commands);
            self.last_latencies = complete.latencies;
        }
    }
}

impl SeriesState {
    fn keep_commands(&mut self, points: Vec<CommandPoint>) {
        self.commands.resize_with(self.commands.len().max(points.len()), Vec::new);
        for (kept, point) in self.commands.iter_mut().zip(points) {
            if !is_empty(&point) {
                kept.push(point);
            }
        }
    }
}

impl OpenSecond {
    fn point(&self, second: u32) -> SeriesPoint {
        SeriesPoint {
            second,
            count: self.latencies.count(),
            errors: self.errors,
            connection_errors: self.connection_errors,
            mean_ns: self.latencies.mean_ns(),
            p50_ns: self.latencies.percentile_ns(50.0),
            p99_ns: self.latencies.percentile_ns(99.0),
            max_ns: self.latencies.max_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_the_histogram() {
        let mut samples: Vec<u64> = (0..4_200).collect();
        samples.extend((12..42).flat_map(|bit| {
            let power = 1u64 << bit;
            [power - 1, power, power + 1, power + power / 3, power + power / 2 + 7]
        }));
        samples.retain(|latency_ns| *latency_ns <= HIGHEST_NS);
        for latency_ns in samples {
            let lowest = latency_of(bucket_of(latency_ns));
            assert!(
                lowest <= latency_ns && latency_ns - lowest <= latency_ns / 1_000,
                "{latency_ns}"
            );
            let (mut direct, mut moved) = (Histogram::new(), Histogram::new());
            direct.record(latency_ns, 1);
            moved.record_bucket(lowest, 1);
            moved.record_summary(1, latency_ns as f64, latency_ns, latency_ns);
            assert_eq!(direct, moved, "{latency_ns}");
        }
    }

    #[test]
    fn nothing_is_lost_on_the_way_to_the_result() {
        let series = Series::new(1);
        let mut recorder = Recorder::new(&["GET".into(), "SET".into()], true);
        recorder.start_at(1_000);
        assert!(!recorder.measures(999) && recorder.measures(1_000));
        recorder.record(0, 1_000, 5_000, 9_000, 2);
        recorder.record(1, 1_000, 1_000, HIGHEST_NS * 2, 1);
        recorder.found(0, 1, 1);
        recorder.error(0, b"MOVED 1 host", 10_000);
        recorder.finish_seconds(2_500_000_000, &series);
        recorder.record(0, 2_500_000_000, 2_500_000_000, 2_500_001_000, 1);
        assert_eq!(recorder.totals().0, 5);
        let commands = recorder.finish(&series);
        assert_eq!(commands[0].count, 3);
        assert_eq!((commands[0].service.min_ns(), commands[0].service.max_ns()), (1_000, 4_000));
        assert_eq!(commands[0].response.max_ns(), 8_000);
        assert_eq!(commands[0].errors, BTreeMap::from([("MOVED".to_string(), 1)]));
        assert_eq!((commands[0].hits, commands[0].misses), (1, 1));
        assert_eq!(commands[1].response.above_limit(), 1);
        let (points, _) = series.into_points();
        let counts: Vec<(u32, u64, u64)> =
            points.iter().map(|point| (point.second, point.count, point.errors)).collect();
        assert_eq!(counts, [(0, 3, 1), (1, 0, 0), (2, 1, 0)]);
    }

    #[test]
    fn seconds_are_kept_by_command_over_all_recorders_and_by_connection() {
        let mut plan = Plan::default();
        plan.detail.command_seconds = true;
        let series = Series::of_plan(2, &plan);
        let mut results = Vec::new();
        for latency_ns in [1_000, 3_000] {
            let mut recorder = Recorder::new(&["GET".into(), "SET".into()], false).keep_seconds();
            recorder.start_at(0);
            recorder.record(0, 0, 0, latency_ns, 5);
            recorder.found(0, 4, 1);
            recorder.bytes(0, 50, 60);
            recorder.finish_seconds(1_000_000_000, &series);
            recorder.record(0, 1_500_000_000, 1_500_000_000, 1_500_000_700, 1);
            recorder.error(1, b"ASK 1 host", 1_500_000_700);
            recorder.connection_error();
            results.push(recorder.finish(&series));
        }
        let own = &results[1][0].series;
        assert_eq!((own.len(), own[0].latencies.count(), own[0].hits), (2, 5, 4));
        assert_eq!((own[0].bytes_in, own[0].bytes_out, own[1].bytes_in), (50, 60, 0));
        assert_eq!(own[0].latencies.mean_ns(), 3_000.0);

        let (points, commands) = series.into_points();
        assert_eq!((points[0].connection_errors, points[1].connection_errors), (0, 2));
        let gets = &commands[0];
        assert_eq!((gets[0].latencies.count(), gets[0].hits, gets[0].misses), (10, 8, 2));
        assert_eq!((gets[0].latencies.min_ns(), gets[0].latencies.max_ns()), (1_000, 3_000));
        assert_eq!((gets[1].second, gets[1].latencies.count()), (1, 2));
        assert_eq!((commands[1].len(), commands[1][0].ask, commands[1][0].errors), (1, 2, 2));
    }

    #[test]
    fn in_a_closed_loop_response_is_service() {
        let series = Series::new(1);
        let mut recorder = Recorder::new(&["GET".into()], false);
        recorder.start_at(0);
        recorder.record(0, 5, 5, 1_005, 1);
        let commands = recorder.finish(&series);
        assert_eq!(commands[0].service, commands[0].response);
        assert_eq!(commands[0].response.max_ns(), 1_000);
    }

    #[test]
    fn a_second_is_complete_when_every_worker_handed_it_in() {
        let series = Series::new(2);
        let mut workers: Vec<Recorder> =
            (0..2).map(|_| Recorder::new(&["GET".into()], false)).collect();
        for recorder in &mut workers {
            recorder.start_at(0);
            recorder.record(0, 0, 0, 100, 5);
        }
        workers[0].finish_seconds(1_000_000_000, &series);
        assert_eq!(series.last_second(), None);
        workers[1].finish_seconds(1_000_000_000, &series);
        let (point, latencies) = series.last_second().unwrap();
        assert_eq!((point.count, latencies.count()), (10, 10));
    }

    #[test]
    fn classes_are_code_words() {
        for (text, class) in [
            (&b"ERR unknown command"[..], "ERR"),
            (b"WRONGTYPE Operation", "WRONGTYPE"),
            (b"NOAUTH\r\n", "NOAUTH"),
            (b"something else", OTHER_CLASS),
            (b"", OTHER_CLASS),
        ] {
            assert_eq!(error_class(text), class);
        }
        let mut recorder = Recorder::new(&["X".into()], false);
        for number in 0..1_000 {
            recorder.error(0, format!("E{number} x").as_bytes(), 1);
        }
        let commands = recorder.finish(&Series::new(1));
        assert_eq!(commands[0].errors.len(), MAX_CLASSES + 1);
        assert_eq!(commands[0].error_count(), 1_000);
    }
}
