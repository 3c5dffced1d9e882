//! Results that cannot be serialized, or only with difficulty.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::Path;

use serde_json::{Value, json};
use tool_builtins::AttemptLimit;
use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions};
use tool_runtime::message::Block;
use tool_runtime::{Blocks, Context, ToolDefinition, ToolError, ToolOutput, ToolRegistry, tool};

use crate::calls::{brewing, call_of};
use crate::rows::row;

#[tokio::test]
async fn error() {
    let row = row("results::error");
    let registry = brewing(async |_, _| Err::<String, _>("no beans; call `buy` first"));
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn error_without_text() {
    let row = row("results::error_without_text");
    let registry = brewing(async |_, _| Err::<String, _>(""));
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn error_that_passes() {
    let row = row("results::error_that_passes");
    let registry = brewing(async |_, _| Err::<String, _>(ToolError::retry("no beans yet")));
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn wrong_structured_value() {
    let row = row("results::wrong_structured_value");
    let mut definition = ToolDefinition::new("brew", "Make coffee.", json!({ "type": "object" }));
    definition.output_schema =
        Some(json!({ "type": "object", "properties": { "cups": { "type": "integer" } } }));
    let mut registry = ToolRegistry::new();
    let answer =
        async |_, _| ToolOutput::text(r#"{"cups":"many"}"#).with_structured(json!({ "cups": "many" }));
    registry.register_dynamic(definition, answer).unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn attempt_limit() {
    let row = row("results::attempt_limit");
    let registry = brewing(async |_, _| Err::<String, _>(ToolError::retry("no beans yet")));
    let registry = registry.layer(AttemptLimit::new(3));
    let call = || call_of(&row).with_context(Context::new().with_session("s"));
    for id in ["toolu_first", "toolu_second"] {
        let mut call = call();
        call.id = id.to_owned();
        assert_eq!(registry.call(call).await.notes, Vec::<String>::new());
    }
    row.check(&registry.call(call()).await);
}

/// An error with a source.
#[derive(Debug)]
struct Problem(&'static str, Option<Box<Problem>>);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|cause| cause as &dyn Error)
    }
}

fn unreadable() -> Problem {
    let taken = Problem("somebody took it", None);
    let empty = Problem("the shelf is empty", Some(Box::new(taken)));
    Problem("the menu cannot be read", Some(Box::new(empty)))
}

/// Make coffee.
#[tool(name = "brew")]
async fn brew_from_the_menu() -> Result<(), Problem> {
    Err(unreadable())
}

#[tokio::test]
async fn error_with_causes() {
    let row = row("results::error_with_causes");
    let mut registry = ToolRegistry::new();
    registry.register::<brew_from_the_menu>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn error_with_causes_of_a_dynamic_tool() {
    let row = row("results::error_with_causes_of_a_dynamic_tool");
    let registry = brewing(async |_, _| Err::<(), _>(unreadable()));
    row.check(&registry.call(call_of(&row)).await);
}

/// Make coffee.
#[tool(name = "brew")]
async fn brew_anyhow() -> anyhow::Result<()> {
    Err(unreadable())?
}

#[tokio::test]
async fn anyhow_error() {
    let row = row("results::anyhow_error");
    let mut registry = ToolRegistry::new();
    registry.register::<brew_anyhow>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// Make coffee.
#[tool(name = "brew", causes)]
async fn brew_with_problem() -> Result<(), Problem> {
    Err(unreadable())
}

#[tokio::test]
async fn error_with_shown_causes() {
    let row = row("results::error_with_shown_causes");
    let mut registry = ToolRegistry::new();
    registry.register::<brew_with_problem>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// Make coffee.
#[tool(name = "brew", causes)]
async fn brew_verbosely() -> Result<(), Problem> {
    let empty = Problem("the shelf is empty", None);
    let text = "the menu cannot be read: the shelf is empty";
    Err(Problem(text, Some(Box::new(empty))))
}

#[tokio::test]
async fn error_with_causes_in_its_text() {
    let row = row("results::error_with_causes_in_its_text");
    let mut registry = ToolRegistry::new();
    registry.register::<brew_verbosely>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

/// Make coffee, and count it as a value that JSON cannot represent.
#[tool(name = "brew")]
async fn uncountable() -> BTreeMap<(u8, u8), u8> {
    BTreeMap::from([((1, 2), 3)])
}

#[tokio::test]
async fn not_serializable() {
    let row = row("results::not_serializable");
    let mut registry = ToolRegistry::new();
    registry.register::<uncountable>().unwrap();
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn deeply_nested_value() {
    let row = row("results::deeply_nested_value");
    let registry = brewing(async |_, _| deep());
    row.check(&registry.call(call_of(&row)).await);
}

#[tokio::test]
async fn deeply_nested_block() {
    let row = row("results::deeply_nested_block");
    let registry = brewing(async |_, _| {
        let mut block = Block::text("deep");
        block.0.insert("more".to_owned(), deep());
        Blocks(vec![block])
    });
    row.check(&registry.call(call_of(&row)).await);
}

/// Levels that would overflow the stack of any test, if each level were a frame.
fn deep() -> Value {
    (0..200_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

#[tokio::test]
async fn ten_megabytes() {
    let row = row("results::ten_megabytes");
    let registry = brewing(async |_, _| "x".repeat(10 << 20));
    let outcome = registry.call(call_of(&row)).await;
    row.check_whole(Path::new("/DIR"), &outcome, &"x".repeat(10 << 20));
}

#[tokio::test]
async fn ten_megabytes_offloaded() {
    let row = row("results::ten_megabytes_offloaded");
    let memory = MemoryWriter::new();
    let layer = OffloadLayer::new(OffloadOptions::new("s", "/DIR")).with_writer(memory.clone());
    let registry = brewing(async |_, _| "x".repeat(10 << 20)).layer(layer);
    row.check_in(Path::new("/DIR"), &registry.call(call_of(&row)).await);
    let [(_, content)] = memory.files().into_iter().collect::<Vec<_>>().try_into().unwrap();
    assert!(content == "x".repeat(10 << 20));
}
