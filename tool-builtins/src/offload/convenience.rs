//! The short way: local files, no writer to choose.

use std::borrow::Borrow;

use tool_runtime::message::Message;

use super::function::{OffloadError, OffloadOptions, OffloadResult, offload_message};
use super::local::LocalWriter;

/// Offloads the one `tool_result` of a message to a local file. Both arguments go in by value or by reference.
///
/// The content may have any length, the caller has decided that it is too long. A second content
/// of the same `tool_use_id` overwrites the first.
///
/// # Errors
///
/// The message has no result or several, an id is not a plain name, the file cannot be written.
// R-OFF-4, R-OFF-8, R-OFF-14.
pub async fn offload_to_files(
    message: impl Borrow<Message>,
    options: impl Borrow<OffloadOptions>,
) -> Result<OffloadResult, OffloadError> {
    offload_message(message.borrow(), options.borrow(), &LocalWriter).await
}
