//! Messages for wrong calls of models. `calls.txt` has the calls, each followed by its answer.
//!
//! Review an answer as the model that sent the call: does the answer name the parameter, the position and the expected value?
//! `UPDATE_GOLDEN=1 cargo test -p tests --test arguments messages` updates the answers; review the difference.

mod tools;

use std::path::Path;
use std::{env, fs};

use tool_runtime::ToolRegistry;

/// Maximum useful length of a line for a model.
const LONGEST: usize = 300;

/// A call in the file: `tool {"its": "arguments"}`.
struct Sent<'f> {
    tool: &'f str,
    arguments: &'f str,
}

/// Returns the calls of the file, which are lines that begin with a letter. Comments begin with `#`, answers with `-` or a space.
fn calls(file: &str) -> Vec<Sent<'_>> {
    let is_call = |line: &&str| line.starts_with(|first: char| first.is_ascii_lowercase());
    let read = |line| {
        let (tool, arguments) = str::split_once(line, ' ').expect("a tool and its arguments");
        Sent { tool, arguments }
    };
    file.lines().filter(is_call).map(read).collect()
}

/// Returns the lines of an answer after the line that names the tool.
async fn answer(registry: &ToolRegistry, sent: &Sent<'_>) -> Vec<String> {
    let result = registry.execute_tool("toolu_01", sent.tool, sent.arguments).await;
    let text = result.text().unwrap_or_default().to_owned();
    let mut lines = text.lines().map(str::to_owned);
    let first = lines.next().unwrap_or_default();
    let refused = format!("`{}` was not called because of invalid arguments:", sent.tool);
    assert_eq!(first, refused, "{}", sent.arguments);
    lines.collect()
}

#[tokio::test]
async fn answers_match_the_golden_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("messages/calls.txt");
    let file = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let registry = tools::registry();
    let mut written = String::new();
    for line in file.lines().filter(|line| !line.starts_with('-')) {
        written.push_str(line);
        written.push('\n');
        for sent in calls(line) {
            for line in answer(&registry, &sent).await {
                written.push_str(&line);
                written.push('\n');
            }
        }
    }
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &written).unwrap();
    } else {
        assert!(file == written, "the answers are others now:\n{written}");
    }
}

#[tokio::test]
async fn every_line_is_short_and_states_the_expected_value() {
    let file = include_str!("calls.txt");
    let registry = tools::registry();
    let calls = calls(file);
    assert!(calls.len() >= 40, "{} calls", calls.len());
    for sent in &calls {
        for line in answer(&registry, sent).await {
            let length = line.chars().count();
            assert!(length <= LONGEST, "{length} characters: {line}");
            let states_expectation = line.contains("; expected ") || line.contains("; send ");
            assert!(states_expectation, "what to send instead? {line}");
        }
    }
}
