//! Serialization and deserialization of the configuration block `format_fixing`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::format_fixing::{EVERY, FormatFixing, TargetTools};

impl<'de> Deserialize<'de> for FormatFixing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FormatFixingVisitor)
    }
}

/// Deserializes the keys. A derive on `FormatFixing` would also accept a list, and would name the Rust type in
/// errors.
#[derive(Deserialize)]
#[serde(
    remote = "FormatFixing",
    default = "FormatFixing::default",
    deny_unknown_fields
)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the independent switches of the block"
)]
struct Keys {
    enabled: bool,
    target_tools: TargetTools,
    strict_validation: bool,
    fallback_on_error: bool,
    debug_logging: bool,
}

struct FormatFixingVisitor;

impl<'de> Visitor<'de> for FormatFixingVisitor {
    type Value = FormatFixing;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "a block with the keys `enabled`, `target_tools`, `strict_validation`, `fallback_on_error` and \
             `debug_logging`",
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<FormatFixing, A::Error> {
        Keys::deserialize(MapAccessDeserializer::new(keys))
    }
}

impl Serialize for TargetTools {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(names) => names.serialize(serializer),
            Self::All => {
                let mut list = serializer.serialize_seq(Some(1))?;
                list.serialize_element(EVERY)?;
                list.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for TargetTools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Names)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = TargetTools;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of tool names, or \"*\" for every tool")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<TargetTools, E> {
        if text == EVERY {
            Ok(TargetTools::All)
        } else {
            Err(E::invalid_value(de::Unexpected::Str(text), &self))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TargetTools, A::Error> {
        let mut names: Vec<String> = Vec::new();
        while let Some(name) = list.next_element::<String>()? {
            if let Some(wrong) = name_error(&name) {
                let place = names.len() + 1;
                return Err(de::Error::custom(format!(
                    "invalid name at position {place} of `target_tools`: {wrong}"
                )));
            }
            names.push(name);
        }
        Ok(TargetTools::named(names))
    }
}

/// Returns the reason why a name is not a valid tool name, and the expected form; `None` for a valid name.
fn name_error(name: &str) -> Option<String> {
    let trimmed = name.trim();
    if trimmed.is_empty() {
        return Some("an empty string; expected a tool name, or \"*\" for every tool".to_owned());
    }
    if trimmed != name {
        return Some(format!(
            "{name:?} has surrounding white space; expected {trimmed:?}"
        ));
    }
    (name.contains(EVERY) && name != EVERY).then(|| {
        format!(
            "{name:?} contains `*`; expected the complete names of the tools, or only \"*\" for every tool"
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: serde_json::Value) -> Result<FormatFixing, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_the_block_from_a_configuration_file() {
        #[derive(Deserialize)]
        struct File {
            format_fixing: FormatFixing,
        }
        let file: File = toml::from_str(
            r#"
            [format_fixing]
            enabled = true
            target_tools = ["TodoWrite"]  # the tools that are repaired
            strict_validation = true
            fallback_on_error = true
            debug_logging = false
            "#,
        )
        .unwrap();
        assert_eq!(file.format_fixing, FormatFixing::default());
        let every: File = toml::from_str("[format_fixing]\ntarget_tools = \"*\"").unwrap();
        assert_eq!(every.format_fixing.target_tools, TargetTools::All);
        let wrong = toml::from_str::<File>("[format_fixing]\ntarget_tools = \"Edit\"")
            .err()
            .unwrap();
        assert!(wrong.to_string().contains("a list of tool names"), "{wrong}");
    }

    #[test]
    fn parses_names_or_every_tool() {
        for every in [json!("*"), json!(["*"]), json!(["Edit", "*"])] {
            let fixing = read(json!({ "target_tools": every })).unwrap();
            assert_eq!(fixing.target_tools, TargetTools::All);
            assert_eq!(
                serde_json::to_value(&fixing).unwrap()["target_tools"],
                json!(["*"])
            );
        }
        let named = read(json!({ "target_tools": ["Edit"] })).unwrap().target_tools;
        assert!(named.contains("Edit") && !named.contains("edit") && !named.contains("TodoWrite"));
        let none = read(json!({ "target_tools": [] })).unwrap().target_tools;
        assert!(!none.contains("TodoWrite"));
    }

    #[test]
    fn rejects_other_forms_with_advice() {
        let wrong = read(json!({ "target_tools": "Edit" })).unwrap_err();
        assert!(wrong.contains("a list of tool names, or \"*\""), "{wrong}");
        let wrong = read(json!({ "targets": ["Edit"] })).unwrap_err();
        assert!(
            wrong.contains("`targets`") && wrong.contains("`target_tools`"),
            "{wrong}"
        );
        assert!(read(json!({ "enabled": "yes" })).is_err());
    }

    #[test]
    fn rejects_invalid_tool_names_with_their_position() {
        for (name, wanted) in [
            (
                "",
                "invalid name at position 2 of `target_tools`: an empty string; expected a tool name, or \"*\" for every tool",
            ),
            (
                " TodoWrite ",
                "invalid name at position 2 of `target_tools`: \" TodoWrite \" has surrounding white space; expected \"TodoWrite\"",
            ),
            (
                "\t",
                "invalid name at position 2 of `target_tools`: an empty string; ",
            ),
            (
                "Todo*",
                "invalid name at position 2 of `target_tools`: \"Todo*\" contains `*`; expected the complete names of the tools, or only \
                 \"*\" for every tool",
            ),
        ] {
            let wrong = read(json!({ "target_tools": ["Edit", name] })).unwrap_err();
            assert!(wrong.starts_with(wanted), "{wrong}");
        }
        let text = "{\n  \"target_tools\": [\"Edit\",\n    \"Todo*\"]}";
        let wrong = serde_json::from_str::<FormatFixing>(text).unwrap_err();
        assert_eq!(wrong.line(), 3, "{wrong}");
    }

    #[test]
    fn rejects_other_values_as_blocks() {
        let wanted = "expected a block with the keys `enabled`, `target_tools`, `strict_validation`, \
                      `fallback_on_error` and `debug_logging`";
        for other in [
            json!(true),
            json!("TodoWrite"),
            json!([]),
            json!([true, ["a"], true, true, false]),
        ] {
            let wrong = read(other.clone()).unwrap_err();
            assert!(wrong.ends_with(wanted), "{other}: {wrong}");
        }
    }
}
