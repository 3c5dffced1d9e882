//! The size limits of OpenAI's strict form.
//!
//! Source: <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.

use serde_json::Value;

const PROPERTIES: usize = 5_000;
const LEVELS: usize = 10;
const CHARACTERS: usize = 120_000;
const VALUES: usize = 1_000;
/// Number of strings in an enum above which their total length is limited.
const MANY_VALUES: usize = 250;
/// Maximum total length of the strings in such an enum, in characters.
const CHARACTERS_OF_MANY: usize = 15_000;

/// Checks the size; the error names the exceeded limit.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let mut size = Size::default();
    size.add(schema, 0)?;
    let limits = [
        (size.properties, PROPERTIES, "properties"),
        (size.levels, LEVELS, "levels of nesting"),
        (size.characters, CHARACTERS, "characters in names and values"),
        (size.values, VALUES, "enum values"),
    ];
    match limits.into_iter().find(|(count, limit, _)| count > limit) {
        Some((count, limit, subject)) => Err(format!("there are {count} {subject}; the API takes {limit}")),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Size {
    properties: usize,
    levels: usize,
    characters: usize,
    values: usize,
}

impl Size {
    /// Adds a schema at a level of nested objects. Recursion is safe, since the conversion limits the depth.
    fn add(&mut self, schema: &Value, level: usize) -> Result<(), String> {
        let mut level = level;
        if let Some(Value::Object(properties)) = schema.get("properties") {
            level += 1;
            self.levels = self.levels.max(level);
            self.properties += properties.len();
            for (name, property) in properties {
                self.characters += length(name);
                self.add(property, level)?;
            }
        }
        if let Some(items) = schema.get("items") {
            self.add(items, level)?;
        }
        if let Some(Value::Array(alternatives)) = schema.get("anyOf") {
            for alternative in alternatives {
                self.add(alternative, level)?;
            }
        }
        if let Some(Value::Object(definitions)) = schema.get("$defs") {
            for (name, definition) in definitions {
                self.characters += length(name);
                self.add(definition, 0)?;
            }
        }
        self.characters += schema.get("const").and_then(Value::as_str).map_or(0, length);
        match schema.get("enum") {
            Some(Value::Array(values)) => self.add_values(values),
            _ => Ok(()),
        }
    }

    fn add_values(&mut self, values: &[Value]) -> Result<(), String> {
        let characters = values.iter().filter_map(Value::as_str).map(length).sum::<usize>();
        if values.len() > MANY_VALUES && characters > CHARACTERS_OF_MANY {
            return Err(format!(
                "an enum of more than {MANY_VALUES} values has {characters} characters; \
                 the API takes {CHARACTERS_OF_MANY}"
            ));
        }
        self.values += values.len();
        self.characters += characters;
        Ok(())
    }
}

fn length(text: impl AsRef<str>) -> usize {
    text.as_ref().chars().count()
}
