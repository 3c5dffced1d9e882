//! Drives a turn: executes the actions of its state machine, and passes events to the machine. The entry is [`drive`].
//!
//! The turn is created in `begin.rs`. The main loop below takes the next action of the machine, stores what the action depends on
//! (`storing.rs`), and executes the action: a request to the upstream (`ask.rs`), or a round of calls (`calls.rs`). Without an action, the
//! loop waits for the next event of the upstream or of the calls.

pub(crate) mod save;
mod calls;
mod betas;
pub(crate) mod forward;
mod upstream_events;
mod overload;
mod suspended;
mod conversation;
mod rules;
mod turn_record;
mod pending_saves;
mod begin;
mod storing;
mod ask;

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;
use std::time::Instant;

use axum::http::StatusCode;
use tracing::{Instrument as _, Span};

use crate::server::access::client_limits::Permit;
use crate::server::observe::log::TurnLine;
use crate::server::observe::metrics::TurnEnd;
use crate::server::observe::spans;
use crate::server::offload;
use crate::server::turns::checkpoint::Checkpoint;
use crate::server::turns::job::Job;
use crate::server::turns::lease_keeper::LeaseKeeper;
use crate::server::turns::running_turn::{PING, RunEnd, RunningTurn, abandoned};
use crate::server::turns::shared::Shared;
use crate::turn::action::Action;
use crate::turn::event::Event;
use crate::wire::error::{ApiError, status_of_type};
use crate::wire::fields::ObjectText;
use crate::wire::object::Object;
use crate::wire::usage::TokenCounts;
use begin::{Drive, Source, tokio_now};
use calls::{Done, Round};
use pending_saves::UnsavedEffects;

/// Runs the turn to its end, and then drops its permit. All output for the client is written to `running`.
pub(crate) async fn drive(
    shared: Arc<Shared>,
    job: Box<Job>,
    running: Arc<RunningTurn>,
    checkpoint: Option<Box<Checkpoint>>,
    lease: LeaseKeeper,
    _permit: Permit,
) {
    let span = spans::turn(&job.session);
    take(&shared, &job, &running, checkpoint, &lease)
        .instrument(span)
        .await;
}

async fn take(
    shared: &Shared,
    job: &Job,
    running: &RunningTurn,
    checkpoint: Option<Box<Checkpoint>>,
    lease: &LeaseKeeper,
) {
    let began = Instant::now();
    // Ends the turn for its watchers, even if this task is dropped or panics.
    let _ended = Ended(running);
    let end = match Drive::begin(shared, job, running, checkpoint, lease).await {
        Ok(mut drive) => {
            let end = drive.run().await;
            drive.log(began, &end);
            end
        }
        Err(error) => {
            let line = TurnLine {
                session: &job.session,
                found: job.recognized.found,
                status: error.status.as_u16(),
                rounds: 0,
                tools: &[],
                tokens: TokenCounts::default(),
                took: began.elapsed(),
            };
            line.write(&shared.metrics);
            spans::fail(&Span::current(), error.status);
            RunEnd::from(&error)
        }
    };
    if matches!(end, RunEnd::Failed { .. }) {
        shared.metrics.turn(TurnEnd::Failed);
        lease.release().await;
    }
    shared.turns.end(&job.client.principal, running, end);
}

/// Guard that ends a turn which has not ended otherwise.
struct Ended<'r>(&'r RunningTurn);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if self.0.has_ended() {
            return;
        }
        let error = ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the turn was aborted; retry the request",
        );
        self.0.end(RunEnd::from(&error));
    }
}

/// Empty set of tool names.
static NO_TOOLS: BTreeSet<String> = BTreeSet::new();

impl Drive<'_> {
    async fn run(&mut self) -> RunEnd {
        let end = self.run_actions().await;
        if self.saves.is_empty() {
            return end;
        }
        // A retry finds the results of this turn, also after a crash.
        match self.saved().await {
            Ok(()) => end,
            Err(error) => self.failed(&error),
        }
    }

    /// Runs actions until the end of the turn.
    async fn run_actions(&mut self) -> RunEnd {
        loop {
            let end = match self.actions.pop_front() {
                Some(action) => match self.store_before(&action).await {
                    Ok(()) => self.act(action).await,
                    Err(error) => {
                        self.leave_to_retry(action);
                        Err(error)
                    }
                },
                None => self.wait().await,
            };
            match end {
                Ok(Some(end)) => return end,
                Ok(None) => {}
                Err(error) => return self.failed(&error),
            }
        }
    }

    /// Executes an action of the machine.
    async fn act(&mut self, action: Action) -> Result<Option<RunEnd>, ApiError> {
        if !matches!(action, Action::Send(_)) {
            // The upstream's message is complete.
            self.chat = Span::none();
        }
        match action {
            Action::Send(sent) => self.send(sent),
            Action::Run(calls) => {
                let round = Round {
                    registry: &self.job.generation.registry,
                    ownership: &self.shared.settings.tools.ownership,
                    context: offload::context(self.shared, self.job),
                    deadline: self.deadline,
                    state: &self.state,
                    // The client has already answered the message of a suspended turn, so no call of that message can become external.
                    declared: if self.suspended.is_some() {
                        &NO_TOOLS
                    } else {
                        &self.job.tools.declared
                    },
                    offered: self.suspended.is_none().then_some(&*self.job.tools.internal),
                    abandoned: &self.running.abandoned,
                };
                self.source = Source::Calls(calls::start(round, calls));
            }
            Action::Ask(messages) => {
                self.conversation.asked = messages;
                return self.ask().await;
            }
            Action::Record(_) => {}
            Action::Fail(error) => {
                return Ok(Some(RunEnd::failed(status_of(&error), error.as_str().to_owned())));
            }
            Action::FailUpstream(message) => return Err(ApiError::new(StatusCode::BAD_GATEWAY, message)),
            Action::End => return Ok(Some(RunEnd::Done)),
        }
        Ok(None)
    }

    /// Waits for the next event.
    async fn wait(&mut self) -> Result<Option<RunEnd>, ApiError> {
        match &mut self.source {
            Source::Nothing => {
                return Err(ApiError::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the turn has no further event",
                ));
            }
            Source::Upstream(events) => {
                let event = tokio::select! {
                    biased;
                    saved = self.saves.all(), if !self.saves.is_empty() => {
                        return self.on_saved(saved).await.map(|()| None);
                    }
                    event = events.next(&mut self.silence) => event?,
                    () = self.running.abandoned.cancelled() => return Err(abandoned()),
                };
                match event {
                    Some(event) => self.on_event(event),
                    None => self.ping(),
                }
            }
            Source::Calls(calls) => {
                let first = tokio::select! {
                    first = calls.next(self.running) => first,
                    saved = self.saves.all(), if !self.saves.is_empty() => {
                        // A failed save does not stop the other calls.
                        let _ = self.on_saved(saved).await;
                        if std::mem::take(&mut self.has_unsaved_results) {
                            let _ = self.begin_checkpoint().await;
                        }
                        return Ok(None);
                    }
                };
                let Some(first) = first else {
                    // The missing calls were stopped, because the client disconnected or one of the calls cannot be stored.
                    match &mut self.suspended {
                        Some(suspended) => suspended.store(self.shared, self.job, &self.state).await?,
                        None => self.checkpoint().await?,
                    }
                    return Err(self.failure.take().unwrap_or_else(abandoned));
                };
                // Results that arrived at one time are stored together.
                let all_done: Vec<_> = iter::once(first).chain(iter::from_fn(|| calls.ready())).collect();
                self.on_done(all_done).await;
            }
        }
        Ok(None)
    }

    /// Handles the ends of calls, and stores their results while other calls run.
    async fn on_done(&mut self, all_done: Vec<Result<Done, ApiError>>) {
        // A read-only call may be repeated after a crash, so its result is stored with the next one.
        let mut is_worth_storing = false;
        for done in all_done {
            match done {
                Ok(Done {
                    event,
                    state,
                    only_reads,
                }) => {
                    if let Some(state) = state {
                        self.state.extend(state);
                    }
                    is_worth_storing |= !only_reads && !matches!(event, Event::Stopped { .. });
                    self.unsaved_effects.new +=
                        u64::from(!only_reads && matches!(event, Event::Result { .. }));
                    if let Some(suspended) = &mut self.suspended {
                        suspended.record(&event);
                    }
                    self.on_event(event);
                }
                // The results of the other calls are recorded first.
                Err(error) => self.failure = Some(error),
            }
        }
        if is_worth_storing
            && self.suspended.is_none()
            && self.actions.is_empty()
            && !self.machine.open_calls().is_empty()
        {
            // Results that arrive during a save are stored together after it.
            self.has_unsaved_results = !self.saves.is_empty();
            if !self.has_unsaved_results {
                let _ = self.begin_checkpoint().await;
            }
        }
    }

    /// Passes an event to the machine.
    fn on_event(&mut self, event: Event) {
        if self.deadline.is_some_and(|deadline| tokio_now() > deadline) {
            self.actions.extend(self.machine.on(Event::OutOfTime));
        }
        self.actions.extend(self.machine.on(event));
    }

    /// Sends the client a `ping` event, since proxies close connections without data.
    fn ping(&mut self) {
        self.silence.stop();
        self.running.send(PING);
    }

    /// Returns the end of a turn with an error. Counts the results of calls that no gateway has.
    fn failed(&mut self, error: &ApiError) -> RunEnd {
        let UnsavedEffects { new, saving } = std::mem::take(&mut self.unsaved_effects);
        let lost = new + saving;
        if save::is_fenced(error) && lost > 0 {
            self.shared.metrics.unrecorded_effects.inc_by(lost);
            tracing::warn!(
                session = %self.job.session,
                lost,
                "results of calls were not stored, since another gateway has continued the turn"
            );
        }
        RunEnd::from(error)
    }

    /// Writes one log line, without contents of messages.
    fn log(&self, began: Instant, end: &RunEnd) {
        let status = match end {
            RunEnd::Done => StatusCode::OK,
            RunEnd::Failed { status, .. } => *status,
        };
        let tokens = TokenCounts::new(self.machine.usage());
        let line = TurnLine {
            session: &self.job.session,
            found: self.job.recognized.found,
            status: status.as_u16(),
            rounds: self.rounds,
            tools: self.machine.ran(),
            tokens,
            took: began.elapsed(),
        };
        spans::record(&Span::current(), status, &tokens);
        line.write(&self.shared.metrics);
    }
}

/// Returns the HTTP status of an `error` event.
fn status_of(error: &ObjectText) -> StatusCode {
    let error = error.object();
    let details = error.get("error").and_then(|details| Object::parse(details).ok());
    let kind = details.and_then(|details| details.string("type"));
    kind.and_then(|kind| status_of_type(&kind))
        .unwrap_or(StatusCode::BAD_GATEWAY)
}
