//! Random ids and secrets.

use std::cell::RefCell;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// Number of characters of an [`id`].
pub(crate) const ID_LENGTH: usize = 22;

/// Returns 132 random bits as 22 characters of `[A-Za-z0-9_-]`.
pub(crate) fn id() -> String {
    id_from(&bytes::<ID_LENGTH>())
}

/// Returns the id of a call in the form of Chat Completions: `call_` and 24 letters or digits.
pub(crate) fn call_id() -> String {
    let letters = bytes::<24>()
        .into_iter()
        .filter_map(|byte| LETTERS.get(usize::from(byte % 62)));
    let letters: String = letters.map(|letter| char::from(*letter)).collect();
    format!("call_{letters}")
}

/// Returns an id in the form of [`id`], from at least 22 random bytes.
pub(crate) fn id_from(bytes: &[u8]) -> String {
    let letters = bytes.iter().take(ID_LENGTH).map(|byte| ascii_letter(*byte));
    // The letters are ASCII.
    String::from_utf8(letters.collect()).unwrap_or_default()
}

/// Returns the letter for the lower 6 bits of a byte.
pub(crate) fn letter(byte: u8) -> char {
    char::from(ascii_letter(byte))
}

fn ascii_letter(byte: u8) -> u8 {
    LETTERS.get(usize::from(byte & 63)).copied().unwrap_or(b'A')
}

/// Returns the 6 bits of a [`letter`]; `None` for another character.
pub(crate) fn bits_of(letter: char) -> Option<u8> {
    let position = LETTERS.iter().position(|other| char::from(*other) == letter)?;
    u8::try_from(position).ok()
}

/// Returns whether a text has the form of an [`id`].
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == ID_LENGTH && text.bytes().all(|byte| LETTERS.contains(&byte))
}

/// Returns random bytes of the operating system. Each byte is used once.
pub(crate) fn bytes<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    POOL.with_borrow_mut(|pool| pool.take(&mut bytes));
    bytes
}

thread_local! {
    static POOL: RefCell<RandomPool> = const { RefCell::new(RandomPool { bytes: [0; POOL_BYTES], used: POOL_BYTES }) };
}

/// Number of bytes that are requested together.
const POOL_BYTES: usize = 1024;

/// Random bytes of a thread that were not used. A request to the operating system for each id would take longer than the id.
struct RandomPool {
    bytes: [u8; POOL_BYTES],
    /// Number of used bytes, which are zero.
    used: usize,
}

impl RandomPool {
    /// Fills a slice with the next bytes.
    fn take(&mut self, out: &mut [u8]) {
        if out.len() > POOL_BYTES {
            return fill(out);
        }
        if out.len() > POOL_BYTES - self.used {
            fill(&mut self.bytes);
            self.used = 0;
        }
        let end = self.used + out.len();
        if let Some(next) = self.bytes.get_mut(self.used..end) {
            out.copy_from_slice(next);
            // A used byte may be part of a secret.
            next.fill(0);
        }
        self.used = end;
    }
}

fn fill(bytes: &mut [u8]) {
    // Without randomness, ids could be guessed, so the process must end.
    #[allow(
        clippy::expect_used,
        reason = "the operating system has no randomness: nothing here is safe any more"
    )]
    getrandom::fill(bytes).expect("the operating system gives no random bytes");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_byte_is_used_once() {
        let mut seen = HashSet::new();
        for _ in 0..4 * POOL_BYTES / 16 {
            assert!(seen.insert(bytes::<16>()) && seen.insert(bytes::<16>()));
            assert!(id() != id() && is_id(&id()));
        }
        assert_ne!(bytes::<{ 2 * POOL_BYTES }>(), [0; 2 * POOL_BYTES]);
        assert_ne!(bytes::<POOL_BYTES>(), bytes::<POOL_BYTES>());
    }
}
