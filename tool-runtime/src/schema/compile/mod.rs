//! Compiles a JSON Schema, 2020-12 or draft-07, into a [`CompiledSchema`].

pub(crate) mod nullable;
mod merge;
mod compiler;
mod union;
mod validation;
mod finalize;
mod unsatisfiable;
mod undeclared;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::compiler::{Compiler, Flattened};
use self::union::CompiledUnion;
use self::validation::Validated;
use super::check::limits;
use super::check::{SchemaError, SchemaWarning, check, is_annotation};
use super::compiled::format_description::Format;
use super::compiled::name::{KeyPrefix, fold};
use super::compiled::pattern::{Pattern, Patterns};
use super::compiled::spelling;
use super::compiled::types::{Types, declared_types};
use super::compiled::validation::SubschemaId;
use super::compiled::{
    Additional, AllOf, CompiledSchema, Kind, KnownKeys, List, Object, Plain, Property, Schema, SchemaId,
};
use super::keywords::marks;
use super::keywords::pointer::existing_prefix;
use super::text_formats::FormatPolicy;

impl CompiledSchema {
    /// Compiles the schema of a tool's arguments, without enforcing formats.
    #[cfg(test)]
    pub(crate) fn compile(schema: &Value) -> Result<(CompiledSchema, Vec<SchemaWarning>), SchemaError> {
        Self::compile_with_formats(schema, FormatPolicy::Shown)
    }

    /// Compiles the schema of a tool's arguments. Also returns warnings about keywords that are not enforced.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema is invalid, does not describe an object, or refers to another document.
    pub(crate) fn compile_with_formats(
        schema: &Value,
        formats: FormatPolicy,
    ) -> Result<(CompiledSchema, Vec<SchemaWarning>), SchemaError> {
        let written = schema;
        let schema = &*nullable::expand_nullable(written);
        let patterns = Patterns::default();
        let mut warnings = check(schema, &patterns).map_err(|error| SchemaError {
            path: nullable::original_pointer(written, &error.path),
            ..error
        })?;
        for warning in &mut warnings {
            warning.path = nullable::original_pointer(written, &warning.path);
        }
        let original_path = |error: SchemaError| SchemaError {
            path: nullable::original_pointer(written, existing_prefix(schema, &error.path)),
            ..error
        };
        let validated = validation::compile(schema, formats, &patterns).map_err(original_path)?;
        let schema = validated.as_ref().map_or(schema, |validated| &validated.marked);
        let mut compiler = Compiler {
            root: schema,
            patterns: &patterns,
            schemas: Vec::new(),
            queue: Vec::new(),
            by_pointer: HashMap::new(),
            by_text: HashMap::new(),
            merged: Cell::new(0),
        };
        let root = compiler.enqueue(schema)?;
        compiler.by_pointer.insert(String::new(), root);
        let described = match &validated {
            Some(validated) => compiler.describe(validated)?,
            None => HashMap::new(),
        };
        while let Some((id, schema)) = compiler.queue.pop() {
            let schema = compiler.compile_schema(&schema)?;
            if let Some(slot) = compiler.schemas.get_mut(id.0 as usize) {
                *slot = schema;
            }
        }
        let mut finalized = finalize::finalize(compiler.schemas).map_err(original_path)?;
        finalized.described = described;
        finalized.validation = validated.map(|validated| Arc::new(validated.validation));
        let root = finalized.schema(SchemaId::ROOT);
        if root.accepts_all() || !root.types.has(Types::OBJECT) {
            let reason = "arguments are an object; write `\"type\": \"object\"` with their `properties`";
            return Err(SchemaError::new("", reason));
        }
        Ok((finalized, warnings))
    }
}

impl Compiler<'_> {
    /// Returns the schemas that describe subschemas of the validation in messages.
    fn describe(&mut self, validated: &Validated) -> Result<HashMap<SubschemaId, SchemaId>, SchemaError> {
        let described = validated.described();
        let intern = |(id, pointer): (SubschemaId, &str)| {
            let reference = format!("#{}", pointer.replace('%', "%25"));
            Ok((id, self.intern(&json!({ "$ref": reference }))?))
        };
        described.into_iter().map(intern).collect()
    }

    fn compile_schema(&mut self, schema: &Value) -> Result<Schema, SchemaError> {
        match schema {
            Value::Bool(true) => Ok(Schema::ANY),
            Value::Object(keywords) => {
                let strict = limits::flag(keywords, marks::STRICT);
                let case_sensitive = limits::flag(keywords, marks::CASE_SENSITIVE);
                let is_patch = keywords.contains_key(marks::PATCH);
                let mentions_json = |keywords: &Map<String, Value>| {
                    let description = keywords.get("description").and_then(Value::as_str);
                    description.is_some_and(spelling::mentions_json)
                };
                let is_described = mentions_json(keywords);
                let Flattened { keywords, unmerged } = self.flatten(keywords, 0)?;
                let mentions_json = is_described || mentions_json(&keywords);
                let mut compiled = if unmerged.is_empty() {
                    self.compile_flattened(keywords)?
                } else {
                    let all_of = std::iter::once(Value::Object(keywords)).chain(unmerged);
                    self.compile_all_of(all_of)?
                };
                compiled.strict |= strict;
                compiled.case_sensitive |= case_sensitive;
                compiled.is_patch |= is_patch;
                compiled.mentions_json = mentions_json;
                Ok(compiled)
            }
            _ => Ok(Schema::NEVER),
        }
    }

    /// Compiles a schema without `$ref` and `allOf`.
    fn compile_flattened(&mut self, mut keywords: Map<String, Value>) -> Result<Schema, SchemaError> {
        let strict = keywords.shift_remove(marks::STRICT) == Some(Value::Bool(true));
        let case_sensitive = keywords.shift_remove(marks::CASE_SENSITIVE) == Some(Value::Bool(true));
        let assertions = keywords.shift_remove(marks::VALIDATION);
        let mut compiled = match (keywords.contains_key("anyOf"), keywords.shift_remove("oneOf")) {
            (true, Some(one)) => {
                let one = Value::Object([("oneOf".to_owned(), one)].into_iter().collect());
                self.compile_all_of([Value::Object(keywords), one])?
            }
            (false, Some(Value::Array(one))) => self.compile_union(keywords, &one, true)?,
            _ => match keywords.shift_remove("anyOf") {
                Some(Value::Array(any)) => self.compile_union(keywords, &any, false)?,
                _ => self.compile_plain(&keywords)?,
            },
        };
        compiled.strict |= strict;
        compiled.case_sensitive |= case_sensitive;
        if let Some(ids) = assertions {
            let inner = compiled.assertions.take().unwrap_or_default();
            let ids = validation::marked_ids(&ids).chain(inner);
            compiled.assertions = Some(ids.collect());
        }
        Ok(compiled)
    }

    /// Compiles `anyOf` or `oneOf` with its sibling keywords.
    fn compile_union(
        &mut self,
        siblings: Map<String, Value>,
        branches: &[Value],
        exclusive: bool,
    ) -> Result<Schema, SchemaError> {
        match union::compile(self, siblings, branches, exclusive)? {
            CompiledUnion::Schema(compiled) => Ok(compiled),
            CompiledUnion::Single(keywords) => self.compile_flattened(keywords),
            CompiledUnion::AllOf(all_of) => self.compile_all_of(all_of),
        }
    }

    fn compile_all_of(&mut self, schemas: impl IntoIterator<Item = Value>) -> Result<Schema, SchemaError> {
        let has_constraints = |schema: &Value| {
            schema
                .as_object()
                .is_none_or(|keywords| !keywords.keys().all(|key| is_annotation(key)))
        };
        let all_of = schemas.into_iter().filter(has_constraints);
        let all_of = AllOf {
            schemas: all_of.map(|part| self.intern(&part)).collect::<Result<_, _>>()?,
            keys: KnownKeys::default(),
        };
        Ok(Schema {
            kind: Kind::AllOf(Box::new(all_of)),
            ..Schema::ANY
        })
    }

    fn compile_plain(&mut self, keywords: &Map<String, Value>) -> Result<Schema, SchemaError> {
        let mut types = declared_types(keywords);
        let values = limits::values(keywords).map(|(values, found)| {
            // `3.0` equals a value of `[1, 2, 3]`, and is valid unless the type is `integer`.
            let numbers = if found.overlaps(Types::NUMBER) {
                Types::NUMBER
            } else {
                Types::NONE
            };
            types = types.and(if types == Types::ALL {
                found
            } else {
                found | numbers
            });
            values
        });
        let text = match values {
            // A value of the `enum` is valid regardless of the `format`.
            Some(_) => limits::text(keywords, self.patterns),
            None => limits::text_with_format(keywords, self.patterns),
        };
        let plain = Plain {
            values,
            text: text.filter(|_| types.has(Types::STRING)),
            number: limits::number(keywords).filter(|_| types.has(Types::INTEGER)),
            list: if types.has(Types::ARRAY) {
                self.compile_list(keywords)?
            } else {
                None
            },
            object: if types.has(Types::OBJECT) {
                self.compile_object(keywords)?
            } else {
                None
            },
        };
        let has_constraints = plain.values.is_some()
            || plain.text.is_some()
            || plain.number.is_some()
            || plain.list.is_some()
            || plain.object.is_some();
        let format = keywords.get("format").and_then(Value::as_str);
        Ok(Schema {
            types,
            format: format
                .filter(|_| types.has(Types::STRING))
                .and_then(Format::from_name),
            kind: if has_constraints {
                Kind::Plain(Box::new(plain))
            } else {
                Kind::Any
            },
            ..Schema::ANY
        })
    }

    fn compile_list(&mut self, keywords: &Map<String, Value>) -> Result<Option<List>, SchemaError> {
        let (prefix, additional) = match (keywords.get("prefixItems"), keywords.get("items")) {
            (Some(Value::Array(prefix)), additional) => (prefix.as_slice(), additional),
            (_, Some(Value::Array(prefix))) => (prefix.as_slice(), keywords.get("additionalItems")),
            (_, additional) => (&[][..], additional),
        };
        let list = List {
            prefix: prefix
                .iter()
                .map(|item| self.intern(item))
                .collect::<Result<_, _>>()?,
            additional: self.compile_additional(additional)?,
            min: limits::count_limit(keywords, "minItems"),
            max: limits::count_limit(keywords, "maxItems"),
            unique: limits::flag(keywords, "uniqueItems"),
        };
        let has_constraints = list.is_tuple()
            || list.additional != Additional::Unspecified
            || list.min.is_some()
            || list.max.is_some()
            || list.unique;
        Ok(has_constraints.then_some(list))
    }

    fn compile_object(&mut self, keywords: &Map<String, Value>) -> Result<Option<Object>, SchemaError> {
        let keywords_of_keys = ["properties", "patternProperties", "additionalProperties"];
        let required: Vec<&str> = match keywords.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let patterns = limits::key_patterns(keywords, self.patterns);
        let mut object = Object {
            additional: self.compile_additional(keywords.get("additionalProperties"))?,
            names: match keywords.get("propertyNames") {
                None | Some(Value::Bool(true)) => None,
                Some(names) => Some(self.intern(names)?),
            },
            is_enum_map: limits::flag(keywords, marks::ENUM_MAP),
            is_unconstrained: !keywords_of_keys
                .into_iter()
                .any(|word| keywords.contains_key(word)),
            min: limits::count_limit(keywords, "minProperties"),
            max: limits::count_limit(keywords, "maxProperties"),
            ..Object::default()
        };
        for (name, schema) in limits::schemas_by_name(keywords, "properties") {
            let has_default = object.is_enum_map
                || schema.get("default").is_some()
                || schema.get(marks::DEFAULT) == Some(&Value::Bool(true));
            let schema = with_patterns(name, schema, &patterns);
            object.properties.push(Property {
                name: name.as_str().into(),
                key_prefix: KeyPrefix::new(&format!("{}:", Value::from(name.as_str()))),
                folded: fold(name),
                schema: self.intern(&schema)?,
                required: required.contains(&name.as_str()),
                has_default,
            });
        }
        object.index();
        let declared = |name: &&str| object.position(name).is_some();
        object.also_required = required
            .iter()
            .filter(|name| !declared(name))
            .map(|name| (*name).into())
            .collect();
        object.also_required.sort();
        object.also_required.dedup();
        for (regex, schema) in patterns {
            match regex {
                Some(regex) => object.patterns.push((regex, self.intern(schema)?)),
                // The pattern is not supported, so any key may match it. Accepting an invalid key is better than
                // rejecting a valid key.
                None => object.additional = Additional::Any,
            }
        }
        let has_constraints = !object.is_unconstrained
            || object.names.is_some()
            || !object.also_required.is_empty()
            || object.min.is_some()
            || object.max.is_some();
        Ok(has_constraints.then_some(object))
    }

    fn compile_additional(&mut self, schema: Option<&Value>) -> Result<Additional, SchemaError> {
        Ok(match schema {
            None => Additional::Unspecified,
            Some(Value::Bool(false)) => Additional::Denied,
            Some(Value::Bool(true)) => Additional::Any,
            Some(Value::Object(keywords)) if keywords.keys().all(|keyword| is_annotation(keyword)) => {
                Additional::Any
            }
            Some(schema) => Additional::Of(self.intern(schema)?),
        })
    }
}

/// Returns the schema of a declared property, combined with the `patternProperties` that match its name.
fn with_patterns<'k>(
    name: &str,
    schema: &'k Value,
    patterns: &[(Option<Pattern>, &'k Value)],
) -> Cow<'k, Value> {
    let matches = |regex: &Option<Pattern>| regex.as_ref().is_some_and(|regex| regex.is_match(name));
    let matching = patterns
        .iter()
        .filter(|(regex, _)| matches(regex))
        .map(|(_, schema)| *schema);
    let all: Vec<&Value> = std::iter::once(schema).chain(matching).collect();
    match all.as_slice() {
        [_] => Cow::Borrowed(schema),
        all => Cow::Owned(json!({ "allOf": all })),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::compiled::types::Types;
    use super::super::compiled::{CompiledSchema, Kind, Schema, SchemaId, Tag, Union};

    fn compile(schema: &Value) -> CompiledSchema {
        let (compiled, unenforced) = CompiledSchema::compile(schema).unwrap();
        assert_eq!(unenforced, []);
        compiled
    }

    /// Returns the schema of the only property of the arguments.
    fn only(schema: &Value) -> (CompiledSchema, SchemaId) {
        let compiled = compile(
            &json!({ "type": "object", "properties": { "x": schema }, "$defs": {
            "Tree": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Tree", "$tool_runtime::strict": true } } },
        } }),
        );
        let object = compiled
            .schema(SchemaId::ROOT)
            .plain()
            .unwrap()
            .object
            .as_ref()
            .unwrap();
        let id = object.properties[0].schema;
        (compiled, id)
    }

    fn compile_one(schema: &Value) -> Schema {
        let (compiled, id) = only(schema);
        compiled.schema(id).clone()
    }

    fn union(schema: &Value) -> Union {
        match compile_one(schema).kind {
            Kind::Union(union) => *union,
            other => panic!("{other:?}"),
        }
    }

    fn error_of(schema: &Value) -> (String, String) {
        let error = CompiledSchema::compile(schema).unwrap_err();
        (error.path, error.reason)
    }

    #[test]
    fn compiles_simple_unions_as_plain_schemas() {
        let nullable =
            compile_one(&json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }] }));
        assert_eq!(nullable.types, Types::INTEGER | Types::NULL);
        assert!(nullable.plain().unwrap().number.is_some());

        let constants = compile_one(&json!({ "oneOf": [
            { "const": "a", "description": "first" },
            { "type": "string", "enum": ["b", "c"] },
            { "type": "null" },
        ] }));
        assert_eq!(constants.types, Types::STRING | Types::NULL);
        assert_eq!(constants.plain().unwrap().values.as_ref().unwrap().texts.len(), 3);
    }

    #[test]
    fn finds_tags_of_unions() {
        let branch = |kind: &str| json!({ "type": "object", "properties": { "a": {}, "kind": { "const": kind, "type": "string" } }, "required": ["kind"] });
        let internal = union(&json!({ "oneOf": [branch("x"), branch("y")] }));
        assert!(
            matches!(internal.tag, Some(Tag::Property { name, values, .. }) if &*name == "kind" && values.len() == 2)
        );

        let branch = |key: &str| json!({ "type": "object", "properties": { key: {} }, "required": [key] });
        let external =
            union(&json!({ "oneOf": [{ "const": "unit", "type": "string" }, branch("x"), branch("y")] }));
        assert!(matches!(external.tag, Some(Tag::Key(keys)) if keys.len() == 2));

        let flattened =
            json!({ "type": "object", "properties": { "id": {} }, "oneOf": [branch("x"), branch("y")] });
        assert!(union(&flattened).tag.is_none());
    }

    #[test]
    fn compiles_recursive_schemas() {
        let (compiled, id) = only(
            &json!({ "$ref": "#/$defs/Tree", "description": "a tree", "$tool_runtime::not_blank": true }),
        );
        assert!(compiled.schemas.len() < 8, "{}", compiled.schemas.len());
        assert_eq!(compiled.schema(id).types, Types::OBJECT);
    }

    #[test]
    fn compiles_tuples_of_both_drafts() {
        for schema in [
            json!({ "type": "array", "prefixItems": [{ "type": "string" }], "items": false }),
            json!({ "type": "array", "items": [{ "type": "string" }], "additionalItems": false }),
        ] {
            let compiled = compile_one(&schema);
            let list = compiled.plain().unwrap().list.as_ref().unwrap();
            assert!(list.is_tuple() && list.item(1).is_none() && compiled.lists_of_strings);
        }
    }

    #[test]
    fn merges_all_of_only_without_loss() {
        let merged = compile_one(
            &json!({ "allOf": [{ "type": "object", "properties": { "a": {} } }, { "required": ["a"] }] }),
        );
        assert!(merged.plain().unwrap().object.as_ref().unwrap().properties[0].required);
        let all_of =
            compile_one(&json!({ "allOf": [{ "type": "string", "pattern": "a" }, { "pattern": "b" }] }));
        assert!(matches!(all_of.kind, Kind::AllOf(_)));
        assert_eq!(all_of.types, Types::STRING);
    }

    #[test]
    fn warns_once_about_each_unenforced_keyword() {
        let (_, unenforced) = CompiledSchema::compile(&json!({ "type": "object", "properties": {
            "a": { "$dynamicRef": "#x", "title": "A", "x-own": 1, "format": "uuid" },
            "b": { "pattern": "(?=x)" },
            "c": { "items": { "$dynamicRef": "#x" } }, "d": { "$ref": "#/properties/c/items" },
        }, "errors": {} }))
        .unwrap();
        let paths: Vec<_> = unenforced.iter().map(|warning| warning.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "/errors",
                "/properties/a/$dynamicRef",
                "/properties/b/pattern",
                "/properties/c/items/$dynamicRef"
            ]
        );
    }

    #[test]
    fn reports_the_path_of_an_invalid_keyword() {
        let inside =
            |schema: Value| error_of(&json!({ "type": "object", "properties": { "a/b": schema } })).0;
        assert_eq!(inside(json!({ "type": "strnig" })), "/properties/a~1b/type");
        assert_eq!(inside(json!({ "required": true })), "/properties/a~1b/required");
        assert_eq!(inside(json!({ "minimum": "1" })), "/properties/a~1b/minimum");
        assert_eq!(inside(json!({ "$ref": "#/nowhere" })), "/properties/a~1b/$ref");
        assert_eq!(
            inside(json!({ "$ref": "https://example.com/s.json" })),
            "/properties/a~1b/$ref"
        );
        assert_eq!(
            inside(json!({ "items": [{ "enum": [] }] })),
            "/properties/a~1b/items/0/enum"
        );
        assert_eq!(inside(json!("string")), "/properties/a~1b");
        assert_eq!(error_of(&json!({ "type": "string" })).0, "");
        assert_eq!(error_of(&json!({})).0, "");
        assert_eq!(error_of(&json!([])).0, "");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn rejects_cyclic_and_too_deep_schemas() {
        let circle = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/A" } }, "$defs": {
            "A": { "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/A" },
        } });
        assert!(error_of(&circle).1.contains("back to itself"));
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let circle = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/A" } }, "$defs": {
                "A": { keyword: [{ "$ref": "#/$defs/A" }, { "type": "object" }] },
            } });
            assert!(error_of(&circle).1.contains("back to itself"), "{keyword}");
        }
        let deep = (0..500).fold(json!({}), |inner, _| json!({ "items": inner }));
        assert!(
            error_of(&json!({ "type": "object", "properties": { "x": deep } }))
                .1
                .contains("deeper")
        );
    }

    #[test]
    fn compiles_a_pattern_once() {
        let class = if cfg!(feature = "unicode-patterns") {
            r"^\p{L}+$"
        } else {
            "^[a-z]+$"
        };
        let property = json!({ "type": "string", "pattern": class, "not": { "const": "a" } });
        let schema = json!({ "type": "object", "properties": { "x": property } });
        let (compiled, _) = CompiledSchema::compile(&schema).unwrap();
        let coerced = compiled.properties().iter().find_map(|property| {
            let plain = compiled.schema(property.schema).plain()?;
            plain.text.as_ref()?.pattern.clone()
        });
        let subschemas = &compiled.validation().unwrap().subschemas;
        let mut texts = subschemas.iter().filter_map(|subschema| subschema.text.as_ref());
        let validated = texts.find_map(|text| text.pattern.clone());
        let address = |pattern: Option<super::Pattern>| pattern.unwrap().as_str().as_ptr();
        assert_eq!(address(coerced), address(validated));
    }
}
