//! Definitions, and functions without a valid definition.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{ToolDefinition, ToolRegistry, tool};

use super::functions::read_file;
use super::registry;

fn definition() -> Value {
    serde_json::to_value(registry().get_tool("search_files").unwrap().definition()).unwrap()
}

/// R-DEF-1, R-DEF-4
#[test]
fn search_files_has_this_definition() {
    let expected = json!({
        "name": "search_files",
        "description": "Search the workspace for files.",
        "input_schema": {
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "Glob pattern, for example `**/*.rs`." },
                "caseSensitive": { "type": "boolean", "description": "Whether case matters." },
                "maxResults": { "type": "integer", "description": "The most results to return." }
            },
            "required": ["pattern"]
        }
    });
    assert_eq!(definition(), expected);
    let order = |definition: &Value| -> Vec<String> {
        definition["input_schema"]["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(order(&definition()), order(&expected));
}

/// R-DEF-5
#[test]
fn descriptions_reach_the_model_unchanged() {
    let mut registry = ToolRegistry::new();
    registry.register::<read_file>().unwrap();
    let schema = &registry.get_tool("read_file").unwrap().definition().input_schema;
    assert_eq!(
        *schema,
        json!({
            "type": "object",
            "properties": {
                "filePath": { "type": "string", "description": "Absolute path of the file. It must exist." },
                "startLine": { "type": "integer", "description": "The first line to read, counted from 1." },
            },
            "required": ["filePath"],
        }),
    );
    let sent = ToolDefinition::new("remote", "From a server.", schema.clone());
    registry
        .register_dynamic(sent.clone(), async |input, _| input)
        .unwrap();
    assert_eq!(*registry.get_tool("remote").unwrap().definition(), sent);
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Read,
    Write,
    Append,
}

/// Open a file.
#[tool]
async fn open(
    /// Mode of the opened file.
    mode: Mode,
) -> Mode {
    mode
}

/// R-DEF-10
#[test]
fn enum_is_shown_as_its_values() {
    let mut registry = ToolRegistry::new();
    registry.register::<open>().unwrap();
    assert_eq!(
        registry.get_tool("open").unwrap().definition().input_schema["properties"]["mode"],
        json!({ "type": "string", "enum": ["read", "write", "append"], "description": "Mode of the opened file." }),
    );
}

/// Returns the compiler's message for a case in `tests/compile_errors/tests/ui`, which that suite compares with the compiler.
fn compile_error(case: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("compile_errors/tests/ui");
    std::fs::read_to_string(directory.join(case).with_extension("stderr")).unwrap()
}

/// R-DEF-6
#[test]
fn function_or_parameter_without_a_description_does_not_compile() {
    for (case, message) in [
        (
            "docs/tool_without_description",
            "error: missing description of this tool",
        ),
        (
            "docs/tool_with_a_blank_comment",
            "error: missing description of this tool",
        ),
        (
            "docs/parameter_without_description",
            "error[E0277]: this parameter has no description",
        ),
    ] {
        let error = compile_error(case);
        assert!(error.starts_with(message), "{error}");
    }
}

/// R-DEF-7
#[test]
fn generic_function_does_not_compile() {
    for case in [
        "signature/generic_type",
        "signature/generic_const",
        "signature/generic_lifetime",
        "impl_block/generic",
    ] {
        let error = compile_error(case);
        assert!(error.contains("cannot be generic"), "{error}");
    }
}
