//! List of a server's tools, page by page.

use std::collections::HashSet;
use std::time::Duration;

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::adapt::listing::{Listing, ListingRules};
use crate::client::connection::{Connection, RequestError};
use crate::client::outgoing::{LocalCode, TOO_LARGE};

/// Maximum number of pages.
const PAGES: usize = 100;
const METHOD_NOT_FOUND: i32 = -32601;

/// Lists the tools. Each page may take `limit`.
///
/// # Errors
///
/// Returns the fact, if a page cannot be read.
pub(crate) async fn list(
    connection: &Connection,
    rules: ListingRules,
    limit: Duration,
) -> Result<Listing, String> {
    let mut listing = Listing::default();
    let mut cursors = HashSet::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        let mut page = match connection.request(request, limit).await {
            Ok(page) => page,
            Err(error) if is_without_tools(&error) => return Ok(listing),
            Err(error) => return Err(describe(error, connection, limit)),
        };
        let ttl = page.get("ttlMs").and_then(Value::as_u64);
        listing.ttl = listing.ttl.max(Duration::from_millis(ttl.unwrap_or_default()));
        let Some(Value::Array(tools)) = page.get_mut("tools").map(Value::take) else {
            return Err("invalid answer to `tools/list`; expected `tools`".to_owned());
        };
        let next = page.get("nextCursor").and_then(Value::as_str);
        let next = next.filter(|next| !next.is_empty()).map(str::to_owned);
        // Schemas are compiled, which may take a second; the threads of the runtime serve all tasks.
        let added = spawn_blocking(move || {
            for tool in &tools {
                listing.add(tool, rules);
            }
            listing
        });
        listing = added
            .await
            .map_err(|error| format!("the list was not read: {error}"))?;
        let Some(next) = next else {
            return Ok(listing);
        };
        if !cursors.insert(next.clone()) {
            listing
                .warnings
                .push("the list repeats a cursor; the rest was not read".to_owned());
            return Ok(listing);
        }
        cursor = Some(next);
    }
    listing.warnings.push(format!(
        "the list has more than {PAGES} pages; the rest was not read"
    ));
    Ok(listing)
}

/// Returns whether the server has no tools, but resources or prompts.
fn is_without_tools(error: &RequestError) -> bool {
    matches!(error, RequestError::Service(ServiceError::McpError(error)) if error.code.0 == METHOD_NOT_FOUND)
}

fn describe(error: RequestError, connection: &Connection, limit: Duration) -> String {
    match error {
        RequestError::TimedOut => format!("no answer to `tools/list` for {} s", limit.as_secs()),
        RequestError::Service(ServiceError::McpError(error)) => match LocalCode::from_error(&error) {
            Some(TOO_LARGE) => format!("`tools/list` failed: message above the limit: {}", error.message),
            Some(_) => format!("`tools/list` failed: {}", error.message),
            None => format!("`tools/list` failed: {} (code {})", error.message, error.code.0),
        },
        RequestError::Service(_) if connection.wire.end.is_cancelled() => connection.wire.end_reason(),
        RequestError::Service(error) => format!("`tools/list` failed: {error}"),
    }
}
