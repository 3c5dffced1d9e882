//! The calls of one turn, side by side.

use std::collections::VecDeque;
use std::future::Future;

use tokio::task::JoinSet;

use crate::call::ToolCall;
use crate::execute;
use crate::result::{Failure, ToolOutcome};

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
    let mut outcomes: Vec<Option<ToolOutcome>> = Vec::new();
    outcomes.resize_with(calls.len(), || None);
    let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
    let mut waiting: VecDeque<(usize, ToolCall)> = calls.into_iter().enumerate().collect();
    let mut running = JoinSet::new();
    loop {
        while running.len() < limit.max(1)
            && let Some((place, next)) = waiting.pop_front()
        {
            let answer = call(next);
            running.spawn(async move { (place, answer.await) });
        }
        match running.join_next().await {
            Some(Ok((place, outcome))) => {
                if let Some(slot) = outcomes.get_mut(place) {
                    *slot = Some(outcome);
                }
            }
            // Only the runtime's own end aborts a task of ours; its call is answered below.
            Some(Err(_)) => {}
            None => break,
        }
    }
    let unanswered = |id| {
        execute::failed(
            id,
            Failure::Cancelled,
            "the call was cancelled before it had an answer",
        )
    };
    outcomes
        .into_iter()
        .zip(ids)
        .map(|(outcome, id)| outcome.unwrap_or_else(|| unanswered(id)))
        .collect()
}
