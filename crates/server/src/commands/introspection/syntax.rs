//! The argument tree of a command, read from its syntax in the notation of the manual.
//!
//! Words in capitals (and signs such as `~`) are tokens, other words are parameters; `[…]` may be
//! left out, `<…>` groups, `|` separates alternatives, and `x [x ...]` is one `x` or more.

/// What an argument stands for, as `COMMAND DOCS` names types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A key.
    Key,
    /// Any bytes.
    String,
    /// A whole number.
    Integer,
    /// A floating-point number.
    Double,
    /// A glob pattern.
    Pattern,
    /// A point in time, in seconds or milliseconds.
    UnixTime,
    /// A word that stands for itself.
    PureToken,
    /// One of several.
    OneOf(Vec<Argument>),
    /// Several, in this order.
    Block(Vec<Argument>),
}

/// One argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub kind: Kind,
    /// The word before it, or that it is.
    pub token: Option<String>,
    /// It may be left out.
    pub is_optional: bool,
    /// It may come several times.
    pub is_multiple: bool,
    /// When it comes several times, so does its token.
    pub is_token_multiple: bool,
}

/// Reads a syntax. What is malformed is read as well as it can be: it is our own text, and tests
/// look at every command's.
pub fn parse(syntax: &str) -> Vec<Argument> {
    let words = split(syntax);
    let mut rest = words.as_slice();
    let mut alternatives = read_alternatives(&mut rest);
    let sequence = fold(alternatives.swap_remove(0));
    convert(&sequence, true)
}

/// The syntax as it is written.
#[derive(Clone, PartialEq, Debug)]
enum Item {
    Word(String),
    Ellipsis,
    /// Alternatives in brackets.
    Optional(Vec<Vec<Item>>),
    /// Alternatives in angle brackets.
    Choice(Vec<Vec<Item>>),
    /// One or more of this sequence.
    Repeat(Vec<Item>),
}

fn split(syntax: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut continues = false;
    for character in syntax.chars() {
        if character.is_whitespace() {
            continues = false;
        } else if "[]<>|".contains(character) {
            words.push(character.into());
            continues = false;
        } else if continues && let Some(word) = words.last_mut() {
            word.push(character);
        } else {
            words.push(character.into());
            continues = true;
        }
    }
    words
}

/// Reads sequences separated by bars, up to a closing bracket, which is taken, or the end.
fn read_alternatives(words: &mut &[String]) -> Vec<Vec<Item>> {
    let mut alternatives = vec![Vec::new()];
    while let Some((word, rest)) = words.split_first() {
        *words = rest;
        let item = match word.as_str() {
            "]" | ">" => break,
            "|" => {
                alternatives.push(Vec::new());
                continue;
            }
            "[" => Item::Optional(read_alternatives(words)),
            "<" => Item::Choice(read_alternatives(words)),
            "..." => Item::Ellipsis,
            word => Item::Word(word.into()),
        };
        if let Some(sequence) = alternatives.last_mut() {
            sequence.push(item);
        }
    }
    alternatives
}

/// Turns `x [x ...]`, `[x ...]` and `x ...` into repetitions.
fn fold(sequence: Vec<Item>) -> Vec<Item> {
    let mut folded: Vec<Item> = Vec::new();
    for item in sequence {
        match item {
            Item::Optional(mut alternatives) => {
                let is_repetition =
                    alternatives.len() == 1 && alternatives[0].last() == Some(&Item::Ellipsis);
                if !is_repetition {
                    let alternatives = alternatives.into_iter().map(fold).collect();
                    folded.push(Item::Optional(alternatives));
                    continue;
                }
                let mut again = alternatives.swap_remove(0);
                again.pop();
                let again = fold(again);
                if folded.ends_with(&again) {
                    folded.truncate(folded.len() - again.len());
                    folded.push(Item::Repeat(again));
                } else {
                    folded.push(Item::Optional(vec![vec![Item::Repeat(again)]]));
                }
            }
            Item::Choice(alternatives) => {
                folded.push(Item::Choice(alternatives.into_iter().map(fold).collect()));
            }
            Item::Ellipsis => {
                if let Some(last) = folded.pop() {
                    folded.push(Item::Repeat(vec![last]));
                }
            }
            item => folded.push(item),
        }
    }
    folded
}

/// The arguments of a sequence. Between brackets a token takes all that follows it with it; at the
/// top only what stands next to it.
fn convert(sequence: &[Item], is_top: bool) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut rest = sequence;
    while let Some((item, following)) = rest.split_first() {
        rest = following;
        let argument = match item {
            Item::Word(word) if is_token(word) => {
                let taken = if is_top {
                    let takes = matches!(
                        following.first(),
                        Some(Item::Choice(_) | Item::Repeat(_))
                    ) || matches!(following.first(), Some(Item::Word(next)) if !is_token(next));
                    &following[..usize::from(takes)]
                } else {
                    following
                };
                rest = &following[taken.len()..];
                with_token(word, convert(taken, false))
            }
            Item::Word(word) => parameter(word),
            Item::Ellipsis => continue,
            Item::Optional(alternatives) => Argument { is_optional: true, ..one_of(alternatives) },
            Item::Choice(alternatives) => one_of(alternatives),
            Item::Repeat(again) => {
                let has_token = matches!(again.first(), Some(Item::Word(word)) if is_token(word));
                let argument = joined(convert(again, false));
                Argument { is_multiple: true, is_token_multiple: has_token, ..argument }
            }
        };
        arguments.push(argument);
    }
    arguments
}

fn one_of(alternatives: &[Vec<Item>]) -> Argument {
    let mut arguments: Vec<Argument> =
        alternatives.iter().map(|sequence| joined(convert(sequence, false))).collect();
    if arguments.len() == 1 {
        return arguments.swap_remove(0);
    }
    compound(Kind::OneOf, arguments)
}

/// The only argument, or a block of all.
fn joined(mut arguments: Vec<Argument>) -> Argument {
    if arguments.len() == 1 {
        return arguments.swap_remove(0);
    }
    compound(Kind::Block, arguments)
}

fn compound(kind: fn(Vec<Argument>) -> Kind, arguments: Vec<Argument>) -> Argument {
    let names: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
    plain(names.join("-"), kind(arguments))
}

/// A token with what it takes along: nothing, one argument, or a block.
fn with_token(word: &str, taken: Vec<Argument>) -> Argument {
    let name = match word {
        "=" => "equal".into(),
        "~" => "approximately".into(),
        "*" => "auto-id".into(),
        "$" => "last-id".into(),
        word => word.to_ascii_lowercase(),
    };
    let argument = match taken.len() {
        0 => plain(name, Kind::PureToken),
        1 if taken[0].token.is_none() => joined(taken),
        _ => plain(name, Kind::Block(taken)),
    };
    Argument { token: Some(word.into()), ..argument }
}

fn parameter(word: &str) -> Argument {
    plain(word.into(), kind_of(word))
}

fn plain(name: String, kind: Kind) -> Argument {
    Argument {
        name,
        kind,
        token: None,
        is_optional: false,
        is_multiple: false,
        is_token_multiple: false,
    }
}

fn is_token(word: &str) -> bool {
    !word.contains(|character: char| character.is_ascii_lowercase())
}

/// The type that parameters of this name have throughout the manual.
fn kind_of(name: &str) -> Kind {
    match name {
        "key" | "key1" | "key2" | "newkey" | "source" | "destination" | "srckey" | "destkey" => {
            Kind::Key
        }
        "pattern" => Kind::Pattern,
        "score" | "timeout" | "weight" | "longitude" | "latitude" | "radius" | "width"
        | "height" | "min-score" | "max-score" => Kind::Double,
        "count" | "seconds" | "milliseconds" | "offset" | "index" | "increment" | "decrement"
        | "cursor" | "numkeys" | "port" | "start" | "stop" | "end" | "bit" | "len"
        | "min-match-len" | "db" | "destination-db" | "client-id" | "protover" | "maxage"
        | "rank" | "num-matches" | "entries-added" => Kind::Integer,
        _ if name.starts_with("unix-time") => Kind::UnixTime,
        _ => Kind::String,
    }
}

#[cfg(test)]
mod tests {
    use super::{Argument, Kind, parse};

    /// The tree in one line: `name:type`, `T=` before what has a token, `?` optional, `+` multiple,
    /// `++` multiple with its token.
    fn line(arguments: &[Argument]) -> String {
        let one = |argument: &Argument| {
            let kind = match &argument.kind {
                Kind::OneOf(inner) => format!("({})", line(inner).replace(' ', "|")),
                Kind::Block(inner) => format!("{{{}}}", line(inner).replace(' ', ",")),
                kind => format!("{kind:?}").to_ascii_lowercase(),
            };
            format!(
                "{}{}:{kind}{}{}{}",
                argument.token.as_ref().map_or(String::new(), |token| format!("{token}=")),
                argument.name,
                if argument.is_optional { "?" } else { "" },
                if argument.is_multiple { "+" } else { "" },
                if argument.is_token_multiple { "+" } else { "" },
            )
        };
        arguments.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_notation_of_the_manual_becomes_a_tree() {
        for (syntax, expected) in [
            ("", ""),
            ("key", "key:key"),
            ("key [key ...]", "key:key+"),
            ("[section [section ...]]", "section:string?+"),
            (
                "key [NX | XX] [GET]",
                "key:key nx-xx:(NX=nx:puretoken|XX=xx:puretoken)? GET=get:puretoken?",
            ),
            (
                "[EX seconds | PXAT unix-time-milliseconds | KEEPTTL]",
                "seconds-unix-time-milliseconds-keepttl:(EX=seconds:integer|\
                 PXAT=unix-time-milliseconds:unixtime|KEEPTTL=keepttl:puretoken)?",
            ),
            ("score member [score member ...]", "score-member:{score:double,member:string}+"),
            ("[LIMIT offset count]", "LIMIT=limit:{offset:integer,count:integer}?"),
            ("[GET pattern [GET pattern ...]]", "GET=pattern:pattern?++"),
            ("[ID client-id [client-id ...]]", "ID=client-id:integer?+"),
            (
                "<BEFORE | AFTER> pivot",
                "before-after:(BEFORE=before:puretoken|AFTER=after:puretoken) pivot:string",
            ),
            (
                "key [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id>",
                "key:key maxlen-minid-equal-approximately-threshold-count:{\
                 maxlen-minid:(MAXLEN=maxlen:puretoken|MINID=minid:puretoken),\
                 equal-approximately:(==equal:puretoken|~=approximately:puretoken)?,\
                 threshold:string,LIMIT=count:integer?}? \
                 auto-id-id:(*=auto-id:puretoken|id:string)",
            ),
            ("SETNAME name", "SETNAME=name:string"),
            (
                "source DB destination-db [REPLACE]",
                "source:key DB=destination-db:integer REPLACE=replace:puretoken?",
            ),
            ("TYPE <A | B> c", "TYPE=a-b:(A=a:puretoken|B=b:puretoken) c:string"),
            ("argument ...", "argument:string+"),
        ] {
            assert_eq!(line(&parse(syntax)), expected, "{syntax}");
        }
    }

    #[test]
    fn malformed_text_is_read_somehow() {
        for syntax in ["]", "[", "<a", "a | b", "...", "[...]", "[ | ]", "<>", "a ] b"] {
            let _ = parse(syntax);
        }
    }
}
