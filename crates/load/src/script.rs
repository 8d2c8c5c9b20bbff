//! Commands from a Lua script: `generate()` returns the words of the next one.
//!
//! The globals are those of resp-benchmark: `bench.key(range, law, name)`, `bench.value(bytes)` and `bench.rand(range)` make
//! functions that draw, `json.encode(value)` makes text. Each connection has a virtual machine of its own, and its random
//! numbers, `math.random` among them, come from the connection's stream: the same seed gives the same commands.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Function, HookTriggers, Lua, Table, Value, VmState};
use rand_core::{RngCore as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use resp::encode;

use crate::distribution::{Distribution, Turn, uniform};
use crate::template::write_alphanumerics;

/// Most memory of one virtual machine, in bytes.
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// Longest `bench.value`, in bytes: what fits into the memory with room to spare.
const VALUE_BYTES_MAX: usize = 16 << 20;
/// Instructions between two looks at how many a command has taken, and the looks that are too many: fifty million instructions
/// take about a second.
const INSTRUCTIONS_A_LOOK: u32 = 1_000_000;
const LOOKS_MAX: u64 = 50;
/// Tables within tables that `json.encode` follows: a table that holds itself has no end.
const DEPTH_MAX: usize = 100;
/// Largest seed that `math.randomseed` takes on every platform.
const SEED_MASK: u64 = 0x7fff_ffff;

/// A script that runs, for one connection.
#[derive(Debug)]
pub(crate) struct Script {
    lua: Lua,
    generate: Function,
    looks: Arc<AtomicU64>,
}

/// What the functions of a script draw from.
#[derive(Clone)]
struct Source {
    random: Arc<Mutex<Xoshiro256PlusPlus>>,
    /// How often each named sequence has been drawn.
    sequences: Arc<Mutex<HashMap<String, Arc<AtomicU64>>>>,
    index: u64,
    connections: u64,
}

impl Script {
    /// Loads a script for connection `index` of `connections`.
    ///
    /// # Errors
    /// What Lua says about the text, or that it defines no function `generate`.
    pub(crate) fn new(text: &str, seed: u64, index: u64, connections: u64) -> Result<Self, String> {
        let lua = Lua::new();
        let looks = Arc::new(AtomicU64::new(0));
        let source = Source {
            random: Arc::new(Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed))),
            sequences: Arc::default(),
            index,
            connections: connections.max(1),
        };
        let generate = prepare(&lua, text, &source, &looks).map_err(|error| sentence(&error))?;
        let generate = generate.ok_or("the script defines no function generate()")?;
        Ok(Self { lua, generate, looks })
    }

    /// Appends the next command.
    ///
    /// # Errors
    /// What Lua says, or why what came back is no command.
    pub(crate) fn append(&self, out: &mut Vec<u8>) -> Result<(), String> {
        self.looks.store(0, Ordering::Relaxed);
        let words: Value = self.generate.call(()).map_err(|error| sentence(&error))?;
        let Value::Table(words) = words else {
            return Err(format!("generate() returned a {} instead of a table", words.type_name()));
        };
        let count = words.raw_len();
        if count == 0 {
            return Err("generate() returned an empty table".into());
        }
        encode::header(out, count);
        for nth in 1..=count {
            let word: Value = words.raw_get(nth).map_err(|error| sentence(&error))?;
            let name = word.type_name();
            let text = self.lua.coerce_string(word).map_err(|error| sentence(&error))?;
            let text = text.ok_or_else(|| {
                format!("generate() returned a {name} as word {nth}: words are strings and numbers")
            })?;
            encode::argument(out, &text.as_bytes());
        }
        Ok(())
    }
}

/// Sets limits and globals, runs the script, and gives its function.
fn prepare(
    lua: &Lua,
    text: &str,
    source: &Source,
    looks: &Arc<AtomicU64>,
) -> mlua::Result<Option<Function>> {
    lua.set_memory_limit(MEMORY_BYTES_MAX)?;
    let looks = Arc::clone(looks);
    let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_A_LOOK);
    lua.set_hook(triggers, move |_, _| {
        if looks.fetch_add(1, Ordering::Relaxed) >= LOOKS_MAX {
            return Err(mlua::Error::runtime("the script takes too long"));
        }
        Ok(VmState::Continue)
    })?;
    let globals = lua.globals();
    globals.set("bench", bench(lua, source)?)?;
    let json = lua.create_table()?;
    let encode = |lua: &Lua, value: Value| {
        let mut text = Vec::new();
        append_json(&value, 0, &mut text)?;
        lua.create_string(text)
    };
    json.set("encode", lua.create_function(encode)?)?;
    globals.set("json", json)?;
    let seed = source.locked().next_u64() & SEED_MASK;
    globals.get::<Table>("math")?.get::<Function>("randomseed")?.call::<()>(seed)?;
    lua.load(text).set_name("=script").exec()?;
    match globals.get::<Value>("generate")? {
        Value::Function(generate) => Ok(Some(generate)),
        _ => Ok(None),
    }
}

/// The table `bench`.
fn bench(lua: &Lua, source: &Source) -> mlua::Result<Table> {
    let bench = lua.create_table()?;
    let own = source.clone();
    let key = move |lua: &Lua, (range, law, name): (u64, String, Option<String>)| {
        let own = own.clone();
        let law = match law.as_str() {
            _ if range == 0 => return Err(mlua::Error::runtime("the range must be at least 1")),
            "sequence" => {
                let count = own.sequence(name.unwrap_or_default());
                return lua.create_function(move |_, ()| {
                    let turn = count.fetch_add(1, Ordering::Relaxed);
                    Ok((own.index + turn * own.connections) % range)
                });
            }
            law => Distribution::named(law, range),
        };
        // Laws that count have been told apart above.
        let turn = Turn { own: 0, index: own.index, connections: own.connections };
        let law = law.ok_or_else(|| {
            mlua::Error::runtime("a key is drawn by uniform, sequence or zipfian")
        })?;
        lua.create_function(move |_, ()| Ok(law.draw(&mut own.locked(), turn)))
    };
    bench.set("key", lua.create_function(key)?)?;
    let own = source.clone();
    let value = move |lua: &Lua, bytes: usize| {
        if bytes > VALUE_BYTES_MAX {
            return Err(mlua::Error::runtime("a value is at most 16 MiB"));
        }
        let own = own.clone();
        lua.create_function(move |lua, ()| {
            let mut text = vec![b'0'; bytes];
            write_alphanumerics(&mut own.locked(), &mut text);
            lua.create_string(text)
        })
    };
    bench.set("value", lua.create_function(value)?)?;
    let own = source.clone();
    let rand = move |lua: &Lua, range: u64| {
        if range == 0 {
            return Err(mlua::Error::runtime("the range must be at least 1"));
        }
        let own = own.clone();
        lua.create_function(move |_, ()| Ok(uniform(&mut own.locked(), range)))
    };
    bench.set("rand", lua.create_function(rand)?)?;
    Ok(bench)
}

impl Source {
    /// Only one thread works on a connection, so nobody waits here; a random state is good whatever happened.
    fn locked(&self) -> std::sync::MutexGuard<'_, Xoshiro256PlusPlus> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sequence(&self, name: String) -> Arc<AtomicU64> {
        let mut sequences = self.sequences.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(sequences.entry(name).or_default())
    }
}

/// A value as JSON. A table with a first element is an array up to its length; any other is an object, whose names
/// are sorted, so that the text repeats.
fn append_json(value: &Value, depth: usize, out: &mut Vec<u8>) -> mlua::Result<()> {
    match value {
        Value::Nil => out.extend_from_slice(b"null"),
        Value::Boolean(truth) => out.extend_from_slice(truth.to_string().as_bytes()),
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Number(number) if number.is_finite() => {
            out.extend_from_slice(serde_json::json!(number).to_string().as_bytes());
        }
        Value::Number(_) => out.extend_from_slice(b"null"),
        Value::String(text) => append_json_text(&text.to_str()?, out),
        Value::Table(_) if depth >= DEPTH_MAX => {
            return Err(mlua::Error::runtime("JSON: tables are nested too deeply"));
        }
        Value::Table(table) if table.raw_len() > 0 => {
            for nth in 1..=table.raw_len() {
                out.push(if nth == 1 { b'[' } else { b',' });
                append_json(&table.raw_get(nth)?, depth + 1, out)?;
            }
            out.push(b']');
        }
        Value::Table(table) => {
            let mut members: Vec<(String, Value)> = Vec::new();
            for pair in table.pairs::<Value, Value>() {
                let (name, member) = pair?;
                let name = match &name {
                    Value::String(text) => text.to_str()?.to_owned(),
                    Value::Integer(number) => number.to_string(),
                    Value::Number(number) => number.to_string(),
                    _ => return Err(mlua::Error::runtime("JSON: names are strings or numbers")),
                };
                members.push((name, member));
            }
            members.sort_by(|left, right| left.0.cmp(&right.0));
            out.push(b'{');
            for (nth, (name, member)) in members.iter().enumerate() {
                if nth > 0 {
                    out.push(b',');
                }
                append_json_text(name, out);
                out.push(b':');
                append_json(member, depth + 1, out)?;
            }
            out.push(b'}');
        }
        other => {
            let sentence = format!("JSON: a {} has no text", other.type_name());
            return Err(mlua::Error::runtime(sentence));
        }
    }
    Ok(())
}

fn append_json_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(serde_json::json!(text).to_string().as_bytes());
}

/// The first line of an error: the others are Lua's stack.
fn sentence(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => cause.to_string(),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::Script;

    fn commands(text: &str, seed: u64, index: u64, count: usize) -> Result<Vec<String>, String> {
        let script = Script::new(text, seed, index, 4)?;
        (0..count)
            .map(|_| {
                let mut out = Vec::new();
                script.append(&mut out)?;
                let text = String::from_utf8(out).unwrap();
                Ok(text.split("\r\n").skip(2).step_by(2).collect::<Vec<_>>().join(" "))
            })
            .collect()
    }

    const DRAWS: &str = "local k = bench.key(1000, 'zipfian', 'k') local v = bench.value(5) local r = bench.rand(10)
        function generate() return {'SET', k(), v(), r(), math.random(1000)} end";

    #[test]
    fn the_same_seed_and_connection_give_the_same_commands() {
        let first = commands(DRAWS, 7, 0, 20).unwrap();
        assert_eq!(first, commands(DRAWS, 7, 0, 20).unwrap());
        assert_ne!(first, commands(DRAWS, 8, 0, 20).unwrap());
        let words: Vec<&str> = first[0].split(' ').collect();
        assert_eq!((words[0], words[2].len()), ("SET", 5), "{first:?}");
        assert!(words[3].parse::<u64>().unwrap() < 10);
    }

    #[test]
    fn sequences_of_one_name_share_their_turns_and_no_number_is_drawn_twice() {
        let text =
            "local a = bench.key(100, 'sequence', 's') local b = bench.key(100, 'sequence', 's')
            function generate() return {a(), b()} end";
        assert_eq!(commands(text, 1, 0, 2).unwrap(), ["0 4", "8 12"]);
        assert_eq!(commands(text, 1, 3, 1).unwrap(), ["3 7"]);
    }

    #[test]
    fn json_is_that_of_the_original_with_sorted_names() {
        for (value, text) in [
            (
                "{b=1, a='x', c={1, 2, {}}, d={}, e=1.5, f=true}",
                r#"{"a":"x","b":1,"c":[1,2,{}],"d":{},"e":1.5,"f":true}"#,
            ),
            ("{1, 2, nil, 4}", "[1,2,null,4]"),
            ("{[5]='a', x='c'}", r#"{"5":"a","x":"c"}"#),
            ("'a\"b\\n'", r#""a\"b\n""#),
            ("nil", "null"),
        ] {
            let script = format!("function generate() return {{json.encode({value})}} end");
            assert_eq!(commands(&script, 0, 0, 1).unwrap(), [text], "{value}");
        }
    }

    #[test]
    fn what_is_no_script_is_told_in_a_sentence() {
        for (text, part) in [
            ("x y", "script:1:"),
            ("", "defines no function generate()"),
            ("function generate() error('boo') end", "boo"),
            ("function generate() return 5 end", "returned a integer"),
            ("function generate() return {} end", "empty table"),
            ("function generate() return {'GET', true} end", "returned a boolean as word 2"),
            ("local k = bench.key(5, 'nope', 'x')", "uniform, sequence or zipfian"),
            ("local k = bench.key(0, 'uniform', 'x')", "at least 1"),
            ("function generate() while true do end end", "takes too long"),
            ("local t = {} t.t = t function generate() return {json.encode(t)} end", "too deeply"),
            ("local s = 'x' while true do s = s .. s end", "not enough memory"),
        ] {
            let error = commands(text, 0, 0, 1).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
