//! Hosts and ports of `Host` and `Origin`.

use std::net::IpAddr;

/// Host, and port if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    pub(crate) host: &'a str,
    port: Option<u16>,
}

impl<'a> Authority<'a> {
    /// Parses `host`, `host:port`, `[::1]` or `[::1]:port`.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = match port {
            None | Some("") => None,
            Some(port) => Some(port.parse().ok()?),
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~[]:".contains(&byte);
        (!host.is_empty() && host.bytes().all(is_host)).then_some(Self { host, port })
    }

    /// Parses an origin. Returns the scheme, too.
    pub(crate) fn from_origin(origin: &'a str) -> Option<(&'a str, Self)> {
        let (scheme, authority) = origin.split_once("://")?;
        Some((scheme, Self::parse(authority)?))
    }

    /// Returns whether the host is this machine.
    pub(crate) fn is_loopback(self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    /// Returns whether both are one host and one port of a scheme.
    pub(crate) fn equals(self, other: Self, scheme: &str) -> bool {
        let default = match scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        self.host.eq_ignore_ascii_case(other.host) && self.port.or(default) == other.port.or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_loopback_addresses() {
        let is_loopback = |text| Authority::parse(text).is_some_and(Authority::is_loopback);
        for text in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]",
            "[::1]:80",
        ] {
            assert!(is_loopback(text), "{text}");
        }
        for text in [
            "example.com",
            "127.0.0.1.example.com",
            "localhost.example.com:80",
            "localhost:80@example.com",
            "10.0.0.1",
            "",
            ":80",
            "localhost:http",
        ] {
            assert!(!is_loopback(text), "{text}");
        }
    }

    #[test]
    fn compares_origins_with_hosts() {
        let is_own = |origin, host| {
            let (scheme, authority) = Authority::from_origin(origin).unwrap();
            authority.equals(Authority::parse(host).unwrap(), scheme)
        };
        assert!(is_own("https://a.example", "A.example"));
        assert!(is_own("https://a.example", "a.example:443"));
        assert!(is_own("http://a.example:8080", "a.example:8080"));
        assert!(!is_own("http://a.example", "a.example:8080"));
        assert!(!is_own("http://b.a.example", "a.example"));
        assert_eq!(Authority::from_origin("null"), None);
    }
}
