//! The upstream `anthropic`: a server of the Messages API, at Anthropic or elsewhere.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use axum::http::uri::{Authority, PathAndQuery, Scheme};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version, header};
use bytes::Bytes;
use http_body_util::Full;
use secrecy::{ExposeSecret as _, SecretString};

use super::service::{Upstream, UpstreamError, UpstreamFuture};
use super::transport::connector::Connector;
use super::transport::first_cause::first_cause;
use super::transport::hop_by_hop::remove_hop_by_hop;
use super::transport::pool::{Pool, SendError};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// A server of the Messages API, asked over HTTP/1.1 with pooled connections.
///
/// Requests go there with the client's headers, except those that are for one connection only. Status, headers and body
/// of the response are the server's; the body is passed on as it arrives. There is a timeout for connecting (10 s);
/// the one for the response is the gateway's.
///
/// ```
/// use tool_gateway::upstream::{AnthropicUpstream, Upstream as _};
///
/// let key = "sk-ant-secret".into();
/// let upstream = AnthropicUpstream::new("https://api.anthropic.com", Some(key))?;
/// assert_eq!(upstream.name(), "https://api.anthropic.com");
/// assert!(!format!("{upstream:?}").contains("secret"));
///
/// let error = AnthropicUpstream::new("https://me:secret@localhost", None).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "invalid base URL https://localhost: it contains a user name or password; \
///      remove them, and configure the key as API key",
/// );
/// # Ok::<(), tool_gateway::upstream::anthropic::InvalidUpstream>(())
/// ```
pub struct AnthropicUpstream {
    pool: Pool,
    host: HeaderValue,
    base: BaseUrl,
    api_key: Option<ApiKey>,
}

/// A key as the headers have it, marked as sensitive, so that `Debug` does not show it.
struct ApiKey {
    plain: HeaderValue,
    bearer: HeaderValue,
}

/// The paths of `OpenAI`'s APIs.
const BEARER_PATHS: [&str; 2] = ["/v1/chat/completions", "/v1/responses"];

/// Whom the client's key of `OpenAI` is charged to: with another key, the server would refuse the request.
const OPENAI_ACCOUNT: [&str; 2] = ["openai-organization", "openai-project"];

impl AnthropicUpstream {
    /// An upstream at a base URL, which is the URL of the server without `/v1/messages`: `https://api.anthropic.com`,
    /// `http://localhost:8000`, or with a prefix, `https://example.com/anthropic`.
    ///
    /// With a key, requests have it as `x-api-key`, and those to `/v1/chat/completions` and `/v1/responses`, and to
    /// `/v1/models` without `anthropic-version`, as `authorization: Bearer`; the client's `x-api-key` and `authorization` are dropped, and on those paths its
    /// `openai-organization` and `openai-project`. Without one, the client's are sent.
    pub fn new(base_url: &str, api_key: Option<SecretString>) -> Result<Self, InvalidUpstream> {
        let base = BaseUrl::parse(base_url)?;
        let api_key = api_key.map(|key| ApiKey::new(&key)).transpose()?;
        let connector = Connector::new()
            .map_err(|error| InvalidUpstream(format!("TLS cannot be set up for {base}: {error}")))?;
        let (server, host) = base.server()?;
        Ok(Self {
            pool: Pool::new(connector, server),
            host,
            base,
            api_key,
        })
    }

    /// Checks a base URL without a server for it.
    pub(crate) fn check(base_url: &str) -> Result<(), InvalidUpstream> {
        BaseUrl::parse(base_url).map(|_| ())
    }

    /// Whether requests would arrive at that address of this machine. A gateway whose upstream is its own listener asks
    /// itself without end, so it refuses to start. A name that cannot be resolved arrives nowhere.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tool_gateway::upstream::AnthropicUpstream;
    ///
    /// let upstream = AnthropicUpstream::new("http://localhost:8080", None)?;
    /// assert!(upstream.connects_to("127.0.0.1:8080".parse()?).await);
    /// assert!(upstream.connects_to("0.0.0.0:8080".parse()?).await);
    /// assert!(!upstream.connects_to("127.0.0.1:9090".parse()?).await);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connects_to(&self, listener: SocketAddr) -> bool {
        let port = self.base.port();
        if port != listener.port() {
            return false;
        }
        // IPv6 addresses have brackets in a URL.
        let host = self.base.authority.host().trim_matches(['[', ']']);
        let Ok(mut addresses) = tokio::net::lookup_host((host, port)).await else {
            return false;
        };
        addresses.any(|address| accepts(listener.ip(), address.ip()))
    }

    fn prepare(&self, path: &str, headers: &mut HeaderMap) {
        remove_hop_by_hop(headers);
        // The client's connection has been asked to continue already, and the body is here.
        for name in [header::CONTENT_LENGTH, header::EXPECT] {
            headers.remove(name);
        }
        headers.insert(header::HOST, self.host.clone());
        // The gateway reads responses.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(key) = &self.api_key {
            let (name, value, other) = if takes_bearer(path, headers) {
                (header::AUTHORIZATION, &key.bearer, X_API_KEY)
            } else {
                (X_API_KEY, &key.plain, header::AUTHORIZATION)
            };
            if name == header::AUTHORIZATION {
                for account in OPENAI_ACCOUNT {
                    headers.remove(account);
                }
            }
            headers.remove(other);
            headers.insert(name, value.clone());
        }
    }

    fn no_response(&self, error: &SendError) -> UpstreamError {
        let what = match error {
            SendError::Connecting(_) => "cannot be reached",
            SendError::NoResponse(_) => "did not answer",
        };
        let cause = first_cause(error.as_error());
        UpstreamError::new(format!("the upstream {} {what}: {cause}", self.base))
    }
}

impl Upstream for AnthropicUpstream {
    fn send(&self, request: Request<Bytes>) -> UpstreamFuture<'_> {
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let path = self.base.join(&parts.uri).ok_or_else(|| {
                UpstreamError::new(format!("the path {} cannot be asked of {}", parts.uri, self.base))
            })?;
            self.prepare(parts.uri.path(), &mut parts.headers);
            parts.uri = path.into();
            parts.version = Version::HTTP_11;
            parts.extensions.clear();
            let request = Request::from_parts(parts, Full::new(body));
            let response = self.pool.send(request).await;
            let mut response = response.map_err(|error| self.no_response(&error))?;
            // The client's connection has its own version.
            *response.version_mut() = Version::HTTP_11;
            remove_hop_by_hop(response.headers_mut());
            Ok(response)
        })
    }

    fn name(&self) -> String {
        self.base.to_string()
    }
}

impl fmt::Debug for AnthropicUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicUpstream")
            .field("base_url", &self.name())
            .field("has_api_key", &self.api_key.is_some())
            .finish_non_exhaustive()
    }
}

/// Why there cannot be such an upstream, and what to configure instead. Names no credential.
#[derive(Debug)]
pub struct InvalidUpstream(String);

impl fmt::Display for InvalidUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for InvalidUpstream {}

/// Where the paths of requests are appended.
struct BaseUrl {
    scheme: Scheme,
    authority: Authority,
    /// Empty, or a path that does not end in `/`.
    prefix: String,
}

impl BaseUrl {
    fn parse(url: &str) -> Result<Self, InvalidUpstream> {
        let invalid = |reason: &str| InvalidUpstream(format!("invalid base URL {}: {reason}", shown(url)));
        if url.contains('@') {
            return Err(invalid(
                "it contains a user name or password; remove them, and configure the key as API key",
            ));
        }
        if url.contains(['?', '#']) {
            return Err(invalid("it contains a query or a fragment; remove it"));
        }
        let parsed: Uri = url.parse().map_err(|error| {
            invalid(&format!(
                "{error}; expected for example https://api.anthropic.com"
            ))
        })?;
        let parts = parsed.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(invalid(
                "missing scheme; expected for example https://api.anthropic.com",
            ));
        };
        if scheme != Scheme::HTTPS && scheme != Scheme::HTTP {
            return Err(invalid(
                "unknown scheme; expected for example https://api.anthropic.com",
            ));
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(invalid(
                "missing host; expected for example https://api.anthropic.com",
            ));
        }
        // What is no number between 0 and 65535 is no port for `Authority` either, and the scheme's own would be asked.
        let has_port = authority.as_str().len() > host.len();
        if has_port && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(invalid(
                "invalid port; expected a number from 1 to 65535, or no colon after the host",
            ));
        }
        let prefix = parts.path_and_query.as_ref().map_or("", PathAndQuery::path);
        let prefix = prefix.trim_end_matches('/').to_owned();
        if prefix.ends_with("/v1") || prefix.ends_with("/v1/messages") {
            return Err(invalid(
                "the paths of the API, such as /v1/messages, are appended to it; remove /v1 and what follows",
            ));
        }
        Ok(Self {
            scheme,
            authority,
            prefix,
        })
    }

    /// Path and query of a request there; `None` for a target that is no path, as `*`.
    fn join(&self, request: &Uri) -> Option<PathAndQuery> {
        let target = request.path_and_query();
        let path = if let Some(target) = target.filter(|_| self.prefix.is_empty()) {
            target.clone()
        } else {
            let target = target.map_or("/", PathAndQuery::as_str);
            PathAndQuery::try_from(format!("{}{target}", self.prefix)).ok()?
        };
        path.as_str().starts_with('/').then_some(path)
    }

    /// The server, and how requests name it.
    fn server(&self) -> Result<(Uri, HeaderValue), InvalidUpstream> {
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

    fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(self.default_port())
    }

    fn default_port(&self) -> u16 {
        if self.scheme == Scheme::HTTPS { 443 } else { 80 }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

/// A URL without what may be a credential: user name, password, query, fragment.
fn shown(url: &str) -> String {
    let (scheme, rest) = url
        .split_once("://")
        .map_or((None, url), |(scheme, rest)| (Some(scheme), rest));
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    match scheme {
        // In `sk-1@example.com://`, the credential is in front.
        Some(scheme) if !scheme.contains('@') => format!("{scheme}://{rest}"),
        _ => rest.to_owned(),
    }
}

impl ApiKey {
    fn new(key: &SecretString) -> Result<Self, InvalidUpstream> {
        let key = key.expose_secret();
        if key.is_empty() {
            let reason =
                "invalid API key: it is empty; set it, or configure none so that the client's is sent";
            return Err(InvalidUpstream(reason.to_owned()));
        }
        Ok(Self {
            plain: sensitive(key)?,
            bearer: sensitive(&format!("Bearer {key}"))?,
        })
    }
}

fn sensitive(text: &str) -> Result<HeaderValue, InvalidUpstream> {
    // The error of `HeaderValue` does not contain the value.
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        let reason = "invalid API key: it contains a character that a header cannot have; \
                      look for a line break at its end";
        InvalidUpstream(reason.to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether a listener accepts what is sent to an address.
fn accepts(listener: IpAddr, address: IpAddr) -> bool {
    let (listener, address) = (listener.to_canonical(), address.to_canonical());
    // `0.0.0.0` as a destination is this machine.
    let address = if address.is_unspecified() {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    } else {
        address
    };
    if listener.is_unspecified() {
        // Only a machine's own addresses can be bound.
        return address.is_loopback() || UdpSocket::bind((address, 0)).is_ok();
    }
    listener == address
}

/// Whether a request is one of `OpenAI`'s APIs. Both have the path of the models, and Anthropic's clients always name their version.
fn takes_bearer(path: &str, headers: &HeaderMap) -> bool {
    let models = path.strip_prefix("/v1/models");
    let is_models = models.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    BEARER_PATHS.contains(&path) || (is_models && !headers.contains_key("anthropic-version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a request goes, as the request says it: host, path and query.
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
        // What the client's URL has besides does not count.
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
    fn invalid_base_urls_are_refused_without_their_credentials() {
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
                 remove /v1 and what follows",
            ),
            (
                "https://host/a/v1/messages",
                "invalid base URL https://host/a/v1/messages: the paths of the API, such as /v1/messages, are appended to it; \
                 remove /v1 and what follows",
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
            let error = AnthropicUpstream::new(base, None).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(!format!("{error:?}").contains("secret"));
        }
    }

    #[test]
    fn invalid_keys_are_refused_without_their_text() {
        for key in ["", "secret\n", "secret\u{1}"] {
            let error = AnthropicUpstream::new("https://host", Some(key.into())).unwrap_err();
            let (shown, debug) = (error.to_string(), format!("{error:?}"));
            assert!(shown.starts_with("invalid API key: it "), "{shown}");
            assert!(!shown.contains("secret") && !debug.contains("secret"), "{debug}");
        }
    }

    #[test]
    fn key_replaces_the_clients_credentials_as_the_api_of_the_path_has_it() {
        let sent = |key: Option<&str>, path: &str| {
            let upstream = AnthropicUpstream::new("https://host", key.map(Into::into)).unwrap();
            let mut headers = HeaderMap::new();
            headers.insert(X_API_KEY, HeaderValue::from_static("client"));
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer client"));
            upstream.prepare(path, &mut headers);
            [X_API_KEY, header::AUTHORIZATION]
                .map(|name| headers.get(name).map(|value| value.to_str().unwrap().to_owned()))
        };
        let (plain, bearer) = (Some("own".to_owned()), Some("Bearer own".to_owned()));
        assert_eq!(sent(Some("own"), "/v1/messages"), [plain, None]);
        for path in BEARER_PATHS {
            assert_eq!(sent(Some("own"), path), [None, bearer.clone()]);
            let client = ["client", "Bearer client"].map(|sent| Some(sent.to_owned()));
            assert_eq!(sent(None, path), client);
        }
        let key = ApiKey::new(&"secret".into()).unwrap();
        assert!(key.plain.is_sensitive() && key.bearer.is_sensitive());
    }

    #[test]
    fn key_for_the_models_is_sent_as_the_client_asks() {
        let upstream = AnthropicUpstream::new("https://host", Some("own".into())).unwrap();
        for (path, has_version, expected) in [
            ("/v1/models", false, header::AUTHORIZATION),
            ("/v1/models/m", false, header::AUTHORIZATION),
            ("/v1/models", true, X_API_KEY),
            ("/v1/models/m", true, X_API_KEY),
            ("/v1/modelsx", false, X_API_KEY),
        ] {
            let mut headers = HeaderMap::new();
            if has_version {
                headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            }
            upstream.prepare(path, &mut headers);
            let sent = [X_API_KEY, header::AUTHORIZATION].map(|name| headers.contains_key(name));
            let wanted = [expected == X_API_KEY, expected == header::AUTHORIZATION];
            assert_eq!(sent, wanted, "{path} {has_version}");
        }
    }

    #[test]
    fn clients_account_goes_up_with_its_own_key_only() {
        let sent = |key: Option<&str>, path: &str| {
            let upstream = AnthropicUpstream::new("https://host", key.map(Into::into)).unwrap();
            let mut headers = HeaderMap::new();
            for name in OPENAI_ACCOUNT {
                headers.insert(name, HeaderValue::from_static("client"));
            }
            upstream.prepare(path, &mut headers);
            OPENAI_ACCOUNT.map(|name| headers.contains_key(name))
        };
        for path in BEARER_PATHS {
            assert_eq!(sent(None, path), [true, true]);
            assert_eq!(sent(Some("own"), path), [false, false]);
        }
    }

    #[tokio::test]
    async fn recognizes_its_own_listener() {
        for (base, listener, expected) in [
            ("http://127.0.0.1:80", "127.0.0.1:80", true),
            ("http://127.0.0.1", "127.0.0.1:80", true),
            ("https://127.0.0.1", "127.0.0.1:443", true),
            ("http://0.0.0.0:8080", "127.0.0.1:8080", true),
            ("http://[::1]:8080", "[::]:8080", true),
            ("http://127.0.0.1:8080", "[::]:8080", true),
            ("http://127.0.0.1:8080", "127.0.0.1:8081", false),
            ("http://127.0.0.2:8080", "127.0.0.1:8080", false),
            // TEST-NET-1: no machine has it.
            ("http://192.0.2.1:8080", "0.0.0.0:8080", false),
        ] {
            let upstream = AnthropicUpstream::new(base, None).unwrap();
            let connects = upstream.connects_to(listener.parse().unwrap()).await;
            assert_eq!(connects, expected, "{base} to {listener}");
        }
    }
}
