//! [`Object`]: a borrowed JSON object whose values keep their text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};

use super::walk::{self, Field, has_escapes};

/// A JSON object as text. Each access to a field walks over the text again, so that an object with many fields takes no memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'a>(&'a str);

impl Default for Object<'_> {
    fn default() -> Self {
        Self("{}")
    }
}

impl<'a> Object<'a> {
    /// Checks that a text is an object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = ();

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(())
            }
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.deserialize_map(ObjectVisitor)?;
        deserializer.end()?;
        Ok(Self(text))
    }

    /// Returns the object in a text that is known to be valid JSON; `None` if the text is another value.
    pub(crate) fn from_json(text: &'a str) -> Option<Self> {
        text.trim_ascii_start().starts_with('{').then_some(Self(text))
    }

    /// Returns all fields in order, including repeated ones.
    pub(crate) fn fields(self) -> walk::Fields<'a> {
        walk::fields(self.0)
    }

    /// Returns the text of a field's value. The value of a repeated field is its last value, as in most JSON parsers.
    pub(crate) fn get(self, name: &str) -> Option<&'a str> {
        let [value] = self.get_all([name]);
        value
    }

    /// Returns the texts of several fields' values, with one walk over the object.
    pub(crate) fn get_all<const N: usize>(self, names: [&str; N]) -> [Option<&'a str>; N] {
        let mut values = [None; N];
        for field in self.fields() {
            if let Some(index) = names.iter().position(|name| field.is(name))
                && let Some(value) = values.get_mut(index)
            {
                *value = Some(field.value);
            }
        }
        values
    }

    /// Returns the value of a field that is a string.
    pub(crate) fn string(self, name: &str) -> Option<String> {
        self.text(name).map(Cow::into_owned)
    }

    /// Returns the value of a field that is a string. A string without escapes is not copied.
    pub(crate) fn text(self, name: &str) -> Option<Cow<'a, str>> {
        walk::string(self.get(name)?)
    }

    /// Returns whether a field is the string `value`.
    pub(crate) fn is(self, name: &str, value: &str) -> bool {
        self.text(name).is_some_and(|text| text == value)
    }

    /// Returns the fields in their order, each with its last value, so that a replaced value is written once.
    pub(crate) fn last_of_each(self) -> impl Iterator<Item = Field<'a>> {
        let few = self.few_fields().map(|fields| {
            // Without escapes, which are rare, only equal texts are equal names.
            let has_escapes = fields.iter().any(|field| field.quoted_name().contains('\\'));
            let is_equal = move |field: &Field<'_>, other: &Field<'_>| {
                field.quoted_name() == other.quoted_name() || has_escapes && field.has_name_of(other)
            };
            (0..fields.len()).filter_map(move |index| {
                let (field, later) = fields.get(index..)?.split_first()?;
                let is_last = !later.iter().any(|later| is_equal(later, field));
                is_last.then_some(*field)
            })
        });
        let many = few.is_none().then(|| {
            let mut replaced = self.replaced().into_iter().peekable();
            self.fields()
                .filter(move |field| replaced.next_if_eq(&self.offset(field)).is_none())
        });
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }

    /// Returns the fields of a short text with few fields, for which a list costs less than another walk over the text.
    fn few_fields(self) -> Option<Vec<Field<'a>>> {
        const FEW: usize = 16;
        let mut fields = Vec::with_capacity(FEW + 1);
        fields.extend(self.fields().take(FEW + 1));
        (fields.len() <= FEW).then_some(fields)
    }

    /// Returns the offsets of the fields, sorted by name. Repeated fields keep their order.
    fn sorted(self) -> Vec<u32> {
        let mut offsets = Vec::with_capacity(self.capacity());
        offsets.extend(self.fields().map(|field| self.offset(&field)));
        let order = |left: u32, right: u32| self.cmp_names(left, right);
        offsets.sort_unstable_by(|left, right| {
            let order = order(*left, *right).unwrap_or(Ordering::Equal);
            order.then_with(|| left.cmp(right))
        });
        offsets
    }

    /// Returns the fields in the order of RFC 8785, each with its last value.
    pub(crate) fn sorted_fields(self) -> impl Iterator<Item = Field<'a>> {
        let few = self.few_fields().map(|mut fields| {
            // The sort is stable, so the last value of a repeated field is the last of its name.
            fields.sort_by(Field::cmp_name);
            fields
        });
        let many = few.is_none().then(|| {
            self.sorted()
                .into_iter()
                .filter_map(move |offset| self.at(offset))
        });
        let mut sorted = few
            .into_iter()
            .flatten()
            .chain(many.into_iter().flatten())
            .peekable();
        std::iter::from_fn(move || {
            loop {
                let field = sorted.next()?;
                let is_replaced = |next: &Field<'a>| next.has_name_of(&field);
                if !sorted.peek().is_some_and(is_replaced) {
                    return Some(field);
                }
            }
        })
    }

    /// Returns the capacity for a list of the fields. The fields of a large object are counted first, since a growing list takes up to
    /// three times its size.
    pub(super) fn capacity(self) -> usize {
        if self.0.len() > walk::LARGE {
            self.fields().count()
        } else {
            8
        }
    }

    /// Compares the names at two offsets.
    fn cmp_names(self, left: u32, right: u32) -> Option<Ordering> {
        let name = |offset: u32| Field::name_at(self.0, usize::try_from(offset).ok()?);
        Some(name(left)?.cmp_name(&name(right)?))
    }

    /// Returns the field at an offset.
    fn at(self, offset: u32) -> Option<Field<'a>> {
        Field::at(self.0, usize::try_from(offset).ok()?)
    }

    /// Returns the offset of a field. Texts are shorter than 4 GiB.
    fn offset(self, field: &Field<'_>) -> u32 {
        u32::try_from(place(self.0, field.quoted_name()).start).unwrap_or(u32::MAX)
    }

    /// Returns the offsets of the fields that a later field of the same name replaces, in their order.
    fn replaced(self) -> Vec<u32> {
        let sorted = self.sorted();
        let is_equal = |left: u32, right: u32| Some(self.cmp_names(left, right)?.is_eq());
        let pairs = sorted.iter().zip(sorted.iter().skip(1));
        let mut replaced: Vec<_> = pairs
            .filter(|(field, next)| is_equal(**field, **next) == Some(true))
            .map(|(field, _)| *field)
            .collect();
        replaced.sort_unstable();
        replaced
    }

    /// Serializes the object. `change` returns the change of a field. A repeated field is written once, with its last value.
    pub(crate) fn write<'t>(
        self,
        out: &mut String,
        mut change: impl FnMut(&str, &'a str) -> Option<Change<'t>>,
    ) {
        out.push('{');
        for field in self.last_of_each() {
            let text = match change(&field.name(), field.value) {
                None => continue,
                Some(Change::Keep) => field.value,
                Some(Change::To(text)) => text,
            };
            push_quoted_name(out, field.quoted_name());
            out.push_str(text);
        }
        out.push('}');
    }
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
    push_field_separator(out);
    push_string(out, name);
    out.push(':');
}

/// Appends the name of a field, a JSON string, to the text of an unclosed object. The caller appends the value.
pub(crate) fn push_quoted_name(out: &mut String, name: &str) {
    push_field_separator(out);
    out.push_str(name);
    out.push(':');
}

fn push_field_separator(out: &mut String) {
    // No value ends with `{`, so the object has no field yet.
    if !out.ends_with('{') {
        out.push(',');
    }
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
        Err(_) => out.push_str("\"\""), // serializing a `str` never fails
    }
}

/// Returns the object's text with a field before its closing brace. `value` is a JSON text.
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

    /// If each repetition were replaced, a short object could become long.
    #[test]
    fn changes_a_repeated_field_once() {
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
        // The characters between the quotes differ from the decoded string.
        assert!(!Object::parse(r#"{"a":"\n"}"#).unwrap().is("a", "\\n"));
    }

    #[test]
    fn appends_a_field() {
        assert_eq!(with_field("{}", "a", "1"), r#"{"a":1}"#);
        assert_eq!(with_field(r#"{"b": 2 } "#, "a", "1"), r#"{"b": 2,"a":1}"#);
    }
}
