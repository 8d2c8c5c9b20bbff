//! Sessions against slices of bytes: what they send, and what they make of replies.

use std::sync::atomic::AtomicU64;

use super::*;
use crate::plan::{CommandText, MixEntry, Pipeline};
use crate::record::Series;

const START_NS: u64 = 1_000;

fn plan(depth: u32, mode: PipelineMode) -> Plan {
    Plan {
        connections: 1,
        pipeline: Pipeline { depth, mode },
        mix: vec![MixEntry::new("GET", vec![CommandText::arguments(["GET", "k"])])],
        ..Plan::default()
    }
}

fn gate(schedule: Option<Schedule>) -> Gate<'static> {
    Gate { measure_start_ns: START_NS, deadline_ns: u64::MAX, budget: None, schedule }
}

struct Bench {
    mix: Mix,
    session: Session,
    recorder: Recorder,
    out: Vec<u8>,
}

impl Bench {
    fn new(plan: &Plan, quota: Option<u64>, is_open_loop: bool) -> Self {
        let mix = Mix::compile(plan).unwrap();
        let session = Session::new(plan, &mix, 0, quota);
        let mut recorder = Recorder::new(mix.labels(), is_open_loop);
        recorder.start_at(START_NS);
        Self { mix, session, recorder, out: Vec::new() }
    }

    fn fill(&mut self, now_ns: u64, gate: &Gate<'_>) -> u64 {
        self.session.fill(now_ns, gate, &self.mix, &mut self.out)
    }

    fn receive(&mut self, now_ns: u64, bytes: &[u8]) -> Result<(), SessionError> {
        self.session.receive(now_ns, bytes, &mut self.recorder)
    }

    fn finish(self) -> Vec<report::model::CommandResult> {
        self.recorder.finish(&Series::new(1))
    }
}

#[test]
fn a_window_sends_as_replies_make_room_and_a_batch_does_not() {
    for (mode, after_one) in [(PipelineMode::Window, 1), (PipelineMode::Batch, 0)] {
        let mut bench = Bench::new(&plan(4, mode), None, false);
        assert_eq!(bench.fill(1_000, &gate(None)), 4);
        assert_eq!(bench.fill(1_001, &gate(None)), 0);
        bench.receive(2_000, b"+OK\r\n").unwrap();
        assert_eq!(bench.fill(2_000, &gate(None)), after_one);
        bench.receive(3_000, b"+OK\r\n+OK\r\n+OK\r\n").unwrap();
        assert_eq!(bench.fill(3_000, &gate(None)), if mode == PipelineMode::Batch { 4 } else { 3 });
    }
}

#[test]
fn each_clock_reads_a_pipeline_its_own_way() {
    let clocks = [
        (LatencyClock::PerRequest, [1_000, 3_000]),
        (LatencyClock::FirstByte, [1_000, 1_000]),
        (LatencyClock::WholeBatch, [3_000, 3_000]),
    ];
    for (clock, expected) in clocks {
        let plan = Plan { clock, ..plan(2, PipelineMode::Batch) };
        let mut bench = Bench::new(&plan, None, false);
        bench.fill(1_000, &gate(None));
        bench.receive(2_000, b"+OK\r\n").unwrap();
        bench.receive(4_000, b"+OK\r\n").unwrap();
        let commands = bench.finish();
        let service = &commands[0].service;
        assert_eq!([service.min_ns(), service.max_ns()], expected, "{clock:?}");
        assert_eq!(service.count(), 2);
    }
}

#[test]
fn a_whole_batch_counts_when_its_last_reply_is_an_error() {
    let plan = Plan { clock: LatencyClock::WholeBatch, ..plan(2, PipelineMode::Batch) };
    let mut bench = Bench::new(&plan, None, false);
    bench.fill(1_000, &gate(None));
    bench.receive(4_000, b"+OK\r\n-ERR x\r\n").unwrap();
    let commands = bench.finish();
    assert_eq!((commands[0].count, commands[0].error_count()), (1, 1));
}

#[test]
fn replies_split_at_every_byte_are_the_same_replies() {
    let replies =
        b"$3\r\nabc\r\n$-1\r\n*0\r\n-MOVED 1 h:1\r\n>2\r\n+x\r\n:1\r\n*2\r\n$1\r\na\r\n:5\r\n";
    for split in 0..=replies.len() {
        let mut bench = Bench::new(&plan(5, PipelineMode::Window), None, false);
        bench.fill(1_000, &gate(None));
        bench.receive(2_000, &replies[..split]).unwrap();
        bench.receive(3_000, &replies[split..]).unwrap();
        assert_eq!(bench.session.in_flight(), 0);
        let commands = bench.finish();
        let get = &commands[0];
        assert_eq!((get.count, get.hits, get.misses), (4, 2, 2), "split at {split}");
        assert_eq!(get.errors.get("MOVED"), Some(&1));
    }
}

#[test]
fn an_open_loop_keeps_its_backlog_and_both_times() {
    let mut bench = Bench::new(&plan(1, PipelineMode::Window), None, true);
    // Due at 1000, 2000, 3000 ns and so on.
    let gate = gate(Some(Schedule::new(1_000, 1e6, 1, 1)));
    assert_eq!(bench.fill(1_500, &gate), 1);
    assert_eq!(bench.fill(4_500, &gate), 0);
    assert_eq!(bench.session.lag(), (500, 3));
    assert_eq!(bench.session.unanswered(4_500, &gate), 4);
    bench.receive(4_500, b"+OK\r\n").unwrap();
    assert_eq!(bench.fill(4_500, &gate), 1);
    bench.receive(5_000, b"+OK\r\n").unwrap();
    let commands = bench.finish();
    assert_eq!(commands[0].service.max_ns(), 3_000);
    assert_eq!(commands[0].service.min_ns(), 500);
    assert_eq!(commands[0].response.max_ns(), 3_500);
    assert_eq!(commands[0].response.min_ns(), 3_000);
}

#[test]
fn warm_up_is_sent_and_not_recorded_and_costs_no_quota() {
    let mut bench = Bench::new(&plan(1, PipelineMode::Window), Some(1), false);
    assert_eq!(bench.fill(10, &gate(None)), 1);
    bench.receive(1_500, b"-ERR x\r\n").unwrap();
    assert!(!bench.session.is_finished());
    assert_eq!(bench.fill(1_500, &gate(None)), 1);
    bench.receive(2_000, b"+OK\r\n").unwrap();
    assert_eq!(bench.fill(2_000, &gate(None)), 0);
    assert!(bench.session.is_finished());
    let commands = bench.finish();
    assert_eq!((commands[0].count, commands[0].error_count()), (1, 0));
}

#[test]
fn a_shared_budget_is_never_overdrawn() {
    let budget = AtomicU64::new(5);
    let gate = Gate { budget: Some(&budget), ..gate(None) };
    let mut bench = Bench::new(&plan(4, PipelineMode::Batch), None, false);
    assert_eq!(bench.fill(1_000, &gate), 4);
    bench.receive(2_000, &b"+OK\r\n".repeat(4)).unwrap();
    assert_eq!(bench.fill(2_000, &gate), 1);
    bench.receive(3_000, b"+OK\r\n").unwrap();
    assert_eq!(bench.fill(3_000, &gate), 0);
    assert!(bench.session.is_finished());
}

#[test]
fn nothing_due_at_the_deadline_is_sent() {
    let mut bench = Bench::new(&plan(1, PipelineMode::Window), None, false);
    let gate = Gate { deadline_ns: 2_000, ..gate(None) };
    assert_eq!(bench.fill(2_000, &gate), 0);
    assert_eq!(bench.fill(1_999, &gate), 1);
    assert_eq!(bench.session.unanswered(2_000, &gate), 1);
}

#[test]
fn a_sequence_of_commands_is_sent_whole_and_counted_by_reply() {
    let mut plan = plan(2, PipelineMode::Window);
    plan.mix[0].commands.push(CommandText::arguments(["SET", "k", "v"]));
    let mut bench = Bench::new(&plan, None, false);
    assert_eq!(bench.fill(1_000, &gate(None)), 4);
    bench.receive(2_000, b"$-1\r\n+OK\r\n$-1\r\n").unwrap();
    assert_eq!(bench.fill(2_000, &gate(None)), 2);
    let commands = bench.finish();
    assert_eq!((commands[0].count, commands[0].misses), (3, 2));
}

#[test]
fn what_ends_a_session_is_told_with_its_text() {
    let mut bench = Bench::new(&plan(1, PipelineMode::Window), None, false);
    assert_eq!(bench.receive(1_000, b"+OK\r\n"), Err(SessionError::Unasked));

    let mut bench = Bench::new(&plan(1, PipelineMode::Window), None, false);
    bench.fill(1_000, &gate(None));
    assert_eq!(
        bench.receive(2_000, b"HTTP/1.1 400 Bad Request\r\n"),
        Err(SessionError::Garbage(DecodeError::UnknownType(b'H')))
    );

    let stopping = Plan { errors: ErrorPolicy::Stop, ..plan(2, PipelineMode::Window) };
    let mut bench = Bench::new(&stopping, None, false);
    bench.fill(1_000, &gate(None));
    let stopped = bench.receive(2_000, b"+OK\r\n-OOM command not allowed\r\n");
    let message = "OOM command not allowed".to_string();
    assert_eq!(stopped, Err(SessionError::ErrorReply { command: 0, message }));
    assert_eq!(bench.finish()[0].count, 1);

    let mut bench = Bench::new(&plan(1, PipelineMode::Window), None, false);
    bench.session.reconnect(2);
    bench.fill(1_000, &gate(None));
    let refused = bench.receive(2_000, b"+OK\r\n-ERR DB index is out of range\r\n");
    let message = "ERR DB index is out of range".to_string();
    assert_eq!(refused, Err(SessionError::Refused { nth: 1, message }));
}
