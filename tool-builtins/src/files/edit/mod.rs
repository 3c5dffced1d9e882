//! `Edit`: replaces a quoted text in a file.
//!
//! A quote is evidence for the place of an edit, and is never written. `docs/edit.md` is the table of the rules.

// A module uses only modules that are declared before it.
pub(crate) mod replacement;
mod indentation;
mod typography;
mod splice;
mod inexact;
pub(crate) mod apply;
mod diagnosis;
pub(crate) mod rejection;
pub(crate) mod answer;

use tool_runtime::{CancellationToken, SessionState, State, ToolError, tool};

use self::answer::EditAnswer;
use self::apply::Inexact;
use self::replacement::Replacement;
use super::document::Document;
use crate::workspace::error::ErrorCode;
use crate::workspace::place::{Place, Target};
use crate::workspace::seen_files::{FileDigest, Seen, WrittenLines};
use crate::workspace::{SeenFiles, Workspace};

/// Replace text in a file. `old_string` must be exactly in the file (without the line numbers of Read), and only once: quote enough lines
/// around the change, or set `replace_all`. Lines that both texts have stay unchanged, so quote them freely. An empty `old_string` creates a
/// file.
#[tool(name = "Edit", destructive, blocking)]
pub fn edit(
    /// The file: absolute, or relative to the workspace.
    file_path: String,
    /// Text to replace, with its indentation.
    old_string: String,
    /// Text to write instead.
    new_string: String,
    /// Replace every occurrence.
    #[arg(default = false)]
    replace_all: bool,
    workspace: State<Workspace>,
    seen: SessionState<SeenFiles>,
    cancel: CancellationToken,
) -> Result<String, ToolError> {
    let (place, _lock) = workspace.lock_for_writing(&file_path)?;
    if old_string.is_empty() && !new_string.is_empty() {
        return create(&workspace, &place, &new_string, &seen, &cancel);
    }
    let document = Document::load(&workspace, &place, workspace.limits().edited_bytes)?;
    let before = seen.lock().seen(&place.shown, &document.digest);
    let inexact = Inexact::new(before, &workspace);
    let replacement = Replacement {
        old: &old_string,
        new: &new_string,
        replace_all,
        max_bytes: workspace.limits().edited_bytes,
    };
    let text = &document.text.text;
    let applied = replacement.apply_to(text, inexact, &place.shown)?;
    let saved = document.save(&workspace, &applied.text, &cancel)?;
    let answer = EditAnswer::new(&place.shown, &applied.text, &applied.changes);
    let text = answer.text(&applied, before) + saved.note();
    let written = WrittenLines {
        lines: answer.lines(),
        changed: Some(answer.changed()),
        was_current: before != Seen::Before,
    };
    saved.record(&mut seen.lock(), &place.shown, written);
    Ok(text)
}

impl Inexact {
    /// Returns whether a session may quote a file inexactly.
    pub(crate) fn new(seen: Seen, workspace: &Workspace) -> Self {
        match seen {
            Seen::Before => Self::Changed,
            _ if workspace.is_exact() => Self::Off,
            Seen::Never => Self::NotRead,
            Seen::Partially | Seen::Completely => Self::Allowed,
        }
    }
}

/// Creates a file, or fills an empty one: the meaning of an empty `old_string`.
pub(crate) fn create(
    workspace: &Workspace,
    place: &Place,
    text: &str,
    seen: &SessionState<SeenFiles>,
    cancel: &CancellationToken,
) -> Result<String, ToolError> {
    let shown = &place.shown;
    let lines = text.lines().count();
    let written = WrittenLines {
        lines,
        changed: None,
        was_current: true,
    };
    if let Target::Missing { .. } = place.target {
        workspace.create(place, text.as_bytes(), cancel)?;
        seen.lock()
            .record_write(shown, FileDigest::new(text.as_bytes()), written);
        return Ok(format!("created {shown} ({lines} lines)"));
    }
    let document = Document::load(workspace, place, workspace.limits().edited_bytes)?;
    if !document.text.text.is_empty() {
        return Err(ErrorCode::NoMatch.error(format_args!(
            "an empty old_string is for a file that does not exist or is empty, and `{shown}` has text; quote the text to replace"
        )));
    }
    let saved = document.save(workspace, text, cancel)?;
    let note = saved.note();
    saved.record(&mut seen.lock(), shown, written);
    Ok(format!("filled {shown}, which was empty ({lines} lines){note}"))
}
