//! A user of the previous edition, in which `gen` is a name, and patterns and macros have the rules of that edition.

#![deny(warnings)]

use tool_runtime::{tool, tools, State};

/// Generate numbers.
#[tool(name = "generate")]
pub async fn gen(
    /// Number of numbers.
    #[arg(default = 3, range = 0..=10)]
    gen: u8,
    /// First number.
    from: Option<u8>,
    step: State<u8>,
) -> Vec<u8> {
    (0..gen).map(|place| from.unwrap_or(0) + place * *step).collect()
}

pub struct Numbers;

#[tools]
impl Numbers {
    /// Choose one.
    #[tool]
    pub async fn choose(
        &self,
        /// Numbers to choose from.
        #[arg(length = 1..)]
        of: Vec<u8>,
    ) -> Result<u8, String> {
        let Some(first) = of.first() else {
            return Err("there is none".to_owned());
        };
        Ok(*first)
    }
}

#[cfg(test)]
#[tokio::test]
async fn tools_register_and_run() {
    use tool_runtime::testing::run_in;
    use tool_runtime::ToolRegistry;

    let mut registry = ToolRegistry::new().with_state(2_u8);
    registry.register::<gen>().unwrap();
    registry.register_all(Numbers).unwrap();
    run_in(&registry, "generate", "{}").await.assert_text("[0,2,4]");
    run_in(&registry, "choose", r#"{"of": [7]}"#)
        .await
        .assert_text("7");
}
