//! Enforceable `format`s. Their checks need the feature `format-assertion`.

#[cfg(feature = "format-assertion")]
mod date_time;
#[cfg(feature = "format-assertion")]
mod uri;
#[cfg(feature = "format-assertion")]
mod email;

#[cfg(feature = "format-assertion")]
use std::net::{Ipv4Addr, Ipv6Addr};

/// Treatment of `format`: enforced, or only shown to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FormatPolicy {
    #[default]
    Shown,
    #[cfg(feature = "format-assertion")]
    Enforced,
}

impl FormatPolicy {
    /// Returns whether a string that violates its `format` is an error.
    pub(crate) fn is_enforced(self) -> bool {
        match self {
            Self::Shown => false,
            #[cfg(feature = "format-assertion")]
            Self::Enforced => true,
        }
    }
}

/// An enforceable `format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFormat {
    Date,
    Time,
    DateTime,
    Uuid,
    Email,
    Ipv4,
    Ipv6,
    Uri,
}

impl TextFormat {
    /// Returns the format with this name in JSON Schema.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "date" => Self::Date,
            "time" => Self::Time,
            "date-time" => Self::DateTime,
            "uuid" => Self::Uuid,
            "email" => Self::Email,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "uri" => Self::Uri,
            _ => return None,
        })
    }

    /// Returns the description of the expected text, for a message.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Date => "a valid calendar date, for example 2025-01-31",
            Self::Time => "a time with its offset, for example 13:45:00Z",
            Self::DateTime => "a date and time with its offset, for example 2025-01-31T13:45:00Z",
            Self::Uuid => "a UUID, for example 123e4567-e89b-12d3-a456-426614174000",
            Self::Email => "an email address, for example name@example.org",
            Self::Ipv4 => "an IPv4 address, for example 192.0.2.1",
            Self::Ipv6 => "an IPv6 address, for example 2001:db8::1",
            Self::Uri => "an absolute URL, for example https://example.org/path",
        }
    }

    /// Returns `true`, since formats are not checked without the feature `format-assertion`.
    #[cfg(not(feature = "format-assertion"))]
    #[allow(clippy::unused_self, reason = "with the feature, the format decides")]
    pub(crate) fn matches(self, _: &str) -> bool {
        true
    }

    /// Returns whether a text has this format.
    #[cfg(feature = "format-assertion")]
    pub(crate) fn matches(self, text: &str) -> bool {
        match self {
            Self::Date => date_time::is_date(text),
            Self::Time => date_time::is_time(text),
            Self::DateTime => date_time::is_date_time(text),
            Self::Uuid => is_uuid(text),
            Self::Email => email::is_email(text),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Uri => uri::is_uri(text),
        }
    }
}

/// Returns whether a text is a UUID (RFC 9562): hexadecimal digits in groups of 8-4-4-4-12.
#[cfg(feature = "format-assertion")]
fn is_uuid(text: &str) -> bool {
    let is_at = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_at)
}

#[cfg(all(test, feature = "format-assertion"))]
mod tests {
    use super::TextFormat;

    const NAMES: [&str; 8] = [
        "date",
        "time",
        "date-time",
        "uuid",
        "email",
        "ipv4",
        "ipv6",
        "uri",
    ];

    #[test]
    fn examples_in_descriptions_have_their_format() {
        for name in NAMES {
            let format = TextFormat::from_name(name).unwrap();
            let (_, example) = format.description().rsplit_once(", for example ").unwrap();
            assert!(format.matches(example), "{name}: {example}");
            assert!(!format.matches("") && !format.matches("x"), "{name}");
            assert!(!format.matches(&format!(" {example}")) && !format.matches(&format!("{example} ")));
        }
        assert_eq!(TextFormat::from_name("hostname"), None);
    }
}
