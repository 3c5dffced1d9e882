use tool_runtime::tools;

struct Store;

macro_rules! act {
    () => {
        async fn act(&self) {}
    };
}

#[tools]
impl Store {
    #[tool]
    act!();
}

fn main() {}
