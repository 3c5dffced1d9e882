//! [`Events`]: the events of a stream, from its bytes.

use serde_json::Value;

use super::stream_error::StreamError;
use tool_repair::sse::{Frame, SseDecoder};

/// The events of one stream. Comments are skipped.
#[derive(Debug, Default)]
pub(super) struct Events {
    decoder: SseDecoder,
}

/// One event with data.
#[derive(Debug)]
pub(super) struct Incoming {
    /// The `event:` line.
    pub(super) name: Option<String>,
    pub(super) data: String,
}

impl Incoming {
    /// The data as JSON.
    pub(super) fn json(&self) -> Result<Value, StreamError> {
        serde_json::from_str(&self.data).map_err(|error| StreamError::invalid(error.to_string()))
    }
}

impl Events {
    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    /// The next event, if it is complete.
    pub(super) fn next(&mut self) -> Result<Option<Incoming>, StreamError> {
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
            // Servers that cut a character in two send the rest in the next event; neither half can be recovered.
            let data = String::from_utf8(data.into_owned())
                .map_err(|_| StreamError::invalid("the data of an event is not UTF-8"))?;
            let name = event.name().map(str::to_owned);
            return Ok(Some(Incoming { name, data }));
        }
        Ok(None)
    }

    /// The last event, if its blank line is missing and it is complete otherwise.
    pub(super) fn last(&mut self) -> Result<Option<Incoming>, StreamError> {
        self.decoder.finish();
        let last = self.next()?;
        Ok(last.filter(|last| last.data.trim() == DONE || last.json().is_ok()))
    }
}

/// The data with which `OpenAI`'s streams end.
pub(super) const DONE: &str = "[DONE]";
