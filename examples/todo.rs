//! A teaching example: a task list, two tools, and six concepts of tools.

use examples::voice::{chapter, say, show, show_all};
use tool_builtins::todo::{todo_read, todo_write};
use tool_runtime::serde_json::{Value, json};
use tool_runtime::{ToolRegistry, ToolResult, tool_set};

#[tokio::main]
async fn main() {
    let mut checklist = Checklist::default();
    let registry = registration(&mut checklist);
    schema_definition(&registry, &mut checklist);
    tool_use_id(&registry, &mut checklist).await;
    async_execution(&registry, &mut checklist).await;
    tool_result(&registry, &mut checklist).await;
    parameter_validation(&registry, &mut checklist).await;

    chapter("The six concepts");
    checklist.read_out();
}

fn registration(checklist: &mut Checklist) -> ToolRegistry {
    chapter("1. Registration: a registry holds the tools and what they share");
    let mut registry = ToolRegistry::new();
    registry
        .register_all(tool_set![todo_write, todo_read])
        .expect("two names, one store");
    let names: Vec<&str> = registry
        .tool_definitions()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    say("registered", names.join(", "));
    checklist.tick("registration", names == ["TodoWrite", "TodoRead"]);
    registry
}

fn schema_definition(registry: &ToolRegistry, checklist: &mut Checklist) {
    chapter("2. Schema definition: what the model is told, made from the functions");
    show_all("definition", &registry.tool_definitions());
    let schema = &registry.tool_definitions()[0].input_schema;
    checklist.tick("schema definition", schema["required"] == json!(["todos"]));
}

async fn tool_use_id(registry: &ToolRegistry, checklist: &mut Checklist) {
    chapter("3. tool_use_id: the model names each call, the answer carries the name");
    let input = json!({ "todos": [
        task("Read the seed", "completed", "Reading the seed"),
        task("Write the tool", "in_progress", "Writing the tool"),
        task("Test the tool", "pending", "Testing the tool"),
    ] });
    let written = write(registry, "toolu_01", input).await;
    checklist.tick("tool_use_id", written.tool_use_id == "toolu_01");
}

async fn async_execution(registry: &ToolRegistry, checklist: &mut Checklist) {
    chapter("4. Async execution: calls wait without blocking, here two readers side by side");
    let (one, other) = tokio::join!(read(registry, "toolu_02"), read(registry, "toolu_03"));
    checklist.tick("async execution", one.text() == other.text() && !one.is_error);
}

async fn tool_result(registry: &ToolRegistry, checklist: &mut Checklist) {
    chapter("5. tool_result: text for data, `is_error` only for failures, also for a tool that is not there");
    let unknown = registry
        .execute_tool("toolu_04", "TodoDelete", json!({ "index": 0 }))
        .await;
    show("tool_result", &unknown);
    checklist.tick(
        "tool_result",
        unknown.is_error && unknown.text() == Some("Tool 'TodoDelete' not found"),
    );
}

async fn parameter_validation(registry: &ToolRegistry, checklist: &mut Checklist) {
    chapter("6. Parameter validation: a wrong list changes nothing, and the message says where it is wrong");
    for (id, input) in [
        ("toolu_05", json!({})),
        ("toolu_06", json!({ "todos": "Test the tool" })),
        (
            "toolu_07",
            json!({ "todos": [task("Test the tool", "done", "Testing the tool")] }),
        ),
        (
            "toolu_08",
            json!({ "todos": [task("Test", "pending", "Testing"), task("  ", "pending", "Resting")] }),
        ),
    ] {
        assert!(write(registry, id, input).await.is_error);
    }
    let after = read(registry, "toolu_09").await;
    let kept = after.text().is_some_and(|list| list.contains("Write the tool"));
    checklist.tick("parameter validation", kept);

    chapter("An empty list is a right one: it clears the tasks");
    write(registry, "toolu_10", json!({ "todos": [] })).await;
    read(registry, "toolu_11").await;
}

async fn write(registry: &ToolRegistry, id: &str, input: Value) -> ToolResult {
    show("TodoWrite", &input);
    let result = registry.execute_tool(id, "TodoWrite", input).await;
    show("tool_result", &result);
    result
}

async fn read(registry: &ToolRegistry, id: &str) -> ToolResult {
    let result = registry.execute_tool(id, "TodoRead", "{}").await;
    say("TodoRead", "{}");
    show("tool_result", &result);
    result
}

fn task(content: &str, status: &str, active_form: &str) -> Value {
    json!({ "content": content, "status": status, "activeForm": active_form })
}

#[derive(Default)]
struct Checklist(Vec<&'static str>);

impl Checklist {
    /// Ticks a concept. The story fails if it does not show the concept.
    fn tick(&mut self, concept: &'static str, seen: bool) {
        assert!(seen, "the story does not show: {concept}");
        self.0.push(concept);
    }

    fn read_out(&self) {
        for concept in &self.0 {
            say("[x]", concept);
        }
    }
}
