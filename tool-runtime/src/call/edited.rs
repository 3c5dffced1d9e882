//! [`EditedArguments`]: arguments that a permission decision changed, and the note for the model.

use std::fmt::Write as _;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Deserializer, Map, Value};

use crate::call::request::ToolCallRequest;
use crate::wire::issue::escape_and_truncate;

/// Arguments of a call after a permission decision changed them.
#[derive(Debug)]
pub(crate) struct EditedArguments {
    /// JSON text. Numbers in unchanged arguments keep their spelling, such as `1.50`. A [`Value`] would lose the spelling.
    pub(crate) text: String,
    /// List of the changes, as a note for the model.
    pub(crate) note: String,
}

impl EditedArguments {
    /// Compares the edited arguments with the request; `None` if they are equal.
    pub(crate) fn new(request: &ToolCallRequest, edited: &Map<String, Value>) -> Option<Self> {
        let is_unchanged = |name: &String, value: &Value| request.arguments.get(name) == Some(value);
        let replaced = edited
            .iter()
            .filter(|(name, value)| !is_unchanged(name, value))
            .map(|(name, value)| format!("`{}` is {}", shown(name), shown(&value.to_string())));
        let removed = request
            .arguments
            .keys()
            .filter(|name| !edited.contains_key(*name));
        let removed = removed.map(|name| format!("`{}` is left out", shown(name)));
        let changes: Vec<String> = replaced.chain(removed).collect();
        if changes.is_empty() {
            return None;
        }
        let sent = members(&request.arguments_json).unwrap_or_default();
        let mut text = String::from("{");
        for (name, value) in edited {
            let sent = sent.iter().find(|(sent, _)| sent == name);
            let comma = if text.len() > 1 { "," } else { "" };
            let key = Value::from(name.as_str());
            // Writing to a `String` cannot fail.
            let _ = match sent.filter(|_| is_unchanged(name, value)) {
                Some((_, sent)) => write!(text, "{comma}{key}:{sent}"),
                None => write!(text, "{comma}{key}:{value}"),
            };
        }
        text.push('}');
        let note = format!(
            "The arguments of this call were changed when it was approved: {}.",
            changes.join(", ")
        );
        Some(Self { text, note })
    }
}

/// Truncates a name or a value for the note.
fn shown(text: &str) -> String {
    escape_and_truncate(text, MAX_SHOWN).into_owned()
}

/// Maximum length in characters of a name or a value in the note. A value may be a whole file, so the note has only its
/// beginning.
const MAX_SHOWN: usize = 500;

/// Splits the compact JSON text of an object into its members, each a name and the text of its value.
fn members(json: &str) -> Option<Vec<(String, &str)>> {
    let mut members = Vec::new();
    let mut rest = json.strip_prefix('{')?;
    while rest != "}" {
        let (name, end) = first::<String>(rest)?;
        rest = rest.get(end..)?.strip_prefix(':')?;
        let (IgnoredAny, end) = first(rest)?;
        members.push((name, rest.get(..end)?));
        rest = rest.get(end..)?;
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    Some(members)
}

/// Parses the first value of a text, and returns it with its end.
fn first<T: DeserializeOwned>(text: &str) -> Option<(T, usize)> {
    let mut values = Deserializer::from_str(text).into_iter();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

#[cfg(test)]
mod tests {
    use super::members;

    #[test]
    fn members_have_the_text_of_their_values() {
        assert_eq!(members("{}"), Some(Vec::new()));
        let json = r#"{"a":1.50,"\"b":{"c":[1,"}"]},"d":"x,\"y","e":12345678901234567890123,"f":null}"#;
        let expected = [
            ("a", "1.50"),
            ("\"b", r#"{"c":[1,"}"]}"#),
            ("d", r#""x,\"y""#),
            ("e", "12345678901234567890123"),
            ("f", "null"),
        ];
        let found = members(json).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(members("[]"), None);
        assert_eq!(members(r#"{"a""#), None);
    }
}
