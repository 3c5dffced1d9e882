//! Rewrites JSON texts with their original numbers, without the parts that Strict and serde read differently.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Numbers that are written as integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integers {
    AsSent,
    /// `-0`.
    Zero,
    /// `-0`, and integral numbers with a point or an exponent.
    All,
}

/// Rules for the parts that are rewritten.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Numbers that are written as integers.
    pub integers: Integers,
    /// Whether null fields are omitted.
    pub drops_nulls: bool,
    /// Fields that are omitted, by JSON Pointer.
    pub without: &'a [&'a str],
}

impl Rules<'_> {
    /// Changes only the spellings that differ between writers.
    pub const NONE: Self = Self {
        integers: Integers::AsSent,
        drops_nulls: false,
        without: &[],
    };

    /// Returns the rewritten JSON with only the last of duplicate keys.
    pub fn applied(self, text: &str) -> Option<String> {
        self.at("", text)
    }

    fn at(self, path: &str, text: &str) -> Option<String> {
        match text.trim_start().bytes().next()? {
            b'{' => self.object(path, text),
            b'[' => {
                let items: Vec<Box<RawValue>> = serde_json::from_str(text).ok()?;
                let items = items.iter().enumerate();
                let items: Option<Vec<String>> = items
                    .map(|(place, item)| self.at(&format!("{path}/{place}"), item.get()))
                    .collect();
                Some(format!("[{}]", items?.join(",")))
            }
            b'-' | b'0'..=b'9' => Some(self.integer(text).unwrap_or_else(|| text.to_owned())),
            b'"' => serde_json::to_string(&serde_json::from_str::<String>(text).ok()?).ok(),
            _ => Some(text.to_owned()),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "integral, and far from the limit")]
    fn integer(self, text: &str) -> Option<String> {
        let float: f64 = text.parse().ok()?;
        let is_integer = match self.integers {
            Integers::AsSent => false,
            Integers::Zero => text == "-0",
            Integers::All => text == "-0" || text.contains(['.', 'e', 'E']) && float.fract() == 0.0,
        };
        (is_integer && float.abs() < 1e15).then(|| (float as i64).to_string())
    }

    fn object(self, path: &str, text: &str) -> Option<String> {
        let Members(members) = serde_json::from_str(text).ok()?;
        let mut written: Vec<(String, String)> = Vec::new();
        for (key, value) in members {
            let path = format!("{path}/{}", escaped(&key));
            if self.without.contains(&path.as_str()) {
                continue;
            }
            let value = self.at(&path, value.get())?;
            match written.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = value,
                None => written.push((key, value)),
            }
        }
        let written: Option<Vec<String>> = written
            .iter()
            .filter(|(_, value)| !(self.drops_nulls && value == "null"))
            .map(|(key, value)| Some(format!("{}:{value}", serde_json::to_string(key).ok()?)))
            .collect();
        Some(format!("{{{}}}", written?.join(",")))
    }
}

/// Returns the JSON Pointers of null fields.
pub fn nulls(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), text.to_owned())];
    while let Some((path, text)) = open.pop() {
        let mut members = Vec::new();
        match text.trim_start().bytes().next() {
            Some(b'{') => {
                let Members(read) = serde_json::from_str(&text).unwrap_or_default();
                members.extend(read.into_iter().map(|(key, value)| (escaped(&key), value)));
            }
            Some(b'[') => {
                let items: Vec<Box<RawValue>> = serde_json::from_str(&text).unwrap_or_default();
                let items = items.into_iter().enumerate();
                members.extend(items.map(|(place, item)| (place.to_string(), item)));
            }
            Some(b'n') => found.push(path.clone()),
            _ => {}
        }
        let inside = members
            .into_iter()
            .map(|(step, value)| (format!("{path}/{step}"), value.get().to_owned()));
        open.extend(inside);
    }
    found
}

/// Escapes a key as a step of a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns whether serde reads every number as the closest float, which requires `serde_json`'s `float_roundtrip`.
pub fn is_exact(text: &str) -> bool {
    let in_numbers = |letter: char| matches!(letter, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
    text.split(|letter| !in_numbers(letter)).all(|number| {
        let (theirs, exact) = (serde_json::from_str::<f64>(number), number.parse::<f64>());
        match (theirs, exact) {
            (Ok(theirs), Ok(exact)) => theirs.to_bits() == exact.to_bits(),
            _ => true,
        }
    })
}

/// Fields of an object in their original order.
#[derive(Default)]
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    members.push(entry);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}
