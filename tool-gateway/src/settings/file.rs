//! Reads a configuration file, and collects all of its mistakes.

use std::ops::Range;

use serde::Deserialize;
use toml::de::{DeArray, DeTable, DeValue, Deserializer, Error};

use super::mistakes::{Lines, Mistake};
use super::unknown_tool;

/// A configuration file that was read.
#[derive(Debug)]
pub(crate) struct ReadFile<T> {
    /// Settings. A key with a mistake has its default value.
    pub(crate) settings: T,
    pub(crate) lines: Lines,
    pub(crate) mistakes: Vec<Mistake>,
}

/// Reads the text of a file. serde stops at the first mistake, so the key with the mistake is removed, and the rest is read again.
pub(crate) fn read<T: Default + for<'de> Deserialize<'de>>(text: &str) -> ReadFile<T> {
    let (mut root, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader {
        text,
        removed: Vec::new(),
        mistakes: Vec::new(),
    };
    for error in &errors {
        reader.add_syntax_error(error);
    }
    let settings = loop {
        let error = match T::deserialize(Deserializer::from(root.clone())) {
            Ok(settings) => break settings,
            Err(error) => error,
        };
        if !reader.remove(root.get_mut(), &error) {
            break T::default();
        }
    };
    let mut lines = Lines::new();
    reader.collect_lines(root.get_ref(), &mut Vec::new(), &mut lines);
    let Reader { mut mistakes, .. } = reader;
    // The parser misreads a line with invalid TOML, so other mistakes on that line are not reported.
    let broken: Vec<_> = mistakes
        .iter()
        .filter(|mistake| mistake.key.is_empty())
        .map(|mistake| mistake.line)
        .collect();
    mistakes.retain(|mistake| mistake.key.is_empty() || !broken.contains(&mistake.line));
    ReadFile {
        settings,
        lines,
        mistakes,
    }
}

struct Reader<'t> {
    text: &'t str,
    /// Keys that were removed because of a mistake, and known keys that are similar to removed unknown keys.
    removed: Vec<Vec<String>>,
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    fn add_syntax_error(&mut self, error: &Error) {
        let line = error.span().map_or(1, |span| self.line(span.start));
        let key = error.span().and_then(|span| self.text.get(span));
        let message = match (error.message(), key) {
            (message @ "duplicate key", Some(key)) => format!("invalid TOML: {message} `{key}`"),
            (message, _) => format!("invalid TOML: {message}"),
        };
        self.mistakes.push(Mistake {
            line: Some(line),
            key: Vec::new(),
            message,
        });
    }

    /// Removes the key with the error, and records the mistake. Returns `false` if there is no such key.
    fn remove(&mut self, root: &mut DeTable<'_>, error: &Error) -> bool {
        let Some(span) = error.span() else {
            self.mistakes.push(Mistake {
                line: None,
                key: Vec::new(),
                message: error.message().to_owned(),
            });
            return false;
        };
        let mut key = Vec::new();
        let is_removed = remove_at(root, &span, &mut key);
        let names = |key: &[String]| {
            let names = key.iter().filter(|part| part.parse::<usize>().is_err());
            names.cloned().collect::<Vec<_>>().join(".")
        };
        let mut advice = String::new();
        let text = match SerdeMessage::parse(error.message()) {
            SerdeMessage::MissingField(field) => {
                let mut missing = key.clone();
                missing.push(field.to_owned());
                if self.removed.contains(&missing) {
                    // The mistake in the key's value or spelling is already recorded.
                    self.removed.retain(|removed| !removed.starts_with(&key));
                    return is_removed;
                }
                format!("missing key `{field}`")
            }
            SerdeMessage::UnknownField { field, expected } => {
                if let Some(nearest) = unknown_tool::nearest(field, quoted(expected)) {
                    advice = format!("; did you mean `{nearest}`?");
                    if let Some((_, table)) = key.split_last() {
                        let mut meant = table.to_vec();
                        meant.push(nearest.to_owned());
                        self.removed.push(meant);
                    }
                }
                format!("unknown key; {expected}")
            }
            SerdeMessage::UnknownVariant { value, expected } => {
                if let Some(nearest) = unknown_tool::nearest(value, quoted(expected)) {
                    advice = format!("; did you mean `{nearest}`?");
                }
                format!("invalid value {value:?}; {expected}")
            }
            SerdeMessage::Invalid { found, expected } => {
                if found == "a table" && expected == "a sequence" {
                    advice = format!(": write [[{}]]", names(&key));
                }
                format!("invalid value {found}; expected {}", in_words_of_toml(expected))
            }
            SerdeMessage::Other(message) => in_words_of_toml(message),
        };
        let mistake = Mistake {
            line: Some(self.line(span.start)),
            message: format!("{}: {text}{advice}", names(&key)),
            key: key.clone(),
        };
        self.removed.retain(|removed| !removed.starts_with(&key));
        self.removed.push(key);
        // A list in place of a table is removed item by item, and the mistake is recorded once.
        let is_known = |known: &Mistake| (known.line, &known.message) == (mistake.line, &mistake.message);
        if !self.mistakes.iter().any(is_known) {
            self.mistakes.push(mistake);
        }
        is_removed
    }

    /// Returns the line of a byte, from 1.
    fn line(&self, at: usize) -> usize {
        1 + self.text.get(..at).unwrap_or_default().matches('\n').count()
    }

    fn collect_lines(&self, table: &DeTable<'_>, above: &mut Vec<String>, lines: &mut Lines) {
        for (name, value) in table {
            above.push(name.get_ref().to_string());
            lines.insert(above.clone(), self.line(name.span().start));
            self.collect_lines_of_value(value.get_ref(), above, lines);
            above.pop();
        }
    }

    fn collect_lines_of_value(&self, value: &DeValue<'_>, above: &mut Vec<String>, lines: &mut Lines) {
        match value {
            DeValue::Table(table) => self.collect_lines(table, above, lines),
            DeValue::Array(list) => {
                for (index, item) in list.iter().enumerate() {
                    let part = match item.get_ref() {
                        DeValue::String(text) => text.to_string(),
                        _ => index.to_string(),
                    };
                    above.push(part);
                    lines.insert(above.clone(), self.line(item.span().start));
                    self.collect_lines_of_value(item.get_ref(), above, lines);
                    above.pop();
                }
            }
            _ => {}
        }
    }
}

/// Removes the innermost key or list item at a span. Appends its path to `key`.
fn remove_at(table: &mut DeTable<'_>, span: &Range<usize>, key: &mut Vec<String>) -> bool {
    let mut found = None;
    for (name, value) in table.iter_mut() {
        key.push(name.get_ref().to_string());
        if remove_in(value.get_mut(), span, key) {
            return true;
        }
        if name.span() == *span || value.span() == *span {
            found = Some(name.clone());
            break;
        }
        key.pop();
    }
    found.is_some_and(|name| table.remove(&name).is_some())
}

fn remove_in(value: &mut DeValue<'_>, span: &Range<usize>, key: &mut Vec<String>) -> bool {
    match value {
        DeValue::Table(table) => remove_at(table, span, key),
        DeValue::Array(list) => {
            for index in 0..list.len() {
                let Some(item) = list.get_mut(index) else { break };
                key.push(index.to_string());
                if remove_in(item.get_mut(), span, key) {
                    return true;
                }
                if item.span() == *span {
                    *list = without(list, index);
                    return true;
                }
                key.pop();
            }
            false
        }
        _ => false,
    }
}

fn without<'i>(list: &DeArray<'i>, index: usize) -> DeArray<'i> {
    let others = list.iter().enumerate().filter(|(at, _)| *at != index);
    others.map(|(_, item)| item.clone()).collect()
}

/// The parts of a message of serde.
enum SerdeMessage<'m> {
    MissingField(&'m str),
    UnknownField { field: &'m str, expected: &'m str },
    UnknownVariant { value: &'m str, expected: &'m str },
    Invalid { found: String, expected: &'m str },
    Other(&'m str),
}

impl<'m> SerdeMessage<'m> {
    fn parse(message: &'m str) -> Self {
        let name = |prefix: &str| message.strip_prefix(prefix)?.strip_prefix('`')?.split_once('`');
        if let Some((field, _)) = name("missing field ") {
            return Self::MissingField(field);
        }
        if let Some((field, rest)) = name("unknown field ") {
            let expected = rest.trim_start_matches(", ");
            return Self::UnknownField { field, expected };
        }
        if let Some((value, rest)) = name("unknown variant ") {
            let expected = rest.trim_start_matches(", ");
            return Self::UnknownVariant { value, expected };
        }
        let invalid = message
            .strip_prefix("invalid type: ")
            .or_else(|| message.strip_prefix("invalid value: "));
        match invalid.and_then(|rest| rest.rsplit_once(", expected ")) {
            Some((found, expected)) => Self::Invalid {
                found: Self::found(found),
                expected,
            },
            None => Self::Other(message),
        }
    }

    /// Returns the value that serde describes, in the notation of TOML.
    fn found(description: &str) -> String {
        let numbers = ["integer `", "floating point `", "boolean `"];
        let number = numbers.iter().find_map(|kind| description.strip_prefix(kind));
        match (number, description) {
            (Some(number), _) => number.trim_end_matches('`').to_owned(),
            (None, "map") => "a table".to_owned(),
            (None, "sequence") => "a list".to_owned(),
            (None, _) => description.trim_start_matches("string ").to_owned(),
        }
    }
}

/// Returns the names in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns an expectation of serde in the terms of TOML.
fn in_words_of_toml(expected: &str) -> String {
    match expected {
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        "a boolean" => "true or false".to_owned(),
        other => other.replace("a block with", "a table with"),
    }
}

#[cfg(test)]
mod tests;
