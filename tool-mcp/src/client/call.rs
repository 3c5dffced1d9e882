//! Call of a tool: one request, never repeated.

use std::sync::atomic::Ordering;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tool_runtime::Context;

use crate::adapt::fault::Fault;
use crate::adapt::progress::report;
use crate::client::connection::Connection;
use crate::client::settings::Limits;
use crate::client::wire::{INVALID, TOO_LARGE, Tracker};

/// Calls a tool, and returns the result as the server wrote it.
pub(crate) async fn call(
    connection: &Connection,
    name: String,
    arguments: Value,
    context: &Context,
    limits: &Limits,
) -> Result<Value, Fault> {
    let mut params = CallToolRequestParams::new(name);
    if let Value::Object(arguments) = arguments {
        params.arguments = Some(arguments);
    }
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let tracker = Tracker::default();
    let mut progress = tracker.progress.subscribe();
    let fault = |error| describe(error, connection, &tracker, limits);
    let mut open = connection.send(request, tracker.clone()).await.map_err(fault)?;

    let (cancellation, channel) = (context.cancellation(), context.progress());
    let start = Instant::now();
    let end = start + limits.total;
    let mut silence_end = start + limits.call;
    loop {
        let answer = tokio::select! {
            biased;
            answer = open.answer() => answer,
            () = cancellation.cancelled() => return Err(Fault::Cancelled),
            // The sender is in `tracker`, so the channel is open.
            _ = progress.changed() => {
                report(&progress.borrow_and_update(), &channel);
                silence_end = Instant::now() + limits.call;
                continue;
            }
            () = sleep_until(silence_end.min(end)) => {
                return Err(if end <= silence_end {
                    Fault::TookTooLong(limits.total)
                } else {
                    Fault::TimedOut(limits.call)
                });
            }
            () = connection.wire.end.cancelled() => Err(ServiceError::TransportClosed),
        };
        return answer.map_err(fault);
    }
}

fn describe(error: ServiceError, connection: &Connection, tracker: &Tracker, limits: &Limits) -> Fault {
    match error {
        ServiceError::McpError(error) if error.code.0 == TOO_LARGE => Fault::TooLarge {
            answer: error.message.into_owned(),
            limit: limits.message_bytes,
        },
        ServiceError::McpError(error) if error.code.0 == INVALID => {
            Fault::Invalid(error.message.into_owned())
        }
        ServiceError::McpError(error) => Fault::Refused {
            code: error.code.0.into(),
            message: error.message.into_owned(),
        },
        _ if !tracker.is_sent.load(Ordering::Relaxed) => {
            if connection.wire.end.is_cancelled() {
                Fault::EndedBefore(connection.wire.end_reason())
            } else {
                Fault::Busy
            }
        }
        _ => Fault::EndedDuring(connection.wire.end_reason()),
    }
}
