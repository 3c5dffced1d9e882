//! Rows of `tests/repair/calls.txt`, for messages and completions.

use std::path::Path;

use serde_json::{Value, json};
use tool_runtime::repair::calls::{Format, Formats};

/// Returns the names and schemas of the tools of the rows.
pub(crate) fn tools() -> [(&'static str, Value); 5] {
    let text = json!({ "type": "string" });
    let weather = json!({ "type": "object", "properties": {
        "city": text, "days": { "type": "integer" }, "note": { "type": ["string", "null"] },
        "tags": { "type": "array", "items": text }, "options": { "type": "object" }, "metric": { "type": "boolean" },
    } });
    let none = json!({ "type": "object", "properties": {} });
    let file = json!({ "type": "object", "properties": { "path": text, "content": text } });
    [
        ("get_weather", weather),
        ("write", file),
        ("get_time", none.clone()),
        ("math.add", none.clone()),
        ("read:file", none),
    ]
}

/// Returns the formats and the texts of the rows.
pub(crate) fn rows() -> Vec<(Formats, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/repair/calls.txt");
    let table = std::fs::read_to_string(file).unwrap();
    let mut rows: Vec<(Formats, String)> = Vec::new();
    for line in table.lines() {
        if let Some(names) = line.strip_prefix("@ ") {
            let formats = names
                .split_whitespace()
                .map(|name| name.parse::<Format>().unwrap());
            rows.last_mut().unwrap().0 = formats.collect();
        } else if let Some(text) = line.strip_prefix('<') {
            let (_, row) = rows.last_mut().unwrap();
            row.push_str(text.strip_prefix(' ').unwrap_or(text));
            row.push('\n');
        } else if !line.is_empty() && !line.starts_with(['#', '>', '|', '!']) {
            rows.push((Formats::ALL, String::new()));
        }
    }
    for (_, text) in &mut rows {
        text.pop();
    }
    rows
}
