//! Random ids and secrets.

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
    let mut id = String::with_capacity(ID_LENGTH);
    id.extend(bytes.iter().take(ID_LENGTH).map(|byte| letter(*byte)));
    id
}

/// Returns the letter for the lower 6 bits of a byte.
pub(crate) fn letter(byte: u8) -> char {
    LETTERS
        .get(usize::from(byte & 63))
        .map_or('A', |letter| char::from(*letter))
}

/// Returns whether a text has the form of an [`id`].
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == ID_LENGTH && text.bytes().all(|byte| LETTERS.contains(&byte))
}

/// Returns random bytes of the operating system.
pub(crate) fn bytes<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    // Without randomness, ids could be guessed, so the process must end.
    #[allow(
        clippy::expect_used,
        reason = "the operating system has no randomness: nothing here is safe any more"
    )]
    getrandom::fill(&mut bytes).expect("the operating system gives no random bytes");
    bytes
}
