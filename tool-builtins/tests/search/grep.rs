//! `Grep`: pages, contexts, what is not searched, and advice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tool_runtime::{CancellationToken, Context, ToolCall};

use crate::folder::TestFolder;

fn content(pattern: &str, more: &Value) -> Value {
    let mut arguments = json!({ "pattern": pattern, "output_mode": "content" });
    arguments
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    arguments
}

#[tokio::test]
async fn lines_have_paths_numbers_and_contexts() {
    let folder = TestFolder::searching();
    folder.write("a.txt", "one\r\ntwo\nthree\nfour\nfive\nsix\n");
    folder.write("b/c.txt", "two two");
    for (more, expected) in [
        (json!({}), "a.txt:2:two\nb/c.txt:1:two two"),
        (json!({ "-n": false }), "a.txt:two\nb/c.txt:two two"),
        (json!({ "-o": true }), "a.txt:2:two\nb/c.txt:1:two\nb/c.txt:1:two"),
        (
            json!({ "-A": 1 }),
            "a.txt:2:two\na.txt-3-three\n--\nb/c.txt:1:two two",
        ),
        (json!({ "-B": 1, "path": "a.txt" }), "a.txt-1-one\na.txt:2:two"),
        (
            json!({ "-C": 1, "glob": "a.*" }),
            "a.txt-1-one\na.txt:2:two\na.txt-3-three",
        ),
        (json!({ "context": 1, "glob": "!a.*" }), "b/c.txt:1:two two"),
        (json!({ "type": "txt", "path": "b" }), "b/c.txt:1:two two"),
    ] {
        assert_eq!(
            folder.call("Grep", content("two", &more)).await.ok(),
            expected,
            "{more}"
        );
    }
    let groups = folder.call("Grep", content("one|six", &json!({ "-A": 1 }))).await;
    assert_eq!(groups.ok(), "a.txt:1:one\na.txt-2-two\n--\na.txt:6:six");
    let ignoring = folder
        .call("Grep", content("TWO", &json!({ "-i": true, "path": "a.txt" })))
        .await;
    assert_eq!(ignoring.ok(), "a.txt:2:two");
    let multiline = folder
        .call("Grep", content("two.*four", &json!({ "multiline": true })))
        .await;
    assert_eq!(multiline.ok(), "a.txt:2:two\na.txt:3:three\na.txt:4:four");
    let paths = folder.call("Grep", json!({ "pattern": "three" })).await;
    assert_eq!(paths.ok(), "a.txt");
    let counts = folder
        .call(
            "Grep",
            json!({ "pattern": "o", "output_mode": "count", "path": "a.txt" }),
        )
        .await;
    assert_eq!(counts.ok(), "a.txt:3");
    let both = folder
        .call("Grep", content("two", &json!({ "-C": 1, "context": 1 })))
        .await;
    assert!(
        both.text().contains("`-C` and `context` are the same"),
        "{}",
        both.text()
    );
}

#[tokio::test]
async fn pages_have_every_line_once() {
    let folder = TestFolder::searching();
    for file in 0..20 {
        let lines: Vec<String> = (0..17)
            .map(|line| format!("match {file} {line}\nother\nother\nother\n"))
            .collect();
        folder.write(&format!("f{file:02}"), lines.concat());
    }
    for context in [0, 1] {
        let all = folder
            .call(
                "Grep",
                content("match", &json!({ "head_limit": 0, "-A": context })),
            )
            .await;
        let all: Vec<String> = all
            .ok()
            .lines()
            .filter(|line| *line != "--")
            .map(str::to_owned)
            .collect();
        assert_eq!(all.len(), 20 * 17 * (1 + context));
        for limit in [1, 7, 100] {
            let mut paged: Vec<String> = Vec::new();
            while paged.len() < 300 {
                let page = folder
                    .call(
                        "Grep",
                        content(
                            "match",
                            &json!({ "head_limit": limit, "offset": paged.len(), "-A": context }),
                        ),
                    )
                    .await;
                let lines: Vec<&str> = page.ok().lines().filter(|line| *line != "--").collect();
                let (last, lines) = lines.split_last().unwrap();
                let next = paged.len() + lines.len();
                assert_eq!(
                    *last,
                    format!(
                        "(results {} to {next} lines; continue with `offset` {next})",
                        paged.len() + 1
                    )
                );
                paged.extend(lines.iter().map(|line| (*line).to_owned()));
            }
            assert_eq!(paged, all[..paged.len()]);
        }
    }
    let mut paged: Vec<String> = Vec::new();
    for offset in [0, 6, 12, 18] {
        let page = folder
            .call(
                "Grep",
                json!({ "pattern": "match", "output_mode": "count", "head_limit": 6, "offset": offset }),
            )
            .await;
        paged.extend(
            page.ok()
                .lines()
                .filter(|line| line.starts_with('f'))
                .map(str::to_owned),
        );
    }
    paged.sort();
    let expected: Vec<String> = (0..20).map(|file| format!("f{file:02}:17")).collect();
    assert_eq!(paged, expected);
    // Matches of several lines, which the pages cut.
    let multiline = |limit: usize, offset: usize| {
        content(
            "match[^\n]*\nother",
            &json!({ "multiline": true, "head_limit": limit, "offset": offset }),
        )
    };
    let all = folder.call("Grep", multiline(0, 0)).await;
    let all: Vec<&str> = all.ok().lines().collect();
    assert_eq!(all.len(), 20 * 17 * 2);
    let mut paged = Vec::new();
    while paged.len() < 100 {
        let page = folder.call("Grep", multiline(7, paged.len())).await;
        let lines = page.ok().lines().filter(|line| line.starts_with('f'));
        paged.extend(lines.map(str::to_owned));
    }
    assert_eq!(paged, all[..paged.len()]);
    let past = folder
        .call("Grep", json!({ "pattern": "match", "offset": 20 }))
        .await;
    assert_eq!(past.ok(), "no more results at `offset` 20");
}

#[tokio::test]
async fn answers_are_limited() {
    let folder = TestFolder::searching();
    folder.write("many", "x\n".repeat(10_000));
    let many = folder
        .call("Grep", content("x", &json!({ "head_limit": 0 })))
        .await;
    assert!(
        many.ok()
            .ends_with("\n(results 1 to 2000 lines; continue with `offset` 2000)")
    );
    folder.write("many", format!("{}\n", "y".repeat(400)).repeat(1_000));
    let bytes = folder
        .call("Grep", content("y", &json!({ "head_limit": 0 })))
        .await;
    assert!(bytes.ok().len() <= (100 << 10) + 200, "{}", bytes.text().len());
    assert!(bytes.text().contains("continue with `offset`"));
    folder.write(
        "many",
        format!("{}needle{}\n", "a".repeat(2_000), "b".repeat(2_000)),
    );
    let cut = folder.call("Grep", content("needle", &json!({}))).await;
    let line = cut
        .ok()
        .strip_prefix("many:1:…")
        .unwrap()
        .strip_suffix('…')
        .unwrap();
    assert_eq!(line.chars().count(), 500);
    assert!(line.contains("needle"), "{line}");
}

#[tokio::test]
async fn nothing_found_says_what_was_searched() {
    let folder = TestFolder::searching();
    folder.write("a.go", "interface{}\nfoo(bar)\na.b\n");
    folder.write("binary", b"foo\0");
    folder.write("x.log", "nothing");
    folder.write(".gitignore", "*.log\n");
    let nothing = folder.call("Grep", json!({ "pattern": "nothing" })).await;
    assert_eq!(
        nothing.ok(),
        "no match in 2 files of `.` (not searched: 1 ignored files, 1 binary files)"
    );
    let literal = folder.call("Grep", json!({ "pattern": "foo(bar)x?\\(" })).await;
    assert!(literal.ok().starts_with("no match"), "{}", literal.text());
    let literal = folder.call("Grep", json!({ "pattern": "^foo(bar)$" })).await;
    assert!(!literal.ok().contains("As text"), "{}", literal.text());
    let literal = folder.call("Grep", json!({ "pattern": "foo(bar)" })).await;
    assert_eq!(
        literal.ok(),
        "no match in 2 files of `.` (not searched: 1 ignored files, 1 binary files)\nAs text, the pattern is in 1 files; send `foo\\(bar\\)`"
    );
    let invalid = folder.call("Grep", json!({ "pattern": "interface{}" })).await;
    assert_eq!(invalid.code(), "invalid_pattern");
    assert!(
        invalid.text().contains('^')
            && invalid
                .text()
                .ends_with("for the text itself, send `interface\\{\\}`"),
        "{}",
        invalid.text()
    );
    let lines = folder.call("Grep", json!({ "pattern": "foo\\nbar" })).await;
    assert!(
        lines
            .text()
            .ends_with("set `multiline` for matches over several lines"),
        "{}",
        lines.text()
    );
    let around = folder.call("Grep", json!({ "pattern": "(?=a)" })).await;
    assert_eq!(around.code(), "invalid_pattern");
    let kind = folder
        .call("Grep", json!({ "pattern": "a", "type": "javascript" }))
        .await;
    assert!(
        kind.text()
            .contains("unknown type `javascript`; similar types: java"),
        "{}",
        kind.text()
    );
    for (path, code) in [
        ("none", "not_found"),
        ("binary", "binary"),
        ("..", "outside_workspace"),
    ] {
        let failed = folder.call("Grep", json!({ "pattern": "a", "path": path })).await;
        assert_eq!(failed.code(), code, "{path}");
    }
}

#[tokio::test]
async fn shown_lines_are_known_to_the_session() {
    let folder = TestFolder::searching();
    folder.write("a", "one  \ntwo\n");
    let edit = json!({ "file_path": "a", "old_string": "one\ntwo", "new_string": "one\nzwei" });
    assert_eq!(folder.call("Edit", edit.clone()).await.code(), "not_read");
    folder.call("Grep", content("one", &json!({}))).await.ok();
    folder.call("Edit", edit).await.ok();
    assert_eq!(folder.text("a"), "one  \nzwei\n");
    // A file of which two lines were shown is not replaced as a whole.
    folder.write("b", "one\ntwo\nthree\n");
    folder
        .call("Grep", content("two|three", &json!({ "path": "b" })))
        .await
        .ok();
    let write = json!({ "file_path": "b", "content": "" });
    assert_eq!(folder.call("Write", write.clone()).await.code(), "not_read");
    folder
        .call("Grep", content("one", &json!({ "path": "b" })))
        .await
        .ok();
    folder.call("Write", write).await.ok();
}

#[tokio::test]
async fn denied_files_are_not_searched() {
    let folder = TestFolder::searching_with(|options| options.deny(["**/.env*", "secrets"]));
    folder.write(".env", "KEY=1\n");
    folder.write("sub/.env.local", "KEY=1\n");
    folder.write("secrets/a", "KEY=1\n");
    folder.write("a", "KEY=2\n");
    assert_eq!(folder.call("Grep", json!({ "pattern": "KEY" })).await.ok(), "a");
    for path in [".env", "secrets", "secrets/a"] {
        let failed = folder
            .call("Grep", json!({ "pattern": "KEY", "path": path }))
            .await;
        assert_eq!(failed.code(), "denied");
    }
}

/// A tree of 100,000 files: a search is complete, and a cancelled one ends within 100 ms of work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_tree_is_searched_and_a_search_is_cancelled() {
    // Files in memory, where there is such a disk.
    let memory = std::path::Path::new("/dev/shm");
    let outer = TestFolder::searching();
    let path = if memory.is_dir() { memory } else { &outer.path };
    let path = path.join(format!("tool-builtins-large-{}", std::process::id()));
    std::fs::create_dir(&path).unwrap();
    let folder = Arc::new(TestFolder::searching_at(&path));
    for at in 0..1_000 {
        let path = folder.path.join(format!("d{at}"));
        std::fs::create_dir(&path).unwrap();
        for file in 0..100 {
            std::fs::write(path.join(format!("f{file}")), "text\n").unwrap();
        }
    }
    folder.write("d500/needle", "needle\n");
    let found = folder.call("Grep", json!({ "pattern": "needle" })).await;
    assert!(found.ok().starts_with("d500/needle"), "{}", found.text());
    let token = CancellationToken::new();
    let context = Context::new()
        .with_session("s-1")
        .with_cancellation(token.clone());
    let call = ToolCall::new("toolu_1", "Grep", json!({ "pattern": "none" })).with_context(context);
    let running = {
        let folder = Arc::clone(&folder);
        tokio::spawn(async move { folder.registry().call(call).await })
    };
    tokio::time::sleep(Duration::from_millis(20)).await;
    let cancelled = Instant::now();
    token.cancel();
    let outcome = running.await.unwrap();
    println!("cancelled after {:?}", cancelled.elapsed());
    assert!(outcome.result.is_error, "{:?}", outcome.result);
    // Four times as long as promised, for machines under load.
    assert!(
        cancelled.elapsed() < Duration::from_millis(400),
        "{:?}",
        cancelled.elapsed()
    );
}
