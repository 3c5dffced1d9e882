//! The Responses API of `OpenAI`, with `input` as a list of items.

use serde_json::Value;

use crate::fields::{definition, list, name, object, text, tools};
use crate::open_calls::OpenCalls;

/// Checks a request.
pub fn check(request: &Value) -> Result<(), String> {
    let fields = [
        "model",
        "input",
        "stream",
        "tools",
        "tool_choice",
        "store",
        "include",
        "instructions",
        "max_output_tokens",
    ];
    let request = object(request, "request", &fields)?;
    text(request, "request", "model")?;
    for (place, tool) in tools(request) {
        let tool = object(
            tool,
            &place,
            &["type", "name", "description", "parameters", "strict"],
        )?;
        definition(tool, &place, "parameters")?;
    }
    let mut open = OpenCalls::default();
    for (at, item) in list(request, "request", "input")?.iter().enumerate() {
        let place = format!("input.{at}");
        let kind = item["type"].as_str().unwrap_or("message");
        let known: &[&str] = match kind {
            "message" => &["type", "id", "role", "status", "content", "phase"],
            "reasoning" => &["type", "id", "summary", "content", "encrypted_content", "status"],
            "function_call" => &["type", "id", "call_id", "name", "arguments", "status"],
            "function_call_output" => &["type", "id", "call_id", "output", "status"],
            other => return Err(format!("{place}.type: unknown item `{other}`")),
        };
        let item = object(item, &place, known)?;
        match kind {
            "function_call" => {
                name(item, &place, "name")?;
                text(item, &place, "arguments")?;
                open.push(text(item, &place, "call_id")?);
            }
            "function_call_output" => {
                let id = text(item, &place, "call_id")?;
                if !open.answer(id) {
                    return Err(format!(
                        "No tool call found for function call output with call_id {id}."
                    ));
                }
            }
            _ => {}
        }
    }
    open.check(|ids| format!("No tool output found for function call {}.", ids[0]))
}
