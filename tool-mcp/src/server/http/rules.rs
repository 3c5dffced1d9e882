//! Checks of `Host` and `Origin`, which protect a server from DNS rebinding and from other web pages.

use http::header::{HOST, ORIGIN};
use http::request::Parts;

use crate::server::http::authority::Authority;

/// Hosts, origins and sizes that a server accepts.
#[derive(Debug, Clone)]
pub(crate) struct HttpRules {
    /// Hosts in addition to loopback addresses; `None` for any host.
    pub(crate) hosts: Option<Vec<String>>,
    /// Origins in addition to loopback addresses and the server's own; `None` for any origin.
    pub(crate) origins: Option<Vec<String>>,
    /// Maximum number of bytes of a body.
    pub(crate) body_bytes: usize,
}

impl Default for HttpRules {
    fn default() -> Self {
        Self {
            hosts: Some(Vec::new()),
            origins: Some(Vec::new()),
            body_bytes: 16 << 20,
        }
    }
}

impl HttpRules {
    /// Checks a request. An error has the reason.
    pub(crate) fn check(&self, parts: &Parts) -> Result<(), String> {
        // The authority of a target counts, too (RFC 9112 § 3.2.2), and is the only host of HTTP/2.
        let target = parts.uri.authority().map(http::uri::Authority::as_str);
        let hosts = parts.headers.get_all(HOST).iter();
        let hosts: Vec<&str> = hosts
            .map(|host| host.to_str().unwrap_or_default())
            .chain(target)
            .collect();
        if let Some(allowed) = &self.hosts {
            let host = hosts.first().ok_or("missing header `Host`")?;
            let wrong = hosts.iter().find(|host| !is_host_allowed(allowed, host));
            if let Some(host) = wrong {
                return Err(format!(
                    "unexpected host `{host}`; expected a loopback address or an allowed host"
                ));
            }
            if hosts.iter().any(|other| other != host) && target.is_none() {
                return Err("duplicate header `Host`".to_owned());
            }
        }
        let Some(allowed) = &self.origins else {
            return Ok(());
        };
        for origin in parts.headers.get_all(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            let is_allowed = match Authority::from_origin(origin) {
                Some((scheme, authority)) => {
                    let own = hosts.first().and_then(|host| Authority::parse(host));
                    authority.is_loopback()
                        || own.is_some_and(|own| authority.equals(own, scheme))
                        || allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
                }
                None => false,
            };
            if !is_allowed {
                return Err(format!(
                    "unexpected origin `{origin}`; expected the server's own or an allowed origin"
                ));
            }
        }
        Ok(())
    }
}

fn is_host_allowed(allowed: &[String], host: &str) -> bool {
    let Some(authority) = Authority::parse(host) else {
        return false;
    };
    let is_named =
        |allowed: &String| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(authority.host);
    authority.is_loopback() || allowed.iter().any(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(rules: &HttpRules, headers: &[(&str, &str)]) -> bool {
        let mut request = http::Request::builder().uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        rules.check(&parts).is_ok()
    }

    #[test]
    fn hosts_are_loopback_addresses_or_allowed() {
        let rules = HttpRules {
            hosts: Some(vec![
                "mcp.example.com".to_owned(),
                "other.example:8080".to_owned(),
            ]),
            ..HttpRules::default()
        };
        for host in [
            "localhost:8484",
            "127.0.0.1",
            "mcp.example.com",
            "MCP.example.com:443",
            "other.example:8080",
        ] {
            assert!(is_allowed(&rules, &[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "other.example",
            "mcp.example.com.evil.example",
            "",
        ] {
            assert!(!is_allowed(&rules, &[("host", host)]), "{host}");
        }
        assert!(!is_allowed(&rules, &[]));
        assert!(!is_allowed(
            &rules,
            &[("host", "localhost"), ("host", "localhost:1")]
        ));
    }

    #[test]
    fn origins_are_loopback_addresses_own_or_allowed() {
        let mut rules = HttpRules {
            hosts: Some(vec!["mcp.example.com".to_owned()]),
            origins: Some(vec!["app://obsidian.md".to_owned()]),
            ..HttpRules::default()
        };
        let mut check = |origin: &str, wanted: bool| {
            for hosts in [Some(vec!["mcp.example.com".to_owned()]), None] {
                rules.hosts = hosts;
                let headers = [("host", "mcp.example.com"), ("origin", origin)];
                assert_eq!(is_allowed(&rules, &headers), wanted, "{origin}");
            }
        };
        for origin in [
            "http://localhost:5173",
            "https://[::1]",
            "https://mcp.example.com",
            "app://obsidian.md",
        ] {
            check(origin, true);
        }
        for origin in [
            "null",
            "https://evil.example",
            "https://mcp.example.com:8443",
            "app://obsidian.md.evil",
            "",
        ] {
            check(origin, false);
        }
    }
}
