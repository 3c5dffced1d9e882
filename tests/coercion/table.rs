//! Reads `table.json`:
//!
//! - `schemas`: name → `{ schema, typed }`. `typed` is `true` if an annotated function with this name (in `typed/`) has this schema, or the
//!   reason why none can have it. A schema also contains keywords that are enforced but not sent: `default` and the marks, with the prefix `x-`.
//! - `rows`: `name` (the proved rule), `schema`, `sent` (JSON text, so that duplicates and texts of numbers survive), and the result in the
//!   columns `lenient`, `lossless` and `strict`:
//!   - `{ "value": …, "warnings": ["code@/pointer", …] }`, with the warnings in any order;
//!   - `{ "text": "…", "warnings": [] }`, with the text that a typed tool echoes, for a value that JSON values cannot represent;
//!   - `{ "errors": [..], "warnings": [..] }`, with the errors in order; `warnings` are compared if present;
//!   - `"as sent"`, the unchanged value without a warning; `"same"`, the result of the previous column.
//! - Optional: `value_input`, the three columns for a `Value` that has lost a part of the text, or the reason why none can be sent; `typed`
//!   and `dynamic`, the reason why a row does not run for the variant; `requirement`, an id of `docs/requirements.md`; `note`.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};
use tests::dynamic_tool::POLICIES;
use tool_runtime::Policy;

use crate::coercion::variants::Variant;

/// Keys of a row.
const KEYS: [&str; 11] = [
    "name",
    "requirement",
    "schema",
    "sent",
    "lenient",
    "lossless",
    "strict",
    "value_input",
    "typed",
    "dynamic",
    "note",
];

pub struct Table {
    pub schemas: BTreeMap<String, Schema>,
    pub rows: Vec<Row>,
}

pub struct Schema {
    pub json: Value,
    /// Reason why no Rust type has the schema.
    pub untyped: Option<String>,
}

pub struct Row {
    pub name: String,
    pub schema: String,
    pub sent: String,
    /// Reason why the row does not run typed.
    pub untyped: Option<String>,
    /// Reason why the row does not run dynamic.
    pub undynamic: Option<String>,
    text: [Expectation; 3],
    /// `None` if no value can be sent.
    value: Option<[Expectation; 3]>,
}

#[derive(Clone)]
pub struct Expectation {
    pub outcome: Outcome,
    /// Sorted; `None` if an error row omits them.
    pub warnings: Option<Vec<String>>,
}

#[derive(Clone)]
pub enum Outcome {
    Value(Value),
    Text(String),
    Errors(Vec<String>),
}

impl Table {
    pub fn read() -> Self {
        let json: Value = serde_json::from_str(include_str!("table.json")).expect("table.json is JSON");
        let schemas: BTreeMap<_, _> = json["schemas"]
            .as_object()
            .expect("`schemas` is an object")
            .iter()
            .map(|(name, entry)| {
                let untyped = (entry["typed"] != true).then(|| reason(name, &entry["typed"]));
                (
                    name.clone(),
                    Schema {
                        json: entry["schema"].clone(),
                        untyped,
                    },
                )
            })
            .collect();
        let rows = json["rows"].as_array().expect("`rows` is an array");
        let rows = rows.iter().map(|row| Row::read(row, &schemas)).collect();
        Self { schemas, rows }
    }
}

impl Row {
    fn read(row: &Value, schemas: &BTreeMap<String, Schema>) -> Self {
        let name = row["name"]
            .as_str()
            .unwrap_or_else(|| panic!("a row without a name: {row}"))
            .to_owned();
        let fields = row.as_object().expect("a row is an object");
        for key in fields.keys() {
            assert!(KEYS.contains(&key.as_str()), "{name}: `{key}` means nothing");
        }
        let schema = row["schema"]
            .as_str()
            .unwrap_or_else(|| panic!("{name}: no schema"))
            .to_owned();
        let untyped = &schemas
            .get(&schema)
            .unwrap_or_else(|| panic!("{name}: no schema `{schema}`"))
            .untyped;
        let sent = row["sent"]
            .as_str()
            .unwrap_or_else(|| panic!("{name}: nothing sent"))
            .to_owned();
        let text = columns(&name, fields, &sent);
        let value = match fields.get("value_input") {
            None => Some(text.clone()),
            Some(Value::Object(other)) => Some(columns(&name, other, &sent)),
            Some(why) => {
                reason(&name, why);
                None
            }
        };
        let readable = serde_json::from_str::<Value>(&sent).is_ok();
        assert!(
            value.is_none() || readable,
            "{name}: no value has this text; `value_input` says why"
        );
        Self {
            untyped: fields
                .get("typed")
                .map(|why| reason(&name, why))
                .or_else(|| untyped.clone()),
            undynamic: fields.get("dynamic").map(|why| reason(&name, why)),
            name,
            schema,
            sent,
            text,
            value,
        }
    }

    /// Returns the expected result; `None` if the row has a reason not to run as this variant.
    pub fn expectation(&self, policy: Policy, variant: Variant) -> Option<Expectation> {
        let runs = match variant {
            Variant::TypedText | Variant::TypedValue => self.untyped.is_none(),
            Variant::DynamicText | Variant::DynamicValue => self.undynamic.is_none(),
            Variant::TypedNestedText | Variant::TypedNestedValue => {
                self.untyped.is_none() && self.can_be_nested()
            }
            Variant::NestedText | Variant::NestedValue => self.undynamic.is_none() && self.can_be_nested(),
        };
        let columns = if variant.is_text() {
            Some(&self.text)
        } else {
            self.value.as_ref()
        };
        let column = POLICIES.iter().position(|it| *it == policy)?;
        runs.then(|| columns.map(|columns| columns[column].clone()))
            .flatten()
    }

    /// Rules about the whole input apply only to the top level.
    fn can_be_nested(&self) -> bool {
        !self.name.starts_with("input: ") && self.sent.starts_with('{')
    }
}

fn reason(name: &str, why: &Value) -> String {
    why.as_str()
        .unwrap_or_else(|| panic!("{name}: no reason, but {why}"))
        .to_owned()
}

fn columns(name: &str, fields: &Map<String, Value>, sent: &str) -> [Expectation; 3] {
    let mut before: Option<Expectation> = None;
    ["lenient", "lossless", "strict"].map(|column| {
        let cell = fields
            .get(column)
            .unwrap_or_else(|| panic!("{name}: no expectation in `{column}`"));
        let expectation = match (cell.as_str(), before.take()) {
            (Some("same"), Some(before)) => before,
            (Some("as sent"), _) => Expectation {
                outcome: Outcome::Value(serde_json::from_str(sent).unwrap_or_else(|e| panic!("{name}: {e}"))),
                warnings: Some(Vec::new()),
            },
            _ => cell_of(name, cell),
        };
        before = Some(expectation.clone());
        expectation
    })
}

fn cell_of(name: &str, cell: &Value) -> Expectation {
    let fields = cell
        .as_object()
        .unwrap_or_else(|| panic!("{name}: {cell} is no expectation"));
    let list = |key: &str| -> Option<Vec<String>> {
        let issues = fields
            .get(key)?
            .as_array()
            .unwrap_or_else(|| panic!("{name}: `{key}` is no list"));
        Some(issues.iter().map(|issue| known(name, issue)).collect())
    };
    let mut warnings = list("warnings");
    let outcome = match (fields.get("value"), fields.get("text"), list("errors")) {
        (Some(value), None, None) => Outcome::Value(value.clone()),
        (None, Some(Value::String(text)), None) => Outcome::Text(text.clone()),
        (None, None, Some(errors)) if !errors.is_empty() => Outcome::Errors(errors),
        _ => panic!("{name}: {cell} is no expectation"),
    };
    if !matches!(outcome, Outcome::Errors(_)) {
        warnings.get_or_insert_default();
    }
    if let Some(warnings) = &mut warnings {
        warnings.sort();
    }
    Expectation { outcome, warnings }
}

/// Parses an issue in the form `code@/pointer`, with a known code.
fn known(name: &str, issue: &Value) -> String {
    let issue = issue
        .as_str()
        .unwrap_or_else(|| panic!("{name}: {issue} is no issue"));
    let (code, _) = issue
        .split_once('@')
        .unwrap_or_else(|| panic!("{name}: `{issue}` has no place"));
    let exists = tool_runtime::issue::Code::ALL
        .iter()
        .any(|it| it.as_str() == code);
    assert!(exists, "{name}: there is no code `{code}`");
    issue.to_owned()
}

/// Removes some keywords from a schema (`x-` removes all with this prefix). No property in the table has such a name.
pub fn without(schema: &Value, keywords: &[&str]) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept = |key: &str| {
                !keywords
                    .iter()
                    .any(|it| *it == key || it.ends_with('-') && key.starts_with(it))
            };
            let kept = fields.iter().filter(|(key, _)| kept(key));
            kept.map(|(key, value)| (key.clone(), without(value, keywords)))
                .collect()
        }
        Value::Array(items) => items.iter().map(|item| without(item, keywords)).collect(),
        scalar => scalar.clone(),
    }
}

/// A schema whose keywords with the prefix `x-` are marks, as in the schemas of types.
pub fn marked(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                let key = match key.strip_prefix("x-") {
                    Some(mark) => format!("$tool_runtime::{}", mark.replace('-', "_")),
                    None => key.clone(),
                };
                (key, marked(value))
            })
            .collect(),
        Value::Array(items) => items.iter().map(marked).collect(),
        scalar => scalar.clone(),
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Value(value) => write!(f, "{value}")?,
            Outcome::Text(text) => write!(f, "{text}")?,
            Outcome::Errors(errors) => write!(f, "refused {errors:?}")?,
        }
        match &self.warnings {
            Some(warnings) => write!(f, ", warned {warnings:?}"),
            None => Ok(()),
        }
    }
}
