//! [`count_starts`]: counts the starts of a server's process.

use tool_mcp::{McpClient, McpStatus};

use crate::server::observe::mcp_metrics::McpMetrics;

/// Counts the starts of a process up to the end of its client, and calls `on_state` with each state, in the words of the metric.
pub(super) async fn count_starts(
    client: &McpClient,
    server: &str,
    metrics: &McpMetrics,
    on_state: impl Fn(&'static str),
) {
    // The server may have started before this task.
    let mut last = McpStatus::Starting;
    loop {
        let status = client.status();
        let was_starting = last == McpStatus::Starting;
        let state = match &status {
            McpStatus::Starting => "starting",
            McpStatus::Ready => {
                if last != McpStatus::Ready {
                    metrics.start(server, true);
                }
                "ready"
            }
            McpStatus::Unauthorized(_) => "unauthorized",
            McpStatus::Stopped => "stopped",
            _ => "failed",
        };
        if was_starting && ["failed", "unauthorized"].contains(&state) {
            metrics.start(server, false);
        }
        on_state(state);
        if status == McpStatus::Stopped {
            return;
        }
        client.status_after(&status).await;
        last = status;
    }
}
