//! [`TypedTool`]: tools with schemas of Anthropic's that the client runs, as functions,
//! <https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview>.

/// A tool whose schema is not in the request.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypedTool {
    pub(super) description: &'static str,
    pub(super) schema: &'static str,
}

/// Beginnings of the types, with their tools.
pub(super) const CLIENT_TOOLS: [(&str, TypedTool); 3] = [
    ("bash_", BASH),
    ("text_editor_", TEXT_EDITOR),
    ("memory_", MEMORY),
];

impl TypedTool {
    /// Returns the tool of a type such as `bash_20250124`.
    pub(super) fn from_type(kind: &str) -> Option<Self> {
        let (prefix, tool) = CLIENT_TOOLS.iter().find(|(prefix, _)| kind.starts_with(prefix))?;
        let version: u32 = kind.strip_prefix(prefix)?.parse().ok()?;
        if *prefix != "text_editor_" {
            return Some(*tool);
        }
        Some(match version {
            ..20_250_429 => TEXT_EDITOR_WITH_UNDO,
            20_250_429..20_250_728 => TEXT_EDITOR_WITH_NEW_STR,
            _ => *tool,
        })
    }
}

const BASH: TypedTool = TypedTool {
    description: "Runs a command in a bash session, which keeps its state between calls.",
    schema: r#"{"type":"object","properties":{"command":{"type":"string","description":"The command to run. Required unless the session is restarted."},"restart":{"type":"boolean","description":"Whether the session is restarted."}}}"#,
};

const EDITOR: &str = "Views, creates and edits text files. `view` shows a file, or the entries of a directory; `create` writes a file; `str_replace` replaces \
     a text that occurs once in the file; `insert` inserts a text after a line.";

const TEXT_EDITOR: TypedTool = TypedTool {
    description: EDITOR,
    schema: r#"{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"]},"path":{"type":"string","description":"Path of the file or directory."},"file_text":{"type":"string","description":"Text of the file, for `create`."},"old_str":{"type":"string","description":"Text to replace, for `str_replace`."},"new_str":{"type":"string","description":"Replacement, for `str_replace`."},"insert_line":{"type":"integer","description":"Number of the line after which the text is inserted, 0 for the beginning, for `insert`."},"insert_text":{"type":"string","description":"Text to insert, for `insert`."},"view_range":{"type":"array","items":{"type":"integer"},"description":"First and last line, from 1; -1 for the end of the file, for `view`."}},"required":["command","path"]}"#,
};

const TEXT_EDITOR_WITH_NEW_STR: TypedTool = TypedTool {
    description: EDITOR,
    schema: r#"{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"]},"path":{"type":"string","description":"Path of the file or directory."},"file_text":{"type":"string","description":"Text of the file, for `create`."},"old_str":{"type":"string","description":"Text to replace, for `str_replace`."},"new_str":{"type":"string","description":"Replacement, for `str_replace`, or text to insert, for `insert`."},"insert_line":{"type":"integer","description":"Number of the line after which the text is inserted, 0 for the beginning, for `insert`."},"view_range":{"type":"array","items":{"type":"integer"},"description":"First and last line, from 1; -1 for the end of the file, for `view`."}},"required":["command","path"]}"#,
};

const TEXT_EDITOR_WITH_UNDO: TypedTool = TypedTool {
    description: "Views, creates and edits text files. `view` shows a file, or the entries of a directory; `create` writes a file; `str_replace` \
         replaces a text that occurs once in the file; `insert` inserts a text after a line; `undo_edit` undoes the last edit of the file.",
    schema: r#"{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","undo_edit"]},"path":{"type":"string","description":"Path of the file or directory."},"file_text":{"type":"string","description":"Text of the file, for `create`."},"old_str":{"type":"string","description":"Text to replace, for `str_replace`."},"new_str":{"type":"string","description":"Replacement, for `str_replace`, or text to insert, for `insert`."},"insert_line":{"type":"integer","description":"Number of the line after which the text is inserted, 0 for the beginning, for `insert`."},"view_range":{"type":"array","items":{"type":"integer"},"description":"First and last line, from 1; -1 for the end of the file, for `view`."}},"required":["command","path"]}"#,
};

const MEMORY: TypedTool = TypedTool {
    description: "Views and changes the files in the directory `/memories`, which keeps its contents between conversations. `view` shows a file, \
         or the entries of a directory; `create` writes a file; `str_replace` replaces a text that occurs once in the file; `insert` inserts a \
         text after a line; `delete` deletes a file or directory; `rename` renames a file or directory.",
    schema: r#"{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},"path":{"type":"string","description":"Path below `/memories`, for all commands but `rename`."},"view_range":{"type":"array","items":{"type":"integer"},"description":"First and last line, from 1, for `view`."},"file_text":{"type":"string","description":"Text of the file, for `create`."},"old_str":{"type":"string","description":"Text to replace, for `str_replace`."},"new_str":{"type":"string","description":"Replacement, for `str_replace`."},"insert_line":{"type":"integer","description":"Number of the line after which the text is inserted, for `insert`."},"insert_text":{"type":"string","description":"Text to insert, for `insert`."},"old_path":{"type":"string","description":"Path to rename, for `rename`."},"new_path":{"type":"string","description":"New path, for `rename`."}},"required":["command"]}"#,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_compile_and_versions_have_their_commands() {
        for (kind, argument, is_known) in [
            ("bash_20250124", "restart", true),
            ("text_editor_20241022", "undo_edit", true),
            ("text_editor_20250429", "undo_edit", false),
            ("text_editor_20250728", "insert_text", true),
            ("memory_20250818", "old_path", true),
        ] {
            let tool = TypedTool::from_type(kind).unwrap();
            let schema: serde_json::Value = serde_json::from_str(tool.schema).unwrap();
            assert_eq!(schema["type"], "object", "{kind}");
            assert_eq!(tool.schema.contains(argument), is_known, "{kind}");
        }
        for kind in ["bash", "bash_x", "web_search_20250305", "computer_20250124"] {
            assert!(TypedTool::from_type(kind).is_none(), "{kind}");
        }
    }
}
