//! Runs each story, and checks its output.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a story, and checks that its output has these texts in order.
#[track_caller]
fn check_story(name: &str, expected: &[&str]) {
    let output = Command::new(program(name)).output().expect("the story runs");
    let output_text = String::from_utf8(output.stdout).expect("a story is text");
    assert!(
        output.status.success(),
        "{output_text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut rest = output_text.as_str();
    for text in expected {
        match rest.split_once(text) {
            Some((_, after)) => rest = after,
            None => panic!(
                "after the earlier texts, the story `{name}` does not contain `{text}`:\n{output_text}"
            ),
        }
    }
}

/// Returns the path of the example that `cargo test` has built.
#[track_caller]
fn program(name: &str) -> PathBuf {
    let this = env::current_exe().expect("a test is a program");
    let built = this.ancestors().nth(2).expect("<target>/<profile>/deps/<test>");
    let program = built
        .join("examples")
        .join(format!("{name}{}", env::consts::EXE_SUFFIX));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{name}.rs"));
    let changed = |path: &Path| path.metadata().and_then(|it| it.modified()).ok();
    assert!(
        changed(&program) >= changed(&source),
        "the story `{name}` was not built since it was changed; `cargo test -p examples` builds it",
    );
    program
}

#[test]
fn agent_loop() {
    check_story(
        "agent_loop",
        &[
            // A sloppy call that is coerced.
            r#"get_forecast  {"City":"Oslo","days":"2","unit":"CELSIUS"}"#,
            "warning  parameter_name_normalized at /city",
            "warning  string_literal_converted_to_integer at /days",
            "warning  enum_case_normalized at /unit",
            r#"{"type":"tool_result","tool_use_id":"toolu_01","content":"{\"city\":\"Oslo\",\"unit\":\"celsius\",\"highs\":[18,21]}"}"#,
            // A wrong call with a helpful error that lists every mistake,
            r#""tool_use_id":"toolu_02","content":"`find_ferries` was not called because of invalid arguments:\n"#,
            "missing_required:to at /to",
            "constraint_violated at /after",
            "constraint_violated at /people",
            r#""is_error":true}"#,
            // and a corrected second attempt.
            r#"{"type":"tool_result","tool_use_id":"toolu_03","content":"09:30 Rådhuset → Bygdøy"#,
            // Two concurrent calls, and a panic that affects neither of them.
            "a table that is large enough",
            r#"{"type":"tool_result","tool_use_id":"toolu_04","content":"Fram: 10:00 to 18:00"}"#,
            r#"{"type":"tool_result","tool_use_id":"toolu_05","content":"Kon-Tiki: 10:00 to 18:00"}"#,
            r#""tool_use_id":"toolu_06","content":"the tool `reserve_table` failed with an internal error; other calls are not affected","is_error":true}"#,
            "model  Take the 09:30 ferry",
        ],
    );
}

#[test]
fn dynamic() {
    check_story(
        "dynamic",
        &[
            r#"would get  {"title":"Review","start":"2026-11-23T09:30","minutes":45,"attendees":["ada"],"remind":true}"#,
            "warning  string_literal_converted_to_integer at /minutes",
            "warning  scalar_coerced_to_list at /attendees",
            "warning  number_coerced_to_boolean at /remind",
            "`Review` is in Ada's calendar",
            "would be  refused",
            "`create_event` was not called",
            "constraint_violated at /start",
            "constraint_violated at /minutes",
        ],
    );
}

#[test]
fn layers() {
    check_story(
        "layers",
        &[
            r#"{"type":"tool_result","tool_use_id":"toolu_01","content":"<p>https://example.org</p>\n"}"#,
            "the user did not allow `send_mail`; ask for it, or do without",
            r#""tool_use_id":"toolu_03","content":"request timed out","is_error":true"#,
            "[Tool result offloaded to file: ",
            "toolu_04.md has 9600 characters",
        ],
    );
}

#[test]
fn offload() {
    check_story(
        "offload",
        &[
            "[Tool result offloaded to file: <output dir>",
            "3600 characters",
            "freed  3",
            r#"1565 characters: [{"type":"text""#,
            r#"error  the tool_use_id "../../etc/passwd" cannot name a file"#,
            "error  the content was not written to",
        ],
    );
}

#[test]
fn search_files() {
    check_story(
        "search_files",
        &[
            r#""name": "search_files""#,
            r#""caseSensitive": {"#,
            r#""maxResults": {"#,
            r#""required": ["#,
            r#""content":"[\"src/lib.rs\",\"src/main.rs\"]"}"#,
            "warning  parameter_name_normalized at /caseSensitive",
            "warning  string_literal_converted_to_boolean at /caseSensitive",
            "warning  string_literal_converted_to_integer at /maxResults",
            "warning  unknown_parameter:explanation at /explanation",
            r#""content":"[\"src/lib.rs\",\"src/main.rs\",\"src/net/HTTP.RS\"]"}"#,
            "warning  fractional_number_truncated_to_integer at /maxResults",
            r#""content":"[\"docs/guide.md\"]"}"#,
            "missing_required:pattern at /pattern",
            "unsupported_integer_literal",
            "outside_workspace: send a pattern below the workspace",
            r#"by hand  Ok(["README.md"])"#,
        ],
    );
}

/// R-TODO-32
#[test]
fn todo() {
    check_story(
        "todo",
        &[
            "registered  TodoWrite, TodoRead",
            r#"{"type":"tool_result","tool_use_id":"toolu_01","content":"{\"success\":true,\"count\":3}"}"#,
            r#"{"type":"tool_result","tool_use_id":"toolu_04","content":"Tool 'TodoDelete' not found","is_error":true}"#,
            "'todos' array is required",
            "'todos' must be an array",
            "Todo at index 0: invalid status 'done'. Must be one of: pending, in_progress, completed",
            "Todo at index 1: content is required and cannot be empty",
            r#""tool_use_id":"toolu_10","content":"{\"success\":true,\"count\":0}""#,
            r#""tool_use_id":"toolu_11","content":"{\"todos\":[]}""#,
            "[x]  schema definition",
            "[x]  parameter validation",
        ],
    );
}

#[test]
fn report() {
    check_story(
        "report",
        &[
            r#"outputSchema  {"#,
            r#""required":["total","busiest","most"]"#,
            // The bar is drawn while the function blocks its thread, and at its end.
            "████████████████████████████████████  12 of 12: done",
            "warning  string_literal_converted_to_integer at /year",
            r#"{"type":"tool_result","tool_use_id":"toolu_01","content":"{\"total\":7175,\"busiest\":\"July\",\"most\":1204}"}"#,
            r#"to MCP  {"total":7175,"busiest":"July","most":1204}"#,
        ],
    );
}
