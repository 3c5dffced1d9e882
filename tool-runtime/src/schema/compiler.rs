//! The state of a compilation: which subschemas have a number, which wait, where references lead.
//!
//! Subschemas wait in a queue instead of on the stack. What refers to itself ends, because a schema that was met
//! before, at the same place or (where several are merged) with the same text, keeps its number.

use std::cell::Cell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::check::{SchemaError, is_annotation};
use super::compiled::{Schema, SchemaId};
use super::merge;
use super::reference::{self, Target};

pub(super) struct Compiler<'s> {
    pub(super) root: &'s Value,
    pub(super) schemas: Vec<Schema>,
    pub(super) queue: Vec<(SchemaId, Value)>,
    pub(super) by_pointer: HashMap<String, SchemaId>,
    pub(super) by_text: HashMap<String, SchemaId>,
    /// How many schemas were merged.
    pub(super) merged: Cell<usize>,
}

/// A schema without `$ref` and `allOf`, and what had to be left out to get there.
pub(super) struct Flat {
    pub(super) keywords: Map<String, Value>,
    pub(super) apart: Vec<Value>,
}

/// More schemas than any tool has use for: a schema that multiplies itself ends here.
const MAX_SCHEMAS: usize = 50_000;

/// More steps than any chain of references or `allOf`s has.
const MOST_STEPS: usize = 64;

/// More merging than any tool has use for: `allOf`s of `allOf`s double with every step.
const MOST_MERGED: usize = 50_000;

impl Compiler<'_> {
    /// The number of a subschema's schema, now or later to be compiled.
    pub(super) fn request(&mut self, schema: &Value) -> Result<SchemaId, SchemaError> {
        let Some(keywords) = schema.as_object() else {
            return self.enqueue(schema);
        };
        if let Some(reference) = bare_reference(keywords) {
            let (target, at) = self.follow(reference)?;
            if let Some(known) = self.by_pointer.get(&at) {
                return Ok(*known);
            }
            let id = self.enqueue(&target)?;
            self.by_pointer.insert(at, id);
            return Ok(id);
        }
        if !["$ref", "allOf", "anyOf", "oneOf"]
            .into_iter()
            .any(|keyword| keywords.contains_key(keyword))
        {
            return self.enqueue(schema);
        }
        let text = text(schema);
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

    /// The schema behind a chain of bare references.
    fn follow(&self, reference: &str) -> Result<(Value, String), SchemaError> {
        let mut reference = reference.to_owned();
        for _ in 0..MOST_STEPS {
            let Target::Schema(schema, at) = reference::resolve(self.root, &reference) else {
                return Err(SchemaError::new("", format!("`{reference}` does not resolve")));
            };
            match schema.as_object().and_then(bare_reference) {
                Some(next) => reference = next.to_owned(),
                None => return Ok((schema.clone(), at)),
            }
        }
        Err(circle(&reference))
    }

    /// Resolves `$ref` and `allOf`, merging what can be merged.
    pub(super) fn flatten(&self, keywords: &Map<String, Value>, steps: usize) -> Result<Flat, SchemaError> {
        let mut own = keywords.clone();
        let reference = own.shift_remove("$ref");
        let all = own.shift_remove("allOf");
        let mut flat = Flat {
            keywords: own,
            apart: Vec::new(),
        };
        if steps > MOST_STEPS {
            return Err(circle(reference.as_ref().and_then(Value::as_str).unwrap_or("#")));
        }
        self.merged.set(self.merged.get() + steps.min(1));
        if self.merged.get() > MOST_MERGED {
            let reason =
                format!("its `$ref`s and `allOf`s merge more than {MOST_MERGED} schemas; make it smaller");
            return Err(SchemaError::new("", reason));
        }
        let mut parts = Vec::new();
        if let Some(reference) = reference.as_ref().and_then(Value::as_str) {
            parts.push(self.follow(reference)?.0);
        }
        if let Some(Value::Array(all)) = all {
            parts.extend(all);
        }
        for part in parts {
            match part {
                Value::Bool(true) => {}
                Value::Object(part) => {
                    let part = self.flatten(&part, steps + 1)?;
                    match merge::both(&flat.keywords, &part.keywords) {
                        Some(merged) => flat.keywords = merged,
                        None => flat.apart.push(Value::Object(part.keywords)),
                    }
                    flat.apart.extend(part.apart);
                }
                refused => flat.apart.push(refused),
            }
        }
        Ok(flat)
    }
}

/// What is the same for schemas that say the same, in whatever order `allOf` lists it.
fn text(schema: &Value) -> String {
    let mut parts: Vec<String> = merge::parts(schema).into_iter().map(Value::to_string).collect();
    parts.sort_unstable();
    parts.dedup();
    parts.join("\n")
}

/// The reference of a schema that says nothing else.
fn bare_reference(keywords: &Map<String, Value>) -> Option<&str> {
    let reference = keywords.get("$ref")?.as_str()?;
    let says = |keyword: &String| keyword != "$ref" && !is_annotation(keyword);
    (!keywords.keys().any(says)).then_some(reference)
}

fn circle(reference: &str) -> SchemaError {
    let reason =
        format!("`{reference}` leads back to itself; put a property or an item between a schema and itself");
    SchemaError::new("", reason)
}
