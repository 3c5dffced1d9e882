//! [`McpClient`]: tools of a server, for a registry.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::DropGuard;
use tool_runtime::{Context, ToolDefinition, ToolOutput, ToolRegistry};

use crate::adapt::fault::Fault;
use crate::adapt::listing::{LeftOut, Listing};
use crate::adapt::result::output;
#[cfg(feature = "server")]
use crate::adapt::verbatim::VerbatimContent;
use crate::client::actor::{Server, State};
use crate::client::call::call;
use crate::client::command::McpCommand;
use crate::client::error::McpError;
use crate::client::settings::Settings;

/// Client of an MCP server, whose process it runs. Clones share the process. When the last clone and the last
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
        McpClient::connect(self.settings).await
    }
}

impl McpClient {
    /// Returns a builder for a server that `program` starts, which is searched for in `PATH`. No shell is involved.
    pub fn command(program: impl Into<std::ffi::OsString>) -> McpCommand {
        McpCommand::new(program.into())
    }

    /// Starts the server, and waits for its first list.
    async fn connect(settings: Settings) -> Result<Self, McpError> {
        let server = Server::new(settings);
        let mut state = server.state.subscribe();
        let mut client = Self {
            listing: server.listing.subscribe(),
            _stop: Arc::new(server.stop.clone().drop_guard()),
            server: Arc::clone(&server),
        };
        tokio::spawn(server.run());
        let state = state.wait_for(|state| !matches!(state, State::Starting(_))).await;
        let reason = match state.as_deref() {
            Ok(State::Failed { failure, .. }) => failure.reason.clone(),
            Ok(State::Ready(_)) => {
                drop(state);
                client.listing.mark_unchanged();
                return Ok(client);
            }
            Ok(State::Starting(_) | State::Stopped) | Err(_) => "stopped".to_owned(),
        };
        drop(state);
        Err(McpError::new(client.name(), reason))
    }

    /// Returns the name of the server in messages and in the log.
    pub fn name(&self) -> &str {
        &self.server.settings.name
    }

    /// Returns the definitions of the current tools. [`left_out`](Self::left_out) returns the others.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.server.listing.borrow().tools.clone()
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
        let result = self.result(name.clone(), arguments, &context).await;
        let result = result.and_then(|result| {
            let output = output(&result, self.server.settings.limits.result_chars)?;
            #[cfg(feature = "server")]
            VerbatimContent::keep(&context, &result, &output.content);
            Ok(output)
        });
        result.unwrap_or_else(|fault| {
            tracing::warn!(server = self.name(), tool = name, %fault, "a call of an MCP server failed");
            fault.into_output(&name, self.name())
        })
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
        call(&connection, name, arguments, context, limits).await
    }
}
