//! Tools of a request, and its `tool_choice`.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde_json::value::RawValue;
use tool_runtime::ToolDefinition;
use tool_runtime::format::openai::chat;

use super::chat::{ChatFunction, ChatTool, ChatToolChoice, NamedTool, ToolMode, ToolName};
use super::client_tools::TypedTool;
use super::openapi_schema;
use super::raw::raw;
use crate::upstream::openai::names::ChatNames;
use crate::upstream::openai::profile::{ForcedChoice, Profile, SchemaNotation};
use crate::upstream::openai::settings::ServerTools;
use crate::upstream::openai::warnings::WarningCode;
use crate::wire::error::ApiError;
use crate::wire::object::{Object, with_field};
use crate::wire::request::MessagesRequest;
use crate::wire::walk;

/// Translates the tools of a request.
#[derive(Debug)]
pub(super) struct ToolTranslator<'p> {
    pub(super) profile: &'p Profile,
    pub(super) server_tools: ServerTools,
    pub(super) warnings: BTreeSet<WarningCode>,
    /// Functions whose tools have `eager_input_streaming`.
    pub(super) eager_functions: BTreeSet<String>,
    /// Whether the gateway honours `eager_input_streaming`.
    pub(super) streams_eagerly: bool,
}

/// The translated `tool_choice`.
#[derive(Debug, Default)]
pub(super) struct TranslatedChoice {
    pub(super) choice: Option<ChatToolChoice>,
    /// Whether the client disabled parallel calls.
    pub(super) is_single_call: bool,
    /// Whether the model must not think, since a call is forced.
    pub(super) is_thinking_off: bool,
}

impl ToolTranslator<'_> {
    /// Translates all tools.
    pub(super) fn tools<'r>(
        &mut self,
        request: &'r MessagesRequest,
        names: &mut ChatNames,
    ) -> Result<Vec<ChatTool<'r>>, ApiError> {
        let mut tools = Vec::new();
        let mut declared: HashMap<String, Cow<'r, str>> = HashMap::new();
        for (at, text) in request.tools().enumerate() {
            let error = |message: &str| ApiError::invalid(format!("tools.{at}{message}"));
            let tool = Object::from_json(text).ok_or_else(|| error(": expected an object"))?;
            let kind = tool.text("type").filter(|kind| kind != "custom");
            let client_tool = kind.as_deref().and_then(TypedTool::from_type);
            if let (Some(kind), None) = (&kind, client_tool) {
                if self.server_tools == ServerTools::Drop {
                    self.warnings.insert(WarningCode::ServerTools);
                    continue;
                }
                return Err(error(&format!(
                    ".type: tools of type `{kind}` are not available at this upstream; remove the tool"
                )));
            }
            let client_name = tool.text("name").ok_or_else(|| error(": missing `name`"))?;
            let name = Cow::<str>::Owned(names.function_name(&client_name).into_owned());
            if let Some(other) = declared.insert(name.to_string(), client_name.clone()) {
                return Err(error(&format!(
                    ".name: the tools `{other}` and `{client_name}` have one name at this upstream; rename a tool"
                )));
            }
            let function = match client_tool {
                Some(client_tool) => ChatFunction {
                    name,
                    description: Some(Cow::Borrowed(client_tool.description)),
                    parameters: raw(client_tool.schema)
                        .map(Cow::Borrowed)
                        .ok_or_else(|| error(": invalid schema"))?,
                    strict: false,
                },
                None => self.function(tool, name).map_err(|message| error(&message))?,
            };
            if self.is_eager(&tool) {
                self.eager_functions.insert(function.name.to_string());
            }
            tools.push(ChatTool {
                function,
                cache_control: self.cache_control(tool),
            });
        }
        Ok(tools)
    }

    /// Returns whether the arguments of a tool leave in pieces.
    fn is_eager(&self, tool: &Object<'_>) -> bool {
        self.streams_eagerly && tool.get("eager_input_streaming") == Some("true")
    }

    /// Translates a custom tool. The error begins with the name of the field.
    fn function<'r>(&mut self, tool: Object<'r>, name: Cow<'r, str>) -> Result<ChatFunction<'r>, String> {
        let callers = walk::items(tool.get("allowed_callers").unwrap_or_default());
        if let Some(caller) = callers.filter_map(walk::string).find(|caller| caller != "direct") {
            return Err(format!(
                ".allowed_callers: unknown caller `{caller}` for this upstream; expected `direct`"
            ));
        }
        let description = tool.text("description").unwrap_or_default();
        let examples: Vec<&str> = walk::items(tool.get("input_examples").unwrap_or_default()).collect();
        let description = if examples.is_empty() {
            description
        } else {
            let lines = examples.join("\n");
            let text = format!("{description}\n\nExamples of arguments:\n{lines}");
            Cow::Owned(text.trim_start().to_owned())
        };
        let mut parameters = parameters(tool.get("input_schema"))
            .ok_or_else(|| ".input_schema: expected an object".to_owned())?;
        let mut is_strict = false;
        if tool.get("strict") == Some("true") {
            // The `null`s of a strict form cannot be removed from a call that is shown piece by piece.
            let is_eager = self.is_eager(&tool);
            let strict = Some(&parameters).filter(|_| self.profile.strict && !is_eager);
            match strict.and_then(|parameters| strict_parameters(&name, parameters)) {
                Some(strict) => {
                    parameters = Cow::Owned(strict);
                    is_strict = true;
                }
                None => {
                    self.warnings.insert(WarningCode::Strict);
                }
            }
        }
        if self.profile.schema == SchemaNotation::OpenApi
            && let Some(converted) = openapi_schema::convert(parameters.get())
        {
            parameters = Cow::Owned(converted);
        }
        Ok(ChatFunction {
            name,
            description: Some(description).filter(|text| !text.is_empty()),
            parameters,
            strict: is_strict,
        })
    }

    fn cache_control<'r>(&self, tool: Object<'r>) -> Option<&'r RawValue> {
        let cache_control = tool.get("cache_control").filter(|_| self.profile.cache_control);
        raw(cache_control.filter(|value| *value != "null")?)
    }

    /// Translates `tool_choice` for these tools.
    pub(super) fn choice(
        &mut self,
        choice: Option<&str>,
        tools: &[ChatTool<'_>],
        names: &mut ChatNames,
    ) -> Result<TranslatedChoice, ApiError> {
        let Some(choice) = choice.and_then(Object::from_json) else {
            return Ok(TranslatedChoice::default());
        };
        let kind = choice.text("type").unwrap_or_default();
        let forced = match &*kind {
            "auto" | "none" => None,
            "any" => Some(ChatToolChoice::Mode(ToolMode::Required)),
            "tool" => {
                let name = choice
                    .text("name")
                    .ok_or_else(|| ApiError::invalid("tool_choice: missing `name`"))?;
                let function = names.function_name(&name).into_owned();
                if !tools.iter().any(|tool| tool.function.name == function) {
                    return Err(ApiError::invalid(format!(
                        "tool_choice.name: unknown tool `{name}`; expected a tool of `tools`"
                    )));
                }
                Some(ChatToolChoice::Named(NamedTool {
                    function: ToolName { name: function },
                }))
            }
            _ => {
                return Err(ApiError::invalid(format!(
                    "tool_choice.type: unknown type `{kind}`; expected `auto`, `any`, `tool` or `none`"
                )));
            }
        };
        if forced.is_some() && tools.is_empty() {
            return Err(ApiError::invalid(format!(
                "tool_choice: type `{kind}` requires a tool that this upstream can receive, and there is none"
            )));
        }
        let mut translated = TranslatedChoice {
            is_single_call: choice.get("disable_parallel_tool_use") == Some("true"),
            ..TranslatedChoice::default()
        };
        translated.choice = match (forced, self.profile.forced) {
            (None, _) => {
                (kind == "none" && !tools.is_empty()).then_some(ChatToolChoice::Mode(ToolMode::None))
            }
            (Some(_), ForcedChoice::Auto) => {
                self.warnings.insert(WarningCode::ForcedTool);
                None
            }
            (Some(forced), mode) => {
                translated.is_thinking_off = mode == ForcedChoice::NoThinking;
                Some(forced)
            }
        };
        Ok(translated)
    }
}

/// Returns the strict form of a schema; `None` if there is none.
fn strict_parameters(name: &str, schema: &RawValue) -> Option<Box<RawValue>> {
    let schema = serde_json::from_str(schema.get()).ok()?;
    let strict = chat::strict_tool(&ToolDefinition::new(name, "", schema)).ok()?;
    let parameters = strict.tool.get("function")?.get("parameters")?;
    serde_json::value::to_raw_value(parameters).ok()
}

/// Returns a schema with the fields that servers require, `type` and `properties`; `None` if it is not an object.
fn parameters(schema: Option<&str>) -> Option<Cow<'_, RawValue>> {
    let text = schema.filter(|schema| *schema != "null").unwrap_or("{}");
    let schema = Object::from_json(text)?;
    let missing = [("type", r#""object""#), ("properties", "{}")];
    let missing = missing.into_iter().filter(|(name, _)| schema.get(name).is_none());
    let filled = missing.fold(Cow::Borrowed(text), |schema, (name, value)| {
        Cow::Owned(with_field(&schema, name, value))
    });
    match filled {
        Cow::Borrowed(text) => raw(text).map(Cow::Borrowed),
        Cow::Owned(text) => RawValue::from_string(text).ok().map(Cow::Owned),
    }
}
