//! The function `offload`, which writes content to a file and returns a pointer.

use std::error::Error as _;
use std::fs;

use serde_json::{Value, json};
use tool_builtins::offload::{
    MemoryWriter, OffloadError, OffloadOptions, OffloadResult, Writer, offload, offload_to_files,
};
use tool_runtime::ToolRegistry;
use tool_runtime::testing::run_in;

use super::{FullDisk, content, directory, file, message, offload_to, pointer, result_block, somewhere};

/// R-OFF-4
#[tokio::test]
async fn returns_the_message_the_freed_characters_and_the_file() {
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

/// R-OFF-1
#[tokio::test]
async fn strings_are_written_unchanged() {
    let memory = MemoryWriter::new();
    let text = "\u{feff}first\r\n\tsecond \u{0}\u{1F980} \"quoted\" \\n\n";
    offload_to(memory.clone(), &message("toolu_xyz", text), somewhere())
        .await
        .unwrap();
    assert_eq!(memory.read(file()).as_deref(), Some(text));
}

/// R-OFF-2
#[tokio::test]
async fn blocks_are_written_as_compact_json() {
    let memory = MemoryWriter::new();
    let compact = r#"[{"type":"text","text":"a \"b\"","citations":null},{"z":1,"type":"later","a":[1.5,18446744073709551615]}]"#;
    let blocks: Value = serde_json::from_str(compact).unwrap();
    let offloaded = offload_to(memory.clone(), &message("toolu_xyz", blocks), somewhere())
        .await
        .unwrap();
    assert_eq!(memory.read(file()).as_deref(), Some(compact));
    assert_eq!(content(&offloaded.message), pointer());
}

/// R-OFF-3
#[tokio::test]
async fn content_becomes_a_pointer_to_the_file() {
    let directory = directory("pointer");
    let long = "long ".repeat(200);
    let offloaded = offload_to_files(
        &message("toolu_1", long.as_str()),
        OffloadOptions::new("s", &directory),
    )
    .await
    .unwrap();
    let file = directory.join("s/toolu_1.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), long);
    assert_eq!(
        content(&offloaded.message),
        format!("[Tool result offloaded to file: {}]", file.display()),
    );
}

/// R-OFF-7
#[tokio::test]
async fn failed_write_is_an_error_with_its_cause() {
    let error = offload_to(FullDisk, &message("toolu_xyz", "x"), somewhere())
        .await
        .unwrap_err();
    assert!(matches!(error, OffloadError::Write { .. }), "{error:?}");
    assert!(error.to_string().contains("no space left on device"), "{error}");
    assert!(
        error.to_string().contains(&pointer()[32..pointer().len() - 1]),
        "{error}"
    );
    assert_eq!(error.source().unwrap().to_string(), "no space left on device");

    // A path through a regular file fails for every user, also for root.
    let directory = directory("write_fails");
    fs::write(directory.join("file"), "in the way").unwrap();
    let options = OffloadOptions::new("s", directory.join("file"));
    let error = offload_to_files(message("toolu_1", "x"), options)
        .await
        .unwrap_err();
    assert!(error.source().is_some(), "{error}");
}

/// R-OFF-8
#[tokio::test]
async fn short_content_is_offloaded_too() {
    for short in ["", "x"] {
        let memory = MemoryWriter::new();
        let offloaded = offload_to(memory.clone(), &message("toolu_xyz", short), somewhere())
            .await
            .unwrap();
        assert_eq!(memory.read(file()).as_deref(), Some(short));
        assert!(
            offloaded.freed_chars < 0,
            "the pointer is longer than the content"
        );
    }
}

/// R-OFF-9
#[tokio::test]
async fn repeated_id_overwrites_the_file() {
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

/// R-OFF-10
#[tokio::test]
async fn equal_calls_have_equal_results() {
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

/// R-OFF-10
#[tokio::test]
async fn calls_do_not_affect_each_other() {
    let refused = offload_to(FullDisk, &message("toolu_xyz", "x"), somewhere()).await;
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

/// R-OFF-25
#[tokio::test]
async fn offload_is_a_tool_whose_host_chooses_the_directory() {
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
        "the model does not choose the file"
    );

    let message = json!({
        "role": "user",
        "id": "msg_1",
        "content": [{ "type": "text", "text": "before" }, result_block("toolu_xyz", "x".repeat(2000))],
    });
    let outcome = run_in(&registry, "offload", json!({ "message": message }))
        .await
        .assert_no_warnings();
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
    .assert_error("missing `tool_result` block in the message");
}
