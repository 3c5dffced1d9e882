//! The keys of one object on the fast path: each is known and unique, and all required ones are there.

use super::conform;
use crate::arguments::deserialize::reader::PRIVATE;
use crate::schema::compiled::name::KeyPrefix;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Additional, CompiledSchema, Object, Schema};

/// The keys that were read so far.
pub(super) struct Keys<'s, 't> {
    compiled: &'s CompiledSchema,
    /// The arguments as a whole: there, a key that is not declared is always worth a word.
    is_root: bool,
    object: Option<&'s Object>,
    /// The property of each key.
    names: Option<&'s Schema>,
    /// One bit for each declared property that came.
    seen: u64,
    /// Position of the next expected property: models mostly write in declared order.
    expected: usize,
    /// The declared property that the last key is.
    pub(super) property: Option<usize>,
    /// Keys without a property; most objects have none.
    others: Vec<&'t str>,
}

impl<'s, 't> Keys<'s, 't> {
    /// `None` when telling takes more than a look at each key.
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

    /// Returns the key that most likely comes next, as it is written.
    #[inline]
    pub(super) fn expected(&self) -> Option<&'s KeyPrefix> {
        let property = self.object?.properties.get(self.expected)?;
        Some(&property.key_prefix)
    }

    /// Takes the expected one.
    #[inline]
    pub(super) fn take_expected(&mut self) -> Option<&'s Schema> {
        self.take(self.object?, self.expected)
    }

    /// Returns the schema of the value after a key; `None` when the key should not be there.
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

    #[inline(never)] // not on the way of keys in declared order
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

    /// Returns whether each came once, everything that is required came, and neither too few nor too many.
    #[inline]
    pub(super) fn are_complete(mut self) -> bool {
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

/// As many properties as `seen` has bits.
const MAX_PROPERTIES: usize = 64;
