//! [`random_name()`]: names that cannot be guessed.

use std::fmt::Write as _;
use std::io;

/// Returns whether a text has the form of a random name.
pub(super) fn is_random_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns 128 random bits as 32 hexadecimal digits.
pub(super) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    }))
}
