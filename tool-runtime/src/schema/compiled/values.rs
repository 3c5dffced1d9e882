//! The values that `enum` and `const` allow, and the limits of strings.

use std::collections::HashSet;

use serde_json::Value;

use super::decimal::Decimal;
use super::name::is_same;
use super::pattern::Pattern;
use super::spelling::{SpellingIndex, find_resembling, unquoted};
use crate::schema::text_formats::TextFormat;

/// The values that are allowed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    /// The strings, as declared.
    pub(crate) texts: Vec<Box<str>>,
    /// All other values.
    pub(crate) others: Vec<Value>,
    /// Only of many values.
    index: Option<Box<ValueIndex>>,
}

/// Finds a value among many, without a comparison with each.
#[derive(Debug, Clone)]
struct ValueIndex {
    texts: HashSet<Box<str>>,
    numbers: HashSet<Decimal<'static>>,
    spellings: SpellingIndex,
}

impl Values {
    /// For a message; searched one by one.
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

    /// Returns whether a string is one of them, as declared.
    #[inline]
    pub(crate) fn has_text(&self, text: &str) -> bool {
        match &self.index {
            Some(index) => index.texts.contains(text),
            None => self.texts.iter().any(|known| is_same(known, text)),
        }
    }

    /// Returns whether a number is one of them.
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

    /// Returns the one that a string is but for outer space, else the only one that it resembles.
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
    /// Matches anywhere in the string.
    pub(crate) pattern: Option<Pattern>,
    pub(crate) not_blank: bool,
    /// The `format`, which no text that stands for nothing has.
    pub(crate) format: Option<TextFormat>,
}

/// Up to this many properties or values a linear search is faster than a hash (measured: 10).
pub(crate) const MAX_LINEAR_SEARCH: usize = 10;
