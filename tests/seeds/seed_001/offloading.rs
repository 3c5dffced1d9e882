//! F-001: a content goes, a pointer stays.

use std::error::Error as _;
use std::fs;

use serde_json::{Value, json};
use tool_builtins::offload::{
    MemoryWriter, OffloadOptions, OffloadResult, Writer, offload, offload_to_files,
};
use tool_runtime::ToolRegistry;
use tool_runtime::testing::run_in;

use super::{Full, content, directory, file, message, offload_to, pointer, result_block, somewhere};

#[tokio::test]
async fn f_001_output_result() {
    let before = "x".repeat(1234);
    let offloaded = offload_to(MemoryWriter::new(), &message("toolu_xyz", before), somewhere())
        .await
        .unwrap();
    let pointer = pointer();
    assert_eq!(offloaded.file, file());
    assert_eq!(
        offloaded.freed_chars,
        1234 - i64::try_from(pointer.len()).unwrap()
    );
    assert_eq!(
        serde_json::to_value(&offloaded).unwrap(),
        json!({
            "message": { "role": "user", "content": [result_block("toolu_xyz", pointer)] },
            "freedChars": offloaded.freed_chars,
            "file": file(),
        }),
    );

    let relative = OffloadOptions::new("s", ".offload");
    let offloaded = offload_to(MemoryWriter::new(), &message("toolu_xyz", "x"), relative)
        .await
        .unwrap();
    assert!(offloaded.file.is_absolute(), "{}", offloaded.file.display());
    assert!(offloaded.file.ends_with(".offload/s/toolu_xyz.md"));
}

#[tokio::test]
async fn f_001_rule_string_as_is() {
    let memory = MemoryWriter::new();
    let text = "\u{feff}first\r\n\tsecond \u{0}\u{1F980} \"quoted\" \\n\n";
    offload_to(memory.clone(), &message("toolu_xyz", text), somewhere())
        .await
        .unwrap();
    assert_eq!(memory.read(file()).as_deref(), Some(text));
}

#[tokio::test]
async fn f_001_rule_blocks_as_json() {
    let memory = MemoryWriter::new();
    let compact = r#"[{"type":"text","text":"a \"b\"","citations":null},{"z":1,"type":"later","a":[1.5,18446744073709551615]}]"#;
    let blocks: Value = serde_json::from_str(compact).unwrap();
    offload_to(memory.clone(), &message("toolu_xyz", blocks), somewhere())
        .await
        .unwrap();
    assert_eq!(memory.read(file()).as_deref(), Some(compact));
}

#[tokio::test]
async fn f_001_rule_pointer_text() {
    let offloaded = offload_to(MemoryWriter::new(), &message("toolu_xyz", "x"), somewhere())
        .await
        .unwrap();
    assert_eq!(
        content(&offloaded.message),
        format!("[Tool result offloaded to file: {}]", offloaded.file.display()),
    );
}

#[tokio::test]
async fn f_001_rule_deep_copy() {
    let original = message("toolu_xyz", "x");
    let before = original.clone();
    let mut offloaded = offload_to(MemoryWriter::new(), &original, somewhere())
        .await
        .unwrap();
    offloaded.message.role.push('!');
    assert_eq!(original, before);
}

#[tokio::test]
async fn f_001_error_write_fails() {
    let error = offload_to(Full, &message("toolu_xyz", "x"), somewhere())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no space left on device"), "{error}");
    assert!(
        error.to_string().contains(&pointer()[32..pointer().len() - 1]),
        "{error}"
    );
    assert_eq!(error.source().unwrap().to_string(), "no space left on device");

    // A path through a regular file fails for everybody, root too.
    let directory = directory("write_fails");
    fs::write(directory.join("file"), "in the way").unwrap();
    let options = OffloadOptions::new("s", directory.join("file"));
    let error = offload_to_files(message("toolu_1", "x"), options)
        .await
        .unwrap_err();
    assert!(error.source().is_some(), "{error}");
}

#[tokio::test]
async fn f_001_boundary_no_threshold() {
    for short in ["", "x"] {
        let memory = MemoryWriter::new();
        let offloaded = offload_to(memory.clone(), &message("toolu_xyz", short), somewhere())
            .await
            .unwrap();
        assert_eq!(memory.read(file()).as_deref(), Some(short));
        assert!(
            offloaded.freed_chars < 0,
            "the pointer is longer than what it stands for"
        );
    }
}

#[tokio::test]
async fn f_001_boundary_repeated_id() {
    let directory = directory("repeated_id");
    let options = OffloadOptions::new("s", &directory);
    let first = offload_to_files(message("toolu_1", "the first and longer one"), &options)
        .await
        .unwrap();
    let second = offload_to_files(message("toolu_1", "the second"), &options)
        .await
        .unwrap();
    assert_eq!(first.file, second.file);
    assert_eq!(fs::read_to_string(second.file).unwrap(), "the second");
}

#[tokio::test]
async fn f_001_state_stateless() {
    let once = offload_to(MemoryWriter::new(), &message("toolu_xyz", "x"), somewhere())
        .await
        .unwrap();
    for _ in 0..3 {
        let again = offload_to(MemoryWriter::new(), &message("toolu_xyz", "x"), somewhere())
            .await
            .unwrap();
        assert_eq!(again, once);
    }
}

#[tokio::test]
async fn f_001_state_independent() {
    let refused = offload_to(Full, &message("toolu_xyz", "x"), somewhere()).await;
    assert!(refused.is_err());
    let memory = MemoryWriter::new();
    offload_to(memory.clone(), &message("toolu_a", "a"), somewhere())
        .await
        .unwrap();
    offload_to(memory.clone(), &message("toolu_b", "b"), somewhere())
        .await
        .unwrap();
    let contents: Vec<_> = memory.files().into_values().collect();
    assert_eq!(contents, ["a", "b"]);
}

#[tokio::test]
async fn design_tool_offload() {
    let memory = MemoryWriter::new();
    let mut registry = ToolRegistry::new()
        .with_state(somewhere())
        .with_state(Writer::new(memory.clone()));
    registry.register::<offload>().unwrap();
    let definition = registry.get_tool("offload").unwrap().definition();
    let properties = definition.input_schema["properties"].as_object().unwrap();
    assert_eq!(
        properties.keys().collect::<Vec<_>>(),
        ["message"],
        "the model does not choose the place"
    );

    let message = json!({
        "role": "user",
        "id": "msg_1",
        "content": [{ "type": "text", "text": "before" }, result_block("toolu_xyz", "x".repeat(2000))],
    });
    let outcome = run_in(&registry, "offload", json!({ "message": message }))
        .await
        .assert_silent();
    let answer: OffloadResult = serde_json::from_str(outcome.result.text().unwrap()).unwrap();
    assert_eq!(answer.file, file());
    let mut expected = message;
    expected["content"][1]["content"] = pointer().into();
    assert_eq!(serde_json::to_value(answer.message).unwrap(), expected);
    assert_eq!(memory.read(file()).as_deref(), Some(&*"x".repeat(2000)));

    run_in(
        &registry,
        "offload",
        json!({ "message": { "role": "user", "content": "just text" } }),
    )
    .await
    .assert_error("the message has no `tool_result` block, one is needed");
}
