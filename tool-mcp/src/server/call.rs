//! A call of a tool: waits for its turn, reports progress, and becomes a result.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tool_runtime::format::mcp;
use tool_runtime::message::Block;
use tool_runtime::result::{Content, Failure};
use tool_runtime::{
    CancellationToken, Context, ProgressReport, ToolCall, ToolOutcome, ToolOutput, ToolRegistry, ToolResult,
};

use crate::adapt::verbatim::VerbatimContent;
use crate::server::admission::{Admission, RUNNING, WAITING};
#[cfg(feature = "http")]
use crate::server::body_budget::ReservedBytes;
use crate::server::progress::ProgressNotifier;

/// Key of `_meta` with the warnings of a call.
const WARNINGS: &str = "tool-runtime/warnings";

/// A call that has not begun.
#[derive(Debug)]
pub(crate) struct PendingCall {
    pub(crate) registry: ToolRegistry,
    pub(crate) call: ToolCall,
    /// Context with the session.
    pub(crate) context: Context,
    pub(crate) progress_token: Option<Value>,
    pub(crate) is_modern: bool,
    pub(crate) admission: Arc<Admission>,
    /// The bytes of the arguments, up to the end of the call.
    #[cfg(feature = "http")]
    pub(crate) _body: Option<Arc<ReservedBytes>>,
    /// Whether a repeated call has no further effect.
    #[cfg(feature = "http")]
    pub(crate) is_repeatable: bool,
}

impl PendingCall {
    /// Runs the call, and returns its result. Without a result the call was cancelled, so there is no answer.
    pub(crate) async fn run(
        self,
        cancellation: CancellationToken,
        mut notify: impl FnMut(Value),
    ) -> Option<Map<String, Value>> {
        let admitted = tokio::select! {
            admitted = self.admission.admit() => admitted,
            () = cancellation.cancelled() => return None,
        };
        let Some(_permit) = admitted else {
            return Some(self.too_many());
        };
        let verbatim = VerbatimContent::default();
        let (sender, mut reports) = watch::channel(ProgressReport::default());
        let mut context = self
            .context
            .with_cancellation(cancellation.clone())
            .with_extension(verbatim.clone());
        let mut notifier = self.progress_token.map(ProgressNotifier::new);
        if notifier.is_some() {
            context = context.with_progress(sender);
        }
        let call = self.registry.call(self.call.with_context(context));
        let mut call = std::pin::pin!(call);
        let outcome = loop {
            let next_time = notifier.as_ref().and_then(ProgressNotifier::next_time);
            if next_time.is_some_and(|time| time <= Instant::now()) {
                notify_of(&mut notifier, &mut notify);
                continue;
            }
            let due = async {
                match next_time {
                    Some(time) => tokio::time::sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                outcome = &mut call => break outcome,
                () = due => notify_of(&mut notifier, &mut notify),
                Ok(()) = reports.changed() => {
                    push_latest(&mut notifier, &mut reports);
                }
            }
        };
        if cancellation.is_cancelled() {
            return None;
        }
        if reports.has_changed().unwrap_or_default() {
            push_latest(&mut notifier, &mut reports);
        }
        notify_of(&mut notifier, &mut notify);
        Some(result(&outcome, &verbatim, self.is_modern))
    }

    /// Returns the result of a call that was not admitted.
    fn too_many(&self) -> Map<String, Value> {
        let text = format!(
            "`{}` was not called because {RUNNING} calls are running and {WAITING} are waiting; wait for their results",
            self.call.name
        );
        let outcome = ToolOutcome::new(ToolResult::new("", ToolOutput::error(text)));
        result(&outcome, &VerbatimContent::default(), self.is_modern)
    }
}

fn push_latest(notifier: &mut Option<ProgressNotifier>, reports: &mut watch::Receiver<ProgressReport>) {
    let report = reports.borrow_and_update().clone();
    if let Some(notifier) = notifier {
        notifier.push(report);
    }
}

fn notify_of(notifier: &mut Option<ProgressNotifier>, notify: &mut impl FnMut(Value)) {
    if let Some(notification) = notifier.as_mut().and_then(ProgressNotifier::take) {
        notify(notification);
    }
}

/// Returns the result of `tools/call`.
fn result(outcome: &ToolOutcome, verbatim: &VerbatimContent, is_modern: bool) -> Map<String, Value> {
    let tool_result = &outcome.result;
    let mut result = Map::new();
    let structured = tool_result
        .structured
        .as_deref()
        .filter(|value| is_modern || value.is_object());
    let content = if outcome.failure == Some(Failure::Interrupted) {
        // No user can be asked.
        let text = "the call was denied because it needs an approval, which this server cannot ask for";
        vec![json!({ "type": "text", "text": text })]
    } else if let Some(Value::Array(content)) = verbatim.take(&tool_result.content) {
        content
    } else {
        content_blocks(&tool_result.content)
    };
    let has_content = !content.is_empty();
    result.insert("content".to_owned(), content.into());
    if let (Some(value), false) = (&tool_result.structured, has_content) {
        let text = json!([{ "type": "text", "text": value.to_string() }]);
        result.insert("content".to_owned(), text);
    }
    if let Some(value) = structured {
        result.insert("structuredContent".to_owned(), value.clone());
    }
    if tool_result.is_error {
        result.insert("isError".to_owned(), true.into());
    }
    if !outcome.warnings.is_empty() {
        let warnings = serde_json::to_value(&outcome.warnings).unwrap_or_default();
        result.insert("_meta".to_owned(), json!({ WARNINGS: warnings }));
    }
    result
}

/// Converts the content of a result. A block that MCP does not have becomes a text with its JSON.
fn content_blocks(content: &Content) -> Vec<Value> {
    let blocks = match content {
        Content::Text(text) if text.is_empty() => return Vec::new(),
        Content::Text(text) => return vec![json!({ "type": "text", "text": text })],
        Content::Blocks(blocks) => blocks,
    };
    blocks.iter().map(content_block).collect()
}

fn content_block(block: &Block) -> Value {
    let single = ToolResult::new("", ToolOutput::blocks([block.clone()]));
    let converted = mcp::result(&single).ok();
    let converted = converted.and_then(|mut result| Some(result.get_mut("content")?.get_mut(0)?.take()));
    converted.unwrap_or_else(|| {
        let json = serde_json::to_string(block).unwrap_or_default();
        json!({ "type": "text", "text": json })
    })
}
