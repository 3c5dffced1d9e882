//! [`WorkspaceLimits`]: all limits of the tools of a workspace.

/// Maximum sizes of files and answers. Each is a setting of the host.
///
/// ```
/// use tool_builtins::workspace::WorkspaceLimits;
///
/// let mut limits = WorkspaceLimits::default();
/// limits.read_lines = 500;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceLimits {
    /// Lines that `Read` shows without a `limit`.
    pub read_lines: usize,
    /// Characters of a line that `Read` shows.
    pub line_characters: usize,
    /// Bytes of an answer of `Read`.
    pub answer_bytes: usize,
    /// Bytes of a file whose lines `Read` counts. A larger file is shown in parts, and is not recorded as read. At most
    /// 1 GiB.
    pub counted_bytes: u64,
    /// Bytes of an image that `Read` shows.
    pub image_bytes: u64,
    /// Bytes of a file that `Edit` and `MultiEdit` change; at most 1 GiB.
    pub edited_bytes: u64,
    /// Bytes that `Write` writes.
    pub written_bytes: usize,
    /// Entries in a list of `LS`.
    pub listed_entries: usize,
    /// Characters in a list of `LS`.
    pub listed_characters: usize,
    /// Paths in an answer of `Glob`.
    pub found_paths: usize,
    /// Bytes of a file that `Grep` searches.
    pub searched_bytes: u64,
    /// Lines in an answer of `Grep`.
    pub found_lines: usize,
    /// Bytes of an answer of `Grep`.
    pub found_bytes: usize,
    /// Characters of a line that `Grep` shows.
    pub found_characters: usize,
    /// Seconds after which `Glob` and `Grep` end with what was found.
    pub search_seconds: u64,
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        Self {
            read_lines: 2_000,
            line_characters: 2_000,
            answer_bytes: 100 << 10,
            counted_bytes: 20 << 20,
            image_bytes: 5 << 20,
            edited_bytes: 50 << 20,
            written_bytes: 10 << 20,
            listed_entries: 1_000,
            listed_characters: 40_000,
            found_paths: 100,
            searched_bytes: 50 << 20,
            found_lines: 2_000,
            found_bytes: 100 << 10,
            found_characters: 500,
            search_seconds: 20,
        }
    }
}
