//! Runs the calls of one turn concurrently.

use std::collections::VecDeque;
use std::future::Future;

use tokio::task::JoinSet;

use crate::call::catch::CatchUnwind;
use crate::call::explain;
use crate::call::handle;
use crate::call::tool_call::ToolCall;
use crate::wire::result::{Failure, ToolOutcome};

/// Spawns `call` for each of `calls`, at most `limit` at once, and returns the outcomes in order.
///
/// Dropping the future aborts all calls, as [`JoinSet`] does.
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
            // Panics of tools and layers are caught in the call. A panic here is a panic of other code of the host.
            let call = CatchUnwind::new(Box::pin(call(next)));
            running.spawn(async move { (index, call.await) });
        }
        match running.join_next().await {
            Some(Ok((index, completed))) => {
                if let Some(slot) = outcomes.get_mut(index) {
                    *slot = Some(completed);
                }
            }
            // Only the runtime aborts a task; the call becomes cancelled below.
            Some(Err(_)) => {}
            None => break,
        }
    }
    let no_answer = |id, failure| handle::failed(id, failure, explain::no_answer(failure));
    outcomes
        .into_iter()
        .zip(ids)
        .map(|(completed, id)| {
            let completed = completed.unwrap_or(Err(Failure::Cancelled));
            completed.unwrap_or_else(|failure| no_answer(id, failure))
        })
        .collect()
}
