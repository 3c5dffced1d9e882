//! MCP's forms, compared with the official SDK for TypeScript. `mcp.json` has the messages that a client of this SDK receives from a server
//! of the SDK: all declarations and answers, with every field. `UPDATE_GOLDEN=1` updates the file.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tests::runtime::block_on;
use tool_runtime::format::mcp;
use tool_runtime::message::Block;
use tool_runtime::result::Content;
use tool_runtime::{
    Blocks, Context, Patch, Structured, ToolCall, ToolDefinition, ToolRegistry, ToolResult, testing, tool,
    tool_set,
};

use crate::sdk::{node_folder, script};

/// A PNG of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

#[derive(Debug, PartialEq, Deserialize)]
struct Fixture {
    protocol: String,
    tools: Vec<Value>,
    results: BTreeMap<String, Value>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("mcp.json")).unwrap()
}

#[test]
fn protocol_version_is_the_newest_of_the_sdk() {
    assert_eq!(fixture().protocol, mcp::PROTOCOL_VERSION);
}

#[test]
fn definitions_keep_every_field() {
    let tools = fixture().tools;
    for listed in &tools {
        let definition = mcp::definition(listed).unwrap();
        assert_eq!(mcp::tool(&definition), *listed);
    }
    let fields: Vec<&String> = tools
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|tool| tool.keys())
        .collect();
    for field in [
        "title",
        "description",
        "outputSchema",
        "annotations",
        "execution",
        "icons",
        "_meta",
    ] {
        assert!(
            fields.iter().any(|known| *known == field),
            "no tool has `{field}`"
        );
    }
}

/// Builds a registry with the tools of the fixture, and with the answers of its server.
fn client() -> ToolRegistry {
    let Fixture { tools, results, .. } = fixture();
    let definitions: Vec<ToolDefinition> = tools.iter().map(|tool| mcp::definition(tool).unwrap()).collect();
    let mut registry = ToolRegistry::new();
    let answer = move |name: String, _: Value, _: Context| {
        let output = mcp::output(&results[&name]);
        async move { output }
    };
    registry.register_source(definitions, answer).unwrap();
    registry
}

#[test]
fn content_of_every_type_reaches_the_model() {
    let outcome = block_on(testing::run_in(&client(), "menu_read", r#"{ "day": "today" }"#));
    let text = |text: &str| Block::text(text);
    assert_eq!(
        outcome.result.content,
        Content::Blocks(vec![
            text("Soup."),
            Block::image("image/png", PNG),
            text("image (image/svg+xml, 6 bytes)"),
            text("audio (audio/wav, 8 bytes)"),
            text("resource The menu at file:///menu.md (text/markdown, 120 bytes): What there is today."),
            text("resource at file:///menu.md (text/markdown):\n# Menu\n"),
            text("resource at file:///soup.png (image/png, 68 bytes)"),
            Block::image("image/png", PNG),
            text("resource at file:///menu.pdf (application/pdf, 4 bytes)"),
        ])
    );
    assert!(!outcome.result.is_error);
}

/// `testing` checks the values against the output schemas of the SDK.
#[test]
fn values_and_errors_are_read() {
    let registry = client();
    let priced = block_on(testing::run_in(&registry, "menu_price", r#"{ "meal": "soup" }"#));
    let priced = priced.assert_text(r#"{"meal":"soup","price":4.5}"#);
    let value = priced.result.structured.as_deref();
    assert_eq!(value, Some(&json!({ "meal": "soup", "price": 4.5 })));
    block_on(testing::run_in(&registry, "menu_order", "{}")).assert_error("the kitchen is closed");
    let ready = block_on(testing::run_in(&registry, "oven", r#"{ "degrees": 200 }"#));
    let ready = ready.assert_text(r#"{"ready":true}"#);
    assert_eq!(
        ready.result.structured.as_deref(),
        Some(&json!({ "ready": true }))
    );
}

/// Runs the script, with the input that the script repeats, if any. Returns the output, or `None` with a message if the SDK is missing.
fn run_script(sent: Option<&Value>) -> Option<String> {
    let folder = node_folder(&["@modelcontextprotocol/sdk"])?;
    let mut node = Command::new("node");
    node.arg(script("mcp.mjs")).arg(folder).args(sent.map(|_| "-"));
    let mut child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let sent = sent.map(Value::to_string).unwrap_or_default();
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "mcp.mjs failed");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn fixture_is_the_output_of_the_sdk() {
    let Some(written) = run_script(None) else { return };
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(script("mcp.json"), &written).unwrap();
    }
    let written: Fixture = serde_json::from_str(&written).unwrap();
    assert_eq!(
        written,
        serde_json::from_str(&fs::read_to_string(script("mcp.json")).unwrap()).unwrap()
    );
}

/// A price.
#[derive(Serialize, JsonSchema)]
struct Price {
    /// Price in cents.
    cents: u32,
    /// Reduced price.
    reduced: Option<u32>,
}

/// Return a price.
#[tool(
    title = "Price",
    read_only,
    idempotent,
    destructive = false,
    open_world = false
)]
async fn price(
    /// Name of the object.
    meal: String,
    /// Number of people; `null` for all.
    seats: Patch<u8>,
) -> Result<Structured<Price>, String> {
    if meal == "none" {
        return Err("there is no such meal".to_owned());
    }
    Ok(Structured(Price {
        cents: 450,
        reduced: seats.is_keep().then_some(400),
    }))
}

/// Show a meal.
#[tool]
async fn show() -> Blocks {
    Blocks(vec![Block::text("soup"), Block::image("image/png", PNG)])
}

/// A client of the SDK checks each definition and result against its types, and values against the schemas of their tools.
#[test]
fn sdk_reads_the_written_messages() {
    let mut registry = ToolRegistry::new();
    registry.register_all(tool_set![price, show]).unwrap();
    let mut tools: Vec<Value> = registry.tool_definitions().into_iter().map(mcp::tool).collect();
    let mut results = BTreeMap::new();
    for (name, input) in [("price", r#"{ "meal": "soup", "seats": null }"#), ("show", "{}")] {
        let outcome = block_on(registry.call(ToolCall::new("1", name, input)));
        results.insert(name.to_owned(), mcp::result(&outcome.result).unwrap());
    }
    // The result of a failed tool has no value, for any schema.
    let mut failing = tools[0].clone();
    failing["name"] = "failing".into();
    tools.push(failing);
    let failed = block_on(registry.call(ToolCall::new("1", "price", r#"{ "meal": "none" }"#)));
    results.insert("failing".to_owned(), mcp::result(&failed.result).unwrap());
    // Every kind of schema of a function, and schemas from the SDK's own servers.
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("definitions/golden");
    for entry in fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        if path.to_str().unwrap().ends_with(".mcp.json") {
            tools.push(serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap());
        }
    }
    let fixture = fixture();
    let read = fixture
        .tools
        .iter()
        .map(|tool| mcp::tool(&mcp::definition(tool).unwrap()));
    tools.extend(read);
    for (name, result) in &fixture.results {
        let result = ToolResult::new("1", mcp::output(result).unwrap());
        results.insert(name.clone(), mcp::result(&result).unwrap());
    }
    for tool in &tools {
        let text = json!({ "content": [{ "type": "text", "text": "done" }] });
        results
            .entry(tool["name"].as_str().unwrap().to_owned())
            .or_insert(text);
    }
    assert!(tools.len() >= 13, "{}", tools.len());

    let sent = json!({ "tools": tools, "results": results });
    let Some(heard) = run_script(Some(&sent)) else {
        return;
    };
    assert_eq!(serde_json::from_str::<Value>(&heard).unwrap(), sent);
}
