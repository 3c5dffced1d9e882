//! The keys of one object on the fast path: known, not seen before, and complete in the end.

use std::borrow::Cow;
use std::collections::HashSet;

use super::conform;
use super::place::Place;
use crate::schema::shape::{Object, Rest};
use crate::schema::types::Types;

/// What is known about the keys so far.
pub(super) struct Keys<'s, 'de> {
    place: Place<'s>,
    object: Option<&'s Object>,
    /// One bit for each declared property that came.
    seen: u128,
    /// Where the next property is expected: models mostly write in declared order.
    expected: usize,
    others: Others<'de>,
}

/// A key that lives as long as the text, or only until the next one is read.
#[derive(Clone, Copy)]
pub(super) enum Next<'de, 'k> {
    Lasting(&'de str),
    Passing(&'k str),
}

impl<'s, 'de> Keys<'s, 'de> {
    /// `None` when telling takes more than a look at each key.
    pub(super) fn new(place: Place<'s>) -> Option<Self> {
        let plain = conform::plain(place.form).filter(|_| place.form.types.has(Types::OBJECT))?;
        if plain.values.is_some() {
            return None;
        }
        let object = plain.object.as_ref();
        let is_simple = |object: &Object| {
            object.properties.len() <= MOST && object.patterns.is_empty() && object.also_required.is_empty()
        };
        object.is_none_or(is_simple).then(|| Self {
            place,
            object,
            seen: 0,
            expected: 0,
            others: Others::default(),
        })
    }

    /// Where the value of a key stands; `None` when the key should not be there.
    pub(super) fn next(&mut self, key: Next<'de, '_>) -> Option<Place<'s>> {
        let name = match key {
            Next::Lasting(name) | Next::Passing(name) => name,
        };
        if name.starts_with(NO_KEY) {
            return None;
        }
        let Some(object) = self.object else {
            return (!self.place.is_root && self.others.insert(key)).then(|| self.place.anything());
        };
        if let Some(position) = object.position(name, self.expected) {
            let bit = 1 << position;
            let is_first = self.seen & bit == 0;
            self.seen |= bit;
            self.expected = position + 1;
            return object
                .properties
                .get(position)
                .filter(|_| is_first)
                .map(|property| self.place.at(property.form));
        }
        let value = match object.rest {
            Rest::Unsaid if object.is_free && !self.place.is_root => self.place.anything(),
            Rest::Unsaid | Rest::Denied => return None,
            Rest::Any => self.place.anything(),
            Rest::Of(form) => self.place.at(form),
        };
        self.others.insert(key).then_some(value)
    }

    /// Whether everything that is required came, and neither too few nor too many.
    pub(super) fn are_complete(&self) -> bool {
        let Some(object) = self.object else { return true };
        let count = u64::from(self.seen.count_ones()) + self.others.len();
        let came = |position: usize| self.seen & (1 << position) != 0;
        let mut properties = object.properties.iter().enumerate();
        properties.all(|(position, property)| !property.required || came(position))
            && object.min.is_none_or(|min| min <= count)
            && object.max.is_none_or(|max| count <= max)
    }
}

/// The keys that no property has: each may come once.
#[derive(Default)]
struct Others<'de> {
    few: Vec<Cow<'de, str>>,
    many: HashSet<Cow<'de, str>>,
}

impl<'de> Others<'de> {
    /// Whether the key is new.
    fn insert(&mut self, key: Next<'de, '_>) -> bool {
        let key = match key {
            Next::Lasting(key) => Cow::Borrowed(key),
            Next::Passing(key) => Cow::Owned(key.to_owned()),
        };
        if self.few.len() < FEW && self.many.is_empty() {
            let is_new = !self.few.contains(&key);
            self.few.push(key);
            return is_new;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(key)
    }

    fn len(&self) -> u64 {
        (self.few.len() + self.many.len()) as u64
    }
}

/// `serde_json` shows raw text, and exact numbers, as an object with such a key: nothing in them would be checked.
const NO_KEY: &str = "$serde_json::private::";

/// As many properties as `seen` has bits.
const MOST: usize = 128;

/// Up to this many keys are compared one by one.
const FEW: usize = 16;
