//! Message of an offloaded result, of which only the content is replaced.

use serde_json::{Value, json};
use tool_builtins::offload::{MemoryWriter, OffloadOptions, offload_to_files};
use tool_runtime::message::Message;

use super::{directory, file, message, message_of, offload_to, pointer, result_block, somewhere};

/// R-OFF-6
#[tokio::test]
async fn returned_message_differs_in_its_content_only() {
    let original = message("toolu_xyz", "x");
    let offloaded = offload_to(MemoryWriter::new(), &original, somewhere())
        .await
        .unwrap();
    let mut back = offloaded.message.clone();
    assert_ne!(back, original);
    back.content = original.content.clone();
    assert_eq!(back, original, "only the content differs");
}

/// R-OFF-6
#[tokio::test]
async fn original_message_is_unchanged() {
    let directory = directory("original_same");
    let original = message("toolu_1", json!([{ "type": "text", "text": "x" }]));
    let before = serde_json::to_string(&original).unwrap();
    offload_to_files(&original, OffloadOptions::new("s", directory))
        .await
        .unwrap();
    assert_eq!(serde_json::to_string(&original).unwrap(), before);
}

/// R-OFF-18
#[tokio::test]
async fn message_needs_exactly_one_result() {
    let memory = MemoryWriter::new();
    let none = [
        json!("just text"),
        json!([]),
        json!([{ "type": "text", "text": "x" }]),
    ];
    for blocks in none {
        let error = offload_to(memory.clone(), &message_of(blocks), somewhere())
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "missing `tool_result` block in the message");
    }
    let several = message_of(vec![result_block("toolu_a", "x"), result_block("toolu_b", "y")]);
    let error = offload_to(memory.clone(), &several, somewhere())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected one `tool_result` block, got 2 (toolu_a, toolu_b)",
    );
    assert!(memory.files().is_empty());
}

/// R-OFF-19
#[tokio::test]
async fn other_blocks_and_unknown_fields_are_kept() {
    let text = r#"{"role":"user","id":"msg_1","content":[{"type":"text","text":"before","citations":[]},{"type":"tool_result","cache_control":{"type":"ephemeral"},"tool_use_id":"toolu_xyz","content":[{"type":"new","z":0,"a":1}],"is_error":true,"later":null},{"type":"text","text":"after"}],"stop":null}"#;
    let original: Message = serde_json::from_str(text).unwrap();
    let memory = MemoryWriter::new();
    let offloaded = offload_to(memory.clone(), &original, somewhere()).await.unwrap();
    assert_eq!(
        memory.read(file()).as_deref(),
        Some(r#"[{"type":"new","z":0,"a":1}]"#)
    );
    let pointer = Value::from(pointer()).to_string();
    let sorted = |message: &str| serde_json::from_str::<Value>(message).unwrap();
    let expected = text.replace(r#"[{"type":"new","z":0,"a":1}]"#, &pointer);
    let got = serde_json::to_string(&offloaded.message).unwrap();
    assert_eq!(sorted(&got), sorted(&expected));
    let blocks = |message: &str| message[message.find('[').unwrap()..message.rfind(']').unwrap()].to_owned();
    assert_eq!(blocks(&got), blocks(&expected), "the order of the fields too");
}

/// R-OFF-20
#[tokio::test]
async fn result_without_id_or_content_is_an_error() {
    let incomplete = [
        (
            json!({ "type": "tool_result", "content": "x" }),
            "missing `tool_use_id`",
        ),
        (
            json!({ "type": "tool_result", "tool_use_id": 7, "content": "x" }),
            "missing `tool_use_id`",
        ),
        (
            json!({ "type": "tool_result", "tool_use_id": "toolu_1" }),
            "invalid content of the result \"toolu_1\"",
        ),
        (
            result_block("toolu_1", Value::Null),
            "invalid content of the result \"toolu_1\"",
        ),
    ];
    for (block, expected) in incomplete {
        let error = offload_to(MemoryWriter::new(), &message_of(vec![block]), somewhere())
            .await
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// R-OFF-5
#[tokio::test]
async fn characters_are_unicode_scalar_values() {
    let pointer = i64::try_from(pointer().chars().count()).unwrap();
    // Six UTF-8 bytes, four UTF-16 units … each line has three scalar values.
    for text in ["abc", "日本語", "\u{1F980}\u{1F980}\u{1F980}", "e\u{301}x"] {
        let offloaded = offload_to(MemoryWriter::new(), &message("toolu_xyz", text), somewhere())
            .await
            .unwrap();
        assert_eq!(offloaded.freed_chars, 3 - pointer, "{text}");
    }
}
