//! The tests that `redline bench` runs when no command is given: one row each, and the keys they use.
//!
//! Texts are in the language of `load`'s templates, with three words replaced: `KEYS` by the number of keys, `GROUPS`
//! by that of collections, `BYTES` by the size of values. All keys begin with `redline:`, so that nobody else's are hit.

/// Elements of a collection that is read in full or by its fields.
const ELEMENTS: u64 = 100;

/// One test.
#[derive(Debug)]
pub struct Test {
    /// What `--tests` calls it.
    pub name: &'static str,
    /// What reports call it.
    pub title: &'static str,
    /// Label, weight and text of each command in its mix.
    pub mix: &'static [(&'static str, u32, &'static str)],
    /// The pipeline's depth, where the test is about that.
    pub pipeline: Option<u32>,
    /// The keys it uses.
    pub space: Option<&'static Space>,
}

/// Keys of one kind, which are made before the tests that read them and deleted after all.
#[derive(Debug)]
pub struct Space {
    /// The key, as a template that counts through all of them.
    pub key: &'static str,
    /// How many there are.
    pub count: Count,
    /// What makes one before the tests; absent when tests make their own.
    pub fill: Option<Fill>,
}

/// What makes one key: the command, then each element.
#[derive(Debug)]
pub struct Fill {
    /// The command's name.
    pub command: &'static str,
    /// What each element is.
    pub element: Element,
}

/// What a key is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// One value.
    Value,
    /// [`ELEMENTS`] values.
    Values,
    /// [`ELEMENTS`] fields, named by their number, with a value each.
    Fields,
}

/// A number that the options give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// `--keys`.
    Keys,
    /// A hundredth of it: collections.
    Groups,
}

/// The numbers behind the words in the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Keys.
    pub keys: u64,
    /// Bytes of a value.
    pub value_bytes: u32,
}

static STRINGS: Space = Space {
    key: "redline:{key sequence KEYS}",
    count: Count::Keys,
    fill: Some(Fill { command: "SET", element: Element::Value }),
};
static COUNTERS: Space =
    Space { key: "redline:counter:{key sequence KEYS}", count: Count::Keys, fill: None };
static LISTS: Space =
    Space { key: "redline:list:{key sequence GROUPS}", count: Count::Groups, fill: None };
static RANGES: Space = Space {
    key: "redline:range:{key sequence GROUPS}",
    count: Count::Groups,
    fill: Some(Fill { command: "RPUSH", element: Element::Values }),
};
static HASHES: Space = Space {
    key: "redline:hash:{key sequence GROUPS}",
    count: Count::Groups,
    fill: Some(Fill { command: "HSET", element: Element::Fields }),
};
static SETS: Space =
    Space { key: "redline:set:{key sequence GROUPS}", count: Count::Groups, fill: None };
static SORTED_SETS: Space =
    Space { key: "redline:zset:{key sequence GROUPS}", count: Count::Groups, fill: None };
static STREAMS: Space =
    Space { key: "redline:stream:{key sequence GROUPS}", count: Count::Groups, fill: None };

const PING: &str = "PING";
const SET: &str = "SET redline:{key uniform KEYS} {value BYTES}";
const GET: &str = "GET redline:{key uniform KEYS}";

/// All tests, in the order they are run.
pub static TESTS: &[Test] = &[
    Test { name: "ping", title: "PING", mix: &[("PING", 1, PING)], pipeline: None, space: None },
    Test {
        name: "set",
        title: "SET",
        mix: &[("SET", 1, SET)],
        pipeline: None,
        space: Some(&STRINGS),
    },
    Test {
        name: "get",
        title: "GET",
        mix: &[("GET", 1, GET)],
        pipeline: None,
        space: Some(&STRINGS),
    },
    Test {
        name: "mix",
        title: "GET:SET 10:1",
        mix: &[("GET", 10, GET), ("SET", 1, SET)],
        pipeline: None,
        space: Some(&STRINGS),
    },
    Test {
        name: "incr",
        title: "INCR",
        mix: &[("INCR", 1, "INCR redline:counter:{key uniform KEYS}")],
        pipeline: None,
        space: Some(&COUNTERS),
    },
    Test {
        name: "lpush",
        title: "LPUSH",
        mix: &[("LPUSH", 1, "LPUSH redline:list:{key uniform GROUPS} {value BYTES}")],
        pipeline: None,
        space: Some(&LISTS),
    },
    Test {
        name: "lrange_100",
        title: "LRANGE_100",
        mix: &[("LRANGE", 1, "LRANGE redline:range:{key uniform GROUPS} 0 99")],
        pipeline: None,
        space: Some(&RANGES),
    },
    Test {
        name: "hset",
        title: "HSET",
        mix: &[("HSET", 1, "HSET redline:hash:{key uniform GROUPS} {rand 100} {value BYTES}")],
        pipeline: None,
        space: Some(&HASHES),
    },
    Test {
        name: "hget",
        title: "HGET",
        mix: &[("HGET", 1, "HGET redline:hash:{key uniform GROUPS} {rand 100}")],
        pipeline: None,
        space: Some(&HASHES),
    },
    Test {
        name: "sadd",
        title: "SADD",
        mix: &[("SADD", 1, "SADD redline:set:{key uniform GROUPS} member:{rand 1000}")],
        pipeline: None,
        space: Some(&SETS),
    },
    Test {
        name: "zadd",
        title: "ZADD",
        mix: &[(
            "ZADD",
            1,
            "ZADD redline:zset:{key uniform GROUPS} {rand 1000000} member:{rand 1000}",
        )],
        pipeline: None,
        space: Some(&SORTED_SETS),
    },
    Test {
        name: "xadd",
        title: "XADD",
        mix: &[(
            "XADD",
            1,
            "XADD redline:stream:{key uniform GROUPS} MAXLEN ~ 1000 * field {value BYTES}",
        )],
        pipeline: None,
        space: Some(&STREAMS),
    },
    Test {
        name: "set_p16",
        title: "SET P=16",
        mix: &[("SET", 1, SET)],
        pipeline: Some(16),
        space: Some(&STRINGS),
    },
    Test {
        name: "get_p16",
        title: "GET P=16",
        mix: &[("GET", 1, GET)],
        pipeline: Some(16),
        space: Some(&STRINGS),
    },
];

/// The tests with these names, in the order of the list; all if there are no names.
///
/// # Errors
/// A sentence on a name that no test has.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Test>, String> {
    let is_chosen = |test: &&Test, name: &String| test.name.eq_ignore_ascii_case(name.trim());
    for name in names {
        if !TESTS.iter().any(|test| is_chosen(&test, name)) {
            let all: Vec<&str> = TESTS.iter().map(|test| test.name).collect();
            return Err(format!(
                "there is no test '{}'; there are {}",
                name.trim(),
                all.join(", ")
            ));
        }
    }
    let is_wanted =
        |test: &&Test| names.is_empty() || names.iter().any(|name| is_chosen(test, name));
    Ok(TESTS.iter().filter(is_wanted).collect())
}

impl Sizes {
    /// A text with the words replaced.
    pub fn apply(self, text: &str) -> String {
        text.replace("KEYS", &self.keys.to_string())
            .replace("GROUPS", &self.count(Count::Groups).to_string())
            .replace("BYTES", &self.value_bytes.to_string())
    }

    /// How many keys a space has.
    pub fn count(self, count: Count) -> u64 {
        match count {
            Count::Keys => self.keys,
            Count::Groups => (self.keys / 100).max(1),
        }
    }
}

impl Space {
    /// The command that makes one key, if tests do not make their own.
    pub fn fill_command(&self, sizes: Sizes) -> Option<String> {
        let fill = self.fill.as_ref()?;
        let elements = match fill.element {
            Element::Value => " {value BYTES}".to_owned(),
            Element::Values => " {value BYTES}".repeat(ELEMENTS as usize),
            Element::Fields => (0..ELEMENTS).map(|nth| format!(" {nth} {{value BYTES}}")).collect(),
        };
        Some(sizes.apply(&format!("{} {}{elements}", fill.command, self.key)))
    }

    /// Roughly the bytes of the command that makes one key.
    pub fn fill_bytes(&self, sizes: Sizes) -> u64 {
        let element_bytes = u64::from(sizes.value_bytes) + 16;
        match self.fill.as_ref().map(|fill| fill.element) {
            None | Some(Element::Value) => element_bytes,
            Some(Element::Values | Element::Fields) => ELEMENTS * element_bytes,
        }
    }

    /// The command that deletes one key.
    pub fn delete_command(&self, sizes: Sizes) -> String {
        sizes.apply(&format!("DEL {}", self.key))
    }
}

#[cfg(test)]
mod tests {
    use load::plan::{CommandText, Placeholders};
    use load::template::Template;

    use super::{Sizes, TESTS, chosen};

    const SIZES: Sizes = Sizes { keys: 1000, value_bytes: 8 };

    #[test]
    fn every_text_compiles_and_keeps_to_its_prefix() {
        let compiles = |text: String| {
            Template::compile(&[CommandText::Line(text.clone())], &Placeholders::default())
                .unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        for test in TESTS {
            for (_, weight, text) in test.mix {
                assert!(*weight > 0);
                let text = SIZES.apply(text);
                assert!(text == "PING" || text.contains(" redline:"), "{text}");
                compiles(text);
            }
            if let Some(space) = test.space {
                assert!(space.key.starts_with("redline:"));
                assert!(compiles(space.delete_command(SIZES)).has_sequence());
                if let Some(fill) = space.fill_command(SIZES) {
                    assert!(compiles(fill).has_sequence());
                }
            }
        }
    }

    #[test]
    fn names_choose_tests() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            chosen(&names).map(|tests| tests.iter().map(|test| test.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), TESTS.len());
        assert_eq!(names(&["GET", " set"]), Ok(vec!["set", "get"]));
        assert!(
            names(&["gett"]).unwrap_err().starts_with("there is no test 'gett'; there are ping,")
        );
    }
}
