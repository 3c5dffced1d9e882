//! Restores the attributes of fields that schemars ignores beside a reference.
//!
//! schemars applies `#[schemars(length(min = 1))]` on a field only if the schema of the field has a `type`. The schema is
//! therefore generated with references and again inline, and differences are copied from the inline schema.

use serde_json::Value;

use super::definitions::{DefinitionNames, allow_null, with_outer};
use crate::schema::keywords::{Keywords, reference, subschemas};

/// Maximum number of inline subschemas. Types that use another type twice at each level have exponentially many subschemas.
const MAX_IN_PLACE: usize = 4_000;

/// Restores the attributes in a schema with references. `in_place` generates the inline schema.
///
/// # Errors
///
/// Returns the names of the types whose uses may lack attributes, if the inline schema would be too large.
pub(crate) fn restore(root: &mut Value, in_place: impl FnOnce() -> Value) -> Result<(), Vec<String>> {
    let Some(definitions) = root.get("$defs").and_then(Value::as_object) else {
        return Ok(());
    };
    let names = DefinitionNames::new(definitions);
    let limited = definitions
        .iter()
        .filter(|(_, schema)| is_limited(schema))
        .map(|(name, _)| name.clone());
    let limited: Vec<String> = limited.collect();
    let definitions: Vec<Value> = definitions.values().cloned().collect();
    if count_in_place(root, &names, &definitions) > MAX_IN_PLACE {
        return if limited.is_empty() { Ok(()) } else { Err(limited) };
    }
    let in_place = in_place();
    let mut restored = Restored {
        is_visited: vec![false; definitions.len()],
        recursive: in_place.get("$defs").and_then(Value::as_object),
        names,
        definitions,
    };
    restored.compare_children(root, &in_place);
    let Restored { definitions, .. } = restored;
    if let Some(Value::Object(slots)) = root.get_mut("$defs") {
        for (slot, definition) in slots.values_mut().zip(definitions) {
            *slot = definition;
        }
    }
    Ok(())
}

/// Returns whether attributes of fields apply to a definition: to a string, a number or a list.
fn is_limited(schema: &Value) -> bool {
    let name = schema.get("type").and_then(Value::as_str);
    name.is_some_and(|name| matches!(name, "string" | "integer" | "number" | "array"))
        && schema.get("enum").is_none()
}

/// Returns the number of subschemas after replacing all references by their definitions.
fn count_in_place(root: &Value, names: &DefinitionNames, definitions: &[Value]) -> usize {
    let mut counts = vec![None; definitions.len()];
    let mut count = 0_usize;
    for (steps, child) in subschemas::children(root) {
        if !steps.starts_with("/$defs/") {
            count = count.saturating_add(count_schema(child, names, definitions, &mut counts));
        }
    }
    count
}

/// Counts the subschemas of an inline schema. Recursion is safe, since Rust types do not nest deeply.
fn count_schema(
    schema: &Value,
    names: &DefinitionNames,
    definitions: &[Value],
    counts: &mut [Option<usize>],
) -> usize {
    let target = schema.as_object().and_then(|keywords| names.target(keywords));
    let mut count = 1_usize;
    if let Some(index) = target
        && let Some(definition) = definitions.get(index)
    {
        let known = counts.get(index).copied().flatten();
        let found = known.unwrap_or_else(|| {
            // A recursive type is a reference inside itself.
            set(counts, index, 1);
            let found = count_schema(definition, names, definitions, counts);
            set(counts, index, found);
            found
        });
        count = count.saturating_add(found);
    }
    for (_, child) in subschemas::children(schema) {
        count = count.saturating_add(count_schema(child, names, definitions, counts));
    }
    count
}

fn set(counts: &mut [Option<usize>], index: usize, count: usize) {
    if let Some(slot) = counts.get_mut(index) {
        *slot = Some(count);
    }
}

struct Restored<'s> {
    names: DefinitionNames,
    definitions: Vec<Value>,
    /// Whether each definition was compared. One comparison is enough, since its content is equal at each use.
    is_visited: Vec<bool>,
    /// Definitions of the inline schema.
    recursive: Option<&'s Keywords>,
}

impl Restored<'_> {
    /// Compares a schema with its inline form, and replaces it if they differ.
    fn compare(&mut self, schema: &mut Value, in_place: &Value) {
        let (Value::Object(keywords), Value::Object(expected)) = (&*schema, in_place) else {
            if *schema != *in_place {
                schema.clone_from(in_place);
            }
            return;
        };
        if expected.contains_key("$ref") && keywords.contains_key("$ref") {
            return;
        }
        let (found, definition) = self.in_place_of(keywords, expected);
        if !has_same_constraints(&found, expected) {
            if self.knows_references(in_place) {
                schema.clone_from(in_place);
            }
            return;
        }
        if let Some(index) = definition
            && let Some(is_visited) = self.is_visited.get_mut(index)
            && !std::mem::replace(is_visited, true)
            && let Some(mut body) = self.definitions.get_mut(index).map(Value::take)
        {
            self.compare_children(&mut body, in_place);
            if let Some(slot) = self.definitions.get_mut(index) {
                *slot = body;
            }
        }
        if definition.is_none() {
            self.compare_children(schema, in_place);
        }
    }

    /// Compares the subschemas of both schemas.
    fn compare_children(&mut self, schema: &mut Value, in_place: &Value) {
        let steps: Vec<String> = subschemas::children(schema)
            .into_iter()
            .map(|(steps, _)| steps)
            .collect();
        for (steps, child) in steps.into_iter().zip(subschemas::children_mut(schema)) {
            if let Some(expected) = in_place.pointer(&steps).filter(|_| !steps.starts_with("/$defs/")) {
                self.compare(child, expected);
            }
        }
    }

    /// Returns a schema with its reference replaced by the definition, and the index of that definition.
    fn in_place_of(&self, keywords: &Keywords, expected: &Keywords) -> (Keywords, Option<usize>) {
        let alternatives = keywords.get("anyOf").and_then(Value::as_array).map(Vec::as_slice);
        if let Some([Value::Object(one), _]) = alternatives
            && one.len() == 1
            && one.contains_key("$ref")
            && !expected.contains_key("anyOf")
            && let (mut inner, Some(index)) = self.resolved(one)
        {
            allow_null(&mut inner);
            let mut outer = keywords.clone();
            outer.shift_remove("anyOf");
            return (with_outer(inner, outer), Some(index));
        }
        self.resolved(keywords)
    }

    /// Returns a schema with its references resolved, through newtypes.
    fn resolved(&self, keywords: &Keywords) -> (Keywords, Option<usize>) {
        let (mut found, mut last) = (keywords.clone(), None);
        for _ in 0..self.definitions.len() {
            let Some(index) = self.names.target(&found) else {
                break;
            };
            // `null` marks a definition that is being compared.
            let Some(Value::Object(body)) = self.definitions.get(index) else {
                break;
            };
            found.shift_remove("$ref");
            found = with_outer(body.clone(), found);
            last = Some(index);
        }
        (found, last)
    }

    /// Returns whether the references in an inline schema have the same meaning in the other schema: types with equal
    /// names are numbered.
    fn knows_references(&self, in_place: &Value) -> bool {
        let mut pending = vec![in_place];
        while let Some(schema) = pending.pop() {
            if let Some(name) = schema
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(reference::definition_name)
            {
                let expected = self.recursive.and_then(|known| known.get(&name)?.as_object());
                let Some(Value::Object(own)) = self
                    .names
                    .index(&name)
                    .and_then(|index| self.definitions.get(index))
                else {
                    return false;
                };
                if !expected.is_some_and(|expected| has_same_constraints(own, expected)) {
                    return false;
                }
            }
            pending.extend(subschemas::children(schema).into_iter().map(|(_, child)| child));
        }
        true
    }
}

/// Returns whether two schemas have equal constraints, and subschemas at the same keywords.
fn has_same_constraints(one: &Keywords, other: &Keywords) -> bool {
    let is_compared = |keyword: &str| {
        !matches!(
            keyword,
            "title" | "description" | "default" | "examples" | "deprecated"
        )
    };
    let has = |from: &Keywords, to: &Keywords| {
        from.iter()
            .filter(|(keyword, _)| is_compared(keyword))
            .all(|(keyword, value)| {
                to.contains_key(keyword)
                    && (subschemas::is_applicator(keyword) || to.get(keyword) == Some(value))
            })
    };
    let places = |keywords: &Keywords| {
        let schema = Value::Object(keywords.clone());
        let mut places: Vec<String> = subschemas::children(&schema)
            .into_iter()
            .map(|(steps, _)| steps)
            .collect();
        places.sort_unstable();
        places
    };
    has(one, other) && has(other, one) && places(one) == places(other)
}
