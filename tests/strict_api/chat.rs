//! The Chat Completions API of `OpenAI`, as strict as the strictest compatible server.

use serde_json::{Map, Value};

use crate::fields::{definition, list, name, object, text, tools};
use crate::open_calls::OpenCalls;

/// Checks a request. `extra` are fields that the server itself wrote into messages, and requires in later requests.
pub fn check(request: &Value, extra: &[&str]) -> Result<(), String> {
    let fields = [
        "model",
        "messages",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
    ];
    let request = object(request, "request", &fields)?;
    text(request, "request", "model")?;
    for (place, tool) in tools(request) {
        let tool = object(tool, &place, &["type", "function"])?;
        let function = tool.get("function").unwrap_or(&Value::Null);
        let function = object(function, &place, &["name", "description", "parameters", "strict"])?;
        definition(function, &place, "parameters")?;
    }
    let mut open = OpenCalls::default();
    for (at, message) in list(request, "request", "messages")?.iter().enumerate() {
        let place = format!("messages.{at}");
        let role = message["role"].as_str().unwrap_or_default();
        let known: &[&str] = match role {
            "system" | "developer" | "user" => &["role", "content", "name"],
            "assistant" => &["role", "content", "refusal", "tool_calls", "name"],
            "tool" => &["role", "content", "tool_call_id"],
            other => return Err(format!("{place}.role: unknown role `{other}`")),
        };
        let known = [known, extra].concat();
        let message = object(message, &place, &known)?;
        if role == "tool" {
            text(message, &place, "content")?;
            let id = text(message, &place, "tool_call_id")?;
            if !open.answer(id) {
                return Err(format!(
                    "{place}: `tool_call_id` {id} answers no call of the message before"
                ));
            }
            continue;
        }
        open.check(unanswered)?;
        if role == "assistant" {
            open = assistant(message, &place)?;
        } else if message.get("content").is_none_or(Value::is_null) {
            return Err(format!("{place}.content: expected a string or a list"));
        }
    }
    open.check(unanswered)
}

/// Checks a message of the model. Returns the calls that it opens.
fn assistant(message: &Map<String, Value>, place: &str) -> Result<OpenCalls, String> {
    let Some(calls) = message.get("tool_calls") else {
        let said = ["content", "refusal"].map(|field| message.get(field).is_some_and(|text| !text.is_null()));
        return match said {
            [false, false] => Err(format!("{place}.content: expected a string, got null")),
            _ => Ok(OpenCalls::default()),
        };
    };
    let calls = calls.as_array().filter(|calls| !calls.is_empty());
    let calls = calls.ok_or(format!("{place}.tool_calls: expected at least 1 item"))?;
    let mut open = OpenCalls::default();
    for (at, call) in calls.iter().enumerate() {
        let place = format!("{place}.tool_calls.{at}");
        let call = object(call, &place, &["id", "type", "function", "extra_content"])?;
        let function = call.get("function").unwrap_or(&Value::Null);
        let function = object(function, &place, &["name", "arguments"])?;
        name(function, &place, "name")?;
        let arguments = text(function, &place, "arguments")?;
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
            return Err(format!(
                "{place}.function.arguments: expected the JSON text of an object"
            ));
        }
        let id = text(call, &place, "id")?;
        if call.get("type").is_none_or(|kind| kind != "function") || id.is_empty() || open.contains(id) {
            return Err(format!(
                "{place}: expected `type` \"function\" and an id of its own"
            ));
        }
        open.push(id);
    }
    Ok(open)
}

fn unanswered(ids: &[String]) -> String {
    format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': {}",
        ids.join(", ")
    )
}
