//! [`McpUrl`]: the URL of a server, and the limits of its client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri};
use http_body::Body;
use http_body_util::Full;
use tool_runtime::Context;
use tower_service::Service;

use crate::client::error::McpError;
use crate::client::http_service::{BoxError, HttpService};
use crate::client::setters::settings_setters;
use crate::client::settings::{Protocol, Settings};
use crate::client::url_settings::{CallHeaders, UrlSettings};

const EXAMPLE: &str = "expected for example https://example.com/mcp";

/// URL of an MCP server, with the HTTP client for its requests and the limits of the MCP client.
///
/// The values of headers are never logged.
#[derive(Clone)]
#[must_use = "a URL does nothing until `connect`"]
pub struct McpUrl {
    url: String,
    service: HttpService,
    headers: Vec<(String, String)>,
    call_headers: Option<CallHeaders>,
    pub(crate) settings: Settings,
}

impl std::fmt::Debug for McpUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("McpUrl")
            .field("headers", &names)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl McpUrl {
    pub(crate) fn new<S, B>(url: String, service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let host = url.parse().ok().and_then(|uri: Uri| Some(uri.host()?.to_owned()));
        Self {
            url,
            service: HttpService::new(service),
            headers: Vec::new(),
            call_headers: None,
            settings: Settings::new(host.unwrap_or_default()),
        }
    }

    /// Adds a header of every request, for example `authorization`. The headers of the protocol replace others of their names.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the headers of each call, for example credentials of a user in the [`Context`]. They replace headers of all requests.
    ///
    /// A value that is marked as sensitive (`HeaderValue::set_sensitive`) is a credential of the call: if the server refuses the
    /// credentials, other calls continue. An
    /// error is a text that ends the sentence "the call was not sent: …"; the call then fails with it.
    pub fn call_headers(
        mut self,
        headers: impl Fn(&Context) -> Result<HeaderMap, String> + Send + Sync + 'static,
    ) -> Self {
        self.call_headers = Some(Arc::new(headers));
        self
    }

    settings_setters!();

    /// Checks URL and headers.
    pub(crate) fn endpoint(&self) -> Result<UrlSettings, McpError> {
        let error = |fact: String| McpError::new(&self.settings.name, fact);
        let uri: Result<Uri, _> = self.url.parse();
        let uri = uri.map_err(|reason| error(format!("invalid URL ({reason}); {EXAMPLE}")))?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if !matches!(uri.scheme_str(), Some("http" | "https")) || authority.is_empty() {
            return Err(error(format!("invalid URL; {EXAMPLE}")));
        }
        if authority.contains('@') {
            let fact = "invalid URL: it contains a user name or password; use a header";
            return Err(error(fact.to_owned()));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let header: Result<HeaderName, _> = name.parse();
            let header = header.map_err(|_| error(format!("invalid name of a header `{name}`")))?;
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| error(format!("invalid value of the header `{name}`")))?;
            value.set_sensitive(true);
            headers.append(header, value);
        }
        Ok(UrlSettings {
            uri,
            service: self.service.clone(),
            headers,
            call_headers: self.call_headers.clone(),
        })
    }
}
