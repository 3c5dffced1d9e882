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
                "\nNote: the file was written in place, since it has several names (hard links) or another owner."
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
