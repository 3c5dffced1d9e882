//! The definition of a tool, as a model sees it.

use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A tool of a model; serializes in the form of the Messages API, [flattened](Self::flattened).
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
/// Deserializes from the same form, with MCP's `annotations` for the [`hints`](Self::hints). An unknown field is an
/// error that names the field, unless the `type` belongs to a tool of the API, such as `bash_20250124`, whose fields
/// differ. MCP's or OpenAI's form would become a tool without parameters. Either form is rejected, and the error
/// names the function to use.
///
/// ```
/// use tool_runtime::{ToolDefinition, serde_json::from_str};
///
/// let json = r#"{ "name": "now", "description": "Tell the time.", "annotations": { "readOnlyHint": true } }"#;
/// let definition: ToolDefinition = from_str(json).unwrap();
/// assert_eq!(definition.hints.read_only, Some(true));
///
/// let misspelt = from_str::<ToolDefinition>(&json.replace("readOnlyHint", "readonly")).unwrap_err();
/// assert!(misspelt.to_string().starts_with("invalid `annotations`: unknown field `readonly`, expected one of"));
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "WireDefinition")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// `^[a-zA-Z0-9_-]{1,64}$`; checked when the tool is registered.
    pub name: String,
    /// Purpose of the tool and when to use it. A model judges a tool by the description first.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// Whether the model's output is constrained to the schema.
    pub strict: Option<bool>,
    /// Examples of arguments.
    pub input_examples: Vec<Value>,
    /// Sets a breakpoint of the prompt cache, for example `{"type": "ephemeral"}`.
    pub cache_control: Option<Value>,
    /// Whether the model finds the tool by search only.
    pub defer_loading: Option<bool>,
    /// Whether arguments are streamed before they are complete.
    pub eager_input_streaming: Option<bool>,
    /// All other fields, in their order: `type`, `allowed_callers`, and fields of the API's own tools.
    pub rest: Map<String, Value>,
    /// Hints about the tool's behaviour; not part of Anthropic's form.
    pub hints: Hints,
    /// The JSON Schema of structured results (MCP's `outputSchema`); only MCP's form has it. Functions that return
    /// [`Structured`](crate::Structured) have one. A server that lists it must also return `structuredContent`.
    pub output_schema: Option<Value>,
    /// Icons for a client's user interface (MCP's `icons`); only MCP's form has them.
    pub icons: Option<Value>,
    /// Metadata of server and client (MCP's `_meta`); only MCP's form has it.
    pub meta: Option<Value>,
    /// All other fields of MCP's form, in their order; `annotations` without those in [`hints`](Self::hints). Only MCP's form
    /// has them.
    pub mcp: Map<String, Value>,
}

impl ToolDefinition {
    /// Creates a definition, which registration checks.
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

    /// Sets the name for people.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, serde_json::json};
    ///
    /// let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    /// let remove = ToolDefinition::new("remove", "Remove a file.", schema)
    ///     .with_title("Remove")
    ///     .with_destructive(true)
    ///     .with_open_world(false);
    /// assert_eq!(remove.hints.title.as_deref(), Some("Remove"));
    /// assert_eq!((remove.hints.destructive, remove.hints.read_only), (Some(true), None));
    /// ```
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.hints.title = Some(title.into());
        self
    }

    /// Sets the hint whether the tool changes nothing.
    #[must_use]
    pub fn with_read_only(mut self, hint: bool) -> Self {
        self.hints.read_only = Some(hint);
        self
    }

    /// Sets the hint whether changes of the tool may destroy data.
    #[must_use]
    pub fn with_destructive(mut self, hint: bool) -> Self {
        self.hints.destructive = Some(hint);
        self
    }

    /// Sets the hint whether a repeated call has no further effect.
    #[must_use]
    pub fn with_idempotent(mut self, hint: bool) -> Self {
        self.hints.idempotent = Some(hint);
        self
    }

    /// Sets the hint whether the tool accesses external entities.
    #[must_use]
    pub fn with_open_world(mut self, hint: bool) -> Self {
        self.hints.open_world = Some(hint);
        self
    }

    /// Sets the hint whether calls wait for the client's own calls of the same message; see [`Hints::deferred`].
    #[must_use]
    pub fn with_deferred(mut self, hint: bool) -> Self {
        self.hints.deferred = Some(hint);
        self
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
    annotations: Option<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl WireDefinition {
    /// Fields of a client tool.
    const FIELDS: [&str; 11] = [
        "name",
        "description",
        "input_schema",
        "annotations",
        "strict",
        "input_examples",
        "cache_control",
        "defer_loading",
        "eager_input_streaming",
        "allowed_callers",
        "type",
    ];

    /// Returns the first unknown field, which would be sent to the API.
    fn unknown_field(&self) -> Option<String> {
        // Tools of the API have other fields.
        if self.rest.get("type").is_some_and(|kind| kind != "custom") {
            return None;
        }
        let unknown = self
            .rest
            .keys()
            .find(|field| !Self::FIELDS.contains(&field.as_str()))?;
        let known = Self::FIELDS.map(|field| format!("`{field}`")).join(", ");
        let field = crate::wire::issue::excerpt(unknown);
        Some(format!("unknown field `{field}`, expected one of {known}"))
    }
}

/// MCP's `annotations`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Annotations {
    title: Option<String>,
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

impl Annotations {
    fn hints(annotations: Option<Value>) -> Result<Hints, String> {
        let Some(annotations) = annotations else {
            return Ok(Hints::default());
        };
        let annotations: Self =
            serde_json::from_value(annotations).map_err(|error| format!("invalid `annotations`: {error}"))?;
        Ok(Hints {
            title: annotations.title,
            read_only: annotations.read_only_hint,
            destructive: annotations.destructive_hint,
            idempotent: annotations.idempotent_hint,
            open_world: annotations.open_world_hint,
            deferred: None,
        })
    }
}

/// Keeps `null`, which is not a schema and is rejected at registration.
fn some_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl TryFrom<WireDefinition> for ToolDefinition {
    type Error = String;

    fn try_from(wire: WireDefinition) -> Result<Self, String> {
        let unknown_field = wire.unknown_field();
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
        if let Some(error) = unknown_field {
            return Err(error);
        }
        Ok(Self {
            strict: wire.strict,
            input_examples: wire.input_examples,
            cache_control: wire.cache_control,
            defer_loading: wire.defer_loading,
            eager_input_streaming: wire.eager_input_streaming,
            rest: wire.rest,
            hints: Annotations::hints(wire.annotations)?,
            ..Self::new(name, wire.description, input_schema)
        })
    }
}

/// Returns why a value without `input_schema` is not a definition: a field shows that it has another form.
fn foreign_form(rest: &Map<String, Value>) -> Option<String> {
    const MCP: &str = "is of MCP's form; read that with `tool_runtime::format::mcp::definition`";
    const OPENAI: &str =
        "is of OpenAI's form; give its parts to `ToolDefinition::new(name, description, parameters)`";
    const OURS: &str = "no API has; write `annotations`, as in MCP's form";
    [
        ("inputSchema", MCP),
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

/// Hints about a tool's behaviour (MCP's annotations). Nothing enforces hints, but layers can use them.
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
    /// Name for people.
    pub title: Option<String>,
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool's changes may destroy data.
    pub destructive: Option<bool>,
    /// A repeated call has no further effect.
    pub idempotent: Option<bool>,
    /// The tool accesses external entities, as a search of the web does.
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

    /// Creates a valid name for a tool of another protocol, which allows more names. Every other character becomes
    /// `_`, always in the same way.
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
    /// Returns an error if no character of the name is left, or the name has more than 64 characters.
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

    /// Returns whether a name may have a character.
    pub(crate) fn allows(character: char) -> bool {
        is_allowed(character)
    }

    /// Returns the name.
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

/// The reason why a string is not a [`ToolName`].
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

    /// Returns the reason, for messages.
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
        assert_eq!(
            error(json!({ "name": "now", "inputSchema": {} })),
            "missing `input_schema` beside `inputSchema`, which is of MCP's form; read that with \
             `tool_runtime::format::mcp::definition`"
        );
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
            "missing `input_schema` beside `hints`, which no API has; write `annotations`, as in MCP's form"
        );
    }

    #[test]
    fn rejects_unknown_fields_by_name() {
        let error = |wire| {
            serde_json::from_value::<ToolDefinition>(wire)
                .unwrap_err()
                .to_string()
        };
        for field in ["parameters", "hints", "readOnly", "inputExamples"] {
            for schema in [json!({}), Value::Null] {
                assert_eq!(
                    error(json!({ "name": "now", "input_schema": schema, field: null })),
                    format!(
                        "unknown field `{field}`, expected one of `name`, `description`, `input_schema`, `annotations`, `strict`, \
                         `input_examples`, `cache_control`, `defer_loading`, `eager_input_streaming`, `allowed_callers`, `type`"
                    )
                );
            }
        }
        let wire = json!({ "name": "now", "type": "custom", "input_schema": null });
        let null: ToolDefinition = serde_json::from_value(wire).unwrap();
        assert_eq!(null.input_schema, Value::Null, "refused when it is registered");
        let built_in = json!({ "type": "computer_20250124", "name": "computer", "display_width_px": 1024 });
        let definition: ToolDefinition = serde_json::from_value(built_in).unwrap();
        assert_eq!(definition.rest["display_width_px"], 1024);
    }

    #[test]
    fn reads_hints_from_annotations() {
        let read = |annotations: Value| {
            serde_json::from_value::<ToolDefinition>(json!({ "name": "now", "annotations": annotations }))
        };
        let annotations = json!({
            "title": "Clock", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
        });
        let built = ToolDefinition::new("now", "", no_parameters())
            .with_title("Clock")
            .with_read_only(true)
            .with_destructive(false)
            .with_idempotent(true)
            .with_open_world(false);
        assert_eq!(read(annotations).unwrap(), built);
        assert_eq!(read(Value::Null).unwrap().hints, Hints::default());
        assert_eq!(
            read(json!({ "destructive": true })).unwrap_err().to_string(),
            "invalid `annotations`: unknown field `destructive`, expected one of `title`, `readOnlyHint`, `destructiveHint`, \
             `idempotentHint`, `openWorldHint`"
        );
        assert_eq!(
            read(json!({ "destructiveHint": "yes" })).unwrap_err().to_string(),
            "invalid `annotations`: invalid type: string \"yes\", expected a boolean"
        );
        assert!(serde_json::to_value(&built).unwrap().get("annotations").is_none());
    }
}
