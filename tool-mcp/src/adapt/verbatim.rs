//! Content of a server's result, for a host that can pass it on: models read only texts and images, MCP has more.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
#[cfg(feature = "client")]
use tool_runtime::Context;
#[cfg(feature = "client")]
use tool_runtime::format::mcp;
use tool_runtime::result::Content;

/// Extension of a call's context that receives the content of the result.
#[derive(Debug, Clone, Default)]
pub(crate) struct VerbatimContent(Arc<Mutex<Option<Converted>>>);

#[derive(Debug)]
#[cfg_attr(
    not(feature = "client"),
    allow(dead_code, reason = "only the client keeps content")
)]
struct Converted {
    /// `content` as the server sent it.
    original: Value,
    /// The content for a model.
    content: Content,
}

impl VerbatimContent {
    /// Keeps the content of a result, if the host has asked for the content and nothing was cut.
    #[cfg(feature = "client")]
    pub(crate) fn keep(context: &Context, result: &Value, shown: &Content) {
        let Some(slot) = context.extension::<Self>() else {
            return;
        };
        let is_complete = mcp::output(result).is_ok_and(|complete| complete.content == *shown);
        if let (Some(original), true) = (result.get("content"), is_complete) {
            let converted = Converted {
                original: original.clone(),
                content: shown.clone(),
            };
            *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(converted);
        }
    }

    /// Returns the content as the server sent it, unless a layer has changed the result.
    pub(crate) fn take(&self, content: &Content) -> Option<Value> {
        let converted = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        (converted.content == *content).then_some(converted.original)
    }
}
