//! A user who renames the dependency.

#![deny(warnings)]

use agent::{tool, tools};

/// Add.
#[tool(crate = agent)]
pub async fn add(
    /// One.
    #[arg(default = 1, range = ..100)]
    a: u8,
    /// Two.
    b: u8,
) -> u8 {
    a.saturating_add(b)
}

pub struct Sums;

#[tools(crate = ::agent)]
impl Sums {
    /// Double a number.
    #[tool]
    pub async fn double(
        &self,
        /// What.
        number: u8,
    ) -> u8 {
        number.saturating_mul(2)
    }
}

#[cfg(test)]
#[tokio::test]
async fn tools_register_and_run() {
    let mut registry = agent::ToolRegistry::new();
    registry.register::<add>().unwrap().register_all(Sums).unwrap();
    agent::testing::run_in(&registry, "add", r#"{"b": 2}"#)
        .await
        .assert_text("3");
    agent::testing::run_in(&registry, "double", r#"{"number": 2}"#)
        .await
        .assert_text("4");
}
