//! [`Enums`]: facts about a type that its schema lacks.

/// Names of an enum's variants.
pub(crate) type Names = &'static [&'static str];

/// Enums in a type, and maps whose keys its schema does not describe.
#[derive(Debug, Clone, Default)]
#[allow(unnameable_types, reason = "a hidden method of `Parameter` hands it over")]
pub struct Enums {
    /// Enums of values. An outer enum precedes inner enums.
    pub(crate) values: Vec<Names>,
    /// Enums of map keys.
    pub(crate) keys: Vec<Names>,
    /// JSON Pointers to the schemas of maps with boolean or character keys.
    pub(crate) maps: Vec<(String, KeyType)>,
    /// JSON Pointers to the schemas of maps with enum keys that are not traced.
    pub(crate) buffered: Vec<String>,
    /// JSON Pointers to the schemas of patches in an `Option`.
    pub(crate) wrapped_patches: Vec<String>,
    /// Variants without a valid value.
    pub(crate) unreachable: Vec<Unreachable>,
}

/// An internally tagged variant whose content is not an object, such as a number, so the tag cannot be added to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreachable {
    /// JSON Pointer to the variant's schema.
    pub(crate) pointer: String,
    pub(crate) tag: String,
    pub(crate) name: String,
    /// Expected content, as serde describes it.
    pub(crate) expected: String,
}

impl Unreachable {
    /// Returns a message with advice.
    pub(crate) fn reason(&self) -> String {
        let Self {
            tag, name, expected, ..
        } = self;
        format!(
            "no call can reach the variant `{name}`: it has the tag `{tag}` inside an object, and its content is {expected}; write a \
             variant with fields, or add `content = \"value\"` beside `tag = \"{tag}\"`"
        )
    }
}

/// Type of map keys that are strings in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    Boolean,
    Character,
}

impl Enums {
    /// Adds an enum of values, unless it is known.
    pub(super) fn add_values(&mut self, variants: Names) {
        add(&mut self.values, variants);
    }

    /// Adds an enum of map keys, unless it is known.
    pub(super) fn add_keys(&mut self, variants: Names) {
        add(&mut self.keys, variants);
    }
}

fn add(enums: &mut Vec<Names>, variants: Names) {
    if !enums.contains(&variants) {
        enums.push(variants);
    }
}
