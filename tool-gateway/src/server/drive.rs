//! Drives a turn: does what its state machine says, and tells it what happened.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tool_runtime::ToolRegistry;

use super::forward::{self, Head, UpstreamEvents};
use super::metrics::count;
use super::running::{Checkpoint, RunEnd, Running};
use super::shared::Shared;
use super::{calls, session_tools};
use crate::session::chain::after_answer;
use crate::session::recognize::{Client, Recognized, answer_digest, call_digest, key_digest};
use crate::session::record::{Call, Origin, Owner, SessionId, Turn};
use crate::turn::machine::{Action, Answer, Event, IdSource, Rules, Sent, TurnMachine};
use crate::turn::ownership::Tools;
use crate::turn::restore::{self, Restored};
use crate::wire::block::Block;
use crate::wire::error::ApiError;
use crate::wire::event::StreamEvent;
use crate::wire::message::push_message;
use crate::wire::request::MessagesRequest;

/// A request that takes a turn.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) head: Head,
    pub(super) body: String,
    pub(super) client: Client,
    pub(super) recognized: Recognized,
    pub(super) session: SessionId,
    pub(super) tools: Tools,
}

/// Takes the turn to its end. All that the client sees goes through `running`.
pub(super) async fn drive(
    shared: Arc<Shared>,
    job: Job,
    running: Arc<Running>,
    checkpoint: Option<Box<Checkpoint>>,
) {
    let began = Instant::now();
    // Ends the turn for its watchers, also if this task is dropped or panics.
    let _ended = Ended(&running);
    let end = match Drive::begin(&shared, &job, &running, checkpoint).await {
        Ok(mut drive) => {
            let end = drive.run().await;
            drive.log(began, &end);
            end
        }
        Err(error) => failed(&error),
    };
    if matches!(end, RunEnd::Failed { .. }) {
        count(&shared.metrics.turns_failed);
    }
    running.end(end);
}

/// Ends a turn that has not ended otherwise.
struct Ended<'r>(&'r Running);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let error = ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the turn was given up; send it again",
        );
        self.0.end(failed(&error));
    }
}

fn failed(error: &ApiError) -> RunEnd {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    RunEnd::Failed {
        status: error.status,
        headers,
        body: error.body().to_string().into(),
    }
}

/// The turn, and what it needs of the world.
struct Drive<'a> {
    shared: &'a Shared,
    job: &'a Job,
    running: &'a Running,
    request: MessagesRequest<'a>,
    registry: Arc<ToolRegistry>,
    restored: Restored,
    /// The text of the messages so far, without brackets.
    messages: String,
    machine: TurnMachine,
    actions: VecDeque<Action>,
    source: Source,
    deadline: Instant,
    /// Whether thinking of the client's history has been left out.
    is_without_thinking: bool,
    /// How often the upstream was asked.
    rounds: usize,
}

/// Where the next event comes from.
enum Source {
    Nothing,
    Upstream(UpstreamEvents),
    Calls(UnboundedReceiver<Event>),
}

impl<'a> Drive<'a> {
    async fn begin(
        shared: &'a Shared,
        job: &'a Job,
        running: &'a Running,
        checkpoint: Option<Box<Checkpoint>>,
    ) -> Result<Self, ApiError> {
        let request = MessagesRequest::parse(&job.body)?;
        let deadline = Instant::now() + shared.max_time;
        let state = checkpoint
            .as_ref()
            .map_or(&job.recognized.state, |checkpoint| &checkpoint.registry_state);
        let registry = Arc::new(session_tools::with_state(&shared.registry, state.as_ref()));
        restore::check(&job.recognized, &request)?;
        let deferred = restore::deferred(&job.recognized, &request);
        let results = run_deferred(shared, job, &registry, &deferred, deadline, running).await?;
        let restored = restore::restore(&shared.secret, &job.recognized, &request, &results)?;
        let mut machine = checkpoint.map_or_else(
            || {
                TurnMachine::new(Rules {
                    internal: job.tools.internal.clone(),
                    deferred: shared.deferred.clone(),
                    max_rounds: shared.max_rounds,
                    ids: IdSource::default(),
                })
            },
            |checkpoint| checkpoint.machine,
        );
        let actions = machine.start();
        Ok(Self {
            shared,
            job,
            running,
            request,
            registry,
            messages: String::new(),
            restored,
            machine,
            actions: actions.into(),
            source: Source::Nothing,
            deadline,
            is_without_thinking: false,
            rounds: 0,
        })
    }

    async fn run(&mut self) -> RunEnd {
        loop {
            let end = match self.actions.pop_front() {
                Some(action) => self.act(action).await,
                None => self.wait().await,
            };
            match end {
                Ok(Some(end)) => return end,
                Ok(None) => {}
                Err(error) => return failed(&error),
            }
        }
    }

    /// Does what the machine says.
    async fn act(&mut self, action: Action) -> Result<Option<RunEnd>, ApiError> {
        match action {
            Action::Send(sent) => self.running.send(sent),
            Action::Run(calls) => {
                self.checkpoint();
                for _ in &calls {
                    count(&self.shared.metrics.calls);
                }
                let started = calls::start(
                    &self.registry,
                    &self.job.session,
                    calls,
                    &self.job.tools.by_client,
                    self.deadline,
                    &self.running.abandoned,
                );
                self.source = Source::Calls(started);
            }
            Action::Ask(messages) => {
                self.messages.clone_from(&self.restored.messages);
                for message in &messages {
                    push_message(&mut self.messages, message.role, &message.blocks);
                }
                self.checkpoint();
                return self.ask().await;
            }
            Action::Record(answer) => self.record(answer).await,
            Action::Fail(error) => {
                return Ok(Some(RunEnd::Failed {
                    status: StatusCode::BAD_GATEWAY,
                    headers: json_headers(),
                    body: error.to_string().into(),
                }));
            }
            Action::End => return Ok(Some(RunEnd::Done)),
        }
        Ok(None)
    }

    /// Waits for what happens next.
    async fn wait(&mut self) -> Result<Option<RunEnd>, ApiError> {
        let event = match &mut self.source {
            Source::Nothing => {
                return Err(ApiError::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the turn has come to a halt",
                ));
            }
            Source::Upstream(events) => tokio::select! {
                event = events.next() => event.map_err(|error| ApiError::new(StatusCode::BAD_GATEWAY, error))?,
                () = self.running.abandoned.cancelled() => return Err(abandoned()),
            },
            Source::Calls(results) => tokio::select! {
                result = results.recv() => if let Some(result) = result {
                    result
                } else {
                    // Those that are missing were stopped, since nobody waits for them.
                    self.checkpoint();
                    return Err(abandoned());
                },
                () = tokio::time::sleep(PING_INTERVAL) => {
                    self.running.send(Sent::Event(StreamEvent::Ping));
                    return Ok(None);
                }
            },
        };
        if Instant::now() > self.deadline {
            self.actions.extend(self.machine.on(Event::OutOfTime));
        }
        self.actions.extend(self.machine.on(event));
        Ok(None)
    }

    fn checkpoint(&self) {
        self.running
            .set_checkpoint(&self.machine, session_tools::state(&self.registry));
    }

    /// Asks the upstream with all messages so far.
    async fn ask(&mut self) -> Result<Option<RunEnd>, ApiError> {
        if self.running.abandoned.is_cancelled() {
            return Err(abandoned());
        }
        count(&self.shared.metrics.rounds);
        self.rounds += 1;
        let body = self.body();
        let sent = forward::send(self.shared, &self.job.head, body.into());
        let response = tokio::select! {
            response = sent => response?,
            () = self.running.abandoned.cancelled() => return Err(abandoned()),
        };
        if response.status().is_success() {
            self.running.set_head(response.headers().clone());
            self.source = Source::Upstream(UpstreamEvents::new(response));
            return Ok(None);
        }
        let (head, body) = response.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes);
        let body = body.map_err(|error| {
            ApiError::new(
                StatusCode::BAD_GATEWAY,
                format!("the upstream's error response broke off: {error}"),
            )
        })?;
        if head.status == StatusCode::BAD_REQUEST && !self.is_without_thinking && refuses_thinking(&body) {
            self.is_without_thinking = true;
            if let Some(messages) = restore::without_thinking(&self.messages) {
                count(&self.shared.metrics.thinking_refused);
                tracing::warn!(session = %self.job.session, "the upstream refused thinking; asking once more without it");
                self.messages = messages;
                // Later rounds stand behind the same messages.
                if let Some(before) = restore::without_thinking(&self.restored.messages) {
                    self.restored.messages = before;
                }
                return Box::pin(self.ask()).await;
            }
        }
        Ok(Some(RunEnd::Failed {
            status: head.status,
            headers: head.headers,
            body,
        }))
    }

    /// The body for the upstream.
    fn body(&self) -> String {
        let messages = format!("[{}]", self.messages);
        let mut changes = vec![("messages", messages.as_str())];
        if let Some(tools) = &self.job.tools.declared {
            changes.push(("tools", tools));
        }
        let choice = (self.restored.continues_internal || self.machine.has_internal_round())
            .then(|| self.request.get("tool_choice").and_then(auto))
            .flatten();
        if let Some(choice) = &choice {
            changes.push(("tool_choice", choice));
        }
        self.request.with(&changes)
    }

    /// Stores the turn.
    async fn record(&mut self, answer: Answer) {
        let Job {
            client, recognized, ..
        } = self.job;
        let key = &self.shared.secret;
        let offset = self.restored.prior.len();
        let visible_blocks = || answer.visible.iter().map(|(block, _)| block);
        let head = after_answer(key, recognized.beginning, &recognized.groups, visible_blocks());
        let before: Vec<Block> = match recognized.groups.last().filter(|group| group.role == "assistant") {
            Some(group) => {
                let messages = group
                    .messages
                    .iter()
                    .filter_map(|at| self.request.messages.get(*at));
                messages
                    .flat_map(|message| message.blocks.iter().cloned())
                    .collect()
            }
            None => Vec::new(),
        };
        let mut truth = self.restored.prior.clone();
        truth.extend(answer.truth);
        let mut visible = self.restored.prior_visible.clone();
        visible.extend(answer.visible.iter().map(|(_, origin)| Origin {
            message: origin.message.saturating_add(offset),
            block: origin.block,
        }));
        let turn = Turn {
            id: crate::random::id(),
            session: self.job.session.clone(),
            head,
            context: recognized.context,
            answer: answer_digest(key, before.iter().chain(visible_blocks())),
            is_plain: answer.is_plain && self.restored.prior.is_empty() && !self.is_without_thinking,
            drops_thinking: self.is_without_thinking,
            truth,
            visible,
            calls: answer.calls,
            systems: self.restored.systems.clone(),
            state: session_tools::state(&self.registry),
        };
        let suspended = turn.is_suspended();
        count(if suspended {
            &self.shared.metrics.turns_suspended
        } else {
            &self.shared.metrics.turns_finished
        });
        save(self.shared, client, turn).await;
    }

    /// One line for each turn, without anything that was said.
    fn log(&self, began: Instant, end: &RunEnd) {
        let usage = self.machine.usage();
        let tokens = |field: &str| usage.get(field).and_then(Value::as_u64).unwrap_or_default();
        let status = match end {
            RunEnd::Done => 200,
            RunEnd::Failed { status, .. } => status.as_u16(),
        };
        tracing::info!(
            session = %self.job.session,
            found = self.job.recognized.found.as_str(),
            status,
            rounds = self.rounds,
            tools = self.machine.ran().join(","),
            input_tokens = tokens("input_tokens"),
            output_tokens = tokens("output_tokens"),
            milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "turn",
        );
    }
}

/// How often a client hears that a turn is alive while tools run.
const PING_INTERVAL: std::time::Duration = std::time::Duration::from_secs(10);

/// Stores a turn with the ids and keys by which it is found. A store that fails costs the session, not the answer.
pub(super) async fn save(shared: &Shared, client: &Client, turn: Turn) {
    let key = &shared.secret;
    let calls = turn
        .visible_ids()
        .map(|id| call_digest(key, &client.principal, id))
        .collect();
    let keys = client
        .keys
        .iter()
        .map(|name| key_digest(key, &client.principal, name))
        .collect();
    if let Err(error) = shared.store.save(turn, calls, keys).await {
        count(&shared.metrics.store_errors);
        tracing::error!(%error, "a turn was not stored; the client's history goes up as it is sent");
    }
}

/// Runs the deferred calls of the turn that is resumed, and stores their results with it, so that other branches do not run them
/// again, be they at work at the same time.
async fn run_deferred(
    shared: &Shared,
    job: &Job,
    registry: &Arc<ToolRegistry>,
    deferred: &[Call],
    deadline: Instant,
    running: &Running,
) -> Result<HashMap<String, Block>, ApiError> {
    let mut results = HashMap::new();
    let Some(head) = job.recognized.head().filter(|_| !deferred.is_empty()) else {
        return Ok(results);
    };
    let _alone = shared.resuming.lock(&head.id).await;
    let stored = shared.store.turns(&[head.head]).await.unwrap_or_default();
    let stored = stored.iter().flatten().find(|turn| turn.id == head.id);
    let mut turn = Turn::clone(stored.unwrap_or(head));
    if stored.is_some_and(|turn| {
        turn.calls
            .iter()
            .all(|call| call.result.is_some() || call.owner == Owner::Client)
    }) {
        // Another branch ran them; the session's tools go on from there.
        session_tools::restore(registry, turn.state.as_ref());
    }
    let is_open = |call: &&Call| {
        !turn
            .calls
            .iter()
            .any(|stored| stored.id == call.id && stored.result.is_some())
    };
    let open: Vec<_> = deferred.iter().filter(is_open).cloned().enumerate().collect();
    for _ in &open {
        count(&shared.metrics.calls);
    }
    if !open.is_empty() {
        let mut done = calls::start(
            registry,
            &job.session,
            open.clone(),
            // The client has answered this message: it cannot take over a call of it.
            &BTreeSet::new(),
            deadline,
            &running.abandoned,
        );
        while let Some(event) = done.recv().await {
            if let Event::Result { call, result } = event
                && let Some((_, call)) = open.get(call)
            {
                results.insert(call.id.clone(), result);
            }
        }
        for call in &mut turn.calls {
            if call.result.is_none() {
                call.result = results.get(&call.id).cloned();
            }
        }
        turn.state = session_tools::state(registry);
        save(shared, &job.client, turn.clone()).await;
    }
    for call in deferred {
        let result = turn
            .calls
            .iter()
            .find(|stored| stored.id == call.id)
            .and_then(|stored| stored.result.clone());
        // It was stopped, since nobody waits for it.
        let result = result.ok_or_else(abandoned)?;
        results.insert(call.id.clone(), result);
    }
    Ok(results)
}

fn json_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
}

/// Nobody reads this but a retry that comes in the same moment, and may come again.
fn abandoned() -> ApiError {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "the request was abandoned by its client; send it again",
    )
}

/// A forced choice of a tool as `auto`, or it would be forced again and again.
fn auto(choice: &str) -> Option<String> {
    let mut choice: Value = serde_json::from_str(choice).ok()?;
    let fields = choice.as_object_mut()?;
    if !matches!(fields.get("type")?.as_str()?, "any" | "tool") {
        return None;
    }
    fields.insert("type".to_owned(), "auto".into());
    fields.shift_remove("name");
    Some(choice.to_string())
}

/// Whether an error of the upstream is about the signature of thinking.
fn refuses_thinking(body: &Bytes) -> bool {
    let Ok(error) = serde_json::from_slice::<Value>(body) else {
        return false;
    };
    let message = error
        .pointer("/error/message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    message.contains("thinking")
        && (message.contains("signature") || message.contains("different conversation"))
}
