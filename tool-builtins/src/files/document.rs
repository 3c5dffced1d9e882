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

    /// Edits a file while another process does something between the read and the rename.
    fn edited(
        name: &str,
        between: impl Fn(PathBuf) + Send + Sync + 'static,
    ) -> (Result<String, ToolError>, PathBuf) {
        let folder = std::env::temp_dir().join(format!("tool-builtins-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a");
        fs::write(&file, "one\n").unwrap();
        let mut workspace = Workspace::open(&folder).unwrap();
        let path = file.clone();
        workspace.set_hook(Hook(Arc::new(move || between(path.clone()))));
        let result = edit(
            "a".to_owned(),
            "one".to_owned(),
            "two".to_owned(),
            false,
            State::new(workspace),
            SessionState::default(),
            CancellationToken::new(),
        );
        (result, folder)
    }

    fn names(folder: &PathBuf) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn change_between_the_read_and_the_rename_is_not_lost() {
        let (result, folder) = edited("changed", |file| fs::write(file, "one and more\n").unwrap());
        assert_eq!(result.unwrap_err().code(), "changed");
        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "one and more\n");
        assert_eq!(names(&folder), ["a"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn file_that_was_only_touched_is_replaced() {
        let (result, folder) = edited("touched", |file| {
            fs::remove_file(&file).unwrap();
            fs::write(file, "one\n").unwrap();
        });
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "two\n");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn file_that_was_removed_is_not_created_again() {
        let (result, folder) = edited("removed", |file| fs::remove_file(file).unwrap());
        assert_eq!(result.unwrap_err().code(), "changed");
        assert!(names(&folder).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn file_that_was_created_meanwhile_is_not_replaced() {
        let folder = std::env::temp_dir().join(format!("tool-builtins-created-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut workspace = Workspace::open(&folder).unwrap();
        let path = folder.join("a");
        workspace.set_hook(Hook(Arc::new(move || fs::write(&path, "other\n").unwrap())));
        let result = write(
            "a".to_owned(),
            "own\n".to_owned(),
            State::new(workspace),
            SessionState::default(),
            CancellationToken::new(),
        );
        assert_eq!(result.unwrap_err().code(), "changed");
        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "other\n");
        assert_eq!(names(&folder), ["a"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn cancelled_call_does_not_write() {
        let token = CancellationToken::new();
        let folder = std::env::temp_dir().join(format!("tool-builtins-cancelled-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a"), "one\n").unwrap();
        let mut workspace = Workspace::open(&folder).unwrap();
        let cancelling = token.clone();
        workspace.set_hook(Hook(Arc::new(move || cancelling.cancel())));
        let result = edit(
            "a".to_owned(),
            "one".to_owned(),
            "two".to_owned(),
            false,
            State::new(workspace),
            SessionState::default(),
            token,
        );
        assert_eq!(result.unwrap_err().code(), "timed_out");
        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "one\n");
        assert_eq!(names(&folder), ["a"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
