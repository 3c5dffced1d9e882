//! The rules of edits: every row of the table in `docs/edit.md`.

use serde_json::json;

use crate::folder::TestFolder;

struct Row {
    rule: String,
    with: String,
    file: String,
    old: String,
    new: String,
    /// Text of the file, or the code of the error.
    result: Result<String, String>,
}

fn rows() -> Vec<Row> {
    let document = include_str!("../../../docs/edit.md");
    let (_, table) = document.split_once("|---|---|---|---|---|---|\n").unwrap();
    let lines = table.lines().take_while(|line| line.starts_with('|'));
    lines.map(Row::new).collect()
}

impl Row {
    fn new(line: &str) -> Self {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, rule, with, file, old, new, result, _] = *cells else {
            panic!("{line}")
        };
        let code = |cell: &str| cell.trim_matches('`').to_owned();
        let text = |cell: &str| serde_json::from_str::<String>(&code(cell));
        Self {
            rule: rule.to_owned(),
            with: code(with),
            file: text(file).unwrap(),
            old: text(old).unwrap(),
            new: text(new).unwrap(),
            result: text(result).map_err(|_| code(result)),
        }
    }
}

#[tokio::test]
async fn edits_follow_the_table() {
    let rows = rows();
    assert!(rows.len() > 50, "{}", rows.len());
    for row in rows {
        let folder = TestFolder::with(|options| {
            if row.with == "exact_edits" {
                options.exact_edits()
            } else {
                options
            }
        });
        folder.write(
            "f",
            if row.with == "changed" {
                "before"
            } else {
                &row.file
            },
        );
        if row.with != "unread" {
            folder.call("Read", json!({ "file_path": "f" })).await;
        }
        folder.write("f", &row.file);
        let arguments = json!({
            "file_path": "f",
            "old_string": row.old,
            "new_string": row.new,
            "replace_all": row.with == "replace_all",
        });
        let answer = folder.call("Edit", arguments).await;
        let text = answer.text();
        let rule = &row.rule;
        match row.result {
            Ok(result) => {
                assert!(!answer.0.result.is_error, "{rule}: {text}");
                assert_eq!(folder.text("f"), result, "{rule}: {text}");
                let is_exact = !text.contains("Note: old_string differed");
                let is_lenient = [
                    "line ends:",
                    "typography: a quoted",
                    "typography: a no",
                    "typography: of two lines",
                    "indentation:",
                    "line numbers",
                ]
                .iter()
                .any(|start| rule.starts_with(start));
                assert_eq!(is_exact, !is_lenient, "{rule}: {text}");
            }
            Err(code) => {
                assert_eq!(answer.code(), code, "{rule}: {text}");
                assert_eq!(folder.text("f"), row.file, "{rule}");
            }
        }
    }
}
