//! Sets of JSON types.

use std::fmt;
use std::ops::BitOr;

use serde_json::{Map, Value};

/// A set of JSON types. `NUMBER` includes `INTEGER`: the type `number` has both bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    /// Numbers with a fraction. Sets with this bit also have `INTEGER`.
    const FRACTION: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(4 | 8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    /// Returns the type with this name in JSON Schema.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, types)| *types)
    }

    /// Returns whether every type of `other` is in this set.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether a type of `other` is in this set.
    pub(crate) const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the types in this set. `integer` is omitted if `number` is included.
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        let mut left = self;
        [
            Self::NULL,
            Self::NUMBER,
            Self::INTEGER,
            Self::BOOLEAN,
            Self::STRING,
            Self::ARRAY,
            Self::OBJECT,
        ]
        .into_iter()
        .filter(move |one| {
            let found = left.has(*one);
            if found {
                left = left.without(*one);
            }
            found
        })
    }

    /// Returns the number of types.
    pub(crate) fn count(self) -> usize {
        self.without(Self::FRACTION).0.count_ones() as usize
    }
}

impl BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Displays the types for a model: `an integer or a string`.
impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.each().count();
        for (place, one) in self.each().enumerate() {
            if place > 0 {
                f.write_str(if place + 1 == count { " or " } else { ", " })?;
            }
            f.write_str(match one {
                Self::NULL => "null",
                Self::BOOLEAN => "true or false",
                Self::INTEGER => "an integer",
                Self::NUMBER => "a number",
                Self::STRING => "a string",
                Self::ARRAY => "an array",
                _ => "an object",
            })?;
        }
        if count == 0 {
            f.write_str("nothing")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

pub(crate) const NAMES: [(&str, Types); 7] = [
    ("null", Types::NULL),
    ("boolean", Types::BOOLEAN),
    ("integer", Types::INTEGER),
    ("number", Types::NUMBER),
    ("string", Types::STRING),
    ("array", Types::ARRAY),
    ("object", Types::OBJECT),
];

/// Returns the types of the keyword `type`.
pub(crate) fn declared_types(keywords: &Map<String, Value>) -> Types {
    let type_named = |name: &Value| name.as_str().and_then(Types::from_name).unwrap_or(Types::NONE);
    match keywords.get("type") {
        None => Types::ALL,
        Some(Value::Array(names)) => names
            .iter()
            .fold(Types::NONE, |types, name| types | type_named(name)),
        Some(name) => type_named(name),
    }
}

#[cfg(test)]
mod tests {
    use super::Types;

    #[test]
    fn number_includes_integer_and_counts_once() {
        assert!(Types::NUMBER.has(Types::INTEGER));
        assert!(!Types::INTEGER.has(Types::NUMBER));
        assert_eq!(Types::NUMBER.count(), 1);
        assert_eq!(Types::ALL.count(), 6);
        assert_eq!(
            (Types::INTEGER | Types::STRING).to_string(),
            "an integer or a string"
        );
        assert_eq!(Types::NUMBER.to_string(), "a number");
    }
}
