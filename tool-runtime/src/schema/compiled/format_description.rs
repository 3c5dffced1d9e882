//! Descriptions of `format`s, for messages about invalid values, whether or not the formats are enforced.

use std::fmt::{self, Display};

use crate::schema::text_formats::TextFormat;

/// A `format`, for messages.
#[derive(Debug)]
pub(crate) struct Format {
    name: &'static str,
    /// Noun with article, such as `a date`.
    pub(crate) noun: &'static str,
    /// Example of a valid value.
    pub(crate) example: &'static str,
    shows_example: bool,
}

impl Format {
    const fn new(name: &'static str, noun: &'static str, example: &'static str) -> Self {
        Self {
            name,
            noun,
            example,
            shows_example: true,
        }
    }

    /// Returns the format with this name in JSON Schema.
    pub(crate) fn from_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Returns whether a text is certainly not of this format.
    pub(crate) fn excludes(&self, text: &str) -> bool {
        TextFormat::from_name(self.name).is_some_and(|format| !format.matches(text))
    }
}

/// Displays a format for a model: `a date, for example 2025-01-31`.
impl Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.noun)?;
        if self.shows_example {
            write!(f, ", for example {}", self.example)?;
        }
        Ok(())
    }
}

/// Formats of JSON Schema, and additional formats of schemars.
const FORMATS: &[Format] = &[
    Format::new(
        "date-time",
        "a date and time with its offset",
        "2025-01-31T13:45:00Z",
    ),
    Format::new(
        "partial-date-time",
        "a date and time without an offset",
        "2025-01-31T13:45:00",
    ),
    Format::new("date", "a date", "2025-01-31"),
    Format::new("time", "a time with its offset", "13:45:00Z"),
    Format::new("partial-time", "a time", "13:45:00"),
    Format::new("duration", "a duration", "PT1H30M"),
    Format::new("email", "an email address", "name@example.org"),
    Format::new("hostname", "a host name", "www.example.org"),
    Format::new("ipv4", "an IPv4 address", "192.0.2.1"),
    Format::new("ipv6", "an IPv6 address", "2001:db8::1"),
    Format::new("uri", "an absolute URL", "https://example.org/path"),
    Format::new("uri-reference", "a URL or a part of one", "/path"),
    Format {
        // Models use an example of an id as an existing id.
        shows_example: false,
        ..Format::new(
            "uuid",
            "a UUID: 32 hexadecimal digits in groups of 8-4-4-4-12",
            "123e4567-e89b-12d3-a456-426614174000",
        )
    },
];

#[cfg(test)]
mod tests {
    use super::{FORMATS, TextFormat};

    #[test]
    fn examples_have_their_format() {
        let is_checked = |format: &&super::Format| TextFormat::from_name(format.name).is_some();
        assert_eq!(FORMATS.iter().filter(is_checked).count(), 8);
        for format in FORMATS {
            assert!(!format.excludes(format.example), "{format}");
        }
    }
}
