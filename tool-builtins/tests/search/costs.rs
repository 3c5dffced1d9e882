//! Time of a search in one file: linear in the length of the file, limited, and ended with the call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tool_runtime::{CancellationToken, Context, ToolCall};

use crate::folder::TestFolder;

/// Returns the arguments of a search whose answer has lines.
fn content(pattern: &str, more: &Value) -> Value {
    let mut arguments = json!({ "pattern": pattern, "output_mode": "content" });
    let more = more.as_object().unwrap().clone();
    arguments.as_object_mut().unwrap().extend(more);
    arguments
}

#[tokio::test]
async fn matches_of_a_long_line_take_linear_time() {
    let folder = TestFolder::searching();
    folder.write("long.js", "a".repeat(1 << 20));
    let started = Instant::now();
    let all = json!({ "-o": true, "offset": 1_000_000 });
    let found = folder.call("Grep", content("a", &all)).await;
    assert!(found.ok().starts_with("long.js:1:a\n"), "{}", found.text());
    let count = json!({ "pattern": "a", "-o": true, "output_mode": "count" });
    assert_eq!(folder.call("Grep", count).await.ok(), "long.js:1048576");
    println!("{:?}", started.elapsed());
    // With a quadratic time it is about an hour.
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn line_numbers_of_matches_are_counted_from_match_to_match() {
    let folder = TestFolder::searching();
    folder.write("f", "a b\nc\na a\nb\na\n\na");
    let matches = folder.call("Grep", content("a", &json!({ "-o": true }))).await;
    assert_eq!(matches.ok(), "f:1:a\nf:3:a\nf:3:a\nf:5:a\nf:7:a");
    let lines = folder
        .call(
            "Grep",
            content("b\\n.?|a\\n", &json!({ "-o": true, "multiline": true })),
        )
        .await;
    assert_eq!(lines.ok(), "f:1:b\nf:2:c\nf:3:a\nf:4:b\nf:5:a");
}

#[tokio::test]
async fn pages_begin_after_the_skipped_lines() {
    let folder = TestFolder::searching();
    folder.write("a", "x\n".repeat(5_000));
    folder.write("b", "y\nx\nx\n");
    let none = folder
        .call("Grep", content("x", &json!({ "offset": 100_000_000 })))
        .await;
    assert_eq!(none.ok(), "no more results at `offset` 100000000");
    let offset = 4_999;
    let last = folder
        .call("Grep", content("x", &json!({ "offset": offset })))
        .await;
    assert_eq!(last.ok(), "a:5000:x\nb:2:x\nb:3:x");
    let surroundings = json!({ "offset": offset, "-B": 1, "head_limit": 2 });
    let page = folder.call("Grep", content("x", &surroundings)).await;
    let rest = "\n(results 5000 to 5001 lines; continue with `offset` 5001)";
    assert_eq!(page.ok(), format!("a:5000:x\n--\nb-1-y{rest}"));
    // One match that spans all lines.
    let all = json!({ "multiline": true, "head_limit": 2, "path": "a" });
    let page = folder.call("Grep", content("(?s).+", &all)).await;
    assert_eq!(
        page.ok(),
        "a:1:x\na:2:x\n(results 1 to 2 lines; continue with `offset` 2)"
    );
    // One match for each character.
    let signs = json!({ "pattern": "(?s).", "multiline": true, "output_mode": "count", "path": "a" });
    assert_eq!(folder.call("Grep", signs).await.ok(), "a:10000");
}

/// The thread of a cancelled search ends: the runtime waits for its threads when it is dropped.
#[test]
fn cancelled_search_of_a_large_file_ends() {
    let folder = Arc::new(TestFolder::searching());
    folder.write("a", "x\n".repeat(20 << 20));
    folder.write("b", "x".repeat(40 << 20));
    // A file that is read in less time than passes before the cancellation.
    folder.write("c", "x".repeat(1 << 20));
    let signs = |path| json!({ "pattern": "(?s).", "multiline": true, "output_mode": "count", "-o": true, "path": path });
    for arguments in [
        content("x", &json!({ "offset": 100_000_000, "path": "a" })),
        content("x", &json!({ "offset": 100_000_000, "path": "b", "-o": true })),
        json!({ "pattern": "none|never", "-i": true }),
        signs("a"),
        signs("c"),
    ] {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let token = CancellationToken::new();
        let context = Context::new()
            .with_session("s-1")
            .with_cancellation(token.clone());
        let call = ToolCall::new("toolu_1", "Grep", arguments.clone()).with_context(context);
        let running = {
            let folder = Arc::clone(&folder);
            runtime.spawn(async move { folder.registry().call(call).await })
        };
        std::thread::sleep(Duration::from_millis(100));
        let cancelled = Instant::now();
        token.cancel();
        let _ = runtime.block_on(running);
        drop(runtime);
        println!("{arguments}: the thread ended after {:?}", cancelled.elapsed());
        // Four times as long as promised, for machines under load.
        assert!(
            cancelled.elapsed() < Duration::from_millis(400),
            "{arguments}: {:?}",
            cancelled.elapsed()
        );
    }
}
