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
    /// Index of the values, if there are more than [`MAX_LINEAR_SEARCH`]. Fewer values are searched linearly.
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
    /// Returns whether a string exactly equals an indexed value. Few schemas have an index, so only [`Values::has_text`] is inlined.
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

    /// Returns whether a string exactly equals an allowed value.
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

    /// Returns the allowed string that equals `text` without its surrounding space, or else the only allowed string that resembles it.
    /// Without such a string, the search is repeated with the text inside the quotes of `text`.
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
    /// Declared `format`. A null word violates every format, even if formats are not enforced.
    pub(crate) format: Option<TextFormat>,
}

/// Maximum number of properties or values for which a linear search is faster than hashing (measured: 10).
pub(crate) const MAX_LINEAR_SEARCH: usize = 10;
