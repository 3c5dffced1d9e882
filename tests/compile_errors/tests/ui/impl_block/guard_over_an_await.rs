use std::sync::Mutex;
use tool_runtime::tools;

struct Store(Mutex<u8>);

#[tools]
impl Store {
    /// A.
    #[tool]
    async fn a(&self) -> u8 {
        let g = self.0.lock().unwrap();
        std::future::ready(()).await;
        *g
    }
}

fn main() {}
