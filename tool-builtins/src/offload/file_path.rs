//! Path of an offloaded content: always `<outputDir>/<sessionId>/<tool_use_id>.md`.
//!
//! R-OFF-21: the directory from the caller is trusted. The ids are untrusted and become file names: without a check, an
//! id such as `../x` could write outside of the directory.

use std::path::{Path, PathBuf};

/// Returns the path of a result, after a validation of the session id and the `tool_use_id`. Further files with the same
/// `tool_use_id` have a number at the end: `call_0.md`, `call_0-2.md`.
pub(super) fn file(
    output_dir: &Path,
    session_id: &str,
    tool_use_id: &str,
    number: u32,
) -> Result<PathBuf, InvalidComponent> {
    let suffix = match number {
        0 | 1 => EXTENSION.to_owned(),
        _ => format!("-{number}{EXTENSION}"),
    };
    let directory = directory(output_dir, session_id)?;
    check("tool_use_id", tool_use_id, MAX_NAME_LENGTH - suffix.len())?;
    Ok(directory.join(format!("{tool_use_id}{suffix}")))
}

/// Returns the directory of a session.
pub(super) fn directory(output_dir: &Path, session_id: &str) -> Result<PathBuf, InvalidComponent> {
    check("session id", session_id, MAX_NAME_LENGTH)?;
    Ok(output_dir.join(session_id))
}

/// Returns the path for a file name without extension. The name may end with a number: `call_0`, `call_0-2`.
pub(super) fn file_named(directory: &Path, name: &str) -> Result<PathBuf, InvalidComponent> {
    check("name", name, MAX_NAME_LENGTH - EXTENSION.len())?;
    Ok(directory.join(format!("{name}{EXTENSION}")))
}

/// Returns the name without the extension; `None` for a file that is not an offloaded content.
pub(super) fn name_of(file_name: &str) -> Option<&str> {
    file_name.strip_suffix(EXTENSION)
}

/// Error for an id that is not a single plain component of a path. The content was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {kind} {shown:?} cannot name a file: {reason}; use letters, digits, `_` and `-`")]
pub struct InvalidComponent {
    kind: &'static str,
    shown: String,
    reason: String,
}

impl InvalidComponent {
    /// Returns the reason why the id is invalid.
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the beginning of the id.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }
}

/// Checks an id by the rules of all operating systems, so that the files of a session can be moved to another system. The
/// exception is `:`, which every id of some models has (`functions.search:0`): only Windows rejects it.
fn check(kind: &'static str, id: &str, longest: usize) -> Result<(), InvalidComponent> {
    let reason = if id.is_empty() {
        "it is empty".to_owned()
    } else if let Some(c) = id.chars().find(|&c| is_refused(c, cfg!(windows))) {
        format!("{c:?} is not allowed")
    } else if id.ends_with(['.', ' ']) {
        // Rejects `.` and `..`, and names from which Windows removes the last characters.
        "it ends in a dot or a space".to_owned()
    } else if id.len() > longest {
        format!("it has {} bytes, {longest} are allowed", id.len())
    } else if is_device(id) {
        "it is the name of a device on Windows".to_owned()
    } else {
        return Ok(());
    };
    Err(InvalidComponent {
        kind,
        shown: id.chars().take(SHOWN).collect(),
        reason,
    })
}

/// Returns whether a character is rejected. On Windows, `:` follows a drive letter (`C:x` is a path on that drive),
/// or precedes the name of a hidden stream.
fn is_refused(c: char, on_windows: bool) -> bool {
    matches!(c, '/' | '\\') || c.is_control() || (on_windows && c == ':')
}

/// Returns whether a name is a Windows device, such as `CON`, `nul.txt` or `com1`. Data that are written to a device are lost.
/// Only the name before the first dot matters.
fn is_device(id: &str) -> bool {
    let stem = id
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_ascii_uppercase();
    match stem.as_str() {
        "CON" | "PRN" | "AUX" | "NUL" => true,
        _ => ["COM", "LPT"]
            .iter()
            .filter_map(|port| stem.strip_prefix(port))
            .any(|number| matches!(number, "¹" | "²" | "³") || matches!(number.as_bytes(), [b'1'..=b'9'])),
    }
}

const EXTENSION: &str = ".md";

/// Maximum length of a name on the file systems in use, in bytes.
const MAX_NAME_LENGTH: usize = 255;

/// Maximum number of characters of a rejected id in a message.
const SHOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(session: &str, id: &str) -> String {
        file(Path::new("/out"), session, id, 1).unwrap_err().to_string()
    }

    #[test]
    fn accepts_plain_names_unchanged() {
        for id in [
            "toolu_01AbC-9",
            "call_x",
            "a.b",
            "...x",
            "日本",
            "COM",
            "COM10",
            "console",
            &"x".repeat(252),
        ] {
            let file = file(Path::new("/out"), "session-abc123", id, 1).unwrap();
            assert_eq!(file, Path::new("/out/session-abc123").join(format!("{id}.md")));
        }
    }

    #[test]
    fn rejects_names_that_are_not_plain() {
        let ids = [
            "",
            ".",
            "..",
            "../up",
            "a/b",
            "/etc/passwd",
            "a\\b",
            "..\\up",
            "nul\0",
            "line\nbreak",
            "dot.",
            "space ",
            ".. ",
            "con",
            "NUL.txt",
            "Aux .x",
            "lpt9",
            "COM²",
        ];
        for id in ids {
            assert!(refused("s", id).starts_with("the tool_use_id "), "{id:?}");
            assert!(refused(id, "toolu_1").starts_with("the session id "), "{id:?}");
        }
    }

    #[test]
    fn rejects_long_names_and_truncates_them_in_the_error() {
        let text = refused("s", &"x".repeat(253));
        assert!(text.contains("253 bytes, 252 are allowed"), "{text}");
        assert!(text.len() < 250, "{text}");
        assert!(file(Path::new("/out"), &"x".repeat(255), "toolu_1", 1).is_ok());
        assert!(refused(&"x".repeat(256), "toolu_1").contains("256 bytes, 255 are allowed"));
    }

    #[test]
    fn rejects_colons_on_windows_only() {
        assert!(is_refused(':', true) && !is_refused(':', false));
        for id in ["functions.search:0", "C:", "C:x"] {
            let file = file(Path::new("/out"), id, id, 1);
            if cfg!(windows) {
                assert!(file.unwrap_err().to_string().contains("':' is not allowed"));
            } else {
                assert_eq!(file.unwrap(), Path::new(&format!("/out/{id}/{id}.md")));
            }
        }
    }

    #[test]
    fn limits_the_length_of_names_with_their_number() {
        let numbered = |id: &str, number| file(Path::new("/out"), "s", id, number);
        assert_eq!(numbered("call_0", 2).unwrap(), Path::new("/out/s/call_0-2.md"));
        assert_eq!(
            numbered("call_0", 10_000).unwrap(),
            Path::new("/out/s/call_0-10000.md")
        );
        assert!(numbered(&"x".repeat(250), 9).is_ok());
        let error = numbered(&"x".repeat(250), 10).unwrap_err().to_string();
        assert!(error.contains("250 bytes, 249 are allowed"), "{error}");
    }
}
