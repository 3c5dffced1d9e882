//! Result of a call, for the model.

use serde_json::Value;
use tool_runtime::ToolOutput;
use tool_runtime::format::mcp;
use tool_runtime::result::Content;

use crate::adapt::fault::Fault;

/// Converts a result of `tools/call`. Texts above `max_chars` characters are cut.
pub(crate) fn output(result: &Value, max_chars: usize) -> Result<ToolOutput, Fault> {
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
    fn keeps_failures_and_structured_values() {
        let result = json!({"content": [], "structuredContent": {"a": 1}, "isError": true});
        let output = output(&result, 100).unwrap();
        assert!(output.is_error);
        assert_eq!(output.structured.as_deref(), Some(&json!({"a": 1})));
        assert_eq!(content(&result, 100), json!(r#"{"a":1}"#));
    }
}
