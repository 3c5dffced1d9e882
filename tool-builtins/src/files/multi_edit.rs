//! `MultiEdit`: several edits of one file, all or none.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{CancellationToken, SessionState, State, ToolError, tool};

use super::document::Document;
use super::edit::answer::EditAnswer;
use super::edit::apply::Inexact;
use super::edit::create;
use super::edit::replacement::Replacement;
use crate::workspace::error::ErrorCode;
use crate::workspace::place::{Place, Target};
use crate::workspace::seen_files::{Seen, WrittenLines};
use crate::workspace::{SeenFiles, Workspace};

/// One edit of `MultiEdit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct SingleEdit {
    /// Text to replace, with its indentation.
    pub old_string: String,
    /// Text to write instead.
    pub new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    pub replace_all: bool,
}

/// Replace several texts in one file. Each edit follows the rules of Edit, on the result of the edits before; if one fails, nothing is
/// written. An empty `old_string` in the first edit creates a file.
#[tool(name = "MultiEdit", destructive, blocking)]
pub fn multi_edit(
    /// The file: absolute, or relative to the workspace.
    file_path: String,
    /// The edits, in their order.
    #[arg(length = 1..=100)]
    edits: Vec<SingleEdit>,
    workspace: State<Workspace>,
    seen: SessionState<SeenFiles>,
    cancel: CancellationToken,
) -> Result<String, ToolError> {
    let (place, _lock) = workspace.lock_for_writing(&file_path)?;
    let shown = &place.shown;
    let creates = edits.first().is_some_and(|edit| edit.old_string.is_empty());
    if creates && let Target::Missing { .. } = place.target {
        let edited = EditedText::new("", &edits, Inexact::Allowed, &place, &workspace)?;
        let answer = create(&workspace, &place, &edited.text, &seen, &cancel)?;
        return Ok(answer + &edited.notes);
    }
    let document = Document::load(&workspace, &place, workspace.limits().edited_bytes)?;
    let before = seen.lock().seen(shown, &document.digest);
    let text = &document.text.text;
    let edited = EditedText::new(text, &edits, Inexact::new(before, &workspace), &place, &workspace)?;
    if edited.text == *text {
        return Err(ErrorCode::NoChange.error(format_args!("the edits together do not change `{shown}`")));
    }
    let saved = document.save(&workspace, &edited.text, &cancel)?;
    let answer = EditAnswer::new(shown, &edited.text, &[difference(text, &edited.text)]);
    let changed = if before == Seen::Before {
        "\nNote: the file was changed since it was read; the places of the edits were still the only ones."
    } else {
        ""
    };
    let count = edits.len();
    let mut result = format!(
        "edited {shown} with {count} edits{}{changed}{}",
        edited.notes,
        saved.note()
    );
    answer.show(&mut result);
    let mut changed = answer.changed();
    if count > 1 {
        // The difference has the lines between the edits, too, which the model may not know.
        changed.known.clear();
    }
    let written = WrittenLines {
        lines: answer.lines(),
        changed: Some(changed),
        was_current: before != Seen::Before,
    };
    saved.record(&mut seen.lock(), shown, written);
    Ok(result)
}

/// A text after edits.
struct EditedText {
    text: String,
    /// Notes about inexact quotes.
    notes: String,
}

impl EditedText {
    /// Applies the edits in their order. The text never grows beyond the maximum of the workspace.
    fn new(
        text: &str,
        edits: &[SingleEdit],
        inexact: Inexact,
        place: &Place,
        workspace: &Workspace,
    ) -> Result<Self, ToolError> {
        let (path, max_bytes) = (&*place.shown, workspace.limits().edited_bytes);
        let mut edited = Self {
            text: text.to_owned(),
            notes: String::new(),
        };
        for (index, edit) in edits.iter().enumerate() {
            if index == 0 && edit.old_string.is_empty() && edited.text.is_empty() {
                edited.text.clone_from(&edit.new_string);
                continue;
            }
            let replacement = Replacement {
                old: &edit.old_string,
                new: &edit.new_string,
                replace_all: edit.replace_all,
                max_bytes,
            };
            let applied = replacement
                .apply_to(&edited.text, inexact, path)
                .map_err(|error| {
                    let message = error.message();
                    ToolError::new(
                        error.code(),
                        format_args!("/edits/{index}: {message}; no edit was written"),
                    )
                })?;
            if let Some(difference) = applied.difference() {
                let note =
                    format!("\nNote: old_string of /edits/{index} differed from the file in {difference}.");
                edited.notes.push_str(&note);
            }
            edited.text = applied.text;
        }
        Ok(edited)
    }
}

/// Returns the bytes of the new text between the common start and the common end of both texts.
fn difference(old: &str, new: &str) -> Range<usize> {
    let start = old
        .bytes()
        .zip(new.bytes())
        .take_while(|(old, new)| old == new)
        .count();
    let longest = old.len().min(new.len()) - start;
    let ends = old.bytes().rev().zip(new.bytes().rev());
    let end = ends.take(longest).take_while(|(old, new)| old == new).count();
    start..new.len() - end
}
