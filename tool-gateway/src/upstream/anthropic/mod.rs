//! The upstream `anthropic`: any server of the Messages API.

pub(crate) mod events;

use std::net::SocketAddr;

use secrecy::SecretString;

use crate::upstream::transport::invalid::InvalidUpstream;
use crate::upstream::transport::server::HttpServer;

/// A server of the Messages API, connected over HTTP/1.1 with pooled connections.
///
/// Requests have the client's headers, except hop-by-hop headers. Status, headers and body of the response are the server's; the body is
/// passed on as it arrives. Connecting has a timeout of 10 seconds. The timeout of the response is set in the gateway.
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
    /// Creates an upstream from a base URL, which is the URL of the server without `/v1/messages`: `https://api.anthropic.com`,
    /// `http://localhost:8000`, or with a prefix, `https://example.com/anthropic`.
    ///
    /// The key is sent as `x-api-key`. Requests to `/v1/chat/completions` and `/v1/responses`, and to `/v1/models` without
    /// `anthropic-version`, send the key as `authorization: Bearer` instead. The client's `x-api-key` and `authorization` are removed; on
    /// these paths, its `openai-organization` and `openai-project` are removed, too. Without a key, the client's credentials are sent.
    pub fn new(base_url: &str, api_key: Option<SecretString>) -> Result<Self, InvalidUpstream> {
        Ok(Self {
            server: HttpServer::new(base_url, api_key)?,
        })
    }

    /// Sends the key with every request as `authorization: Bearer`, for servers without `x-api-key`. Without a key, the client's
    /// credentials are sent unchanged.
    ///
    /// ```
    /// use tool_gateway::upstream::AnthropicUpstream;
    ///
    /// let upstream = AnthropicUpstream::new("https://example.com", Some("token".into()))?.with_bearer_auth();
    /// # Ok::<(), tool_gateway::upstream::InvalidUpstream>(())
    /// ```
    #[must_use]
    pub fn with_bearer_auth(mut self) -> Self {
        self.server.set_bearer();
        self
    }

    /// Sets the environment variable with the key, which the log names if the server refuses the key.
    pub(crate) fn with_key_variable(mut self, variable: String) -> Self {
        self.server.set_key_variable(variable);
        self
    }

    /// Checks a base URL without creating an upstream.
    pub(crate) fn check(base_url: &str) -> Result<(), InvalidUpstream> {
        HttpServer::check(base_url)
    }

    /// Returns whether requests would arrive at this address of this machine. A gateway must not start if its upstream is its own listener,
    /// since its requests would never end. A name that cannot be resolved is `false`.
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
