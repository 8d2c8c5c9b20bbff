//! The notation of a row: words stand for themselves, `{kind}` for an argument of that kind,
//! `[a|b]` for one of the branches or nothing, `(a|b)` for one of them, `...` repeats what stands before
//! it one to four times.

/// A part of a grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Itself.
    Word(String),
    /// An argument of a kind.
    Kind(String),
    /// One of the branches.
    Choice(Vec<Vec<Node>>),
    /// Now and then.
    Maybe(Vec<Node>),
    /// One to four times.
    Many(Vec<Node>),
}

/// Reads a grammar. Panics if it is not one: grammars are constants of this crate.
pub fn parse(grammar: &str) -> Vec<Node> {
    let mut spaced = String::new();
    let mut rest = grammar;
    while let Some(first) = rest.chars().next() {
        let mark = if rest.starts_with("...") { "..." } else { &rest[..first.len_utf8()] };
        if matches!(mark, "[" | "]" | "(" | ")" | "|" | "...") {
            spaced.push_str(&format!(" {mark} "));
        } else {
            spaced.push_str(mark);
        }
        rest = &rest[mark.len()..];
    }
    let mut words = spaced.split_whitespace();
    let mut branches = branches(&mut words, None);
    assert_eq!(branches.len(), 1, "a choice needs brackets: {grammar}");
    branches.remove(0)
}

/// Reads branches up to `close`.
fn branches<'a>(words: &mut impl Iterator<Item = &'a str>, close: Option<&str>) -> Vec<Vec<Node>> {
    let mut done = Vec::new();
    let mut branch = Vec::new();
    loop {
        let word = words.next();
        if word == close {
            done.push(branch);
            return done;
        }
        let node = match word.expect("every bracket closes") {
            "|" => {
                done.push(std::mem::take(&mut branch));
                continue;
            }
            "..." => {
                let repeated = branch.pop().expect("something stands before `...`");
                Node::Many(vec![repeated])
            }
            "(" => Node::Choice(branches(words, Some(")"))),
            "[" => Node::Maybe(vec![Node::Choice(branches(words, Some("]")))]),
            word => match word.strip_prefix('{').and_then(|word| word.strip_suffix('}')) {
                Some(kind) => Node::Kind(kind.to_string()),
                None => Node::Word(word.to_string()),
            },
        };
        branch.push(node);
    }
}

/// Calls `visit` for each kind in `nodes`.
pub fn each_kind(nodes: &[Node], visit: &mut dyn FnMut(&str)) {
    for node in nodes {
        match node {
            Node::Word(_) => {}
            Node::Kind(kind) => visit(kind),
            Node::Choice(branches) => branches.iter().for_each(|branch| each_kind(branch, visit)),
            Node::Maybe(inner) | Node::Many(inner) => each_kind(inner, visit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grammar_is_read() {
        let word = |text: &str| Node::Word(text.to_string());
        let kind = |text: &str| Node::Kind(text.to_string());
        let nodes = parse("ZADD {key} [NX|XX] ({score} {member})...");
        assert_eq!(
            nodes,
            vec![
                word("ZADD"),
                kind("key"),
                Node::Maybe(vec![Node::Choice(vec![vec![word("NX")], vec![word("XX")]])]),
                Node::Many(vec![Node::Choice(vec![vec![kind("score"), kind("member")]])]),
            ]
        );
    }
}
