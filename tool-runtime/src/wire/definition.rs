//! The definition of a tool, as a model sees it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A tool as a model sees it; serializes exactly as the Messages API takes it.
///
/// ```
/// use tool_runtime::{ToolDefinition, serde_json::json};
///
/// let definition = ToolDefinition::new("now", "Tell the time.", json!({ "type": "object", "properties": {} }));
/// assert_eq!(
///     serde_json::to_value(&definition).unwrap(),
///     json!({
///         "name": "now",
///         "description": "Tell the time.",
///         "input_schema": { "type": "object", "properties": {} },
///     }),
/// );
/// ```
///
/// Deserializes from the same form. MCP's or OpenAI's form would become a tool without parameters, so it is rejected, and the
/// error names the function to use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WireDefinition")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// `^[a-zA-Z0-9_-]{1,64}$`; checked when the tool is registered.
    pub name: String,
    /// What the tool does and when to use it: the first thing a model judges it by.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// Whether the model's output is constrained to the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Examples of arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<Value>,
    /// Sets a breakpoint of the prompt cache, for example `{"type": "ephemeral"}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<Value>,
    /// Whether the model finds the tool by search only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defer_loading: Option<bool>,
    /// Whether arguments are streamed before they are complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_input_streaming: Option<bool>,
    /// All other fields, in their order.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
    /// Hints about the tool's behaviour; not part of Anthropic's form.
    #[serde(skip)]
    pub hints: Hints,
    /// The JSON Schema of structured results (MCP's `outputSchema`); only MCP's form has it. Functions that return
    /// [`Structured`](crate::Structured) have one. A server that lists it must also return `structuredContent`.
    #[serde(skip)]
    pub output_schema: Option<Value>,
    /// Icons for a client's user interface (MCP's `icons`); only MCP's form has them.
    #[serde(skip)]
    pub icons: Option<Value>,
    /// Metadata of server and client (MCP's `_meta`); only MCP's form has it.
    #[serde(skip)]
    pub meta: Option<Value>,
    /// All other fields of MCP's form, in their order; `annotations` without those in [`hints`](Self::hints). Only MCP's form
    /// has them.
    #[serde(skip)]
    pub mcp: Map<String, Value>,
}

impl ToolDefinition {
    /// Creates a definition. It is checked when it is registered.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            strict: None,
            input_examples: Vec::new(),
            cache_control: None,
            defer_loading: None,
            eager_input_streaming: None,
            rest: Map::new(),
            hints: Hints::default(),
            output_schema: None,
            icons: None,
            meta: None,
            mcp: Map::new(),
        }
    }
}

/// The serialized form, in which the schema may be missing.
#[derive(Deserialize)]
struct WireDefinition {
    name: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default, deserialize_with = "some_value")]
    input_schema: Option<Value>,
    strict: Option<bool>,
    #[serde(default)]
    input_examples: Vec<Value>,
    cache_control: Option<Value>,
    defer_loading: Option<bool>,
    eager_input_streaming: Option<bool>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Keeps `null`, which is not a schema and rejected when it is registered.
fn some_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<WireDefinition> for ToolDefinition {
    type Error = String;

    fn try_from(wire: WireDefinition) -> Result<Self, String> {
        let Some(name) = wire.name else {
            return Err(foreign_form(&wire.rest).unwrap_or_else(|| "missing field `name`".to_owned()));
        };
        let input_schema = match wire.input_schema {
            Some(schema) => schema,
            None => match foreign_form(&wire.rest) {
                Some(reason) => return Err(reason),
                None => no_parameters(),
            },
        };
        Ok(Self {
            strict: wire.strict,
            input_examples: wire.input_examples,
            cache_control: wire.cache_control,
            defer_loading: wire.defer_loading,
            eager_input_streaming: wire.eager_input_streaming,
            rest: wire.rest,
            ..Self::new(name, wire.description, input_schema)
        })
    }
}

/// Why a value without `input_schema` is not a definition: it is in another form, which is detected by a field.
fn foreign_form(rest: &Map<String, Value>) -> Option<String> {
    const MCP: &str = "is of MCP's form; read that with `tool_runtime::format::mcp::definition`";
    const OPENAI: &str =
        "is of OpenAI's form; give its parts to `ToolDefinition::new(name, description, parameters)`";
    const OURS: &str = "no API has; use `ToolDefinition::new` and set `hints` of what it returns";
    [
        ("inputSchema", MCP),
        ("annotations", MCP),
        ("parameters", OPENAI),
        ("function", OPENAI),
        ("hints", OURS),
    ]
    .into_iter()
    .find(|(field, _)| rest.contains_key(*field))
    .map(|(field, advice)| format!("missing `input_schema` beside `{field}`, which {advice}"))
}

fn no_parameters() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}

/// Hints about a tool's behaviour (MCP's annotations). Nothing enforces them, but layers can use them.
///
/// ```
/// use tool_runtime::{ToolRegistry, tool};
///
/// /// Read a file.
/// #[tool(read_only, title = "Read")]
/// async fn read() {}
///
/// let mut registry = ToolRegistry::new();
/// let hints = &registry.register::<read>().unwrap().tool_definitions()[0].hints;
/// assert_eq!((hints.read_only, hints.destructive), (Some(true), None));
/// assert_eq!(hints.title.as_deref(), Some("Read"));
/// ```
#[doc(alias = "annotations")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hints {
    /// A name for people.
    pub title: Option<String>,
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// Its changes may destroy data.
    pub destructive: Option<bool>,
    /// A repeated call has no further effect.
    pub idempotent: Option<bool>,
    /// It accesses external entities, as a search of the web does.
    pub open_world: Option<bool>,
    /// A host that serves several owners of tools, as a gateway does, calls it only when the client has answered its own calls of the
    /// same message: its effects need the client to go on. No API's form has this hint.
    pub deferred: Option<bool>,
}

/// A valid tool name: 1 to 64 of `a-z A-Z 0-9 _ -`.
///
/// ```
/// use tool_runtime::definition::ToolName;
///
/// assert!(ToolName::parse("TodoWrite").is_ok());
/// let refused = ToolName::parse("todo write").unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "invalid tool name `todo write`: ' ' is not allowed; expected 1 to 64 of a-z, A-Z, 0-9, `_` and `-`",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(std::sync::Arc<str>);

impl ToolName {
    /// The maximum number of characters.
    pub const MAX_LENGTH: usize = 64;

    /// Parses a name.
    pub fn parse(name: &str) -> Result<Self, InvalidName> {
        let reason = match name.chars().find(|c| !is_allowed(*c)) {
            Some(c) => format!("{c:?} is not allowed"),
            None if name.is_empty() => "it is empty".to_owned(),
            None if name.len() > Self::MAX_LENGTH => format!("it has {} characters", name.len()),
            None => return Ok(Self(name.into())),
        };
        Err(InvalidName::new(name, reason))
    }

    /// A valid name for a tool from elsewhere, whose protocol allows more names: every other character becomes `_`, always in
    /// the same way.
    ///
    /// ```
    /// use tool_runtime::definition::ToolName;
    ///
    /// assert_eq!(ToolName::replace_invalid("files.read/all").unwrap().as_str(), "files_read_all");
    /// assert_eq!(ToolName::replace_invalid("files-read").unwrap().as_str(), "files-read");
    /// assert!(ToolName::replace_invalid("读取").is_err()); // nothing is left
    /// ```
    ///
    /// # Errors
    ///
    /// If nothing of the name is left, or it has more than 64 characters.
    pub fn replace_invalid(name: &str) -> Result<Self, InvalidName> {
        if !name.is_empty() && !name.chars().any(is_allowed) {
            return Err(InvalidName::new(
                name,
                "none of its characters is allowed".to_owned(),
            ));
        }
        let replace = |c| if is_allowed(c) { c } else { '_' };
        Self::parse(&name.chars().map(replace).collect::<String>())
            .map_err(|error| InvalidName::new(name, error.reason))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_allowed(character: char) -> bool {
    matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-')
}

impl std::borrow::Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a string is not a [`ToolName`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    name: String,
    reason: String,
}

impl InvalidName {
    fn new(name: &str, reason: String) -> Self {
        Self {
            name: crate::wire::issue::excerpt(name).into_owned(),
            reason,
        }
    }

    /// What is wrong with it.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reason } = self;
        write!(
            f,
            "invalid tool name `{name}`: {reason}; expected 1 to 64 of a-z, A-Z, 0-9, `_` and `-`"
        )
    }
}

impl std::error::Error for InvalidName {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definition_round_trips() {
        let wire = json!({
            "name": "now",
            "description": "Tell the time.",
            "input_schema": { "type": "object", "properties": {} },
            "strict": true,
            "input_examples": [{}],
            "cache_control": { "type": "ephemeral" },
            "defer_loading": false,
            "eager_input_streaming": true,
            "type": "custom",
            "allowed_callers": ["direct"],
        });
        let definition: ToolDefinition = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_string(&definition).unwrap(), wire.to_string());
        let least: ToolDefinition = serde_json::from_value(json!({ "name": "now" })).unwrap();
        assert_eq!(least.input_schema, no_parameters());
    }

    #[test]
    fn rejects_foreign_forms_and_names_the_function() {
        let error = |wire| {
            serde_json::from_value::<ToolDefinition>(wire)
                .unwrap_err()
                .to_string()
        };
        for field in ["inputSchema", "annotations"] {
            assert_eq!(
                error(json!({ "name": "now", field: {} })),
                format!(
                    "missing `input_schema` beside `{field}`, which is of MCP's form; read that with \
                     `tool_runtime::format::mcp::definition`"
                )
            );
        }
        assert_eq!(
            error(json!({ "name": "now", "type": "function", "parameters": {} })),
            "missing `input_schema` beside `parameters`, which is of OpenAI's form; give its parts to \
             `ToolDefinition::new(name, description, parameters)`"
        );
        assert_eq!(
            error(json!({ "type": "function", "function": { "name": "now", "parameters": {} } })),
            "missing `input_schema` beside `function`, which is of OpenAI's form; give its parts to \
             `ToolDefinition::new(name, description, parameters)`"
        );
        assert_eq!(
            error(json!({ "description": "No name." })),
            "missing field `name`"
        );
        assert_eq!(
            error(json!({ "name": "now", "hints": { "read_only": true } })),
            "missing `input_schema` beside `hints`, which no API has; use `ToolDefinition::new` and set `hints` of what \
             it returns"
        );
    }

    #[test]
    fn accepts_foreign_fields_beside_input_schema() {
        let wire =
            json!({ "name": "now", "input_schema": {}, "parameters": 1, "annotations": {}, "hints": null });
        let definition: ToolDefinition = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&definition).unwrap()["parameters"], 1);
        let null: ToolDefinition =
            serde_json::from_value(json!({ "name": "now", "input_schema": null, "parameters": 1 })).unwrap();
        assert_eq!(null.input_schema, Value::Null, "refused when it is registered");
        let built_in = json!({ "type": "bash_20250124", "name": "bash" });
        assert!(serde_json::from_value::<ToolDefinition>(built_in).is_ok());
    }
}
