//! Owned JSON objects whose values keep their text: [`ObjectText`] cannot be changed, [`RawFields`] can.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{Deserializer, Error as _};
use serde::ser::{Error as _, SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::object::{Object, push_name};

/// The text of a JSON object. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectText(Arc<str>);

impl ObjectText {
    /// Creates an object from a JSON text. Returns `None` if the text is another value.
    pub(crate) fn new(text: &str) -> Option<Self> {
        Object::parse(text).is_ok().then(|| Self(text.into()))
    }

    /// Creates an object from a text that is known to be JSON. Returns `None` if the text is another value.
    pub(super) fn from_json(text: &str) -> Option<Self> {
        text.starts_with('{').then(|| Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn object(&self) -> Object<'_> {
        Object::from_json(&self.0).unwrap_or_default()
    }
}

impl Serialize for ObjectText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ObjectText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(raw.get()).ok_or_else(|| D::Error::custom("expected an object"))
    }
}

/// Fields of a JSON object in their order, with the texts of their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RawFields(IndexMap<String, String>);

impl RawFields {
    /// Returns the text of a field's value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the text of a field's value for a change. A missing field is added with an empty text, which the caller must replace.
    pub(super) fn value(&mut self, name: &str) -> &mut String {
        self.0.entry(name.to_owned()).or_default()
    }

    /// Sets a field to a JSON text, at the field's position or at the end.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Removes a field. Returns the text of its value.
    pub(crate) fn remove(&mut self, name: &str) -> Option<String> {
        self.0.shift_remove(name)
    }

    /// Sets all fields of another object.
    pub(crate) fn extend(&mut self, fields: Self) {
        self.0.extend(fields.0);
    }

    /// Sets the fields of a later object, except nulls.
    pub(crate) fn merge(&mut self, later: Self) {
        for (name, value) in later.0 {
            if value == "null" {
                self.0.entry(name).or_insert(value);
            } else {
                self.0.insert(name, value);
            }
        }
    }

    /// Returns the size of the fields in bytes.
    pub(crate) fn size(&self) -> usize {
        let sizes = self.0.iter().map(|(name, value)| name.len() + value.len());
        sizes.sum()
    }

    /// Appends the fields to the text of an unclosed object.
    pub(crate) fn write(&self, out: &mut String) {
        for (name, value) in &self.0 {
            push_name(out, name);
            out.push_str(value);
        }
    }

    /// Returns the object with these fields as JSON text.
    pub(crate) fn to_json(&self) -> String {
        let mut text = String::with_capacity(self.size() + 4 * self.0.len() + 2);
        text.push('{');
        self.write(&mut text);
        text.push('}');
        text
    }

    /// Converts the fields to an immutable object.
    pub(crate) fn into_object(self) -> ObjectText {
        ObjectText(self.to_json().into())
    }
}

impl From<Object<'_>> for RawFields {
    /// Converts an object. The value of a repeated field is its last value.
    fn from(object: Object<'_>) -> Self {
        let fields = object.fields();
        Self(
            fields
                .map(|field| (field.name().into_owned(), field.value.to_owned()))
                .collect(),
        )
    }
}

impl Serialize for RawFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            let value: &RawValue = serde_json::from_str(value).map_err(S::Error::custom)?;
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = ObjectText::deserialize(deserializer)?;
        Ok(text.object().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_text_in_a_store() {
        let text = r#"{"b":{"x" : 1.50},"a":1e999,"c":"\ud800"}"#;
        let object = ObjectText::new(text).unwrap();
        let fields = RawFields::from(object.object());
        assert_eq!(fields.to_json(), text);
        assert_eq!(serde_json::to_string(&object).unwrap(), text);
        assert_eq!(serde_json::to_string(&fields).unwrap(), text);
        assert_eq!(serde_json::from_str::<ObjectText>(text).unwrap(), object);
        assert_eq!(serde_json::from_str::<RawFields>(text).unwrap(), fields);
        for other in ["[]", "null", "{", ""] {
            assert!(ObjectText::new(other).is_none() && serde_json::from_str::<ObjectText>(other).is_err());
        }
    }

    #[test]
    fn null_replaces_no_value_in_a_merge() {
        let fields = |text| RawFields::from(Object::parse(text).unwrap());
        let mut merged = fields(r#"{"a":1,"b":null}"#);
        merged.merge(fields(r#"{"a":null,"b":2.50,"c":null}"#));
        assert_eq!(merged.to_json(), r#"{"a":1,"b":2.50,"c":null}"#);
    }

    #[test]
    fn fields_are_set_in_their_place() {
        let mut fields = RawFields::from(Object::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap());
        assert_eq!((fields.get("a"), fields.get("c")), (Some("3"), None));
        fields.set("b", "4");
        fields.set("c", "5");
        assert_eq!(fields.to_json(), r#"{"a":3,"b":4,"c":5}"#);
        assert_eq!(
            (fields.remove("b"), fields.remove("b")),
            (Some("4".to_owned()), None)
        );
    }
}
