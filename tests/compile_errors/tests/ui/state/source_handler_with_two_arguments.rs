use tool_runtime::serde_json::{Value, json};
use tool_runtime::{Context, ToolDefinition, ToolRegistry};

fn main() {
    let listed = [ToolDefinition::new("act", "Acts.", json!({ "type": "object" }))];
    let mut registry = ToolRegistry::new();
    let _ = registry.register_source(listed, async |arguments: Value, _: Context| arguments);
}
