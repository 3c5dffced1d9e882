//! Cursors of a list: the digest of the definitions, the offset of the page, and an authentication code. The key of the code is random
//! for each server, so a client cannot make a cursor.

use std::hash::{BuildHasher, RandomState};

/// Key of the cursors of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct CursorKey(RandomState);

impl CursorKey {
    /// Returns the cursor of a page.
    pub(crate) fn cursor(&self, digest: u64, offset: usize) -> String {
        let code = self.0.hash_one((digest, offset));
        format!("{digest:016x}{offset:x}.{code:016x}")
    }

    /// Returns the offset in a cursor, unless the cursor is for other definitions, or of another server.
    pub(crate) fn offset(&self, cursor: &str, digest: u64) -> Option<usize> {
        let offset = cursor.strip_prefix(&format!("{digest:016x}"))?;
        let (offset, _) = offset.split_once('.')?;
        let offset = usize::from_str_radix(offset, 16).ok()?;
        (self.cursor(digest, offset) == cursor).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_its_own_cursors_for_the_same_definitions() {
        let key = CursorKey::default();
        let cursor = key.cursor(7, 300);
        assert_eq!(key.offset(&cursor, 7), Some(300));
        assert_eq!(key.offset(&cursor, 8), None);
        assert_eq!(CursorKey::default().offset(&cursor, 7), None);
        for position in 0..cursor.len() {
            let mut changed = cursor.clone();
            let character = if changed[position..].starts_with('0') {
                "1"
            } else {
                "0"
            };
            changed.replace_range(position..=position, character);
            assert_eq!(key.offset(&changed, 7), None, "{changed}");
        }
        for other in ["", "é", "0000000000000007", &cursor[1..]] {
            assert_eq!(key.offset(other, 7), None, "{other}");
        }
    }
}
