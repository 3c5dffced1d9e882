//! Parses JSON text into a [`Node`], strictly by RFC 8259. Only `parse.rs` accepts lenient syntax.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::node::{Members, Node};
use crate::arguments::input::tokens::{Fault, Tokens};
use crate::schema::keywords::pointer;

/// Parses a complete JSON value of at most `levels` levels, in linear time.
pub(crate) fn parse(text: &str, levels: usize) -> Result<Node<'_>, ParseError> {
    let mut parser = Parser(Tokens::new(text));
    parser.0.skip_space();
    let node = parser.value(levels)?;
    parser.0.skip_space();
    if parser.0.is_at_end() {
        Ok(node)
    } else {
        Err(parser.fault("expected the end of the text"))
    }
}

/// A syntax error, with its position.
#[derive(Debug)]
pub(crate) struct ParseError {
    pub(crate) fault: Fault,
    /// Offset in bytes.
    pub(crate) offset: usize,
    /// Steps to the value, innermost first; known for lone surrogates only.
    steps: Vec<String>,
}

impl ParseError {
    /// Returns the path of the value.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            pointer::push(&mut path, step);
        }
        path
    }

    fn within(mut self, step: impl FnOnce() -> String) -> Self {
        if self.fault == Fault::LoneSurrogate {
            self.steps.push(step());
        }
        self
    }
}

struct Parser<'a>(Tokens<'a>);

impl<'a> Parser<'a> {
    fn value(&mut self, levels: usize) -> Result<Node<'a>, ParseError> {
        match self.0.peek() {
            Some(b'{') => self.object(levels),
            Some(b'[') => self.list(levels),
            Some(b'"') => self.string().map(Node::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Node::Bool(true)),
            Some(b'f') => self.word("false", Node::Bool(false)),
            Some(b'n') => self.word("null", Node::Null),
            _ => Err(self.fault("expected a value")),
        }
    }

    fn list(&mut self, levels: usize) -> Result<Node<'a>, ParseError> {
        let levels = self.enter(levels)?;
        let mut items = Vec::new();
        if self.0.take(b']') {
            return Ok(Node::List(Rc::new(items)));
        }
        loop {
            let item = self
                .value(levels)
                .map_err(|error| error.within(|| items.len().to_string()))?;
            items.push(item);
            self.0.skip_space();
            if self.0.take(b']') {
                return Ok(Node::List(Rc::new(items)));
            }
            if !self.0.take(b',') {
                return Err(self.fault("expected `,` or `]`"));
            }
            self.0.skip_space();
        }
    }

    fn object(&mut self, levels: usize) -> Result<Node<'a>, ParseError> {
        let levels = self.enter(levels)?;
        let mut entries = Vec::new();
        if self.0.take(b'}') {
            return Ok(Node::Object(Members::default()));
        }
        loop {
            if self.0.peek() != Some(b'"') {
                return Err(self.fault("expected a key in double quotes"));
            }
            let key = self.string()?;
            self.0.skip_space();
            if !self.0.take(b':') {
                return Err(self.fault("expected `:`"));
            }
            self.0.skip_space();
            let value = self
                .value(levels)
                .map_err(|error| error.within(|| key.to_string()))?;
            entries.push((key, value));
            self.0.skip_space();
            if self.0.take(b'}') {
                return Ok(Node::Object(without_duplicate_keys(entries)));
            }
            if !self.0.take(b',') {
                return Err(self.fault("expected `,` or `}`"));
            }
            self.0.skip_space();
        }
    }

    /// Skips an opening bracket and the space after it.
    fn enter(&mut self, levels: usize) -> Result<usize, ParseError> {
        let levels = levels.checked_sub(1).ok_or_else(|| self.error(Fault::TooDeep))?;
        self.0.at += 1;
        self.0.skip_space();
        Ok(levels)
    }

    fn word(&mut self, word: &'static str, node: Node<'a>) -> Result<Node<'a>, ParseError> {
        if self.0.take_word(word) {
            return Ok(node);
        }
        Err(self.fault("expected a value"))
    }

    fn number(&mut self) -> Result<Node<'a>, ParseError> {
        let number = self.0.number().map_err(|fault| self.error(fault))?;
        Ok(Node::number(number))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, ParseError> {
        self.0.string().map_err(|fault| self.error(fault))
    }

    fn fault(&self, expected: &'static str) -> ParseError {
        self.error(Fault::Syntax(expected))
    }

    fn error(&self, fault: Fault) -> ParseError {
        ParseError {
            fault,
            offset: self.0.at,
            steps: Vec::new(),
        }
    }
}

/// Keeps only the last value of a duplicate key, at the position of the first.
fn without_duplicate_keys<'a>(entries: Vec<(Cow<'a, str>, Node<'a>)>) -> Members<'a> {
    let repeats = if entries.len() <= MAX_LINEAR_KEYS {
        let mut earlier = entries.iter().enumerate();
        earlier.any(|(place, (key, _))| entries.iter().take(place).any(|(known, _)| known == key))
    } else {
        let mut known = std::collections::HashSet::with_capacity(entries.len());
        !entries.iter().all(|(key, _)| known.insert(key.as_ref()))
    };
    if !repeats {
        return Members {
            entries: Rc::new(entries),
            repeated: Vec::new(),
        };
    }
    let mut once: Vec<(Cow<'a, str>, Node<'a>)> = Vec::new();
    let mut repeated = Vec::new();
    let mut places = HashMap::new();
    for (key, value) in entries {
        let Some(&place) = places.get(&key) else {
            places.insert(key.clone(), once.len());
            once.push((key, value));
            continue;
        };
        if let Some((_, first)) = once.get_mut(place) {
            *first = value;
        }
        repeated.push(place);
    }
    repeated.sort_unstable();
    repeated.dedup();
    Members {
        entries: Rc::new(once),
        repeated,
    }
}

/// Maximum number of keys that are compared with each other; more keys are hashed.
const MAX_LINEAR_KEYS: usize = 12;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::parse;
    use crate::arguments::input::tokens::Fault;
    use crate::wire::depth;

    #[test]
    fn agrees_with_serde_json() {
        let texts = [
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1.5",
            "-1e5",
            "1E+5",
            "\"\"",
            "\"a\\u00e9\\n\\\"\\ud83d\\ude00é\"",
            "[]",
            " [ 1 , [2] ] ",
            "{}",
            "{\"a\":1,\"b\":{\"c\":[null]}}",
            "{\"a\":1,\"a\":2,\"b\":3}",
            "",
            " ",
            "nul",
            "truee",
            "01",
            "1.",
            ".5",
            "-",
            "+1",
            "1e",
            "\"",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12\"",
            "[1,]",
            "[1 2]",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "[",
            "{",
            "1 2",
            "'a'",
            "NaN",
            "\u{feff}1",
            "[1}",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
        ];
        for text in texts {
            let ours = parse(text, depth::MAX_DEPTH).ok().map(|node| node.to_value());
            assert_eq!(ours, serde_json::from_str::<Value>(text).ok(), "{text}");
        }
    }

    #[test]
    fn last_duplicate_key_wins_in_the_place_of_the_first() {
        let node = parse(r#"{"a":1,"b":2,"a":3}"#, 1).unwrap();
        assert_eq!(node.to_value().to_string(), r#"{"a":3,"b":2}"#);
        let super::Node::Object(members) = node else {
            panic!()
        };
        assert_eq!(members.repeated, [0]);
        let many: Vec<String> = (0..20).map(|n| format!("\"k{}\":{n}", n % 15)).collect();
        let text = format!("{{{}}}", many.join(","));
        let super::Node::Object(members) = parse(&text, 1).unwrap() else {
            panic!()
        };
        assert_eq!(
            (members.entries.len(), members.repeated),
            (15, vec![0, 1, 2, 3, 4])
        );
    }

    #[test]
    fn depth_is_limited() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(parse(&nested(depth::MAX_DEPTH), depth::MAX_DEPTH).is_ok());
        assert_eq!(
            parse(&nested(depth::MAX_DEPTH + 1), depth::MAX_DEPTH)
                .unwrap_err()
                .fault,
            Fault::TooDeep
        );
        assert_eq!(
            parse(&"[".repeat(1_000_000), depth::MAX_DEPTH).unwrap_err().fault,
            Fault::TooDeep
        );
    }

    #[test]
    fn lone_surrogates_are_reported_with_their_path() {
        let error = parse(r#"{"a":[1,"\ud83d x"]}"#, 8).unwrap_err();
        assert_eq!(
            (error.fault, error.path().as_str()),
            (Fault::LoneSurrogate, "/a/1")
        );
    }
}
