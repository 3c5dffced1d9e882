//! [`Forms`]: the forms of payloads that are accepted, and the characters of names.

/// Forms that are read.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Forms {
    /// Whether an opener is before the payload: all forms are read, and the beginning may be longer.
    pub(in super::super) tags: bool,
    pub(in super::super) json: bool,
    pub(in super::super) python: bool,
}

/// Returns whether a character may be in the name of a tool, a parameter or a namespace.
pub(super) fn is_part_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ':' | '/')
}
