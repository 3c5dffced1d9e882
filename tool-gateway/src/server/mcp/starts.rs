//! [`start`]: starts a server. [`count_starts`] counts the starts of its process.

use tool_mcp::{McpClient, McpStatus};

#[cfg(feature = "otlp")]
use super::trace_context::trace_context;
#[cfg(not(feature = "otlp"))]
use super::trace_context_off::trace_context;

use crate::server::observe::mcp_metrics::McpMetrics;
use crate::settings::mcp::server::{McpHooks, McpServerSettings};

/// Starts a server in the background, whose messages are counted and whose calls are parts of traces. Returns `None` if the settings are
/// invalid.
pub(super) fn start(settings: &McpServerSettings, metrics: &McpMetrics) -> Option<McpClient> {
    let (metrics, server, traced) = (metrics.clone(), settings.key.clone(), settings.key.clone());
    settings.start(McpHooks {
        on_message: Box::new(move |kind| metrics.message(&server, kind.as_str())),
        call_meta: Box::new(move |_| trace_context(&traced)),
    })
}

/// Counts the starts of a process up to the end of its client, and calls `on_state` with each state, as a label of the metric.
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
