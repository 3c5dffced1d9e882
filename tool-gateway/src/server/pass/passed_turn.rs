//! [`PassedTurn`]: a turn without internal tools.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Map, Value};
use tracing::Span;

use super::passing_message::PassedMessage;
use crate::off_worker::in_place;
use crate::server::drive::save::save;
use crate::server::observe::log::TurnLine;
use crate::server::observe::metrics::TurnEnd;
use crate::server::observe::spans;
use crate::server::turns::running_turn::abandoned;
use crate::server::turns::shared::Shared;
use crate::session::chain::Digest;
use crate::session::client::Client;
use crate::session::known_history::Found;
use crate::session::message_groups::{AnswerContent, AnswerPlace};
use crate::session::recognize::Recognized;
use crate::session::record::{SessionId, Turn};
use crate::session::turn_record::TurnRecord;
use crate::wire::block::Block;
use crate::wire::usage::TokenCounts;

/// Maximum time for which the end of an answer waits for the store. The save then continues in the background, and a request that arrives
/// before the end of the save begins a new session.
const MAX_WAIT: Duration = Duration::from_millis(250);

/// A turn whose message passes through. Counted and logged on drop: at the end of the message, or after an error or a disconnect.
pub(crate) struct PassedTurn {
    shared: Arc<Shared>,
    client: Client,
    found: Found,
    answer_place: AnswerPlace,
    context: Digest,
    state: Map<String, Value>,
    session: SessionId,
    span: Span,
    /// Digest of the gateway's tools.
    generation: Option<Digest>,
    /// Requested model, if a text with calls of this model is to be in the log.
    text_call_model: Option<String>,
    began: Instant,
    status: StatusCode,
    usage: Map<String, Value>,
}

impl PassedTurn {
    /// Creates a turn. Until the turn ends, its status is the status of a disconnect.
    pub(crate) fn new(
        shared: Arc<Shared>,
        client: Client,
        recognized: Recognized,
        session: SessionId,
        generation: Option<Digest>,
        span: Span,
        text_call_model: Option<String>,
    ) -> Self {
        // The groups of a long history are freed.
        let Recognized {
            found,
            answer_place,
            context,
            state,
            ..
        } = recognized;
        Self {
            shared,
            client,
            found,
            answer_place,
            context,
            state,
            session,
            generation,
            span,
            text_call_model,
            began: Instant::now(),
            status: abandoned().status,
            usage: Map::new(),
        }
    }

    /// Sets the status of a turn without a message.
    pub(crate) fn fail(&mut self, status: StatusCode) {
        self.status = status;
    }

    /// Sets the usage of the message.
    pub(crate) fn set_usage(&mut self, usage: Map<String, Value>) {
        self.usage = usage;
    }

    /// Stores the turn with the model's message.
    pub(crate) async fn end(mut self, message: PassedMessage) {
        self.usage = message.usage;
        let Some(blocks) = message.blocks else {
            self.fail(StatusCode::BAD_GATEWAY);
            return;
        };
        self.status = StatusCode::OK;
        if let Some(model) = &self.text_call_model {
            self.shared.metrics.text_calls.check_off(model, &blocks);
        }
        let bytes = blocks.iter().map(Block::size).sum();
        let turn = in_place(bytes, || self.turn(&blocks));
        let limits = Arc::clone(&self.shared.client_limits);
        let mut saving = Box::pin(async move {
            // A failed save loses only the session; the client still receives the answer.
            let _ = save(&self.shared, &self.client, TurnRecord::new(turn), 0, None).await;
        });
        if tokio::time::timeout(MAX_WAIT, &mut saving).await.is_err() {
            // The end of the program waits for the save.
            let running = limits.begin_save();
            tokio::spawn(async move {
                saving.await;
                drop(running);
            });
        }
    }

    /// Builds the record of the turn, for requests that continue from it.
    fn turn(&self, blocks: &[Block]) -> Turn {
        let answer = AnswerContent::new(&self.shared.secret, &blocks.iter());
        Turn {
            id: crate::random::id(),
            session: self.session.clone(),
            point: answer.point(&self.answer_place),
            context: self.context,
            // Nothing is restored, so no text is compared.
            answer: answer.joined(true),
            outline: answer.joined(true),
            is_joined: true,
            begun: None,
            truth: Vec::new(),
            is_unchanged: true,
            drops_thinking: false,
            visible: Vec::new(),
            calls: Vec::new(),
            systems: Vec::new(),
            state: self.state.clone(),
            generation: self.generation,
        }
    }
}

impl Drop for PassedTurn {
    fn drop(&mut self) {
        self.shared.metrics.turn(if self.status.is_success() {
            TurnEnd::PassedThrough
        } else {
            TurnEnd::Failed
        });
        let tokens = TokenCounts::new(&self.usage);
        spans::record(&self.span, self.status, &tokens);
        let line = TurnLine {
            session: &self.session,
            found: self.found,
            status: self.status.as_u16(),
            rounds: 1,
            tools: &[],
            tokens,
            took: self.began.elapsed(),
        };
        line.write(&self.shared.metrics);
    }
}
