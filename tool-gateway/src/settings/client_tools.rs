//! The section `client_tools`: coercion of the arguments of calls of the client's tools.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Deserializer;
use tool_runtime::Policy;

use super::{units, values};
use crate::turn::client_calls::ClientCallRules;

/// The section in the file.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ClientToolTable {
    #[serde(deserialize_with = "values::name")]
    coercion: CoercionName,
    #[serde(deserialize_with = "units::count_from_zero")]
    broken_calls: usize,
    eager_streaming: bool,
    tools: BTreeMap<String, ToolCoercion>,
}

impl Default for ClientToolTable {
    fn default() -> Self {
        Self {
            coercion: CoercionName::default(),
            broken_calls: ClientCallRules::default().broken_calls,
            eager_streaming: ClientCallRules::default().eager_streaming,
            tools: BTreeMap::new(),
        }
    }
}

/// Coercion of a single tool.
#[derive(Deserialize)]
#[serde(transparent)]
struct ToolCoercion(#[serde(deserialize_with = "values::name")] CoercionName);

/// Names of policies in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CoercionName {
    #[default]
    Lossless,
    Off,
    Lenient,
}

impl From<CoercionName> for Policy {
    fn from(name: CoercionName) -> Self {
        match name {
            CoercionName::Lossless => Self::Lossless,
            CoercionName::Off => Self::Strict,
            CoercionName::Lenient => Self::Lenient,
        }
    }
}

impl From<ClientToolTable> for ClientCallRules {
    fn from(table: ClientToolTable) -> Self {
        Self {
            coercion: table.coercion.into(),
            tools: table
                .tools
                .into_iter()
                .map(|(tool, ToolCoercion(coercion))| (tool, coercion.into()))
                .collect(),
            broken_calls: table.broken_calls,
            eager_streaming: table.eager_streaming,
            ..Self::default()
        }
    }
}

/// Reads the section.
pub(crate) fn rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ClientCallRules, D::Error> {
    values::table::<ClientToolTable, D>(deserializer).map(ClientCallRules::from)
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::super::file::read;
    use super::*;

    #[test]
    fn sets_the_coercion_of_all_tools_and_of_single_tools() {
        let text = "[client_tools]\ncoercion = \"lenient\"\nbroken_calls = 0\neager_streaming = false\ntools = { Edit = \"off\" }";
        let file = read::<Settings>(text);
        assert!(file.mistakes.is_empty(), "{:?}", file.mistakes);
        let expected = ClientCallRules {
            coercion: Policy::Lenient,
            tools: [("Edit".to_owned(), Policy::Strict)].into(),
            broken_calls: 0,
            eager_streaming: false,
            ..ClientCallRules::default()
        };
        assert_eq!(file.settings.client_tools, expected);
    }
}
