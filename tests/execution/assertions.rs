//! `tool_runtime::testing`: accepted values, and the messages of failed assertions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use tool_runtime::message::Block;
use tool_runtime::testing::{self, CallAssert};
use tool_runtime::{
    Blocks, Context, Policy, ToolCall, ToolDefinition, ToolOutcome, ToolOutput, ToolRegistry, ToolResult,
    tool,
};

use crate::execution::tools::definition;

/// Return the name of the person at the desk.
#[tool]
async fn desk(
    /// Number of the desk.
    number: u8,
    context: Context,
) -> Result<String, &'static str> {
    let reader = context.session().ok_or("nobody is at the desk")?;
    Ok(format!("{reader} at {number}"))
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register::<desk>().unwrap();
    registry
}

fn call(arguments: &str) -> ToolCall {
    ToolCall::new("toolu_1", "desk", arguments).with_context(Context::new().with_session("Ada"))
}

#[tokio::test]
async fn runs_a_call_with_its_context_and_policy() {
    testing::run_call(&registry(), call(r#"{ "number": 1 }"#))
        .await
        .assert_no_warnings()
        .assert_text("Ada at 1");
    let strict = call(r#"{ "number": "1" }"#).with_policy(Policy::Strict);
    testing::run_call(&registry(), strict)
        .await
        .assert_refused(["unsupported_integer_literal at /number"]);
}

#[tokio::test]
async fn is_made_from_an_outcome() {
    let outcomes = registry()
        .execute_all([call(r#"{ "number": "1" }"#), call("{}")])
        .await;
    let [first, second] = <[ToolOutcome; 2]>::try_from(outcomes).unwrap();
    CallAssert::from(first)
        .assert_text("Ada at 1")
        .assert_warnings(["string_literal_converted_to_integer at /number"]);
    CallAssert::from(second).assert_refused(["missing_required at /number"]);
}

/// Returns the panic message of an assertion on this outcome.
fn failure_text(output: ToolOutput, assertion: impl FnOnce(CallAssert)) -> String {
    let checked = CallAssert::from(ToolOutcome::new(ToolResult::new("toolu_1", output)));
    panics(|| assertion(checked))
}

fn panics(assertion: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(assertion)).expect_err("it holds");
    *payload.downcast::<String>().unwrap()
}

#[test]
fn states_the_expected_side() {
    assert_eq!(
        failure_text(ToolOutput::text("3"), |checked| {
            checked.assert_text("4");
        }),
        "unexpected answer\n  expected: \"4\"\n       got: \"3\""
    );
    assert_eq!(
        failure_text(ToolOutput::error("no"), |checked| {
            checked.assert_text("4");
        }),
        "the call failed\n  expected: \"4\"\n       got: the error \"no\""
    );
    assert_eq!(
        failure_text(ToolOutput::text("3"), |checked| {
            checked.assert_error("no");
        }),
        "the call succeeded\n  expected: the error \"no\"\n       got: \"3\""
    );
    assert_eq!(
        failure_text(ToolOutput::error("yes"), |checked| {
            checked.assert_error("no");
        }),
        "unexpected answer\n  expected: the error \"no\"\n       got: the error \"yes\""
    );
    assert_eq!(
        failure_text(ToolOutput::text("[1]"), |checked| {
            checked.assert_json(json!([2]));
        }),
        "unexpected answer\n  expected: [2]\n       got: [1]"
    );
    let no_json = failure_text(ToolOutput::text("one"), |checked| {
        checked.assert_json(json!([2]));
    });
    assert!(no_json.starts_with("the answer is not JSON ("), "{no_json}");
    assert!(
        no_json.ends_with(")\n  expected: [2]\n       got: \"one\""),
        "{no_json}"
    );
    assert_eq!(
        failure_text(ToolOutput::text("3"), |checked| {
            checked.assert_notes(["a note"]);
        }),
        "unexpected notes\n  expected: [\"a note\"]\n       got: []"
    );
    assert_eq!(
        failure_text(ToolOutput::text("3"), |checked| {
            checked.assert_refused(["missing_required at /a"]);
        }),
        "the arguments were not refused\n  expected: [\"missing_required at /a\"]\n       got: \"3\""
    );
}

#[tokio::test]
async fn states_the_expected_warnings() {
    let checked = testing::run_call(&registry(), call(r#"{ "number": "1" }"#)).await;
    let failure_text = panics(|| {
        checked.assert_no_warnings();
    });
    let short = "unexpected warnings\n  expected: []\n       \
                 got: [\"string_literal_converted_to_integer at /number\"]\n   in full: [";
    assert!(failure_text.starts_with(short), "{failure_text}");
}

#[tokio::test]
async fn shows_blocks_if_text_was_expected() {
    let mut registry = ToolRegistry::new();
    let show: ToolDefinition = definition("show");
    registry
        .register_dynamic(show, async |_, _| Blocks(vec![Block::text("a picture")]))
        .unwrap();
    let checked = testing::run_in(&registry, "show", "{}").await;
    assert_eq!(
        panics(|| {
            checked.assert_text("a picture");
        }),
        "unexpected answer\n  expected: \"a picture\"\n       got: the blocks [{\"type\":\"text\",\"text\":\"a picture\"}]"
    );
}
