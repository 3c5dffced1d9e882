//! [`Location`]: position of a type in a schema.

use serde_json::Value;

use crate::schema::keywords::reference;

/// Position of a type's schema; `None` if the position is unknown, since a type may have any schema.
#[derive(Clone)]
pub(super) struct Location<'a> {
    root: &'a Value,
    pub(super) pointer: Option<String>,
}

/// Maximum number of references and unions between a type and its schema.
const MAX_STEPS: usize = 64;

impl<'a> Location<'a> {
    /// Creates the location for a JSON Pointer, after resolving references and unions with `null`.
    pub(super) fn new(root: &'a Value, pointer: Option<String>) -> Self {
        let mut location = Self { root, pointer };
        for _ in 0..MAX_STEPS {
            let Some(next) = location.dereference() else { break };
            location.pointer = Some(next);
        }
        location
            .pointer
            .take_if(|pointer| root.pointer(pointer).is_none());
        location
    }

    pub(super) fn schema(&self) -> Option<&'a Value> {
        self.root.pointer(self.pointer.as_ref()?)
    }

    /// Resolves a reference, or the union of an `Option`.
    fn dereference(&self) -> Option<String> {
        let schema = self.schema()?;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return reference.strip_prefix('#').map(reference::percent_decode);
        }
        let [one, other] = schema.get("anyOf")?.as_array()?.as_slice() else {
            return None;
        };
        let is_null = |schema: &Value| schema.get("type").is_some_and(|name| name == "null");
        let index = match (is_null(one), is_null(other)) {
            (false, true) => 0,
            (true, false) => 1,
            _ => return None,
        };
        Some(format!("{}/anyOf/{index}", self.pointer.as_ref()?))
    }

    /// Returns the location of a subschema, at these keys.
    pub(super) fn descendant(&self, keys: &[&str]) -> Self {
        let escaped = keys
            .iter()
            .map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1")));
        let pointer = self
            .pointer
            .as_ref()
            .map(|pointer| escaped.fold(pointer.clone(), |pointer, key| pointer + &key));
        Self::new(self.root, pointer)
    }

    pub(super) fn is_found(&self) -> bool {
        self.pointer.is_some()
    }

    /// Returns the location of the first item of a list or a tuple.
    pub(super) fn item(&self) -> Self {
        let first = self.descendant(&["prefixItems", "0"]);
        if first.is_found() {
            return first;
        }
        self.descendant(&["items"])
    }

    /// Returns the location of a variant's content.
    pub(super) fn variant(&self, name: &str) -> Self {
        let alternatives = self.schema().and_then(|schema| schema.get("oneOf")?.as_array());
        let mut found = (0..alternatives.map_or(0, Vec::len))
            .map(|index| self.descendant(&["oneOf", &index.to_string(), "properties", name]));
        found
            .find(Self::is_found)
            .unwrap_or_else(|| self.descendant(&["properties", name]))
    }

    /// Returns the variants of an internally or adjacently tagged enum.
    pub(super) fn tagged_variants(&self) -> Vec<TaggedVariant> {
        let alternatives = self.schema().and_then(|schema| schema.get("oneOf")?.as_array());
        let variant = |(index, alternative): (usize, &Value)| {
            let properties = alternative.get("properties")?.as_object()?;
            let mut constants = properties.iter().filter_map(|(tag, property)| {
                Some((tag.clone(), property.get("const")?.as_str()?.to_owned()))
            });
            let (tag, name) = constants.next()?;
            let pointer = format!("{}/oneOf/{index}", self.pointer.as_ref()?);
            Some(TaggedVariant { pointer, tag, name })
        };
        alternatives
            .into_iter()
            .flatten()
            .enumerate()
            .filter_map(variant)
            .collect()
    }

    /// Returns the entries of a map, or of a struct that is deserialized as a map: their keys (empty if unknown) and
    /// locations.
    pub(super) fn entries(&self) -> Vec<(String, Self)> {
        let named = |keyword| self.schema().and_then(|schema| schema.get(keyword)?.as_object());
        let properties = named("properties").into_iter().flatten();
        let patterns = named("patternProperties").into_iter().flatten();
        let mut entries: Vec<_> = properties
            .map(|(name, _)| (name.clone(), self.descendant(&["properties", name])))
            .chain(patterns.map(|(name, _)| (String::new(), self.descendant(&["patternProperties", name]))))
            .collect();
        if entries.is_empty() || named("additionalProperties").is_some() {
            entries.push((String::new(), self.descendant(&["additionalProperties"])));
        }
        entries
    }
}

/// A variant of an internally or adjacently tagged enum.
pub(super) struct TaggedVariant {
    /// JSON Pointer to the variant's schema.
    pub(super) pointer: String,
    pub(super) tag: String,
    pub(super) name: String,
}
