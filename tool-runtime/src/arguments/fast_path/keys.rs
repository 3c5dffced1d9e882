//! The keys of one object on the fast path: each is known and unique, and all required ones are there.

use std::collections::HashSet;

use super::conform;
use crate::arguments::deserialize::reader::PRIVATE;
use crate::schema::compiled::{Additional, CompiledSchema, Object, Schema, SchemaId};
use crate::schema::name::KeyPrefix;
use crate::schema::types::Types;

/// What is known about the keys so far.
pub(super) struct Keys<'s, 't> {
    /// The arguments as a whole: there, a key that is not declared is always worth a word.
    is_root: bool,
    object: Option<&'s Object>,
    /// What each key has to be.
    names: Option<&'s Schema>,
    /// One bit for each declared property that came.
    seen: u64,
    /// Where the next property is expected: models mostly write in declared order.
    expected: usize,
    /// Those that no property has; most objects have none.
    others: Option<Box<Others<'t>>>,
}

/// Whose value stands behind a key.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    /// The declared property in that place.
    Property(usize, SchemaId),
    /// No property; the value has this schema.
    Other(SchemaId),
    /// No property, and a value without a schema.
    Unchecked,
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
            is_root,
            object,
            names: object
                .and_then(|object| object.names)
                .map(|names| compiled.schema(names)),
            seen: 0,
            expected: 0,
            others: None,
        })
    }

    /// The key that most likely comes next, as it is written.
    #[inline]
    pub(super) fn expected(&self) -> Option<&'s KeyPrefix> {
        let property = self.object?.properties.get(self.expected)?;
        Some(&property.key_prefix)
    }

    /// Takes the expected one.
    #[inline]
    pub(super) fn take_expected(&mut self) -> Option<Owner> {
        self.take(self.object?, self.expected)
    }

    /// Whose value stands behind a key; `None` when the key should not be there.
    #[inline]
    pub(super) fn next(&mut self, key: &'t str) -> Option<Owner> {
        match self.object {
            Some(object) if object.has_at(self.expected, key) => self.take(object, self.expected),
            _ => self.find(key),
        }
    }

    #[inline(never)] // not on the way of keys in declared order
    fn find(&mut self, key: &'t str) -> Option<Owner> {
        let Some(object) = self.object else {
            return (!self.is_root && self.is_new(key)).then_some(Owner::Unchecked);
        };
        if let Some(place) = object.position(key) {
            return self.take(object, place);
        }
        let owner = match object.additional {
            Additional::Unspecified if object.is_unconstrained && !self.is_root => Owner::Unchecked,
            Additional::Unspecified | Additional::Denied => return None,
            Additional::Any => Owner::Unchecked,
            Additional::Of(schema) => Owner::Other(schema),
        };
        let is_named = self.names.is_none_or(|names| conform::text(names, key));
        (is_named && self.is_new(key)).then_some(owner)
    }

    fn is_new(&mut self, key: &'t str) -> bool {
        !key.starts_with(PRIVATE) && self.others.get_or_insert_default().insert(key)
    }

    fn take(&mut self, object: &'s Object, place: usize) -> Option<Owner> {
        let bit = 1 << place;
        let is_first = self.seen & bit == 0;
        self.seen |= bit;
        self.expected = place + 1;
        let property = object.properties.get(place).filter(|_| is_first)?;
        Some(Owner::Property(place, property.schema))
    }

    /// Whether everything that is required came, and neither too few nor too many.
    pub(super) fn are_complete(&self) -> bool {
        let Some(object) = self.object else { return true };
        if object.required & !self.seen != 0 {
            return false;
        }
        if object.min.is_none() && object.max.is_none() {
            return true;
        }
        let others = self.others.as_ref().map_or(0, |others| others.len());
        let count = u64::from(self.seen.count_ones()) + others;
        object.min.is_none_or(|min| min <= count) && object.max.is_none_or(|max| count <= max)
    }
}

/// The keys that no property has: each may come once.
#[derive(Default)]
struct Others<'t> {
    few: Vec<&'t str>,
    /// All of them, once they are many.
    many: Option<HashSet<&'t str>>,
}

impl<'t> Others<'t> {
    /// Whether the key is new.
    fn insert(&mut self, key: &'t str) -> bool {
        if let Some(many) = &mut self.many {
            return many.insert(key);
        }
        if self.few.contains(&key) {
            return false;
        }
        self.few.push(key);
        if self.few.len() > FEW {
            self.many = Some(self.few.iter().copied().collect());
        }
        true
    }

    fn len(&self) -> u64 {
        self.many.as_ref().map_or(self.few.len(), HashSet::len) as u64
    }
}

/// As many properties as `seen` has bits.
const MAX_PROPERTIES: usize = 64;

/// Up to this many keys are compared one by one.
const FEW: usize = 16;
