//! Blocks of assistant messages that another API has made, such as calls of server tools, as text.

use super::place::BlockPlace;
use crate::wire::error::ApiError;
use crate::wire::object::Object;
use crate::wire::walk;

/// Fields of results that a model can read, in the order of the text.
const READABLE: [&str; 10] = [
    "title",
    "url",
    "tool_name",
    "text",
    "data",
    "content",
    "summary",
    "stdout",
    "stderr",
    "error_code",
];

/// Returns the text of a block.
pub(super) fn text(block: Object<'_>, kind: &str, place: BlockPlace) -> Result<String, ApiError> {
    let name = block.text("name").unwrap_or_default();
    match kind {
        "server_tool_use" | "mcp_tool_use" => {
            let input = block.get("input").unwrap_or("{}");
            Ok(format!("[Called {name} with {input}]"))
        }
        "compaction" => Ok(block.string("content").unwrap_or_default()),
        result if result.ends_with("_tool_result") => {
            let mut lines = Vec::new();
            collect(block.get("content").unwrap_or_default(), &mut lines);
            let tool = result.trim_end_matches("_tool_result");
            Ok(format!("[Result of {tool}]\n{}", lines.join("\n")))
        }
        _ => Err(place.unknown(kind)),
    }
}

/// Collects the readable texts of a result. Its depth is limited by the parser of requests.
fn collect(json: &str, lines: &mut Vec<String>) {
    if let Some(text) = walk::string(json).filter(|text| !text.trim().is_empty()) {
        lines.push(text.into_owned());
    }
    for item in walk::items(json) {
        collect(item, lines);
    }
    let Some(object) = Object::from_json(json) else {
        return;
    };
    // Pages and documents have their content in `source` or `content`.
    for name in READABLE.into_iter().chain(["source"]) {
        let Some(value) = object.get(name) else {
            continue;
        };
        // Data in base64 is not readable.
        if name != "data" || object.is("type", "text") {
            collect(value, lines);
        }
    }
}
