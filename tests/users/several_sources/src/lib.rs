//! A user whose tools come from several sources: functions, independent libraries, and a server.

#![deny(warnings)]

use tool_runtime::format::mcp;
use tool_runtime::serde_json::{Value, json};
use tool_runtime::{RegistryError, State, ToolRegistry, tool};

/// Find a title.
#[tool(read_only)]
pub async fn find(
    /// Text in the title.
    word: String,
    titles: State<Vec<String>>,
) -> Vec<String> {
    titles
        .iter()
        .filter(|title| title.contains(&word))
        .cloned()
        .collect()
}

/// Builds the registry of a library.
fn library(titles: &[&str]) -> Result<ToolRegistry, RegistryError> {
    let titles: Vec<String> = titles.iter().map(|&title| title.to_owned()).collect();
    let mut library = ToolRegistry::new().with_state(titles);
    library.register::<find>()?;
    Ok(library)
}

/// Returns a server's list of tools.
fn listed() -> Value {
    json!([
        { "name": "loans.list", "description": "List the loans.", "inputSchema": { "type": "object" } },
        {
            "name": "loans.extend",
            "description": "Extend a loan.",
            "inputSchema": {
                "type": "object",
                "properties": { "days": { "type": "integer", "description": "For how long." } },
                "required": ["days"]
            }
        }
    ])
}

/// Builds a registry with the tools of two libraries and a server.
pub fn registry() -> Result<ToolRegistry, Box<dyn std::error::Error>> {
    let listed = listed();
    let listed = listed.as_array().into_iter().flatten();
    let definitions = listed.map(mcp::definition).collect::<Result<Vec<_>, _>>()?;
    let mut server = ToolRegistry::new();
    server.register_source(definitions, async |name, arguments, _| {
        format!("{name} {arguments}")
    })?;
    let mut registry = ToolRegistry::new();
    registry
        .nest("books", library(&["Ulysses", "Emma"])?)?
        .nest("maps", library(&["Oslo"])?)?
        .nest("server", server)?;
    Ok(registry)
}

#[cfg(test)]
#[tokio::test]
async fn calls_reach_the_tool_of_their_source() {
    use tool_runtime::testing::run_in;

    let registry = registry().unwrap();
    run_in(&registry, "books__find", r#"{"word": "m"}"#)
        .await
        .assert_json(json!(["Emma"]));
    run_in(&registry, "maps__find", r#"{"word": "s"}"#)
        .await
        .assert_json(json!(["Oslo"]));
    run_in(&registry, "server__loans_extend", r#"{"days": "7"}"#)
        .await
        .assert_text(r#"loans.extend {"days":7}"#);
}
