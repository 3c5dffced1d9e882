//! Tools of a request, and its `tool_choice`.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::chat::{ChatFunction, ChatTool, ChatToolChoice, NamedTool, ToolMode, ToolName};
use super::raw::raw;
use crate::wire::error::ApiError;
use crate::wire::object::{Object, with_field};

/// Converts a declared tool. `at` is its index in the request.
pub(super) fn tool(at: usize, text: &str) -> Result<ChatTool<'_>, ApiError> {
    let tool = Object::from_json(text)
        .ok_or_else(|| ApiError::invalid(format!("tools.{at}: expected an object")))?;
    if let Some(kind) = tool.text("type").filter(|kind| kind != "custom") {
        return Err(ApiError::invalid(format!(
            "tools.{at}: unknown type `{kind}` for this upstream; expected a custom tool"
        )));
    }
    let name = tool
        .text("name")
        .ok_or_else(|| ApiError::invalid(format!("tools.{at}: missing `name`")))?;
    let parameters = parameters(tool.get("input_schema"))
        .ok_or_else(|| ApiError::invalid(format!("tools.{at}.input_schema: expected an object")))?;
    Ok(ChatTool {
        function: ChatFunction {
            name,
            description: tool.text("description").filter(|text| !text.is_empty()),
            parameters,
        },
    })
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

/// Converts `tool_choice`. `None` is the default, `auto`.
pub(super) fn choice(choice: Option<&str>) -> Result<Option<ChatToolChoice<'_>>, ApiError> {
    let Some(choice) = choice.and_then(Object::from_json) else {
        return Ok(None);
    };
    let kind = choice.text("type").unwrap_or_default();
    Ok(match &*kind {
        "auto" => None,
        "none" => Some(ChatToolChoice::Mode(ToolMode::None)),
        "any" => Some(ChatToolChoice::Mode(ToolMode::Required)),
        "tool" => {
            let name = choice
                .text("name")
                .ok_or_else(|| ApiError::invalid("tool_choice: missing `name`"))?;
            Some(ChatToolChoice::Named(NamedTool {
                function: ToolName { name },
            }))
        }
        _ => {
            return Err(ApiError::invalid(format!(
                "tool_choice.type: unknown type `{kind}`; expected `auto`, `any`, `tool` or `none`"
            )));
        }
    })
}
