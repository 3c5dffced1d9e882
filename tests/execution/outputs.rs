//! Return types of functions, and the results for the model.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use tool_runtime::message::Block;
use tool_runtime::result::Content;
use tool_runtime::{Blocks, IntoToolOutput, ToolOutput, testing, tool};

fn text(returned: impl IntoToolOutput) -> String {
    let output = returned.into_tool_output();
    assert!(!output.is_error);
    output.content.as_text().unwrap().to_owned()
}

#[test]
fn strings_of_every_type_are_verbatim() {
    assert_eq!(text("a \"b\""), "a \"b\"");
    assert_eq!(text(String::from("a \"b\"")), "a \"b\"");
    assert_eq!(text(Cow::from("a \"b\"")), "a \"b\"");
    assert_eq!(text(Box::<str>::from("a \"b\"")), "a \"b\"");
    assert_eq!(text(Rc::<str>::from("a \"b\"")), "a \"b\"");
    assert_eq!(text(Arc::<str>::from("a \"b\"")), "a \"b\"");
}

#[test]
fn optional_strings_are_verbatim_or_null() {
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
fn other_types_are_json() {
    assert_eq!(text(["a"]), r#"["a"]"#);
    assert_eq!(text('a'), r#""a""#);
    assert_eq!(text(Some(1)), "1");
    assert_eq!(text(()), "");
}

#[test]
fn outputs_are_made_of_blocks() {
    let blocks = vec![
        Block::text("The page:"),
        Block::image("image/png", "iVBORw0KGgo="),
    ];
    let content = Content::Blocks(blocks.clone());
    for output in [
        ToolOutput::blocks(blocks.clone()),
        ToolOutput::from(Blocks(blocks.clone())),
        ToolOutput::from(blocks.clone()),
        ToolOutput::from(content.clone()),
    ] {
        assert_eq!((&output.content, output.is_error), (&content, false));
    }
    let failed = ToolOutput::error_blocks(blocks.clone());
    assert_eq!((failed.content, failed.is_error), (content.clone(), true));
    assert_eq!(Content::from(blocks.clone()), content);
    assert_eq!(Content::from(Blocks(blocks.clone())), content);
    assert_eq!(
        Blocks::from(blocks.clone()),
        blocks.into_iter().collect::<Blocks>()
    );
    let [block] = [Block::text("one")];
    let content = Content::Blocks(vec![block.clone()]);
    assert_eq!(ToolOutput::from(block.clone()).content, content);
    assert_eq!(Content::from(block), content);
}

#[test]
fn outputs_are_made_of_texts() {
    assert_eq!(ToolOutput::from("a"), ToolOutput::text("a"));
    assert_eq!(ToolOutput::from(String::from("a")), ToolOutput::text("a"));
}

/// Take a picture of a page.
#[tool]
async fn screenshot() -> ToolOutput {
    ToolOutput::error_blocks([Block::text("the page is blank:"), Block::image("image/png", "")])
}

#[tokio::test]
async fn an_error_with_blocks_is_an_error() {
    let outcome = testing::run::<screenshot>("{}").await;
    assert!(outcome.result.is_error);
    assert_eq!(outcome.result.text(), None);
    let result = serde_json::to_value(&outcome.result).unwrap();
    assert_eq!(result["is_error"], true);
    assert_eq!(result["content"][0]["text"], "the page is blank:");
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
async fn results_of_optional_strings_are_verbatim_or_null() {
    let found = testing::run::<look_up>(r#"{"word": "tool"}"#).await;
    found.assert_text("a thing that does work");
    testing::run::<look_up>(r#"{"word": "x"}"#)
        .await
        .assert_text("null");
}
