//! Descriptions of expected values, for error messages.

use std::cell::Cell;
use std::fmt::{self, Display, Write as _};

use super::schema_hint::{SchemaHint, quoted};
use crate::arguments::input::tree::node::Node;
use crate::arguments::limits;
use crate::schema::compiled::bounds::NumberLimits;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{CompiledSchema, Kind, Plain, Schema, SchemaId, Tag, Union, Values};
use crate::wire::issue::excerpt;

/// Description of the values of a schema: `an integer from 1 to 100`.
pub(crate) struct Expected<'s>(pub(crate) &'s CompiledSchema, pub(crate) SchemaId);

impl Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(compiled, id) = *self;
        let words = (0..=MAX_UNION_DEPTH).rev().find_map(|levels| {
            let left = Cell::new(MAX_MEMBERS);
            ExpectedWriter { compiled, left }.schema(id, levels)
        });
        let schema = compiled.schema(id);
        f.write_str(&or_null(
            schema,
            words.unwrap_or_else(|| types(schema).to_string()),
        ))
    }
}

/// Writes the description of a schema. Depth and number of members of nested unions are limited, since members may be
/// exponentially many.
struct ExpectedWriter<'s> {
    compiled: &'s CompiledSchema,
    /// Number of union members that may still be described.
    left: Cell<usize>,
}

impl ExpectedWriter<'_> {
    /// Describes a schema; `None` if the description of nested unions would be too long.
    fn schema(&self, id: SchemaId, levels: usize) -> Option<String> {
        let schema = self.compiled.schema(id);
        if let Some(words) = self.formatted(schema) {
            return Some(words);
        }
        Some(match &schema.kind {
            Kind::Plain(plain) => self.plain(id, plain),
            Kind::Union(alternatives) => match &alternatives.tag {
                Some(tag) => self.tagged(schema, tag, alternatives, levels)?,
                None if levels > 0 => self.any_of(schema, &alternatives.schemas, levels - 1)?,
                None => types(schema).to_string(),
            },
            Kind::Any | Kind::AllOf(_) => types(schema).to_string(),
        })
    }

    /// Returns the description of a `format`, unless other keywords reject its strings.
    fn formatted(&self, schema: &Schema) -> Option<String> {
        let format = schema.format.filter(|_| types(schema) == Types::STRING)?;
        let schemas = match &schema.kind {
            Kind::Union(alternatives) => alternatives.schemas.as_slice(),
            Kind::AllOf(parts) => parts.schemas.as_slice(),
            Kind::Plain(_) | Kind::Any => &[],
        };
        let schemas = schemas.iter().map(|id| self.compiled.schema(*id));
        for part in std::iter::once(schema).chain(schemas) {
            let Kind::Plain(plain) = &part.kind else { continue };
            if plain.values.is_some() {
                return None;
            }
            if let Some(limits) = &plain.text
                && limits::text_violation(limits, format.example).is_some()
            {
                let pattern = limits.pattern.as_ref();
                return pattern.map(|pattern| limits::matching(Some(format), pattern));
            }
        }
        Some(format.to_string())
    }

    fn plain(&self, id: SchemaId, plain: &Plain) -> String {
        let schema = self.compiled.schema(id);
        if let Some(values) = &plain.values {
            return Listed(values).to_string();
        }
        let words = match SchemaHint::new(self.compiled, id) {
            Some(hint) => format!("{} like {hint}", types(schema)),
            None => types(schema).to_string(),
        };
        let limits = plain.number.as_ref();
        match limits.filter(|_| schema.types.overlaps(Types::NUMBER)) {
            Some(limits) => format!("{words}{}", Range(limits)),
            None => words,
        }
    }

    fn member(&self, id: SchemaId, levels: usize) -> Option<String> {
        self.left.set(self.left.get().checked_sub(1)?);
        self.schema(id, levels)
    }

    /// Describes a tagged union of objects, or of objects and other values.
    fn tagged(&self, whole: &Schema, tag: &Tag, all: &Union, levels: usize) -> Option<String> {
        let mut words = String::new();
        let others = types(whole).without(Types::OBJECT);
        match levels.checked_sub(1) {
            Some(levels) => {
                let is_other = |id: &&SchemaId| !self.compiled.schema(**id).types.has(Types::OBJECT);
                for other in all.schemas.iter().filter(is_other) {
                    words += &self.member(*other, levels)?;
                    words += " or ";
                }
            }
            None if others == Types::NONE => {}
            None => words = format!("{others} or "),
        }
        let _ = match tag {
            Tag::Key(keys) => {
                words += "an object with exactly one of the keys ";
                several(&mut words, keys.len(), keys.iter().map(|(name, _)| quoted(name)))
            }
            Tag::Property { name, values, .. } => {
                let texts = values.iter().map(|(value, _)| value.clone()).collect();
                let values = Values::from_texts(texts);
                write!(words, "an object whose {} is {}", quoted(name), Listed(&values))
            }
        };
        Some(words)
    }

    /// Describes several schemas, each by its own description if it is more specific than the types.
    fn any_of(&self, whole: &Schema, schemas: &[SchemaId], levels: usize) -> Option<String> {
        if !schemas
            .iter()
            .any(|id| self.compiled.schema(*id).plain().is_some())
        {
            return Some(types(whole).to_string());
        }
        let words = schemas.iter().map(|id| self.member(*id, levels));
        let mut words: Vec<_> = words.collect::<Option<_>>()?;
        words.dedup();
        Some(words.join(", or ")).filter(|words| words.len() <= MAX_LENGTH)
    }
}

/// Returns the types of a schema without `null`, unless `null` is the only type.
fn types(schema: &Schema) -> Types {
    match schema.types.without(Types::NULL) {
        Types::NONE => schema.types,
        other => other,
    }
}

/// Adds `null` to the description of a schema that allows it; listed values include `null` already.
pub(crate) fn or_null(schema: &Schema, words: String) -> String {
    let lists_values = schema.plain().is_some_and(|plain| plain.values.is_some());
    match &schema.kind {
        _ if lists_values => words,
        Kind::Any if schema.types == Types::ALL => "any value".to_owned(),
        _ => with_null(schema.types, words),
    }
}

/// Adds `null` to a description if `null` is one of the types.
pub(crate) fn with_null(types: Types, words: String) -> String {
    match types {
        Types::NULL => words,
        _ if !types.has(Types::NULL) => words,
        // `null` comes first, so that the count that was received ends the sentence.
        _ if words.contains(", got ") => format!("null or {words}"),
        _ if words.contains(", ") => words + ", or null",
        _ => words + " or null",
    }
}

/// Displays ` from 1 to 100` or ` of at least 1` if there are limits.
pub(crate) struct Range<'a>(pub(crate) &'a NumberLimits);

impl Display for Range<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.0;
        if let (Some(min), Some(max)) = (&limits.min, &limits.max)
            && min.value() == max.value()
        {
            return write!(f, " equal to {}", min.text);
        }
        let (from, to) = match (&limits.min, &limits.max) {
            (Some(_), Some(_)) => (" from ", " to "),
            _ => (" of at least ", " of at most "),
        };
        let bounds = [
            (from, &limits.min),
            (" greater than ", &limits.exclusive_min),
            (to, &limits.max),
            (" less than ", &limits.exclusive_max),
            (" that is a multiple of ", &limits.multiple_of),
        ];
        for (word, bound) in bounds {
            if let Some(bound) = bound {
                write!(f, "{word}{}", bound.text)?;
            }
        }
        Ok(())
    }
}

/// Displays `one of "a", "b"`.
pub(crate) struct Listed<'a>(pub(crate) &'a Values);

impl Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self
            .0
            .texts
            .iter()
            .map(|text| Node::Text((&**text).into()).preview());
        let others = self
            .0
            .others
            .iter()
            .map(|value| Node::from_value(value).preview());
        let count = self.0.texts.len() + self.0.others.len();
        if count > 1 {
            f.write_str("one of ")?;
        }
        several(
            f,
            count,
            texts.chain(others).map(|value| excerpt(&value).into_owned()),
        )
    }
}

/// Joins the first items with commas, and counts the others.
pub(in crate::arguments) fn several(
    to: &mut impl fmt::Write,
    count: usize,
    all: impl Iterator<Item = String>,
) -> fmt::Result {
    let first: Vec<_> = all.take(MAX_LISTED).collect();
    to.write_str(&first.join(", "))?;
    to.write_str(if count > MAX_LISTED { " and more" } else { "" })
}

/// Displays an expected value with its path.
pub(crate) struct Within<'a>(pub(crate) &'a Values, pub(crate) SchemaHint<'a>);

impl Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, as in {}", Listed(self.0), self.1)
    }
}

/// Maximum number of names or values in a message.
pub(in crate::arguments) const MAX_LISTED: usize = 32;

/// Maximum length of a union's description in bytes; a longer description is replaced by the types.
const MAX_LENGTH: usize = 180;

/// Maximum depth of described unions.
const MAX_UNION_DEPTH: usize = 3;

/// Maximum number of described members of unions.
const MAX_MEMBERS: usize = 64;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use crate::arguments::policy::Policy;
    use crate::arguments::{ArgumentReader, coerce};
    use crate::schema::CompiledSchema;
    use crate::wire::raw_arguments::RawArguments;

    /// Returns the description in the error for a missing value.
    fn missing(x: &Value) -> String {
        message(&whole(x, &json!({})))
    }

    fn whole(x: &Value, definitions: &Value) -> CompiledSchema {
        let schema =
            json!({ "type": "object", "properties": { "x": x }, "required": ["x"], "$defs": definitions });
        CompiledSchema::compile(&schema).unwrap().0
    }

    fn message(compiled: &CompiledSchema) -> String {
        let coerced = coerce(
            ArgumentReader::new(compiled, Policy::Lenient),
            &mut RawArguments::from("{}"),
        );
        let [issue] = coerced.issues.as_slice() else {
            panic!("{:?}", coerced.issues);
        };
        let message = issue
            .message
            .strip_prefix("missing required parameter; expected ");
        message.unwrap_or(&issue.message).to_owned()
    }

    #[test]
    fn describes_nested_unions_in_linear_time() {
        let (deep, wide) = (11, 6);
        for among in [
            &[][..],
            &[json!({ "type": "boolean" })],
            &[json!({ "type": "integer", "minimum": 1 })],
        ] {
            let mut definitions = serde_json::Map::new();
            for (level, name) in (0..deep).flat_map(|level| (0..wide).map(move |name| (level, name))) {
                let below = (0..wide).map(|name| json!({ "$ref": format!("#/$defs/d{}_{name}", level + 1) }));
                let any: Vec<_> = among.iter().cloned().chain(below).collect();
                definitions.insert(format!("d{level}_{name}"), json!({ "anyOf": any }));
                let last = json!({ "type": "string", "enum": [format!("a{name}")] });
                definitions.insert(format!("d{deep}_{name}"), last);
            }
            let compiled = whole(&json!({ "$ref": "#/$defs/d0_0" }), &definitions.into());
            // Without its cache, this test takes minutes.
            let begun = Instant::now();
            let message = message(&compiled);
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
            assert!(message.contains("a string") && message.len() < 200, "{message}");
        }
    }

    #[test]
    fn describes_nested_unions_up_to_a_limit() {
        let inner =
            json!({ "anyOf": [{ "enum": ["a", "b"] }, { "type": "array", "items": { "type": "integer" } }] });
        let outer = json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, inner] });
        let expected = r#"an integer of at least 1, or one of "a", "b", or an array like [<an integer>, …]"#;
        assert_eq!(missing(&outer), expected);
        let long: Vec<_> = (0..20).map(|n| format!("a rather long value {n}")).collect();
        let outer = json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "anyOf": [{ "enum": long }, { "type": "array" }] }] });
        assert_eq!(
            missing(&outer),
            "an integer of at least 1, or a string or an array"
        );
    }

    #[test]
    fn describes_formats_whose_example_is_valid() {
        let date = |more: Value| {
            let mut schema = json!({ "type": "string", "format": "date" });
            schema
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            missing(&schema)
        };
        let words = "a date, for example 2025-01-31";
        assert_eq!(date(json!({})), words);
        assert_eq!(date(json!({ "minLength": 1, "maxLength": 10 })), words);
        assert_eq!(date(json!({ "pattern": "^20" })), words);
        let listed = r#"one of "2025-01-01", "2025-02-01""#;
        let values = ["2025-01-01", "2025-02-01"];
        assert_eq!(date(json!({ "enum": values })), listed);
        assert_eq!(date(json!({ "pattern": "-01$" })), "a date that matches `-01$`");
        assert_eq!(date(json!({ "minLength": 20 })), "a string");
        assert_eq!(date(json!({ "allOf": [{ "enum": values }] })), listed);
        let any = json!({ "anyOf": [{ "const": values[0] }, { "pattern": "-01$" }] });
        assert!(!date(any).contains(words));
        let mail = json!({ "type": "string", "format": "email", "minLength": 3 });
        assert_eq!(missing(&mail), "an email address, for example name@example.org");
        let ours = json!({ "type": "string", "format": "email", "pattern": "@example[.]org$" });
        assert_eq!(missing(&ours), "an email address, for example name@example.org");
    }

    #[test]
    fn describes_a_range_of_one_number_as_equal() {
        let one = json!({ "type": "integer", "minimum": 1, "maximum": 1.0 });
        assert_eq!(missing(&one), "an integer equal to 1");
        let two = json!({ "type": "integer", "minimum": 1, "maximum": 2 });
        assert_eq!(missing(&two), "an integer from 1 to 2");
    }
}
