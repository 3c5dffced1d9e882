//! Calls that are read and not made: the arguments as the function would get them.

use serde_json::Map;

use crate::arguments::{self, Coerced};
use crate::call::{ToolCall, ToolCallRequest};
use crate::explain;
use crate::issue::{Code, Issue};
use crate::tools::Tools;

/// Reads a call's arguments without running anything.
pub(crate) fn request(tools: &Tools, call: ToolCall) -> ToolCallRequest {
    let ToolCall {
        id,
        name,
        input,
        policy,
        ..
    } = call;
    let (Coerced { arguments, issues }, arguments_json) = if let Some(tool) = tools.tool(&name) {
        arguments::coerce_to_text(&tool.shape, input.as_input(), tools.policy_of(tool, policy))
    } else {
        let mut message = explain::not_found(&name);
        if let Some(known) = explain::known_names(&name, tools) {
            message.push_str("; ");
            message.push_str(&known);
        }
        let unknown = Issue::error(Code::UnknownTool, "", message).about(&name);
        let arguments = Map::new();
        let issues = vec![unknown];
        (Coerced { arguments, issues }, "{}".to_owned())
    };
    let (errors, warnings) = issues.into_iter().partition(Issue::is_error);
    ToolCallRequest {
        tool_use_id: id,
        name,
        raw_arguments: input,
        arguments,
        arguments_json,
        warnings,
        errors,
    }
}
