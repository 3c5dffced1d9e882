//! Headers of a request: types of bodies, and copies of fields of the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::adapt::revisions::{LEGACY, MODERN};
use crate::server::message::{Request, RpcError};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Types of responses that a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) json: bool,
    pub(crate) events: bool,
}

impl Accepted {
    /// Reads `Accept`. Without the header, a client accepts everything.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let mut accepted = Self {
            json: false,
            events: false,
        };
        let mut is_empty = true;
        for value in headers.get_all(ACCEPT) {
            for range in value.to_str().unwrap_or_default().split(',') {
                is_empty = false;
                let mut parts = range.split(';').map(str::trim);
                let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
                let is_refused = parts.any(|part| {
                    let quality = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
                    quality.and_then(|quality| quality.parse().ok()) == Some(0.0)
                });
                if !is_refused {
                    accepted.json |= matches!(kind.as_str(), "*/*" | "application/*" | "application/json");
                    accepted.events |= matches!(kind.as_str(), "*/*" | "text/*" | "text/event-stream");
                }
            }
        }
        if is_empty {
            return Self {
                json: true,
                events: true,
            };
        }
        accepted
    }
}

/// Returns whether the body is JSON.
pub(crate) fn has_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// Returns the reason why a body with these headers cannot be read: clients of the official SDKs compress none.
pub(crate) fn unread_encoding(headers: &HeaderMap) -> Option<&'static str> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let is_other = |encoding: &HeaderValue| !encoding.as_bytes().eq_ignore_ascii_case(b"identity");
    encodings
        .any(is_other)
        .then_some("unsupported `content-encoding`; expected none")
}

/// Returns whether a request needs no handshake: its metadata or its header have a revision of 2026-07-28 or later.
pub(crate) fn is_modern(request: &Request, headers: &HeaderMap) -> bool {
    let header = headers.get(VERSION).and_then(|version| version.to_str().ok());
    request.revision().is_some() || header.is_some_and(|version| !LEGACY.contains(&version))
}

/// Checks that the headers of a request without a handshake have the fields of its body.
pub(crate) fn check(request: &Request, headers: &HeaderMap) -> Result<(), RpcError> {
    let mismatch = |message: String| RpcError::new(RpcError::HEADER_MISMATCH, message);
    let text = |name: &HeaderName| match headers.get(name) {
        None => Err(mismatch(format!("missing header `{name}`"))),
        Some(value) => value
            .to_str()
            .map_err(|_| mismatch(format!("invalid header `{name}`"))),
    };
    let check = |name: &HeaderName, header: &str, body: &str| {
        if header == body {
            Ok(())
        } else {
            Err(mismatch(format!(
                "the header `{name}` differs from the body; expected equal values"
            )))
        }
    };
    let version = text(&VERSION)?;
    // A missing revision in the body is an error of the metadata.
    check(&VERSION, version, request.revision().unwrap_or(version))?;
    if version != MODERN && !LEGACY.contains(&version) {
        // Its headers and metadata are unknown, too.
        return Err(RpcError::unsupported_revision(version));
    }
    check(&METHOD, text(&METHOD)?, &request.method)?;
    if request.method == "tools/call"
        && let Some(name) = request.params.get("name").and_then(Value::as_str)
    {
        let header =
            decoded(text(&NAME)?).ok_or_else(|| mismatch(format!("invalid base64 in header `{NAME}`")))?;
        check(&NAME, &header, name)?;
    }
    Ok(())
}

/// Decodes `=?base64?…?=`. Other values are unchanged.
fn decoded(value: &str) -> Option<String> {
    let inner = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match inner {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = list
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        pairs.collect()
    }

    #[test]
    fn reads_accepted_types() {
        for (accept, json, events) in [
            ("application/json, text/event-stream", true, true),
            ("*/*", true, true),
            ("application/json", true, false),
            ("Text/Event-Stream;q=0.5", false, true),
            ("text/html, application/json;q=0", false, false),
            ("", false, false),
        ] {
            assert_eq!(
                Accepted::from_headers(&headers(&[("accept", accept)])),
                Accepted { json, events },
                "{accept}"
            );
        }
        assert!(Accepted::from_headers(&HeaderMap::new()).json);
    }

    #[test]
    fn headers_have_the_fields_of_the_body() {
        let request = |name: &str| Request {
            id: json!(1),
            method: "tools/call".to_owned(),
            params: json!({ "name": name, "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }),
        };
        let code = |name: &str, version: &str, method: &str, header: &str| {
            let headers = headers(&[
                ("mcp-protocol-version", version),
                ("mcp-method", method),
                ("mcp-name", header),
            ]);
            check(&request(name), &headers).err().map(|error| error.code)
        };
        let (version, method) = ("2026-07-28", "tools/call");
        assert_eq!(code("add", version, method, "add"), None);
        assert_eq!(code("加", version, method, "=?base64?5Yqg?="), None);
        for (version, method, name) in [
            ("2025-11-25", method, "add"),
            (version, "tools/list", "add"),
            (version, "Tools/call", "add"),
            (version, method, "Add"),
            (version, method, "=?base64?!?="),
        ] {
            assert_eq!(
                code("add", version, method, name),
                Some(-32020),
                "{version} {method} {name}"
            );
        }
        let unknown = Request {
            id: json!(1),
            method: method.to_owned(),
            params: json!({}),
        };
        let error = check(&unknown, &headers(&[("mcp-protocol-version", "2025-01-01")])).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (-32022, "unsupported revision; expected 2026-07-28")
        );
        let missing = headers(&[("mcp-protocol-version", version), ("mcp-method", method)]);
        assert_eq!(check(&request("add"), &missing).unwrap_err().code, -32020);
    }
}
