//! From rendered commands to parts that each belong to one slot: which commands the plan has, where their keys are, and
//! what is divided.
//!
//! A request is sent whole to the node of its keys' slot. `MGET`, `MSET`, `DEL`, `UNLINK`, `EXISTS` and `TOUCH` of keys in
//! several slots become one command a slot, as cluster clients do; the request is answered when all of these are. Any other
//! command whose keys lie in several slots is sent as it is, and the server's `CROSSSLOT` is its answer.

use std::ops::Range;

use resp::{Value, ValueDecoder, encode};
use text::slot::key_slot;

use super::keys::{self, CommandKeys, KeyRule};
use super::tags;
use crate::connect;
use crate::error::RunError;
use crate::generator::Mix;
use crate::plan::Target;

/// What routing needs to know of all commands of a plan.
#[derive(Debug, Clone)]
pub struct Routes {
    entries: Vec<EntryRoute>,
    /// Every command with keys has them in a `{tag}`.
    is_tagged: bool,
}

/// What routing needs to know of one entry of the mix.
#[derive(Debug, Clone)]
pub struct EntryRoute {
    commands: Vec<CommandKeys>,
    /// Its commands belong together on one connection: a transaction.
    is_transaction: bool,
}

/// A command, or what a slot gets of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The slot of its keys; `None` for a command without any.
    pub slot: Option<u16>,
    /// Which command of the entry it belongs to.
    pub command: usize,
    /// How many parts that command has.
    pub siblings: u32,
    /// It only reads.
    pub reads_only: bool,
    /// It may be sent again when a node refuses it.
    pub may_retry: bool,
    /// Where its bytes are: in the entry, or among those put together anew.
    bytes: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Bytes {
    OfEntry(Range<usize>),
    Anew(Range<usize>),
}

/// Divides entries; its buffers are reused.
#[derive(Debug, Default)]
pub struct Splitter {
    parts: Vec<Part>,
    anew: Vec<u8>,
    arguments: Vec<Range<usize>>,
    keys: Vec<usize>,
    slots: Vec<(u16, usize)>,
}

impl Routes {
    /// Finds out where the keys of all commands are, by their names; the server at `target` is asked about unknown ones.
    ///
    /// # Errors
    /// What keeps the server from answering.
    pub fn compile(mix: &Mix, with_tags: bool, target: &Target) -> Result<Self, RunError> {
        let mut entries = Vec::new();
        let mut is_tagged = with_tags;
        for nth in 0..mix.entries() {
            let sample = mix.sample(nth);
            let mut entry = EntryRoute { commands: Vec::new(), is_transaction: false };
            let (mut at, mut arguments, mut keys) = (0, Vec::new(), Vec::new());
            while at < sample.len() {
                let bytes = &sample[at..];
                at += keys::arguments(bytes, &mut arguments);
                let words: Vec<&[u8]> = arguments.iter().map(|span| &bytes[span.clone()]).collect();
                let name = words.first().copied().unwrap_or_default();
                let command = match CommandKeys::of(name) {
                    Some(command) => command,
                    None => asked(target, &words)?,
                };
                command.rule.positions(bytes, &arguments, &mut keys);
                let has_tag =
                    |key: &usize| memchr::memmem::find(words[*key], tags::PLACEHOLDER).is_some();
                is_tagged &= keys.iter().all(has_tag);
                entry.is_transaction |= name.eq_ignore_ascii_case(b"MULTI");
                entry.commands.push(command);
            }
            entries.push(entry);
        }
        Ok(Self { entries, is_tagged })
    }

    /// The routes of one entry of the mix.
    pub fn entry(&self, nth: usize) -> &EntryRoute {
        &self.entries[nth]
    }

    /// True when every key of every command lies in a slot of the client's own node.
    pub fn is_tagged(&self) -> bool {
        self.is_tagged
    }

    /// True when some command writes, or has no keys.
    pub fn has_writes(&self) -> bool {
        self.entries.iter().flat_map(|entry| &entry.commands).any(|command| !command.reads_only)
    }
}

impl Splitter {
    /// Divides a rendered entry into parts, which [`Splitter::parts`] then gives.
    pub fn split(&mut self, entry: &[u8], route: &EntryRoute) {
        self.parts.clear();
        self.anew.clear();
        if let [command] = route.commands.as_slice() {
            if command.rule == (KeyRule::Range { first: 1, last: 1, step: 1 }) {
                let slot = keys::argument(entry, 1).map(|key| key_slot(&entry[key]));
                self.push(slot, 0, command, true, 0..entry.len());
            } else {
                keys::arguments(entry, &mut self.arguments);
                self.command(entry, 0, 0..entry.len(), command, true);
            }
            return;
        }
        let mut at = 0;
        for (nth, command) in route.commands.iter().enumerate() {
            let length = keys::arguments(&entry[at..], &mut self.arguments);
            let bytes = at..at + length;
            at += length;
            self.command(entry, nth, bytes, command, !route.is_transaction);
        }
        // What has no key goes where the first key leads, and all of a transaction does.
        let first = self.parts.iter().find_map(|part| part.slot);
        for part in &mut self.parts {
            if part.slot.is_none() || route.is_transaction {
                part.slot = first;
            }
            part.reads_only &= !route.is_transaction;
        }
    }

    /// The parts of the last entry, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The bytes of a part of the last entry, which is given again.
    pub fn bytes<'a>(&'a self, part: &Part, entry: &'a [u8]) -> &'a [u8] {
        match &part.bytes {
            Bytes::OfEntry(range) => &entry[range.clone()],
            Bytes::Anew(range) => &self.anew[range.clone()],
        }
    }

    /// Adds the parts of the command at `bytes`, whose arguments have been found.
    fn command(
        &mut self,
        entry: &[u8],
        nth: usize,
        bytes: Range<usize>,
        command: &CommandKeys,
        is_free: bool,
    ) {
        let text = &entry[bytes.clone()];
        command.rule.positions(text, &self.arguments, &mut self.keys);
        self.slots.clear();
        let arguments = &self.arguments;
        let slot_of = |key: &usize| (key_slot(&text[arguments[*key].clone()]), *key);
        self.slots.extend(self.keys.iter().map(slot_of));
        let first = self.slots.first().map(|(slot, _)| *slot);
        let is_one = self.slots.iter().all(|(slot, _)| Some(*slot) == first);
        if is_one || !command.divides || !is_free {
            return self.push(first, nth, command, is_free, bytes);
        }
        let KeyRule::Range { step, .. } = command.rule else { unreachable!("divided by ranges") };
        // Sorting keeps the order of keys within a slot: the last of equal keys in an MSET must win.
        self.slots.sort_by_key(|(slot, _)| *slot);
        let before = self.parts.len();
        for run in self.slots.chunk_by(|one, other| one.0 == other.0) {
            let start = self.anew.len();
            encode::header(&mut self.anew, 1 + run.len() * step);
            encode::argument(&mut self.anew, &text[self.arguments[0].clone()]);
            for (_, key) in run {
                for argument in self.arguments[*key..].iter().take(step) {
                    encode::argument(&mut self.anew, &text[argument.clone()]);
                }
            }
            let bytes = Bytes::Anew(start..self.anew.len());
            self.parts.push(part(Some(run[0].0), nth, command, true, bytes));
        }
        let siblings = (self.parts.len() - before) as u32;
        self.parts[before..].iter_mut().for_each(|part| part.siblings = siblings);
    }

    fn push(
        &mut self,
        slot: Option<u16>,
        nth: usize,
        command: &CommandKeys,
        is_free: bool,
        bytes: Range<usize>,
    ) {
        self.parts.push(part(slot, nth, command, is_free, Bytes::OfEntry(bytes)));
    }
}

fn part(
    slot: Option<u16>,
    nth: usize,
    command: &CommandKeys,
    may_retry: bool,
    bytes: Bytes,
) -> Part {
    Part { slot, command: nth, siblings: 1, reads_only: command.reads_only, may_retry, bytes }
}

/// What the server says of a command; one that it does not know goes to any node, for that to say so.
fn asked(target: &Target, words: &[&[u8]]) -> Result<CommandKeys, RunError> {
    let words: Vec<String> =
        words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let unknown = CommandKeys { rule: KeyRule::Keyless, reads_only: false, divides: false };
    let Some(name) = words.first() else { return Ok(unknown) };
    let reply = connect::ask(target, &["COMMAND", "INFO", name])?;
    let Some((told, is_movable)) = information(&reply) else { return Ok(unknown) };
    if !is_movable {
        return Ok(told);
    }
    let question: Vec<&str> =
        ["COMMAND", "GETKEYS"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let reply = connect::ask(target, &question)?;
    let Ok(Some((Value::Array(found), _))) = ValueDecoder::new().next(&reply) else {
        return Ok(told);
    };
    let mut positions = Vec::new();
    let mut from = 1;
    for key in found.iter().filter_map(Value::as_bytes) {
        let rest = words.iter().enumerate().skip(from);
        if let Some((at, _)) = rest.into_iter().find(|(_, word)| word.as_bytes() == key) {
            positions.push(at);
            from = at + 1;
        }
    }
    Ok(CommandKeys { rule: KeyRule::At(positions), ..told })
}

/// Reads an answer to `COMMAND INFO`: what it tells of the keys, and whether their places depend on the arguments.
fn information(reply: &[u8]) -> Option<(CommandKeys, bool)> {
    let (value, _) = ValueDecoder::new().next(reply).ok()??;
    let Value::Array(commands) = value else { return None };
    let Some(Value::Array(command)) = commands.first() else { return None };
    let Some(Value::Array(flags) | Value::Set(flags)) = command.get(2) else { return None };
    let has = |flag: &str| flags.iter().any(|own| own.as_bytes() == Some(flag.as_bytes()));
    let number = |at: usize| match command.get(at) {
        Some(Value::Integer(number)) => Some(*number),
        _ => None,
    };
    let keys = CommandKeys::told(number(3)?, number(4)?, number(5)?, has("readonly"));
    Some((keys, has("movablekeys")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(names: &[&str]) -> EntryRoute {
        EntryRoute {
            commands: names.iter().map(|name| CommandKeys::of(name.as_bytes()).unwrap()).collect(),
            is_transaction: names[0] == "MULTI",
        }
    }

    fn entry(commands: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for command in commands {
            encode::command(&mut bytes, &command.split(' ').collect::<Vec<_>>());
        }
        bytes
    }

    fn parts(names: &[&str], commands: &[&str]) -> Vec<(Option<u16>, u32, String)> {
        let entry = entry(commands);
        let mut splitter = Splitter::default();
        splitter.split(&entry, &route(names));
        let words = |part: &Part| {
            let bytes = splitter.bytes(part, &entry);
            let mut spans = Vec::new();
            assert_eq!(keys::arguments(bytes, &mut spans), bytes.len());
            let words: Vec<_> =
                spans.into_iter().map(|span| String::from_utf8_lossy(&bytes[span])).collect();
            (part.slot, part.siblings, words.join(" "))
        };
        splitter.parts().iter().map(words).collect()
    }

    #[test]
    fn one_key_leads_to_its_slot() {
        assert_eq!(parts(&["GET"], &["GET foo"]), [(Some(12_182), 1, "GET foo".into())]);
        assert_eq!(parts(&["PING"], &["PING"]), [(None, 1, "PING".into())]);
        assert_eq!(parts(&["GET"], &["GET"]), [(None, 1, "GET".into())]);
    }

    #[test]
    fn keys_of_several_slots_are_grouped_by_slot() {
        let expected = [
            (Some(5_061), 2, "MSET bar 2 {bar}x 4".to_owned()),
            (Some(12_182), 2, "MSET foo 1 foo 3".to_owned()),
        ];
        assert_eq!(parts(&["MSET"], &["MSET foo 1 bar 2 foo 3 {bar}x 4"]), expected);
        assert_eq!(parts(&["MGET"], &["MGET {a}1 {a}2"]).len(), 1);
        let whole = parts(&["SINTER"], &["SINTER foo bar"]);
        assert_eq!(whole, [(Some(12_182), 1, "SINTER foo bar".into())]);
    }

    #[test]
    fn sequences_are_routed_command_by_command_and_transactions_as_a_whole() {
        let free = parts(&["GET", "PING", "GET"], &["GET foo", "PING", "GET bar"]);
        let slots: Vec<_> = free.iter().map(|part| part.0).collect();
        assert_eq!(slots, [Some(12_182), Some(12_182), Some(5_061)]);
        let commands = ["MULTI", "SET", "MGET", "EXEC"];
        let bound = parts(&commands, &["MULTI", "SET foo 1", "MGET foo bar", "EXEC"]);
        assert_eq!(bound.len(), 4);
        assert!(bound.iter().all(|part| part.0 == Some(12_182)));
    }

    #[test]
    fn the_server_s_word_on_a_command_is_understood() {
        let reply = b"*1\r\n*7\r\n$4\r\nfoo1\r\n:-3\r\n*2\r\n+readonly\r\n+fast\r\n:2\r\n:-1\r\n:1\r\n*0\r\n";
        let (keys, is_movable) = information(reply).unwrap();
        assert_eq!(keys.rule, KeyRule::Range { first: 2, last: -1, step: 1 });
        assert!(keys.reads_only && !is_movable);
        assert!(information(b"*1\r\n*-1\r\n").is_none());
        assert!(information(b"-ERR no\r\n").is_none());
    }
}
