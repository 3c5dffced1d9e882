//! The official conformance suite, in both revisions, against a server with the tools that the suite calls.
//!
//! See `installed.rs` for the environment. `conformance/` lists the checks that fail, with reasons.

use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tool_mcp::McpServer;
use tool_runtime::message::Block;
use tool_runtime::serde_json::{Value, from_value, json};
use tool_runtime::{Context, ToolDefinition, ToolOutput, ToolRegistry};

use crate::conformance_suite::run_suite;

const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

fn block(block: Value) -> Block {
    from_value(block).unwrap()
}

/// Returns the blocks of a tool's result.
fn blocks(name: &str) -> Vec<Block> {
    let resource = |uri: &str, kind: &str, text: &str| {
        block(json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } }))
    };
    match name {
        "test_image_content" => vec![Block::image("image/png", IMAGE)],
        "test_audio_content" => vec![block(
            json!({ "type": "audio", "data": SOUND, "mimeType": "audio/wav" }),
        )],
        "test_embedded_resource" => vec![resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )],
        "test_multiple_content_types" => vec![
            Block::text("Multiple content types test:"),
            Block::image("image/png", IMAGE),
            resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        _ => vec![Block::text("This is a simple text response for testing.")],
    }
}

/// Returns the schema that the suite expects in the list of tools.
fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// Returns the registry with the tools of the suite. A call of `test_trigger_tool_change` adds or removes a tool.
fn registry(server: &McpServer, has_more: bool) -> ToolRegistry {
    let server = server.clone();
    let mut registry = ToolRegistry::new();
    let schema = json!({ "type": "object", "properties": {} });
    let definition =
        |name: &str| ToolDefinition::new(name, format!("Tool `{name}` of the suite."), schema.clone());
    for name in [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
    ] {
        registry
            .register_dynamic(definition(name), async move |_, _| {
                ToolOutput::blocks(blocks(name))
            })
            .unwrap();
    }
    registry
        .register_dynamic(definition("test_error_handling"), async |_, _| {
            ToolOutput::error("This tool intentionally returns an error for testing")
        })
        .unwrap()
        .register_dynamic(
            definition("test_tool_with_progress"),
            async |_, context: Context| {
                for done in [0, 50, 100] {
                    context.progress().report(done, 100, "");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                "done"
            },
        )
        .unwrap()
        .register_dynamic(definition("test_trigger_tool_change"), move |_, _| {
            server.replace(self::registry(&server, !has_more));
            std::future::ready("changed")
        })
        .unwrap()
        .register_dynamic(
            ToolDefinition::new(
                "json_schema_2020_12_tool",
                "Tool with a schema of many keywords.",
                schema_2020_12(),
            ),
            async |_, _| "done",
        )
        .unwrap();
    if has_more {
        registry
            .register_dynamic(definition("added"), async |_, _| "added")
            .unwrap();
    }
    registry
}

async fn run(revision: &str) {
    let server = McpServer::new(ToolRegistry::new());
    server.replace(registry(&server, false));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().route_service("/mcp", server.http());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/conformance");
    run_suite(revision, folder, &["server", "--url", &url]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_to_2026_07_28() {
    run("2026-07-28").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_to_2025_11_25() {
    run("2025-11-25").await;
}
