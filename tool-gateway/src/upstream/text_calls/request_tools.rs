//! [`RequestTools`]: the tools that a request declares.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::OnceLock;

use tool_runtime::DeclaredTools;
use tool_runtime::repair::calls::{Declared, ParameterKind};

use crate::wire::object::Object;
use crate::wire::walk;

/// Tools that a request declares. A schema is parsed when a call has text for one of its parameters.
#[derive(Debug, Default)]
pub(crate) struct RequestTools {
    tools: BTreeMap<String, TextCallTool>,
}

#[derive(Debug)]
struct TextCallTool {
    /// Schema as JSON; `None` for a tool of the API, whose schema is not in the request.
    schema: Option<Box<str>>,
    declared: OnceLock<DeclaredTools>,
}

impl TextCallTool {
    fn new(schema: Option<&str>) -> Self {
        Self {
            schema: schema.map(Box::from),
            declared: OnceLock::new(),
        }
    }
}

/// Beginnings of the types of the API's tools that clients run.
const CLIENT_TYPES: [&str; 4] = ["bash_", "text_editor_", "memory_", "computer_"];

/// Parameters of these tools that are texts.
const TEXTS: [&str; 8] = [
    "command",
    "path",
    "file_text",
    "old_str",
    "new_str",
    "insert_text",
    "old_path",
    "new_path",
];

impl RequestTools {
    /// Reads the list of tools of the Messages API, without the tools that the API runs.
    pub(super) fn from_messages(tools: &str) -> Self {
        let tools = walk::items(tools).filter_map(|tool| {
            let tool = Object::from_json(tool)?;
            let kind = tool.text("type");
            let kind = kind.as_deref().filter(|kind| *kind != "custom");
            let is_run_by_api =
                kind.is_some_and(|kind| !CLIENT_TYPES.iter().any(|prefix| kind.starts_with(prefix)));
            let schema = kind.is_none().then(|| tool.get("input_schema").unwrap_or("{}"));
            (!is_run_by_api).then_some(())?;
            Some((tool.string("name")?, TextCallTool::new(schema)))
        });
        Self {
            tools: tools.collect(),
        }
    }

    /// Reads the list of tools of Chat Completions.
    pub(super) fn from_chat(tools: &str) -> Self {
        let tools = walk::items(tools).filter_map(|tool| {
            let function = Object::from_json(Object::from_json(tool)?.get("function")?)?;
            let schema = function.get("parameters").unwrap_or("{}");
            Some((function.string("name")?, TextCallTool::new(Some(schema))))
        });
        Self {
            tools: tools.collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl Declared for RequestTools {
    fn is_declared(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    fn begins_name(&self, start: &str) -> bool {
        // Names that begin with `start` are adjacent, and the first is not before `start` itself.
        let mut names = self
            .tools
            .range::<str, _>((Bound::Included(start), Bound::Unbounded));
        names.next().is_some_and(|(name, _)| name.starts_with(start))
    }

    fn parameter(&self, tool: &str, parameter: &str) -> ParameterKind {
        let Some((name, request_tool)) = self.tools.get_key_value(tool) else {
            return ParameterKind::Other;
        };
        let Some(schema) = &request_tool.schema else {
            let is_text = TEXTS.contains(&parameter);
            return if is_text {
                ParameterKind::Text
            } else {
                ParameterKind::Other
            };
        };
        let declared = request_tool.declared.get_or_init(|| {
            let schema = serde_json::from_str(schema).unwrap_or_default();
            [(name.as_str(), schema)].into_iter().collect()
        });
        declared.parameter(tool, parameter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_the_messages_api_are_read() {
        let tools = RequestTools::from_messages(
            r#"[{"name":"Read","input_schema":{"type":"object","properties":{"path":{"type":"string"},"tags":{"type":"array"}}}},
            {"type":"custom","name":"Any"},{"type":"bash_20250124","name":"bash"},
            {"type":"web_search_20250305","name":"web_search"}]"#,
        );
        for (name, is_declared) in [
            ("Read", true),
            ("Any", true),
            ("bash", true),
            ("web_search", false),
            ("read", false),
        ] {
            assert_eq!(tools.is_declared(name), is_declared, "{name}");
        }
        assert!(tools.begins_name("Re") && !tools.begins_name("web"));
        for (tool, parameter, kind) in [
            ("Read", "path", ParameterKind::Text),
            ("Read", "tags", ParameterKind::Container),
            ("Read", "other", ParameterKind::Other),
            ("Any", "path", ParameterKind::Other),
            ("bash", "command", ParameterKind::Text),
            ("bash", "restart", ParameterKind::Other),
            ("None", "path", ParameterKind::Other),
        ] {
            assert_eq!(tools.parameter(tool, parameter), kind, "{tool} {parameter}");
        }
    }

    #[test]
    fn tools_of_chat_completions_are_read() {
        let tools = RequestTools::from_chat(
            r#"[{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"type":"string"}}}}},
            {"type":"function","function":{"name":"g"}},{"type":"custom","custom":{"name":"h"}}]"#,
        );
        assert!(tools.is_declared("f") && tools.is_declared("g") && !tools.is_declared("h"));
        assert_eq!(tools.parameter("f", "a"), ParameterKind::Text);
        assert_eq!(tools.parameter("g", "a"), ParameterKind::Other);
    }
}
