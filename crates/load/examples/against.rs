//! Measures the generator itself: `against PORT DEPTH SECONDS [CONNECTIONS] [RATE]` sends GETs to a server on loopback and
//! prints requests a second, for comparing with other generators against the same server.

use load::plan::{
    CommandText, MixEntry, Pacing, Pipeline, PipelineMode, Placeholders, Plan, Stop, Target,
};
use load::{Control, run};

fn main() {
    let arguments: Vec<f64> =
        std::env::args().skip(1).map(|text| text.parse().expect("arguments are numbers")).collect();
    let argument = |nth: usize, default: f64| arguments.get(nth).copied().unwrap_or(default);
    let rate_rps = argument(4, 0.0);
    let plan = Plan {
        title: "GET".into(),
        targets: vec![Target::tcp("127.0.0.1", argument(0, 6379.0) as u16)],
        connections: argument(3, 50.0) as u32,
        pipeline: Pipeline { depth: argument(1, 1.0) as u32, mode: PipelineMode::Window },
        mix: vec![MixEntry::new("GET", vec![CommandText::arguments(["GET", "key:__rand_int__"])])],
        placeholders: Placeholders { keyspace: Some(1_000_000), ..Placeholders::default() },
        stop: Stop { duration_ms: Some((argument(2, 3.0) * 1000.0) as u64), ..Stop::default() },
        pacing: if rate_rps > 0.0 { Pacing::Constant { rate_rps } } else { Pacing::Closed },
        ..Plan::default()
    };
    match run(&plan, &Control::new()) {
        Ok(step) => println!(
            "{:.0} requests/s, service p50 {} ns p99 {} ns, response p99 {} ns, errors {}, unanswered {}, cpu {:?} ns, lag {} ns",
            step.requests_per_s(),
            step.totals.service.percentile_ns(50.0),
            step.totals.service.percentile_ns(99.0),
            step.totals.response.percentile_ns(99.0),
            step.totals.error_count(),
            step.unanswered,
            step.generator.thread_cpu_ns,
            step.generator.max_send_lag_ns,
        ),
        Err(failure) => println!("{failure}"),
    }
}
