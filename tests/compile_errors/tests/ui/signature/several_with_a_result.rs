use tool_runtime::tool;

struct Opaque;

#[tool]
async fn act() -> Result<String, Opaque> {
    Err(Opaque)
}

fn main() {}
