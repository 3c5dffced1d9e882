//! Tools with other attribute macros, before and after `#[tool]`.

#![deny(warnings)]

use tool_runtime::{State, tool, tools};
use tracing::instrument;

/// Add, the span inside.
#[tool]
#[instrument]
pub async fn add(
    /// One.
    a: u8,
    /// Two.
    #[arg(default = 2)]
    b: u8,
) -> u8 {
    a + b
}

/// Double, the span first.
///
/// Attributes above `#[tool]` receive the parameters' attributes, and keep them unchanged.
#[instrument(skip(factor))]
#[tool]
pub async fn multiply(#[arg(description = "What.")] number: u8, factor: State<u8>) -> Result<u8, String> {
    number.checked_mul(*factor).ok_or_else(|| "too much".to_owned())
}

#[async_trait::async_trait]
pub trait Greets {
    async fn greet(&self, name: &str) -> String;
}

#[derive(Debug)]
pub struct Host;

#[async_trait::async_trait]
impl Greets for Host {
    async fn greet(&self, name: &str) -> String {
        format!("hello, {name}")
    }
}

#[tools]
impl Host {
    /// Welcome somebody.
    #[tool]
    #[instrument(skip(self))]
    async fn welcome(
        &self,
        /// Name of the guest.
        name: String,
    ) -> String {
        self.greet(&name).await
    }

    /// Say goodbye to a guest.
    #[instrument]
    #[tool]
    async fn see_off(
        &self,
        /// Name of the guest.
        name: String,
    ) -> String {
        format!("goodbye, {name}")
    }
}

#[cfg(test)]
#[tokio::test]
async fn tools_register_and_run() {
    use tool_runtime::ToolRegistry;
    use tool_runtime::testing::run_in;

    let mut registry = ToolRegistry::new().with_state(2_u8);
    registry.register::<add>().unwrap();
    registry.register::<multiply>().unwrap();
    registry.register_all(Host).unwrap();
    run_in(&registry, "add", r#"{"a": 1}"#).await.assert_text("3");
    run_in(&registry, "multiply", r#"{"number": 2}"#)
        .await
        .assert_text("4");
    run_in(&registry, "welcome", r#"{"name": "Ada"}"#)
        .await
        .assert_text("hello, Ada");
    run_in(&registry, "see_off", r#"{"name": "Ada"}"#)
        .await
        .assert_text("goodbye, Ada");
}
