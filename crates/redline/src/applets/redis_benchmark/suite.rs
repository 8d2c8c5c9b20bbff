//! The tests of redis-benchmark as a list: the names that choose them, their titles, and what they send.
//!
//! The order is the order in which they run: later tests find what earlier ones left (LRANGE reads the list of LPUSH).

use load::argument::Argument;
use load::plan::CommandText;

use super::flags::Options;

/// One test.
pub struct Test {
    /// Names with which `-t` chooses it.
    pub names: &'static [&'static str],
    /// Its title in reports.
    pub title: &'static str,
    /// True when it also runs without being named: the tests of Redis. Those of Valkey alone have to be named.
    pub by_default: bool,
    /// What it sends.
    pub command: fn(&Options) -> CommandText,
    /// A command that is sent once before it.
    pub before: Option<fn(&Options) -> Vec<String>>,
}

const fn test(
    names: &'static [&'static str],
    title: &'static str,
    command: fn(&Options) -> CommandText,
) -> Test {
    Test { names, title, by_default: true, command, before: None }
}

const fn named_only(
    names: &'static [&'static str],
    title: &'static str,
    command: fn(&Options) -> CommandText,
) -> Test {
    Test { names, title, by_default: false, command, before: None }
}

/// What the tests' keys begin with.
const KEY_NAMES: [&str; 7] = ["key", "counter", "mylist", "myset", "myhash", "myzset", "mystream"];

/// All tests in their order.
pub const TESTS: &[Test] = &[
    test(&["ping_inline", "ping"], "PING_INLINE", |_| CommandText::Inline("PING".into())),
    test(&["ping_mbulk", "ping"], "PING_MBULK", |_| words("PING")),
    test(&["set"], "SET", |_| words("SET key:__rand_int__ __data__")),
    test(&["get"], "GET", |_| words("GET key:__rand_int__")),
    test(&["incr"], "INCR", |_| words("INCR counter:__rand_int__")),
    test(&["lpush"], "LPUSH", |_| words("LPUSH mylist __data__")),
    test(&["rpush"], "RPUSH", |_| words("RPUSH mylist __data__")),
    test(&["lpop"], "LPOP", |_| words("LPOP mylist")),
    test(&["rpop"], "RPOP", |_| words("RPOP mylist")),
    test(&["sadd"], "SADD", |_| words("SADD myset element:__rand_int__")),
    test(&["hset"], "HSET", |_| words("HSET myhash element:__rand_int__ __data__")),
    named_only(&["hset_listpack"], "HSET_LISTPACK (4 fields)", |_| {
        words("HSET myhash:__rand_int__ f1 __data__ f2 __data__ f3 __data__ f4 __data__")
    }),
    named_only(&["hget_listpack", "hget"], "HGET_LISTPACK (4 fields)", |_| {
        words("HGET myhash:__rand_int__ f1")
    }),
    test(&["spop"], "SPOP", |_| words("SPOP myset")),
    test(&["zadd"], "ZADD", |options| {
        let score = if options.keyspace.is_some() { "__rand_int__" } else { "0" };
        words(&format!("ZADD myzset {score} element:__rand_int__"))
    }),
    test(&["zpopmin"], "ZPOPMIN", |_| words("ZPOPMIN myzset")),
    test(
        &["lrange", "lrange_100", "lrange_300", "lrange_500", "lrange_600"],
        "LPUSH (needed to benchmark LRANGE)",
        |_| words("LPUSH mylist __data__"),
    ),
    test(&["lrange", "lrange_100"], "LRANGE_100 (first 100 elements)", |_| {
        words("LRANGE mylist 0 99")
    }),
    test(&["lrange", "lrange_300"], "LRANGE_300 (first 300 elements)", |_| {
        words("LRANGE mylist 0 299")
    }),
    test(&["lrange", "lrange_500"], "LRANGE_500 (first 500 elements)", |_| {
        words("LRANGE mylist 0 499")
    }),
    test(&["lrange", "lrange_600"], "LRANGE_600 (first 600 elements)", |_| {
        words("LRANGE mylist 0 599")
    }),
    test(&["mset"], "MSET (10 keys)", |_| {
        words(&format!("MSET{}", " key:__rand_int__ __data__".repeat(10)))
    }),
    named_only(&["mget"], "MGET (10 keys)", |_| {
        words(&format!("MGET{}", " key:__rand_int__".repeat(10)))
    }),
    test(&["xadd"], "XADD", |_| words("XADD mystream * myfield __data__")),
    named_only(&["function_load"], "FUNCTION LOAD", |options| {
        CommandText::arguments(function_load(options.functions))
    }),
    Test {
        names: &["fcall"],
        title: "FCALL",
        by_default: false,
        command: |options| {
            let keys = (1..=options.function_keys).map(|nth| match options.cluster {
                true => format!("key{nth}:{{tag}}"),
                false => format!("key{nth}"),
            });
            let call = ["FCALL".to_string(), function_name(1), options.function_keys.to_string()];
            CommandText::arguments(call.into_iter().chain(keys))
        },
        before: Some(|_| function_load(1).to_vec()),
    },
];

/// A test's command as a cluster gets it: each key has a `{tag}` behind its name.
pub fn tagged(command: CommandText) -> CommandText {
    let CommandText::Arguments(arguments) = command else { return command };
    let tag = |argument: Argument| {
        let text = argument.as_bytes();
        let end = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        match KEY_NAMES.iter().any(|key| key.as_bytes() == name) {
            true => Argument([name, b":{tag}", rest].concat()),
            false => argument,
        }
    };
    CommandText::Arguments(arguments.into_iter().map(tag).collect())
}

/// The tests that a list of names chooses; without a list, those that run by default.
pub fn chosen(tests: Option<&str>) -> impl Iterator<Item = &'static Test> {
    TESTS.iter().filter(move |test| match tests {
        None => test.by_default,
        Some(list) => list.split(',').any(|name| test.names.contains(&name)),
    })
}

fn words(line: &str) -> CommandText {
    CommandText::arguments(line.split(' '))
}

fn function_name(nth: u32) -> String {
    format!("foo{nth}")
}

/// The command that loads a library of functions, each of which returns a constant.
fn function_load(functions: u32) -> [String; 4] {
    let mut library = String::from("#!lua name=benchlib\n");
    for nth in 1..=functions {
        let name = function_name(nth);
        library.push_str(&format!(
            "redis.register_function('{name}', function(keys, args) return 0 end)\n"
        ));
    }
    ["FUNCTION".into(), "LOAD".into(), "REPLACE".into(), library]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(list: Option<&str>) -> Vec<&'static str> {
        chosen(list).map(|test| test.title).collect()
    }

    #[test]
    fn keys_get_tags_and_nothing_else_does() {
        let tags = |name: &str| {
            let test = TESTS.iter().find(|test| test.names.contains(&name)).unwrap();
            let CommandText::Arguments(words) = tagged((test.command)(&Options::default())) else {
                return String::new();
            };
            let words = words.iter().map(|word| String::from_utf8_lossy(word.as_bytes()));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(tags("set"), "SET key:{tag}:__rand_int__ __data__");
        assert_eq!(tags("lpush"), "LPUSH mylist:{tag} __data__");
        assert_eq!(tags("sadd"), "SADD myset:{tag} element:__rand_int__");
        assert_eq!(tags("xadd"), "XADD mystream:{tag} * myfield __data__");
        assert_eq!(tags("mget").matches(":{tag}:").count(), 10);
    }

    #[test]
    fn the_default_suite_is_that_of_redis() {
        let expected = [
            "PING_INLINE",
            "PING_MBULK",
            "SET",
            "GET",
            "INCR",
            "LPUSH",
            "RPUSH",
            "LPOP",
            "RPOP",
            "SADD",
            "HSET",
            "SPOP",
            "ZADD",
            "ZPOPMIN",
            "LPUSH (needed to benchmark LRANGE)",
            "LRANGE_100 (first 100 elements)",
            "LRANGE_300 (first 300 elements)",
            "LRANGE_500 (first 500 elements)",
            "LRANGE_600 (first 600 elements)",
            "MSET (10 keys)",
            "XADD",
        ];
        assert_eq!(titles(None), expected);
    }

    #[test]
    fn names_choose_and_unknown_ones_choose_nothing() {
        assert_eq!(titles(Some("get,ping,nothing,")), ["PING_INLINE", "PING_MBULK", "GET"]);
        assert_eq!(
            titles(Some("lrange_300")),
            ["LPUSH (needed to benchmark LRANGE)", "LRANGE_300 (first 300 elements)"]
        );
        assert_eq!(titles(Some("lrange")).len(), 5);
        assert_eq!(titles(Some("mget,fcall")), ["MGET (10 keys)", "FCALL"]);
        assert!(titles(Some("")).is_empty());
    }

    #[test]
    fn scores_vary_with_the_members() {
        let zadd = chosen(Some("zadd")).next().unwrap();
        let mut options = Options::default();
        assert_eq!((zadd.command)(&options), words("ZADD myzset 0 element:__rand_int__"));
        options.keyspace = Some(5);
        assert_eq!(
            (zadd.command)(&options),
            words("ZADD myzset __rand_int__ element:__rand_int__")
        );
    }
}
