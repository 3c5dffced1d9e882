use std::pin::Pin;

use tool_runtime::tool;

trait Ring {
    fn ring<'async_trait>() -> Pin<Box<dyn Future<Output = ()> + Send + 'async_trait>>;
}

struct Bell;

// What `#[async_trait]` makes of `async fn ring()`.
impl Ring for Bell {
    /// Rings.
    #[tool]
    fn ring<'async_trait>() -> Pin<Box<dyn Future<Output = ()> + Send + 'async_trait>> {
        Box::pin(async move {})
    }
}

fn main() {}
