//! [`AllowedOrigins`]: origins of web pages, extensions and desktop programs that the gateway serves.

use serde::Deserialize;

use crate::name_pattern::matches;

/// Origins in which `*` matches any text, such as `app://obsidian.md` and `chrome-extension://*`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(crate) struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// Returns whether requests of this origin are served.
    pub(crate) fn allow(&self, origin: &str) -> bool {
        self.0.iter().any(|pattern| matches(pattern, origin))
    }
}

impl TryFrom<Vec<String>> for AllowedOrigins {
    type Error = String;

    fn try_from(origins: Vec<String>) -> Result<Self, String> {
        // Every sandboxed page has the origin `null`, and every page matches `*`.
        let is_origin = |origin: &String| {
            let parts = origin.split_once("://");
            parts.is_some_and(|(scheme, host)| {
                !scheme.is_empty() && !scheme.contains('*') && !host.contains('/') && !host.is_empty()
            })
        };
        match origins.iter().find(|origin| !is_origin(origin)) {
            Some(origin) => Err(format!(
                "invalid origin {origin:?}; expected a scheme and a host without a path, such as \"app://obsidian.md\" or \"chrome-extension://*\""
            )),
            None => Ok(Self(origins)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_have_a_scheme_and_no_path() {
        let origins = [
            "app://obsidian.md",
            "chrome-extension://*",
            "https://*.example.com:8443",
        ];
        let origins = AllowedOrigins::try_from(origins.map(str::to_owned).to_vec()).unwrap();
        for origin in [
            "app://obsidian.md",
            "chrome-extension://abc",
            "https://a.example.com:8443",
        ] {
            assert!(origins.allow(origin), "{origin}");
        }
        for origin in [
            "null",
            "app://obsidian.md.evil",
            "https://example.com",
            "moz-extension://abc",
        ] {
            assert!(!origins.allow(origin), "{origin}");
        }
        for invalid in ["*", "null", "obsidian.md", "https://a/", "*://a", "https://", ""] {
            assert!(
                AllowedOrigins::try_from(vec![invalid.to_owned()]).is_err(),
                "{invalid}"
            );
        }
    }
}
