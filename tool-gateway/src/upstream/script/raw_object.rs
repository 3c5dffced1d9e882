//! Objects whose values keep their text in the script.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Fields of an object in their order. Values keep their original text without line breaks and indentation, since the data of an event is
/// one line.
#[derive(Debug, Clone, Default)]
pub(super) struct RawObject(Vec<(String, String)>);

impl RawObject {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut members = self.members();
        members.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(super) fn push(&mut self, name: &str, value: String) {
        self.0.push((name.to_owned(), value));
    }

    /// Returns the value of a string field. A missing field or another type is an error.
    pub(super) fn string(&self, name: &str) -> Result<String, String> {
        let value = self.get(name).ok_or_else(|| format!("missing field `{name}`"))?;
        serde_json::from_str(value)
            .map_err(|_| format!("invalid `{name}`: expected a string, got {}", Excerpt(value)))
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = RawObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
        let mut object = RawObject::default();
        while let Some(name) = map.next_key::<String>()? {
            let value: Box<RawValue> = map.next_value()?;
            if object.get(&name).is_some() {
                return Err(de::Error::custom(format_args!("duplicate field `{name}`")));
            }
            object.0.push((name, one_line(value.get())));
        }
        Ok(object)
    }
}

/// Joins JSON text to one line. Line breaks in JSON are between tokens, so only white space is trimmed.
pub(super) fn one_line(json: &str) -> String {
    json.split(['\n', '\r']).map(str::trim).collect()
}

/// Beginning of a text, for a message.
pub(super) struct Excerpt<'a>(pub(super) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(200) {
            Some((end, _)) => write!(f, "{}…", self.0.get(..end).unwrap_or_default()),
            None => f.write_str(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_text_in_one_line() {
        let text = "{\"b\": {\"x\" : 1e2,\r\n  \"y\":\t1.0},\n \"a\": 12345678901234567890}";
        let object: RawObject = serde_json::from_str(text).unwrap();
        let members: Vec<_> = object.members().collect();
        let expected = [("b", "{\"x\" : 1e2,\"y\":\t1.0}"), ("a", "12345678901234567890")];
        assert_eq!(members, expected);
    }

    #[test]
    fn rejects_duplicate_fields() {
        let error = serde_json::from_str::<RawObject>(r#"{"a": 1, "a": 2}"#).unwrap_err();
        assert!(
            error.to_string().starts_with("duplicate field `a` at line 1"),
            "{error}"
        );
    }
}
