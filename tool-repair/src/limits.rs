//! How much a repair keeps and looks at. The limits are part of its meaning: whole text and text in pieces meet
//! the same ones, so both give the same result.

/// The limits of a repair.
///
/// Text that goes over one comes back as it was. Of JSON only [`depth`](Self::depth) asks for that: the other limits
/// are about what a repair must still be able to change.
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
    /// How many levels of arrays, objects and parentheses may be open at once. 1,024 unless set.
    pub depth: usize,
    /// How many bytes are kept from the first that is not JSON to the end. 64 MiB unless set.
    pub held: usize,
    /// How many bytes that were already passed on are kept, to recognize an object that comes twice and to judge
    /// quotes, backslashes and control characters that were not escaped. Beyond that, these are refused where
    /// what came before counts. 1 MiB unless set.
    pub sent: usize,
    /// How many bytes of white space are held after a comma or a closing quote; after more, neither can be changed
    /// any more. 1,024 unless set.
    pub space: usize,
    /// How many bytes of a number are held; a longer one can not be changed any more. 64 unless set.
    pub number: usize,
}

/// Why a text with more levels than [`Limits::depth`] comes back as it was.
pub(crate) const TOO_DEEP: &str = "nested deeper than is followed";

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
