//! State of a compilation: ids of subschemas, the queue of subschemas to compile, and the resolution of references.
//!
//! Subschemas are queued and not compiled recursively. The compilation of a recursive schema terminates, since a known
//! schema keeps its id: a schema with the same pointer, or a merged schema with the same text.

use std::cell::Cell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::merge;
use crate::schema::check::{SchemaError, is_annotation, is_assertion};
use crate::schema::compiled::pattern::Patterns;
use crate::schema::compiled::{Schema, SchemaId};
use crate::schema::keywords::marks;
use crate::schema::keywords::reference::{self, Target};

pub(super) struct Compiler<'s> {
    pub(super) root: &'s Value,
    pub(super) patterns: &'s Patterns,
    pub(super) schemas: Vec<Schema>,
    pub(super) queue: Vec<(SchemaId, Value)>,
    pub(super) by_pointer: HashMap<String, SchemaId>,
    pub(super) by_text: HashMap<String, SchemaId>,
    /// Number of merged schemas.
    pub(super) merged: Cell<usize>,
}

/// A schema without `$ref` and `allOf`, and the schemas that could not be merged into it.
pub(super) struct Flattened {
    pub(super) keywords: Map<String, Value>,
    pub(super) unmerged: Vec<Value>,
}

/// Maximum number of subschemas. Schemas that grow exponentially exceed it, and are rejected.
const MAX_SCHEMAS: usize = 50_000;

/// Maximum length of a chain of references or nested `allOf`s.
const MAX_STEPS: usize = 64;

/// Maximum number of merged schemas. Nested `allOf`s can double their number with each level.
const MAX_MERGED: usize = 50_000;

impl Compiler<'_> {
    /// Returns the id of a subschema. A new subschema is queued.
    pub(super) fn intern(&mut self, schema: &Value) -> Result<SchemaId, SchemaError> {
        let Some(keywords) = schema.as_object() else {
            return self.enqueue(schema);
        };
        if let Some(reference) = bare_reference(keywords) {
            let (target, pointer) = self.resolve(reference)?;
            if let Some(known) = self.by_pointer.get(&pointer) {
                return Ok(*known);
            }
            let id = self.enqueue(&target)?;
            self.by_pointer.insert(pointer, id);
            return Ok(id);
        }
        if !["$ref", "allOf", "anyOf", "oneOf"]
            .into_iter()
            .any(|keyword| keywords.contains_key(keyword))
        {
            return self.enqueue(schema);
        }
        let text = canonical_text(schema);
        if let Some(known) = self.by_text.get(&text) {
            return Ok(*known);
        }
        let id = self.enqueue(schema)?;
        self.by_text.insert(text, id);
        Ok(id)
    }

    pub(super) fn enqueue(&mut self, schema: &Value) -> Result<SchemaId, SchemaError> {
        let id = u32::try_from(self.schemas.len())
            .ok()
            .filter(|_| self.schemas.len() < MAX_SCHEMAS);
        let Some(id) = id.map(SchemaId) else {
            return Err(SchemaError::new(
                "",
                format!("it has more than {MAX_SCHEMAS} subschemas; make it smaller"),
            ));
        };
        self.schemas.push(Schema::ANY);
        self.queue.push((id, schema.clone()));
        Ok(id)
    }

    /// Follows a chain of bare references. Returns the schema at its end, and the pointer to the schema.
    fn resolve(&self, reference: &str) -> Result<(Value, String), SchemaError> {
        let mut reference = reference.to_owned();
        for _ in 0..MAX_STEPS {
            let Target::Schema(schema, pointer) = reference::resolve(self.root, &reference) else {
                return Err(SchemaError::new("", format!("`{reference}` does not resolve")));
            };
            match schema.as_object().and_then(bare_reference) {
                Some(next) => reference = next.to_owned(),
                None => return Ok((schema.clone(), pointer)),
            }
        }
        Err(circular_reference(&reference))
    }

    /// Resolves `$ref` and `allOf`, merging schemas if possible.
    pub(super) fn flatten(
        &self,
        keywords: &Map<String, Value>,
        steps: usize,
    ) -> Result<Flattened, SchemaError> {
        let mut own = keywords.clone();
        let reference = own.shift_remove("$ref");
        let all = own.shift_remove("allOf");
        // The mark of the assertions stays beside the resolved schema.
        own.retain(|keyword, _| !is_assertion(keyword));
        let mut flattened = Flattened {
            keywords: own,
            unmerged: Vec::new(),
        };
        if steps > MAX_STEPS {
            return Err(circular_reference(
                reference.as_ref().and_then(Value::as_str).unwrap_or("#"),
            ));
        }
        self.merged.set(self.merged.get() + steps.min(1));
        if self.merged.get() > MAX_MERGED {
            let reason =
                format!("its `$ref`s and `allOf`s merge more than {MAX_MERGED} schemas; make it smaller");
            return Err(SchemaError::new("", reason));
        }
        let mut parts = Vec::new();
        if let Some(reference) = reference.as_ref().and_then(Value::as_str) {
            parts.push(self.resolve(reference)?.0);
        }
        if let Some(Value::Array(all)) = all {
            parts.extend(all);
        }
        for part in parts {
            match part {
                Value::Bool(true) => {}
                Value::Object(part) => {
                    let part = self.flatten(&part, steps + 1)?;
                    match merge::merge(&flattened.keywords, &part.keywords) {
                        Some(merged) => flattened.keywords = merged,
                        None => flattened.unmerged.push(Value::Object(part.keywords)),
                    }
                    flattened.unmerged.extend(part.unmerged);
                }
                other => flattened.unmerged.push(other),
            }
        }
        Ok(flattened)
    }
}

/// Returns a text that is equal for equal schemas, regardless of the order of their `allOf`.
fn canonical_text(schema: &Value) -> String {
    let mut parts: Vec<String> = merge::all_of_parts(schema)
        .into_iter()
        .map(Value::to_string)
        .collect();
    parts.sort_unstable();
    parts.dedup();
    parts.join("\n")
}

/// Returns the reference of a schema without other constraints.
fn bare_reference(keywords: &Map<String, Value>) -> Option<&str> {
    let reference = keywords.get("$ref")?.as_str()?;
    // The mark of a default belongs to the property, not to its schema.
    let is_constraint =
        |keyword: &String| keyword != "$ref" && keyword != marks::DEFAULT && !is_annotation(keyword);
    (!keywords.keys().any(is_constraint)).then_some(reference)
}

fn circular_reference(reference: &str) -> SchemaError {
    let reason =
        format!("`{reference}` leads back to itself; put a property or an item between a schema and itself");
    SchemaError::new("", reason)
}
