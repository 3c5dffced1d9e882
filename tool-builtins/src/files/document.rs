//! [`Document`]: a file whose text a tool changes.

use tool_runtime::{CancellationToken, ToolError};

use crate::workspace::Workspace;
use crate::workspace::error::ErrorCode;
use crate::workspace::load::LoadedFile;
use crate::workspace::place::Place;
use crate::workspace::save::Saved;
use crate::workspace::seen_files::{FileDigest, SeenFiles, WrittenLines};
use crate::workspace::text::{FileText, NotText, UnmappableText};

/// A file and its text. Encoding the text gives the bytes of the file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) file: LoadedFile,
    pub(super) text: FileText,
    pub(super) digest: FileDigest,
}

impl Document {
    /// Loads a file of at most `limit` bytes, which has to be text.
    pub(super) fn load(workspace: &Workspace, place: &Place, limit: u64) -> Result<Self, ToolError> {
        let file = place.load(limit)?;
        let digest = FileDigest::new(&file.bytes);
        let text = FileText::decode(file.bytes.clone(), workspace.legacy_encoding());
        let text = text.map_err(|error| error.for_writer(&file.shown))?;
        Ok(Self { file, text, digest })
    }

    /// Replaces the text of the file, in its encoding. Returns the digest of the new bytes.
    pub(super) fn save(
        &self,
        workspace: &Workspace,
        text: &str,
        cancel: &CancellationToken,
    ) -> Result<SavedDocument, ToolError> {
        let shown = &self.file.shown;
        let bytes = FileText::encode(text, self.text.encoding).map_err(|UnmappableText(name)| {
            ErrorCode::NotText.error(format_args!(
                "the new text has characters that `{shown}` cannot have in its encoding {name}; nothing was written"
            ))
        })?;
        let saved = workspace.replace(&self.file, &bytes, cancel)?;
        Ok(SavedDocument {
            digest: FileDigest::new(&bytes),
            saved,
        })
    }
}

/// A document after a write.
#[derive(Debug)]
pub(super) struct SavedDocument {
    pub(super) digest: FileDigest,
    pub(super) saved: Saved,
}

impl SavedDocument {
    /// Records the write for the session.
    pub(super) fn record(self, seen: &mut SeenFiles, path: &str, written: WrittenLines) {
        seen.record_write(path, self.digest, written);
    }

    /// Returns a note about a write that was not a rename.
    pub(super) fn note(&self) -> &'static str {
        match self.saved {
            Saved::Replaced => "",
            Saved::InPlace => {
                "\nNote: the file was written in place, since it has several names (hard links), or an owner or attributes that a new file cannot have."
            }
        }
    }
}

impl NotText {
    /// Returns the error of a tool that writes.
    pub(super) fn for_writer(&self, shown: &str) -> ToolError {
        match self {
            Self::Binary => binary(shown),
            Self::Invalid { byte, line, .. } => ErrorCode::NotText.error(format_args!(
                "`{shown}` is not text: line {line} has the byte 0x{byte:02X}, which is invalid in its encoding; nothing was written"
            )),
        }
    }
}

/// Returns the error of a tool that needs a text.
pub(super) fn binary(shown: &str) -> ToolError {
    ErrorCode::Binary.error(format_args!(
        "`{shown}` is a binary file; expected text, or for Read an image (PNG, JPEG, GIF, WebP)"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::{fs, process};

    use tool_runtime::{SessionState, State};

    use super::*;
    use crate::files::edit::edit;
    use crate::files::write::write;
    use crate::workspace::state::Hook;

    /// Edits a file while another process does something between the read and the rename. Returns the result and the folder.
    fn edited(
        name: &str,
        between: impl Fn(PathBuf, &CancellationToken) + Send + Sync + 'static,
    ) -> (Result<String, ToolError>, PathBuf) {
        let (mut workspace, folder) = workspace(name);
        let (file, token) = (folder.join("a"), CancellationToken::new());
        fs::write(&file, "one\n").unwrap();
        let of_process = token.clone();
        workspace.set_hook(Hook(Arc::new(move || between(file.clone(), &of_process))));
        let result = edit(
            "a".to_owned(),
            "one".to_owned(),
            "two".to_owned(),
            false,
            State::new(workspace),
            SessionState::default(),
            token,
        );
        (result, folder)
    }

    fn workspace(name: &str) -> (Workspace, PathBuf) {
        let folder = std::env::temp_dir().join(format!("tool-builtins-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        (Workspace::open(&folder).unwrap(), folder)
    }

    /// Checks the code of an error and the text of the only file, and removes the folder.
    #[track_caller]
    fn assert_end(
        result: Result<String, ToolError>,
        folder: &PathBuf,
        code: Option<&str>,
        text: Option<&str>,
    ) {
        let error = result.err();
        assert_eq!(error.as_ref().map(ToolError::code), code, "{error:?}");
        let entries = fs::read_dir(folder).unwrap();
        let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, text.iter().map(|_| "a").collect::<Vec<_>>());
        assert_eq!(fs::read_to_string(folder.join("a")).ok().as_deref(), text);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn change_between_the_read_and_the_rename_is_not_lost() {
        let (result, folder) = edited("changed", |file, _| fs::write(file, "one and more\n").unwrap());
        assert_end(result, &folder, Some("changed"), Some("one and more\n"));
    }

    #[test]
    fn file_that_was_only_touched_is_replaced() {
        let (result, folder) = edited("touched", |file, _| {
            fs::remove_file(&file).unwrap();
            fs::write(file, "one\n").unwrap();
        });
        assert_end(result, &folder, None, Some("two\n"));
    }

    #[test]
    fn file_that_was_removed_is_not_created_again() {
        let (result, folder) = edited("removed", |file, _| fs::remove_file(file).unwrap());
        assert_end(result, &folder, Some("changed"), None);
    }

    #[test]
    fn file_that_was_created_meanwhile_is_not_replaced() {
        let (mut workspace, folder) = workspace("created");
        let path = folder.join("a");
        workspace.set_hook(Hook(Arc::new(move || fs::write(&path, "other\n").unwrap())));
        let result = write(
            "a".to_owned(),
            "own\n".to_owned(),
            State::new(workspace),
            SessionState::default(),
            CancellationToken::new(),
        );
        assert_end(result, &folder, Some("changed"), Some("other\n"));
    }

    #[test]
    fn cancelled_call_does_not_write() {
        let (result, folder) = edited("cancelled", |_, token| token.cancel());
        assert_end(result, &folder, Some("timed_out"), Some("one\n"));
    }
}
