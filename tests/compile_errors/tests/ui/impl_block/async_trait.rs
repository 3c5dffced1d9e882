use std::pin::Pin;

use tool_runtime::tool;

trait Ring {
    fn ring<'life0, 'async_trait>(&'life0 self, times: u8) -> Pin<Box<dyn Future<Output = ()> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait;
}

struct Bell;

// What `#[async_trait]` makes of `async fn ring(&self, times: u8)`.
impl Ring for Bell {
    /// Rings.
    #[tool]
    fn ring<'life0, 'async_trait>(&'life0 self, times: u8) -> Pin<Box<dyn Future<Output = ()> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let _ = times;
        })
    }
}

fn main() {}
