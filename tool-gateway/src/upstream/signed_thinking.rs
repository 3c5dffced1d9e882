//! Thinking blocks with a signature of this gateway, which no server of the Messages API accepts.

use memchr::memmem;

use crate::wire::context_management::without_clear_thinking;
use crate::wire::message::{push_message, push_text};
use crate::wire::request::MessagesRequest;
use crate::wire::role::Role;

/// Beginning of the signatures of this gateway.
pub(super) const SIGNATURE: &str = "tg1.";

/// Returns the body of a request without thinking blocks that have a signature of this gateway; `None` if there are none.
///
/// With thinking on, the API expects a thinking block before the calls after the user's last text. If a block was removed there, the request
/// has thinking off.
pub(super) fn without_signed_thinking(body: &[u8]) -> Option<String> {
    memmem::find(body, b"\"tg1.")?;
    let request = MessagesRequest::parse(std::str::from_utf8(body).ok()?).ok()?;
    let mut messages = String::with_capacity(request.messages_len());
    let (mut is_changed, mut is_thinking_off) = (false, false);
    for message in &request.messages {
        let blocks = || request.blocks(message);
        let kept = || blocks().filter(|block| !block.has_signature(SIGNATURE));
        let is_text = |role: &Role| {
            *role == Role::User && blocks().any(|block| !block.object().is("type", "tool_result"))
        };
        if is_text(&message.role) {
            is_thinking_off = false;
        }
        if !message.is_assistant() || kept().count() == blocks().count() {
            push_text(&mut messages, message.text(request.body()));
            continue;
        }
        is_changed = true;
        is_thinking_off |= !kept().next().is_some_and(|block| block.is_thinking());
        // No API accepts an empty message.
        if kept().next().is_some() {
            push_message(&mut messages, &message.role, kept());
        }
    }
    if !is_changed {
        return None;
    }
    let mut left_out = Vec::new();
    let edits = request.get("context_management").filter(|_| is_thinking_off);
    let edits = edits.map(without_clear_thinking);
    let mut changes = Vec::new();
    if is_thinking_off {
        left_out.push("thinking");
    }
    match &edits {
        Some(Some(edits)) => changes.push(("context_management", edits.as_str())),
        Some(None) => left_out.push("context_management"),
        None => {}
    }
    Some(request.with(messages.as_str(), &changes, &left_out))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn removed(messages: &Value) -> Option<Value> {
        let body = json!({
            "model": "m", "thinking": { "type": "enabled", "budget_tokens": 1024 },
            "context_management": { "edits": [{ "type": "clear_thinking_20251015" }] },
            "messages": messages,
        });
        let body = without_signed_thinking(body.to_string().as_bytes())?;
        Some(serde_json::from_str(&body).unwrap())
    }

    fn thinking(signature: &str) -> Value {
        json!({ "type": "thinking", "thinking": "t", "signature": signature })
    }

    #[test]
    fn other_requests_are_unchanged() {
        let other = thinking("EqQB");
        for message in [
            json!("say \"tg1.\""),
            json!([other, { "type": "text", "text": "a" }]),
        ] {
            assert_eq!(removed(&json!([{ "role": "user", "content": message }])), None);
        }
    }

    #[test]
    fn signed_thinking_leaves_the_messages() {
        let call = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
        let result = json!({ "type": "tool_result", "tool_use_id": "a" });
        let mut messages = json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [thinking("tg1.x.y"), call] },
            { "role": "user", "content": [result] },
        ]);
        let body = removed(&messages).unwrap();
        assert_eq!(body["messages"][1]["content"], json!([call]));
        assert_eq!(body["messages"][2], messages[2]);
        // The calls after the user's last text have no thinking of the server.
        assert_eq!(
            (body.get("thinking"), body.get("context_management")),
            (None, None)
        );

        messages.as_array_mut().unwrap().extend([
            json!({ "role": "assistant", "content": [thinking("tg1.x.y")] }),
            json!({ "role": "user", "content": "more" }),
        ]);
        let body = removed(&messages).unwrap();
        assert_eq!(body["messages"].as_array().unwrap().len(), 4);
        assert_eq!(body["messages"][3]["content"], "more");
        assert_eq!(body["thinking"]["type"], "enabled");
        assert!(body.get("context_management").is_some());
    }
}
