//! [`Object`]: a borrowed JSON object whose values keep their text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Fields of a JSON object in their order, with the texts of their values. All texts are borrowed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        read(text)
    }

    /// Returns the text of a field's value. The last of repeated fields counts, as in most JSON parsers.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let field = self.0.iter().rev().find(|(field, _)| field == name);
        field.map(|(_, value)| value.get())
    }

    /// Returns the value of a string field.
    pub(crate) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Returns the value of a string field, borrowed if the value has no escapes.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        unquoted(self.get(name)?)
    }

    /// Returns whether a field is the string `value`.
    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        let plain = |text: &str| {
            text.strip_prefix('"')?
                .strip_suffix('"')
                .map(|text| text == value)
        };
        let text = self.get(name);
        (!has_escapes(value) && text.and_then(plain) == Some(true))
            || self.string(name).is_some_and(|found| found == value)
    }

    /// Serializes the object. `change` returns the text of a field, or `None` to omit the field. The last of repeated fields is written.
    pub(crate) fn write<'t>(
        &self,
        out: &mut String,
        mut change: impl FnMut(&str, &'a str) -> Option<Change<'t>>,
    ) {
        out.push('{');
        for (name, value) in last_of_each(&self.0) {
            let text = match change(name, value.get()) {
                None => continue,
                Some(Change::Keep) => value.get(),
                Some(Change::To(text)) => text,
            };
            push_name(out, name);
            out.push_str(text);
        }
        out.push('}');
    }
}

/// Returns the fields in their order. Of repeated fields, only the last one is returned, since a replaced value must be written once.
pub(super) fn last_of_each<'f, 'a, V>(
    fields: &'f [(Cow<'a, str>, V)],
) -> impl Iterator<Item = &'f (Cow<'a, str>, V)> {
    let mut names = HashSet::with_capacity(fields.len());
    let from_last = fields.iter().rev();
    let last: Vec<_> = from_last.filter(|(name, _)| names.insert(&**name)).collect();
    last.into_iter().rev()
}

/// Returns the range of a part in its text.
pub(crate) fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// A change of a field.
pub(crate) enum Change<'t> {
    Keep,
    To(&'t str),
}

/// Appends the name of a field to the text of an unclosed object. The caller appends the value.
pub(crate) fn push_name(out: &mut String, name: &str) {
    // No value ends with `{`.
    if !out.ends_with('{') {
        out.push(',');
    }
    push_string(out, name);
    out.push(':');
}

/// Appends a string as JSON.
pub(crate) fn push_string(out: &mut String, text: &str) {
    if !has_escapes(text) {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    match serde_json::to_string(text) {
        Ok(json) => out.push_str(&json),
        Err(_) => out.push_str("\"\""), // a `str` has a form in JSON
    }
}

/// Parses one string without white space around it.
pub(super) fn unquoted(json: &str) -> Option<Cow<'_, str>> {
    let plain = json.strip_prefix('"')?.strip_suffix('"')?;
    if has_escapes(plain) {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(plain))
}

/// Returns whether JSON escapes any character of a string.
pub(crate) fn has_escapes(text: &str) -> bool {
    // No early return, so that the compiler can check many bytes in one step.
    let is_escape = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    text.bytes()
        .fold(0, |found, byte| found | u8::from(is_escape(byte)))
        != 0
}

/// Appends a field to an object's text, before the closing brace. The value is JSON text.
pub(crate) fn with_field(object: &str, name: &str, value: &str) -> String {
    let Some(body) = object.trim_end().strip_suffix('}') else {
        return object.to_owned();
    };
    let mut text = String::with_capacity(object.len() + name.len() + value.len() + 8);
    text.push_str(body.trim_end());
    push_name(&mut text, name);
    text.push_str(value);
    text.push('}');
    text
}

/// Returns the object's text with a field set to a JSON text, at the field's position or at the end.
pub(crate) fn set_field(object: &str, name: &str, value: &str) -> String {
    let fields = Object::parse(object).unwrap_or_default();
    if fields.get(name).is_none() {
        return with_field(object, name, value);
    }
    let mut text = String::with_capacity(object.len() + value.len());
    fields.write(&mut text, |field, _| {
        Some(if field == name {
            Change::To(value)
        } else {
            Change::Keep
        })
    });
    text
}

impl<'a> Fields<'a> for Object<'a> {
    fn read_field<A: MapAccess<'a>>(&mut self, name: Cow<'a, str>, map: &mut A) -> Result<(), A::Error> {
        self.0.push((name, map.next_value()?));
        Ok(())
    }
}

/// A type that is deserialized from an object, field by field.
pub(super) trait Fields<'a>: Default {
    /// Reads the value of the field with this name.
    fn read_field<A: MapAccess<'a>>(&mut self, name: Cow<'a, str>, map: &mut A) -> Result<(), A::Error>;
}

/// Deserializes an object.
pub(super) fn read<'a, T: Fields<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    struct ObjectVisitor<T>(T);
    impl<'de, T: Fields<'de>> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let Self(mut fields) = self;
            while let Some(Name(name)) = map.next_key()? {
                fields.read_field(name, &mut map)?;
            }
            Ok(fields)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = deserializer.deserialize_map(ObjectVisitor(T::default()))?;
    deserializer.end()?;
    Ok(read)
}

/// Name of a field, borrowed if the name has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_text_of_values_and_the_order_of_fields() {
        let text = r#"{"b":1.50,"a":{"x" : 1},"b":2}"#;
        let object = Object::parse(text).unwrap();
        assert_eq!(
            (object.get("a"), object.get("b")),
            (Some(r#"{"x" : 1}"#), Some("2"))
        );
        let mut out = String::new();
        object.write(&mut out, |name, _| match name {
            "a" => Some(Change::To("null")),
            _ => Some(Change::Keep),
        });
        assert_eq!(out, r#"{"a":null,"b":2}"#);
    }

    /// Otherwise a short object with a repeated field would become long.
    #[test]
    fn a_repeated_field_is_changed_once() {
        let text = format!(r#"{{{}"a":1,"b":2}}"#, r#""\u0061":0,"#.repeat(100_000));
        let mut asked = Vec::new();
        let mut out = String::new();
        Object::parse(&text).unwrap().write(&mut out, |name, value| {
            asked.push((name.to_owned(), value));
            Some(Change::To("null"))
        });
        assert_eq!(out, r#"{"a":null,"b":null}"#);
        assert_eq!(asked, [("a".to_owned(), "1"), ("b".to_owned(), "2")]);
    }

    #[test]
    fn strings_are_escaped_as_json() {
        for text in ["", "plain é", "a\"b", "a\\", "\n", "\u{1f}", "\u{7f}"] {
            let mut out = String::new();
            push_string(&mut out, text);
            assert_eq!(out, serde_json::to_string(text).unwrap());
            let json = format!(r#"{{"\u006eame":{out}}}"#);
            let object = Object::parse(&json).unwrap();
            assert!(object.is("name", text) && !object.is("name", "other"), "{json}");
            assert_eq!(object.string("name").as_deref(), Some(text));
        }
        // The text differs from the characters between the quotes.
        assert!(!Object::parse(r#"{"a":"\n"}"#).unwrap().is("a", "\\n"));
    }

    #[test]
    fn appends_a_field() {
        assert_eq!(with_field("{}", "a", "1"), r#"{"a":1}"#);
        assert_eq!(with_field(r#"{"b": 2 } "#, "a", "1"), r#"{"b": 2,"a":1}"#);
    }
}
