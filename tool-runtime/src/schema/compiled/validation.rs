//! [`Validation`]: a schema with all its keywords, for the validator.
//!
//! Coercion merges schemas to find the possible conversions of a value. The keywords `not`, `if`, `contains` and
//! `unevaluatedProperties` depend on the validity of a value by the unmerged schema. A schema with one of these keywords
//! is therefore compiled a second time, into a [`Subschema`] with all keywords for each subschema.

use std::collections::HashMap;
use std::iter;

use super::bounds::NumberLimits;
use super::pattern::Pattern;
use super::types::Types;
use super::values::{TextLimits, Values};
use crate::schema::text_formats::TextFormat;

/// Subschemas of a schema. The first is the root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Validation {
    pub(crate) subschemas: Vec<Subschema>,
}

/// Index of a [`Subschema`] in its [`Validation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SubschemaId(pub(crate) u32);

impl SubschemaId {
    /// Id of the schema of the arguments.
    pub(crate) const ROOT: Self = Self(0);
}

impl Validation {
    /// Returns the subschema with this id.
    pub(crate) fn subschema(&self, id: SubschemaId) -> &Subschema {
        self.subschemas.get(id.0 as usize).unwrap_or(&Subschema::TRUE)
    }
}

/// Keywords of a subschema.
#[derive(Debug, Clone)]
pub(crate) struct Subschema {
    /// `type`; empty for the schema `false`.
    pub(crate) types: Types,
    /// `enum` and `const`.
    pub(crate) values: Option<Box<Values>>,
    pub(crate) text: Option<Box<TextLimits>>,
    /// `format`, if it is enforced.
    pub(crate) format: Option<TextFormat>,
    pub(crate) number: Option<Box<NumberLimits>>,
    pub(crate) list: Option<Box<ListKeywords>>,
    pub(crate) object: Option<Box<ObjectKeywords>>,
    pub(crate) in_place: Option<Box<InPlace>>,
    /// Whether a part of the schema is not enforced: an unsupported pattern, or an unresolved reference.
    pub(crate) is_unknown: bool,
    /// Whether this schema or a subschema that values must match has a keyword that coercion does not enforce.
    pub(crate) has_assertions: bool,
}

/// Keywords of arrays.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListKeywords {
    pub(crate) prefix: Vec<SubschemaId>,
    /// Schema of the items after the prefix.
    pub(crate) rest: Option<SubschemaId>,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) unique: bool,
    pub(crate) contains: Option<Contains>,
    pub(crate) unevaluated: Option<SubschemaId>,
}

/// `contains` with its limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contains {
    pub(crate) schema: SubschemaId,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
}

/// Keywords of objects.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectKeywords {
    pub(crate) properties: HashMap<Box<str>, SubschemaId>,
    /// Names of the properties, in declared order.
    pub(crate) declared: Vec<Box<str>>,
    /// `patternProperties`; `None` for an unsupported pattern.
    pub(crate) patterns: Vec<(Option<Pattern>, SubschemaId)>,
    pub(crate) additional: Option<SubschemaId>,
    pub(crate) names: Option<SubschemaId>,
    pub(crate) required: Vec<Box<str>>,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    /// `dependentRequired`: a key, and the keys that it requires.
    pub(crate) dependent_required: Vec<(Box<str>, Vec<Box<str>>)>,
    /// `dependentSchemas`.
    pub(crate) dependent_schemas: Vec<(Box<str>, SubschemaId)>,
    pub(crate) unevaluated: Option<SubschemaId>,
}

/// Keywords whose schemas apply to the same value.
#[derive(Debug, Clone, Default)]
pub(crate) struct InPlace {
    /// `allOf` and `$ref`.
    pub(crate) all_of: Vec<SubschemaId>,
    pub(crate) any_of: Vec<SubschemaId>,
    pub(crate) one_of: Vec<SubschemaId>,
    pub(crate) not: Option<SubschemaId>,
    pub(crate) condition: Option<Condition>,
}

/// `if`, with `then` and `else`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Condition {
    pub(crate) test: SubschemaId,
    pub(crate) then: Option<SubschemaId>,
    pub(crate) otherwise: Option<SubschemaId>,
}

impl Condition {
    fn schemas(self) -> impl Iterator<Item = SubschemaId> {
        iter::once(self.test).chain(self.then).chain(self.otherwise)
    }
}

impl Subschema {
    /// Schema `true`.
    pub(crate) const TRUE: Self = Self {
        types: Types::ALL,
        values: None,
        text: None,
        format: None,
        number: None,
        list: None,
        object: None,
        in_place: None,
        is_unknown: false,
        has_assertions: false,
    };

    /// Returns whether this is the schema `false`.
    pub(crate) fn is_never(&self) -> bool {
        self.types == Types::NONE
    }

    /// Returns the subschemas that apply to the same value, including the subschemas of a condition.
    pub(crate) fn in_place_subschemas(&self) -> Vec<SubschemaId> {
        let mut found = Vec::new();
        if let Some(in_place) = &self.in_place {
            found.extend(&in_place.all_of);
            found.extend(&in_place.any_of);
            found.extend(&in_place.one_of);
            found.extend(in_place.not);
            found.extend(in_place.condition.into_iter().flat_map(Condition::schemas));
        }
        if let Some(object) = &self.object {
            found.extend(object.dependent_schemas.iter().map(|(_, schema)| *schema));
        }
        found
    }

    /// Returns the subschemas that apply to items, to the values of properties and to keys.
    pub(crate) fn children(&self) -> Vec<SubschemaId> {
        let mut found = Vec::new();
        if let Some(list) = &self.list {
            found.extend(&list.prefix);
            found.extend(list.rest);
            found.extend(list.contains.map(|contains| contains.schema));
            found.extend(list.unevaluated);
        }
        if let Some(object) = &self.object {
            found.extend(
                object
                    .declared
                    .iter()
                    .filter_map(|name| object.properties.get(name)),
            );
            found.extend(object.patterns.iter().map(|(_, schema)| *schema));
            found.extend(object.additional);
            found.extend(object.names);
            found.extend(object.unevaluated);
        }
        found
    }

    /// Returns the subschemas that coercion ignores.
    pub(crate) fn uncoerced(&self) -> Vec<SubschemaId> {
        let mut found = Vec::new();
        if let Some(in_place) = &self.in_place {
            found.extend(in_place.not);
            found.extend(in_place.condition.into_iter().flat_map(Condition::schemas));
        }
        if let Some(list) = &self.list {
            found.extend(list.contains.map(|contains| contains.schema));
            found.extend(list.unevaluated);
        }
        if let Some(object) = &self.object {
            found.extend(object.dependent_schemas.iter().map(|(_, schema)| *schema));
            found.extend(object.unevaluated);
            found.extend(object.names);
        }
        found
    }

    /// Returns whether the schema has a keyword that coercion does not enforce.
    pub(crate) fn asserts(&self) -> bool {
        let in_place = self.in_place.as_ref();
        let list = self.list.as_ref();
        let object = self.object.as_ref();
        self.format.is_some()
            || in_place.is_some_and(|keywords| keywords.not.is_some() || keywords.condition.is_some())
            || list.is_some_and(|keywords| keywords.contains.is_some() || keywords.unevaluated.is_some())
            || object.is_some_and(|keywords| {
                !keywords.dependent_required.is_empty()
                    || !keywords.dependent_schemas.is_empty()
                    || keywords.unevaluated.is_some()
            })
    }
}
