//! UC-001 to UC-003.

use std::fs;

use serde_json::{Value, json};
use tool_builtins::offload::{OffloadError, OffloadOptions, offload_to_files};

use super::{Full, content, directory, message, offload_to, somewhere};

#[tokio::test]
async fn uc_001_use_string() {
    let directory = directory("uc_001");
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

#[tokio::test]
async fn uc_002_use_blocks() {
    let directory = directory("uc_002");
    let blocks = json!([{ "type": "text", "text": "x".repeat(1000) }, { "type": "image", "source": {} }]);
    let offloaded = offload_to_files(
        &message("toolu_1", blocks.clone()),
        OffloadOptions::new("s", &directory),
    )
    .await
    .unwrap();
    let written: Value = serde_json::from_str(&fs::read_to_string(&offloaded.file).unwrap()).unwrap();
    assert_eq!(written, blocks);
    assert!(content(&offloaded.message).is_string());
}

#[tokio::test]
async fn uc_003_use_write_fails() {
    let failure = offload_to(Full, &message("toolu_xyz", "x"), somewhere()).await;
    assert!(matches!(failure, Err(OffloadError::Write { .. })), "{failure:?}");
}
