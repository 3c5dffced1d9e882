//! Compiles a schema into a [`Validation`], if it has a keyword that only a validator can evaluate.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::schema::check::limits;
use crate::schema::check::{SchemaError, is_annotation, is_assertion};
use crate::schema::compiled::pattern::Patterns;
use crate::schema::compiled::types::{Types, declared_types};
use crate::schema::compiled::validation::{
    Condition, Contains, InPlace, ListKeywords, ObjectKeywords, Subschema, SubschemaId, Validation,
};
use crate::schema::keywords::reference::{self, Target};
use crate::schema::keywords::{marks, pointer, subschemas};
use crate::schema::text_formats::{FormatPolicy, TextFormat};

/// A schema that is also compiled for validation.
pub(super) struct Validated {
    pub(super) validation: Validation,
    /// Schema with a mark in each subschema that has a keyword for the validator.
    pub(super) marked: Value,
    /// Pointers of the subschemas.
    pointers: Vec<String>,
}

impl Validated {
    /// Returns the subschemas that messages describe, with their pointers: all subschemas that coercion ignores, and their
    /// subschemas.
    pub(super) fn described(&self) -> Vec<(SubschemaId, &str)> {
        let all = &self.validation.subschemas;
        let mut pending: Vec<SubschemaId> = all.iter().flat_map(Subschema::uncoerced).collect();
        let mut is_found = vec![false; all.len()];
        while let Some(id) = pending.pop() {
            if let Some(slot) = is_found.get_mut(id.0 as usize)
                && !std::mem::replace(slot, true)
            {
                let schema = self.validation.subschema(id);
                pending.extend(schema.in_place_subschemas());
                pending.extend(schema.children());
            }
        }
        let ids = (0..).map(SubschemaId).zip(&self.pointers).zip(is_found);
        let found = ids.filter(|(_, is_found)| *is_found);
        found.map(|((id, pointer), _)| (id, pointer.as_str())).collect()
    }
}

/// Compiles a valid schema; `None` if coercion enforces all keywords.
pub(super) fn compile(
    schema: &Value,
    formats: FormatPolicy,
    patterns: &Patterns,
) -> Result<Option<Validated>, SchemaError> {
    let enforces_formats = formats.is_enforced();
    if !mentions_assertions(schema, enforces_formats) {
        return Ok(None);
    }
    let mut builder = Builder {
        root: schema,
        patterns,
        enforces_formats,
        subschemas: Vec::new(),
        pointers: Vec::new(),
        by_pointer: HashMap::new(),
        queue: Vec::new(),
    };
    builder.intern(String::new(), schema);
    while let Some((id, schema)) = builder.queue.pop() {
        let subschema = builder.subschema(id, schema);
        if let Some(slot) = builder.subschemas.get_mut(id.0 as usize) {
            *slot = subschema;
        }
    }
    let Builder {
        mut subschemas,
        pointers,
        ..
    } = builder;
    if let Some(index) = find_circle(&subschemas) {
        let reason = "a schema leads back to itself; put a property or an item between the two";
        return Err(SchemaError::new(
            pointers.get(index).cloned().unwrap_or_default(),
            reason,
        ));
    }
    drop_unknown(&mut subschemas);
    find_assertions(&mut subschemas);
    if !subschemas.first().is_some_and(|root| root.has_assertions) {
        return Ok(None);
    }
    let marked = mark(schema, &subschemas, &pointers);
    Ok(Some(Validated {
        validation: Validation { subschemas },
        marked,
        pointers,
    }))
}

/// Returns whether one of the keywords occurs anywhere in the schema, even as the name of a property.
fn mentions_assertions(schema: &Value, enforces_formats: bool) -> bool {
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(entries) => {
                let mut keys = entries.keys();
                if keys.any(|key| is_assertion(key) || enforces_formats && key == "format") {
                    return true;
                }
                pending.extend(entries.values());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    false
}

struct Builder<'s> {
    root: &'s Value,
    patterns: &'s Patterns,
    enforces_formats: bool,
    subschemas: Vec<Subschema>,
    pointers: Vec<String>,
    by_pointer: HashMap<String, SubschemaId>,
    queue: Vec<(SubschemaId, &'s Value)>,
}

/// Maximum length of a chain of references.
const MAX_STEPS: usize = 64;

impl<'s> Builder<'s> {
    /// Returns the id of the schema at a pointer; for a bare reference, the id of its target.
    fn intern(&mut self, mut pointer: String, mut schema: &'s Value) -> SubschemaId {
        for _ in 0..MAX_STEPS {
            let Some(reference) = only_reference(schema) else {
                break;
            };
            let Target::Schema(target, at) = reference::resolve(self.root, reference) else {
                break;
            };
            (pointer, schema) = (at, target);
        }
        if let Some(known) = self.by_pointer.get(&pointer) {
            return *known;
        }
        let id = SubschemaId(u32::try_from(self.subschemas.len()).unwrap_or(u32::MAX));
        self.subschemas.push(Subschema::TRUE);
        self.pointers.push(pointer.clone());
        self.by_pointer.insert(pointer, id);
        self.queue.push((id, schema));
        id
    }

    fn subschema(&mut self, id: SubschemaId, schema: &'s Value) -> Subschema {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => {
                return Subschema {
                    types: Types::NONE,
                    ..Subschema::TRUE
                };
            }
            _ => return Subschema::TRUE,
        };
        let at = self.pointers.get(id.0 as usize).cloned().unwrap_or_default();
        let format = keywords.get("format").and_then(Value::as_str);
        let text = limits::text(keywords, self.patterns);
        let has_pattern = text.as_ref().is_some_and(|limits| limits.pattern.is_some());
        let object = self.object(&at, keywords);
        let patterns = object.iter().flat_map(|object| &object.patterns);
        let is_unknown = UNFOLLOWED.iter().any(|keyword| keywords.contains_key(*keyword))
            || keywords.contains_key("pattern") && !has_pattern
            || patterns.into_iter().any(|(pattern, _)| pattern.is_none());
        Subschema {
            types: declared_types(keywords),
            values: limits::values(keywords).map(|(values, _)| Box::new(values)),
            text: text.map(Box::new),
            format: format
                .filter(|_| self.enforces_formats)
                .and_then(TextFormat::from_name),
            number: limits::number(keywords).map(Box::new),
            list: self.list(&at, keywords),
            object,
            in_place: self.in_place(&at, keywords),
            is_unknown,
            has_assertions: false,
        }
    }

    fn list(&mut self, at: &str, keywords: &'s Map<String, Value>) -> Option<Box<ListKeywords>> {
        let (prefix, rest) = match (keywords.get("prefixItems"), keywords.get("items")) {
            (Some(Value::Array(_)), _) => ("prefixItems", "items"),
            (_, Some(Value::Array(_))) => ("items", "additionalItems"),
            _ => ("", "items"),
        };
        let contains = self.at(at, keywords, "contains").map(|schema| Contains {
            schema,
            min: limits::count_limit(keywords, "minContains").unwrap_or(1),
            max: limits::count_limit(keywords, "maxContains"),
        });
        let list = ListKeywords {
            prefix: self.each(at, keywords, prefix),
            rest: self.at(at, keywords, rest),
            min: limits::count_limit(keywords, "minItems"),
            max: limits::count_limit(keywords, "maxItems"),
            unique: limits::flag(keywords, "uniqueItems"),
            contains,
            unevaluated: self.at(at, keywords, "unevaluatedItems"),
        };
        let is_used = !list.prefix.is_empty()
            || list.rest.is_some()
            || list.min.is_some()
            || list.max.is_some()
            || list.unique
            || list.contains.is_some()
            || list.unevaluated.is_some();
        is_used.then(|| Box::new(list))
    }

    fn object(&mut self, at: &str, keywords: &'s Map<String, Value>) -> Option<Box<ObjectKeywords>> {
        let mut object = ObjectKeywords {
            additional: self.at(at, keywords, "additionalProperties"),
            names: self.at(at, keywords, "propertyNames"),
            required: names(keywords.get("required")),
            min: limits::count_limit(keywords, "minProperties"),
            max: limits::count_limit(keywords, "maxProperties"),
            dependent_schemas: self.named_schemas(at, keywords, "dependentSchemas"),
            unevaluated: self.at(at, keywords, "unevaluatedProperties"),
            ..ObjectKeywords::default()
        };
        for (name, schema) in self.named_schemas(at, keywords, "properties") {
            object.declared.push(name.clone());
            object.properties.insert(name, schema);
        }
        for (pattern, schema) in self.named_schemas(at, keywords, "patternProperties") {
            object
                .patterns
                .push((self.patterns.compile(&pattern).ok(), schema));
        }
        for (name, needed) in limits::schemas_by_name(keywords, "dependentRequired") {
            object
                .dependent_required
                .push((name.as_str().into(), names(Some(needed))));
        }
        for (name, dependency) in limits::schemas_by_name(keywords, "dependencies") {
            if dependency.is_array() {
                object
                    .dependent_required
                    .push((name.as_str().into(), names(Some(dependency))));
            } else {
                let pointer = pointer::join(&format!("{at}/dependencies"), name);
                let schema = self.intern(pointer, dependency);
                object.dependent_schemas.push((name.as_str().into(), schema));
            }
        }
        let is_used = keywords
            .keys()
            .any(|keyword| OBJECT_KEYWORDS.contains(&keyword.as_str()));
        is_used.then(|| Box::new(object))
    }

    fn in_place(&mut self, at: &str, keywords: &'s Map<String, Value>) -> Option<Box<InPlace>> {
        let mut all_of = self.each(at, keywords, "allOf");
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str)
            && let Target::Schema(target, pointer) = reference::resolve(self.root, reference)
        {
            all_of.insert(0, self.intern(pointer, target));
        }
        let (then, otherwise) = (self.at(at, keywords, "then"), self.at(at, keywords, "else"));
        let test = self.at(at, keywords, "if");
        let in_place = InPlace {
            all_of,
            any_of: self.each(at, keywords, "anyOf"),
            one_of: self.each(at, keywords, "oneOf"),
            not: self.at(at, keywords, "not"),
            condition: test.map(|test| Condition {
                test,
                then,
                otherwise,
            }),
        };
        let is_used = !in_place.all_of.is_empty()
            || !in_place.any_of.is_empty()
            || !in_place.one_of.is_empty()
            || in_place.not.is_some()
            || in_place.condition.is_some();
        is_used.then(|| Box::new(in_place))
    }

    /// Compiles the schema of a keyword.
    fn at(&mut self, at: &str, keywords: &'s Map<String, Value>, keyword: &str) -> Option<SubschemaId> {
        let schema = keywords.get(keyword).filter(|schema| !schema.is_array())?;
        Some(self.intern(format!("{at}/{keyword}"), schema))
    }

    /// Compiles the list of schemas of a keyword.
    fn each(&mut self, at: &str, keywords: &'s Map<String, Value>, keyword: &str) -> Vec<SubschemaId> {
        let schemas = keywords.get(keyword).and_then(Value::as_array);
        let indexed = schemas.into_iter().flatten().enumerate();
        indexed
            .map(|(index, schema)| self.intern(format!("{at}/{keyword}/{index}"), schema))
            .collect()
    }

    /// Compiles the named schemas of a keyword.
    fn named_schemas(
        &mut self,
        at: &str,
        keywords: &'s Map<String, Value>,
        keyword: &str,
    ) -> Vec<(Box<str>, SubschemaId)> {
        let named = limits::schemas_by_name(keywords, keyword);
        named
            .map(|(name, schema)| {
                let pointer = pointer::join(&format!("{at}/{keyword}"), name);
                (name.as_str().into(), self.intern(pointer, schema))
            })
            .collect()
    }
}

/// Unsupported references.
const UNFOLLOWED: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

const OBJECT_KEYWORDS: [&str; 11] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
];

/// Returns the reference of a schema without other keywords.
fn only_reference(schema: &Value) -> Option<&str> {
    let keywords = schema.as_object()?;
    let reference = keywords.get("$ref")?.as_str()?;
    let others = |keyword: &String| keyword != "$ref" && (!is_annotation(keyword) || keyword == "format");
    (!keywords.keys().any(others)).then_some(reference)
}

fn names(value: Option<&Value>) -> Vec<Box<str>> {
    let names = value.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(Into::into).collect()
}

fn get(subschemas: &[Subschema], id: SubschemaId) -> &Subschema {
    subschemas.get(id.0 as usize).unwrap_or(&Subschema::TRUE)
}

/// Finds a schema that refers to itself, directly or through other schemas, for the same value. Its evaluation would not end.
fn find_circle(subschemas: &[Subschema]) -> Option<usize> {
    let mut is_done = vec![false; subschemas.len()];
    for start in 0..subschemas.len() {
        let mut is_open = HashMap::new();
        let mut pending = vec![(start, false)];
        while let Some((index, leaves)) = pending.pop() {
            if leaves {
                is_open.insert(index, false);
                if let Some(done) = is_done.get_mut(index) {
                    *done = true;
                }
                continue;
            }
            if is_open.get(&index) == Some(&true) {
                return Some(index);
            }
            if is_done.get(index) != Some(&false) {
                continue;
            }
            is_open.insert(index, true);
            pending.push((index, true));
            let inner =
                get(subschemas, SubschemaId(u32::try_from(index).unwrap_or(u32::MAX))).in_place_subschemas();
            pending.extend(inner.into_iter().map(|inner| (inner.0 as usize, false)));
        }
    }
    None
}

/// Drops keywords that depend on an unenforced part, such as an unsupported pattern. Their result is unknown, and accepting
/// an invalid value is better than rejecting a valid value.
fn drop_unknown(subschemas: &mut [Subschema]) {
    let own: Vec<bool> = subschemas.iter().map(|schema| schema.is_unknown).collect();
    if !own.contains(&true) {
        return;
    }
    let is_unknown = spread(subschemas, own, |schema| {
        let mut inner = schema.in_place_subschemas();
        inner.extend(schema.children());
        inner
    });
    let unknown = |id: SubschemaId| is_unknown.get(id.0 as usize) == Some(&true);
    for (schema, is_unknown) in subschemas.iter_mut().zip(&is_unknown) {
        if let Some(list) = &mut schema.list {
            list.contains = list.contains.filter(|contains| !unknown(contains.schema));
            list.unevaluated = list.unevaluated.filter(|_| !is_unknown);
        }
        if let Some(object) = &mut schema.object {
            object.unevaluated = object.unevaluated.filter(|_| !is_unknown);
        }
        if let Some(in_place) = &mut schema.in_place {
            in_place.not = in_place.not.filter(|not| !unknown(*not));
            in_place.condition = in_place.condition.filter(|condition| !unknown(condition.test));
            if in_place.one_of.iter().any(|one| unknown(*one)) && in_place.any_of.is_empty() {
                in_place.any_of = std::mem::take(&mut in_place.one_of);
            }
        }
    }
}

/// Finds schemas with keywords that coercion does not enforce, directly or in subschemas that values must match.
fn find_assertions(subschemas: &mut [Subschema]) {
    let own = subschemas.iter().map(Subschema::asserts).collect();
    let found = spread(subschemas, own, |schema| {
        let mut inner = schema.in_place_subschemas();
        inner.extend(schema.children());
        inner
    });
    for (schema, has_assertions) in subschemas.iter_mut().zip(found) {
        schema.has_assertions = has_assertions;
    }
}

/// Propagates a property of schemas to the schemas that contain them.
fn spread(
    subschemas: &[Subschema],
    mut found: Vec<bool>,
    inner: impl Fn(&Subschema) -> Vec<SubschemaId>,
) -> Vec<bool> {
    let mut outer: Vec<Vec<usize>> = vec![Vec::new(); subschemas.len()];
    for (index, schema) in subschemas.iter().enumerate() {
        for id in inner(schema) {
            if let Some(outer) = outer.get_mut(id.0 as usize) {
                outer.push(index);
            }
        }
    }
    let mut pending: Vec<usize> = (0..found.len())
        .filter(|index| found.get(*index) == Some(&true))
        .collect();
    while let Some(index) = pending.pop() {
        for above in outer.get(index).into_iter().flatten() {
            if let Some(slot) = found.get_mut(*above)
                && !*slot
            {
                *slot = true;
                pending.push(*above);
            }
        }
    }
    found
}

/// Returns a copy of a schema in which each subschema with assertions has its id as a mark.
fn mark(schema: &Value, subschemas: &[Subschema], pointers: &[String]) -> Value {
    let mut marked = schema.clone();
    subschemas::visit_mut(&mut marked, |keywords| {
        drop(keywords.shift_remove(marks::VALIDATION));
    });
    for (id, (subschema, pointer)) in subschemas.iter().zip(pointers).enumerate() {
        if subschema.asserts()
            && let Some(Value::Object(keywords)) = marked.pointer_mut(pointer)
        {
            keywords.insert(marks::VALIDATION.to_owned(), json!([id]));
        }
    }
    marked
}

/// Returns the subschemas in the marks of a compiled schema.
pub(super) fn marked_ids(mark: &Value) -> impl Iterator<Item = SubschemaId> {
    let ids = mark.as_array().into_iter().flatten();
    ids.filter_map(|id| Some(SubschemaId(u32::try_from(id.as_u64()?).ok()?)))
}
