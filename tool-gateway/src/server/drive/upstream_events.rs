//! [`UpstreamEvents`]: the upstream's message as events for the state machine.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use axum::http::StatusCode;

use crate::server::body::idle::IdleTimer;
use crate::turn::event::Event;
use crate::upstream::answer::{MessageEvent, MessageEvents, Part};
use crate::wire::block_order::BlockOrder;
use crate::wire::error::ApiError;
use crate::wire::event::StreamEvent;
use crate::wire::half_pairs::{HalfPairs, JoinedEvent};
use crate::wire::message::WholeMessage;

/// Events of the upstream's message, each with a deadline.
pub(crate) struct UpstreamEvents {
    events: MessageEvents,
    timer: IdleTimer,
    order: BlockOrder,
    halves: HalfPairs,
    /// Remaining events of a message that was not streamed, or after half a surrogate pair.
    whole: VecDeque<Event>,
}

impl UpstreamEvents {
    pub(crate) fn new(events: MessageEvents, idle: Duration) -> Self {
        Self {
            events,
            timer: IdleTimer::new(idle),
            order: BlockOrder::default(),
            halves: HalfPairs::default(),
            whole: VecDeque::new(),
        }
    }

    /// Returns the next event; `None` if `silence` has elapsed before. The error describes how the message was truncated, or is the
    /// upstream's error.
    pub(crate) async fn next(&mut self, silence: &mut IdleTimer) -> Result<Option<Event>, ApiError> {
        let Self {
            events,
            timer,
            order,
            halves,
            whole,
        } = self;
        loop {
            if let Some(event) = whole.pop_front() {
                if whole.is_empty() {
                    // The list of a message with many blocks is not needed any more.
                    *whole = VecDeque::new();
                }
                return Ok(Some(event));
            }
            let event = poll_fn(|cx| match timer.poll(cx, |cx| events.poll_next(cx)) {
                Poll::Ready(event) => Poll::Ready(Some(event)),
                Poll::Pending => silence.poll_elapsed(cx).map(|_| None),
            });
            let Some(event) = event.await else {
                return Ok(None);
            };
            let event =
                event.map_err(|idle| bad_gateway(format!("the upstream's response was cut off: {idle}")))?;
            let event =
                event.ok_or_else(|| bad_gateway("the upstream's response ended before its message did"))?;
            let MessageEvent(part) = event.map_err(ApiError::from)?;
            match part {
                Part::Event(event) => {
                    order
                        .push(&event)
                        .map_err(|error| bad_gateway(error.to_string()))?;
                    let JoinedEvent { before, event } = halves.join(event);
                    let event = Event::Stream(event);
                    return Ok(Some(match before.map(Event::Stream) {
                        None => event,
                        Some(before) => {
                            whole.push_back(event);
                            before
                        }
                    }));
                }
                Part::Block(block) => return Ok(Some(Event::Block(block))),
                Part::RecoveredCall(block) => return Ok(Some(Event::RecoveredCall(block))),
                // No event is left here.
                Part::Whole(message) => *whole = whole_message(message),
                Part::KeepAlive => {}
            }
        }
    }
}

/// Converts a whole message to one event, or to the events of a stream if the message has calls.
fn whole_message(message: WholeMessage) -> VecDeque<Event> {
    if !message.has_tool_use() {
        return [Event::Message(message)].into();
    }
    let (start, end) = message.start_and_end();
    let start = Event::Stream(StreamEvent::MessageStart(start));
    let end = [StreamEvent::MessageDelta(end), StreamEvent::MessageStop].map(Event::Stream);
    let mut events = VecDeque::with_capacity(message.blocks().len() + 3);
    events.push_back(start);
    events.extend(message.shared_blocks().map(Event::Block));
    events.extend(end);
    events
}

fn bad_gateway(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::BAD_GATEWAY, message)
}
