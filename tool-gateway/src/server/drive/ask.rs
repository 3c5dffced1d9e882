//! Requests of a turn to the upstream, which are repeated while the upstream is overloaded, and once without rejected thinking.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use axum::http::{StatusCode, response};

use super::begin::{Drive, Source, tokio_now};
use super::forward;
use super::overload::OverloadWaits;
use super::upstream_events::UpstreamEvents;
use crate::off_worker::in_place;
use crate::server::body::idle::IdleTimer;
use crate::server::observe::spans;
use crate::server::turns::running_turn::{RunEnd, abandoned};
use crate::turn::thinking::{self, RefusedThinking};
use crate::turn::upstream_request::{self, AskedRound};
use crate::upstream::TurnBody;
use crate::wire::error::ApiError;

impl Drive<'_> {
    /// Sends all messages so far to the upstream. If the upstream rejects thinking blocks, repeats the request without them.
    pub(super) async fn ask(&mut self) -> Result<Option<RunEnd>, ApiError> {
        let mut waits = OverloadWaits::new();
        loop {
            if self.running.abandoned.is_cancelled() {
                return Err(abandoned());
            }
            self.shared.metrics.rounds.inc();
            self.rounds += 1;
            let is_thinking_off = self.conversation.lacks_thinking();
            let body = in_place(self.job.request.len(), || {
                let round = AskedRound {
                    messages: self.conversation.messages(&self.job.request),
                    is_after_internal: self.conversation.restored.continues_internal
                        || self.machine.has_internal_round(),
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
                && self.conversation.refused_thinking.is_none()
                && thinking::is_refused(&body)
                && (in_place(self.job.request.len(), || {
                    self.conversation.messages(&self.job.request).have_thinking()
                }) || (!is_thinking_off && upstream_request::asks_for_thinking(&self.job.request)));
            if !is_repeated {
                return Ok(Some(RunEnd::Failed {
                    status: parts.status,
                    headers: parts.headers,
                    body,
                }));
            }
            self.shared.metrics.thinking_refused.inc();
            tracing::warn!(session = %self.job.session, "the upstream refused thinking; asking once more without it");
            self.conversation.refused_thinking = Some(RefusedThinking {
                turn_messages: self.conversation.asked.len(),
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
}
