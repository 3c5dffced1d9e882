use tool_runtime::{serde, tools};

#[derive(serde::Serialize)]
#[serde(crate = "tool_runtime::serde")]
struct Ref<'a>(&'a str);

struct Store(String);

#[tools]
impl Store {
    /// Acts.
    #[tool]
    async fn act(&self) -> Ref {
        Ref(&self.0)
    }
}

fn main() {}
