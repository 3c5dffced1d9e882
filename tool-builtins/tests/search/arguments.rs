//! Arguments as models send them: Claude Code's own without a warning, sloppy ones with the expected warnings; and the definitions.

use serde_json::json;
use tool_runtime::testing::assert_definitions;

use crate::folder::TestFolder;

fn folder() -> TestFolder {
    let folder = TestFolder::searching();
    folder.write("src/a.ts", "one\ntwo\nthree\n");
    folder
}

#[tokio::test]
async fn arguments_of_claude_code_cause_no_warning() {
    let folder = folder();
    let path = folder.path.join("src/a.ts").display().to_string();
    let root = folder.path.display().to_string();
    for (tool, arguments) in [
        ("Read", json!({ "file_path": path })),
        ("Read", json!({ "file_path": path, "offset": 1, "limit": 2 })),
        ("Read", json!({ "file_path": path, "allow_large": true })),
        ("LS", json!({ "path": root })),
        ("LS", json!({ "path": root, "ignore": ["node_modules", "*.log"] })),
        ("Glob", json!({ "pattern": "**/*.ts" })),
        ("Glob", json!({ "pattern": "*.ts", "path": root })),
        ("Grep", json!({ "pattern": "one" })),
        (
            "Grep",
            json!({
                "pattern": "one", "path": root, "glob": "*.{ts,tsx}", "type": "ts", "output_mode": "content", "-A": 1, "-B": 1,
                "-n": true, "-i": true, "-o": false, "multiline": false, "head_limit": 20, "offset": 0
            }),
        ),
        (
            "Grep",
            json!({ "pattern": "one", "output_mode": "files_with_matches", "head_limit": 0 }),
        ),
        (
            "Grep",
            json!({ "pattern": "one", "output_mode": "count", "-C": 2 }),
        ),
        (
            "Grep",
            json!({ "pattern": "one", "output_mode": "content", "context": 2 }),
        ),
        (
            "Edit",
            json!({ "file_path": path, "old_string": "one", "new_string": "uno" }),
        ),
        (
            "Edit",
            json!({ "file_path": path, "old_string": "uno", "new_string": "one", "replace_all": false }),
        ),
        (
            "MultiEdit",
            json!({ "file_path": path, "edits": [
                { "old_string": "one", "new_string": "uno" },
                { "old_string": "two", "new_string": "dos", "replace_all": true }
            ] }),
        ),
        ("Write", json!({ "file_path": path, "content": "new\n" })),
        (
            "Write",
            json!({ "file_path": format!("{root}/new/b.ts"), "content": "" }),
        ),
    ] {
        folder.call(tool, arguments).await.ok();
    }
}

#[tokio::test]
async fn sloppy_arguments_cause_the_expected_warnings() {
    let folder = folder();
    for (tool, arguments, codes) in [
        (
            "Read",
            json!({ "filePath": "src/a.ts" }),
            &["parameter_name_normalized"][..],
        ),
        (
            "Read",
            json!({ "file_path": "src/a.ts", "offset": "2" }),
            &["string_literal_converted_to_integer"],
        ),
        (
            "Edit",
            json!({ "file_path": "src/a.ts", "old_string": "one", "new_string": "uno", "replace_all": "true" }),
            &["string_literal_converted_to_boolean"],
        ),
        (
            "Grep",
            json!({ "pattern": "two", "output_mode": "Content" }),
            &["enum_case_normalized"],
        ),
        (
            "Grep",
            json!({ "pattern": "two", "A": 1 }),
            &["parameter_name_normalized"],
        ),
        (
            "LS",
            json!({ "path": "src", "ignore": "*.log" }),
            &["scalar_coerced_to_list"],
        ),
        (
            "Read",
            json!({ "file_path": "src/a.ts", "encoding": "utf-8" }),
            &["unknown_parameter"],
        ),
    ] {
        let answer = folder.call(tool, arguments.clone()).await;
        let found: Vec<String> = answer
            .0
            .warnings
            .iter()
            .map(|issue| issue.code.to_string())
            .collect();
        assert!(!answer.0.result.is_error, "{arguments}: {}", answer.text());
        assert_eq!(found, codes, "{arguments}");
    }
    for (tool, arguments) in [
        ("Write", json!({ "file_path": "b.json", "content": { "a": 1 } })),
        ("Read", json!({ "file_path": "src/a.ts", "offset": 0 })),
        ("Read", json!({})),
        ("Grep", json!({ "pattern": "" })),
        ("Grep", json!({ "pattern": "a", "-A": 1_001 })),
        ("Glob", json!({ "pattern": " " })),
        ("MultiEdit", json!({ "file_path": "src/a.ts", "edits": [] })),
    ] {
        let answer = folder.call(tool, arguments.clone()).await;
        assert!(
            answer.0.result.is_error && !answer.0.errors.is_empty(),
            "{arguments}"
        );
    }
}

/// The descriptions say what is enforced, in at most 600 characters a tool.
#[test]
fn definitions_are_short_and_equal_the_file() {
    let folder = TestFolder::searching();
    for definition in folder.registry().tool_definitions() {
        let length = definition.description.chars().count();
        assert!(length <= 600, "{}: {length}", definition.name.as_str());
    }
    assert_definitions!(folder.registry(), "tests/search/definitions.json");
}
