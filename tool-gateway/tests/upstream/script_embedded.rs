//! The embedded script: a conversation with a mixed turn, for the tools of the gateway.

use serde_json::{Value, json};
use tool_builtins::todo::{todo_read, todo_write};
use tool_gateway::upstream::ScriptUpstream;
use tool_runtime::ToolRegistry;

use crate::body::{ask, bytes, events, json, message};

/// Returns the message that answers the conversation, which is equal with and without streaming.
async fn next(script: &ScriptUpstream, messages: &[Value]) -> Value {
    let whole = json(ask(script, json!({"messages": messages})).await).await;
    let streamed = ask(script, json!({"messages": messages, "stream": true})).await;
    let streamed = message(&events(&bytes(streamed.into_body()).await));
    let (types, stop_reason) = (types(&streamed), &streamed["stop_reason"]);
    assert_eq!((types, stop_reason), (self::types(&whole), &whole["stop_reason"]));
    whole
}

fn types(message: &Value) -> Vec<(String, Option<String>)> {
    let blocks = message["content"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    blocks
        .map(|block| (text(&block["type"]).unwrap(), text(&block["name"])))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn plays_a_mixed_turn_and_comes_to_an_end() {
    let mut registry = ToolRegistry::new();
    registry
        .register::<todo_write>()
        .unwrap()
        .register::<todo_read>()
        .unwrap();
    let script = ScriptUpstream::embedded();
    let mut messages = vec![json!({"role": "user", "content": "What is the weather in Paris?"})];
    let mut called = Vec::new();
    loop {
        let message = next(&script, &messages).await;
        messages.push(json!({"role": "assistant", "content": message["content"]}));
        let blocks = message["content"].as_array().unwrap();
        assert_eq!(blocks[0]["type"], "text");
        let mut results = Vec::new();
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let (id, name) = (block["id"].as_str().unwrap(), block["name"].as_str().unwrap());
            called.push(name.to_owned());
            if name == "get_weather" {
                assert_eq!(block["input"], json!({"city": "Paris"}));
                results.push(json!({"type": "tool_result", "tool_use_id": id, "content": "18 °C, rain"}));
            } else {
                let result = registry.execute_tool(id, name, block["input"].clone()).await;
                let result = serde_json::to_value(&result).unwrap();
                assert_eq!(result.get("is_error"), None, "{result}");
                results.push(result);
            }
        }
        if results.is_empty() {
            assert_eq!(message["stop_reason"], "end_turn");
            break;
        }
        assert_eq!(message["stop_reason"], "tool_use");
        messages.push(json!({"role": "user", "content": results}));
    }
    assert_eq!(called, ["TodoWrite", "get_weather", "TodoRead"]);
    assert_eq!(messages.len(), 6);
    // The next question restarts the conversation.
    messages.push(json!({"role": "user", "content": "And now?"}));
    let again = next(&script, &messages).await;
    assert_eq!(types(&again).len(), 3);
}
