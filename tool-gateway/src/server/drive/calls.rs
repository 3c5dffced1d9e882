//! Runs the internal calls of one round.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::{Semaphore, mpsc, watch};
use tool_runtime::permission::WhileUndecided;
use tool_runtime::result::{Content, Failure};
use tool_runtime::{
    CancellationToken, Context, FromText, ProgressReport, SessionValues, ToolCall, ToolOutcome, ToolRegistry,
};
use tracing::Instrument as _;

use crate::server::turns::running_turn::{PING, RunningTurn};
use crate::server::turns::session_state::{self, StateMap};
use crate::session::record::Call;
use crate::turn::event::Event;
use crate::turn::ownership::Ownership;
use crate::wire::block::Block;
use crate::wire::error::ApiError;

/// Maximum number of concurrent calls in a round.
const MAX_CONCURRENCY: usize = 8;

/// Interval of the client's `ping` events while tools run or the upstream is silent.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(10);

/// Interval of the client's `ping` events while tools report progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// A completed call.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) event: Event,
    /// Values of the session after the call that the call may have changed: all values if its tool uses session state, otherwise only the
    /// rules of permissions.
    pub(crate) state: Option<StateMap>,
    /// Whether the tool is read-only.
    pub(crate) only_reads: bool,
}

impl Done {
    fn stopped(call: usize) -> Self {
        Self {
            event: Event::Stopped { call },
            state: None,
            only_reads: false,
        }
    }
}

/// Running calls of a round; an error ends the turn.
#[derive(Debug)]
pub(crate) struct RunningCalls {
    done: mpsc::UnboundedReceiver<Result<Done, ApiError>>,
    /// Latest progress report of any call.
    progress: watch::Receiver<ProgressReport>,
    /// Values of the session.
    values: SessionValues,
    has_progressed: bool,
    pinged_at: Instant,
}

impl RunningCalls {
    /// Waits for the end of the next call, and meanwhile sends `ping` events to the client. Returns `None` after the last call.
    pub(crate) async fn next(&mut self, running: &RunningTurn) -> Option<Result<Done, ApiError>> {
        loop {
            let interval = if self.has_progressed {
                PROGRESS_INTERVAL
            } else {
                PING_INTERVAL
            };
            tokio::select! {
                done = self.done.recv() => return done.map(|done| self.with_rules(done)),
                () = tokio::time::sleep_until((self.pinged_at + interval).into()) => {
                    running.send(PING);
                    self.progress.mark_unchanged();
                    self.has_progressed = false;
                    self.pinged_at = tokio::time::Instant::now().into_std();
                }
                Ok(()) = self.progress.changed(), if !self.has_progressed => self.has_progressed = true,
            }
        }
    }

    /// Returns the next call that has already ended.
    pub(crate) fn ready(&mut self) -> Option<Result<Done, ApiError>> {
        let done = self.done.try_recv().ok()?;
        Some(self.with_rules(done))
    }

    /// Adds the rules of permissions, since a decision in a call of any tool may add one. Rules are read here, in sequence: calls of a
    /// round run concurrently, and the rules that were read last are stored.
    fn with_rules(&self, done: Result<Done, ApiError>) -> Result<Done, ApiError> {
        done.map(|mut done| {
            if let Some(rules) = session_state::allow_rules(&self.values) {
                done.state.get_or_insert_default().extend(rules);
            }
            done
        })
    }
}

/// Common settings of the calls of a round.
pub(crate) struct Round<'a> {
    pub(crate) registry: &'a ToolRegistry,
    pub(crate) ownership: &'a Ownership,
    pub(crate) context: Context,
    pub(crate) deadline: Option<Instant>,
    /// State of the session before these calls. A call that was stopped or not stored has not changed this state.
    pub(crate) state: &'a StateMap,
    /// Internal tools that the client declares, too. Their calls become external if they need an approval; calls of other tools are denied.
    pub(crate) declared: &'a BTreeSet<String>,
    /// Tools that the request may call. A model may remember a tool that its MCP server has removed, or that another client has; `None` for
    /// the calls of a suspended turn, which an earlier request accepted.
    pub(crate) offered: Option<&'a BTreeSet<String>>,
    /// Cancels the calls of read-only and idempotent tools, which may be repeated. Other calls run to their end, so that their effects are
    /// known.
    pub(crate) abandoned: &'a CancellationToken,
}

/// Starts the calls concurrently; calls that share the session's state run in sequence. Each call sends one event at its end.
pub(crate) fn start(round: Round<'_>, calls: Vec<(usize, Call)>) -> RunningCalls {
    let Round {
        registry, ownership, ..
    } = round;
    let (done, results) = mpsc::unbounded_channel();
    let (reports, progress) = watch::channel(ProgressReport::default());
    let mut context = round.context.with_progress(reports);
    if let Some(deadline) = round.deadline {
        context = context.with_deadline(deadline);
    }
    let calls = calls.into_iter().map(|(index, mut call)| {
        let is_declared = round.declared.contains(&call.name);
        let is_offered = round.offered.is_none_or(|names| names.contains(&call.name));
        let internal_name = ownership.internal_name(&call.name).to_owned();
        let called = std::mem::replace(&mut call.name, internal_name);
        InternalCall {
            index,
            call,
            called,
            is_declared,
            is_offered,
        }
    });
    let (in_order, parallel): (Vec<_>, Vec<_>) =
        calls.partition(|internal| session_state::runs_in_order(registry, &internal.call.name));
    let values = SessionValues::from_json(round.state.clone());
    let parallel = parallel.into_iter().map(|call| (vec![call], false));
    let in_order = (!in_order.is_empty()).then_some((in_order, true));
    let slots = Arc::new(Semaphore::new(MAX_CONCURRENCY));
    // Calls without session state need the values, too: a permission keeps its rules there.
    let context = context.with_session_values(values.clone());
    for (calls, uses_state) in parallel.chain(in_order) {
        let batch = Batch {
            registry: registry.clone(),
            context: context.clone(),
            values: uses_state.then(|| values.clone()),
            abandoned: round.abandoned.clone(),
            done: done.clone(),
        };
        let slots = Arc::clone(&slots);
        let run = async move {
            let _slot = slots.acquire_owned().await;
            batch.run(calls).await;
        };
        tokio::spawn(run.in_current_span());
    }
    RunningCalls {
        done: results,
        progress,
        values,
        has_progressed: false,
        pinged_at: tokio::time::Instant::now().into_std(),
    }
}

/// A call with the internal name of its tool.
struct InternalCall {
    index: usize,
    call: Call,
    /// Name by which the model called the tool: the internal name, or an alias.
    called: String,
    is_declared: bool,
    is_offered: bool,
}

/// Runs calls in sequence.
struct Batch {
    registry: ToolRegistry,
    context: Context,
    /// State of the session; `None` if the tools do not use session state.
    values: Option<SessionValues>,
    abandoned: CancellationToken,
    done: mpsc::UnboundedSender<Result<Done, ApiError>>,
}

impl Batch {
    async fn run(self, calls: Vec<InternalCall>) {
        let mut calls = calls.into_iter();
        for internal in calls.by_ref() {
            let index = internal.index;
            let done = self.run_one(internal).await;
            let ends = !matches!(done, Some(Ok(_)));
            self.send(done.unwrap_or_else(|| Ok(Done::stopped(index))));
            if ends {
                break;
            }
        }
        // The remaining calls would have run after a stopped one.
        calls.for_each(|internal| self.send(Ok(Done::stopped(internal.index))));
    }

    /// Runs one call. Returns `None` if the call was stopped because its client disconnected.
    async fn run_one(&self, internal: InternalCall) -> Option<Result<Done, ApiError>> {
        let InternalCall {
            index,
            call,
            called,
            is_declared,
            is_offered,
        } = internal;
        if !is_offered {
            return Some(Ok(Done {
                event: Event::Result {
                    call: index,
                    result: not_offered(&call.id, &called),
                },
                state: None,
                only_reads: false,
            }));
        }
        if self.abandoned.is_cancelled() && is_repeatable(&self.registry, &call.name) {
            return None;
        }
        let name = call.name.clone();
        let mut outcome = run(&self.registry, &self.context, call, &self.abandoned).await?;
        rename_in_error(&mut outcome, &name, &called);
        // The next call may change the state.
        let state = match self.values.as_ref().map(SessionValues::to_json).transpose() {
            Ok(state) => state,
            Err(error) => return Some(Err(session_state::not_serializable(&name, &error))),
        };
        Some(Ok(Done {
            event: event(index, outcome, is_declared),
            state,
            only_reads: only_reads(&self.registry, &name),
        }))
    }

    fn send(&self, done: Result<Done, ApiError>) {
        // After the end of the turn, the result is not needed.
        let _ = self.done.send(done);
    }
}

/// Builds the result of a call that an earlier process has begun and not finished.
pub(crate) fn interrupted(call: &Call) -> Block {
    let result = json!({
        "type": "tool_result",
        "tool_use_id": call.id,
        "content": "the call was interrupted: it is not known whether it took effect; find out before you repeat it",
        "is_error": true,
    });
    Block::new(result.to_string())
}

/// Builds the result of a call of a tool that the request does not have.
fn not_offered(id: &str, called: &str) -> Block {
    let result = json!({
        "type": "tool_result",
        "tool_use_id": id,
        "content": format!("Tool '{called}' not found: it is not a tool of this request; use another tool"),
        "is_error": true,
    });
    Block::new(result.to_string())
}

/// Returns whether a call may be stopped and repeated later.
pub(crate) fn is_repeatable(registry: &ToolRegistry, name: &str) -> bool {
    let hints = registry.get_tool(name).map(|tool| &tool.definition().hints);
    hints.is_some_and(|hints| hints.read_only == Some(true) || hints.idempotent == Some(true))
}

fn only_reads(registry: &ToolRegistry, name: &str) -> bool {
    let tool = registry.get_tool(name);
    tool.is_some_and(|tool| tool.definition().hints.read_only == Some(true))
}

/// Runs one call. Returns `None` if the call was stopped because its client disconnected.
async fn run(
    registry: &ToolRegistry,
    context: &Context,
    call: Call,
    abandoned: &CancellationToken,
) -> Option<ToolOutcome> {
    let is_repeatable = is_repeatable(registry, &call.name);
    let mut context = if is_repeatable {
        context.clone().with_cancellation(abandoned.child())
    } else {
        // A call that waits for a decision has not begun, and may be stopped.
        context.clone().with_extension(WhileUndecided(abandoned.clone()))
    };
    if call.is_from_text {
        context = context.with_extension(FromText);
    }
    let outcome = registry
        .call(ToolCall::new(call.id, &call.name, call.input).with_context(context))
        .await;
    let is_stopped = is_repeatable || outcome.failure == Some(Failure::Cancelled);
    (!is_stopped || !abandoned.is_cancelled()).then_some(outcome)
}

/// Replaces the internal name of a tool in the text of an error by the name that the model knows. Other results are data, and unchanged.
fn rename_in_error(outcome: &mut ToolOutcome, internal: &str, called: &str) {
    if internal == called || !outcome.result.is_error {
        return;
    }
    let Content::Text(text) = &mut outcome.result.content else {
        return;
    };
    *text = text.replace(&format!("`{internal}`"), &format!("`{called}`"));
    if outcome.failure == Some(Failure::NotFound) {
        *text = text.replacen(&format!("Tool '{internal}'"), &format!("Tool '{called}'"), 1);
    }
}

/// Returns the event for the outcome of a call.
fn event(call: usize, mut outcome: ToolOutcome, is_declared: bool) -> Event {
    if outcome.failure == Some(Failure::Interrupted) {
        if is_declared {
            return Event::Interrupted { call };
        }
        outcome.result.content =
            "the call was denied: it needs an approval, which no client can give now; continue without it"
                .into();
    }
    let result = serde_json::to_string(&outcome.result).unwrap_or_default();
    Event::Result {
        call,
        result: Block::new(result),
    }
}
