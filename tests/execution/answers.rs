//! What functions return, and what the model reads of it.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use tool_runtime::{IntoOutput, testing, tool};

fn text(returned: impl IntoOutput) -> String {
    let output = returned.into_output();
    assert!(!output.is_error);
    output.content.as_text().unwrap().to_owned()
}

#[test]
fn texts_of_every_type_are_verbatim() {
    assert_eq!(text("a \"b\""), "a \"b\"");
    assert_eq!(text(String::from("a \"b\"")), "a \"b\"");
    assert_eq!(text(Cow::from("a \"b\"")), "a \"b\"");
    assert_eq!(text(Box::<str>::from("a \"b\"")), "a \"b\"");
    assert_eq!(text(Rc::<str>::from("a \"b\"")), "a \"b\"");
    assert_eq!(text(Arc::<str>::from("a \"b\"")), "a \"b\"");
}

#[test]
fn optional_texts_are_verbatim_or_null() {
    assert_eq!(text(Some("a \"b\"")), "a \"b\"");
    assert_eq!(text(Some(String::from("a \"b\""))), "a \"b\"");
    assert_eq!(text(Some(Cow::from("a \"b\""))), "a \"b\"");
    assert_eq!(text(Some(Box::<str>::from("a \"b\""))), "a \"b\"");
    assert_eq!(text(Some(Rc::<str>::from("a \"b\""))), "a \"b\"");
    assert_eq!(text(Some(Arc::<str>::from("a \"b\""))), "a \"b\"");
    assert_eq!(text(None::<String>), "null");
    assert_eq!(text(None::<&'static str>), "null");
    assert_eq!(text(None::<Arc<str>>), "null");
}

#[test]
fn everything_else_is_json() {
    assert_eq!(text(["a"]), r#"["a"]"#);
    assert_eq!(text('a'), r#""a""#);
    assert_eq!(text(Some(1)), "1");
    assert_eq!(text(()), "");
}

/// Look a word up.
#[tool]
async fn look_up(
    /// Which.
    word: String,
) -> Result<Option<Arc<str>>, String> {
    Ok((word == "tool").then(|| Arc::from("a thing that does work")))
}

#[tokio::test]
async fn results_of_optional_texts_too() {
    let found = testing::run::<look_up>(r#"{"word": "tool"}"#).await;
    found.assert_text("a thing that does work");
    testing::run::<look_up>(r#"{"word": "x"}"#)
        .await
        .assert_text("null");
}
