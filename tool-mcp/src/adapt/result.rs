//! Result of a call, for the model.

use serde_json::Value;
use tool_runtime::ToolOutput;
use tool_runtime::format::mcp;
use tool_runtime::result::Content;

use crate::adapt::fault::Fault;

/// Maximum number of requests for input that a text for the model names.
const MAX_REQUESTS: usize = 3;

/// Converts a result of `tools/call`. Texts above `max_chars` characters are cut.
pub(crate) fn output(result: &Value, max_chars: usize) -> Result<ToolOutput, Fault> {
    if result
        .get("resultType")
        .is_some_and(|kind| kind == "input_required")
    {
        return Err(Fault::NeedsInput(requested_input(result)));
    }
    let mut output = mcp::output(result).map_err(|error| Fault::Invalid(error.to_string()))?;
    match &mut output.content {
        Content::Text(text) => drop(cut(text, max_chars)),
        Content::Blocks(blocks) => {
            let mut rest = max_chars;
            for block in blocks {
                let Some(text) = block.str("text") else { continue };
                let mut text = text.to_owned();
                let count = cut(&mut text, rest);
                if count > rest {
                    *block = tool_runtime::message::Block::text(text);
                }
                rest = rest.saturating_sub(count);
            }
        }
    }
    Ok(output)
}

/// Returns the methods of the requests of a result that asks for input, with their messages.
fn requested_input(result: &Value) -> String {
    let requests = result.get("inputRequests").and_then(Value::as_object);
    let requests = requests.into_iter().flat_map(|requests| requests.values());
    let requests = requests.filter_map(|request| {
        let method = request.get("method")?.as_str()?;
        let message = request
            .get("params")
            .and_then(|params| params.get("message")?.as_str());
        Some(message.map_or_else(|| method.to_owned(), |message| format!("{method}: {message}")))
    });
    requests.take(MAX_REQUESTS).collect::<Vec<_>>().join(", ")
}

/// Cuts a text, and returns its number of characters before.
fn cut(text: &mut String, max_chars: usize) -> usize {
    let count = text.chars().count();
    if count > max_chars {
        let end = text
            .char_indices()
            .nth(max_chars)
            .map_or(text.len(), |(at, _)| at);
        text.truncate(end);
        let note = format!("\n[cut: {count} characters, of which these are the first {max_chars}]");
        text.push_str(&note);
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;

    fn content(result: &Value, max_chars: usize) -> Value {
        to_value(output(result, max_chars).unwrap().content).unwrap()
    }

    #[test]
    fn cuts_texts_and_names_their_length() {
        let text = json!({"content": [{"type": "text", "text": "éé3456"}]});
        assert_eq!(content(&text, 6), json!("éé3456"));
        assert_eq!(
            content(&text, 5),
            json!("éé345\n[cut: 6 characters, of which these are the first 5]")
        );
        let blocks = json!({"content": [
            {"type": "text", "text": "123"},
            {"type": "text", "text": "456"},
            {"type": "text", "text": "7"}
        ]});
        let cut = content(&blocks, 4);
        assert_eq!(cut[0]["text"], "123");
        assert_eq!(
            cut[1]["text"],
            "4\n[cut: 3 characters, of which these are the first 1]"
        );
        assert_eq!(
            cut[2]["text"],
            "\n[cut: 1 characters, of which these are the first 0]"
        );
        assert_eq!(content(&blocks, 7)[2]["text"], "7");
    }

    #[test]
    fn a_result_that_asks_for_input_names_its_requests() {
        let text = |requests: Value| {
            let asked = json!({ "resultType": "input_required", "inputRequests": requests });
            output(&asked, 100).unwrap_err().to_string()
        };
        let advice = ", which this program cannot give; send what it asks for with the arguments, or continue without it";
        let ask = json!({ "method": "elicitation/create", "params": { "message": "Which\nbean?" } });
        assert_eq!(
            text(json!({ "a": ask, "b": { "method": "roots/list" }, "c": 5 })),
            format!("asks for input (elicitation/create: Which bean?, roots/list){advice}")
        );
        assert_eq!(text(Value::Null), format!("asks for input{advice}"));
        let many: Value = (0..4).map(|at| (at.to_string(), ask.clone())).collect();
        assert_eq!(text(many).matches("bean").count(), 3);
    }

    #[test]
    fn keeps_failures_and_structured_values() {
        let result = json!({"content": [], "structuredContent": {"a": 1}, "isError": true});
        let output = output(&result, 100).unwrap();
        assert!(output.is_error);
        assert_eq!(output.structured.as_deref(), Some(&json!({"a": 1})));
        assert_eq!(content(&result, 100), json!(r#"{"a":1}"#));
    }
}
