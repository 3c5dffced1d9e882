//! [`BasePath`]: a path before the paths of all routes.

use serde::Deserialize;

/// A path such as `/llm`, for a proxy that serves the gateway beside other services. Empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct BasePath(String);

impl BasePath {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for BasePath {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let is_segment = |segment: &str| {
            let is_plain =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
            !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain)
        };
        let path = text.strip_prefix('/');
        if text.is_empty() || path.is_some_and(|path| path.split('/').all(is_segment)) {
            return Ok(Self(text));
        }
        Err(
            "expected a path such as \"/llm\", of letters, digits, `-`, `_`, `.` and `~`, without a slash at its end",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_plain_segments() {
        for path in ["", "/llm", "/a/b-c_d.e~1"] {
            assert!(BasePath::try_from(path.to_owned()).is_ok(), "{path}");
        }
        for path in [
            "/", "llm", "/llm/", "//llm", "/a/../b", "/{id}", "/a b", "/a?b", "/é",
        ] {
            assert!(BasePath::try_from(path.to_owned()).is_err(), "{path}");
        }
    }
}
