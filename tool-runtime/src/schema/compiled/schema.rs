//! The compiled schema, against which arguments are validated.
//!
//! The schemas of a [`CompiledSchema`] are in one vector and refer to each other by index, so that recursive schemas
//! need no cyclic pointers.

use std::collections::HashMap;
use std::sync::Arc;

use super::bounds::NumberLimits;
use super::format_description::Format;
use super::name::{KeyPrefix, is_same};
use super::pattern::Pattern;
use super::spelling::{SpellingIndex, find_resembling, unquoted};
use super::types::Types;
use super::validation::{SubschemaId, Validation};
use super::values::MAX_LINEAR_SEARCH;
pub(crate) use super::values::{TextLimits, Values};
use crate::schema::keywords::pointer;

/// A compiled schema. [`compile_with_formats`](Self::compile_with_formats) creates it once for each tool, and all calls
/// of the tool share it.
#[derive(Debug, Clone)]
pub(crate) struct CompiledSchema {
    pub(crate) schemas: Vec<Schema>,
    /// Index of the property for each parameter of the function.
    parameters: Vec<usize>,
    /// Whether the arguments are deserialized into Rust types.
    is_typed: bool,
    /// Whether the tool may destroy data.
    is_destructive: bool,
    /// Schema for the validator; `None` if coercion enforces all keywords.
    pub(crate) validation: Option<Arc<Validation>>,
    /// Schemas that describe subschemas of the validation in messages.
    pub(crate) described: HashMap<SubschemaId, SchemaId>,
    /// Original keys of renamed properties, with the new keys.
    original_keys: Vec<(Box<str>, Box<str>)>,
}

/// Index of a [`Schema`] in its [`CompiledSchema`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SchemaId(pub(crate) u32);

impl SchemaId {
    /// Id of the schema of the arguments.
    pub(crate) const ROOT: Self = Self(0);
}

impl CompiledSchema {
    /// Returns the schema with this id.
    pub(crate) fn schema(&self, id: SchemaId) -> &Schema {
        self.schemas.get(id.0 as usize).unwrap_or(&Schema::ANY)
    }

    pub(crate) fn new(schemas: Vec<Schema>) -> Self {
        Self {
            schemas,
            parameters: Vec::new(),
            is_typed: false,
            is_destructive: false,
            validation: None,
            described: HashMap::new(),
            original_keys: Vec::new(),
        }
    }

    /// Returns the schema for the validator; `None` if coercion enforces all keywords.
    #[inline]
    pub(crate) fn validation(&self) -> Option<&Validation> {
        self.validation.as_deref()
    }

    /// Returns the schema that describes a subschema of the validation; `None` if coercion enforces the subschema.
    pub(crate) fn described(&self, subschema: SubschemaId) -> Option<SchemaId> {
        self.described.get(&subschema).copied()
    }

    /// Sets the parameters of the function, in order. Parameters from the host have no property.
    pub(crate) fn set_parameters<'p>(&mut self, names: impl Iterator<Item = &'p str>) {
        let properties = self.properties();
        let position = |name: &str| properties.iter().position(|property| *property.name == *name);
        self.parameters = names.map(|name| position(name).unwrap_or(usize::MAX)).collect();
        self.is_typed = true;
    }

    /// Returns whether the arguments are deserialized into Rust types.
    pub(crate) fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Sets whether the tool may destroy data.
    pub(crate) fn set_destructive(&mut self, is_destructive: bool) {
        self.is_destructive = is_destructive;
    }

    /// Sets the original keys of renamed properties, with the new keys.
    pub(crate) fn set_original_keys(&mut self, keys: impl Iterator<Item = (Box<str>, Box<str>)>) {
        self.original_keys = keys.collect();
    }

    /// Returns the new key of a property, by its original key.
    pub(crate) fn renamed_key(&self, original: &str) -> Option<&str> {
        let mut keys = self.original_keys.iter();
        let (_, new) = keys.find(|(key, _)| **key == *original)?;
        Some(new)
    }

    /// Returns whether the tool may destroy data. Invalid arguments of such a tool are never omitted.
    pub(crate) fn is_destructive(&self) -> bool {
        self.is_destructive
    }

    /// Accepts every text for a `format`, unless formats are enforced.
    pub(crate) fn ignore_formats(&mut self) {
        for schema in &mut self.schemas {
            if let Kind::Plain(plain) = &mut schema.kind
                && let Some(limits) = &mut plain.text
            {
                limits.format = None;
            }
        }
    }

    /// Returns whether serde deserializes a union as an untagged enum, whose first matching alternative is chosen even
    /// if some keys are unknown to it.
    pub(crate) fn picks_first_match(&self, is_exclusive: bool) -> bool {
        self.is_typed && !is_exclusive
    }

    /// Returns the index of a parameter's property.
    pub(crate) fn property_index(&self, parameter: usize) -> Option<usize> {
        self.parameters.get(parameter).copied()
    }

    /// Returns the properties of the arguments.
    pub(crate) fn properties(&self) -> &[Property] {
        let plain = self.schema(SchemaId::ROOT).plain();
        let object = plain.and_then(|plain| plain.object.as_ref());
        object.map_or(&[], |object| &object.properties)
    }

    /// Returns the index of the declared property that contains a path, for sorting issues; undeclared keys come
    /// last.
    pub(crate) fn rank(&self, path: &str) -> usize {
        let declared = self.properties();
        let overlaps = |property: &Property| pointer::overlap(path, &pointer::join("", &property.name));
        declared.iter().position(overlaps).unwrap_or(declared.len())
    }
}

/// Schema of a value.
#[allow(clippy::struct_excessive_bools, reason = "each is independent of the others")]
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    /// Allowed types. For a [`Union`] or [`AllOf`], the types that its schemas allow together.
    pub(crate) types: Types,
    /// Applies [`Policy::Strict`](crate::Policy::Strict) to this value and its contents.
    pub(crate) strict: bool,
    /// Whether other spellings of enum values, enum keys of maps and tags are rejected, in this value and its
    /// contents.
    pub(crate) case_sensitive: bool,
    /// Whether this is a [`Patch`](crate::Patch), for which `null` and a missing value differ.
    pub(crate) is_patch: bool,
    /// Whether a list of strings may be valid. A string is then more likely an item of a list than JSON text.
    pub(crate) lists_of_strings: bool,
    /// Description of the `format`, for messages.
    pub(crate) format: Option<&'static Format>,
    /// Whether the description mentions JSON: a string may have to contain JSON.
    pub(crate) mentions_json: bool,
    /// Subschemas for the validator, whose keywords apply but do not take part in coercion.
    pub(crate) assertions: Option<Box<[SubschemaId]>>,
    pub(crate) kind: Kind,
}

/// Kinds of schemas.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// Plain schema: limits for each allowed type.
    Plain(Box<Plain>),
    /// Alternatives.
    Union(Box<Union>),
    /// Schemas that all apply, and cannot be merged into one plain schema.
    AllOf(Box<AllOf>),
    /// No limits: `{}`, `true`, or a bare `type`.
    Any,
}

/// Limits for each type: `text` applies to strings, and `list` to arrays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plain {
    /// `enum` and `const`, for values of any type.
    pub(crate) values: Option<Values>,
    pub(crate) text: Option<TextLimits>,
    /// Limits of values of type `integer` and `number`.
    pub(crate) number: Option<NumberLimits>,
    pub(crate) list: Option<List>,
    pub(crate) object: Option<Object>,
}

impl Plain {
    /// A schema without limits.
    pub(crate) const NONE: Self = Self {
        values: None,
        text: None,
        number: None,
        list: None,
        object: None,
    };
}

/// Limits of an array.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    /// Schemas of the first items, by position; not empty for a tuple.
    pub(crate) prefix: Vec<SchemaId>,
    /// Schema of the items after the prefix.
    pub(crate) additional: Additional,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) unique: bool,
}

impl List {
    /// Returns a list without limits.
    pub(crate) fn unlimited() -> &'static Self {
        static UNLIMITED: List = List {
            prefix: Vec::new(),
            additional: Additional::Unspecified,
            min: None,
            max: None,
            unique: false,
        };
        &UNLIMITED
    }

    /// Returns the schema of the item at a position; `None` without a separate schema (see [`List::additional`]).
    pub(crate) fn item(&self, position: usize) -> Option<SchemaId> {
        self.prefix.get(position).copied().or(match self.additional {
            Additional::Of(schema) => Some(schema),
            _ => None,
        })
    }

    /// Returns whether a single value can be wrapped into this list, since all items have the same schema.
    pub(crate) fn can_wrap_single(&self) -> bool {
        !self.is_tuple() && self.additional != Additional::Denied
    }

    /// Returns whether the first items have schemas by position.
    pub(crate) fn is_tuple(&self) -> bool {
        !self.prefix.is_empty()
    }
}

/// `additionalProperties`, or the `items` after a prefix: the schema of all properties or items without a separate
/// schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Additional {
    /// Missing keyword. Undeclared properties of an object are then unknown, and reported.
    #[default]
    Unspecified,
    /// `false`.
    Denied,
    /// `true` or `{}`.
    Any,
    /// A schema.
    Of(SchemaId),
}

/// Limits of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    /// Properties in declared order.
    pub(crate) properties: Vec<Property>,
    /// Required keys without a declared property.
    pub(crate) also_required: Vec<Box<str>>,
    /// `patternProperties`.
    pub(crate) patterns: Vec<(Pattern, SchemaId)>,
    /// `additionalProperties`.
    pub(crate) additional: Additional,
    /// `propertyNames`.
    pub(crate) names: Option<SchemaId>,
    /// Whether this is a Rust map with enum keys, which are the properties.
    pub(crate) is_enum_map: bool,
    /// Whether this is an alternative of a `oneOf` whose only key is its tag (an externally tagged enum).
    pub(crate) is_variant: bool,
    /// Whether `properties`, `patternProperties` and `additionalProperties` are all missing, so that no key is
    /// unknown.
    pub(crate) is_unconstrained: bool,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    /// Bit mask of the required properties among the first 64.
    pub(crate) required: u64,
    /// Index of each name, for objects with too many names for a linear search.
    pub(crate) by_name: HashMap<Box<str>, usize>,
    /// Index of the spellings of names, for maps with many declared keys.
    pub(crate) spellings: Option<Box<SpellingIndex>>,
}

/// A declared property.
#[derive(Debug, Clone)]
pub(crate) struct Property {
    pub(crate) name: Box<str>,
    /// Name and colon as compact JSON: `"name":`.
    pub(crate) key_prefix: KeyPrefix,
    /// Name in lower case without `_` and `-` (see [`fold`](super::name::fold)).
    pub(crate) folded: Box<str>,
    pub(crate) schema: SchemaId,
    pub(crate) required: bool,
    /// Whether the schema has a `default` for the property, or the property is an entry of a map: then `null` causes
    /// a warning. For an optional property without a default, `null` means that it is missing.
    pub(crate) has_default: bool,
}

impl Object {
    /// Returns an object without constraints.
    pub(crate) fn unconstrained() -> Self {
        Self {
            is_unconstrained: true,
            ..Self::default()
        }
    }

    /// Returns whether this is a map: an invalid key is an error, not an unknown property.
    pub(crate) fn is_map(&self) -> bool {
        self.names.is_some() || self.is_closed()
    }

    /// Returns whether undeclared keys that match no pattern are invalid.
    pub(crate) fn is_closed(&self) -> bool {
        let has_patterns = self.properties.is_empty() && !self.patterns.is_empty();
        self.additional == Additional::Denied && (self.is_enum_map || has_patterns)
    }

    /// Returns whether the property at an index has this name. Models usually write properties in declared order.
    #[inline]
    pub(crate) fn has_at(&self, position: usize, name: &str) -> bool {
        let property = self.properties.get(position);
        property.is_some_and(|property| is_same(&property.name, name))
    }

    /// Returns the index of a declared property.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        if self.properties.len() <= MAX_LINEAR_SEARCH {
            let is = |property: &Property| is_same(&property.name, name);
            return self.properties.iter().position(is);
        }
        self.by_name.get(name).copied()
    }

    /// Returns the declared key that equals a key without surrounding space, or else the only similar declared key.
    pub(crate) fn resembling(&self, key: &str) -> Option<&str> {
        let position = match &self.spellings {
            Some(spellings) => {
                let find = |key: &str| self.position(key.trim()).or_else(|| spellings.find(key));
                find(key).or_else(|| find(unquoted(key)?))
            }
            None => find_resembling(self.properties.iter().map(|property| &*property.name), key),
        };
        Some(&self.properties.get(position?)?.name)
    }

    /// Computes `required`, `by_name` and `spellings`.
    pub(crate) fn index(&mut self) {
        let bits = (0..u64::BITS).map(|position| 1_u64 << position);
        let required = self
            .properties
            .iter()
            .zip(bits)
            .filter(|(property, _)| property.required);
        self.required = required.fold(0, |all, (_, bit)| all | bit);
        if self.properties.len() > MAX_LINEAR_SEARCH {
            let names = self.properties.iter().enumerate();
            self.by_name = names
                .map(|(position, property)| (property.name.clone(), position))
                .collect();
            let names = self.properties.iter().map(|property| &*property.name);
            let spellings = self.is_map().then(|| SpellingIndex::new(names));
            self.spellings = spellings.map(Box::new);
        }
    }
}

/// `anyOf` or `oneOf`.
#[derive(Debug, Clone)]
pub(crate) struct Union {
    pub(crate) schemas: Vec<SchemaId>,
    /// Whether `null` is an alternative. `schemas` does not contain `null`.
    pub(crate) null: bool,
    /// Whether this is a `oneOf`: exactly one alternative may match.
    pub(crate) exclusive: bool,
    /// Tag that selects an alternative among objects.
    pub(crate) tag: Option<Tag>,
    /// Keys of all alternatives.
    pub(crate) keys: KnownKeys,
}

/// Tag of a union of objects, as in the enum representations of serde.
#[derive(Debug, Clone)]
pub(crate) enum Tag {
    /// A property that all alternatives require, with different values (internally and adjacently tagged).
    Property {
        name: Box<str>,
        folded: Box<str>,
        /// Each value of the tag with its alternative.
        values: Vec<(Box<str>, SchemaId)>,
        case_sensitive: bool,
    },
    /// Each alternative has a single property, with a unique name (externally tagged).
    Key(Vec<(Box<str>, SchemaId)>),
}

/// `allOf`.
#[derive(Debug, Clone)]
pub(crate) struct AllOf {
    pub(crate) schemas: Vec<SchemaId>,
    /// Keys of all schemas. Each schema treats these keys as known.
    pub(crate) keys: KnownKeys,
}

/// Union of the keys of several schemas.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownKeys {
    /// Declared keys, in declared order.
    pub(crate) declared: Vec<Box<str>>,
    /// `patternProperties`.
    pub(crate) patterns: Vec<Pattern>,
    /// Whether one of the schemas accepts undeclared keys.
    pub(crate) open: bool,
}

impl KnownKeys {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.open
            || self.declared.iter().any(|known| **known == *key)
            || self.patterns.iter().any(|pattern| pattern.is_match(key))
    }
}

impl Schema {
    /// Schema `true`.
    pub(crate) const ANY: Self = Self {
        types: Types::ALL,
        strict: false,
        case_sensitive: false,
        is_patch: false,
        lists_of_strings: false,
        format: None,
        mentions_json: false,
        assertions: None,
        kind: Kind::Any,
    };

    /// Schema `false`.
    pub(crate) const NEVER: Self = Self {
        types: Types::NONE,
        ..Self::ANY
    };

    /// Returns whether every value is valid.
    pub(crate) fn accepts_all(&self) -> bool {
        self.types == Types::ALL && matches!(self.kind, Kind::Any) && self.assertions.is_none()
    }

    /// Returns the limits of a plain schema; `None` for other kinds.
    pub(crate) fn plain(&self) -> Option<&Plain> {
        match &self.kind {
            Kind::Plain(plain) => Some(plain),
            _ => None,
        }
    }
}
