//! The Chat Completions API of `OpenAI`, as strict as the strictest of the compatible servers.

use serde_json::{Map, Value};

use crate::fields::{list, name, object, schema, text};

/// The fault of a request. `extra` are fields that the server itself wrote into messages, and wants back.
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
    for (at, tool) in request
        .get("tools")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let place = format!("tools.{at}");
        let tool = object(tool, &place, &["type", "function"])?;
        let function = tool.get("function").unwrap_or(&Value::Null);
        let function = object(function, &place, &["name", "description", "parameters", "strict"])?;
        name(function, &place, "name")?;
        schema(function, &place, "parameters")?;
    }
    let mut open: Vec<String> = Vec::new();
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
            let before = open.len();
            open.retain(|open| open != id);
            if open.len() == before {
                return Err(format!(
                    "{place}: `tool_call_id` {id} answers no call of the message before"
                ));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(unanswered(&open));
        }
        if role == "assistant" {
            open = assistant(message, &place)?;
        } else if message.get("content").is_none_or(Value::is_null) {
            return Err(format!("{place}.content: expected a string or a list"));
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(unanswered(&open))
    }
}

/// The ids of the calls in a message of the model.
fn assistant(message: &Map<String, Value>, place: &str) -> Result<Vec<String>, String> {
    let Some(calls) = message.get("tool_calls") else {
        let said = ["content", "refusal"].map(|field| message.get(field).is_some_and(|text| !text.is_null()));
        return match said {
            [false, false] => Err(format!("{place}.content: expected a string, got null")),
            _ => Ok(Vec::new()),
        };
    };
    let calls = calls.as_array().filter(|calls| !calls.is_empty());
    let calls = calls.ok_or(format!("{place}.tool_calls: expected at least 1 item"))?;
    let mut ids: Vec<String> = Vec::new();
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
        if call.get("type").is_none_or(|kind| kind != "function")
            || id.is_empty()
            || ids.iter().any(|known| known == id)
        {
            return Err(format!(
                "{place}: expected `type` \"function\" and an id of its own"
            ));
        }
        ids.push(id.to_owned());
    }
    Ok(ids)
}

fn unanswered(ids: &[String]) -> String {
    format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': {}",
        ids.join(", ")
    )
}
