//! [`BaseUrl`]: the URL of a server, to which the paths of the API are appended.

use std::error::Error;
use std::fmt;

use axum::http::uri::{Authority, PathAndQuery, Scheme};
use axum::http::{HeaderValue, Uri};

use super::invalid::InvalidUpstream;

/// A base URL, to which the paths of requests are appended.
pub(super) struct BaseUrl {
    scheme: Scheme,
    pub(super) authority: Authority,
    /// Empty, or a path that does not end with `/`.
    prefix: String,
}

/// Words for the mistakes in a URL.
struct UrlWords {
    noun: &'static str,
    /// Place for credentials, which a URL must not have.
    credentials: &'static str,
    example: &'static str,
}

const UPSTREAM: UrlWords = UrlWords {
    noun: "base URL",
    credentials: "the key as API key",
    example: "https://api.anthropic.com",
};

#[cfg(feature = "mcp")]
const TOOL_SERVER: UrlWords = UrlWords {
    noun: "URL",
    credentials: "a header in `headers_env`",
    example: "https://example.com/mcp",
};

impl UrlWords {
    fn parse(&self, url: &str) -> Result<BaseUrl, InvalidUpstream> {
        let Self {
            noun,
            credentials,
            example,
        } = self;
        let invalid = |reason: &str| InvalidUpstream(format!("invalid {noun} {}: {reason}", shown(url)));
        if url.contains('@') {
            return Err(invalid(&format!(
                "it contains a user name or password; remove them, and configure {credentials}"
            )));
        }
        if url.contains(['?', '#']) {
            return Err(invalid("it contains a query or a fragment; remove it"));
        }
        let parsed: Uri = url
            .parse()
            .map_err(|error| invalid(&format!("{error}; expected for example {example}")))?;
        let parts = parsed.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(invalid(&format!(
                "missing scheme; expected for example {example}"
            )));
        };
        if scheme != Scheme::HTTPS && scheme != Scheme::HTTP {
            return Err(invalid(&format!(
                "unknown scheme; expected for example {example}"
            )));
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(invalid(&format!("missing host; expected for example {example}")));
        }
        // `Authority` ignores a port outside of 0 to 65535, and the default port of the scheme would be used.
        let has_port = authority.as_str().len() > host.len();
        if has_port && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(invalid(
                "invalid port; expected a number from 1 to 65535, or no colon after the host",
            ));
        }
        let prefix = parts.path_and_query.as_ref().map_or("", PathAndQuery::path);
        Ok(BaseUrl {
            scheme,
            authority,
            prefix: prefix.trim_end_matches('/').to_owned(),
        })
    }
}

impl BaseUrl {
    pub(super) fn parse(url: &str) -> Result<Self, InvalidUpstream> {
        let base = UPSTREAM.parse(url)?;
        if base.prefix.ends_with("/v1") || base.prefix.ends_with("/v1/messages") {
            return Err(InvalidUpstream(format!(
                "invalid base URL {}: the paths of the API, such as /v1/messages, are appended to it; remove /v1 and the rest of the path",
                shown(url)
            )));
        }
        Ok(base)
    }

    /// Parses the URL of an MCP server. Requests have its path, so the result has none.
    #[cfg(feature = "mcp")]
    pub(super) fn parse_origin(url: &str) -> Result<Self, InvalidUpstream> {
        let mut base = TOOL_SERVER.parse(url)?;
        base.prefix.clear();
        Ok(base)
    }

    /// Returns path and query of a request at this server; `None` for a target without a path, such as `*`.
    pub(super) fn join(&self, request: &Uri) -> Option<PathAndQuery> {
        let target = request.path_and_query();
        let path = if let Some(target) = target.filter(|_| self.prefix.is_empty()) {
            target.clone()
        } else {
            let target = target.map_or("/", PathAndQuery::as_str);
            PathAndQuery::try_from(format!("{}{target}", self.prefix)).ok()?
        };
        path.as_str().starts_with('/').then_some(path)
    }

    /// Returns the URI of the server, and the value of its `Host` header.
    pub(super) fn server(&self) -> Result<(Uri, HeaderValue), InvalidUpstream> {
        let invalid = |error: &dyn Error| InvalidUpstream(format!("invalid base URL {self}: {error}"));
        let server = Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query("/")
            .build()
            .map_err(|error| invalid(&error))?;
        let is_default = self.authority.port_u16() == Some(self.default_port());
        let host = if is_default {
            self.authority.host()
        } else {
            self.authority.as_str()
        };
        let host = HeaderValue::from_str(host).map_err(|error| invalid(&error))?;
        Ok((server, host))
    }

    pub(super) fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(self.default_port())
    }

    pub(super) fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    fn default_port(&self) -> u16 {
        if self.is_https() { 443 } else { 80 }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

/// Returns a URL without parts that may be a credential: user name, password, query and fragment.
fn shown(url: &str) -> String {
    let (scheme, rest) = url
        .split_once("://")
        .map_or((None, url), |(scheme, rest)| (Some(scheme), rest));
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    match scheme {
        // In `sk-1@example.com://`, the credential precedes the scheme.
        Some(scheme) if !scheme.contains('@') => format!("{scheme}://{rest}"),
        _ => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_and_path(base: &str, target: &str) -> String {
        let base = BaseUrl::parse(base).unwrap();
        let (_, host) = base.server().unwrap();
        let path = base.join(&target.parse().unwrap()).unwrap();
        format!("{}{path}", host.to_str().unwrap())
    }

    #[test]
    fn appends_paths_to_the_base_url() {
        let target = "/v1/messages?beta=true";
        for (base, expected) in [
            ("https://host", "host/v1/messages?beta=true"),
            ("https://host/", "host/v1/messages?beta=true"),
            ("https://host:443", "host/v1/messages?beta=true"),
            ("https://host:80", "host:80/v1/messages?beta=true"),
            ("http://host:8000", "host:8000/v1/messages?beta=true"),
            ("https://host/a/b/", "host/a/b/v1/messages?beta=true"),
            ("http://[::1]:80/a", "[::1]/a/v1/messages?beta=true"),
        ] {
            assert_eq!(host_and_path(base, target), expected);
        }
        // Only path and query of the client's URL are used.
        assert_eq!(
            host_and_path("https://host", "http://other/v1/models"),
            "host/v1/models"
        );
        assert!(
            BaseUrl::parse("https://host")
                .unwrap()
                .join(&Uri::from_static("*"))
                .is_none()
        );
    }

    #[test]
    fn rejects_invalid_base_urls_without_their_credentials() {
        for (base, expected) in [
            (
                "localhost:8000",
                "invalid base URL localhost:8000: missing scheme; expected for example https://api.anthropic.com",
            ),
            (
                "/v1",
                "invalid base URL /v1: missing scheme; expected for example https://api.anthropic.com",
            ),
            (
                "",
                "invalid base URL : empty string; expected for example https://api.anthropic.com",
            ),
            (
                "ftp://host",
                "invalid base URL ftp://host: unknown scheme; expected for example https://api.anthropic.com",
            ),
            (
                "http://:8000",
                "invalid base URL http://:8000: missing host; expected for example https://api.anthropic.com",
            ),
            (
                "http://host:99999",
                "invalid base URL http://host:99999: invalid port; expected a number from 1 to 65535, or no colon after the host",
            ),
            (
                "http://host:0",
                "invalid base URL http://host:0: invalid port; expected a number from 1 to 65535, or no colon after the host",
            ),
            (
                "https://host/v1/",
                "invalid base URL https://host/v1/: the paths of the API, such as /v1/messages, are appended to it; \
                 remove /v1 and the rest of the path",
            ),
            (
                "https://host/a/v1/messages",
                "invalid base URL https://host/a/v1/messages: the paths of the API, such as /v1/messages, are appended to it; \
                 remove /v1 and the rest of the path",
            ),
            (
                "https://host/?key=secret",
                "invalid base URL https://host/: it contains a query or a fragment; remove it",
            ),
            (
                "https://host/#secret",
                "invalid base URL https://host/: it contains a query or a fragment; remove it",
            ),
            (
                "https://secret@host/x",
                "invalid base URL https://host/x: it contains a user name or password; \
                 remove them, and configure the key as API key",
            ),
            (
                "secret@host://x?secret",
                "invalid base URL x: it contains a user name or password; \
                 remove them, and configure the key as API key",
            ),
        ] {
            let Err(error) = BaseUrl::parse(base) else {
                panic!("{base} is accepted");
            };
            assert_eq!(error.to_string(), expected);
            assert!(!format!("{error:?}").contains("secret"));
        }
    }
}
