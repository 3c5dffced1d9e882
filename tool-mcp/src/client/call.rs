//! Call of a tool: one request, never repeated.

use std::sync::atomic::Ordering;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, MetaObject, RequestMetaObject};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tool_runtime::Context;

use crate::adapt::fault::Fault;
use crate::adapt::progress::report;
use crate::client::connection::Connection;
use crate::client::outgoing::{
    INTERRUPTED, INVALID, LocalCode, STATUS, TOO_LARGE, Tracker, UNAUTHORIZED, UNREACHABLE,
};
use crate::client::settings::{Limits, Settings};

/// Calls a tool, and returns the result as the server wrote it.
pub(crate) async fn call(
    connection: &Connection,
    name: String,
    arguments: Value,
    context: &Context,
    settings: &Settings,
    tracker: Tracker,
) -> Result<Value, Fault> {
    let limits = &settings.limits;
    let mut params = CallToolRequestParams::new(name);
    if let Value::Object(arguments) = arguments {
        params.arguments = Some(arguments);
    }
    params.meta = settings
        .hooks
        .call_meta
        .as_ref()
        .map(|meta| RequestMetaObject(MetaObject(meta(context))));
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
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
            // `tracker` holds the sender of `progress`, so `changed` cannot fail.
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
        ServiceError::McpError(error) => {
            let message = error.message.to_string();
            match LocalCode::from_error(&error) {
                Some(TOO_LARGE) => Fault::TooLarge {
                    answer: message,
                    limit: limits.message_bytes,
                },
                Some(INVALID) => Fault::Invalid(message),
                Some(UNREACHABLE) => Fault::Unreachable(message),
                Some(INTERRUPTED) => Fault::Interrupted(message),
                #[cfg(feature = "http")]
                Some(UNAUTHORIZED) if tracker.has_credentials => Fault::CallUnauthorized,
                Some(UNAUTHORIZED) => Fault::Unauthorized,
                Some(STATUS) => Fault::Status {
                    status: error.data.and_then(|status| status.as_u64()).unwrap_or_default(),
                    message,
                },
                _ => Fault::Refused {
                    code: error.code.0.into(),
                    message,
                },
            }
        }
        _ if !tracker.is_sent.load(Ordering::Relaxed) => {
            if connection.wire.is_unauthorized() {
                Fault::Unauthorized
            } else if connection.wire.end.is_cancelled() {
                Fault::EndedBefore(connection.wire.end_reason())
            } else {
                Fault::Busy
            }
        }
        _ if connection.wire.is_unauthorized() => {
            Fault::Interrupted("another call was refused with status 401".to_owned())
        }
        _ => Fault::EndedDuring(connection.wire.end_reason()),
    }
}
