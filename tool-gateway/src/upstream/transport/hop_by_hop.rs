//! Hop-by-hop headers, which an intermediary does not forward.

use axum::http::header::{self, HeaderMap, HeaderName};

/// Returns whether a field is a hop-by-hop field of RFC 9110 § 7.6.1 or of proxies. `Proxy-Status` (RFC 9209) is for the client, and is
/// forwarded.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-connection"
            | "proxy-authentication-info"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Removes the hop-by-hop headers, and the headers that `Connection` names.
pub(super) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    // Few messages have more than one of the fields, and each look-up hashes a name.
    let listed: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_hop_by_hop(name))
        .cloned()
        .collect();
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in listed.iter().chain(&named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remaining(fields: &[(&'static str, &'static str)]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        remove_hop_by_hop(&mut headers);
        headers.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn removes_listed_fields() {
        let listed = [
            ("connection", "close"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "close"),
            ("proxy-authenticate", "Basic"),
            ("proxy-authorization", "Basic abc"),
            ("proxy-authentication-info", "x"),
            ("te", "trailers"),
            ("trailer", "expires"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
        ];
        assert!(remaining(&listed).is_empty());
    }

    #[test]
    fn removes_fields_that_connection_names() {
        let fields = [
            ("connection", "close, X-One"),
            ("connection", "x-two , ,?"),
            ("x-one", "1"),
            ("x-two", "2"),
            ("x-three", "3"),
        ];
        assert_eq!(remaining(&fields), ["x-three"]);
    }

    #[test]
    fn keeps_everything_else() {
        let fields = [
            ("anthropic-beta", "a"),
            ("retry-after", "1"),
            ("proxy-status", "x"),
        ];
        assert_eq!(
            remaining(&fields),
            ["anthropic-beta", "retry-after", "proxy-status"]
        );
    }
}
