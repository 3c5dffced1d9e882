use tool_runtime::ToolRegistry;

struct Store;

fn register() {
    ToolRegistry::new().register_all(Store).ok();
}

fn main() {}
