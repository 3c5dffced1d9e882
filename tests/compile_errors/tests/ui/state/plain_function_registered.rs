use tool_runtime::ToolRegistry;

async fn act() -> u8 {
    1
}

fn main() {
    ToolRegistry::new().register::<act>().ok();
}
