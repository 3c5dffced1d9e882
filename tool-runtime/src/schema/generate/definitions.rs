//! Named types, which schemars puts into `$defs`. A type stays in `$defs` if it is recursive, or if the schema is smaller
//! with its definition. All other types are inlined.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::schema::keywords::{Keywords, marks, reference, subschemas};

/// Inlines definitions with which the schema would be larger. `shown` is the schema that the model receives; its lengths
/// are compared.
pub(super) fn inline(root: &mut Value, shown: &Value) {
    let Some(Value::Object(definitions)) = root.as_object_mut().and_then(|root| root.shift_remove("$defs"))
    else {
        return;
    };
    let mut names = DefinitionNames::new(&definitions);
    let Plan { order, kept } = Graph::new(shown, &names).plan();
    names.kept = kept;
    let mut inlined = Inlined {
        bodies: vec![None; definitions.len()],
        names,
    };
    for index in order {
        let mut body = definitions.values().nth(index).cloned().unwrap_or_default();
        inlined.inline_in(&mut body);
        set(&mut inlined.bodies, index, Some(body));
    }
    inlined.inline_in(root);
    inlined.replace_reference(root, true);
    let kept: Keywords = definitions
        .into_iter()
        .zip(inlined.bodies)
        .zip(inlined.names.kept)
        .filter_map(|(((name, _), body), is_kept)| body.filter(|_| is_kept).map(|body| (name, body)))
        .collect();
    if let Value::Object(keywords) = root
        && !kept.is_empty()
    {
        keywords.insert("$defs".to_owned(), kept.into());
    }
}

/// Index of each definition by its name.
pub(super) struct DefinitionNames {
    indices: HashMap<String, usize>,
    /// References to the definitions, in the spelling of schemars.
    references: Vec<String>,
    kept: Vec<bool>,
}

impl DefinitionNames {
    pub(super) fn new(definitions: &Keywords) -> Self {
        Self {
            indices: definitions.keys().cloned().zip(0..).collect(),
            references: definitions
                .keys()
                .map(|name| reference::to_definition(name))
                .collect(),
            kept: Vec::new(),
        }
    }

    /// Returns the definition that a schema refers to.
    pub(super) fn target(&self, keywords: &Keywords) -> Option<usize> {
        self.index(&reference::definition_name(keywords.get("$ref")?.as_str()?)?)
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.indices.get(name).copied()
    }

    fn is_kept(&self, index: usize) -> bool {
        self.kept.get(index).copied().unwrap_or_default()
    }
}

/// Definitions and their uses.
struct Graph<'n> {
    names: &'n DefinitionNames,
    root: Vec<Use>,
    nodes: Vec<DefinitionNode>,
}

/// A definition, with its lengths as JSON text.
struct DefinitionNode {
    /// Length without the inlined references.
    length: usize,
    /// Length of the description, which a use may replace.
    description: usize,
    /// Uses of other definitions.
    uses: Vec<Use>,
    /// Whether the cleaning of a use depends on the content of the definition.
    is_inlined: bool,
}

/// A reference to a definition.
#[derive(Clone, Copy)]
struct Use {
    definition: usize,
    /// Whether the use has its own description.
    is_described: bool,
    /// Whether the reference has constraints beside it. Some APIs do not support keywords beside a reference, so such a use
    /// gets a copy of the definition.
    is_constrained: bool,
}

/// Decision for each definition.
struct Plan {
    /// Used definitions, each after the definitions that it uses; references between recursive types are ignored.
    order: Vec<usize>,
    /// Whether a definition stays in `$defs`.
    kept: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq)]
enum VisitState {
    Unseen,
    Visiting,
    Done,
}

impl<'n> Graph<'n> {
    fn new(shown: &Value, names: &'n DefinitionNames) -> Self {
        let definitions = shown.get("$defs").and_then(Value::as_object);
        let mut graph = Self {
            names,
            root: Vec::new(),
            nodes: Vec::new(),
        };
        if let Some(definition) = shown.as_object().and_then(|root| names.target(root)) {
            graph.root.push(Use {
                definition,
                is_described: false,
                is_constrained: true,
            });
        }
        for (steps, child) in subschemas::children(shown) {
            if !steps.starts_with("/$defs/") {
                graph.collect_uses(child, &mut |graph, found| graph.root.push(found));
            }
        }
        for definition in definitions.into_iter().flat_map(Map::values) {
            let description = definition
                .get("description")
                .map_or(0, |text| text_length(text) + 15);
            let index = graph.nodes.len();
            graph.nodes.push(DefinitionNode {
                length: text_length(definition),
                description,
                uses: Vec::new(),
                is_inlined: definition.as_object().is_none_or(allows_null),
            });
            graph.collect_uses(definition, &mut |graph, found| {
                if let Some(node) = graph.nodes.get_mut(index) {
                    node.uses.push(found);
                }
            });
        }
        graph
    }

    /// Collects the uses in a schema, in order. Recursion is safe, since Rust types do not nest deeply.
    fn collect_uses(&mut self, schema: &Value, add: &mut impl FnMut(&mut Self, Use)) {
        let keywords = schema.as_object();
        if let Some(keywords) = keywords
            && let Some(definition) = self.names.target(keywords)
        {
            let found = Use {
                definition,
                is_described: keywords.contains_key("description"),
                is_constrained: is_constrained(keywords),
            };
            add(self, found);
        }
        for (_, child) in subschemas::children(schema) {
            self.collect_uses(child, add);
        }
    }

    fn plan(&self) -> Plan {
        let mut states = vec![VisitState::Unseen; self.nodes.len()];
        let mut plan = Plan {
            order: Vec::new(),
            kept: vec![false; self.nodes.len()],
        };
        for found in &self.root {
            self.visit(found.definition, &mut states, &mut plan);
        }
        // Number of uses without a copy, and number of uses with a description.
        let mut counts = vec![(0_usize, 0_usize); self.nodes.len()];
        let in_definitions = plan.order.iter().filter_map(|index| self.nodes.get(*index));
        for found in in_definitions.flat_map(|node| &node.uses).chain(&self.root) {
            if let Some((uses, described)) = counts.get_mut(found.definition)
                && !found.is_constrained
            {
                *uses += 1;
                *described += usize::from(found.is_described);
            }
        }
        let mut lengths = vec![0; self.nodes.len()];
        for index in &plan.order {
            let (Some(node), Some(length), Some(kept), Some((uses, described))) = (
                self.nodes.get(*index),
                self.length(*index, &lengths, &plan.kept),
                plan.kept.get_mut(*index),
                counts.get(*index),
            ) else {
                continue;
            };
            let in_place = (uses * length).saturating_sub(described * node.description);
            *kept |= !node.is_inlined && self.length_in_definitions(*index, length, *uses) < in_place;
            set(&mut lengths, *index, length);
        }
        plan
    }

    /// Visits a definition and the definitions that it uses. A recursive definition stays in `$defs`.
    fn visit(&self, index: usize, states: &mut [VisitState], plan: &mut Plan) {
        match states.get(index) {
            Some(VisitState::Unseen) => {}
            Some(VisitState::Visiting) => return set(&mut plan.kept, index, true),
            _ => return,
        }
        set(states, index, VisitState::Visiting);
        for found in self.nodes.get(index).into_iter().flat_map(|node| &node.uses) {
            self.visit(found.definition, states, plan);
        }
        set(states, index, VisitState::Done);
        plan.order.push(index);
    }

    /// Returns the length of a definition after inlining.
    fn length(&self, index: usize, lengths: &[usize], kept: &[bool]) -> Option<usize> {
        let node = self.nodes.get(index)?;
        let moved = node.uses.iter().filter_map(|found| {
            let is_moved = found.is_constrained || !*kept.get(found.definition)?;
            let target = self.nodes.get(found.definition)?;
            let replaced = if found.is_described { target.description } else { 0 };
            let content = lengths.get(found.definition)?.saturating_sub(replaced);
            is_moved.then(|| content.saturating_sub(self.reference_length(found.definition)))
        });
        Some(node.length + moved.sum::<usize>())
    }

    /// Returns the length of a definition in `$defs`, including all references to it.
    fn length_in_definitions(&self, index: usize, length: usize, uses: usize) -> usize {
        let reference = self.reference_length(index);
        // `"name":` is shorter than a reference by `{"$ref":"#/$defs/"}`, and longer by the colon and the comma. The first
        // definition adds `,"$defs":{}`.
        (uses + 1) * reference + length
    }

    /// Returns the length of `{"$ref":".."}`.
    fn reference_length(&self, index: usize) -> usize {
        self.names
            .references
            .get(index)
            .map_or(0, |reference| reference.len() + 11)
    }
}

fn set<T>(slots: &mut [T], index: usize, value: T) {
    if let Some(slot) = slots.get_mut(index) {
        *slot = value;
    }
}

fn text_length(value: &Value) -> usize {
    value.to_string().len()
}

/// Returns whether a schema has keywords beside a reference that are not annotations.
fn is_constrained(keywords: &Keywords) -> bool {
    let is_annotation = |keyword: &String| {
        keyword.starts_with("x-")
            || marks::is_mark(keyword)
            || matches!(
                keyword.as_str(),
                "$ref"
                    | "title"
                    | "description"
                    | "default"
                    | "examples"
                    | "deprecated"
                    | "readOnly"
                    | "writeOnly"
            )
    };
    !keywords.keys().all(is_annotation)
}

/// Definitions with other definitions already inlined.
struct Inlined {
    names: DefinitionNames,
    /// Contents of the definitions; `None` for a recursive type that is being processed.
    bodies: Vec<Option<Value>>,
}

/// Maximum number of newtypes around a type.
const MAX_NEWTYPES: usize = 64;

impl Inlined {
    /// Inlines definitions into a schema. Recursion is safe, since Rust types do not nest deeply.
    fn inline_in(&self, schema: &mut Value) {
        let is_option = self.is_moved_option(schema);
        for child in subschemas::children_mut(schema) {
            self.inline_in(child);
        }
        let Value::Object(keywords) = schema else {
            return;
        };
        if is_option {
            allow_null_in_place(keywords);
        }
        self.replace_reference(schema, false);
    }

    /// Replaces a reference by its definition if the definition is inlined, or if `is_root`: the root is the schema
    /// of an object.
    fn replace_reference(&self, schema: &mut Value, is_root: bool) {
        let Value::Object(keywords) = schema else {
            return;
        };
        for _ in 0..MAX_NEWTYPES {
            let Some(index) = self.names.target(keywords) else {
                return;
            };
            let is_copied = is_root || is_constrained(keywords) || !self.names.is_kept(index);
            let body = self.bodies.get(index).and_then(Option::as_ref);
            let Some(body) = body.filter(|_| is_copied) else {
                let reference = self.names.references.get(index).cloned().unwrap_or_default();
                keywords.insert("$ref".to_owned(), reference.into());
                return;
            };
            let mut outer = std::mem::take(keywords);
            outer.shift_remove("$ref");
            match body {
                Value::Object(body) => *keywords = with_outer(body.clone(), outer),
                // Only the schemas `true` and `false` remain, which have no description.
                constant => {
                    *schema = constant.clone();
                    return;
                }
            }
        }
    }

    /// Returns whether a schema is an `Option` of an inlined type.
    fn is_moved_option(&self, schema: &Value) -> bool {
        let Some([Value::Object(one), null]) =
            schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
        else {
            return false;
        };
        let is_moved = |index| !self.names.is_kept(index);
        one.len() == 1 && *null == json!({ "type": "null" }) && self.names.target(one).is_some_and(is_moved)
    }
}

/// Replaces the `anyOf` with `null` by a nullable type, as schemars does for an `Option` with inline content.
fn allow_null_in_place(keywords: &mut Keywords) {
    let mut inner = match keywords.get("anyOf") {
        Some(Value::Array(alternatives)) => match alternatives.first() {
            Some(Value::Object(inner)) => inner.clone(),
            _ => return,
        },
        _ => return,
    };
    if !allow_null(&mut inner) {
        return;
    }
    let mut outer = std::mem::take(keywords);
    outer.shift_remove("anyOf");
    *keywords = with_outer(inner, outer);
}

/// Allows `null`, as schemars does for an `Option` with inline content; `false` for a schema that needs an `anyOf`.
pub(super) fn allow_null(inner: &mut Keywords) -> bool {
    let is_composite = ["if", "allOf", "anyOf", "oneOf", "$ref"]
        .into_iter()
        .any(|keyword| inner.contains_key(keyword));
    if is_composite {
        return false;
    }
    match inner.get_mut("type") {
        Some(Value::Array(types)) if !types.iter().any(|name| name == "null") => types.push("null".into()),
        Some(name @ Value::String(_)) if *name != "null" => *name = json!([name, "null"]),
        _ => {}
    }
    if let Some(constant) = inner.shift_remove("const") {
        inner.insert("enum".to_owned(), json!([constant, null]));
    } else if let Some(Value::Array(values)) = inner.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    true
}

/// Merges a definition with the keywords beside a reference to it. The keywords beside the reference replace keywords of
/// the definition, as attributes of a field do. Properties are merged, with the tag of an internally tagged variant first.
pub(super) fn with_outer(mut body: Keywords, outer: Keywords) -> Keywords {
    if outer.contains_key("properties") {
        // The keyword would reject the outer properties. schemars removes it, too, if it generates both schemas inline.
        for closing in ["additionalProperties", "unevaluatedProperties"] {
            if body.get(closing) == Some(&Value::Bool(false)) {
                body.shift_remove(closing);
            }
        }
    }
    for (keyword, value) in outer {
        let joined = match (keyword.as_str(), value, body.shift_remove_entry(&keyword)) {
            ("properties", Value::Object(mut properties), Some((_, Value::Object(inner)))) => {
                for (name, property) in inner {
                    properties.entry(name).or_insert(property);
                }
                properties.into()
            }
            ("required", Value::Array(mut names), Some((_, Value::Array(inner)))) => {
                names.extend(inner);
                names.into()
            }
            (_, value, _) => value,
        };
        body.insert(keyword, joined);
    }
    body
}

/// Returns whether a schema allows `null`.
pub(super) fn allows_null(keywords: &Keywords) -> bool {
    let listed = |values: &Value| {
        values
            .as_array()
            .is_some_and(|values| values.contains(&Value::Null))
    };
    match keywords.get("type") {
        Some(Value::String(name)) => return name == "null",
        Some(Value::Array(names)) => return names.iter().any(|name| name == "null"),
        _ => {}
    }
    if let Some(value) = keywords.get("const") {
        return value.is_null();
    }
    if let Some(values) = keywords.get("enum") {
        return listed(values);
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(Value::Array(alternatives)) = keywords.get(union) {
            let allows = |schema: &Value| schema.as_object().is_some_and(allows_null) || *schema == true;
            return alternatives.iter().any(allows);
        }
    }
    !keywords.contains_key("$ref") && !keywords.contains_key("properties") && !keywords.contains_key("allOf")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inlined(mut root: Value) -> Value {
        let shown = root.clone();
        inline(&mut root, &shown);
        root
    }

    fn long() -> Value {
        json!({ "type": "object", "description": "D", "properties": { "name": { "type": "string", "pattern": "a".repeat(99) } } })
    }

    #[test]
    fn keeps_smaller_schemas_in_definitions() {
        let root = json!({
            "properties": { "a": { "$ref": "#/$defs/Long" }, "b": { "$ref": "#/$defs/Long" }, "c": { "$ref": "#/$defs/Short" },
                "d": { "$ref": "#/$defs/Short" }, "e": { "$ref": "#/$defs/Once" } },
            "$defs": { "Long": long(), "Short": { "type": "string" }, "Once": long(), "Unused": {} },
        });
        let expected = json!({
            "properties": { "a": { "$ref": "#/$defs/Long" }, "b": { "$ref": "#/$defs/Long" }, "c": { "type": "string" },
                "d": { "type": "string" }, "e": long() },
            "$defs": { "Long": long() },
        });
        assert_eq!(inlined(root), expected);
    }

    #[test]
    fn keeps_outer_annotations_and_constraints() {
        let root = json!({
            "properties": {
                "a": { "$ref": "#/$defs/Long", "description": "A", "$tool_runtime::default": true },
                "b": { "$ref": "#/$defs/Long" },
                "c": { "$ref": "#/$defs/Long", "properties": { "tag": { "const": "c" } }, "required": ["tag"] },
                "d": { "anyOf": [{ "$ref": "#/$defs/Short" }, { "type": "null" }], "description": "S" },
                "e": { "$ref": "#/$defs/Short", "maxLength": 3 },
                "f": { "anyOf": [{ "$ref": "#/$defs/Long" }, { "type": "null" }] },
            },
            "$defs": { "Long": long(), "Short": { "type": "string", "maxLength": 9 } },
        });
        let tagged = json!({ "tag": { "const": "c" }, "name": long()["properties"]["name"] });
        let expected = json!({
            "a": { "$ref": "#/$defs/Long", "description": "A", "$tool_runtime::default": true },
            "b": { "$ref": "#/$defs/Long" },
            "c": { "type": "object", "description": "D", "properties": tagged, "required": ["tag"] },
            "d": { "type": ["string", "null"], "maxLength": 9, "description": "S" },
            "e": { "type": "string", "maxLength": 3 },
            "f": { "anyOf": [{ "$ref": "#/$defs/Long" }, { "type": "null" }] },
        });
        assert_eq!(inlined(root)["properties"], expected);
    }

    #[test]
    fn keeps_recursive_types_in_definitions() {
        let root = json!({
            "properties": { "a": { "$ref": "#/$defs/%E6%97%85" } },
            "$defs": {
                "旅": { "properties": { "b": { "$ref": "#/$defs/B", "minProperties": 1 } } },
                "B": { "type": "object", "properties": { "a": { "$ref": "#/$defs/旅" } } },
            },
        });
        let inner = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/%E6%97%85" } }, "minProperties": 1 });
        let expected = json!({
            "properties": { "a": { "$ref": "#/$defs/%E6%97%85" } },
            "$defs": { "旅": { "properties": { "b": inner } } },
        });
        assert_eq!(inlined(root), expected);
    }

    #[test]
    fn terminates_on_newtypes_that_contain_themselves() {
        let root = json!({
            "properties": { "a": { "$ref": "#/$defs/A", "minLength": 1 } },
            "$defs": { "A": { "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/A" } },
        });
        assert!(inlined(root)["properties"]["a"].get("$ref").is_some());
    }
}
