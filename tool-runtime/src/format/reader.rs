//! [`StreamReader`]: reads a streamed response of any API.

use serde_json::Value;
use tool_repair::FormatFixing;
use tool_repair::stream::{CallEvent, CallReader, Dialect, ReadCall, RepairRecord};

use super::delta::Delta;
use super::events::{Events, RawEvent};
use super::stream_error::StreamError;
use super::surrogates::PendingSurrogates;

/// Reads the stream of a response: decodes events, finds the calls in them, and passes both to the response.
#[derive(Debug)]
pub(super) struct StreamReader<R> {
    events: Events,
    calls: CallReader,
    surrogates: PendingSurrogates,
    response: R,
}

/// Response of an API while it is received.
pub(super) trait StreamedResponse: Default {
    const DIALECT: Dialect;
    /// Type of the whole response.
    type Response;

    /// Returns whether the last event has arrived.
    fn is_complete(&self) -> bool;

    /// Handles an event.
    fn on_event(
        &mut self,
        event: Event<'_>,
        surrogates: &mut PendingSurrogates,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), StreamError>;

    /// Handles `[DONE]`. Returns whether the API defines `[DONE]` as the end of a stream. Servers that implement several
    /// APIs also send `[DONE]` in APIs that do not define it; readers of these APIs ignore it.
    fn on_done(&mut self, _surrogates: &mut PendingSurrogates, _deltas: &mut Vec<Delta>) -> bool {
        false
    }

    /// Handles the calls that the last event began or ended.
    fn on_calls(&mut self, calls: Vec<CallEvent>, deltas: &mut Vec<Delta>);

    /// Returns the complete response at the end of the stream.
    fn finish(self) -> Result<Self::Response, StreamError>;
}

/// An event with JSON data.
#[derive(Debug)]
pub(super) struct Event<'a> {
    /// Value of the `event:` line.
    pub(super) name: Option<&'a str>,
    pub(super) data: Value,
}

impl Event<'_> {
    /// Returns the `type` of the event, or its name if the data have none.
    pub(super) fn kind(&self) -> &str {
        let kind = self.data.get("type").and_then(Value::as_str);
        kind.or(self.name).unwrap_or_default()
    }
}

impl<R: StreamedResponse> StreamReader<R> {
    pub(super) fn new() -> Self {
        Self {
            events: Events::default(),
            calls: CallReader::new(R::DIALECT, FormatFixing::for_every_tool()),
            surrogates: PendingSurrogates::default(),
            response: R::default(),
        }
    }

    /// Handles the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Delta>, StreamError> {
        let mut deltas = Vec::new();
        self.events.push(bytes);
        while let Some(incoming) = self.events.next()? {
            self.on_event(&incoming, &mut deltas)?;
        }
        Ok(deltas)
    }

    /// Handles the next event, which another library has decoded.
    pub(super) fn push_event(&mut self, event: &Value) -> Result<Vec<Delta>, StreamError> {
        let mut deltas = Vec::new();
        let (name, data) = (None, event.to_string());
        self.on_event(&RawEvent { name, data }, &mut deltas)?;
        Ok(deltas)
    }

    pub(super) fn take_records(&mut self) -> Vec<RepairRecord> {
        self.calls.take_records()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.response.is_complete()
    }

    /// Ends the stream.
    pub(super) fn finish(mut self) -> Result<R::Response, StreamError> {
        if let Some(last) = self.events.last()? {
            self.on_event(&last, &mut Vec::new())?;
        }
        let ended = self.calls.finish();
        self.on_calls(ended, &mut Vec::new())?;
        self.response.finish()
    }

    fn on_event(&mut self, incoming: &RawEvent, deltas: &mut Vec<Delta>) -> Result<(), StreamError> {
        if self.response.is_complete() {
            return Ok(());
        }
        let name = incoming.name.as_deref();
        let calls = if incoming.is_done() {
            if !self.response.on_done(&mut self.surrogates, deltas) {
                return Ok(());
            }
            self.calls.read(name, &incoming.data)
        } else {
            let data = self
                .surrogates
                .parse(name, &incoming.data)
                .map_err(|error| StreamError::invalid(error.to_string()))?;
            // Before `on_event`, which returns an error for an error event: such an event also ends the open calls, and the
            // records of their repair would be lost.
            let calls = self.calls.read(name, &incoming.data);
            self.response
                .on_event(Event { name, data }, &mut self.surrogates, deltas)?;
            calls
        };
        self.on_calls(calls, deltas)
    }

    fn on_calls(&mut self, calls: Vec<CallEvent>, deltas: &mut Vec<Delta>) -> Result<(), StreamError> {
        let is_unattributed = |event: &CallEvent| {
            matches!(
                event,
                CallEvent::Ended(ReadCall { ambiguous: true, .. }) | CallEvent::Unattributed
            )
        };
        if calls.iter().any(is_unattributed) {
            return Err(StreamError::unattributed());
        }
        self.response.on_calls(calls, deltas);
        match self.calls.bailout_reason() {
            Some(reason) => Err(StreamError::TooLarge {
                reason: reason.to_owned(),
            }),
            None => Ok(()),
        }
    }
}
