//! How much a repair keeps and looks at. The limits are part of its meaning: whole text and text in pieces meet
//! the same ones, so both give the same result.

/// The limits of a repair. Text that goes over one comes back as it was.
///
/// ```
/// use tool_runtime::repair::{Limits, Repairer};
///
/// let repairer = Repairer::with(Limits { depth: 8, ..Limits::default() });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many levels of arrays, objects and parentheses may be open at once. 1,024 unless set.
    pub depth: usize,
    /// How many bytes are kept from the first that is not JSON to the end. 64 MiB unless set.
    pub held: usize,
    /// How many bytes that were already passed on are kept, to recognize an object that comes twice. 1 MiB unless
    /// set.
    pub sent: usize,
    /// How many bytes of white space are held behind a comma or a closing quote. 1,024 unless set.
    pub space: usize,
    /// How many bytes of a number are held. 64 unless set.
    pub number: usize,
}

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
