//! [`offload_to_files`]: offloads the result of a message to a local file.

use std::borrow::Borrow;

use tool_runtime::message::Message;

use super::function::{OffloadError, OffloadOptions, OffloadResult, offload_message};
use super::local::LocalWriter;

/// Offloads the only `tool_result` of a message to a local file. The message and the options are accepted by value or by reference.
///
/// The content is offloaded whatever its length. A second content with the same
/// `tool_use_id` overwrites the first.
///
/// # Errors
///
/// Returns an error if the message has no result or several, an id is not a plain name, or the file cannot be
/// written.
// R-OFF-4, R-OFF-8, R-OFF-14.
pub async fn offload_to_files(
    message: impl Borrow<Message>,
    options: impl Borrow<OffloadOptions>,
) -> Result<OffloadResult, OffloadError> {
    offload_message(message.borrow(), options.borrow(), &LocalWriter).await
}
