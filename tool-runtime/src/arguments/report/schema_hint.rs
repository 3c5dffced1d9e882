//! A one-line example of a value of a schema: `{"path": <a string>, "lines": [<an integer>, …]}`.

use std::fmt::{self, Display, Write};

use crate::arguments::input::tree::node::Node;
use crate::schema::compiled::name::fold;
use crate::schema::compiled::spelling::resemble;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{
    Additional, CompiledSchema, Kind, List, Object, Plain, Property, SchemaId, Tag, Union, Values,
};
use crate::wire::issue::excerpt;

/// A one-line example of a value, with a placeholder for each part that the model has to choose.
#[derive(Clone, Copy)]
pub(crate) struct SchemaHint<'s> {
    compiled: &'s CompiledSchema,
    schema: SchemaId,
    /// A property of the root and its known value.
    known: Option<(&'s str, &'s str)>,
}

impl<'s> SchemaHint<'s> {
    /// Creates the hint for an object or a list; `None` if the schema has only the type.
    pub(crate) fn new(compiled: &'s CompiledSchema, schema: SchemaId) -> Option<Self> {
        let hint = Self {
            compiled,
            schema,
            known: None,
        };
        let plain = compiled.schema(schema).plain()?;
        let has_hint = match compiled.schema(schema).types.without(Types::NULL) {
            Types::OBJECT => plain.object.as_ref().is_some_and(has_hint),
            Types::ARRAY => plain
                .list
                .as_ref()
                .is_some_and(|list| list.is_tuple() || matches!(list.additional, Additional::Of(_))),
            _ => false,
        };
        has_hint.then_some(hint)
    }

    /// Creates the hint for the only object among several schemas that a bare text names, by its only key or by its
    /// tag.
    pub(crate) fn named(
        compiled: &'s CompiledSchema,
        schemas: impl Iterator<Item = SchemaId>,
        text: &str,
    ) -> Option<Self> {
        let mut named = schemas.filter_map(|schema| {
            let object = compiled.schema(schema).plain()?.object.as_ref()?;
            let known = match object.properties.as_slice() {
                [only] if only.required && fold(&only.name) == fold(text) => None,
                properties => Some(
                    properties
                        .iter()
                        .find_map(|property| tag(compiled, property, text))?,
                ),
            };
            Some(Self {
                compiled,
                schema,
                known,
            })
        });
        named.next().filter(|_| named.next().is_none())
    }

    pub(crate) fn schema(self) -> SchemaId {
        self.schema
    }
}

/// Returns a required property and its allowed value that a text is equal to.
fn tag<'s>(compiled: &'s CompiledSchema, property: &'s Property, text: &str) -> Option<(&'s str, &'s str)> {
    let values = compiled.schema(property.schema).plain()?.values.as_ref()?;
    let mut candidates = values.texts.iter().filter(|value| resemble(value, text));
    let value = candidates.next().filter(|_| property.required)?;
    Some((&property.name, value))
}

/// Returns whether a hint has more information than the type `object`.
fn has_hint(object: &Object) -> bool {
    object.properties.iter().any(|property| property.required)
        || !object.also_required.is_empty()
        || (object.properties.is_empty() && matches!(object.additional, Additional::Of(_)))
}

impl Display for SchemaHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.compiled.schema(self.schema);
        let object = schema.plain().and_then(|plain| plain.object.as_ref());
        match nested_to_the_limit(|to, levels| self.draw(to, self.schema, self.known, levels)) {
            Some(line) => f.write_str(&line),
            None => f.write_str(&object.map_or_else(|| "[…]".to_owned(), keys)),
        }
    }
}

/// Example of a list.
pub(crate) struct Example<'s>(pub(crate) &'s CompiledSchema, pub(crate) &'s List);

impl Display for Example<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = SchemaHint {
            compiled: self.0,
            schema: SchemaId::ROOT,
            known: None,
        };
        let line = nested_to_the_limit(|to, levels| hint.list(to, self.1, levels));
        f.write_str(line.as_deref().unwrap_or("[…]"))
    }
}

fn nested_to_the_limit(draw: impl Fn(&mut Line, usize) -> fmt::Result) -> Option<String> {
    (1..=MAX_LEVELS).rev().find_map(|levels| {
        let mut line = Line(String::new());
        draw(&mut line, levels).ok().map(|()| line.0)
    })
}

/// Lists as many keys as there is space for.
fn keys(object: &Object) -> String {
    let mut line = Line("{".to_owned());
    for property in object.properties.iter().filter(|property| property.required) {
        if write!(line, "{}: …, ", quoted(&property.name)).is_err() {
            break;
        }
    }
    line.0 + "…}"
}

impl SchemaHint<'_> {
    fn draw(&self, to: &mut Line, id: SchemaId, known: Option<(&str, &str)>, levels: usize) -> fmt::Result {
        let schema = self.compiled.schema(id);
        let types = schema.types.without(Types::NULL);
        let plain = schema.plain().unwrap_or(&Plain::NONE);
        match (&plain.values, &plain.list, &plain.object, &schema.kind) {
            (Some(values), ..) => one_of(to, values),
            (_, Some(list), ..) if types == Types::ARRAY => self.list(to, list, levels),
            (_, _, Some(object), _) if types == Types::OBJECT => self.object(to, object, known, levels),
            (.., Kind::Union(alternatives)) if types == Types::OBJECT => tagged(to, alternatives),
            (.., Kind::Union(alternatives)) if levels > 0 => match self.values_among(alternatives) {
                Some(all) => listed(to, all.into_iter()),
                None => placeholder(to, schema.types),
            },
            _ => placeholder(to, schema.types),
        }
    }

    /// Lists the values of several schemas, and the types of schemas without values; `None` if no schema has values.
    fn values_among(&self, alternatives: &Union) -> Option<Vec<String>> {
        let values = |id: &SchemaId| self.compiled.schema(*id).plain()?.values.as_ref();
        let with_values = alternatives.schemas.iter().filter_map(values);
        // More than three values are truncated, with a mark.
        let mut all: Vec<_> = with_values.flat_map(each).take(3).collect();
        let first = alternatives.schemas.iter().find(|id| values(id).is_none());
        let types = first.map(|id| self.compiled.schema(*id).types.without(Types::NULL));
        let has_values = !all.is_empty();
        all.extend(
            types
                .filter(|types| *types != Types::NONE)
                .map(|types| types.to_string()),
        );
        has_values.then_some(all)
    }

    fn object(
        &self,
        to: &mut Line,
        object: &Object,
        known: Option<(&str, &str)>,
        levels: usize,
    ) -> fmt::Result {
        let Some(levels) = levels.checked_sub(1).filter(|_| has_hint(object)) else {
            return to.write_str("{…}");
        };
        let mut comma = "{";
        for property in object.properties.iter().filter(|property| property.required) {
            write!(to, "{comma}{}: ", quoted(&property.name))?;
            match known {
                Some((name, value)) if *name == *property.name => to.write_str(&quoted(value))?,
                _ => self.draw(to, property.schema, None, levels)?,
            }
            comma = ", ";
        }
        for name in &object.also_required {
            write!(to, "{comma}{}: …", quoted(name))?;
            comma = ", ";
        }
        if let (true, Additional::Of(schema)) = (object.properties.is_empty(), object.additional) {
            write!(to, "{comma}<a key>: ")?;
            self.draw(to, schema, None, levels)?;
            to.write_str(", …")?;
        }
        to.write_str("}")
    }

    fn list(&self, to: &mut Line, list: &List, levels: usize) -> fmt::Result {
        let Some(levels) = levels.checked_sub(1) else {
            return to.write_str("[…]");
        };
        to.write_str("[")?;
        for (place, item) in list.prefix.iter().enumerate() {
            to.write_str(if place > 0 { ", " } else { "" })?;
            self.draw(to, *item, None, levels)?;
        }
        if let Additional::Of(item) = list.additional {
            to.write_str(if list.is_tuple() { ", " } else { "" })?;
            // The minimum number of items, at most three.
            let count = list.min.unwrap_or(1).clamp(1, 3);
            let fixed = list.max.is_some_and(|max| max == count);
            for place in 0..if fixed { count } else { 1 } {
                to.write_str(if place > 0 { ", " } else { "" })?;
                self.draw(to, item, None, levels)?;
            }
            to.write_str(if fixed { "" } else { ", …" })?;
        }
        to.write_str("]")
    }
}

/// Writes a placeholder for a value of some types: `<an integer or null>`.
fn placeholder(to: &mut Line, all: Types) -> fmt::Result {
    let types = all.without(Types::NULL);
    match all {
        Types::ALL => to.write_str("<any value>"),
        Types::NULL => to.write_str("null"),
        all if all.has(Types::NULL) => write!(to, "<{types} or null>"),
        _ => write!(to, "<{types}>"),
    }
}

/// Writes the tag of a union of objects.
fn tagged(to: &mut Line, alternatives: &Union) -> fmt::Result {
    let Some(Tag::Property { name, values, .. }) = &alternatives.tag else {
        return to.write_str("{…}");
    };
    write!(to, "{{{}: ", quoted(name))?;
    listed(to, values.iter().map(|(value, _)| quoted(value)))?;
    to.write_str(", …}")
}

/// Writes the allowed values.
fn one_of(to: &mut Line, values: &Values) -> fmt::Result {
    listed(to, each(values))
}

fn each(values: &Values) -> impl Iterator<Item = String> {
    let texts = values.texts.iter().map(|text| quoted(text));
    let others = values
        .others
        .iter()
        .map(|value| excerpt(&Node::from_value(value).preview()).into_owned());
    texts.chain(others)
}

fn listed(to: &mut Line, mut values: impl Iterator<Item = String>) -> fmt::Result {
    let first = values.next().unwrap_or_default();
    let Some(second) = values.next() else {
        return to.write_str(&first);
    };
    write!(to, "<{first} or {second}")?;
    to.write_str(if values.next().is_some() { " or …>" } else { ">" })
}

/// Formats a text as a JSON string, truncated.
pub(crate) fn quoted(text: &str) -> String {
    Node::Text((&*excerpt(text)).into()).preview()
}

/// A line with a maximum length.
struct Line(String);

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Maximum size of a hint in bytes: an error message contains more than the hint.
const MAX_LENGTH: usize = 140;

/// Maximum depth of objects and lists in a hint.
const MAX_LEVELS: usize = 3;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns the hint for the property `x`.
    fn hinted(x: &Value) -> Option<String> {
        let schema = json!({ "type": "object", "properties": { "x": x } });
        let compiled = CompiledSchema::compile(&schema).unwrap().0;
        let schema = compiled.properties()[0].schema;
        SchemaHint::new(&compiled, schema).map(|hint| hint.to_string())
    }

    fn object(required: &[String], value: &Value) -> Value {
        let properties: serde_json::Map<_, _> = required
            .iter()
            .map(|name| (name.clone(), value.clone()))
            .collect();
        json!({ "type": "object", "properties": properties, "required": required })
    }

    #[test]
    fn shows_required_properties_only() {
        let point = json!({ "type": "object", "properties": {
            "at": { "prefixItems": [{ "type": "integer" }, { "type": ["number", "null"] }], "type": "array", "items": false },
            "unit": { "const": "mm" },
            "label": { "type": "string" },
        }, "required": ["at", "unit"] });
        let hint_text = r#"{"at": [<an integer>, <a number or null>], "unit": "mm"}"#;
        assert_eq!(hinted(&point).unwrap(), hint_text);
        let some = json!({ "type": "array", "items": point });
        assert_eq!(hinted(&some).unwrap(), format!("[{hint_text}, …]"));
        let by_name = json!({ "type": "object", "additionalProperties": { "enum": ["a", "b", "c"] } });
        assert_eq!(hinted(&by_name).unwrap(), r#"{<a key>: <"a" or "b" or …>, …}"#);
    }

    #[test]
    fn unrestricted_schemas_have_no_hint() {
        for anything in [
            json!({ "type": "object" }),
            json!({ "type": "object", "properties": { "a": { "type": "integer" } } }),
            json!({ "type": "array" }),
            json!({ "type": "string" }),
            json!({}),
        ] {
            assert_eq!(hinted(&anything), None, "{anything}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn hints_are_short_for_every_schema() {
        let names = |count: usize| (0..count).map(|n| format!("property_{n}")).collect::<Vec<_>>();
        let four = object(&names(4), &object(&names(4), &json!({ "type": "string" })));
        let hint_text = r#"{"property_0": {…}, "property_1": {…}, "property_2": {…}, "property_3": {…}}"#;
        assert_eq!(hinted(&four).unwrap(), hint_text);
        let hint_text = hinted(&object(&names(100), &json!({ "type": "string" }))).unwrap();
        assert!(
            hint_text.starts_with(r#"{"property_0": …, "#) && hint_text.ends_with("…}"),
            "{hint_text}"
        );
        assert!(hint_text.len() < MAX_LENGTH + 10, "{hint_text}");
        let long = object(&["k".repeat(1_000_000)], &json!({}));
        assert!(hinted(&long).unwrap().len() < MAX_LENGTH + 10);
        let array = json!({ "type": "array", "items": four });
        assert_eq!(
            hinted(&array).unwrap(),
            format!("[{}, …]", hinted(&four).unwrap())
        );
    }

    #[test]
    fn terminates_on_recursive_schemas() {
        let tree = json!({ "type": "object", "properties": {
            "children": { "type": "array", "items": { "$ref": "#/properties/x" } },
        }, "required": ["children"] });
        assert_eq!(hinted(&tree).unwrap(), r#"{"children": [{"children": […]}, …]}"#);
    }

    #[test]
    fn ambiguous_names_have_no_hint() {
        let tagged = |tag: &str| json!({ "type": "object", "properties": { "kind": { "const": tag } }, "required": ["kind"] });
        let schema = json!({ "type": "object", "properties": { "x": { "anyOf": [tagged("a"), tagged("b"), tagged("B")] } } });
        let compiled = CompiledSchema::compile(&schema).unwrap().0;
        let Kind::Union(all) = &compiled.schema(compiled.properties()[0].schema).kind else {
            panic!("a union");
        };
        let named = |text| {
            SchemaHint::named(&compiled, all.schemas.iter().copied(), text).map(|hint| hint.to_string())
        };
        assert_eq!(named("A").unwrap(), r#"{"kind": "a"}"#);
        assert_eq!((named("b"), named("c")), (None, None));
    }

    #[test]
    fn shows_values_of_unions() {
        let color = json!({ "anyOf": [
            { "type": "array", "items": { "type": "integer" }, "minItems": 3, "maxItems": 3 },
            { "enum": ["black", "white", "red"] },
        ] });
        let stroke = object(&["color".to_owned()], &color);
        let hint_text = r#"{"color": <"black" or "white" or …>}"#;
        assert_eq!(hinted(&stroke).unwrap(), hint_text);
        let size = json!({ "anyOf": [{ "const": "auto" }, { "type": "integer" }, { "type": "null" }] });
        let hint_text = r#"{"size": <"auto" or an integer>}"#;
        assert_eq!(hinted(&object(&["size".to_owned()], &size)).unwrap(), hint_text);
        let plain = json!({ "anyOf": [{ "type": "string" }, { "type": "array" }] });
        let hint_text = r#"{"any": <a string or an array>}"#;
        assert_eq!(hinted(&object(&["any".to_owned()], &plain)).unwrap(), hint_text);
        let names: Vec<_> = (0..4).map(|n| n.to_string()).collect();
        let long = json!({ "anyOf": [{ "enum": ["v".repeat(30)] }, { "type": "array" }] });
        let hint_text = hinted(&object(&names, &long)).unwrap();
        assert!(
            hint_text.matches("<a string or an array>").count() == 4,
            "{hint_text}"
        );
    }
}
