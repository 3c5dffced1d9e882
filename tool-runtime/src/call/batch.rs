//! The calls of one turn, side by side.

use std::collections::VecDeque;
use std::future::Future;

use tokio::task::JoinSet;

use crate::call::catch::CatchUnwind;
use crate::call::handle;
use crate::call::layer;
use crate::call::tool_call::ToolCall;
use crate::wire::result::{Failure, ToolOutcome};

/// Runs `call` for each on the runtime's threads, never more than `limit` at once, and answers in their order.
///
/// Whoever drops the future ends all calls: [`JoinSet`] aborts what it holds.
pub(crate) async fn run<R>(
    calls: Vec<ToolCall>,
    limit: usize,
    call: impl Fn(ToolCall) -> R,
) -> Vec<ToolOutcome>
where
    R: Future<Output = ToolOutcome> + Send + 'static,
{
    let mut outcomes: Vec<Option<Result<ToolOutcome, Failure>>> = Vec::new();
    outcomes.resize_with(calls.len(), || None);
    let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
    let mut waiting: VecDeque<(usize, ToolCall)> = calls.into_iter().enumerate().collect();
    let mut running = JoinSet::new();
    loop {
        while running.len() < limit.max(1)
            && let Some((index, next)) = waiting.pop_front()
        {
            // Tool and layers are isolated inside. What else the call drops or logs may panic, too.
            let call = CatchUnwind::new(Box::pin(call(next)));
            running.spawn(async move { (index, call.await) });
        }
        match running.join_next().await {
            Some(Ok((index, completed))) => {
                if let Some(slot) = outcomes.get_mut(index) {
                    *slot = Some(completed);
                }
            }
            // Only the runtime's own end aborts a task of ours; its call is answered below.
            Some(Err(_)) => {}
            None => break,
        }
    }
    let no_answer = |id, failure| handle::failed(id, failure, layer::no_answer(failure));
    outcomes
        .into_iter()
        .zip(ids)
        .map(|(completed, id)| {
            let completed = completed.unwrap_or(Err(Failure::Cancelled));
            completed.unwrap_or_else(|failure| no_answer(id, failure))
        })
        .collect()
}
