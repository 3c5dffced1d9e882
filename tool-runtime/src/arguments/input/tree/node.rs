//! Nodes of the tree: JSON values with the text of numbers and the order of keys.
//!
//! A `serde_json::Value` would lose the text of numbers (`1.50`, 2^53 + 1, 30 digits) and duplicate keys. The
//! features `arbitrary_precision` and `preserve_order`, which other crates may enable, change how much is lost.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::schema::compiled::types::Types;

/// A JSON value. Borrows from the original text or [`Value`] if possible.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    Number(Number<'a>),
    Text(Cow<'a, str>),
    /// Reference-counted, for cheap clones.
    List(Rc<Vec<Node<'a>>>),
    Object(Members<'a>),
}

/// A number with its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number<'a> {
    /// Text in JSON syntax.
    pub(crate) text: Cow<'a, str>,
    /// Whether the number is a float of at least 2^53 from a [`Value`], so that digits of the original text are lost.
    pub(crate) approximate: bool,
    /// Whether the number deserializes as an integer even if written as `3.0`; an untagged enum would choose its
    /// float variant.
    pub(crate) as_integer: bool,
}

/// The members of an object, with unique keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Members<'a> {
    /// Entries in the order of the input. Reference-counted, so that changing one object of a list clones cheaply.
    pub(crate) entries: Rc<Vec<(Cow<'a, str>, Node<'a>)>>,
    /// Positions of entries with duplicate keys; `entries` has the last value of each.
    pub(crate) repeated: Vec<usize>,
}

impl<'a> Node<'a> {
    /// Returns the number of items or members.
    pub(in crate::arguments) fn count(&self) -> usize {
        match self {
            Self::List(items) => items.len(),
            Self::Object(members) => members.entries.len(),
            _ => 0,
        }
    }

    /// Returns the address, as a key of caches: a node does not move while arguments are read.
    pub(in crate::arguments) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Creates a number from text in JSON syntax.
    pub(crate) fn number(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Number(Number {
            text: text.into(),
            approximate: false,
            as_integer: false,
        })
    }

    /// Borrows a value, which must not be nested deeper than [`depth::MAX_DEPTH`](crate::wire::depth::MAX_DEPTH).
    pub(crate) fn from_value(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(is) => Self::Bool(*is),
            Value::Number(number) => Self::Number(Number {
                text: number.to_string().into(),
                approximate: number.is_f64()
                    && number.as_f64().is_some_and(|float| float.abs() >= EXACT_BELOW),
                as_integer: false,
            }),
            Value::String(text) => Self::Text(text.as_str().into()),
            Value::Array(items) => Self::List(Rc::new(items.iter().map(Self::from_value).collect())),
            Value::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, entry)| (key.as_str().into(), Self::from_value(entry)));
                Self::Object(Members {
                    entries: Rc::new(entries.collect()),
                    repeated: Vec::new(),
                })
            }
        }
    }

    /// Converts into a [`Value`]; a number that it cannot hold becomes a string.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(is) => Value::Bool(*is),
            Self::Number(number) => number
                .to_value()
                .unwrap_or_else(|| Value::String(number.text.to_string())),
            Self::Text(text) => Value::String(text.to_string()),
            Self::List(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(members) => Value::Object(members.to_map()),
        }
    }

    /// Returns the depth of nested lists and objects. The depth limit of the reader bounds the recursion.
    pub(crate) fn levels(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::levels).max().unwrap_or_default(),
            Self::Object(members) => {
                let entries = members.entries.iter();
                1 + entries.map(|(_, entry)| entry.levels()).max().unwrap_or_default()
            }
            _ => 0,
        }
    }

    /// Returns the JSON type; `3.0` and `3e0` are `INTEGER`.
    pub(crate) fn types(&self) -> Types {
        match self {
            Self::Null => Types::NULL,
            Self::Bool(_) => Types::BOOLEAN,
            Self::Number(number) if number.is_integer() => Types::INTEGER,
            Self::Number(_) => Types::NUMBER,
            Self::Text(_) => Types::STRING,
            Self::List(_) => Types::ARRAY,
            Self::Object(_) => Types::OBJECT,
        }
    }

    /// Returns the descendant at these steps.
    pub(crate) fn at<'s>(&self, steps: impl Iterator<Item = &'s str>) -> Option<&Self> {
        let mut node = self;
        for step in steps {
            node = match node {
                Self::List(items) => items.get(step.parse::<usize>().ok()?)?,
                Self::Object(members) => members.get(step)?,
                _ => return None,
            };
        }
        Some(node)
    }

    /// Returns the node without borrowed text.
    pub(crate) fn into_owned<'b>(self) -> Node<'b> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Null => Node::Null,
            Self::Bool(is) => Node::Bool(is),
            Self::Number(number) => Node::Number(Number {
                text: owned(number.text),
                approximate: number.approximate,
                as_integer: number.as_integer,
            }),
            Self::Text(text) => Node::Text(owned(text)),
            Self::List(items) => {
                let items = Rc::unwrap_or_clone(items).into_iter();
                Node::List(Rc::new(items.map(Self::into_owned).collect()))
            }
            Self::Object(members) => {
                let entries = Rc::unwrap_or_clone(members.entries).into_iter();
                let entries = entries.map(|(key, entry)| (owned(key), entry.into_owned()));
                Node::Object(Members {
                    entries: Rc::new(entries.collect()),
                    repeated: members.repeated,
                })
            }
        }
    }

    /// Returns the beginning of the JSON text, long enough for [`excerpt`](crate::wire::issue::excerpt) to truncate
    /// it.
    pub(crate) fn preview(&self) -> String {
        let mut preview = Preview {
            text: String::new(),
            allowance: crate::wire::issue::EXCERPT_LIMIT + 1,
        };
        // The error at the limit stops the writing.
        let _ = self.write(&mut preview);
        preview.text
    }

    /// Writes compact JSON text.
    pub(crate) fn write(&self, out: &mut impl Write) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(is) => write!(out, "{is}"),
            Self::Number(number) => out.write_str(&number.text),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.write_char('[')?;
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        out.write_char(',')?;
                    }
                    item.write(out)?;
                }
                out.write_char(']')
            }
            Self::Object(members) => {
                out.write_char('{')?;
                for (place, (key, entry)) in members.entries.iter().enumerate() {
                    if place > 0 {
                        out.write_char(',')?;
                    }
                    write_text(key, out)?;
                    out.write_char(':')?;
                    entry.write(out)?;
                }
                out.write_char('}')
            }
        }
    }
}

/// 2^53: above this, `f64` does not represent every integer.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

impl Number<'_> {
    /// Returns whether the number has no fractional part, as `3.0`.
    pub(crate) fn is_integer(&self) -> bool {
        self.is_plain_integer()
            || crate::schema::compiled::decimal::Decimal::parse(&self.text)
                .is_some_and(|number| number.is_integer())
    }

    /// Converts into a number of `serde_json`, with correctly rounded floats.
    fn to_value(&self) -> Option<Value> {
        let read: serde_json::Number = serde_json::from_str(&self.text).ok()?;
        let float = self.text.parse().ok().filter(|_| read.is_f64());
        let exact = float
            .filter(|float| read.as_f64() != Some(*float))
            .and_then(serde_json::Number::from_f64);
        Some(Value::Number(exact.unwrap_or(read)))
    }

    /// Returns whether the text has neither a fraction nor an exponent.
    pub(crate) fn is_plain_integer(&self) -> bool {
        !self.text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
    }

    /// Returns whether the number, possibly rounded, is a finite `f64`.
    pub(crate) fn is_finite(&self) -> bool {
        // The largest float has 309 digits.
        let small = self.text.len() < 300 && self.is_plain_integer();
        small || self.text.parse().is_ok_and(f64::is_finite)
    }
}

impl<'a> Members<'a> {
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        let entries = self.entries.iter();
        entries
            .map(|(key, entry)| (key.to_string(), entry.to_value()))
            .collect()
    }

    /// Returns the value of the member with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.entries
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, entry)| entry)
    }
}

fn write_text(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            control if control < ' ' => write!(out, "\\u{:04x}", u32::from(control))?,
            other => out.write_char(other)?,
        }
    }
    out.write_char('"')
}

/// Collects the first characters, then returns an error.
struct Preview {
    text: String,
    allowance: usize,
}

impl Write for Preview {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            self.allowance = self.allowance.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(letter);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Node;

    #[test]
    fn values_round_trip() {
        let value = json!({ "b": [1, -2, 0.5, 18_446_744_073_709_551_615_u64, 1e300], "a": null, "c": { "x\n\"": true } });
        assert_eq!(Node::from_value(&value).to_value(), value);
        let mut text = String::new();
        Node::from_value(&value).write(&mut text).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn previews_are_bounded() {
        let value = json!([["x".repeat(1_000_000)]]);
        assert_eq!(
            Node::from_value(&value).preview().chars().count(),
            crate::wire::issue::EXCERPT_LIMIT + 1
        );
    }
}
