//! [`PassedTurn`]: a turn in which the gateway has no part.

use std::sync::Arc;
use std::time::Instant;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use tracing::Span;

use super::passing_message::PassedMessage;
use crate::server::drive::save::save;
use crate::server::observe::log::TurnLine;
use crate::server::observe::metrics::TurnEnd;
use crate::server::observe::spans;
use crate::server::turns::running_turn::abandoned;
use crate::server::turns::shared::Shared;
use crate::session::chain::AnswerContent;
use crate::session::recognize::{Client, Recognized};
use crate::session::record::{SessionId, Turn};
use crate::wire::block::Block;

/// A turn whose message passes. It is counted and has its line of the log when it is dropped: the message has gone out, or never came,
/// or the client has gone away before.
pub(crate) struct PassedTurn {
    shared: Arc<Shared>,
    client: Client,
    recognized: Recognized,
    session: SessionId,
    span: Span,
    began: Instant,
    status: StatusCode,
    usage: Map<String, Value>,
}

impl PassedTurn {
    /// Begins as one whose client goes away.
    pub(crate) fn new(
        shared: Arc<Shared>,
        client: Client,
        recognized: Recognized,
        session: SessionId,
        span: Span,
    ) -> Self {
        Self {
            shared,
            client,
            recognized,
            session,
            span,
            began: Instant::now(),
            status: abandoned().status,
            usage: Map::new(),
        }
    }

    /// Sets how it ends without a message.
    pub(crate) fn fail(&mut self, status: StatusCode) {
        self.status = status;
    }

    /// Sets the tokens that the message took.
    pub(crate) fn set_usage(&mut self, usage: Map<String, Value>) {
        self.usage = usage;
    }

    /// Ends with what the model said, and stores it.
    pub(crate) async fn end(mut self, message: PassedMessage) {
        self.usage = message.usage;
        let Some(blocks) = message.blocks else {
            self.fail(StatusCode::BAD_GATEWAY);
            return;
        };
        self.status = StatusCode::OK;
        // A store that fails costs the session, not the answer.
        let _ = save(&self.shared, &self.client, self.turn(&blocks), None).await;
    }

    /// The turn that a message is, for the requests that go on from it.
    fn turn(&self, blocks: &[Block]) -> Turn {
        let Recognized {
            beginning,
            groups,
            context,
            state,
            ..
        } = &self.recognized;
        let answer = AnswerContent::new(&self.shared.secret, blocks.iter());
        Turn {
            id: crate::random::id(),
            session: self.session.clone(),
            point: answer.point(*beginning, groups),
            context: *context,
            answer: answer.digest(),
            // It has no calls by which it could be found.
            outline: answer.digest(),
            truth: Vec::new(),
            is_unchanged: true,
            drops_thinking: false,
            visible: Vec::new(),
            calls: Vec::new(),
            systems: Vec::new(),
            state: state.clone(),
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
        spans::record(&self.span, self.status, &self.usage);
        let line = TurnLine {
            session: &self.session,
            found: self.recognized.found,
            status: self.status.as_u16(),
            rounds: 1,
            tools: &[],
            usage: &self.usage,
            took: self.began.elapsed(),
        };
        line.write(&self.shared.metrics);
    }
}
