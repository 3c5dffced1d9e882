//! Compiles `anyOf` and `oneOf`: extracts `null`, merges constants into one `enum`, and merges siblings into the
//! branches.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::compiler::{Compiler, Flattened};
use super::merge;
use crate::schema::check::{SchemaError, is_annotation};
use crate::schema::compiled::name::fold;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Kind, KnownKeys, Schema, Union};
use crate::schema::keywords::marks;

/// Result of compiling a union.
pub(super) enum CompiledUnion {
    Schema(Schema),
    /// Keywords of the single branch, which may contain another union.
    Single(Map<String, Value>),
    /// Two schemas that both apply: the siblings and the union.
    AllOf([Value; 2]),
}

/// Compiles the branches of a union with its sibling keywords.
pub(super) fn compile(
    compiler: &mut Compiler<'_>,
    mut siblings: Map<String, Value>,
    branches: &[Value],
    exclusive: bool,
) -> Result<CompiledUnion, SchemaError> {
    siblings.retain(|keyword, _| !is_annotation(keyword));
    let mut union = Branches::default();
    for branch in branches {
        union.add(compiler, branch, &siblings, exclusive)?;
    }
    union.merge_constants(exclusive);
    if !siblings.is_empty() && !union.merge_siblings(&siblings) {
        let keyword = if exclusive { "oneOf" } else { "anyOf" };
        let branches = Value::Object(
            [(keyword.to_owned(), Value::from(branches))]
                .into_iter()
                .collect(),
        );
        return Ok(CompiledUnion::AllOf([Value::Object(siblings), branches]));
    }
    union.finalize(compiler, exclusive)
}

#[derive(Default)]
struct Branches {
    branches: Vec<Branch>,
    null: bool,
}

struct Branch {
    /// Original schema, so that a bare reference keeps its [`SchemaId`](crate::schema::compiled::SchemaId).
    written: Value,
    /// Schema without `$ref` and `allOf`; `None` if the branch is a boolean or cannot be merged into one schema.
    flattened: Option<Map<String, Value>>,
}

impl Branches {
    fn add(
        &mut self,
        compiler: &Compiler<'_>,
        branch: &Value,
        siblings: &Map<String, Value>,
        exclusive: bool,
    ) -> Result<(), SchemaError> {
        let flattened = match branch {
            Value::Object(keywords) => {
                let Flattened { keywords, unmerged } = compiler.flatten(keywords, 0)?;
                unmerged.is_empty().then_some(keywords)
            }
            Value::Bool(false) => return Ok(()),
            _ => None,
        };
        // In a `oneOf`, a second branch that accepts `null` is kept, since a value that matches both branches is invalid.
        let is_second_null = exclusive && self.null;
        if flattened.as_ref().is_some_and(is_null) && !is_second_null {
            self.null |= may_be_null(siblings);
            return Ok(());
        }
        self.branches.push(Branch {
            written: branch.clone(),
            flattened,
        });
        Ok(())
    }

    /// Replaces `[{const: a}, {const: b}]` by `{enum: [a, b]}`. Branches stay separate if a `oneOf` repeats a constant, or if
    /// two constants have equivalent spellings, since a third spelling would be ambiguous.
    fn merge_constants(&mut self, exclusive: bool) {
        let constants = |branch: &Branch| branch.flattened.as_ref().and_then(constants);
        let all: Vec<Value> = self.branches.iter().filter_map(constants).flatten().collect();
        let Some(first) = self
            .branches
            .iter()
            .position(|branch| constants(branch).is_some())
        else {
            return;
        };
        let mut seen = HashSet::new();
        let is_duplicate = |value: &Value| !seen.insert(value.as_str().unwrap_or_default().to_owned());
        if self.branches.iter().filter_map(constants).count() < 2
            || (exclusive && all.iter().any(is_duplicate))
            || have_equivalent_spellings(&all)
        {
            return;
        }
        let schema = json!({ "type": "string", "enum": all });
        let mut index = 0;
        self.branches.retain(|branch| {
            index += 1;
            index - 1 == first || constants(branch).is_none()
        });
        if let Some(branch) = self.branches.get_mut(first) {
            branch.flattened = schema.as_object().cloned();
            branch.written = schema;
        }
    }

    /// Merges the siblings into every branch. Returns `false` and changes no branch if a branch cannot be merged without loss.
    fn merge_siblings(&mut self, siblings: &Map<String, Value>) -> bool {
        let merged = |branch: &Branch| merge::merge(siblings, branch.flattened.as_ref()?);
        let Some(merged) = self.branches.iter().map(merged).collect::<Option<Vec<_>>>() else {
            return false;
        };
        for (branch, merged) in self.branches.iter_mut().zip(merged) {
            branch.written = Value::Object(merged.clone());
            branch.flattened = Some(merged);
        }
        true
    }

    fn finalize(
        mut self,
        compiler: &mut Compiler<'_>,
        exclusive: bool,
    ) -> Result<CompiledUnion, SchemaError> {
        if let [branch] = self.branches.as_mut_slice()
            && let Some(mut keywords) = branch.flattened.take()
            && (!self.null || allow_null(&mut keywords, exclusive))
        {
            return Ok(CompiledUnion::Single(keywords));
        }
        if self.branches.is_empty() {
            let types = if self.null { Types::NULL } else { Types::NONE };
            return Ok(CompiledUnion::Schema(Schema { types, ..Schema::ANY }));
        }
        let schemas = self
            .branches
            .iter()
            .map(|branch| compiler.intern(&branch.written));
        let union = Union {
            schemas: schemas.collect::<Result<_, _>>()?,
            null: self.null,
            exclusive,
            tag: None,
            keys: KnownKeys::default(),
        };
        Ok(CompiledUnion::Schema(Schema {
            kind: Kind::Union(Box::new(union)),
            ..Schema::ANY
        }))
    }
}

/// Returns whether two different strings are equal without case, separators and spaces.
fn have_equivalent_spellings(texts: &[Value]) -> bool {
    let mut texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
    texts.sort_unstable();
    texts.dedup();
    let mut seen = HashSet::new();
    texts
        .into_iter()
        .any(|text| !seen.insert(fold(&text.replace(' ', ""))))
}

/// Adds `null` to `type` and `enum`. Returns `false` if this is impossible, or if the schema of a `oneOf` already accepts
/// `null`.
fn allow_null(keywords: &mut Map<String, Value>, exclusive: bool) -> bool {
    let has_null = || keywords.get("type").is_none_or(allows_null);
    if ["anyOf", "oneOf", "const", marks::VALIDATION]
        .into_iter()
        .any(|keyword| keywords.contains_key(keyword))
        || (exclusive && has_null())
    {
        return false;
    }
    match keywords.get_mut("type") {
        Some(Value::Array(types)) => types.push("null".into()),
        Some(one @ Value::String(_)) => *one = json!([one, "null"]),
        _ => return false,
    }
    if let Some(Value::Array(values)) = keywords.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    true
}

/// Returns whether a schema accepts only `null`.
fn is_null(keywords: &Map<String, Value>) -> bool {
    let is = |keyword: &str, value: &Value| keywords.get(keyword) == Some(value);
    let is_union = ["anyOf", "oneOf"]
        .into_iter()
        .any(|keyword| keywords.contains_key(keyword));
    let is_only_null = is("type", &"null".into()) || is("const", &Value::Null) || is("enum", &json!([null]));
    is_only_null && !is_union && may_be_null(keywords)
}

/// Returns whether `type`, `enum` and `const` allow `null`.
fn may_be_null(keywords: &Map<String, Value>) -> bool {
    let lists_null = |values: &Value| {
        values
            .as_array()
            .is_none_or(|values| values.contains(&Value::Null))
    };
    keywords.get("type").is_none_or(allows_null)
        && keywords.get("enum").is_none_or(lists_null)
        && keywords.get("const").is_none_or(Value::is_null)
}

fn allows_null(types: &Value) -> bool {
    match types {
        Value::Array(names) => names.iter().any(|name| name == "null"),
        name => name == "null",
    }
}

/// Returns the strings of a schema whose only constraint is a `const` or `enum` of strings.
fn constants(keywords: &Map<String, Value>) -> Option<Vec<Value>> {
    let mut found = None;
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "const" => found = Some(vec![value.clone()]),
            "enum" => found = value.as_array().cloned(),
            "type" if value == "string" => {}
            other if is_annotation(other) => {}
            _ => return None,
        }
    }
    found.filter(|values| values.iter().all(Value::is_string))
}
