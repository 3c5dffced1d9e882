use tool_runtime::serde_json::{Value, json};
use tool_runtime::{ToolDefinition, ToolRegistry};

fn main() {
    let definition = ToolDefinition::new("act", "Acts.", json!({ "type": "object" }));
    let mut registry = ToolRegistry::new();
    let _ = registry.register_dynamic(definition, |_: Value, _| "done");
}
