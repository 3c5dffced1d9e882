//! [`Drive`]: the state of a driven turn, and its creation from the request, a checkpoint or a suspended turn.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use tracing::Span;

use super::calls::{self, PING_INTERVAL, RunningCalls};
use super::conversation::TurnConversation;
use super::pending_saves::{PendingSaves, UnsavedEffects};
use super::rules::turn_rules;
use super::suspended::Suspended;
use super::upstream_events::UpstreamEvents;
use crate::off_worker::in_place;
use crate::server::body::idle::IdleTimer;
use crate::server::offload::sweep;
use crate::server::turns::checkpoint::Checkpoint;
use crate::server::turns::job::Job;
use crate::server::turns::lease_keeper::LeaseKeeper;
use crate::server::turns::progress_log::ProgressLog;
use crate::server::turns::running_turn::RunningTurn;
use crate::server::turns::session_state::StateMap;
use crate::server::turns::shared::Shared;
use crate::session::record::Call;
use crate::turn::action::{Action, Sent};
use crate::turn::event::Event;
use crate::turn::machine::TurnMachine;
use crate::turn::restore::{self, Restored};
use crate::wire::error::ApiError;

/// A turn with the request, the upstream and the calls that it uses.
pub(super) struct Drive<'a> {
    pub(super) shared: &'a Shared,
    pub(super) job: &'a Job,
    pub(super) running: &'a RunningTurn,
    pub(super) lease: &'a LeaseKeeper,
    /// State of the session after the last completed call.
    pub(super) state: StateMap,
    /// Whether the turn continues neither a checkpoint nor deferred calls.
    pub(super) is_new: bool,
    /// Error with which the turn fails after all running calls have ended.
    pub(super) failure: Option<ApiError>,
    /// Suspended turn that this one resumes, until the results of its deferred calls are stored.
    pub(super) suspended: Option<Suspended<'a>>,
    pub(super) conversation: TurnConversation,
    pub(super) machine: TurnMachine,
    pub(super) actions: VecDeque<Action>,
    pub(super) source: Source,
    /// Timer of the next `ping`, while the upstream is awaited.
    pub(super) silence: IdleTimer,
    /// `None` if the deadline is beyond the range of the clock.
    pub(super) deadline: Option<Instant>,
    /// Log of the request's progress in the store.
    pub(super) progress: ProgressLog,
    /// Whether the next write is before calls that must not be repeated.
    pub(super) precedes_effects: bool,
    /// Writes to the store that have not ended.
    pub(super) saves: PendingSaves<'a>,
    /// Output that follows from a state that is not stored yet. The client receives the output when the state is stored.
    pub(super) held: Vec<Sent>,
    /// Whether results are not part of any write yet.
    pub(super) has_unsaved_results: bool,
    /// Number of results of calls with effects that the store may not have.
    pub(super) unsaved_effects: UnsavedEffects,
    /// Number of times that the log was sent again.
    pub(super) resent: u32,
    /// Number of requests to the upstream.
    pub(super) rounds: usize,
    /// Span of the open request to the upstream.
    pub(super) chat: Span,
}

/// The source of the next event.
pub(super) enum Source {
    Nothing,
    Upstream(UpstreamEvents),
    Calls(RunningCalls),
}

impl<'a> Drive<'a> {
    /// Creates the turn of a request: a new turn, the continuation of a checkpoint, or the continuation of a suspended turn.
    pub(super) async fn begin(
        shared: &'a Shared,
        job: &'a Job,
        running: &'a RunningTurn,
        checkpoint: Option<Box<Checkpoint>>,
        lease: &'a LeaseKeeper,
    ) -> Result<Box<Self>, ApiError> {
        let deadline = tokio_now().checked_add(shared.settings.limits.turn_time);
        if checkpoint.is_some() {
            sweep::renew(shared, &job.session).await;
        }
        let suspended = Suspended::claim(shared, job, running).await?;
        let restored = if suspended.is_none() {
            in_place(job.request.len(), || {
                restore::restore(&shared.secret, &job.recognized, &job.request, &HashMap::new())
            })?
        } else {
            Restored::default()
        };
        let rules = turn_rules(shared, job);
        let is_new = checkpoint.is_none() && suspended.is_none();
        let mut refused_thinking = None;
        let mut actions = Vec::new();
        let (mut machine, state) = match (checkpoint, &suspended) {
            (Some(checkpoint), _) => {
                let mut machine = checkpoint.machine.with_rules(rules);
                refused_thinking = checkpoint.refused_thinking;
                actions = checkpoint.rest;
                if actions.is_empty() {
                    actions = answer_interrupted(&mut machine, |call| {
                        calls::is_repeatable(
                            &job.generation.registry,
                            shared.settings.tools.ownership.internal_name(&call.name),
                        )
                    });
                }
                (machine, checkpoint.state)
            }
            (None, Some(suspended)) => (
                TurnMachine::resume(rules, suspended.calls().to_vec()),
                suspended.state.clone(),
            ),
            (None, None) => (TurnMachine::new(rules), job.recognized.state.clone()),
        };
        if actions.is_empty() {
            actions = machine.start();
        }
        // Boxed, since the future of the turn is moved.
        Ok(Box::new(Self {
            shared,
            job,
            running,
            lease,
            state,
            is_new,
            failure: None,
            suspended,
            conversation: TurnConversation {
                restored,
                asked: Vec::new(),
                refused_thinking,
            },
            machine,
            actions: actions.into(),
            source: Source::Nothing,
            silence: IdleTimer::new(PING_INTERVAL),
            deadline,
            progress: ProgressLog::new(job.lease),
            precedes_effects: false,
            saves: PendingSaves::default(),
            held: Vec::new(),
            has_unsaved_results: false,
            unsaved_effects: UnsavedEffects::default(),
            resent: 0,
            rounds: 0,
            chat: Span::none(),
        }))
    }
}

/// Answers the calls that began before the checkpoint and must not be repeated.
fn answer_interrupted(machine: &mut TurnMachine, is_repeatable: impl Fn(&Call) -> bool) -> Vec<Action> {
    let begun = machine.begun_calls().into_iter();
    let interrupted: Vec<_> = begun
        .filter(|(_, call)| !is_repeatable(call))
        .map(|(index, call)| (index, calls::interrupted(call)))
        .collect();
    let mut actions = Vec::new();
    for (call, result) in interrupted {
        actions.extend(machine.on(Event::Result { call, result }));
    }
    actions
}

/// Returns the time of tokio's clock, which the deadlines of calls use, and which tests pause.
pub(super) fn tokio_now() -> Instant {
    tokio::time::Instant::now().into_std()
}
