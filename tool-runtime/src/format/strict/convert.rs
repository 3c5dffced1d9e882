//! Converts a schema, keyword by keyword.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::schema::keywords::{Keywords, pointer, reference};
use crate::schema::unwrap_single;

use super::keywords::{self, Treatment};
use super::limits;
use super::subset::{self, Subset};
use super::unions::{allows_null, disjoint, nullable, share_first_property};
use super::values;

/// A constraint that is missing in the strict form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// RFC 6901 JSON Pointer into the schema.
    pub path: String,
    /// Name of the keyword.
    pub keyword: String,
    /// Whether the description states the constraint.
    pub described: bool,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            keyword,
            described,
        } = self;
        let treatment = if *described {
            "moved to the description"
        } else {
            "dropped"
        };
        write!(f, "`{keyword}` at `{path}` {treatment}")
    }
}

/// Reason why a schema has no strict form, with the pointer.
pub(super) struct ConversionError {
    pub(super) path: String,
    pub(super) reason: String,
}

impl ConversionError {
    fn new(path: &str, reason: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// State of a conversion.
pub(super) struct Conversion<'a> {
    subset: Subset,
    root: &'a Value,
    notes: Vec<Note>,
    /// Referenced definitions, in order of occurrence.
    referred: Vec<String>,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(subset: Subset, root: &'a Value) -> Self {
        Self {
            subset,
            root,
            notes: Vec::new(),
            referred: Vec::new(),
        }
    }

    /// Returns the converted schema, and its missing constraints.
    pub(super) fn run(mut self) -> Result<(Value, Vec<Note>), ConversionError> {
        let schema = self.root()?;
        Ok((schema, self.notes))
    }

    fn root(&mut self) -> Result<Value, ConversionError> {
        if let Some(keyword) = ["anyOf", "oneOf", "allOf", "$ref"]
            .into_iter()
            .find(|it| self.root.get(it).is_some())
        {
            return Err(ConversionError::new(
                "",
                format!("the root is `{keyword}`; it must be one object"),
            ));
        }
        if self.root.get("type").and_then(Value::as_str) != Some("object") {
            return Err(ConversionError::new("", "the root is no object"));
        }
        // An object without properties is a map with any keys. At the root it is a tool without parameters, unless
        // additional properties are allowed.
        let mut root = self.root.clone();
        if let Value::Object(keywords) = &mut root
            && !keywords.contains_key("properties")
        {
            keywords.insert("properties".to_owned(), json!({}));
        }
        let mut schema = self.node(&root, "", 0)?;
        let definitions = self.definitions()?;
        if !definitions.is_empty() {
            insert(&mut schema, "$defs", definitions.into());
        }
        if self.subset == Subset::OpenAi {
            limits::check(&schema).map_err(|reason| ConversionError::new("", reason))?;
        }
        Ok(schema)
    }

    /// Converts the referenced definitions, including references from definitions, in order of occurrence.
    fn definitions(&mut self) -> Result<Keywords, ConversionError> {
        let mut converted = Map::new();
        let mut next = 0;
        while let Some(name) = self.referred.get(next).cloned() {
            let (pointer, schema) = subset::find(self.root, &name).ok_or_else(|| {
                ConversionError::new(
                    "",
                    format!("`$ref` names a definition `{name}` that is not there"),
                )
            })?;
            converted.insert(name, self.node(schema, &pointer, 0)?);
            next += 1;
        }
        Ok(converted)
    }

    fn node(&mut self, schema: &Value, path: &str, depth: usize) -> Result<Value, ConversionError> {
        if depth > MAX_DEPTH {
            return Err(ConversionError::new(
                path,
                format!("it is nested deeper than {MAX_DEPTH} schemas"),
            ));
        }
        let Value::Object(keywords) = schema else {
            return Err(ConversionError::new(path, "anything is allowed; give it a type"));
        };
        if keywords.contains_key("allOf") {
            // An `allOf` of one schema: older generators add a description to a `$ref` in this way.
            let mut merged = keywords.clone();
            unwrap_single(&mut merged);
            if merged.contains_key("allOf") {
                return Err(ConversionError::new(path, "`allOf` is not supported"));
            }
            return self.node(&Value::Object(merged), path, depth + 1);
        }
        if keywords.contains_key("anyOf") && keywords.contains_key("oneOf") {
            return Err(ConversionError::new(
                path,
                "`anyOf` beside `oneOf` is not supported",
            ));
        }
        if keywords.contains_key("$ref") {
            return self.reference(keywords, path);
        }
        for union in ["anyOf", "oneOf"] {
            if let Some(Value::Array(alternatives)) = keywords.get(union) {
                return self.union(keywords, union, alternatives, path, depth);
            }
        }
        let mut types = keywords::types(keywords);
        let null = types.contains(&"null") && types.len() > 1;
        if null {
            types.retain(|name| *name != "null");
        }
        let schema = match types.as_slice() {
            [] => return Err(ConversionError::new(path, "anything is allowed; give it a type")),
            [name] => self.typed(name, keywords, path, depth)?,
            several => {
                let outside = |keyword: &str| matches!(keyword, "description" | "default" | "examples");
                let (outer, inner): (Keywords, Keywords) = keywords
                    .clone()
                    .into_iter()
                    .partition(|(keyword, _)| outside(keyword));
                let alternatives = several
                    .iter()
                    .map(|name| self.typed(name, &inner, path, depth))
                    .collect::<Result<Vec<_>, _>>()?;
                self.finish(json!({ "anyOf": alternatives }), &outer, path, "")
            }
        };
        Ok(if null { nullable(schema) } else { schema })
    }

    fn reference(&mut self, keywords: &Keywords, path: &str) -> Result<Value, ConversionError> {
        let reference = keywords.get("$ref").and_then(Value::as_str).unwrap_or_default();
        if let Some(beside) = ["properties", "items", "anyOf", "oneOf"]
            .into_iter()
            .find(|keyword| keywords.contains_key(*keyword))
        {
            return Err(ConversionError::new(
                path,
                format!("`{beside}` beside `$ref` is not supported"),
            ));
        }
        let named = reference::definition_name(reference);
        let recursive = reference == "#"
            || named
                .as_ref()
                .is_some_and(|name| subset::is_recursive(self.root, name));
        if recursive && self.subset == Subset::Anthropic {
            return Err(ConversionError::new(
                path,
                "it holds itself, and recursion is not supported",
            ));
        }
        let reference = match named {
            Some(name) => {
                if !self.referred.contains(&name) {
                    self.referred.push(name.clone());
                }
                json!({ "$ref": reference::to_definition(&name) })
            }
            None if reference == "#" => json!({ "$ref": "#" }),
            None => {
                let reason = format!("`$ref` names {reference:?}; only `$defs` can be referred to");
                return Err(ConversionError::new(path, reason));
            }
        };
        // A `$ref` may have no siblings, not even a description.
        let described = self.finish(json!({ "anyOf": [reference] }), keywords, path, "");
        let bare = described.get("description").is_none();
        Ok(if bare { reference } else { described })
    }

    fn union(
        &mut self,
        keywords: &Keywords,
        union: &str,
        alternatives: &[Value],
        path: &str,
        depth: usize,
    ) -> Result<Value, ConversionError> {
        if keywords.contains_key("properties") {
            return Err(ConversionError::new(
                path,
                format!("`properties` beside `{union}` (a flattened enum) is not supported"),
            ));
        }
        let mut converted = Vec::new();
        for (index, alternative) in alternatives.iter().enumerate() {
            converted.push(self.node(alternative, &format!("{path}/{union}/{index}"), depth + 1)?);
        }
        for (index, one) in converted.iter().enumerate() {
            for other in converted.iter().skip(index + 1) {
                if self.subset == Subset::OpenAi && share_first_property(one, other) {
                    return Err(ConversionError::new(
                        path,
                        "two alternatives begin with the same property, which the API refuses; begin with a tag",
                    ));
                }
                if union == "oneOf" && !disjoint(one, other) {
                    self.note(path, "oneOf", false);
                }
            }
        }
        Ok(self.finish(json!({ "anyOf": converted }), keywords, path, ""))
    }

    /// Converts a schema of one type.
    fn typed(
        &mut self,
        name: &str,
        keywords: &Keywords,
        path: &str,
        depth: usize,
    ) -> Result<Value, ConversionError> {
        let mut schema = Map::from_iter([("type".to_owned(), name.into())]);
        match name {
            "object" => self.object(&mut schema, keywords, path, depth)?,
            "array" => {
                if keywords.contains_key("prefixItems") || keywords.get("items").is_some_and(Value::is_array)
                {
                    return Err(ConversionError::new(path, "it is a tuple; use a struct"));
                }
                let Some(items) = keywords.get("items") else {
                    return Err(ConversionError::new(
                        path,
                        "its items may be anything; give them a type",
                    ));
                };
                let items = self.node(items, &format!("{path}/items"), depth + 1)?;
                schema.insert("items".to_owned(), items);
            }
            _ => {}
        }
        let mut schema = self.finish(Value::Object(schema), keywords, path, name);
        match values::retain_matching(&mut schema, name) {
            Ok(()) => Ok(schema),
            Err(reason) => Err(ConversionError::new(path, reason)),
        }
    }

    fn object(
        &mut self,
        schema: &mut Keywords,
        keywords: &Keywords,
        path: &str,
        depth: usize,
    ) -> Result<(), ConversionError> {
        let free = keywords
            .get("additionalProperties")
            .is_some_and(|more| *more != Value::Bool(false));
        let by_pattern = keywords.contains_key("patternProperties");
        let Some(Value::Object(declared)) = keywords.get("properties").filter(|_| !free && !by_pattern)
        else {
            return Err(ConversionError::new(
                path,
                "its keys are free; use a list of key and value",
            ));
        };
        let empty = Vec::new();
        let required = keywords
            .get("required")
            .and_then(Value::as_array)
            .unwrap_or(&empty);
        let undeclared = |name: &&Value| name.as_str().is_none_or(|name| !declared.contains_key(name));
        if let Some(name) = required.iter().find(undeclared) {
            return Err(ConversionError::new(
                path,
                format!("it requires {name} without a schema"),
            ));
        }
        let mut properties = Map::new();
        for (name, declared) in declared {
            let pointer = pointer::join(&format!("{path}/properties"), name);
            let property = self.node(declared, &pointer, depth + 1)?;
            let optional = self.subset == Subset::OpenAi && !required.iter().any(|known| known == name);
            if optional && allows_null(&property) && declared.get("default").is_none() {
                return Err(ConversionError::new(
                    &pointer,
                    "it may be absent or `null`, and the strict form has no absent properties",
                ));
            }
            properties.insert(name.clone(), if optional { nullable(property) } else { property });
        }
        let names = match self.subset {
            Subset::OpenAi => properties.keys().map(|name| name.as_str().into()).collect(),
            Subset::Anthropic => required.clone(),
        };
        schema.insert("properties".to_owned(), properties.into());
        if self.subset == Subset::OpenAi || !names.is_empty() {
            schema.insert("required".to_owned(), Value::Array(names));
        }
        schema.insert("additionalProperties".to_owned(), false.into());
        Ok(())
    }

    /// Adds the other supported keywords, and the description with sentences for unsupported ones.
    fn finish(&mut self, schema: Value, keywords: &Keywords, path: &str, type_name: &str) -> Value {
        let Value::Object(inner) = schema else {
            return schema;
        };
        let description = keywords
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mut text = description.to_owned();
        let mut kept = Vec::new();
        for (keyword, value) in keywords {
            match self.subset.treatment(type_name, keyword, value, description) {
                Treatment::Ignore => {}
                Treatment::Keep => kept.push((keyword.clone(), value.clone())),
                Treatment::MoveToDescription(sentence) => {
                    add_sentence(&mut text, &sentence);
                    self.note(path, keyword, true);
                }
                Treatment::AddToDescription(sentence) => add_sentence(&mut text, &sentence),
                Treatment::Drop => self.note(path, keyword, false),
            }
        }
        let mut finished = Map::new();
        let (head, tail): (Vec<_>, Vec<_>) = inner.into_iter().partition(|(keyword, _)| keyword == "type");
        finished.extend(head);
        if !text.is_empty() {
            finished.insert("description".to_owned(), text.into());
        }
        finished.extend(tail);
        finished.extend(kept);
        Value::Object(finished)
    }

    fn note(&mut self, path: &str, keyword: &str, described: bool) {
        let note = Note {
            path: path.to_owned(),
            keyword: keyword.to_owned(),
            described,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn add_sentence(text: &mut String, sentence: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(sentence);
}

/// Maximum depth: the API allows less, and the stack more.
const MAX_DEPTH: usize = 64;

fn insert(schema: &mut Value, keyword: &str, value: Value) {
    if let Value::Object(keywords) = schema {
        keywords.insert(keyword.to_owned(), value);
    }
}
