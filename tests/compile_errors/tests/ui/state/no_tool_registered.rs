use tool_runtime::ToolRegistry;

async fn act() {}

fn register() {
    ToolRegistry::new().register::<act>().ok();
}

fn main() {}
