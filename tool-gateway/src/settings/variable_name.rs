//! [`VariableName`]: the name of an environment variable, which must not be the key itself.

use std::env;
use std::fmt;

use serde::Deserialize;

/// The name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct VariableName(String);

/// Minimum length of a key.
const MIN_KEY: usize = 20;

/// Maximum length of a name.
const MAX_NAME: usize = 64;

impl VariableName {
    /// Returns the value of the variable, if it is set and not empty.
    pub(crate) fn value(&self) -> Option<String> {
        env::var(&self.0).ok().filter(|value| !value.is_empty())
    }

    /// Returns whether a text has the form of a name. Generated keys have other characters, or are long and have letters and digits.
    fn is_name(text: &str) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_random = text.len() >= MIN_KEY
            && !text.contains('_')
            && text.bytes().any(|byte| byte.is_ascii_lowercase())
            && text.bytes().any(|byte| byte.is_ascii_digit());
        (1..=MAX_NAME).contains(&text.len())
            && text.bytes().all(is_word)
            && !text.starts_with(|first: char| first.is_ascii_digit())
            && !is_random
    }
}

impl From<&'static str> for VariableName {
    fn from(name: &'static str) -> Self {
        Self(name.to_owned())
    }
}

impl TryFrom<String> for VariableName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        if Self::is_name(&text) {
            return Ok(Self(text));
        }
        // The text may be a key, so the message does not contain the text.
        Err(
            "expected the name of an environment variable, such as ANTHROPIC_API_KEY; put the key into that variable",
        )
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_keys_as_names() {
        for name in [
            "ANTHROPIC_API_KEY",
            "KEY",
            "_k1",
            "key",
            "ada_key_of_the_year_2026",
            "ANTHROPICAPIKEY2FORTHETEAM",
        ] {
            assert!(VariableName::try_from(name.to_owned()).is_ok(), "{name}");
        }
        let hex = "a3".repeat(16);
        let long = "A".repeat(65);
        for key in [
            "",
            "sk-ant-api03-x",
            "a key",
            "Bearer k",
            "k\n",
            "1KEY",
            "é",
            "x9Kd82jsAl20dkE8wq71",
            &hex,
            &long,
        ] {
            let error = VariableName::try_from(key.to_owned()).unwrap_err();
            assert!(key.is_empty() || !error.contains(key), "{error}");
        }
    }
}
