//! [`random_name()`]: names that cannot be guessed.

use std::fmt::Write as _;
use std::io;

/// Returns 128 random bits as 32 hexadecimal digits.
pub(super) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    }))
}
