//! Six tools in every wire format, compared byte for byte with the files in `golden/`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tests --test calls golden` updates the files; review the difference.

use std::path::Path;
use std::{env, fs};

use serde_json::{Value, json};
use tool_runtime::ToolDefinition;
use tool_runtime::format::strict::{NotStrict, StrictTool};
use tool_runtime::format::{anthropic, mcp, openai};

use crate::definitions::sample_tools;

#[test]
fn definitions_in_every_format_match_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("definitions/golden");
    let update = env::var_os("UPDATE_GOLDEN").is_some();
    let mut different = Vec::new();
    let mut expected_files = Vec::new();
    for (tool, definition) in sample_tools::definitions() {
        for (format, shown) in formats(&definition) {
            let name = format!("{tool}.{format}.json");
            let text = serde_json::to_string_pretty(&shown).unwrap() + "\n";
            let path = folder.join(&name);
            if update {
                fs::write(&path, &text).unwrap();
            } else if fs::read_to_string(&path)
                .unwrap_or_default()
                .replace("\r\n", "\n")
                != text
            {
                different.push(format!("{name}:\n{text}"));
            }
            expected_files.push(name);
        }
    }
    assert!(
        different.is_empty(),
        "these differ from their golden files:\n{}",
        different.join("\n")
    );
    assert_eq!(expected_files.len(), 42);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    expected_files.sort();
    assert_eq!(files, expected_files, "no file without a tool");
}

#[test]
fn definitions_are_deterministic() {
    assert_eq!(sample_tools::definitions(), sample_tools::definitions());
    let text = |definitions: Vec<(&str, ToolDefinition)>| -> Vec<String> {
        definitions
            .iter()
            .map(|(_, definition)| serde_json::to_string(definition).unwrap())
            .collect()
    };
    assert_eq!(
        text(sample_tools::definitions()),
        text(sample_tools::definitions())
    );
}

fn formats(definition: &ToolDefinition) -> [(&'static str, Value); 7] {
    [
        ("anthropic", anthropic::tool(definition)),
        ("anthropic_strict", strict(anthropic::strict_tool(definition))),
        ("openai_chat", openai::chat::tool(definition)),
        (
            "openai_chat_strict",
            strict(openai::chat::strict_tool(definition)),
        ),
        ("openai_responses", openai::responses::tool(definition)),
        (
            "openai_responses_strict",
            strict(openai::responses::strict_tool(definition)),
        ),
        ("mcp", mcp::tool(definition)),
    ]
}

/// Writes the tool with its omitted parts, or the reason why the tool cannot be written.
fn strict(converted: Result<StrictTool, NotStrict>) -> Value {
    match converted {
        Ok(strict) => {
            let notes: Vec<_> = strict.notes.iter().map(ToString::to_string).collect();
            json!({ "tool": strict.tool, "notes": notes })
        }
        Err(refused) => json!({ "refused": refused.to_string() }),
    }
}
