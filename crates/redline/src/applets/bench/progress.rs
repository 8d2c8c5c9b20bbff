//! How the run goes, on standard error: a live line on a terminal, a line a step elsewhere, nothing if that is wished.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::Snapshot;
use load::control::Phase;
use load::plan::Plan;
use report::StepResult;
use report::render::text::{grouped, milliseconds, step_line};

/// The one place that tells people how far the run is.
#[derive(Debug)]
pub struct Progress {
    how: How,
    step: Step,
}

#[derive(Debug)]
enum How {
    Live(ProgressBar),
    Lines,
    Quiet,
}

/// The step that runs, as far as the live line shows it.
#[derive(Debug, Clone, Default)]
struct Step {
    nth: usize,
    count: usize,
    title: String,
    /// Warm-up and measured time, if they are known beforehand.
    warm_up: Duration,
    duration: Option<Duration>,
    requests: Option<u64>,
    /// Of the steps behind it, if it is known.
    later: Option<Duration>,
}

impl Progress {
    /// Chooses by what standard error is.
    pub fn new(is_quiet: bool) -> Self {
        let how = match is_quiet {
            true => How::Quiet,
            false if std::io::stderr().is_terminal() => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                let style = ProgressStyle::with_template("{wide_msg}");
                bar.set_style(style.expect("the template is valid"));
                How::Live(bar)
            }
            false => How::Lines,
        };
        Self { how, step: Step::default() }
    }

    /// Prints a line that stays.
    pub fn say(&self, line: &str) {
        match &self.how {
            How::Live(bar) => bar.suspend(|| eprintln!("{line}")),
            How::Lines => eprintln!("{line}"),
            How::Quiet => {}
        }
    }

    /// Begins to make or delete keys, which is shown while it lasts.
    pub fn prepare(&mut self, what: &str) {
        self.step = Step { title: what.to_owned(), ..Step::default() };
        if let How::Live(bar) = &self.how {
            bar.set_message(what.to_owned());
        }
    }

    /// Begins step `nth` (from 0) of the plans.
    pub fn begin(&mut self, nth: usize, plans: &[Plan]) {
        let plan = &plans[nth];
        let lasts = |plan: &Plan| plan.stop.duration_ms.map(Duration::from_millis);
        let warm_up = |plan: &Plan| Duration::from_millis(plan.warm_up.duration_ms);
        self.step = Step {
            nth: nth + 1,
            count: plans.len(),
            title: plan.title.clone(),
            warm_up: warm_up(plan),
            duration: lasts(plan),
            requests: plan.stop.requests,
            later: plans[nth + 1..].iter().map(|plan| Some(lasts(plan)? + warm_up(plan))).sum(),
        };
    }

    /// Shows where the step is.
    pub fn show(&self, snapshot: Snapshot) {
        if let How::Live(bar) = &self.how
            && self.step.count > 0
        {
            bar.set_message(self.step.line(&snapshot));
        }
    }

    /// Ends a measured step.
    pub fn end(&self, result: &StepResult) {
        if matches!(self.how, How::Lines) {
            eprintln!("[{}/{}] {}", self.step.nth, self.step.count, step_line(result));
        }
    }

    /// Takes the live line away.
    pub fn finish(&self) {
        if let How::Live(bar) = &self.how {
            bar.finish_and_clear();
        }
    }
}

impl Step {
    fn line(&self, snapshot: &Snapshot) -> String {
        let width = self.count.to_string().len();
        let title: String = self.title.chars().take(14).collect();
        let head = format!("[{:>width$}/{}] {title:<14}", self.nth, self.count);
        let left = self.left(snapshot).map(|left| format!("  {} left", clock(left)));
        let left = left.unwrap_or_default();
        match snapshot.phase {
            Phase::Idle | Phase::Connecting => format!("{head} connecting{left}"),
            Phase::WarmUp => format!("{head} warming up{left}"),
            Phase::Measuring => format!("{head} {}{left}", rates(snapshot)),
        }
    }

    /// What is left of this step and those behind it; for a number of requests, by the rate so far.
    fn left(&self, snapshot: &Snapshot) -> Option<Duration> {
        let elapsed = Duration::from_nanos(snapshot.elapsed_ns);
        let by_requests = self.requests.and_then(|requests| {
            let rest = requests.saturating_sub(snapshot.requests) as f64;
            let seconds = elapsed.as_secs_f64() * rest / snapshot.requests as f64;
            Duration::try_from_secs_f64(seconds).ok()
        });
        let by_time = self.duration.map(|duration| match snapshot.phase {
            Phase::Measuring => duration.saturating_sub(elapsed),
            _ => duration + self.warm_up,
        });
        let own = match (by_requests, by_time) {
            (Some(requests), Some(time)) => Some(requests.min(time)),
            (requests, time) => requests.or(time),
        };
        Some(own? + self.later?)
    }
}

/// Rate and latencies of the last second, or of the time so far in the first.
fn rates(snapshot: &Snapshot) -> String {
    if let Some(second) = &snapshot.last_second {
        return format!(
            "{:>9}/s  p50 {} ms  p99 {} ms",
            grouped(second.count + second.errors),
            milliseconds(second.p50_ns),
            milliseconds(second.p99_ns),
        );
    }
    let rate = snapshot.requests as f64 * 1e9 / snapshot.elapsed_ns.max(1) as f64;
    let answered = snapshot.requests.saturating_sub(snapshot.errors).max(1);
    format!(
        "{:>9}/s  avg {} ms",
        grouped(rate.round() as u64),
        milliseconds(snapshot.latency_sum_ns / answered)
    )
}

/// Minutes and seconds, the latter rounded up so that the end is 0:00.
fn clock(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1000);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use load::Snapshot;
    use load::control::Phase;
    use report::model::SeriesPoint;

    use super::{Duration, Step, clock};

    #[test]
    fn the_live_line_fits_a_terminal_and_counts_down() {
        let mut step = Step {
            nth: 3,
            count: 14,
            title: "GET:SET 10:1".into(),
            warm_up: Duration::from_millis(250),
            duration: Some(Duration::from_millis(1500)),
            requests: None,
            later: Some(Duration::from_secs(90)),
        };
        let mut snapshot = Snapshot { phase: Phase::Connecting, ..Snapshot::default() };
        assert_eq!(step.line(&snapshot), "[ 3/14] GET:SET 10:1   connecting  1:32 left");
        snapshot.phase = Phase::Measuring;
        snapshot.elapsed_ns = 500_000_000;
        snapshot.requests = 50_000;
        snapshot.latency_sum_ns = 50_000 * 250_000;
        assert_eq!(
            step.line(&snapshot),
            "[ 3/14] GET:SET 10:1     100,000/s  avg 0.250 ms  1:31 left"
        );
        snapshot.last_second = Some(SeriesPoint {
            count: 1_234_567,
            p50_ns: 999_000_000,
            p99_ns: 9_999_000_000,
            ..SeriesPoint::default()
        });
        assert!(step.line(&snapshot).len() <= 79, "{}", step.line(&snapshot));
        step.duration = None;
        step.requests = Some(100_000);
        step.later = None;
        assert_eq!(step.left(&snapshot), None);
        step.later = Some(Duration::ZERO);
        assert_eq!(step.left(&snapshot), Some(Duration::from_millis(500)));
        snapshot.requests = 0;
        assert_eq!(step.left(&snapshot), None);
    }

    #[test]
    fn clocks_round_up() {
        assert_eq!(clock(Duration::ZERO), "0:00");
        assert_eq!(clock(Duration::from_millis(60_001)), "1:01");
    }
}
