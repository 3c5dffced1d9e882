//! [`ChatNames`]: names of tools in the alphabet of Chat Completions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

/// Maximum length of a function's name in bytes.
const MAX_NAME: usize = 64;

/// Length of the kept part of another name.
const KEPT: usize = 55;

/// Names of functions that differ from the client's names of tools.
#[derive(Debug, Clone, Default)]
pub(super) struct ChatNames {
    /// Names of the client by names of functions.
    client_names: HashMap<String, String>,
}

impl ChatNames {
    /// Returns the name of the function for a tool of the client. A name beyond `[A-Za-z0-9_-]{1,64}` is replaced by its beginning and its
    /// hash.
    pub(super) fn function_name<'n>(&mut self, client_name: &'n str) -> Cow<'n, str> {
        if is_function_name(client_name) {
            return Cow::Borrowed(client_name);
        }
        let name = shortened(client_name);
        self.client_names.insert(name.clone(), client_name.to_owned());
        Cow::Owned(name)
    }

    /// Returns the client's name of a function.
    pub(super) fn client_name<'n>(&'n self, function: &'n str) -> &'n str {
        self.client_names.get(function).map_or(function, String::as_str)
    }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn is_function_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

fn shortened(name: &str) -> String {
    let characters = name.chars().take(KEPT);
    let mut text: String = characters
        .map(|character| if is_plain(character) { character } else { '_' })
        .collect();
    text.push('_');
    for byte in digest(&SHA256, name.as_bytes()).as_ref().iter().take(4) {
        // Writes to a `String` do not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_alphabet_and_are_mapped_back() {
        let long = "x".repeat(65);
        for name in ["files.read", "a/b", "日本", "", &long, "a b", "ok", "mcp__x-1"] {
            let mut names = ChatNames::default();
            let function = names.function_name(name).into_owned();
            assert!(is_function_name(&function), "{function}");
            assert_eq!(names.client_name(&function), name);
            assert_eq!(function == name, is_function_name(name), "{name}");
        }
        let mut names = ChatNames::default();
        // The first eight digits of `printf files.read | sha256sum`.
        let digits = &names.function_name("files.read").into_owned()["files_read_".len()..];
        assert_eq!(digits.len(), 8);
        assert_ne!(
            names.function_name("files.read"),
            names.function_name("files/read")
        );
    }
}
