//! The block of a system prompt with Claude Code's billing header, which differs in each request.

use serde::Deserialize;
use serde_json::value::RawValue;

/// Beginning of the block's text.
const BILLING_HEADER: &str = "x-anthropic-billing-header:";

/// Removes the block from the system prompt of a request. All other bytes of the list's items stay; a body without the block is unchanged.
pub(super) fn remove(body: String) -> String {
    if !body.contains(BILLING_HEADER) {
        return body;
    }
    without(&body).unwrap_or(body)
}

#[derive(Deserialize)]
struct WithSystem<'a> {
    #[serde(borrow)]
    system: &'a RawValue,
}

fn without(body: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct TextBlock {
        r#type: String,
        text: String,
    }
    let system = serde_json::from_str::<WithSystem<'_>>(body).ok()?.system.get();
    let blocks: Vec<&RawValue> = serde_json::from_str(system).ok()?;
    let is_kept = |block: &&&RawValue| {
        let text = serde_json::from_str::<TextBlock>(block.get());
        !text.is_ok_and(|block| block.r#type == "text" && block.text.starts_with(BILLING_HEADER))
    };
    let kept: Vec<_> = blocks.iter().filter(is_kept).map(|block| block.get()).collect();
    if kept.len() == blocks.len() {
        return None;
    }
    // The text of the value is a part of the body.
    let start = system.as_ptr().addr().checked_sub(body.as_ptr().addr())?;
    let (before, after) = (body.get(..start)?, body.get(start + system.len()..)?);
    Some(format!("{before}[{}]{after}", kept.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_the_block_and_nothing_else() {
        let block = r#"{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cch=abc;"}"#;
        for (system, expected) in [
            (format!("[{block}]"), Some("[]")),
            (
                format!(r#"[ {block} , {{"type":"text", "text":"You are …","n":1.50}}]"#),
                Some(r#"[{"type":"text", "text":"You are …","n":1.50}]"#),
            ),
            (
                r#"[{"type":"text","text":"about x-anthropic-billing-header: …"}]"#.to_owned(),
                None,
            ),
            (r#""x-anthropic-billing-header: a string""#.to_owned(), None),
        ] {
            let body = |system: &str| format!(r#"{{"a" : 1e2, "system": {system} ,"messages":[]}}"#);
            let sent = body(&system);
            assert_eq!(remove(sent.clone()), expected.map_or(sent, body));
        }
        for other in [
            "x-anthropic-billing-header:",
            r#"{"messages":["x-anthropic-billing-header:"]}"#,
        ] {
            assert_eq!(remove(other.to_owned()), other);
        }
    }
}
