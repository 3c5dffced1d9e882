use tool_runtime::{schemars, serde, tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[schemars(crate = "tool_runtime::schemars")]
struct Key<'a> {
    a: &'a str,
}

/// Acts.
#[tool]
async fn act(
    /// A.
    a: Key,
) {
}

fn main() {}
