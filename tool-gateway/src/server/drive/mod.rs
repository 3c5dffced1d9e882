//! Drives a turn: executes the actions of its state machine, and passes events to the machine. The entry is [`drive`].

pub(crate) mod save;
mod calls;
mod betas;
pub(crate) mod forward;
mod upstream_events;
mod overload;
mod suspended;
mod turn_record;
mod pending_saves;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::future::poll_fn;
use std::iter;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::http::{StatusCode, response};
use serde_json::Map;
use tracing::{Instrument as _, Span};

use crate::off_worker::in_place;
use crate::server::access::client_limits::Permit;
use crate::server::body::idle::IdleTimer;
use crate::server::observe::log::TurnLine;
use crate::server::observe::metrics::TurnEnd;
use crate::server::observe::spans;
use crate::server::offload;
use crate::server::offload::sweep;
use crate::server::turns::checkpoint::Checkpoint;
use crate::server::turns::job::Job;
use crate::server::turns::lease_keeper::LeaseKeeper;
use crate::server::turns::progress_log::ProgressLog;
use crate::server::turns::running_turn::{PING, RunEnd, RunningTurn, abandoned};
use crate::server::turns::session_state::StateMap;
use crate::server::turns::shared::Shared;
use crate::session::minted_id::MintKey;
use crate::session::record::{Call, TrueMessage};
use crate::session::store::Progress;
use crate::session::turn_record::TurnRecord;
use crate::turn::action::{Action, Answer, Sent};
use crate::turn::client_calls::{ClientCallRules, ClientCalls};
use crate::turn::event::Event;
use crate::turn::machine::TurnMachine;
use crate::turn::restore::{self, Restored};
use crate::turn::rules::{IdSource, Rules};
use crate::turn::thinking::{self, RefusedThinking};
use crate::turn::upstream_request::{self, AskedRound};
use crate::upstream::TurnBody;
use crate::wire::error::{ApiError, status_of_type};
use crate::wire::fields::ObjectText;
use crate::wire::message::push_message;
use crate::wire::object::Object;
use calls::{Done, PING_INTERVAL, Round, RunningCalls};
use overload::OverloadWaits;
use pending_saves::PendingSaves;
use save::{SaveError, next_progress, save, save_progress};
use suspended::Suspended;
use turn_record::turn_record;
use upstream_events::UpstreamEvents;

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
                usage: &Map::new(),
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

/// A turn with the request, the upstream and the calls that it uses.
struct Drive<'a> {
    shared: &'a Shared,
    job: &'a Job,
    running: &'a RunningTurn,
    lease: &'a LeaseKeeper,
    /// State of the session after the last completed call.
    state: StateMap,
    /// Error with which the turn fails after all running calls have ended.
    failure: Option<ApiError>,
    /// Suspended turn that this one resumes, until the results of its deferred calls are stored.
    suspended: Option<Suspended<'a>>,
    /// The true transcript; empty until a suspended turn is resumed.
    restored: Restored,
    /// Messages of this turn that were sent to the upstream.
    asked: Vec<TrueMessage>,
    refused_thinking: Option<RefusedThinking>,
    machine: TurnMachine,
    actions: VecDeque<Action>,
    source: Source,
    /// Timer of the next `ping`, while the upstream is awaited.
    silence: IdleTimer,
    /// `None` if the deadline is beyond the range of the clock.
    deadline: Option<Instant>,
    /// Log of the request's progress in the store.
    progress: ProgressLog,
    /// Writes to the store that have not ended.
    saves: PendingSaves<'a>,
    /// Output that follows from a state that is not stored yet. The client receives the output when the state is stored.
    held: Vec<Sent>,
    /// Whether results are not part of any write yet.
    has_unsaved_results: bool,
    /// Number of results of calls with effects that the store may not have.
    unsaved_effects: UnsavedEffects,
    /// Number of times that the log was sent again.
    resent: u32,
    /// Number of requests to the upstream.
    rounds: usize,
    /// Span of the open request to the upstream.
    chat: Span,
}

/// Results of calls that must not be repeated, and that are lost if another gateway continues the turn.
#[derive(Debug, Default)]
struct UnsavedEffects {
    /// Results that are not part of any write.
    new: u64,
    /// Results that are part of a write that has not ended.
    saving: u64,
}

/// Maximum number of times that a turn sends its log again.
const MAX_RESENT: u32 = 3;

/// Empty set of tool names.
static NO_TOOLS: BTreeSet<String> = BTreeSet::new();

/// The source of the next event.
enum Source {
    Nothing,
    Upstream(UpstreamEvents),
    Calls(RunningCalls),
}

impl<'a> Drive<'a> {
    async fn begin(
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
        let suspended = Suspended::claim(shared, job).await?;
        let restored = if suspended.is_none() {
            in_place(job.request.len(), || {
                restore::restore(&shared.secret, &job.recognized, &job.request, &HashMap::new())
            })?
        } else {
            Restored::default()
        };
        let tools = &shared.settings.tools;
        let generation = &job.generation;
        let registry = &generation.registry;
        let is_deferred = |name: &&String| {
            let name = tools.ownership.internal_name(name);
            tools.deferred.contains(name) || generation.deferred.contains(name)
        };
        let is_translated = !shared.upstream.passes_messages();
        let has_text_calls = shared.recovers_text_calls(&job.request);
        let client_calls = (is_translated || has_text_calls).then(|| {
            let rules = ClientCallRules {
                fallback_on_error: shared.settings.format_fixing.fallback_on_error,
                ..shared.settings.client_tools.clone()
            };
            let state = shared.metrics.client_calls.clone();
            Arc::new(ClientCalls::new(&job.request, rules, state))
        });
        let rules = Rules {
            internal: Arc::clone(&job.tools.internal),
            external: Arc::clone(&job.tools.external),
            server_prefixes: shared.settings.mcp.name_starts(),
            deferred: Arc::new(job.tools.internal.iter().filter(is_deferred).cloned().collect()),
            max_rounds: shared.settings.limits.rounds,
            max_tokens: shared.settings.limits.tokens,
            ids: IdSource::new(MintKey::new(&shared.secret, &job.client.principal)),
            // The Messages API sends no thinking that was not asked for.
            hides_thinking: is_translated && !upstream_request::asks_for_thinking(&job.request),
            client_calls: client_calls.clone().filter(|_| is_translated),
            recovered_calls: client_calls.filter(|_| has_text_calls),
        };
        let mut refused_thinking = None;
        let mut actions = Vec::new();
        let (mut machine, state) = match (checkpoint, &suspended) {
            (Some(checkpoint), _) => {
                let mut machine = checkpoint.machine.with_rules(rules);
                refused_thinking = checkpoint.refused_thinking;
                actions = checkpoint.rest;
                if actions.is_empty() {
                    actions = answer_interrupted(&mut machine, |call| {
                        calls::is_repeatable(registry, tools.ownership.internal_name(&call.name))
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
            failure: None,
            suspended,
            restored,
            asked: Vec::new(),
            refused_thinking,
            machine,
            actions: actions.into(),
            source: Source::Nothing,
            silence: IdleTimer::new(PING_INTERVAL),
            deadline,
            progress: ProgressLog::new(job.lease),
            saves: PendingSaves::default(),
            held: Vec::new(),
            has_unsaved_results: false,
            unsaved_effects: UnsavedEffects::default(),
            resent: 0,
            rounds: 0,
            chat: Span::none(),
        }))
    }

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

    /// Stores the state before an action, so that a later process can continue from there.
    async fn store_before(&mut self, action: &Action) -> Result<(), ApiError> {
        let is_step = matches!(action, Action::Run(_) | Action::Ask(_) | Action::Record(_));
        let has_lease = || {
            let suspended = self.suspended.as_ref();
            self.lease.is_valid() && suspended.is_none_or(Suspended::has_lease)
        };
        if is_step && !has_lease() {
            return Err(save::fenced());
        }
        match action {
            // After a crash, a call is repeated unless the store has recorded its beginning.
            Action::Run(calls) if self.machine.is_resuming() => match &mut self.suspended {
                Some(suspended) => suspended.begin(self.shared, self.job, calls).await,
                None => Ok(()),
            },
            Action::Run(calls) => {
                self.resume().await?;
                self.begin_checkpoint().await?;
                // After a crash, a repeatable call runs again whether or not the store has recorded its beginning.
                if calls.iter().all(|(_, call)| self.is_repeatable(call)) {
                    return Ok(());
                }
                self.saved().await
            }
            Action::Ask(_) => {
                self.resume().await?;
                self.begin_checkpoint().await?;
                // A request without effects need not wait for the store, but is not sent in vain while the store fails.
                if self.shared.store_fails.load(Ordering::Relaxed) {
                    return self.saved().await;
                }
                Ok(())
            }
            Action::Record(answer) => {
                self.resume().await?;
                self.record(answer).await
            }
            Action::Send(_) | Action::Fail(_) | Action::FailUpstream(_) | Action::End => Ok(()),
        }
    }

    /// Stores the results of the suspended turn's deferred calls, and restores the messages with these results.
    async fn resume(&mut self) -> Result<(), ApiError> {
        let Some(suspended) = &mut self.suspended else {
            return Ok(());
        };
        suspended.store(self.shared, self.job, &self.state).await?;
        self.unsaved_effects = UnsavedEffects::default();
        let results = self.suspended.take().map(Suspended::into_results);
        self.restored = in_place(self.job.request.len(), || {
            restore::restore(
                &self.shared.secret,
                &self.job.recognized,
                &self.job.request,
                &results.unwrap_or_default(),
            )
        })?;
        Ok(())
    }

    /// Keeps an action in memory because the state before it could not be stored. A retry continues with this action, and repeats no
    /// earlier one.
    fn leave_to_retry(&mut self, action: Action) {
        if self.suspended.is_some() {
            // Another request may run the deferred calls before the retry, so the retry claims the suspended turn again.
            return;
        }
        let mut checkpoint = self.now();
        checkpoint.rest = iter::once(action).chain(self.actions.drain(..)).collect();
        self.running.set_checkpoint(checkpoint);
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
                self.asked = messages;
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

    /// Sends output to the client, or holds it until the state before it is stored.
    fn send(&mut self, sent: Sent) {
        if self.saves.is_empty() && self.held.is_empty() {
            self.silence.stop();
            self.running.send(sent);
        } else {
            self.held.push(sent);
        }
    }

    /// Sends the client a `ping` event, since proxies close connections without data.
    fn ping(&mut self) {
        self.silence.stop();
        self.running.send(PING);
    }

    /// Passes an event to the machine.
    fn on_event(&mut self, event: Event) {
        if self.deadline.is_some_and(|deadline| tokio_now() > deadline) {
            self.actions.extend(self.machine.on(Event::OutOfTime));
        }
        self.actions.extend(self.machine.on(event));
    }

    /// Creates a checkpoint of the turn.
    fn now(&self) -> Checkpoint {
        let mut checkpoint = self.running.now(
            &self.machine,
            self.refused_thinking,
            self.state.clone(),
            self.job.generation.digest,
        );
        let held = self.held.iter().filter(|sent| **sent != PING);
        checkpoint.sent.extend(held.cloned());
        checkpoint
    }

    /// Stores a checkpoint from which the turn can continue.
    async fn checkpoint(&mut self) -> Result<(), ApiError> {
        self.begin_checkpoint().await?;
        self.saved().await
    }

    /// Begins to store a checkpoint. The turn continues meanwhile.
    async fn begin_checkpoint(&mut self) -> Result<(), ApiError> {
        self.has_unsaved_results = false;
        let UnsavedEffects { new, saving } = &mut self.unsaved_effects;
        *saving += std::mem::take(new);
        let checkpoint = self.now();
        let progress = next_progress(self.shared, &mut self.progress, &checkpoint);
        self.running.set_checkpoint(checkpoint);
        self.begin_append(progress?).await;
        Ok(())
    }

    async fn begin_append(&mut self, progress: Option<Progress>) {
        if let Some(progress) = progress {
            let saved = save_progress(self.shared, &self.job.client, progress);
            self.saves.push(saved).await;
        }
    }

    /// Waits until everything so far is stored.
    async fn saved(&mut self) -> Result<(), ApiError> {
        while !self.saves.is_empty() {
            let saved = self.saves.all().await;
            self.on_saved(saved).await?;
        }
        Ok(())
    }

    /// Sends the held output after successful writes. If the store has lost segments, sends the log again.
    async fn on_saved(&mut self, saved: Result<(), SaveError>) -> Result<(), ApiError> {
        match saved {
            Ok(()) => {
                self.unsaved_effects.saving = 0;
                for sent in self.held.drain(..) {
                    self.silence.stop();
                    self.running.send(sent);
                }
                Ok(())
            }
            Err(SaveError::Gap { have }) if self.resent < MAX_RESENT => {
                self.restart_log(have);
                let Some(checkpoint) = self.running.checkpoint() else {
                    return Ok(());
                };
                let progress = next_progress(self.shared, &mut self.progress, &checkpoint)?;
                self.begin_append(progress).await;
                Ok(())
            }
            Err(error) => {
                self.progress.restart();
                Err(error.into())
            }
        }
    }

    /// Begins the log again, since the store has lost a part, for example in a failover to a replica.
    fn restart_log(&mut self, have: u64) {
        tracing::warn!(session = %self.job.session, have, "the store has lost segments of a request's progress, which is stored again");
        self.resent += 1;
        self.progress.restart();
    }

    /// Returns whether a call may run again after a crash.
    fn is_repeatable(&self, call: &Call) -> bool {
        let name = self.shared.settings.tools.ownership.internal_name(&call.name);
        calls::is_repeatable(&self.job.generation.registry, name)
    }

    /// Sends all messages so far to the upstream. If the upstream rejects thinking blocks, repeats the request without them.
    async fn ask(&mut self) -> Result<Option<RunEnd>, ApiError> {
        let mut waits = OverloadWaits::new();
        loop {
            if self.running.abandoned.is_cancelled() {
                return Err(abandoned());
            }
            self.shared.metrics.rounds.inc();
            self.rounds += 1;
            let is_thinking_off = self.restored.lacks_thinking || self.refused_thinking.is_some();
            let body = in_place(self.job.request.len(), || {
                let round = AskedRound {
                    messages: &self.messages(),
                    is_after_internal: self.restored.continues_internal || self.machine.has_internal_round(),
                    container: self.machine.container(),
                    is_thinking_off,
                };
                upstream_request::body(&self.job.request, &self.job.tools, &round)
            });
            self.chat = spans::chat(&self.job.request);
            let mut sent = pin!(forward::turn(self.shared, self.job, body.into()));
            let response = loop {
                tokio::select! {
                    biased;
                    saved = self.saves.all(), if !self.saves.is_empty() => {
                        self.on_saved(saved).await?;
                    }
                    response = &mut sent => break response?,
                    _ = poll_fn(|cx| self.silence.poll_elapsed(cx)) => self.ping(),
                    () = self.running.abandoned.cancelled() => return Err(abandoned()),
                }
            };
            let (parts, body) = response.into_parts();
            let body = match body {
                TurnBody::Message(events) => {
                    self.running.set_headers(&parts.headers);
                    let events = UpstreamEvents::new(events, self.shared.settings.limits.upstream_idle);
                    self.source = Source::Upstream(events);
                    return Ok(None);
                }
                TurnBody::Error(body) => IdleTimer::wrap(body, self.shared.settings.limits.upstream_idle),
            };
            spans::fail(&self.chat, parts.status);
            let body = tokio::select! {
                body = axum::body::to_bytes(body, self.shared.settings.limits.max_body) => body,
                () = self.running.abandoned.cancelled() => return Err(abandoned()),
            };
            let body = body.map_err(|error| {
                ApiError::new(
                    StatusCode::BAD_GATEWAY,
                    format!("the upstream's error response was cut off: {error}"),
                )
            })?;
            if let Some(wait) = self.overload_wait(&mut waits, &parts) {
                self.wait_for_upstream(wait).await?;
                continue;
            }
            let is_repeated = parts.status == StatusCode::BAD_REQUEST
                && self.refused_thinking.is_none()
                && thinking::is_refused(&body)
                && (thinking::without_thinking(&self.messages()).is_some()
                    || (!is_thinking_off && upstream_request::asks_for_thinking(&self.job.request)));
            if !is_repeated {
                return Ok(Some(RunEnd::Failed {
                    status: parts.status,
                    headers: parts.headers,
                    body,
                }));
            }
            self.shared.metrics.thinking_refused.inc();
            tracing::warn!(session = %self.job.session, "the upstream refused thinking; asking once more without it");
            self.refused_thinking = Some(RefusedThinking {
                turn_messages: self.asked.len(),
            });
            // A retry after a failure omits thinking blocks, too.
            self.begin_checkpoint().await?;
        }
    }

    /// Returns the time to wait before the request is repeated after an error response: only after the beginning of the client's stream, since
    /// clients repeat other requests themselves.
    fn overload_wait(&self, waits: &mut OverloadWaits, response: &response::Parts) -> Option<Duration> {
        if !self.job.request.is_stream() || !self.running.has_output() {
            return None;
        }
        let wait = waits.after(response.status, &response.headers)?;
        let is_in_time = |deadline| tokio_now().checked_add(wait).is_some_and(|end| end < deadline);
        if !self.deadline.is_none_or(is_in_time) {
            return None;
        }
        let (status, seconds) = (response.status.as_u16(), wait.as_secs_f64());
        tracing::warn!(
            status,
            seconds,
            "the upstream is overloaded; asking again in the middle of a turn"
        );
        Some(wait)
    }

    /// Waits before a request is repeated. The client gets `ping` events meanwhile.
    async fn wait_for_upstream(&mut self, time: Duration) -> Result<(), ApiError> {
        let mut end = pin!(tokio::time::sleep(time));
        loop {
            tokio::select! {
                () = &mut end => return Ok(()),
                _ = poll_fn(|cx| self.silence.poll_elapsed(cx)) => self.ping(),
                () = self.running.abandoned.cancelled() => return Err(abandoned()),
            }
        }
    }

    /// Returns all messages so far in the form that the upstream accepts, as a JSON array without its brackets.
    fn messages(&self) -> Cow<'_, str> {
        let mut messages = Cow::Borrowed(self.restored.messages.as_str());
        let (before, after) = self
            .asked
            .split_at(self.refused_thinking.map_or(0, |refused| refused.turn_messages));
        for message in before {
            push_message(messages.to_mut(), &message.role, &message.blocks);
        }
        if self.refused_thinking.is_some()
            && let Some(without) = thinking::without_thinking(&messages)
        {
            messages = Cow::Owned(without);
        }
        for message in after {
            push_message(messages.to_mut(), &message.role, &message.blocks);
        }
        messages
    }

    /// Stores the turn.
    async fn record(&mut self, answer: &Answer) -> Result<(), ApiError> {
        if let Some(last) = answer.truth.last()
            && self.shared.leaves_text_calls(&self.job.request)
        {
            let model = spans::model(&self.job.request);
            self.shared.metrics.text_calls.check_off(&model, &last.blocks);
        }
        let turn = in_place(self.job.request.len().max(self.machine.size()), || {
            turn_record(
                &self.shared.secret,
                self.job,
                &self.restored,
                answer,
                self.refused_thinking,
                self.state.clone(),
            )
        });
        let end = if turn.is_suspended() {
            TurnEnd::Suspended
        } else {
            TurnEnd::Finished
        };
        offload::record_client(self.shared, self.job).await;
        let record = TurnRecord::new(turn);
        let saved = loop {
            let progress = self.last_progress();
            let (shared, client, record) = (self.shared, &self.job.client, record.clone());
            let saved = async move { save(shared, client, record, 0, progress).await.map(drop) };
            self.saves.push(saved).await;
            match self.saves.all().await {
                Err(SaveError::Gap { have }) if self.resent < MAX_RESENT => self.restart_log(have),
                saved => break self.on_saved(saved).await,
            }
        };
        // With a store in memory, a failed save loses only the session; the client still receives the answer.
        if self.shared.store.reach().is_durable() {
            saved?;
        }
        self.shared.metrics.turn(end);
        Ok(())
    }

    /// Returns the progress of the complete turn with its remaining output, for retries in a later process.
    fn last_progress(&mut self) -> Option<Progress> {
        if !self.shared.store.reach().is_durable() {
            return None;
        }
        let mut checkpoint = self.now();
        let sends = self.actions.iter().filter_map(|action| match action {
            Action::Send(sent) => Some(sent.clone()),
            _ => None,
        });
        checkpoint.sent.extend(sends);
        self.progress.next(&checkpoint).ok()
    }

    /// Writes one log line, without contents of messages.
    fn log(&self, began: Instant, end: &RunEnd) {
        let status = match end {
            RunEnd::Done => StatusCode::OK,
            RunEnd::Failed { status, .. } => *status,
        };
        let line = TurnLine {
            session: &self.job.session,
            found: self.job.recognized.found,
            status: status.as_u16(),
            rounds: self.rounds,
            tools: self.machine.ran(),
            usage: self.machine.usage(),
            took: began.elapsed(),
        };
        spans::record(&Span::current(), status, self.machine.usage());
        line.write(&self.shared.metrics);
    }
}

/// Returns the time of tokio's clock, which the deadlines of calls use, and which tests pause.
fn tokio_now() -> Instant {
    tokio::time::Instant::now().into_std()
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

/// Returns the HTTP status of an `error` event.
fn status_of(error: &ObjectText) -> StatusCode {
    let error = error.object();
    let details = error.get("error").and_then(|details| Object::parse(details).ok());
    let kind = details.and_then(|details| details.string("type"));
    kind.and_then(|kind| status_of_type(&kind))
        .unwrap_or(StatusCode::BAD_GATEWAY)
}
