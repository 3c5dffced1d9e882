//! Validates a schema: checks each keyword of each subschema before compilation.

pub(crate) mod limits;

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value};

use super::compiled::pattern::Patterns;
use super::compiled::types::NAMES;
use super::keywords::reference::{self, Target};
use super::keywords::{marks, pointer};
use crate::wire::depth;
use crate::wire::issue::{excerpt, excerpt_path};

/// Reason why a schema cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaError {
    /// JSON Pointer into the schema.
    pub path: String,
    /// Description of the fault, with advice.
    pub reason: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the schema is invalid at `{}`: {}",
            excerpt_path(&self.path),
            self.reason
        )
    }
}

impl SchemaError {
    pub(crate) fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

/// Warning about a valid schema: a keyword is not enforced, or was read as another keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaWarning {
    /// JSON Pointer into the schema.
    pub path: String,
    /// Cause of the warning, and its effect.
    pub reason: String,
}

impl SchemaWarning {
    pub(crate) fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for SchemaWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return write!(f, "{}, at the root of the schema", self.reason);
        }
        write!(
            f,
            "{}, at `{}` of the schema",
            self.reason,
            excerpt_path(&self.path)
        )
    }
}

/// Checks a schema with all its subschemas, and returns the keywords that cannot be enforced.
pub(crate) fn check(schema: &Value, patterns: &Patterns) -> Result<Vec<SchemaWarning>, SchemaError> {
    if depth::is_too_deep(schema) {
        let reason = format!(
            "nested deeper than {} levels; move parts of it to `$defs`",
            depth::MAX_DEPTH
        );
        return Err(SchemaError::new(deepest_path(schema), reason));
    }
    let mut check = Check {
        root: schema,
        patterns,
        pending: vec![(String::new(), schema)],
        unenforced: Vec::new(),
    };
    let mut seen = HashSet::new();
    while let Some((path, schema)) = check.pending.pop() {
        if seen.insert(path.clone()) {
            check.schema(&path, schema)?;
        }
    }
    check.unenforced.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(check.unenforced)
}

/// Returns the pointer to a subschema at the depth limit of a schema that is too deep.
fn deepest_path(schema: &Value) -> String {
    let (mut at, mut value) = (String::new(), schema);
    for left in (0..depth::MAX_DEPTH).rev() {
        let is_too_deep = |part: &Value| depth::is_deeper_than(left, part);
        let child = match value {
            Value::Array(items) => {
                let index = items.iter().position(is_too_deep);
                index.and_then(|index| Some((index.to_string(), items.get(index)?)))
            }
            Value::Object(entries) => {
                let mut entries = entries.iter();
                let found = entries.find(|(_, part)| is_too_deep(part));
                found.map(|(key, part)| (key.clone(), part))
            }
            _ => None,
        };
        let Some((step, part)) = child else { break };
        pointer::push(&mut at, &step);
        value = part;
    }
    at
}

struct Check<'s> {
    root: &'s Value,
    patterns: &'s Patterns,
    pending: Vec<(String, &'s Value)>,
    unenforced: Vec<SchemaWarning>,
}

impl<'s> Check<'s> {
    fn schema(&mut self, path: &str, schema: &'s Value) -> Result<(), SchemaError> {
        match schema {
            Value::Bool(_) => Ok(()),
            Value::Object(keywords) => keywords.iter().try_for_each(|(keyword, value)| {
                self.keyword(&pointer::join(path, keyword), keyword, value, keywords)
            }),
            _ => Err(invalid(path, schema, "a schema is an object, `true` or `false`")),
        }
    }

    fn keyword(
        &mut self,
        path: &str,
        keyword: &str,
        value: &'s Value,
        siblings: &Map<String, Value>,
    ) -> Result<(), SchemaError> {
        match keyword {
            "type" => check_type(path, value),
            "$ref" => self.reference(path, value),
            "enum" if value.as_array().is_none_or(Vec::is_empty) => {
                Err(invalid(path, value, "write a list of the allowed values"))
            }
            "required" => check_names(path, value),
            "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                self.schema_map(path, keyword, value)
            }
            "dependentRequired" | "dependencies" => self.dependencies(path, keyword, value),
            "prefixItems" | "anyOf" | "oneOf" | "allOf" => self.schema_list(path, value),
            "items" if value.is_array() => self.schema_list(path, value),
            "items"
            | "additionalItems"
            | "unevaluatedItems"
            | "contains"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else" => {
                self.pending.push((path.to_owned(), value));
                Ok(())
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minLength"
            | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
            | "maxContains" => check_limit(path, keyword, value, siblings),
            "uniqueItems" | "nullable" if !value.is_boolean() => {
                Err(invalid(path, value, "write `true` or `false`"))
            }
            "pattern" => self.pattern(path, value),
            _ if ENFORCED.contains(&keyword) || marks::is_mark(keyword) || is_annotation(keyword) => Ok(()),
            _ => {
                self.unenforced(path, format!("`{keyword}` is not enforced"));
                Ok(())
            }
        }
    }

    fn schema_map(&mut self, path: &str, keyword: &str, value: &'s Value) -> Result<(), SchemaError> {
        let Some(schemas) = value.as_object() else {
            return Err(invalid(path, value, "write an object of schemas"));
        };
        for (name, schema) in schemas {
            let path = pointer::join(path, name);
            if keyword == "patternProperties" {
                self.regex(&path, name);
            }
            self.pending.push((path, schema));
        }
        Ok(())
    }

    /// Checks `dependentRequired`, or `dependencies`, which may have a schema in place of names.
    fn dependencies(&mut self, path: &str, keyword: &str, value: &'s Value) -> Result<(), SchemaError> {
        let Some(dependencies) = value.as_object() else {
            return Err(invalid(path, value, "write an object of lists of property names"));
        };
        for (name, dependency) in dependencies {
            let path = pointer::join(path, name);
            if keyword == "dependencies" && !dependency.is_array() {
                self.pending.push((path, dependency));
            } else {
                check_names(&path, dependency)?;
            }
        }
        Ok(())
    }

    fn schema_list(&mut self, path: &str, value: &'s Value) -> Result<(), SchemaError> {
        let Some(schemas) = value.as_array().filter(|schemas| !schemas.is_empty()) else {
            return Err(invalid(path, value, "write a list of at least one schema"));
        };
        let indexed = schemas.iter().enumerate();
        self.pending
            .extend(indexed.map(|(index, schema)| (pointer::join(path, &index.to_string()), schema)));
        Ok(())
    }

    fn pattern(&mut self, path: &str, value: &Value) -> Result<(), SchemaError> {
        let Some(pattern) = value.as_str() else {
            return Err(invalid(path, value, "write a regular expression as a string"));
        };
        self.regex(path, pattern);
        Ok(())
    }

    fn regex(&mut self, path: &str, pattern: &str) {
        if let Err(reason) = self.patterns.compile(pattern) {
            let reason = format!("the pattern `{}` is not enforced: {reason}", excerpt(pattern));
            self.unenforced(path, reason);
        }
    }

    fn reference(&mut self, path: &str, value: &'s Value) -> Result<(), SchemaError> {
        let Some(name) = value.as_str() else {
            return Err(invalid(
                path,
                value,
                "write a reference as a string, for example \"#/$defs/Item\"",
            ));
        };
        let absolute = name.split('#').next().is_some_and(|uri| uri.contains(':'));
        if !absolute && let Some(at) = reference::inner_id(self.root, path) {
            let reason = format!(
                "`{}` is relative to the `$id` at `{at}`, and only references from the root are followed; remove that `$id` and write a JSON Pointer from the root, for example `#/$defs/Item`",
                excerpt(name)
            );
            return Err(SchemaError::new(path, reason));
        }
        match reference::resolve(self.root, name) {
            Target::Schema(schema, at) => {
                // The target may be below a keyword that has no subschemas.
                self.pending.push((at, schema));
                Ok(())
            }
            Target::Missing => {
                let reason = format!(
                    "`{}` names no schema of this document, or two; write a JSON Pointer to one, for example `#/$defs/Item`",
                    excerpt(name)
                );
                Err(SchemaError::new(path, reason))
            }
            Target::Remote => {
                let reason = format!(
                    "`{}` names a schema by its URI, which is not fetched; put that schema into `$defs` and write `#/$defs/…`",
                    excerpt(name)
                );
                Err(SchemaError::new(path, reason))
            }
        }
    }

    fn unenforced(&mut self, path: &str, reason: String) {
        self.unenforced.push(SchemaWarning::new(path, reason));
    }
}

fn check_type(path: &str, value: &Value) -> Result<(), SchemaError> {
    let known = |value: &Value| {
        let name = value.as_str();
        name.is_some_and(|name| NAMES.iter().any(|(known, _)| *known == name))
    };
    let is_valid = match value {
        Value::Array(types) => !types.is_empty() && types.iter().all(known),
        one => known(one),
    };
    if is_valid {
        return Ok(());
    }
    Err(invalid(
        path,
        value,
        "write one of \"string\", \"integer\", \"number\", \"boolean\", \"object\", \"array\", \"null\", or a list of them",
    ))
}

fn check_limit(
    path: &str,
    keyword: &str,
    value: &Value,
    siblings: &Map<String, Value>,
) -> Result<(), SchemaError> {
    let (is_valid, instead) = match keyword {
        "multipleOf" => (
            value.as_f64().is_some_and(|step| step > 0.0),
            "write a number greater than 0",
        ),
        // In draft 4, a boolean makes the other limit exclusive.
        "exclusiveMinimum" if value.is_boolean() => (
            value == false || siblings.contains_key("minimum"),
            "write the limit itself, a number",
        ),
        "exclusiveMaximum" if value.is_boolean() => (
            value == false || siblings.contains_key("maximum"),
            "write the limit itself, a number",
        ),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (value.is_number(), "write a number")
        }
        _ => (limits::count(value).is_some(), "write an integer of at least 0"),
    };
    if is_valid {
        Ok(())
    } else {
        Err(invalid(path, value, instead))
    }
}

fn check_names(path: &str, value: &Value) -> Result<(), SchemaError> {
    let is_valid = value
        .as_array()
        .is_some_and(|names| names.iter().all(Value::is_string));
    if is_valid {
        return Ok(());
    }
    Err(invalid(path, value, "write a list of property names"))
}

fn invalid(path: &str, value: &Value, instead: &str) -> SchemaError {
    let shown = match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        scalar => format!("`{}`", excerpt(&scalar.to_string())),
    };
    SchemaError::new(path, format!("{shown} does not belong here; {instead}"))
}

/// Returns whether a keyword describes the schema without restricting values.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword) || keyword.starts_with("x-")
}

const ANNOTATIONS: [&str; 24] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "format",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$comment",
    "$defs",
    "definitions",
    "$vocabulary",
    "markdownDescription",
    "enumNames",
    "enumDescriptions",
    "errorMessage",
];

const ENFORCED: [&str; 10] = [
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "uniqueItems",
    "nullable",
    "required",
];

/// Returns whether coercion does not enforce a keyword, so that only the validator evaluates it.
pub(crate) fn is_assertion(keyword: &str) -> bool {
    ASSERTIONS.contains(&keyword)
}

const ASSERTIONS: [&str; 12] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedItems",
    "unevaluatedProperties",
];
