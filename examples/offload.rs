//! A long result is written to a file, and the message keeps a pointer to the file.
//!
//! A layer does the same for every call of a registry; see the story `layers`.

use std::fs;
use std::path::Path;

use examples::voice::{chapter, say};
use tool_builtins::offload::{OffloadOptions, offload_to_files};
use tool_runtime::message::Message;
use tool_runtime::serde_json::{Value, from_value, json};

#[tokio::main]
async fn main() {
    let directory = std::env::temp_dir().join(format!("offload-{}", std::process::id()));
    let options = OffloadOptions::new("session-abc123", &directory);

    chapter("A long text");
    let log: String = (1..=200)
        .map(|line| format!("{line:>4} all is quiet\n"))
        .collect();
    offload(&message("toolu_xyz", json!(log)), &options, &directory).await;

    chapter("Content blocks: the file has the whole array, as JSON");
    let blocks =
        json!([{ "type": "text", "text": "x".repeat(1500) }, { "type": "text", "text": "and the rest" }]);
    offload(&message("toolu_blocks", blocks), &options, &directory).await;

    chapter("An id that would lead elsewhere: refused, nothing is written");
    offload(
        &message("../../etc/passwd", json!("x".repeat(1500))),
        &options,
        &directory,
    )
    .await;

    chapter("A directory that cannot be made: the error says why, the message is as it was");
    let file_in_the_way = directory.join("in-the-way");
    fs::write(&file_in_the_way, "").expect("the temporary directory is writable");
    let options = OffloadOptions::new("session-abc123", &file_in_the_way);
    offload(
        &message("toolu_xyz", json!("x".repeat(1500))),
        &options,
        &directory,
    )
    .await;

    fs::remove_dir_all(directory).expect("the story's own directory");
}

async fn offload(message: &Message, options: &OffloadOptions, directory: &Path) {
    let untouched = message.clone();
    let relative = |text: String| text.replace(&directory.display().to_string(), "<output dir>");
    say("before", shortened(&to_json(message)));
    match offload_to_files(message, options).await {
        Ok(offloaded) => {
            say("after", relative(to_json(&offloaded.message)));
            let content = fs::read_to_string(&offloaded.file).expect("the file was just written");
            say(
                "file",
                format!(
                    "{} characters: {}",
                    content.chars().count(),
                    shortened(&content.replace('\n', "⏎"))
                ),
            );
            say("freed", format!("{} characters", offloaded.freed_chars));
        }
        Err(error) => say("error", relative(error.to_string())),
    }
    assert_eq!(*message, untouched, "the original is never touched");
}

fn message(tool_use_id: &str, content: Value) -> Message {
    let block = json!({ "type": "tool_result", "tool_use_id": tool_use_id, "content": content });
    from_value(json!({ "role": "user", "content": [block] })).expect("a message")
}

fn to_json(message: &Message) -> String {
    tool_runtime::serde_json::to_string(message).expect("a message is JSON")
}

fn shortened(text: &str) -> String {
    let start: String = text.chars().take(100).collect();
    format!("{start} …")
}
