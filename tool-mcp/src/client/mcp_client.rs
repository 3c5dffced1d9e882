//! [`McpClient`]: tools of a server, for a registry.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::DropGuard;
use tool_runtime::{Context, ToolDefinition, ToolOutput, ToolRegistry};

use crate::adapt::fault::Fault;
use crate::adapt::json::{is_long, run_elsewhere};
use crate::adapt::listing::{LeftOut, Listing};
use crate::adapt::result::output;
#[cfg(feature = "server")]
use crate::adapt::verbatim::VerbatimContent;
use crate::client::actor::{Server, State};
use crate::client::call::call;
use crate::client::command::McpCommand;
#[cfg(feature = "http")]
use crate::client::connection::Connection;
use crate::client::error::McpError;
use crate::client::outgoing::Tracker;
use crate::client::settings::{Endpoint, Settings};
#[cfg(feature = "http")]
use crate::client::url::McpUrl;

/// Error of a call whose headers differ from its message. The call has not run.
#[cfg(feature = "http")]
const HEADER_MISMATCH: i64 = -32020;

/// Client of an MCP server, whose process it runs, or whose URL it calls. Clones share the process. When the last clone and the last
/// [`handler`](Self::handler) are dropped, the process is stopped, with all processes that it has started.
///
/// ```no_run
/// use tool_mcp::McpClient;
/// use tool_runtime::ToolRegistry;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut registry = ToolRegistry::new();
/// let git = McpClient::command("uvx").arg("mcp-server-git").env_from("GIT_TOKEN").connect().await?;
/// registry.register_source(git.definitions(), git.handler())?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpClient {
    server: Arc<Server>,
    /// List that [`changed`](Self::changed) has seen.
    listing: watch::Receiver<Arc<Listing>>,
    _stop: Arc<DropGuard>,
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listing = self.server.listing.borrow();
        f.debug_struct("McpClient")
            .field("settings", &self.server.settings)
            .field("tools", &listing.tools.len())
            .field("left_out", &listing.left_out)
            .finish_non_exhaustive()
    }
}

/// Status of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpStatus {
    /// The process starts, at first or again.
    Starting,
    /// The server has listed its tools.
    Ready,
    /// The server is started again later. The text is the reason for the failure.
    Failed(String),
    /// The server has refused the credentials. The text is the reason.
    Unauthorized(String),
    /// The client was stopped.
    Stopped,
}

/// Call of a tool, which has a result for the model in any case.
type CallFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

impl McpCommand {
    /// Starts the server and lists its tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be started, or is not ready in time. Its process is then stopped. A server that ends
    /// later is restarted.
    pub async fn connect(self) -> Result<McpClient, McpError> {
        let mut client = self.start();
        client.ready().await?;
        client.listing.mark_unchanged();
        Ok(client)
    }

    /// Starts the server in the background, and returns at once; [`McpClient::ready`] waits for its tools. Until then,
    /// [`McpClient::definitions`] is empty. A server that cannot be started is started again, after 1, 2, 4 … 60 s.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    ///
    /// ```no_run
    /// # use tool_mcp::{McpClient, McpStatus};
    /// # #[tokio::main]
    /// # async fn main() {
    /// let mut git = McpClient::command("uvx").arg("mcp-server-git").start();
    /// assert!(matches!(git.status(), McpStatus::Starting));
    /// while git.changed().await {
    ///     println!("{} tools", git.definitions().len());
    /// }
    /// # }
    /// ```
    pub fn start(self) -> McpClient {
        McpClient::start(Endpoint::Command(self.command), self.settings)
    }
}

#[cfg(feature = "http")]
impl McpUrl {
    /// Connects to the server and lists its tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL or a header is invalid, or the server is not ready in time.
    pub async fn connect(self) -> Result<McpClient, McpError> {
        let mut client = self.start()?;
        client.ready().await?;
        client.listing.mark_unchanged();
        Ok(client)
    }

    /// Connects to the server in the background, as [`McpCommand::start`] does.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL or a header is invalid.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn start(self) -> Result<McpClient, McpError> {
        let endpoint = Endpoint::Url(Arc::new(self.endpoint()?));
        Ok(McpClient::start(endpoint, self.settings))
    }
}

impl McpClient {
    /// Returns a builder for a server that `program` starts, which is searched for in `PATH`. No shell is involved.
    pub fn command(program: impl Into<std::ffi::OsString>) -> McpCommand {
        McpCommand::new(program.into())
    }

    /// Returns a builder for a server at a URL, in the transport Streamable HTTP.
    ///
    /// `service` is the HTTP client: a tower service such as `Client` of `hyper-util`, or one that calls `reqwest`. It must not follow
    /// redirects, which could send the headers to other servers. [`NotSent`](crate::NotSent) is an error of this service for requests
    /// that were not sent.
    ///
    /// ```no_run
    /// use hyper_util::client::legacy::Client;
    /// use hyper_util::rt::TokioExecutor;
    /// use tool_mcp::McpClient;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let http = Client::builder(TokioExecutor::new()).build_http();
    /// let docs = McpClient::url("http://127.0.0.1:8000/mcp", http).header("x-team", "a").connect().await?;
    /// println!("{:?}", docs.definitions());
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "http")]
    pub fn url<S, B>(url: impl Into<String>, service: S) -> McpUrl
    where
        S: tower_service::Service<
                http::Request<http_body_util::Full<bytes::Bytes>>,
                Response = http::Response<B>,
            > + Clone
            + Send
            + 'static,
        S::Future: Send,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        McpUrl::new(url.into(), service)
    }

    fn start(endpoint: Endpoint, settings: Settings) -> Self {
        let server = Server::new(endpoint, settings);
        let client = Self {
            listing: server.listing.subscribe(),
            _stop: Arc::new(server.stop.clone().drop_guard()),
            server: Arc::clone(&server),
        };
        tokio::spawn(server.run());
        client
    }

    /// Waits until the server has listed its tools, or its start has failed.
    ///
    /// # Errors
    ///
    /// Returns an error if the server is not ready and does not start at the moment. It is started again later.
    pub async fn ready(&self) -> Result<(), McpError> {
        let mut state = self.server.state.subscribe();
        let state = state.wait_for(|state| !matches!(state, State::Starting(_))).await;
        let failure = match state.as_deref() {
            Ok(State::Ready(_)) => return Ok(()),
            Ok(State::Failed { failure, .. }) => failure,
            Ok(State::Starting(_) | State::Stopped) | Err(_) => {
                return Err(McpError::new(self.name(), "stopped"));
            }
        };
        Err(McpError::new(self.name(), &failure.reason)
            .with_stderr(failure.stderr.clone())
            .with_unauthorized(failure.is_unauthorized))
    }

    /// Returns the status of the server.
    pub fn status(&self) -> McpStatus {
        match &*self.server.state.borrow() {
            State::Starting(_) => McpStatus::Starting,
            State::Ready(_) => McpStatus::Ready,
            State::Failed { failure, .. } if failure.is_unauthorized => {
                McpStatus::Unauthorized(failure.reason.clone())
            }
            State::Failed { failure, .. } => McpStatus::Failed(failure.reason.clone()),
            State::Stopped => McpStatus::Stopped,
        }
    }

    /// Waits until the status differs from `last`, and returns it.
    pub async fn status_after(&self, last: &McpStatus) -> McpStatus {
        let mut state = self.server.state.subscribe();
        loop {
            let status = self.status();
            // The sender is in the server, so there is no error.
            if status != *last || state.changed().await.is_err() {
                return status;
            }
        }
    }

    /// Lists the tools again in the background, if the list is older than its `ttlMs` and than a minute.
    /// [`changed`](Self::changed) returns if tools have changed.
    pub fn refresh_if_stale(&self) {
        self.server.refresh_if_stale();
    }

    /// Marks the current list as the list that [`changed`](Self::changed) has found.
    pub fn mark_unchanged(&mut self) {
        self.listing.mark_unchanged();
    }

    /// Returns the name of the server in messages and in the log.
    pub fn name(&self) -> &str {
        &self.server.settings.name
    }

    /// Returns the definitions of the current tools. [`left_out`](Self::left_out) returns the others.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.server.listing.borrow().tools.clone()
    }

    /// Returns the definition of a current tool, by the server's name.
    pub fn definition(&self, name: &str) -> Option<ToolDefinition> {
        let listing = self.server.listing.borrow();
        listing.tools.iter().find(|tool| tool.name == name).cloned()
    }

    /// Returns the tools of the current list that are not offered, with reasons.
    pub fn left_out(&self) -> Vec<LeftOut> {
        self.server.listing.borrow().left_out.clone()
    }

    /// Returns the handler of all tools of the server, for [`ToolRegistry::register_source`]. A call is never sent more than once.
    pub fn handler(&self) -> impl Fn(String, Value, Context) -> CallFuture + Clone + Send + Sync + use<> {
        let client = self.clone();
        move |name, arguments, context| {
            let client = client.clone();
            Box::pin(async move { client.call(name, arguments, context).await })
        }
    }

    /// Returns a registry with the current tools, for [`ToolRegistry::nest`].
    pub fn registry(&self) -> ToolRegistry {
        let mut registry = ToolRegistry::new();
        // The list has only usable definitions, and no two with one name; the registry would log others.
        let _ = registry.register_usable(self.definitions(), self.handler());
        registry
    }

    /// Waits until the list of tools differs from the list that the last call of this method found, or that
    /// [`connect`](McpCommand::connect) found. Returns `false` if the client was stopped.
    pub async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.listing.changed() => changed.is_ok(),
            () = self.server.stop.cancelled() => false,
        }
    }

    /// Stops the server: closes its standard input, and ends its processes with SIGTERM after 2 s, and with SIGKILL after another
    /// 2 s. Returns when they have ended. Later calls fail.
    pub async fn stop(&self) {
        self.server.stop.cancel();
        let mut state = self.server.state.subscribe();
        // The state outlives this call, so there is no error.
        let _ = state.wait_for(|state| matches!(state, State::Stopped)).await;
    }

    async fn call(&self, name: String, arguments: Value, context: Context) -> ToolOutput {
        // A registry may offer the tool under another name, with a prefix or without the characters that APIs refuse.
        let shown_name = context.tool_name().unwrap_or(&name).to_owned();
        let result = match self.result(name.clone(), arguments, &context).await {
            Ok(result) => self.converted(result, context).await,
            Err(fault) => Err(fault),
        };
        result.unwrap_or_else(|fault| {
            tracing::warn!(server = self.name(), tool = name, %fault, "a call of an MCP server failed");
            fault.into_output(&shown_name, self.name())
        })
    }

    /// Converts a result for the model.
    #[cfg_attr(
        not(feature = "server"),
        allow(unused_variables, reason = "only a server passes content on")
    )]
    async fn converted(&self, result: Value, context: Context) -> Result<ToolOutput, Fault> {
        let max_chars = self.server.settings.limits.result_chars;
        let is_long = is_long(&result);
        let convert = move || {
            let output = output(&result, max_chars)?;
            #[cfg(feature = "server")]
            VerbatimContent::keep(&context, &result, &output.content);
            Ok(output)
        };
        if is_long {
            run_elsewhere(convert).await
        } else {
            convert()
        }
    }

    async fn result(&self, name: String, arguments: Value, context: &Context) -> Result<Value, Fault> {
        let limits = &self.server.settings.limits;
        let cancellation = context.cancellation();
        let permit = tokio::select! {
            permit = self.server.calls.acquire() => permit,
            () = cancellation.cancelled() => return Err(Fault::Cancelled),
            () = tokio::time::sleep(limits.total) => return Err(Fault::Busy),
        };
        // The semaphore is never closed.
        let _permit = permit.map_err(|_| Fault::Stopped)?;
        let connection = tokio::select! {
            connection = self.server.connection() => connection?,
            () = cancellation.cancelled() => return Err(Fault::Cancelled),
        };
        #[cfg(feature = "http")]
        if connection.wire.is_http() {
            return self
                .call_with_headers(&connection, name, arguments, context)
                .await;
        }
        let settings = &self.server.settings;
        call(
            &connection,
            name,
            arguments,
            context,
            settings,
            Tracker::default(),
        )
        .await
    }

    /// Calls a tool over HTTP. Sends the call once more only if the server has refused it for its headers.
    #[cfg(feature = "http")]
    async fn call_with_headers(
        &self,
        connection: &Connection,
        name: String,
        arguments: Value,
        context: &Context,
    ) -> Result<Value, Fault> {
        let settings = &self.server.settings;
        let tracker = self.tracker(&name, &arguments, context)?;
        if !connection.has_parameter_headers() {
            return call(connection, name, arguments, context, settings, tracker).await;
        }
        let result = call(
            connection,
            name.clone(),
            arguments.clone(),
            context,
            settings,
            tracker,
        )
        .await;
        match &result {
            Err(Fault::Refused {
                code: HEADER_MISMATCH,
                ..
            }) => {}
            _ => return result,
        }
        let listed = self.server.list_again(connection).await;
        if let Err(reason) = listed {
            tracing::warn!(
                server = self.name(),
                reason,
                "the tools of an MCP server remain as they were"
            );
            return result;
        }
        let tracker = self.tracker(&name, &arguments, context)?;
        call(connection, name, arguments, context, settings, tracker).await
    }

    /// Returns the tracker of a call over HTTP, with the headers of this call.
    #[cfg(feature = "http")]
    fn tracker(&self, name: &str, arguments: &Value, context: &Context) -> Result<Tracker, Fault> {
        let mut headers = http::HeaderMap::new();
        let mut has_credentials = false;
        if let Endpoint::Url(url) = &self.server.endpoint
            && let Some(call_headers) = &url.call_headers
        {
            headers = call_headers(context).map_err(Fault::NoHeaders)?;
            has_credentials = headers.values().any(http::HeaderValue::is_sensitive);
            headers.values_mut().for_each(|value| value.set_sensitive(true));
        }
        let listing = self.server.listing.borrow();
        for header in listing.headers.get(name).into_iter().flatten() {
            header.insert(arguments, &mut headers);
        }
        Ok(Tracker {
            headers: Arc::new(headers),
            has_credentials,
            ..Tracker::default()
        })
    }
}
