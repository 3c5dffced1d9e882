use tool_runtime::tools;

use std::rc::Rc;

struct Store;

#[tools]
impl Store {
    /// Does a thing.
    #[tool]
    async fn act(&self) -> String {
        let text = Rc::new(String::from("text"));
        std::future::ready(()).await;
        text.to_string()
    }
}

fn main() {}
