//! [`Flattener`]: reads the parts of a composition, by references, too.

use serde_json::{Map, Value};

use super::object::FlatObject;
use crate::schema::keywords::reference::{self, Target};

/// Maximum number of parts of a composition: references may repeat a part exponentially.
const MAX_PARTS: usize = 2000;

/// Maximum depth of compositions in compositions; registration accepts 16 unions in each other.
const MAX_NESTING: usize = 32;

/// Flattens the compositions of a schema.
pub(super) struct Flattener<'s> {
    root: &'s Value,
    /// Targets of the open references.
    open: Vec<String>,
    /// Number of parts that may still be read.
    parts: usize,
    nesting: usize,
}

impl<'s> Flattener<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self {
            root,
            open: Vec::new(),
            parts: MAX_PARTS,
            nesting: 0,
        }
    }

    /// Returns the flat form of a schema; `None` if no object is valid.
    pub(super) fn flatten(&mut self, schema: &Value) -> Option<FlatObject> {
        let keywords = match schema {
            Value::Object(keywords) if self.parts > 0 && self.nesting < MAX_NESTING => keywords,
            Value::Bool(false) => return None,
            _ => return Some(FlatObject::default()),
        };
        if !allows_objects(keywords) {
            return None;
        }
        self.parts -= 1;
        self.nesting += 1;
        let object = self.flatten_keywords(keywords);
        self.nesting -= 1;
        object
    }

    fn flatten_keywords(&mut self, keywords: &Map<String, Value>) -> Option<FlatObject> {
        let mut object = FlatObject::from_keywords(keywords);
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str)
            && let Target::Schema(target, pointer) = reference::resolve(self.root, reference)
            && !self.open.contains(&pointer)
        {
            self.open.push(pointer);
            let target = self.flatten(target);
            self.open.pop();
            object.add(target?);
        }
        for part in parts(keywords, "allOf") {
            object.add(self.flatten(part)?);
        }
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            let alternatives: Vec<FlatObject> = parts(keywords, keyword)
                .iter()
                .filter_map(|part| self.flatten(part))
                .collect();
            if !alternatives.is_empty() {
                object.add_alternatives(&alternatives, is_exclusive);
            }
        }
        Some(object)
    }
}

/// Returns the schemas of a composition.
fn parts<'s>(keywords: &'s Map<String, Value>, keyword: &str) -> &'s [Value] {
    keywords
        .get(keyword)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns whether `type` includes objects.
fn allows_objects(keywords: &Map<String, Value>) -> bool {
    match keywords.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => true,
    }
}
