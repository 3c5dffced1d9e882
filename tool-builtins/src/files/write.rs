//! `Write`: creates a file, or replaces the whole content of a file that the model has read.

use tool_runtime::{CancellationToken, SessionState, State, ToolError, tool};

use super::document::Document;
use crate::workspace::error::ErrorCode;
use crate::workspace::lines::Lines;
use crate::workspace::place::Target;
use crate::workspace::seen_files::{FileDigest, Seen, WrittenLines};
use crate::workspace::{SeenFiles, Workspace};

/// Create a file, or replace its whole content. An existing file must have been read completely in this session; use Edit to change
/// parts of a file. Missing folders are created.
#[tool(name = "Write", destructive, blocking)]
pub fn write(
    /// The file: absolute, or relative to the workspace.
    file_path: String,
    /// The whole content of the file.
    content: String,
    workspace: State<Workspace>,
    seen: SessionState<SeenFiles>,
    cancel: CancellationToken,
) -> Result<String, ToolError> {
    let (place, _lock) = workspace.lock_for_writing(&file_path)?;
    let shown = &place.shown;
    let limits = workspace.limits();
    if content.len() > limits.written_bytes {
        return Err(ErrorCode::TooLarge.error(format_args!(
            "the content has {} bytes; expected at most {}",
            content.len(),
            limits.written_bytes
        )));
    }
    let lines = Lines::new(&content).len();
    let written = WrittenLines {
        lines,
        changed: None,
        was_current: true,
    };
    if let Target::Missing { .. } = place.target {
        workspace.create(&place, content.as_bytes(), &cancel)?;
        let digest = FileDigest::new(content.as_bytes());
        seen.lock().record_write(shown, digest, written);
        return Ok(format!("created {shown} ({lines} lines)"));
    }
    let document = Document::load(&workspace, &place, limits.edited_bytes)?;
    let before = seen.lock().seen(shown, &document.digest);
    if !document.file.bytes.is_empty() {
        check_seen(before, shown)?;
    }
    let is_crlf = has_only_crlf(&document.text.text) && !content.contains('\r');
    let text = if is_crlf {
        content.replace('\n', "\r\n")
    } else {
        content
    };
    let saved = document.save(&workspace, &text, &cancel)?;
    let note = if is_crlf {
        "\nNote: the lines end with CRLF, as before."
    } else {
        ""
    };
    let answer = format!("replaced {shown} ({lines} lines){note}{}", saved.note());
    saved.record(&mut seen.lock(), shown, written);
    Ok(answer)
}

/// Checks that the model has seen the complete current content of the file.
fn check_seen(seen: Seen, shown: &str) -> Result<(), ToolError> {
    match seen {
        Seen::Completely => Ok(()),
        Seen::Before => Err(ErrorCode::Changed.error(format_args!(
            "`{shown}` was changed since it was read; nothing was written: read the file again"
        ))),
        Seen::Never => Err(ErrorCode::NotRead.error(format_args!(
            "`{shown}` exists and was not read in this session; nothing was written: read the file first, or change parts with Edit"
        ))),
        Seen::Partially => Err(ErrorCode::NotRead.error(format_args!(
            "`{shown}` was read in part only (lines that Read truncated do not count); nothing was written: read the other lines first, or \
             change parts with Edit"
        ))),
    }
}

/// Returns whether a text has line ends, and all are CRLF.
fn has_only_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && ends == text.matches("\r\n").count()
}
