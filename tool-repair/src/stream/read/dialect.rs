//! The dialects of streams.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// Dialect of a stream of tool calls, displayed, parsed and configured by its [name](Self::as_str).
///
/// ```
/// use tool_repair::stream::Dialect;
///
/// assert_eq!(Dialect::ChatCompletions.to_string(), "chat");
/// assert_eq!("responses".parse(), Ok(Dialect::Responses));
/// assert_eq!(serde_json::from_str::<Dialect>("\"anthropic\"").unwrap(), Dialect::Anthropic);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `OpenAI`'s Chat Completions, and compatible APIs.
    ChatCompletions,
    /// `OpenAI`'s Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
}

impl Dialect {
    /// All dialects.
    pub const ALL: &'static [Self] = &[Self::ChatCompletions, Self::Responses, Self::Anthropic];

    /// Returns the name of the dialect, as on the command line: `chat`, `responses`, `anthropic`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let mut all = Self::ALL.iter().copied();
        all.find(|dialect| dialect.as_str() == name)
            .ok_or_else(|| UnknownDialect(name.chars().take(NAME_SHOWN).collect()))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Dialect {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Dialect {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Error for an unknown name of a [`Dialect`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDialect(String);

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown dialect {:?}; expected `chat`, `responses` or `anthropic`",
            self.0
        )
    }
}

impl Error for UnknownDialect {}

/// Maximum number of characters of a name in an error.
const NAME_SHOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_displayed_dialects() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.as_str().parse(), Ok(*dialect));
            let written = serde_json::to_string(dialect).unwrap();
            assert_eq!(serde_json::from_str::<Dialect>(&written).unwrap(), *dialect);
        }
        let message = "unknown dialect \"Chat\"; expected `chat`, `responses` or `anthropic`";
        assert_eq!("Chat".parse::<Dialect>().unwrap_err().to_string(), message);
        let wrong = serde_json::from_str::<Dialect>("\"Chat\"").unwrap_err();
        assert!(wrong.to_string().starts_with(message), "{wrong}");
        let long = "x".repeat(10_000).parse::<Dialect>().unwrap_err();
        assert!(long.to_string().len() < 200, "{long}");
    }
}
