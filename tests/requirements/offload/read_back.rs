//! Reading and searching of offloaded content.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tool_builtins::offload::{
    FilePart, FileReader, FileWriter as _, LocalReader, LocalWriter, MemoryWriter, OffloadLayer,
    OffloadOptions, Reader, Reading, read_offloaded,
};
use tool_runtime::{Context, ToolCall, ToolDefinition, ToolOutcome, ToolRegistry};

use super::{directory, root, somewhere};

/// Builds a registry with the tool, for `somewhere()`.
fn reading(reader: impl FileReader) -> ToolRegistry {
    let mut registry = ToolRegistry::new()
        .with_state(somewhere())
        .with_state(Reader::new(reader));
    registry.register::<read_offloaded>().unwrap();
    registry
}

async fn call_in(registry: &ToolRegistry, session: &str, input: Value) -> ToolOutcome {
    let context = Context::new().with_session(session);
    let call = ToolCall::new("toolu_read", "ReadOffloaded", input).with_context(context);
    registry.call(call).await
}

/// Returns the answer in the session `s`.
async fn answer(registry: &ToolRegistry, input: Value) -> String {
    let outcome = call_in(registry, "s", input).await;
    let text = outcome.result.text().unwrap().to_owned();
    assert!(!outcome.result.is_error, "{text}");
    text
}

async fn error(registry: &ToolRegistry, input: Value) -> String {
    let outcome = call_in(registry, "s", input).await;
    let text = outcome.result.text().unwrap().to_owned();
    assert!(outcome.result.is_error, "{text}");
    text
}

/// Stores files of the session `s` in memory.
async fn memory(files: &[(&str, &str)]) -> MemoryWriter {
    let memory = MemoryWriter::new();
    for (name, content) in files {
        let file = root().join("s").join(format!("{name}.md"));
        memory.write(&file, content).await.unwrap();
    }
    memory
}

/// Returns the offset after `continue with offset`, if there is one.
fn next_offset(answer: &str) -> Option<u64> {
    let (first, _) = answer.split_once(']').unwrap();
    let (_, offset) = first.split_once("continue with offset ")?;
    Some(offset.parse().unwrap())
}

/// R-OFF-31
#[tokio::test]
async fn part_states_its_range_and_the_total() {
    // Longer than one read, on one line, with characters of all lengths.
    let content: String = "aé日🦀".chars().cycle().take(300_001).collect();
    let registry = reading(memory(&[("x", &content), ("empty", "")]).await);
    let part = |start: usize, count: usize| content.chars().skip(start).take(count).collect::<String>();
    for (input, header, expected) in [
        (
            json!({}),
            "[characters 0 to 800 of 300001; continue with offset 800]",
            part(0, 800),
        ),
        (
            json!({ "offset": 800, "limit": 5 }),
            "[characters 800 to 805 of 300001; continue with offset 805]",
            part(800, 5),
        ),
        (
            json!({ "offset": 299_990, "limit": 20_000 }),
            "[characters 299990 to 300001 of 300001, the end]",
            part(299_990, 11),
        ),
        (
            json!({ "offset": 300_001, "pattern": "" }),
            "[characters 300001 to 300001 of 300001, the end]",
            String::new(),
        ),
    ] {
        let mut input = input;
        input["id"] = json!("x");
        assert_eq!(answer(&registry, input).await, format!("{header}\n{expected}"));
    }
    assert_eq!(
        answer(&registry, json!({ "id": "empty" })).await,
        "[characters 0 to 0 of 0, the end]\n"
    );

    // The parts form the whole text.
    let (mut whole, mut offset) = (String::new(), Some(0));
    while let Some(from) = offset {
        let read = answer(&registry, json!({ "id": "x", "offset": from, "limit": 20_000 })).await;
        offset = next_offset(&read);
        whole.push_str(read.split_once('\n').unwrap().1);
    }
    assert!(whole == content);

    assert_eq!(
        error(&registry, json!({ "id": "x", "offset": 300_002 })).await,
        "the offset 300002 is beyond the end of \"x\"; expected 0 to 300001"
    );
    let too_much = error(&registry, json!({ "id": "x", "limit": 20_001 })).await;
    assert!(
        too_much.contains("expected an integer from 1 to 20000"),
        "{too_much}"
    );
}

/// R-OFF-32
#[tokio::test]
async fn a_search_returns_matches_with_their_offsets() {
    let content = "日 first line\nsecond: \"error\" 日\nthird line\n";
    let registry = reading(memory(&[("x", content)]).await);
    let search = async |pattern: &str| answer(&registry, json!({ "id": "x", "pattern": pattern })).await;
    assert_eq!(
        search("error.").await,
        format!(
            "[1 match from offset 0 to 42, the end]\noffset 22: {}",
            json!("日 first line\nsecond: \"error\" 日\nthird line\n")
        )
    );
    // `^` and `$` match at line boundaries, also in a continued search.
    assert!(search("^second").await.contains("\noffset 13: "));
    assert!(
        search("line$")
            .await
            .starts_with("[2 matches from offset 0 to 42, the end]\noffset 8: ")
    );
    assert_eq!(
        search("missing").await,
        "[0 matches from offset 0 to 42, the end]"
    );
    assert!(search("(?i)ERROR").await.starts_with("[1 match "));
    // Empty matches are matches: one at each position between characters.
    assert!(search("x*").await.contains("\noffset 0: "));
    let from = answer(
        &registry,
        json!({ "id": "x", "pattern": "^line|^irst", "offset": 3 }),
    )
    .await;
    assert_eq!(
        from, "[0 matches from offset 3 to 42, the end]",
        "the text before the offset counts"
    );
    assert_eq!(
        error(&registry, json!({ "id": "x", "pattern": "line", "offset": 43 })).await,
        "the offset 43 is beyond the end of \"x\"; expected 0 to 42"
    );
}

/// R-OFF-32
#[tokio::test]
async fn many_matches_in_a_large_file_come_in_several_answers() {
    // One line, as in JSON; numbers cross the windows of the search.
    let content: String = (0..60_000).map(|n| format!("日<{n}>")).collect();
    let expected: Vec<(u64, String)> = {
        let mut offset = 0;
        let items = (0..60_000).map(|n| {
            let item = (offset + 1, format!("<{n}>"));
            offset += 1 + item.1.len() as u64;
            item
        });
        items.filter(|(_, text)| text.ends_with("77>")).collect()
    };
    let registry = reading(memory(&[("x", &content)]).await);
    let (mut found, mut offset, mut answers) = (Vec::new(), Some(0), 0);
    while let Some(from) = offset {
        let input = json!({ "id": "x", "pattern": "<\\d*77>", "offset": from, "limit": 2_000 });
        let read = answer(&registry, input).await;
        assert!(read.chars().count() < 3_000, "{read}");
        for line in read.lines().skip(1) {
            let (at, excerpt) = line.strip_prefix("offset ").unwrap().split_once(": ").unwrap();
            let excerpt: String = serde_json::from_str(excerpt).unwrap();
            let at: u64 = at.parse().unwrap();
            let start = excerpt
                .chars()
                .skip(usize::try_from(at.min(40)).unwrap())
                .collect::<String>();
            found.push((at, start.split_inclusive('>').next().unwrap().to_owned()));
        }
        offset = next_offset(&read);
        answers += 1;
    }
    assert_eq!(found, expected);
    assert!(answers > 10, "{answers}");
}

/// A match of up to 4,096 characters is found at any position.
///
/// R-OFF-32
#[tokio::test]
async fn long_matches_are_found_across_windows() {
    for before in (0..80_000).step_by(7_919) {
        let content = format!(
            "{}<{}>{}",
            "🦀".repeat(before),
            "🦀".repeat(4_000),
            "🦀".repeat(30_000)
        );
        let registry = reading(memory(&[("x", &content)]).await);
        let found = answer(&registry, json!({ "id": "x", "pattern": "<[^>]*>" })).await;
        assert!(
            found.contains(&format!("\noffset {before}: ")),
            "{before}: {found:.200}"
        );
        assert_eq!(found.lines().count(), 2);
    }
}

/// R-OFF-32
#[tokio::test]
async fn hostile_patterns_are_rejected_or_end_in_time() {
    let content = "a".repeat(3_000_000);
    let registry = reading(memory(&[("x", &content)]).await);
    for pattern in [
        "(a{1000}){1000}",
        "((((a{99}){99}){99}){99})",
        &"(a?){20}".repeat(60),
    ] {
        let refused = error(&registry, json!({ "id": "x", "pattern": pattern })).await;
        assert!(refused.starts_with("invalid pattern: "), "{refused}");
    }
    // The slowest patterns that are not too large: each answer advances, and names the offset at which to continue.
    let began = Instant::now();
    for (pattern, calls) in [("(a?){100}b", 2), ("(a|a|a|a)*$x", 1)] {
        let mut offset = 0;
        for _ in 0..calls {
            let input = json!({ "id": "x", "pattern": pattern, "offset": offset });
            let found = answer(&registry, input).await;
            assert!(found.starts_with("[0 matches from offset "), "{found}");
            let next = next_offset(&found).unwrap();
            assert!(next > offset, "{found}");
            offset = next;
        }
    }
    // The bound allows a debug build on a busy machine; the time limit of a search is 2 seconds.
    assert!(
        began.elapsed() < Duration::from_secs(300),
        "{:?}",
        began.elapsed()
    );
}

/// R-OFF-33
#[tokio::test]
async fn every_file_that_a_pointer_names_is_read() {
    let memory = MemoryWriter::new();
    let mut registry = reading(memory.clone()).layer(
        OffloadLayer::new(somewhere())
            .with_writer(memory.clone())
            .with_threshold(1),
    );
    let definition = ToolDefinition::new(
        "echo",
        "Answers with it.",
        json!({ "type": "object", "properties": { "it": { "type": "string" } } }),
    );
    registry
        .register_dynamic(definition, async |input: Value, _| {
            input["it"].as_str().unwrap().to_owned()
        })
        .unwrap();
    let ids = [
        "x",
        "x",   // the file is `x-2`
        "x-2", // the file is `x-2-2`
        "x-2",
        "a.md",
        "with space",
        "日本語",
        #[cfg(not(windows))]
        "functions.search:0",
        #[cfg(not(windows))]
        "functions.search:0",
        &"l".repeat(250),
        &"l".repeat(250),
    ];
    for session in ["s", "t"] {
        let mut pointers = Vec::new();
        for (number, id) in ids.iter().enumerate() {
            let input = json!({ "it": format!("{session} {number}") });
            let call = ToolCall::new(*id, "echo", input).with_context(Context::new().with_session(session));
            let outcome = registry.call(call).await;
            pointers.push(outcome.result.text().unwrap().to_owned());
        }
        for (number, pointer) in pointers.iter().enumerate() {
            let file = pointer.strip_prefix("[Tool result offloaded to file: ").unwrap();
            let name = Path::new(file.strip_suffix(']').unwrap()).file_name().unwrap();
            let id = name.to_str().unwrap().strip_suffix(".md").unwrap();
            let outcome = call_in(&registry, session, json!({ "id": id })).await;
            let expected = format!("{session} {number}");
            assert_eq!(
                outcome.result.text().unwrap().split_once("]\n").unwrap().1,
                expected,
                "{pointer}"
            );
        }
    }
    // A call without a session reads from the place where the layer writes results of such calls.
    let pointer = registry
        .execute_tool("own", "echo", json!({ "it": "fallback" }))
        .await;
    assert!(pointer.text().unwrap().contains("session-abc123"));
    let read = registry
        .execute_tool("toolu_r", "ReadOffloaded", json!({ "id": "own" }))
        .await;
    assert_eq!(read.text(), Some("[characters 0 to 8 of 8, the end]\nfallback"));
}

/// R-OFF-33
#[tokio::test]
async fn ids_lead_nowhere_else() {
    let directory = directory("read_nowhere_else");
    for session in ["s", "t"] {
        let file = directory.join(session).join(format!("of_{session}.md"));
        LocalWriter.write(&file, session).await.unwrap();
    }
    fs::write(directory.join("outside.md"), "outside").unwrap();
    let registry = reading(LocalReader).with_state(OffloadOptions::new("s", &directory));
    assert!(answer(&registry, json!({ "id": "of_s" })).await.ends_with("\ns"));
    for id in [
        "../outside",
        "../t/of_t",
        "..",
        ".",
        "",
        "/etc/passwd",
        "a\\b",
        "nul\0",
    ] {
        let refused = error(&registry, json!({ "id": id })).await;
        assert!(
            refused.starts_with("invalid id ")
                && refused
                    .ends_with("; expected the name of the file in the pointer, without directory and `.md`"),
            "{refused}"
        );
    }
    for id in ["of_t", "outside", "of_s.md", &"x".repeat(252)] {
        let missing = error(&registry, json!({ "id": id })).await;
        assert!(
            missing.starts_with("unknown id ") && missing.ends_with("; expected one of \"of_s\""),
            "{missing}"
        );
        assert!(missing.len() < 200, "{missing}");
    }
    // The text for the model contains no path of the host, and no session.
    for session in ["../s", "", "nowhere"] {
        let outcome = call_in(&registry, session, json!({ "id": "of_s" })).await;
        let text = outcome.result.text().unwrap();
        assert!(
            outcome.result.is_error && !text.contains("nowhere") && !text.contains(".."),
            "{text}"
        );
    }
}

/// R-OFF-33
#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let directory = directory("read_links");
    fs::create_dir_all(directory.join("s")).unwrap();
    fs::create_dir_all(directory.join("elsewhere")).unwrap();
    fs::write(directory.join("elsewhere/secret.md"), "secret").unwrap();
    symlink(directory.join("elsewhere/secret.md"), directory.join("s/link.md")).unwrap();
    symlink(directory.join("elsewhere"), directory.join("linked")).unwrap();
    fs::create_dir(directory.join("s/folder.md")).unwrap();
    // Opening a pipe without a writer would wait forever.
    let pipe = std::process::Command::new("mkfifo")
        .arg(directory.join("s/pipe.md"))
        .status();
    assert!(pipe.unwrap().success());
    let registry = reading(LocalReader).with_state(OffloadOptions::new("s", &directory));
    for (session, id) in [
        ("s", "link"),
        ("linked", "secret"),
        ("s", "folder"),
        ("s", "pipe"),
    ] {
        let outcome = call_in(&registry, session, json!({ "id": id })).await;
        assert_eq!(
            outcome.result.text(),
            Some(&*format!(
                "the offloaded result {id:?} cannot be read; continue without it"
            ))
        );
        assert!(outcome.result.is_error);
    }
    // A link is not listed as a file, either.
    let missing = error(&registry, json!({ "id": "missing" })).await;
    assert!(!missing.contains("link"), "{missing}");
}

/// R-OFF-34
#[tokio::test]
async fn readers_of_files_and_memory_agree() {
    let directory = directory("readers");
    let (memory, local) = (MemoryWriter::new(), LocalReader);
    let file = directory.join("s/x.md");
    memory.write(&file, "aé日🦀").await.unwrap();
    LocalWriter.write(&file, "aé日🦀").await.unwrap();
    for (offset, limit, expected) in [
        (0, 100, "aé日🦀".as_bytes()),
        (1, 2, "é".as_bytes()),
        (6, 9, "🦀".as_bytes()),
        (10, 9, b""),
        (u64::MAX >> 1, 9, b""),
        (0, 0, b""),
    ] {
        let part = Some(FilePart::new(expected.to_owned(), 10));
        assert_eq!(
            FileReader::read(&memory, &file, offset, limit).await.unwrap(),
            part
        );
        assert_eq!(
            local.read(&file, offset, limit).await.unwrap(),
            part,
            "{offset} {limit}"
        );
    }
    let missing = directory.join("s/y.md");
    assert_eq!(FileReader::read(&memory, &missing, 0, 1).await.unwrap(), None);
    assert_eq!(local.read(&missing, 0, 1).await.unwrap(), None);
    for session in ["s", "t"] {
        let session = directory.join(session);
        assert_eq!(
            memory.names(&session).await.unwrap(),
            local.names(&session).await.unwrap()
        );
    }
    assert_eq!(local.names(&directory.join("s")).await.unwrap(), ["x.md"]);
}

/// A file with a different size in each read.
#[derive(Default)]
struct Growing(std::sync::atomic::AtomicU64);

impl FileReader for Growing {
    fn read<'a>(&'a self, _: &'a Path, _: u64, _: usize) -> Reading<'a, Option<FilePart>> {
        let size = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1_000;
        Box::pin(async move { Ok(Some(FilePart::new(b"a part".to_vec(), size))) })
    }
}

/// R-OFF-31
#[tokio::test]
async fn a_file_that_changes_amid_a_call_is_an_error() {
    assert_eq!(
        error(&reading(Growing::default()), json!({ "id": "x" })).await,
        "the offloaded result \"x\" was overwritten while it was read; call again"
    );
}

/// R-OFF-35
#[tokio::test]
async fn layer_keeps_results_of_excluded_tools() {
    let memory = memory(&[("x", &"y".repeat(5_000))]).await;
    let layer = OffloadLayer::new(somewhere())
        .with_writer(memory.clone())
        .excluding(["Read"]);
    let mut registry = reading(memory.clone()).layer(layer);
    for name in ["Read", "Write"] {
        let definition = ToolDefinition::new(
            name,
            "Answers at length.",
            json!({ "type": "object", "properties": {} }),
        );
        registry
            .register_dynamic(definition, async |_, _| "x".repeat(5_000))
            .unwrap();
    }
    let call = |name: &str, input: Value| {
        ToolCall::new("toolu_1", name, input).with_context(Context::new().with_session("s"))
    };
    let read = registry
        .call(call("ReadOffloaded", json!({ "id": "x", "limit": 4_000 })))
        .await;
    assert_eq!(
        read.result.text().unwrap().len(),
        4_000 + "[characters 0 to 4000 of 5000; continue with offset 4000]\n".len()
    );
    let excluded = registry.call(call("Read", json!({}))).await;
    assert_eq!(excluded.result.text().unwrap().len(), 5_000);
    assert_eq!(memory.files().len(), 1);
    let without = call("Write", json!({}));
    let context = without
        .context
        .clone()
        .with_extension(tool_builtins::offload::WithoutOffload);
    assert_eq!(
        registry
            .call(without.with_context(context))
            .await
            .result
            .text()
            .unwrap()
            .len(),
        5_000
    );
    assert_eq!(memory.files().len(), 1);
    registry.call(call("Write", json!({}))).await;
    assert_eq!(memory.files().len(), 2);

    // With the default settings, an answer has fewer characters than the default threshold.
    let answer = registry.call(call("ReadOffloaded", json!({ "id": "x" }))).await;
    assert!(answer.result.text().unwrap().chars().count() < 1_000);
}

/// R-OFF-35: depends on the registered tool, not on its name.
#[tokio::test]
async fn layer_keeps_read_back_results_under_any_prefix() {
    let memory = memory(&[("x", &"y".repeat(5_000))]).await;
    let layer = || OffloadLayer::new(somewhere()).with_writer(memory.clone());
    let long = || async |_: Value, _: Context| "x".repeat(5_000);
    let plain = |name: &str| ToolDefinition::new(name, "Answers at length.", json!({ "type": "object" }));
    let mut files = reading(memory.clone());
    files.register_dynamic(plain("Read"), long()).unwrap();
    // The layer is around the outer registry, or inside the nested registry.
    let mut around = ToolRegistry::new().layer(layer().excluding(["files__Read"]));
    around.nest("files", files.clone()).unwrap();
    let mut inside = ToolRegistry::new();
    inside
        .nest("files", files.layer(layer().excluding(["Read"])))
        .unwrap();
    for registry in [&mut around, &mut inside] {
        for (name, input) in [
            ("files__ReadOffloaded", json!({ "id": "x", "limit": 4_000 })),
            ("files__Read", json!({})),
        ] {
            let call = ToolCall::new("toolu_1", name, input).with_context(Context::new().with_session("s"));
            let result = registry.call(call).await.result;
            assert!(
                result.text().unwrap().len() >= 4_000,
                "{name}: {:?}",
                result.text()
            );
        }
    }
    assert_eq!(memory.files().len(), 1);
    // A tool of another kind with a similar name.
    around
        .register_dynamic(plain("others__ReadOffloaded"), long())
        .unwrap();
    let call = ToolCall::new("toolu_1", "others__ReadOffloaded", "{}");
    let call = call.with_context(Context::new().with_session("s"));
    assert!(
        around
            .call(call)
            .await
            .result
            .text()
            .unwrap()
            .starts_with("[Tool result offloaded")
    );
    assert_eq!(memory.files().len(), 2);
}
