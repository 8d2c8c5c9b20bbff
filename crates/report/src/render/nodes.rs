//! What the nodes of a cluster did, as a table and as remarks for people.

use std::collections::BTreeMap;

use super::text::{grouped, milliseconds};
use crate::model::{NodeResult, NodeRole, Outage, RunResult, StepResult};

/// Slots of a cluster.
const SLOTS: f64 = 16_384.0;
const HEADER: [&str; 9] =
    ["node", "role", "slots", "requests", "share", "p50", "p99", "errors", "again"];

/// A table of all nodes over all steps; empty when no step had a cluster.
pub fn table(run: &RunResult) -> String {
    let nodes = merged(run);
    if nodes.is_empty() {
        return String::new();
    }
    let all: u64 = nodes.iter().map(requests).sum();
    let mut rows = vec![HEADER.map(String::from)];
    rows.extend(nodes.iter().map(|node| row(node, all)));
    let mut widths = [0; HEADER.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = format!("\nNodes{}, latency in ms\n", imbalance(run));
    for row in rows {
        out.push_str(&format!("{:<width$}", row[0], width = widths[0]));
        out.push_str(&format!("  {:<width$}", row[1], width = widths[1]));
        for (cell, width) in row.iter().zip(widths).skip(2) {
            out.push_str(&format!("  {cell:>width$}"));
        }
        out.push('\n');
    }
    out
}

/// What made requests of a step be sent again.
pub fn retry_remark(step: &StepResult) -> Option<String> {
    let retried = &step.totals.retried;
    (!retried.is_empty())
        .then(|| format!("{}: sent again, by class: {}", step.title, classes(retried)))
}

/// When servers would not serve, and what that cost.
pub fn outage_remark(step: &StepResult) -> Option<String> {
    let Outage {
        first_error_ns,
        last_error_ns,
        longest_stall_ns,
        connection_errors,
        refused,
        lost,
    } = step.outage.as_ref()?;
    Some(format!(
        "{}: outage: first error at {} s, last at {} s, longest stall {} ms; {} connection errors, \
         {} requests refused or cut off, {} lost.",
        step.title,
        seconds(*first_error_ns),
        seconds(*last_error_ns),
        milliseconds(*longest_stall_ns),
        grouped(*connection_errors),
        grouped(*refused),
        grouped(*lost),
    ))
}

/// The nodes of all steps, each once, in the order in which they appear.
fn merged(run: &RunResult) -> Vec<NodeResult> {
    let mut nodes: Vec<NodeResult> = Vec::new();
    for node in run.steps.iter().filter_map(|step| step.cluster.as_ref()).flat_map(|it| &it.nodes) {
        let Some(known) = nodes.iter_mut().find(|known| known.address == node.address) else {
            nodes.push(node.clone());
            continue;
        };
        known.id.clone_from(&node.id);
        (known.role, known.slots) = (node.role, node.slots);
        known.count += node.count;
        known.service.merge(&node.service);
        for (mine, theirs) in
            [(&mut known.errors, &node.errors), (&mut known.retried, &node.retried)]
        {
            for (class, count) in theirs {
                *mine.entry(class.clone()).or_default() += count;
            }
        }
    }
    nodes
}

fn row(node: &NodeResult, all: u64) -> [String; HEADER.len()] {
    let latency = |percent| match node.service.is_empty() {
        true => "-".to_owned(),
        false => milliseconds(node.service.percentile_ns(percent)),
    };
    let share = if all == 0 { 0.0 } else { requests(node) as f64 / all as f64 };
    [
        node.address.clone(),
        match node.role {
            NodeRole::Primary => "primary",
            NodeRole::Replica => "replica",
            NodeRole::Gone => "gone",
        }
        .to_owned(),
        percent(f64::from(node.slots) / SLOTS),
        grouped(requests(node)),
        percent(share),
        latency(50.0),
        latency(99.0),
        grouped(node.errors.values().sum()),
        grouped(node.retried.values().sum()),
    ]
}

fn requests(node: &NodeResult) -> u64 {
    node.count + node.errors.values().sum::<u64>()
}

/// The worst imbalance of the steps, where it is worth a word.
fn imbalance(run: &RunResult) -> String {
    let of_step = |step: &StepResult| step.cluster.as_ref().map(|cluster| cluster.imbalance);
    let worst = run.steps.iter().filter_map(of_step).fold(0.0, f64::max);
    if worst < 1.1 {
        return String::new();
    }
    format!(" (the busiest primary had up to {worst:.2} times the mean)")
}

fn classes(counts: &BTreeMap<String, u64>) -> String {
    let parts: Vec<String> =
        counts.iter().map(|(class, count)| format!("{class} {}", grouped(*count))).collect();
    parts.join(", ")
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}
