//! Runs a sequence of commands on both servers, finds the first difference, and makes the sequence
//! as short as it can be.

use super::Difference;
use super::generate::Step;
use super::grammar::FOREIGN;
use super::judge::Rule;
use super::versions::{self, Reference, Verdict};
use crate::client::Client;
use crate::reply::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Calls that one scan may take; a cursor that never returns to zero is a bug, not a wait.
const SCAN_CALLS_MAX: usize = 10_000;
/// Runs that making a sequence shorter may take.
const SHRINK_RUNS_MAX: usize = 400;

/// Configuration that makes small collections outgrow their compact encodings.
const SMALL_LIMITS: [(&str, &str, &str); 8] = [
    ("hash-max-listpack-entries", "4", "128"),
    ("hash-max-listpack-value", "16", "64"),
    ("set-max-intset-entries", "4", "512"),
    ("set-max-listpack-entries", "4", "128"),
    ("set-max-listpack-value", "16", "64"),
    ("zset-max-listpack-entries", "4", "128"),
    ("zset-max-listpack-value", "16", "64"),
    ("list-max-listpack-size", "4", "-2"),
];

/// The conditions of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// RESP3 instead of RESP2.
    pub resp3: bool,
    /// Compact encodings for at most four elements.
    pub small: bool,
}

impl fmt::Display for Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HELLO {}", if self.resp3 { 3 } else { 2 })?;
        if self.small { out.write_str(", limits of compact encodings at 4") } else { Ok(()) }
    }
}

/// A difference before it is made small.
#[derive(Debug)]
pub struct Found {
    /// The command whose replies differ; one of the final inspection if not of the sequence.
    pub step: Step,
    /// How many commands of the sequence ran up to it.
    pub ran: usize,
    theirs: String,
    ours: String,
}

impl Found {
    /// Equal for differences that are likely to have one cause.
    pub fn signature(&self) -> String {
        let kind = |text: &str| match text.strip_prefix("(error) ") {
            Some(error) => error.to_string(),
            None => text.chars().take_while(|c| !c.is_ascii_digit() && *c != '"').collect(),
        };
        let detail = self.step.arguments.get(1).filter(|_| self.step.name() == "OBJECT");
        format!("{} {detail:?} {} {}", self.step.name(), kind(&self.theirs), kind(&self.ours))
    }
}

/// What became of one question.
enum Asked {
    Same,
    Parted,
    Different(Found),
}

/// A connection to each server.
#[derive(Debug)]
pub struct Pair {
    /// To the real server.
    pub theirs: Client,
    /// To ours.
    pub ours: Client,
    /// What the real server is.
    pub reference: Reference,
    addresses: (SocketAddr, SocketAddr),
    /// Which of `FOREIGN` both servers can set, and which inspections both can make.
    foreign: Vec<&'static str>,
    uninspected: BTreeSet<&'static str>,
    /// Whether the limits of compact encodings can be set on both.
    pub adjustable: bool,
}

/// Without these a server cannot be asked anything.
const NEEDED: [&str; 5] = ["HELLO", "FLUSHALL", "SELECT", "KEYS", "TYPE"];
/// What the final inspection asks beside them.
const INSPECTIONS: [&str; 8] =
    ["PTTL", "OBJECT", "GET", "LRANGE", "HGETALL", "SMEMBERS", "ZRANGE", "XRANGE"];

impl Pair {
    /// Connects to both.
    pub fn connect(theirs: SocketAddr, ours: SocketAddr) -> io::Result<Self> {
        let addresses = (theirs, ours);
        let mut theirs = Client::connect(theirs)?;
        let reference = Reference::of(&mut theirs)?;
        let ours = Client::connect(ours)?;
        let (foreign, uninspected) = (Vec::new(), BTreeSet::new());
        let adjustable = false;
        let mut pair =
            Pair { theirs, ours, reference, addresses, foreign, uninspected, adjustable };
        pair.adjustable = !pair.only_theirs("CONFIG")?;
        for command in FOREIGN {
            let name = command.split(' ').next().expect("a command has a name");
            if !pair.only_theirs(name)? {
                pair.foreign.push(command);
            }
        }
        for name in INSPECTIONS {
            if pair.only_theirs(name)? {
                pair.uninspected.insert(name);
            }
        }
        Ok(pair)
    }

    /// Commands without which ours cannot be asked, if it lacks any.
    pub fn lacking(&mut self) -> io::Result<Vec<String>> {
        let mut lacking = Vec::new();
        for name in NEEDED {
            if self.only_theirs(name)? {
                lacking.push(name.to_string());
            }
        }
        Ok(lacking)
    }

    /// Whether the real server has a command that ours has not.
    pub fn only_theirs(&mut self, command: &str) -> io::Result<bool> {
        Ok(knows(&mut self.theirs, command)? && !knows(&mut self.ours, command)?)
    }

    /// Runs `steps` from a clean start, then compares the whole state.
    pub fn first_difference(
        &mut self,
        setting: Setting,
        steps: &[Step],
    ) -> io::Result<Option<Found>> {
        self.prepare(setting)?;
        for (index, step) in steps.iter().enumerate() {
            match self.ask(step, index + 1)? {
                Asked::Same => {}
                Asked::Parted => return Ok(None),
                Asked::Different(found) => return Ok(Some(found)),
            }
        }
        self.inspect(steps.len())
    }

    /// The shortest sequence found that still shows a difference at the same command as `found`.
    pub fn shrink(
        &mut self,
        setting: Setting,
        steps: Vec<Step>,
        found: Found,
    ) -> io::Result<Difference> {
        let mut best = found;
        let mut kept: Vec<Step> = steps[..best.ran].to_vec();
        let mut chunk = kept.len().div_ceil(2);
        let mut runs = 0;
        while chunk > 0 && runs < SHRINK_RUNS_MAX {
            let mut start = 0;
            let mut removed = false;
            while start < kept.len() && runs < SHRINK_RUNS_MAX {
                let end = (start + chunk).min(kept.len());
                let candidate = [&kept[..start], &kept[end..]].concat();
                runs += 1;
                match self.first_difference(setting, &candidate)? {
                    Some(other) if other.step.name() == best.step.name() => {
                        kept = candidate[..other.ran].to_vec();
                        best = other;
                        removed = true;
                    }
                    _ => start = end,
                }
            }
            if !removed || chunk > 1 {
                chunk /= 2;
            }
        }
        let shown_already = kept.last().is_some_and(|last| last.arguments == best.step.arguments);
        if !shown_already {
            kept.push(best.step.clone());
        }
        Ok(Difference { setting, commands: kept, theirs: best.theirs, ours: best.ours })
    }

    /// Empties both servers and sets the conditions.
    fn prepare(&mut self, setting: Setting) -> io::Result<()> {
        // A connection that was lost or that a command changed is replaced, so rounds are alike.
        self.theirs = Client::connect(self.addresses.0)?;
        self.ours = Client::connect(self.addresses.1)?;
        for client in [&mut self.theirs, &mut self.ours] {
            client.command(&["HELLO", if setting.resp3 { "3" } else { "2" }])?;
            client.command(&["FLUSHALL"])?;
            let limits = if self.adjustable { &SMALL_LIMITS[..] } else { &[] };
            for (name, small, normal) in limits {
                // Older servers lack some of these; what matters shows in the replies.
                client.command(&[
                    "CONFIG",
                    "SET",
                    name,
                    if setting.small { small } else { normal },
                ])?;
            }
            for command in &self.foreign {
                client.command(&command.split(' ').collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// Asks both one question.
    fn ask(&mut self, step: &Step, ran: usize) -> io::Result<Asked> {
        let different = |theirs: String, ours: String| {
            Ok(Asked::Different(Found { step: step.clone(), ran, theirs, ours }))
        };
        let theirs = answer(&mut self.theirs, step)?;
        // Ours closing the connection is a difference like any other, not a failed test run.
        let ours = match answer(&mut self.ours, step) {
            Ok(ours) => ours,
            Err(error) => return different(theirs.to_string(), format!("no reply: {error}")),
        };
        if step.rule.agrees(&theirs, &ours) {
            if step.rule == Rule::Popped && !theirs.is_error() {
                self.forget(step, &theirs, &ours)?;
            }
            return Ok(Asked::Same);
        }
        match versions::known(self.reference, step, &theirs, &ours) {
            Some(Verdict::Same) => Ok(Asked::Same),
            Some(Verdict::Parted) => Ok(Asked::Parted),
            // Replies that only look alike are shown as what they are.
            None if theirs.to_string() == ours.to_string() => {
                different(format!("{theirs:?}"), format!("{ours:?}"))
            }
            None => different(theirs.to_string(), ours.to_string()),
        }
    }

    /// Takes from both what either has popped at random. Popping many may leave a set built anew, in
    /// an encoding that depends on what was left, so both build theirs anew.
    fn forget(&mut self, step: &Step, theirs: &Value, ours: &Value) -> io::Result<()> {
        let key = step.arguments[1].clone();
        let mut removal = vec![b"SREM".to_vec(), key.clone()];
        for popped in [theirs, ours] {
            let one = std::slice::from_ref(popped);
            let members = popped.as_items().unwrap_or(one).iter();
            removal.extend(members.filter_map(|member| member.as_text()).map(<[u8]>::to_vec));
        }
        if removal.len() == 2 {
            return Ok(());
        }
        self.both(&removal)?;
        if step.arguments.len() > 2 {
            let left = self.theirs.command(&[b"SMEMBERS".as_slice(), &key])?;
            let mut members: Vec<&[u8]> =
                left.as_items().unwrap_or_default().iter().filter_map(Value::as_text).collect();
            members.sort_unstable();
            self.both(&[b"DEL".to_vec(), key.clone()])?;
            for member in members {
                self.both(&[b"SADD".to_vec(), key.clone(), member.to_vec()])?;
            }
        }
        Ok(())
    }

    fn both(&mut self, command: &[Vec<u8>]) -> io::Result<()> {
        self.theirs.command(command)?;
        self.ours.command(command)?;
        Ok(())
    }

    /// Compares everything that both servers hold.
    fn inspect(&mut self, ran: usize) -> io::Result<Option<Found>> {
        let mut questions = vec![Step::of(&[b"SELECT", b"0"], Rule::Exact)];
        questions.push(Step::of(&[b"KEYS", b"*"], Rule::Unordered));
        // Of a transaction that is still open nothing is seen; its queue is no state of the data.
        self.theirs.command(&["DISCARD"])?;
        self.ours.command(&["DISCARD"])?;
        self.theirs.command(&["SELECT", "0"])?;
        let keys = self.theirs.command(&["KEYS", "*"])?;
        for key in keys.as_items().unwrap_or_default().iter().filter_map(Value::as_text) {
            let kind = self.theirs.command(&[b"TYPE".as_slice(), key])?;
            questions.push(Step::of(&[b"TYPE", key], Rule::Exact));
            questions.push(content(kind.as_text().unwrap_or_default(), key));
            questions.push(Step::of(&[b"PTTL", key], Rule::Near(2000)));
            questions.push(Step::of(&[b"OBJECT", b"ENCODING", key], Rule::Exact));
        }
        let uninspected = self.uninspected.clone();
        for question in questions.iter().filter(|one| !uninspected.contains(one.name().as_str())) {
            match self.ask(question, ran)? {
                Asked::Same => {}
                Asked::Parted => return Ok(None),
                Asked::Different(found) => return Ok(Some(found)),
            }
        }
        Ok(None)
    }
}

/// Whether a server has a command: it is asked without arguments, and either minds that or answers.
fn knows(client: &mut Client, command: &str) -> io::Result<bool> {
    let reply = client.command(&[command])?;
    Ok(!matches!(reply, Value::Error(text) if text.starts_with(b"ERR unknown command")))
}

/// The question that shows all of a value.
fn content(kind: &[u8], key: &[u8]) -> Step {
    match kind {
        b"list" => Step::of(&[b"LRANGE", key, b"0", b"-1"], Rule::Exact),
        b"hash" => Step::of(&[b"HGETALL", key], Rule::Pairs),
        b"set" => Step::of(&[b"SMEMBERS", key], Rule::Unordered),
        b"zset" => Step::of(&[b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"], Rule::Exact),
        b"stream" => Step::of(&[b"XRANGE", key, b"-", b"+"], Rule::Exact),
        _ => Step::of(&[b"GET", key], Rule::Exact),
    }
}

/// The reply to a step; for scans, all elements of the whole scan.
fn answer(client: &mut Client, step: &Step) -> io::Result<Value> {
    let reply = client.command(&step.arguments)?;
    if !step.rule.is_scan() || reply.is_error() {
        return Ok(reply);
    }
    follow_scan(client, step, reply)
}

/// Follows a scan from its first reply to its end. Elements of a plain scan may come twice, so they
/// are given once each; a reply that is not a scan's is given as it is.
fn follow_scan(client: &mut Client, step: &Step, first: Value) -> io::Result<Value> {
    let place = step.scan_cursor_place();
    let mut command = step.arguments.clone();
    let mut reply = first;
    let mut elements: Vec<Value> = Vec::new();
    for _ in 0..SCAN_CALLS_MAX {
        let Value::Array(parts) = &reply else { return Ok(reply) };
        let [cursor, Value::Array(items)] = &parts[..] else { return Ok(reply) };
        let Some(cursor) = cursor.as_text() else { return Ok(reply) };
        let width = if step.rule == Rule::ScanPairs { 2 } else { 1 };
        for item in items.chunks(width) {
            if !elements.chunks(width).any(|known| known == item) {
                elements.extend_from_slice(item);
            }
        }
        if cursor == b"0" {
            return Ok(Value::Array(elements));
        }
        command[place] = cursor.to_vec();
        reply = client.command(&command)?;
    }
    Ok(Value::Error(b"the scan does not end".to_vec()))
}
