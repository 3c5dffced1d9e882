//! The section `text_calls`: recovery of calls that arrive as text.

use std::fmt;

use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, de};
use tool_runtime::repair::calls::{Format, Formats};

use super::{units, values};
use crate::upstream::TextCallRules;
use crate::upstream::text_calls::rules::TextThoughts;

/// The section in the file.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TextCallTable {
    #[serde(deserialize_with = "formats")]
    formats: Formats,
    models: Vec<String>,
    #[serde(deserialize_with = "values::name")]
    thoughts: ThoughtsName,
    #[serde(deserialize_with = "units::count")]
    max_kb: usize,
}

impl Default for TextCallTable {
    fn default() -> Self {
        let rules = TextCallRules::default();
        Self {
            formats: rules.formats,
            models: rules.models,
            thoughts: ThoughtsName::default(),
            max_kb: rules.max_held >> 10,
        }
    }
}

/// Names of the treatments of thoughts in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ThoughtsName {
    #[default]
    Keep,
    Split,
}

impl From<TextCallTable> for TextCallRules {
    fn from(table: TextCallTable) -> Self {
        Self {
            formats: table.formats,
            models: table.models,
            thoughts: match table.thoughts {
                ThoughtsName::Keep => TextThoughts::Keep,
                ThoughtsName::Split => TextThoughts::Split,
            },
            max_held: table.max_kb.saturating_mul(1 << 10),
        }
    }
}

/// Reads the section.
pub(crate) fn rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TextCallRules, D::Error> {
    values::table::<TextCallTable, D>(deserializer).map(TextCallRules::from)
}

/// Parses the name of a format.
pub(crate) fn parse_format(name: &str) -> Result<Format, String> {
    name.parse()
        .map_err(|_| format!("unknown format `{name}`; expected one of `tags`, `json`, `python`"))
}

/// Reads a list of formats.
fn formats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Formats, D::Error> {
    struct FormatList;

    impl<'de> Visitor<'de> for FormatList {
        type Value = Formats;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(r#"a list of formats, such as ["tags", "json"]"#)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Formats, A::Error> {
            let mut formats = Vec::new();
            while let Some(name) = names.next_element::<String>()? {
                formats.push(parse_format(&name).map_err(de::Error::custom)?);
            }
            Ok(formats.into_iter().collect())
        }
    }

    deserializer.deserialize_seq(FormatList)
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::super::file::read;
    use super::*;

    #[test]
    fn every_key_is_read() {
        let text = "[text_calls]\nformats = [\"tags\", \"json\"]\nmodels = [\"qwen*\"]\nthoughts = \"split\"\nmax_kb = 64";
        let file = read::<Settings>(text);
        assert!(file.mistakes.is_empty(), "{:?}", file.mistakes);
        let expected = TextCallRules {
            formats: [Format::Tags, Format::Json].into_iter().collect(),
            models: vec!["qwen*".to_owned()],
            thoughts: TextThoughts::Split,
            max_held: 64 << 10,
        };
        assert_eq!(file.settings.text_calls, expected);
        assert!(!Settings::default().text_calls.is_on());
    }

    #[test]
    fn rejects_unknown_formats() {
        let file = read::<Settings>("[text_calls]\nformats = [\"xml\"]");
        let mistakes = format!("{:?}", file.mistakes);
        assert!(
            mistakes.contains("unknown format `xml`; expected one of `tags`, `json`, `python`"),
            "{mistakes}"
        );
    }
}
