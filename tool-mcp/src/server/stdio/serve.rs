//! [`serve_stdio`]: a server for the client that has started this process.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tool_runtime::{Context, ToolRegistry};

use crate::adapt::lines::Line;
use crate::server::mcp_server::McpServer;
use crate::server::stdio::connection::StdioConnection;
use crate::server::stdio::pipes::ClientPipes;
use crate::server::stdio::threads::{Output, read};

/// Time from the end of the input, or SIGTERM, up to the cancellation of running calls.
const CALL_TIME: Duration = Duration::from_millis(1500);
/// Time from the end of the input, or SIGTERM, up to the end of the server.
const STOP_TIME: Duration = Duration::from_millis(1900);

/// Serves the tools of a registry to the client that has started this process, over standard input and output.
///
/// Returns when the client closes the input, or after SIGTERM: running calls have 1.5 s to end, and are then cancelled. A program
/// that then returns from `main` ends with exit status 0 within 2 s.
///
/// The protocol moves to private descriptors, so `println!` in a tool writes to standard error and disturbs no client (on Unix).
/// A program that a tool starts reads an empty standard input. Writes of this process to standard output remain on standard
/// error after the end of the server.
///
/// ```no_run
/// use tool_runtime::{ToolRegistry, tool, tool_set};
///
/// /// Return the text of the menu.
/// #[tool]
/// async fn menu() -> &'static str {
///     "soup"
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let registry = ToolRegistry::new().with_tools(tool_set![menu])?;
///     Ok(tool_mcp::serve_stdio(registry).await?)
/// }
/// ```
///
/// # Errors
///
/// Returns an error if standard input or output is closed, or no thread or signal handler can be created.
pub async fn serve_stdio(registry: ToolRegistry) -> io::Result<()> {
    McpServer::new(registry).serve_stdio().await
}

impl McpServer {
    /// Serves the client that has started this process, as [`serve_stdio`] does.
    ///
    /// # Errors
    ///
    /// Returns an error if standard input or output is closed, or no thread or signal handler can be created.
    pub async fn serve_stdio(self) -> io::Result<()> {
        self.serve_stdio_with(Context::new()).await
    }

    /// Serves the client that has started this process, as [`serve_stdio`] does. Calls have this context, to which the server adds the
    /// session, the cancellation and the progress.
    ///
    /// # Errors
    ///
    /// Returns an error if standard input or output is closed, or no thread or signal handler can be created.
    pub async fn serve_stdio_with(self, context: Context) -> io::Result<()> {
        let stop = stop_signal()?;
        let pipes = ClientPipes::take()?;
        let lines = read(pipes.input)?;
        let (output, written) = Output::start(pipes.output)?;
        let deadline = serve(self, context, lines, output, stop).await;
        // A client that does not read does not keep the server from ending.
        let _ = timeout_at(deadline, written).await;
        Ok(())
    }
}

/// Returns a future that ends at SIGTERM. From now on, the signal does not end the process.
#[cfg(unix)]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut signal = signal(SignalKind::terminate())?;
    Ok(async move {
        signal.recv().await;
    })
}

#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "as on Unix")]
fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}

/// Serves the lines of a client up to their end, or `stop`. Returns the time at which the server has to end.
async fn serve(
    server: McpServer,
    context: Context,
    mut lines: mpsc::Receiver<Line>,
    output: Output,
    stop: impl Future<Output = ()>,
) -> Instant {
    let mut changes = server.shared.digest.subscribe();
    let mut connection = StdioConnection::new(server, output.clone(), context);
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => {
                    tokio::select! {
                        () = connection.receive(line) => {}
                        // A client that does not read keeps `receive` waiting.
                        () = &mut stop => break,
                    }
                }
                None => break,
            },
            Ok(()) = changes.changed() => {
                tokio::select! {
                    () = connection.notify_of_change() => {}
                    () = &mut stop => break,
                }
            }
            Some(_) = connection.calls.join_next(), if !connection.calls.is_empty() => {}
            () = output.closed() => break,
            () = &mut stop => break,
        }
    }
    let begin = Instant::now();
    let (cancel_time, deadline) = (begin + CALL_TIME, begin + STOP_TIME);
    drop(output);
    let ended = async { while connection.calls.join_next().await.is_some() {} };
    if timeout_at(cancel_time, ended).await.is_err() {
        connection.cancel();
        let ended = async { while connection.calls.join_next().await.is_some() {} };
        // A call that ignores its cancellation is dropped.
        let _ = timeout_at(deadline, ended).await;
    }
    let _ = timeout_at(deadline, connection.end_subscriptions()).await;
    deadline
}
