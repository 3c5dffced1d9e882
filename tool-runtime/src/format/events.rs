//! [`Events`]: decodes the events of a stream.

use tool_repair::sse::{Frame, SseDecoder};

use super::stream_error::StreamError;
use super::surrogates::parse_lossy;

/// Events of a stream. Comments and events without data are skipped.
#[derive(Debug, Default)]
pub(super) struct Events {
    decoder: SseDecoder,
    received: usize,
}

/// An event with data.
#[derive(Debug)]
pub(super) struct RawEvent {
    /// Value of the `event:` line.
    pub(super) name: Option<String>,
    pub(super) data: String,
}

impl RawEvent {
    /// Returns whether the event ends a stream of an `OpenAI` API.
    pub(super) fn is_done(&self) -> bool {
        self.data.trim() == "[DONE]"
    }
}

impl Events {
    /// Appends the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.received += bytes.len();
        self.decoder.push(bytes);
    }

    /// Returns the next complete event.
    pub(super) fn next(&mut self) -> Result<Option<RawEvent>, StreamError> {
        if self.received > LIMIT {
            let reason = format!("more than {LIMIT} bytes");
            return Err(StreamError::TooLarge { reason });
        }
        while let Some(frame) = self.decoder.next_frame() {
            let event = match frame {
                Frame::Event(event) => event,
                Frame::Oversized { .. } => {
                    let reason = format!("an event of more than {} bytes", SseDecoder::LIMIT);
                    return Err(StreamError::TooLarge { reason });
                }
                _ => continue,
            };
            let Some(data) = event.data() else { continue };
            if data.trim_ascii().is_empty() {
                continue;
            }
            let data = String::from_utf8(data.into_owned())
                .map_err(|_| StreamError::invalid("the data of an event is not UTF-8"))?;
            let name = event.name().map(str::to_owned);
            return Ok(Some(RawEvent { name, data }));
        }
        Ok(None)
    }

    /// Returns the last event, if only its blank line is missing.
    pub(super) fn last(&mut self) -> Result<Option<RawEvent>, StreamError> {
        self.decoder.finish();
        let last = self.next()?;
        Ok(last.filter(|last| last.is_done() || parse_lossy(&last.data).is_ok()))
    }
}

/// Maximum number of buffered bytes, more than a response has.
const LIMIT: usize = 256 << 20;
