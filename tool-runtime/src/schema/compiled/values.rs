//! Values that `enum` and `const` allow, and limits of strings.

use std::collections::HashSet;

use serde_json::Value;

use super::decimal::Decimal;
use super::name::is_same;
use super::pattern::Pattern;
use super::spelling::{SpellingIndex, find_resembling, unquoted};
use crate::schema::text_formats::TextFormat;

/// Allowed values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    /// Allowed strings, as declared.
    pub(crate) texts: Vec<Box<str>>,
    /// All other allowed values.
    pub(crate) others: Vec<Value>,
    /// Index of many values; a few values are searched one by one.
    index: Option<Box<ValueIndex>>,
}

/// Hash index of many values.
#[derive(Debug, Clone)]
struct ValueIndex {
    texts: HashSet<Box<str>>,
    numbers: HashSet<Decimal<'static>>,
    spellings: SpellingIndex,
}

impl ValueIndex {
    /// This function is not inlined, so that [`Values::has_text`] is: few schemas have so many values.
    #[inline(never)]
    fn has_text(&self, text: &str) -> bool {
        self.texts.contains(text)
    }
}

impl Values {
    /// Creates values for a message, without an index.
    pub(crate) fn from_texts(texts: Vec<Box<str>>) -> Self {
        Self {
            texts,
            ..Self::default()
        }
    }

    pub(crate) fn new(texts: Vec<Box<str>>, others: Vec<Value>) -> Self {
        let numbers = || others.iter().filter(|value| value.is_number());
        let index = (texts.len() + others.len() > MAX_LINEAR_SEARCH).then(|| ValueIndex {
            texts: texts.iter().cloned().collect(),
            numbers: numbers()
                .filter_map(|number| Some(Decimal::parse(&number.to_string())?.into_owned()))
                .collect(),
            spellings: SpellingIndex::new(texts.iter().map(|text| &**text)),
        });
        Self {
            texts,
            others,
            index: index.map(Box::new),
        }
    }

    /// Returns whether a string is one of the values, as declared.
    #[inline]
    pub(crate) fn has_text(&self, text: &str) -> bool {
        match &self.index {
            Some(index) => index.has_text(text),
            None => self.texts.iter().any(|known| is_same(known, text)),
        }
    }

    /// Returns whether a number is one of the values.
    pub(crate) fn has_number(&self, text: &str) -> bool {
        let Some(number) = Decimal::parse(text) else {
            return false;
        };
        let is = |value: &Value| {
            value.is_number() && Decimal::parse(&value.to_string()).is_some_and(|known| known == number)
        };
        match &self.index {
            Some(index) => index.numbers.contains(&number),
            None => self.others.iter().any(is),
        }
    }

    /// Returns the value that equals a string except for surrounding space, or else the only similar value.
    pub(crate) fn resembling(&self, text: &str) -> Option<&str> {
        let position = match &self.index {
            Some(index) => {
                let find = |text: &str| {
                    let exact = index.texts.get(text.trim()).map(|known| &**known);
                    exact.or_else(|| Some(&**self.texts.get(index.spellings.find(text)?)?))
                };
                return find(text).or_else(|| find(unquoted(text)?));
            }
            None => find_resembling(self.texts.iter().map(|known| &**known), text),
        };
        self.texts.get(position?).map(|known| &**known)
    }
}

/// Limits of a string. Lengths are in characters.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextLimits {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    /// Pattern that matches anywhere in the string.
    pub(crate) pattern: Option<Pattern>,
    pub(crate) not_blank: bool,
    /// The `format`, which no null word matches.
    pub(crate) format: Option<TextFormat>,
}

/// Maximum number of properties or values for which a linear search is faster than hashing (measured: 10).
pub(crate) const MAX_LINEAR_SEARCH: usize = 10;
