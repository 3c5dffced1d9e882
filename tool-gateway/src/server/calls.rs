//! Runs the gateway's calls of one round.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Semaphore, mpsc};
use tool_runtime::{CancellationToken, Context, ToolCall, ToolRegistry};

use super::session_tools;
use crate::session::record::{Call, SessionId};
use crate::turn::machine::Event;
use crate::wire::block::Block;

/// How many calls of a round run at once.
const MAX_CONCURRENCY: usize = 8;

/// Starts the calls side by side; those that share the session's state one after the other. Each sends one event when it is done.
///
/// `abandoned` cancels the calls that may be repeated: those that only read, or change nothing the second time. Others run to
/// their end, so that what they did is known.
pub(super) fn start(
    registry: &Arc<ToolRegistry>,
    session: &SessionId,
    calls: Vec<(usize, Call)>,
    deadline: Instant,
    abandoned: &CancellationToken,
) -> mpsc::UnboundedReceiver<Event> {
    let (done, results) = mpsc::unbounded_channel();
    let (in_order, parallel): (Vec<_>, Vec<_>) = calls
        .into_iter()
        .partition(|(_, call)| session_tools::runs_in_order(&call.name));
    let slots = Arc::new(Semaphore::new(MAX_CONCURRENCY));
    let context = Context::new()
        .with_session(session.to_string())
        .with_deadline(deadline);
    let batches = parallel.into_iter().map(|call| vec![call]).chain([in_order]);
    for batch in batches.filter(|batch| !batch.is_empty()) {
        let registry = Arc::clone(registry);
        let slots = Arc::clone(&slots);
        let context = context.clone();
        let done = done.clone();
        let abandoned = abandoned.clone();
        tokio::spawn(async move {
            let _slot = slots.acquire_owned().await;
            for (index, call) in batch {
                if abandoned.is_cancelled() && is_repeatable(&registry, &call.name) {
                    return;
                }
                let result = run(&registry, &context, call, &abandoned).await;
                let Some(result) = result else { return };
                // The turn may be over: then the result is of no use to anyone.
                let _ = done.send(Event::Result { call: index, result });
            }
        });
    }
    results
}

/// Whether a call may be stopped, and run again later.
fn is_repeatable(registry: &ToolRegistry, name: &str) -> bool {
    let hints = registry.get_tool(name).map(|tool| &tool.definition().hints);
    hints.is_some_and(|hints| hints.read_only == Some(true) || hints.idempotent == Some(true))
}

/// Runs one call; `None` if it was stopped, since nobody waits for it.
async fn run(
    registry: &ToolRegistry,
    context: &Context,
    call: Call,
    abandoned: &CancellationToken,
) -> Option<Block> {
    let is_repeatable = is_repeatable(registry, &call.name);
    let context = if is_repeatable {
        context.clone().with_cancellation(abandoned.child())
    } else {
        context.clone()
    };
    let outcome = registry
        .call(ToolCall::new(call.id, &call.name, call.input).with_context(context))
        .await;
    if is_repeatable && abandoned.is_cancelled() {
        return None;
    }
    let result = serde_json::to_string(&outcome.result).unwrap_or_default();
    Some(Block::new(result))
}
