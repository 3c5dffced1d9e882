//! Calls of unknown tools: the recorded names and positions. The message for the model is tested in `tests/faults/arguments.rs`.

use tool_runtime::{ToolCall, ToolRegistry};
use tower_layer::Identity;

use crate::execution::tools::definition;

fn registry(names: &[&str]) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for name in names {
        registry
            .register_dynamic(definition(name), async |_, _| "done")
            .unwrap();
    }
    registry
}

/// More tools than a message lists.
const MANY: [&str; 10] = [
    "read_file",
    "read_files",
    "write_file",
    "search_files",
    "search_text",
    "TodoWrite",
    "TodoRead",
    "fetch",
    "shell",
    "read_image",
];

async fn notes_on(registry: &ToolRegistry, name: &str) -> Vec<String> {
    registry.call(ToolCall::new("1", name, "{}")).await.notes
}

#[tokio::test]
async fn lists_the_tools_if_there_are_few() {
    let registry = registry(&["search", "fetch"]);
    assert_eq!(
        notes_on(&registry, "brew").await,
        ["available tools: `search`, `fetch`"]
    );
    let outcomes = registry.execute_all([ToolCall::new("1", "brew", "{}")]).await;
    assert_eq!(outcomes[0].notes, ["available tools: `search`, `fetch`"]);
}

#[tokio::test]
async fn names_up_to_three_similar_tools_if_there_are_many() {
    let registry = registry(&MANY);
    for (sent, similar) in [
        ("Search-Files", "`search_files`"),
        ("todo_write", "`TodoWrite`"),
        ("TodoWrit", "`TodoWrite`"),
        ("sehll", "`shell`"),
        ("functions.fetch", "`fetch`"),
        ("mcp__web__fetch", "`fetch`"),
        ("search_file", "`search_files`"),
        ("read_fil", "`read_file`, `read_files`"),
        ("readfile", "`read_file`"),
    ] {
        let notes = notes_on(&registry, sent).await;
        assert_eq!(notes, [format!("similar names: {similar}")], "{sent}");
    }
    for sent in ["brew", "", "x", "🍵", "f"] {
        assert_eq!(notes_on(&registry, sent).await, [""; 0], "{sent}");
    }
}

#[tokio::test]
async fn names_nothing_if_there_are_no_tools() {
    assert_eq!(notes_on(&registry(&[]), "brew").await, [""; 0]);
}

#[tokio::test]
async fn names_only_tools_of_the_subset() {
    let subset = registry(&MANY).subset(["shell", "read_files"]);
    assert_eq!(
        notes_on(&subset, "read_file").await,
        ["available tools: `read_files`, `shell`"]
    );
}

#[tokio::test]
async fn execute_tool_adds_no_note() {
    let plain = registry(&["search"]);
    for registry in [plain.clone().layer(Identity::new()), plain] {
        let result = registry.execute_tool("1", "serch", "{}").await;
        assert_eq!(result.text(), Some("Tool 'serch' not found"));
    }
}

#[test]
fn prepare_names_them_in_the_error() {
    let request = registry(&["search"]).prepare(ToolCall::new("1", "serch", "{}"));
    assert_eq!(
        request.errors[0].to_string(),
        "unknown_tool:serch: Tool 'serch' not found; available tools: `search`"
    );
}

#[tokio::test]
async fn very_long_names_are_not_compared() {
    let registry = registry(&MANY);
    let outcome = registry
        .call(ToolCall::new("1", "read_file".repeat(1 << 20), "{}"))
        .await;
    assert!(outcome.notes.is_empty());
}
