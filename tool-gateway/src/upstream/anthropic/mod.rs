//! The upstream `anthropic`: a server of the Messages API, at Anthropic or elsewhere.

pub(crate) mod events;

use std::net::SocketAddr;

use secrecy::SecretString;

use crate::upstream::transport::invalid::InvalidUpstream;
use crate::upstream::transport::server::HttpServer;

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
/// # Ok::<(), tool_gateway::upstream::InvalidUpstream>(())
/// ```
#[derive(Debug)]
pub struct AnthropicUpstream {
    pub(super) server: HttpServer,
}

impl AnthropicUpstream {
    /// An upstream at a base URL, which is the URL of the server without `/v1/messages`: `https://api.anthropic.com`,
    /// `http://localhost:8000`, or with a prefix, `https://example.com/anthropic`.
    ///
    /// With a key, requests have it as `x-api-key`, and those to `/v1/chat/completions` and `/v1/responses`, and to
    /// `/v1/models` without `anthropic-version`, as `authorization: Bearer`; the client's `x-api-key` and `authorization` are dropped, and on those paths its
    /// `openai-organization` and `openai-project`. Without one, the client's are sent.
    pub fn new(base_url: &str, api_key: Option<SecretString>) -> Result<Self, InvalidUpstream> {
        Ok(Self {
            server: HttpServer::new(base_url, api_key)?,
        })
    }

    /// Checks a base URL without a server for it.
    pub(crate) fn check(base_url: &str) -> Result<(), InvalidUpstream> {
        HttpServer::check(base_url)
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
        self.server.connects_to(listener).await
    }
}
