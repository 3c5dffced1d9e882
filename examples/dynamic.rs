//! A tool that is unknown at compile time. Its schema comes from a file, and could come from an MCP server or from a client's request. Its
//! calls have the leniency and the checks of annotated functions.

use std::fs;

use examples::voice::{chapter, say, show};
use tool_runtime::serde_json::{Value, from_str};
use tool_runtime::{Context, ToolCall, ToolDefinition, ToolRegistry};

#[tokio::main]
async fn main() {
    chapter("The definition, read at run time");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/dynamic.json");
    let definition: ToolDefinition =
        from_str(&fs::read_to_string(file).expect("the file is there")).expect("it holds a definition");
    show("definition", &definition);

    let mut registry = ToolRegistry::new();
    registry
        .register_dynamic(definition, async |arguments: Value, context: Context| {
            // The arguments match the schema.
            let title = arguments["title"].as_str().unwrap_or_default();
            let session = context.session().unwrap_or("nobody's");
            Ok::<_, String>(format!("`{title}` is in {session} calendar: {arguments}"))
        })
        .expect("the schema is valid");

    chapter("A call with three slips");
    let sloppy = r#"{ "title": "Review", "start": "2026-11-23T09:30", "minutes": "45", "attendees": "ada", "remind": 1 }"#;
    preview(&registry, sloppy);
    call(&registry, sloppy).await;

    chapter("A call that cannot be mended");
    let wrong = r#"{ "title": "Review", "start": "Monday morning", "minutes": 0 }"#;
    preview(&registry, wrong);
    call(&registry, wrong).await;
}

/// Prints the content of a permission dialog before the call runs.
fn preview(registry: &ToolRegistry, input: &str) {
    say("create_event", input);
    let request = registry.prepare(ToolCall::new("toolu_01", "create_event", input));
    if request.errors.is_empty() {
        show("would get", &request.arguments);
    } else {
        say("would be", "refused");
    }
}

async fn call(registry: &ToolRegistry, input: &str) {
    let call =
        ToolCall::new("toolu_01", "create_event", input).with_context(Context::new().with_session("Ada's"));
    let outcome = registry.call(call).await;
    for warning in &outcome.warnings {
        say("warning", warning);
    }
    show("tool_result", &outcome.result);
}
