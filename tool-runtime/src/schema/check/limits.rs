//! Parses keywords that limit scalars, lengths and counts.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::schema::compiled::bounds::{Bound, NumberLimits, Width};
use crate::schema::compiled::decimal::Decimal;
use crate::schema::compiled::pattern::{Pattern, Patterns};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::values::{TextLimits, Values};
use crate::schema::keywords::marks;
use crate::schema::text_formats::TextFormat;

/// Parses `minLength`, `maxLength`, `pattern`, [`marks::NOT_BLANK`].
pub(crate) fn text(keywords: &Map<String, Value>, patterns: &Patterns) -> Option<TextLimits> {
    let limits = TextLimits {
        min: count_limit(keywords, "minLength"),
        max: count_limit(keywords, "maxLength"),
        pattern: keywords
            .get("pattern")
            .and_then(Value::as_str)
            .and_then(|pattern| patterns.compile(pattern).ok()),
        not_blank: flag(keywords, marks::NOT_BLANK),
        format: None,
    };
    let has_limits =
        limits.min.is_some() || limits.max.is_some() || limits.pattern.is_some() || limits.not_blank;
    has_limits.then_some(limits)
}

/// Parses the limits of strings, with the `format` if it can be enforced.
pub(crate) fn text_with_format(keywords: &Map<String, Value>, patterns: &Patterns) -> Option<TextLimits> {
    let format = keywords.get("format").and_then(Value::as_str);
    match format.and_then(TextFormat::from_name) {
        None => text(keywords, patterns),
        format => Some(TextLimits {
            format,
            ..text(keywords, patterns).unwrap_or_default()
        }),
    }
}

/// Parses `minimum`, `maximum`, their exclusive forms (draft 4's booleans, too), `multipleOf`, [`marks::INTEGER`].
pub(crate) fn number(keywords: &Map<String, Value>) -> Option<NumberLimits> {
    let bound = |keyword| {
        let number = keywords.get(keyword).filter(|value| value.is_number())?;
        Some(Bound::new(&number.to_string()))
    };
    let mut limits = NumberLimits {
        min: bound("minimum"),
        max: bound("maximum"),
        exclusive_min: bound("exclusiveMinimum"),
        exclusive_max: bound("exclusiveMaximum"),
        multiple_of: bound("multipleOf"),
        width: keywords
            .get(marks::INTEGER)
            .and_then(Value::as_str)
            .and_then(width),
    };
    if flag(keywords, "exclusiveMinimum") {
        limits.exclusive_min = limits.min.take();
    }
    if flag(keywords, "exclusiveMaximum") {
        limits.exclusive_max = limits.max.take();
    }
    (limits.width.is_some() || !limits.has_no_bounds()).then_some(limits)
}

/// Returns the range of a Rust integer type.
pub(crate) fn width(name: &str) -> Option<Width> {
    let (min_text, max_text) = match name {
        "i8" => ("-128", "127"),
        "i16" => ("-32768", "32767"),
        "i32" => ("-2147483648", "2147483647"),
        "i64" | "isize" => ("-9223372036854775808", "9223372036854775807"),
        "i128" => (
            "-170141183460469231731687303715884105728",
            "170141183460469231731687303715884105727",
        ),
        "u8" => ("0", "255"),
        "u16" => ("0", "65535"),
        "u32" => ("0", "4294967295"),
        "u64" | "usize" => ("0", "18446744073709551615"),
        "u128" => ("0", "340282366920938463463374607431768211455"),
        _ => return None,
    };
    let range = (
        min_text.parse().unwrap_or(i128::MIN),
        max_text.parse().unwrap_or(i128::MAX),
    );
    Some(Width {
        min_text,
        max_text,
        range,
    })
}

/// Parses `enum` and `const`. Also returns the types of their values.
pub(crate) fn values(keywords: &Map<String, Value>) -> Option<(Values, Types)> {
    let listed = keywords.get("enum").and_then(Value::as_array);
    let only = keywords.get("const");
    let allowed: Vec<&Value> = match (listed, only) {
        (None, None) => return None,
        (Some(listed), None) => listed.iter().collect(),
        (None, Some(only)) => vec![only],
        (Some(listed), Some(only)) => listed.iter().filter(|value| is_same(value, only)).collect(),
    };
    let types = allowed
        .iter()
        .fold(Types::NONE, |types, value| types | type_of(value));
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for value in allowed {
        match value {
            Value::String(text) if !seen.insert(text.as_str()) => {}
            Value::String(text) => texts.push(text.as_str().into()),
            other => others.push(other.clone()),
        }
    }
    Some((Values::new(texts, others), types))
}

/// Returns whether two values are equal in JSON Schema: numbers by value, so `1.0` is `1`.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || Decimal::parse(&one.to_string()) == Decimal::parse(&other.to_string())
        }
        (Value::Array(ones), Value::Array(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(ones), Value::Object(others)) => {
            let is_in_others =
                |(key, one): (&String, &Value)| others.get(key).is_some_and(|other| is_same(one, other));
            ones.len() == others.len() && ones.iter().all(is_in_others)
        }
        _ => one == other,
    }
}

/// Returns the type of a value.
pub(crate) fn type_of(value: &Value) -> Types {
    match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOLEAN,
        Value::Number(number) => {
            let text = number.to_string();
            let integer = Decimal::parse(&text).is_some_and(|number| number.is_integer());
            if integer { Types::INTEGER } else { Types::NUMBER }
        }
        Value::String(_) => Types::STRING,
        Value::Array(_) => Types::ARRAY,
        Value::Object(_) => Types::OBJECT,
    }
}

pub(crate) fn count_limit(keywords: &Map<String, Value>, keyword: &str) -> Option<u64> {
    keywords.get(keyword).and_then(count)
}

pub(crate) fn flag(keywords: &Map<String, Value>, keyword: &str) -> bool {
    keywords.get(keyword).and_then(Value::as_bool).unwrap_or(false)
}

/// Parses `patternProperties`; `None` for an unsupported pattern.
pub(crate) fn key_patterns<'k>(
    keywords: &'k Map<String, Value>,
    patterns: &Patterns,
) -> Vec<(Option<Pattern>, &'k Value)> {
    schemas_by_name(keywords, "patternProperties")
        .map(|(pattern, schema)| (patterns.compile(pattern).ok(), schema))
        .collect()
}

/// Returns the schemas of a keyword that maps names to schemas.
pub(crate) fn schemas_by_name<'k>(
    keywords: &'k Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'k String, &'k Value)> {
    keywords
        .get(keyword)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// Parses a non-negative integer, such as `3` or `3.0`.
pub(crate) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let text = value.is_number().then(|| value.to_string())?;
        let number = Decimal::parse(&text)?;
        number.is_integer().then(|| number.integer_text())??.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::width;

    #[test]
    fn widths_match_rust_integer_types() {
        macro_rules! check {
            ($($type:ident)*) => {
                $({
                    let width = width(stringify!($type)).unwrap();
                    let (min_text, max_text) = ($type::MIN.to_string(), $type::MAX.to_string());
                    assert_eq!((width.min_text, width.max_text), (min_text.as_str(), max_text.as_str()));
                    for value in [$type::MIN, $type::MAX] {
                        assert!(i128::try_from(value).is_ok_and(|value| width.contains(value)) || stringify!($type) == "u128");
                    }
                    for outside in [i128::try_from($type::MIN).unwrap_or(0).checked_sub(1), i128::try_from($type::MAX).ok().and_then(|max_text| max_text.checked_add(1))] {
                        assert!(outside.is_none_or(|value| !width.contains(value)));
                    }
                })*
            };
        }
        check!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128);
        assert_eq!(width("f32"), None);
    }
}
