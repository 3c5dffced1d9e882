//! Limits of the bytes that a repair keeps and reads. A whole text and a text in pieces have the same limits, so
//! they give the same result.

/// Limits of a repair.
///
/// A text that exceeds a limit is returned unchanged. Only [`depth`](Self::depth) applies to valid JSON: the other
/// limits apply to bytes that a repair must still be able to change.
///
/// ```
/// use tool_repair::{Limits, Status, repair_with};
///
/// let limits = Limits { depth: 2, ..Limits::default() };
/// assert_eq!(repair_with("[[1], [2]]", limits).status, Status::Valid);
/// assert_eq!(repair_with("[[1], [[2]]]", limits).status, Status::Refused);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of nested arrays, objects and parentheses. Defaults to 1,024.
    pub depth: usize,
    /// Maximum number of bytes from the first byte that is not JSON to the end. Defaults to 64 MiB.
    pub held: usize,
    /// Maximum number of passed bytes that are kept, to recognize a repeated object, and to interpret unescaped quotes,
    /// backslashes and control characters. A longer text is refused if its repair depends on dropped bytes. Defaults
    /// to 1 MiB.
    pub sent: usize,
    /// Maximum number of bytes of white space that are held after a comma or a closing quote. After more white space,
    /// the comma or quote cannot be changed. Defaults to 1,024.
    pub space: usize,
    /// Maximum number of held bytes of a number. A longer number cannot be changed. Defaults to 64.
    pub number: usize,
}

/// Message for a text that exceeds [`Limits::depth`].
pub(crate) const TOO_DEEP: &str = "nested too deeply";

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 1024,
            held: 64 << 20,
            sent: 1 << 20,
            space: 1024,
            number: 64,
        }
    }
}
