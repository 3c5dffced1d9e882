//! [`UrlSettings`]: the URL of a server, and the headers of its requests.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, Uri};
use tool_runtime::Context;

use crate::client::http_service::HttpService;

/// Function that returns the headers of a call, or the reason why the call cannot be sent.
pub(crate) type CallHeaders = Arc<dyn Fn(&Context) -> Result<HeaderMap, String> + Send + Sync>;

/// URL of a server.
#[derive(Clone)]
pub(crate) struct UrlSettings {
    pub(crate) uri: Uri,
    pub(crate) service: HttpService,
    /// Headers of every request.
    pub(crate) headers: HeaderMap,
    /// Headers of each call.
    pub(crate) call_headers: Option<CallHeaders>,
}

/// Does not print the values of headers, which are often secrets, and no query of the URL.
impl fmt::Debug for UrlSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.keys().collect();
        f.debug_struct("UrlSettings")
            .field("authority", &self.uri.authority())
            .field("path", &self.uri.path())
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}
