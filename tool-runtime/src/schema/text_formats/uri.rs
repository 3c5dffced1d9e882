//! `URI` of RFC 3986: a scheme, followed by an authority, a path, a query and a fragment.

use std::net::Ipv6Addr;

/// Returns whether a text is a URI. A relative reference is not a URI.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let (rest, fragment) = split(rest, '#');
    let (hierarchy, query) = split(rest, '?');
    let is_path = |path: &str| has_only(path, is_path_character);
    let is_hierarchy = match hierarchy.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            is_authority(authority) && is_path(path)
        }
        None => is_path(hierarchy),
    };
    let is_suffix = |text: &str| has_only(text, |byte| is_path_character(byte) || byte == b'?');
    is_scheme(scheme) && is_hierarchy && is_suffix(query) && is_suffix(fragment)
}

/// Returns the text before the separator and the text after it.
fn split(text: &str, separator: char) -> (&str, &str) {
    text.split_once(separator).unwrap_or((text, ""))
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Returns whether a text is `[ userinfo "@" ] host [ ":" port ]`.
fn is_authority(authority: &str) -> bool {
    let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_name = |name: &str| has_only(name, |byte| is_unreserved(byte) || is_sub_delimiter(byte));
    let is_user = has_only(user, |byte| {
        is_unreserved(byte) || is_sub_delimiter(byte) || byte == b':'
    });
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_place = if let Some(literal) = place.strip_prefix('[') {
        literal.split_once(']').is_some_and(|(address, port)| {
            let port = port.strip_prefix(':').or(port.is_empty().then_some(""));
            is_ip_literal(address) && port.is_some_and(is_port)
        })
    } else {
        let (host, port) = split(place, ':');
        is_name(host) && is_port(port)
    };
    is_user && is_place
}

/// Returns whether a text is an IPv6 address, or `v1.…` for a future version.
fn is_ip_literal(address: &str) -> bool {
    let is_future = || {
        let (version, rest) = address.strip_prefix(['v', 'V'])?.split_once('.')?;
        let is_version = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_rest = |byte| is_unreserved(byte) || is_sub_delimiter(byte) || byte == b':';
        Some(is_version && !rest.is_empty() && rest.bytes().all(is_rest))
    };
    address.parse::<Ipv6Addr>().is_ok() || is_future() == Some(true)
}

/// Returns whether a text consists of these characters and of `%` with two hexadecimal digits.
fn has_only(text: &str, is_allowed: impl Fn(u8) -> bool) -> bool {
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return true,
            [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => rest,
            [byte, rest @ ..] if *byte != b'%' && is_allowed(*byte) => rest,
            _ => return false,
        };
    }
}

/// Returns whether a byte is a `pchar` or `/`.
fn is_path_character(byte: u8) -> bool {
    is_unreserved(byte) || is_sub_delimiter(byte) || matches!(byte, b':' | b'@' | b'/')
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn is_sub_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'='
    )
}

#[cfg(test)]
mod tests {
    use super::is_uri;

    #[test]
    fn accepts_uris_of_rfc_3986() {
        for uri in [
            "https://user:pw@example.org:8080/a%20b;c?d=e/f?#g?",
            "mailto:a@example.org",
            "urn:isbn:0451450523",
            "file:///etc/passwd",
            "a:",
            "http://[::1]:80/",
            "http://[v1.x:y]/",
            "http://",
        ] {
            assert!(is_uri(uri), "{uri}");
        }
        for uri in [
            "",
            ":a",
            "1a:b",
            "//example.org",
            "example.org/a",
            "http://a b",
            "http://a/%2",
            "http://a/%zz",
            "http://[::1",
            "http://[::1]x",
            "http://[x]",
            "http://a:b",
            "http://a@b@c",
            "http://é",
            "http://a/<b>",
            "http://a/#b#c",
            "http://a/\\b",
            "http://a/[b]",
        ] {
            assert!(!is_uri(uri), "{uri}");
        }
    }
}
