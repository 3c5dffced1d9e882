use tool_runtime::ToolRegistry;

fn main() {
    let files = ToolRegistry::new();
    let mut registry = ToolRegistry::new();
    let _ = registry.nest(files);
}
