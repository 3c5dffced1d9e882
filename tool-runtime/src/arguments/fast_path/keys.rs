//! Keys of an object on the fast path: each key is known and unique, and no required key is missing.

use super::conform;
use crate::arguments::deserialize::reader::PRIVATE;
use crate::schema::compiled::name::KeyPrefix;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Additional, CompiledSchema, Object, Schema};

/// Keys of an object that were already read.
pub(super) struct Keys<'s, 't> {
    compiled: &'s CompiledSchema,
    /// Whether the object is the root: an undeclared key of the root always has a warning.
    is_root: bool,
    object: Option<&'s Object>,
    /// Schema of the keys.
    names: Option<&'s Schema>,
    /// A bit for each declared property that was read.
    seen: u64,
    /// Position of the next expected property: models mostly write in declared order.
    expected: usize,
    /// The declared property of the last key.
    pub(super) property: Option<usize>,
    /// Keys without a property. Most objects have no such keys.
    others: Vec<&'t str>,
}

impl<'s, 't> Keys<'s, 't> {
    /// Creates the keys of an object; `None` if checking the keys takes more than a lookup.
    pub(super) fn new(compiled: &'s CompiledSchema, schema: &'s Schema, is_root: bool) -> Option<Self> {
        let plain = conform::plain(schema).filter(|_| schema.types.has(Types::OBJECT))?;
        if plain.values.is_some() {
            return None;
        }
        let object = plain.object.as_ref();
        let is_simple = |object: &Object| {
            object.properties.len() <= MAX_PROPERTIES
                && object.patterns.is_empty()
                && (object.names.is_none() || object.properties.is_empty())
                && object.also_required.is_empty()
        };
        object.is_none_or(is_simple).then(|| Self {
            compiled,
            is_root,
            object,
            names: object
                .and_then(|object| object.names)
                .map(|names| compiled.schema(names)),
            seen: 0,
            expected: 0,
            property: None,
            others: Vec::new(),
        })
    }

    /// Returns the text of the most likely next key.
    #[inline]
    pub(super) fn expected(&self) -> Option<&'s KeyPrefix> {
        let property = self.object?.properties.get(self.expected)?;
        Some(&property.key_prefix)
    }

    /// Takes the expected key.
    #[inline]
    pub(super) fn take_expected(&mut self) -> Option<&'s Schema> {
        self.take(self.object?, self.expected)
    }

    /// Returns the schema of the value after a key; `None` if the key is invalid.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "keys mostly come in declared order: 3 % of a call"
    )]
    pub(super) fn next(&mut self, key: &'t str) -> Option<&'s Schema> {
        match self.object {
            Some(object) if object.has_at(self.expected, key) => self.take(object, self.expected),
            _ => self.find(key),
        }
    }

    #[inline(never)] // keeps the path of keys in declared order short
    fn find(&mut self, key: &'t str) -> Option<&'s Schema> {
        let Some(object) = self.object else {
            return self.take_other(key, (!self.is_root).then_some(&Schema::ANY)?);
        };
        if let Some(place) = object.position(key) {
            return self.take(object, place);
        }
        let schema = match object.additional {
            Additional::Unspecified if object.is_unconstrained && !self.is_root => &Schema::ANY,
            Additional::Unspecified | Additional::Denied => return None,
            Additional::Any => &Schema::ANY,
            Additional::Of(schema) => self.compiled.schema(schema),
        };
        let is_named = self.names.is_none_or(|names| conform::text(names, key));
        self.take_other(key, is_named.then_some(schema)?)
    }

    fn take_other(&mut self, key: &'t str, schema: &'s Schema) -> Option<&'s Schema> {
        if key.starts_with(PRIVATE) {
            return None;
        }
        self.others.push(key);
        self.property = None;
        Some(schema)
    }

    #[inline]
    fn take(&mut self, object: &'s Object, place: usize) -> Option<&'s Schema> {
        let bit = 1 << place;
        let is_first = self.seen & bit == 0;
        self.seen |= bit;
        self.expected = place + 1;
        self.property = Some(place);
        let property = object.properties.get(place).filter(|_| is_first)?;
        Some(self.compiled.schema(property.schema))
    }

    /// Returns whether each key is unique, all required keys were read, and the number of keys is allowed.
    #[inline]
    pub(super) fn are_complete(&mut self) -> bool {
        if !self.others.is_empty() && !self.are_others_unique() {
            return false;
        }
        let Some(object) = self.object else { return true };
        if object.required & !self.seen != 0 {
            return false;
        }
        let count = u64::from(self.seen.count_ones()) + self.others.len() as u64;
        object.min.is_none_or(|min| min <= count) && object.max.is_none_or(|max| count <= max)
    }

    #[inline(never)] // most objects have none
    fn are_others_unique(&mut self) -> bool {
        self.others.sort_unstable();
        self.others.is_sorted_by(|one, next| one < next)
    }
}

/// Maximum number of properties: the bits of `seen`.
const MAX_PROPERTIES: usize = 64;
