//! A user of a framework that re-exports the runtime, without a dependency on the runtime.

#![deny(warnings)]

use facade::prelude::{tool, tools};

/// Add.
#[tool(crate = facade::tools)]
pub async fn add(
    /// One.
    a: u8,
    /// Two.
    #[arg(default = 2)]
    b: u8,
) -> u8 {
    a + b
}

pub struct Sums;

#[tools(crate = facade::tools)]
impl Sums {
    /// Double a number.
    #[tool]
    pub async fn double(
        &self,
        /// What.
        number: u8,
    ) -> u8 {
        number * 2
    }
}

facade::constant!(dozen, "A dozen.", u32, 12);

#[cfg(test)]
#[tokio::test]
async fn tools_register_and_run() {
    use facade::tools::testing::run_in;

    let mut registry = facade::prelude::ToolRegistry::new();
    registry.register::<add>().unwrap();
    registry.register::<dozen>().unwrap();
    registry.register_all(Sums).unwrap();
    run_in(&registry, "add", r#"{"a": 1}"#).await.assert_text("3");
    run_in(&registry, "double", r#"{"number": 2}"#)
        .await
        .assert_text("4");
    run_in(&registry, "dozen", r#"{"times": 2}"#)
        .await
        .assert_text("24");
}
