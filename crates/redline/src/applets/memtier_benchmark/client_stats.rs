//! `--client-stats`: the seconds of one client as CSV, in the original's columns. Latencies by second are in seconds here.

use report::model::{ClientResult, CommandPoint, CommandResult};

use super::distribution::ticks;
use super::stats::{Kind, without_gaps};

/// The file of one client. `kinds` are the rows of the report in their order.
pub fn render(client: &ClientResult, kinds: &[Kind], is_set_get: bool, is_cluster: bool) -> String {
    let results: Vec<CommandResult> = kinds
        .iter()
        .map(|kind| {
            let found = client.commands.iter().find(|command| command.label == kind.label);
            found.cloned().unwrap_or_else(|| CommandResult::new(kind.label.clone()))
        })
        .collect();
    let seconds = results
        .iter()
        .filter_map(|result| Some(result.series.last()?.second + 1))
        .max()
        .unwrap_or(0);
    let series: Vec<Vec<CommandPoint>> =
        results.iter().map(|result| without_gaps(&result.series, seconds)).collect();
    let mut text = if is_set_get { set_get(&series) } else { commands(&series, kinds) };
    if is_cluster && is_set_get {
        text.push_str(&cluster(&series));
    }
    // The original's order: GET before SET.
    let order: Vec<usize> = if is_set_get { vec![1, 0, 2] } else { (0..kinds.len()).collect() };
    for nth in order {
        text.push_str(&format!(
            "\nFull-Test {} Latency\nLatency (<= msec),Percent\n",
            kinds[nth].raw
        ));
        for tick in ticks(&results[nth].response) {
            text.push_str(&format!("{:8.3},{:.3}\n", tick.value_ns as f64 / 1e6, tick.percentile));
        }
    }
    text
}

fn set_get(series: &[Vec<CommandPoint>]) -> String {
    let mut text = String::from(
        "Per-Second Benchmark Data\nSecond,SET Requests,SET Average Latency,SET Total Bytes,SET Total Bytes TX,\
         SET Total Bytes RX,GET Requests,GET Average Latency,GET Total Bytes,GET Total Bytes TX,GET Total Bytes RX,\
         GET Misses,GET Hits,WAIT Requests,WAIT Average Latency\n",
    );
    let [sets, gets, waits] = series else { return text };
    for ((set, get), wait) in sets.iter().zip(gets).zip(waits) {
        text.push_str(&format!(
            "{},{},{},{},{},{},{}\n",
            set.second,
            with_bytes(set),
            with_bytes(get),
            get.misses,
            get.hits,
            wait.latencies.count(),
            seconds_of(wait),
        ));
    }
    text
}

fn commands(series: &[Vec<CommandPoint>], kinds: &[Kind]) -> String {
    let mut text = String::from("Per-Second Benchmark Arbitrary Commands Data\nSecond");
    for Kind { raw, .. } in kinds {
        text.push_str(&format!(
            ",{raw} Requests,{raw} Average Latency,{raw} Total Bytes,{raw} Total Bytes TX,{raw} Total Bytes RX"
        ));
    }
    text.push('\n');
    for second in 0..series.first().map_or(0, Vec::len) {
        text.push_str(&format!("{second},"));
        for points in series {
            text.push_str(&with_bytes(&points[second]));
            text.push(',');
        }
        text.push('\n');
    }
    text
}

fn cluster(series: &[Vec<CommandPoint>]) -> String {
    let mut text = String::from(
        "\nPer-Second Benchmark Cluster Data\nSecond,SET Moved,SET Ask,GET Moved,GET Ask\n",
    );
    if let [sets, gets, ..] = series {
        for (set, get) in sets.iter().zip(gets) {
            text.push_str(&format!(
                "{},{},{},{},{}\n",
                set.second, set.moved, set.ask, get.moved, get.ask
            ));
        }
    }
    text
}

fn with_bytes(point: &CommandPoint) -> String {
    format!(
        "{},{},{},{},{}",
        point.latencies.count(),
        seconds_of(point),
        point.bytes_in + point.bytes_out,
        point.bytes_out,
        point.bytes_in
    )
}

/// The mean latency as `seconds.microseconds`.
fn seconds_of(point: &CommandPoint) -> String {
    let micros = (point.latencies.mean_ns() / 1e3) as u64;
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
