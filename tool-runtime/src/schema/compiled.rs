//! A compiled schema: everything that arguments are checked against, looked up instead of interpreted.
//!
//! The schemas of a [`CompiledSchema`] lie side by side and name each other by number, so that recursive schemas need no
//! cycles of pointers.

use super::name::{KeyPrefix, is_same};
use std::collections::HashMap;

use regex_lite::Regex;
use serde_json::Value;

use super::bounds::NumberLimits;
use super::pointer;
use super::types::Types;

/// A compiled schema. Made once per tool by [`CompiledSchema::compile`](CompiledSchema::compile), shared by all its calls.
#[derive(Debug, Clone)]
pub(crate) struct CompiledSchema {
    pub(super) schemas: Vec<Schema>,
    /// Of a tool's parameters, in their order: the place of each among the properties of the arguments.
    parameters: Vec<usize>,
    /// Whether Rust types read the arguments.
    is_typed: bool,
}

/// The number of a [`Schema`] in its [`CompiledSchema`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SchemaId(pub(super) u32);

impl SchemaId {
    /// The schema of the arguments as a whole.
    pub(crate) const ROOT: Self = Self(0);
}

impl CompiledSchema {
    /// The schema of that number.
    pub(crate) fn schema(&self, id: SchemaId) -> &Schema {
        self.schemas.get(id.0 as usize).unwrap_or(&Schema::ANY)
    }

    pub(super) fn new(schemas: Vec<Schema>) -> Self {
        Self {
            schemas,
            parameters: Vec::new(),
            is_typed: false,
        }
    }

    /// Tells which parameters a function has; one that the host supplies has no property.
    pub(crate) fn set_parameters<'p>(&mut self, names: impl Iterator<Item = &'p str>) {
        let properties = self.properties();
        let position = |name: &str| properties.iter().position(|property| *property.name == *name);
        self.parameters = names.map(|name| position(name).unwrap_or(usize::MAX)).collect();
        self.is_typed = true;
    }

    /// Whether Rust types read the arguments.
    pub(crate) fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Whether serde reads a union, and so in the order of its alternatives: the first that fits is taken, whatever keys
    /// it does not know.
    pub(crate) fn picks_first_match(&self, is_exclusive: bool) -> bool {
        self.is_typed && !is_exclusive
    }

    /// The place of a parameter among the properties of the arguments.
    pub(crate) fn property_index(&self, parameter: usize) -> Option<usize> {
        self.parameters.get(parameter).copied()
    }

    /// The properties of the arguments as a whole.
    pub(crate) fn properties(&self) -> &[Property] {
        let plain = self.schema(SchemaId::ROOT).plain();
        let object = plain.and_then(|plain| plain.object.as_ref());
        object.map_or(&[], |object| &object.properties)
    }

    /// Where in the order of the declared parameters a place in the arguments is; what is none of them comes last.
    pub(crate) fn rank(&self, path: &str) -> usize {
        let declared = self.properties();
        let overlaps = |property: &Property| pointer::overlap(path, &pointer::join("", &property.name));
        declared.iter().position(overlaps).unwrap_or(declared.len())
    }
}

/// What one value has to be.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    /// The types allowed; of a [`Union`] or [`AllOf`] schema what they allow together. A value of another
    /// type never conforms.
    pub(crate) types: Types,
    /// [`Policy::Strict`](crate::Policy::Strict) here and everywhere below.
    pub(crate) strict: bool,
    /// Whether lists may come here whose items may be strings. Then a string is more likely an item than JSON.
    pub(crate) lists_of_strings: bool,
    /// What a text of its `format` looks like, in words: nothing to enforce.
    pub(crate) format: Option<&'static str>,
    pub(crate) kind: Kind,
}

/// The three ways of being a schema.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// Limits for each type, those of types that are not allowed being absent.
    Plain(Box<Plain>),
    /// One of several.
    Union(Box<Union>),
    /// All of several: what could not be merged into one plain schema.
    AllOf(Box<AllOf>),
    /// No limits: `{}`, `true`, or a bare `type`.
    Any,
}

/// Limits, each for values of one type: a string has to meet `text` and nothing in `list`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plain {
    /// `enum` and `const`: a value of any type has to be one of these.
    pub(crate) values: Option<Values>,
    pub(crate) text: Option<TextLimits>,
    /// For values of type `integer` and `number`.
    pub(crate) number: Option<NumberLimits>,
    pub(crate) list: Option<List>,
    pub(crate) object: Option<Object>,
}

impl Plain {
    /// No limits.
    pub(crate) const NONE: Self = Self {
        values: None,
        text: None,
        number: None,
        list: None,
        object: None,
    };
}

/// The values that are allowed.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    /// The strings among them, as declared.
    pub(crate) texts: Vec<Box<str>>,
    /// All others.
    pub(crate) others: Vec<Value>,
    /// Whether strings in another case are refused.
    pub(crate) case_sensitive: bool,
}

/// Limits of a string. Lengths are in characters.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextLimits {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    /// It matches somewhere in the string.
    pub(crate) pattern: Option<Regex>,
    pub(crate) not_blank: bool,
}

/// Limits of an array.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    /// The schemas of the first items, by position; not empty for a tuple.
    pub(crate) prefix: Vec<SchemaId>,
    /// All items after those.
    pub(crate) additional: Additional,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) unique: bool,
}

impl List {
    /// No limits.
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

    /// The schema of the item at a position; `None` when there is none for it (see [`List::additional`]).
    pub(crate) fn item(&self, position: usize) -> Option<SchemaId> {
        self.prefix.get(position).copied().or(match self.additional {
            Additional::Of(schema) => Some(schema),
            _ => None,
        })
    }

    /// Whether it is of any number of items of one schema, so that one value can stand for it.
    pub(crate) fn can_wrap_single(&self) -> bool {
        !self.is_tuple() && self.additional != Additional::Denied
    }

    /// Whether positions have their own schemas.
    pub(crate) fn is_tuple(&self) -> bool {
        !self.prefix.is_empty()
    }
}

/// What is said about the items or properties that have no schema of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Additional {
    /// Nothing is said. (Of an object: they are unknown, and reported.)
    #[default]
    Unspecified,
    /// `false`.
    Denied,
    /// `true` or `{}`.
    Any,
    /// They have this schema.
    Of(SchemaId),
}

/// Limits of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    /// In declared order.
    pub(crate) properties: Vec<Property>,
    /// Required keys that are not among the properties.
    pub(crate) also_required: Vec<Box<str>>,
    /// `patternProperties`.
    pub(crate) patterns: Vec<(Regex, SchemaId)>,
    /// `additionalProperties`.
    pub(crate) additional: Additional,
    /// `propertyNames`: what every key has to be.
    pub(crate) names: Option<SchemaId>,
    /// The schema of a Rust map whose keys are an enum: its properties are those keys.
    pub(crate) is_enum_map: bool,
    /// Neither `properties` nor `patternProperties` nor `additionalProperties` was said: keys are not unknown.
    pub(crate) is_unconstrained: bool,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    /// One bit for each of the first 64 properties that is required.
    pub(crate) required: u64,
    /// From name to position, when there are too many for a linear search.
    pub(super) by_name: HashMap<Box<str>, usize>,
}

/// One declared property.
#[derive(Debug, Clone)]
pub(crate) struct Property {
    pub(crate) name: Box<str>,
    /// The name and the colon behind it, as JSON mostly has them: `"name":`.
    pub(crate) key_prefix: KeyPrefix,
    /// The name without case, `_` and `-` (see [`fold`](super::name::fold)).
    pub(crate) folded: Box<str>,
    pub(crate) schema: SchemaId,
    pub(crate) required: bool,
    /// Whether the schema has a `default` for it, or it is an entry of a map: then `null` in its place is told of. A
    /// property that is neither required nor has one is optional: `null` stands for absence.
    pub(crate) has_default: bool,
}

impl Object {
    /// An object of which nothing is said.
    pub(crate) fn unconstrained() -> Self {
        Self {
            is_unconstrained: true,
            ..Self::default()
        }
    }

    /// Whether its keys are data: one that does not fit is an error, not an unknown property.
    pub(crate) fn is_map(&self) -> bool {
        self.names.is_some() || self.is_closed()
    }

    /// Whether there are no keys but those that it declares or has patterns for.
    pub(crate) fn is_closed(&self) -> bool {
        let has_patterns = self.properties.is_empty() && !self.patterns.is_empty();
        self.additional == Additional::Denied && (self.is_enum_map || has_patterns)
    }

    /// Whether the property in that place has this name: models mostly write in declared order.
    #[inline]
    pub(crate) fn has_at(&self, position: usize, name: &str) -> bool {
        let property = self.properties.get(position);
        property.is_some_and(|property| is_same(&property.name, name))
    }

    /// The place of a declared property.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        if self.properties.len() <= MAX_LINEAR_SEARCH {
            let is = |property: &Property| is_same(&property.name, name);
            return self.properties.iter().position(is);
        }
        self.by_name.get(name).copied()
    }

    /// Makes what is looked up of what is known.
    pub(super) fn index(&mut self) {
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
        }
    }
}

/// Up to this many properties a linear search is faster than a hash (measured: 10).
const MAX_LINEAR_SEARCH: usize = 10;

/// One of several schemas (`anyOf`, `oneOf`). `null` among them is taken out into `null`.
#[derive(Debug, Clone)]
pub(crate) struct Union {
    pub(crate) schemas: Vec<SchemaId>,
    pub(crate) null: bool,
    /// `oneOf`: exactly one may fit.
    pub(crate) exclusive: bool,
    /// How to tell the alternatives that are objects apart.
    pub(crate) tag: Option<Tag>,
    /// The keys that any of them knows.
    pub(crate) keys: KnownKeys,
}

/// What tells the alternatives that are objects apart, as the four taggings of serde's enums do.
#[derive(Debug, Clone)]
pub(crate) enum Tag {
    /// A property that all have and require, each with other values (internally and adjacently tagged).
    Property {
        name: Box<str>,
        folded: Box<str>,
        /// Its values and whose they are.
        values: Vec<(Box<str>, SchemaId)>,
        case_sensitive: bool,
    },
    /// Each has one property only, and no two the same (externally tagged).
    Key(Vec<(Box<str>, SchemaId)>),
}

/// All of several schemas.
#[derive(Debug, Clone)]
pub(crate) struct AllOf {
    pub(crate) schemas: Vec<SchemaId>,
    /// The keys that any of them knows: known to all.
    pub(crate) keys: KnownKeys,
}

/// The keys that at least one of several schemas knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownKeys {
    /// Those that one declares.
    pub(super) declared: Vec<Box<str>>,
    /// Whether one takes keys that are not declared.
    pub(super) open: bool,
}

impl KnownKeys {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.open || self.declared.iter().any(|known| **known == *key)
    }
}

impl Schema {
    /// What takes everything.
    pub(crate) const ANY: Self = Self {
        types: Types::ALL,
        strict: false,
        lists_of_strings: false,
        format: None,
        kind: Kind::Any,
    };

    pub(super) const NEVER: Self = Self {
        types: Types::NONE,
        ..Self::ANY
    };

    /// Whether every value conforms.
    pub(crate) fn accepts_all(&self) -> bool {
        self.types == Types::ALL && matches!(self.kind, Kind::Any)
    }

    /// The limits of a plain schema.
    pub(crate) fn plain(&self) -> Option<&Plain> {
        match &self.kind {
            Kind::Plain(plain) => Some(plain),
            _ => None,
        }
    }
}
