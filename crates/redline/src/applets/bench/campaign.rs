//! A whole run: look at the servers, make keys, measure step by step, delete the keys, and put the result together.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use load::cluster::Topology;
use load::connect;
use load::plan::{Plan, Target};
use load::{Control, RunError, RunFailure};
use report::model::{SCHEMA_VERSION, Tool};
use report::render::text::grouped;
use report::{RunResult, StepResult};

use super::advice;
use super::arguments::Arguments;
use super::interrupt::Interrupt;
use super::progress::Progress;
use super::steps::Steps;
use super::target;
use crate::VERSION;

/// How often signals are looked for and the live line is drawn.
const BEAT: Duration = Duration::from_millis(50);

/// How long a node may take to tell about its cluster.
const ASK_PATIENCE: Duration = Duration::from_secs(10);
/// The line of INFO that says that a server is a node of a cluster.
const CLUSTER_MODE: &str = "redis_mode:cluster";
/// What a report says then, if only that node was loaded.
const CLUSTER_NOTE: &str =
    "The server is a node of a cluster and was measured alone; --cluster loads all of it.";

/// What every report of a run without a target says.
const EMBEDDED_NOTE: &str =
    "No target named: embedded store measured. Or: redline bench redis://host:6379";

/// A run, and what it has come to so far.
pub struct Campaign<'run> {
    /// What was asked.
    pub arguments: &'run Arguments,
    /// The servers.
    pub targets: &'run [Target],
    /// Threads of the embedded store, if that is what is measured.
    pub store_threads: Option<u32>,
    /// Signals.
    pub interrupt: &'run Interrupt,
    /// The people who watch.
    pub progress: Progress,
}

/// What came out.
pub struct Outcome {
    /// The result, if anything was measured.
    pub result: Option<RunResult>,
    /// The sentence that ended the run.
    pub error: Option<String>,
}

impl Campaign<'_> {
    /// Carries out all steps. What is measured is never lost by what comes later.
    pub fn run(mut self, steps: &Steps) -> Outcome {
        let started_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let control = Control::new();
        let mut result = RunResult {
            schema_version: SCHEMA_VERSION,
            tool: Tool { name: "redline".into(), version: VERSION.into() },
            started_at_unix_ms: started_at.as_millis() as u64,
            plan: serde_json::Value::Null,
            machine: load::machine::describe(),
            target: self.describe_target(),
            steps: Vec::new(),
            interrupted: false,
            notes: Vec::new(),
            error: None,
        };
        let error = match self.identify(&mut result) {
            Err(error) => Some(error),
            Ok(()) => {
                let error = match self.prepare(steps, &control) {
                    Err(error) => Some(error),
                    Ok(()) => self.measure(steps, &control, &mut result.steps),
                };
                result.interrupted = control.is_stopped();
                self.conclude(steps, &mut result, error.is_some());
                error
            }
        };
        self.progress.finish();
        let plans = steps.measured.iter().take(result.steps.len()).collect::<Vec<_>>();
        result.plan = serde_json::to_value(plans).expect("plans are plain data");
        let error = error.map(|error| advice::sentence(&error));
        result.error.clone_from(&error);
        Outcome { result: (!result.steps.is_empty()).then_some(result), error }
    }

    fn describe_target(&self) -> report::model::Target {
        let urls: Vec<String> = self.targets.iter().map(target::url).collect();
        let mut described =
            report::model::Target { url: urls.join(", "), ..report::model::Target::default() };
        if let Some(threads) = self.store_threads {
            described.embedded = true;
            described.server_name = "redline".into();
            described.server_version = VERSION.into();
            described.server_threads = threads;
        }
        described
    }

    /// How store and generator share the machine, which bounds what either can show.
    fn cores_note(&self, cores: u32, plans: &[Plan]) -> String {
        let threads = plans.iter().map(Plan::busy_threads).max().unwrap_or(0);
        format!(
            "Store and generator share {cores} core{}: threads of the store {}, of the generator {threads}.",
            if cores == 1 { "" } else { "s" },
            self.store_threads.unwrap_or(0),
        )
    }

    /// Asks each server what it is. One that would not say is measured all the same, unless it wants a password.
    fn identify(&self, result: &mut RunResult) -> Result<(), RunError> {
        if self.store_threads.is_some() {
            return Ok(());
        }
        let mut names = Vec::new();
        let mut is_node = false;
        for target in self.targets {
            let reply = connect::ask(target, &["INFO", "server"])?;
            let reply = String::from_utf8_lossy(&reply);
            if let Some(message) = reply.strip_prefix('-').filter(|text| text.starts_with("NOAUTH"))
            {
                return Err(RunError::Refused {
                    address: target.address.to_string(),
                    command: "INFO".into(),
                    message: message.trim_end().into(),
                });
            }
            names.push(name_and_version(&reply));
            is_node |= reply.lines().any(|line| line.trim_end() == CLUSTER_MODE);
        }
        if is_node && !self.arguments.cluster {
            result.notes.push(CLUSTER_NOTE.into());
        }
        let same = names.windows(2).all(|pair| pair[0] == pair[1]);
        if let Some((name, version)) = names.into_iter().next().filter(|_| same) {
            (result.target.server_name, result.target.server_version) = (name, version);
        }
        Ok(())
    }

    /// All servers that keep keys: the targets, or the primaries of the cluster that they belong to.
    fn keepers(&self) -> Result<Vec<Target>, RunError> {
        let Some(seed) = self.targets.first().filter(|_| self.arguments.cluster) else {
            return Ok(self.targets.to_vec());
        };
        let topology = Topology::ask(seed, ASK_PATIENCE)?;
        let primaries = topology.primaries().map(|primary| topology.nodes()[primary].target(seed));
        Ok(primaries.collect())
    }

    /// Empties the database if that is asked for, and makes the keys.
    fn prepare(&mut self, steps: &Steps, control: &Control) -> Result<(), RunError> {
        if self.arguments.flush {
            for target in self.keepers()? {
                let reply = connect::ask(&target, &["FLUSHDB"])?;
                if let Some(message) = String::from_utf8_lossy(&reply).strip_prefix('-') {
                    return Err(RunError::Refused {
                        address: target.address.to_string(),
                        command: "FLUSHDB".into(),
                        message: message.trim_end().into(),
                    });
                }
            }
        }
        let clear: &[Plan] = if self.store_threads.is_some() { &[] } else { &steps.clear };
        if steps.filled_keys > 0 {
            self.progress.prepare(&format!("Filling {} keys", grouped(steps.filled_keys)));
        }
        for plan in clear.iter().chain(&steps.fill) {
            if !control.is_stopped() {
                self.carry_out(plan, control).map_err(|failure| failure.error)?;
            }
        }
        Ok(())
    }

    /// Runs the steps until one fails or the user ends it; the error, if one did.
    fn measure(
        &mut self,
        steps: &Steps,
        control: &Control,
        results: &mut Vec<StepResult>,
    ) -> Option<RunError> {
        for (nth, plan) in steps.measured.iter().enumerate() {
            if control.is_stopped() {
                return None;
            }
            self.progress.begin(nth, &steps.measured);
            match self.carry_out(plan, control) {
                // A step that was ended before its first reply has nothing to show.
                Ok(step) if step.interrupted && step.requests == 0 => {}
                Ok(step) => {
                    self.progress.end(&step);
                    results.push(step);
                }
                Err(RunFailure { error, partial }) => {
                    results.extend(partial.map(|step| *step).filter(|step| step.requests > 0));
                    return Some(error);
                }
            }
        }
        None
    }

    /// Runs a plan, with somebody who looks for signals and shows how it goes.
    fn carry_out(&self, plan: &Plan, control: &Control) -> Result<StepResult, RunFailure> {
        let (running, ended) = mpsc::channel::<()>();
        let watch = move || {
            while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                if self.interrupt.is_asked() {
                    control.stop();
                }
                self.progress.show(control.snapshot());
            }
        };
        std::thread::scope(|scope| {
            std::thread::Builder::new().name("bench-watch".into()).spawn_scoped(scope, watch)?;
            let result = load::run(plan, control);
            drop(running);
            result
        })
    }

    /// Says what belongs to every rendering, and leaves named servers as they were.
    fn conclude(&mut self, steps: &Steps, result: &mut RunResult, has_failed: bool) {
        if self.store_threads.is_some() {
            result.notes.push(EMBEDDED_NOTE.into());
            result.notes.push(self.cores_note(result.machine.cores, &steps.measured));
            return;
        }
        if self.arguments.flush {
            result.notes.push("The database was emptied first (--flush).".into());
        }
        result.notes.extend(self.clear_up(steps, result, has_failed));
    }

    /// Deletes the tests' keys, and says what is left on the servers.
    fn clear_up(&mut self, steps: &Steps, result: &RunResult, has_failed: bool) -> Option<String> {
        if steps.clear.is_empty() {
            return (!result.steps.is_empty())
                .then(|| "What --command wrote is still on the server.".to_owned());
        }
        if self.arguments.keep {
            return Some("The tests' keys (redline:*) are still on the server.".into());
        }
        self.progress.prepare("Deleting the tests' keys");
        // A control of its own: the user's end of the run must not leave the keys behind.
        let control = Control::new();
        // Twice: the last step's connections may have closed on requests that the server carries out later.
        for plan in steps.clear.iter().chain(&steps.clear) {
            match load::run(plan, &control) {
                Ok(_) => {}
                Err(_) if has_failed => {
                    return Some("The tests' keys (redline:*) may still be on the server.".into());
                }
                Err(failure) => {
                    return Some(format!(
                        "The tests' keys (redline:*) could not be deleted: {failure}."
                    ));
                }
            }
        }
        Some("The tests' keys (redline:*) were deleted.".into())
    }
}

/// What a server says it is, from its INFO; empty where it does not say. Those that came after Redis give its version too,
/// to be taken for it, so their own is looked for first.
fn name_and_version(info: &str) -> (String, String) {
    let field = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    for (name, key) in [
        ("redline", "redline_version"),
        ("valkey", "valkey_version"),
        ("dragonfly", "dragonfly_version"),
        ("garnet", "garnet_version"),
        ("redis", "redis_version"),
    ] {
        if let Some(version) = field(key) {
            let version = version.strip_prefix("df-").unwrap_or(version);
            return (name.into(), version.trim_start_matches('v').into());
        }
    }
    (String::new(), String::new())
}

#[cfg(test)]
mod tests {
    use super::name_and_version;

    #[test]
    fn servers_are_told_apart() {
        for (info, name, version) in [
            ("$9\r\n# Server\r\nredis_version:7.0.15\r\n", "redis", "7.0.15"),
            ("redis_version:7.2.4\r\nvalkey_version:9.1.0\r\n", "valkey", "9.1.0"),
            ("redis_version:7.4.0\r\ndragonfly_version:df-v1.25.0\r\n", "dragonfly", "1.25.0"),
            ("-ERR unknown command\r\n", "", ""),
        ] {
            assert_eq!(name_and_version(info), (name.to_owned(), version.to_owned()));
        }
    }
}
