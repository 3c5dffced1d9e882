//! Seed 000's teaching example: one task list, two tools, and the six things to know about tools.

use examples::voice::{chapter, say, show, show_all};
use tool_builtins::todo::{TodoStore, todo_read, todo_write};
use tool_runtime::ToolRegistry;
use tool_runtime::serde_json::{Value, json};

#[tokio::main]
async fn main() {
    let mut checklist = Checklist::default();

    chapter("1. Registration: a registry holds the tools and what they share");
    let mut registry = ToolRegistry::new().with_state(TodoStore::default());
    registry
        .register::<todo_write>()
        .and_then(ToolRegistry::register::<todo_read>)
        .expect("two names, one store");
    let names: Vec<&str> = registry
        .tool_definitions()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    say("registered", names.join(", "));
    checklist.tick("registration", names == ["TodoWrite", "TodoRead"]);

    chapter("2. Schema definition: what the model is told, made from the functions");
    show_all("definition", &registry.tool_definitions());
    let schema = &registry.tool_definitions()[0].input_schema;
    checklist.tick("schema definition", schema["required"] == json!(["todos"]));

    chapter("3. tool_use_id: the model names each call, the answer carries the name");
    let input = json!({ "todos": [
        task("Read the seed", "completed", "Reading the seed"),
        task("Write the tool", "in_progress", "Writing the tool"),
        task("Test the tool", "pending", "Testing the tool"),
    ] });
    show("TodoWrite", &input);
    let written = registry.execute_tool("toolu_01", "TodoWrite", input).await;
    show("tool_result", &written);
    checklist.tick("tool_use_id", written.tool_use_id == "toolu_01");

    chapter("4. Async execution: calls wait without blocking, here two readers side by side");
    let (one, other) = tokio::join!(
        registry.execute_tool("toolu_02", "TodoRead", "{}"),
        registry.execute_tool("toolu_03", "TodoRead", "{}"),
    );
    show("tool_result", &one);
    show("tool_result", &other);
    checklist.tick("async execution", one.text() == other.text() && !one.is_error);

    chapter("5. tool_result: text for data, `is_error` only for failures, also for a tool that is not there");
    let unknown = registry
        .execute_tool("toolu_04", "TodoDelete", json!({ "index": 0 }))
        .await;
    show("tool_result", &unknown);
    checklist.tick(
        "tool_result",
        unknown.is_error && unknown.text() == Some("Tool 'TodoDelete' not found"),
    );

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
        show("TodoWrite", &input);
        show(
            "tool_result",
            &registry.execute_tool(id, "TodoWrite", input).await,
        );
    }
    let after = registry.execute_tool("toolu_09", "TodoRead", "{}").await;
    checklist.tick("parameter validation", after.text() == one.text());

    chapter("An empty list clears it");
    show(
        "tool_result",
        &registry
            .execute_tool("toolu_10", "TodoWrite", r#"{"todos":[]}"#)
            .await,
    );
    show(
        "tool_result",
        &registry.execute_tool("toolu_11", "TodoRead", "{}").await,
    );

    chapter("The six concepts");
    checklist.read_out();
}

fn task(content: &str, status: &str, active_form: &str) -> Value {
    json!({ "content": content, "status": status, "activeForm": active_form })
}

#[derive(Default)]
struct Checklist(Vec<&'static str>);

impl Checklist {
    /// Ticks a concept; a story that shows something else than it says ends here.
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
