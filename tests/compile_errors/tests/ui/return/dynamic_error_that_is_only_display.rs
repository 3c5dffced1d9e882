use std::fmt;
use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::json};

struct Sad;

impl fmt::Display for Sad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sad")
    }
}

fn main() {
    let definition = ToolDefinition::new("act", "Acts.", json!({ "type": "object" }));
    let mut registry = ToolRegistry::new();
    let _ = registry.register_dynamic(definition, async |_, _| Err::<String, _>(Sad));
}
