//! A call with Python-style arguments is repaired and executed.

use serde_json::json;
use tool_builtins::todo::todo_write;
use tool_runtime::repair::{FixCode, Status, repair};
use tool_runtime::testing::run_in;
use tool_runtime::{ToolRegistry, issue::Code};

use super::{RIGHT, WRONG};

/// R-REP-1
#[test]
fn python_style_arguments_become_json() {
    let repaired = repair(WRONG);
    assert_eq!((&*repaired.text, repaired.status), (RIGHT, Status::Repaired));
    assert!(repaired.fixes.counts().eq([(FixCode::SingleQuotes, 6)]));
}

/// R-REP-18
#[tokio::test]
async fn repaired_call_is_executed_with_a_warning() {
    let mut registry = ToolRegistry::new();
    registry.register::<todo_write>().unwrap();
    let sent =
        "{'todos': [{'content': 'Set up the project', 'status': 'in_progress', 'activeForm': 'Setting up'}]}";
    let outcome = run_in(&registry, "TodoWrite", sent).await;
    assert_eq!(
        serde_json::to_value(&outcome.result).unwrap()["content"],
        json!(r#"{"success":true,"count":1}"#)
    );
    assert_eq!(outcome.warnings[0].code, Code::JsonRepaired);
}
