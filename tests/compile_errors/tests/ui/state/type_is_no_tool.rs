use tool_runtime::ToolRegistry;

struct Act;

fn register() {
    ToolRegistry::new().register::<Act>().ok();
}

fn main() {}
