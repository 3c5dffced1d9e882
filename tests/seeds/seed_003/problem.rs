//! 问题描述 and § 2: what the wrong texts look like.

use serde_json::json;
use tool_builtins::todo::{TodoStore, todo_write};
use tool_runtime::repair::{FixCode, FormatFixing, Status, repair};
use tool_runtime::testing::run_in;
use tool_runtime::{ToolRegistry, issue::Code};

use super::{RIGHT, WRONG, arguments, repaired, stream};

#[test]
fn problem_example_repaired() {
    let repaired = repair(WRONG);
    assert_eq!((&*repaired.text, repaired.status), (RIGHT, Status::Repaired));
    assert!(repaired.fixes.counts().eq([(FixCode::SingleQuotes, 6)]));
}

#[tokio::test]
async fn problem_execution_goes_on() {
    let mut registry = ToolRegistry::new().with_state(TodoStore::default());
    registry.register::<todo_write>().unwrap();
    let sent = "{'todos': [{'content': '创建项目', 'status': 'in_progress', 'activeForm': '正在创建'}]}";
    let outcome = run_in(&registry, "TodoWrite", sent).await;
    assert_eq!(
        serde_json::to_value(&outcome.result).unwrap()["content"],
        json!(r#"{"success":true,"count":1}"#)
    );
    assert_eq!(outcome.warnings[0].code, Code::JsonRepaired);
}

fn pieces(fragments: &[&str], whole: &str) {
    let (out, _) = repaired(
        &stream("TodoWrite", fragments, "tool_calls"),
        FormatFixing::default(),
    );
    assert_eq!(arguments(&out), whole);
}

#[test]
fn pattern_opening_quote() {
    pieces(&["{'content': '", "x'}"], r#"{"content": "x"}"#);
}

#[test]
fn pattern_separating_quotes() {
    pieces(
        &["{'content': '", "x", "', 'id': '", "1'}"],
        r#"{"content": "x", "id": "1"}"#,
    );
}

#[test]
fn pattern_closing_quote() {
    pieces(
        &["{\"todos\": [{'content': 'x", "'}", "]}"],
        r#"{"todos": [{"content": "x"}]}"#,
    );
}
