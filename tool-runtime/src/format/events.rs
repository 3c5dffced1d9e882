//! [`Events`]: the events of a stream, from its bytes.

use serde_json::Value;
use tool_repair::sse::{Frame, SseDecoder};

use super::stream_error::StreamError;

/// The events of one stream. Comments and events without data are skipped.
#[derive(Debug, Default)]
pub(super) struct Events {
    decoder: SseDecoder,
    received: usize,
}

/// One event with data.
#[derive(Debug)]
pub(super) struct Incoming {
    /// The `event:` line.
    pub(super) name: Option<String>,
    pub(super) data: String,
}

impl Incoming {
    /// Whether it is the end of a stream of `OpenAI`'s.
    pub(super) fn is_done(&self) -> bool {
        self.data.trim() == "[DONE]"
    }

    /// The data as JSON.
    pub(super) fn json(&self) -> Result<Value, StreamError> {
        serde_json::from_str(&self.data)
            .or_else(|_| serde_json::from_str(&with_whole_characters(&self.data)))
            .map_err(|error| StreamError::invalid(error.to_string()))
    }
}

impl Events {
    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.received += bytes.len();
        self.decoder.push(bytes);
    }

    /// The next event, if it is complete.
    pub(super) fn next(&mut self) -> Result<Option<Incoming>, StreamError> {
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
            return Ok(Some(Incoming { name, data }));
        }
        Ok(None)
    }

    /// The last event, if only its blank line is missing.
    pub(super) fn last(&mut self) -> Result<Option<Incoming>, StreamError> {
        self.decoder.finish();
        let last = self.next()?;
        Ok(last.filter(|last| last.is_done() || last.json().is_ok()))
    }
}

/// JSON in which halves of surrogate pairs that stand alone are U+FFFD: servers cut texts at UTF-16 code units, and `serde_json` reads
/// none of it then. (The arguments of calls are put together before they are read.)
fn with_whole_characters(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (text, escape) = rest.split_at(at);
        out.push_str(text);
        let unit = |at: usize| {
            let digits = escape.get(at..at + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let length = match (unit(0), unit(6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => 0,
            _ => 2,
        };
        if length == 0 {
            out.push_str("\\ufffd");
        }
        let (kept, after) = escape
            .split_at_checked(if length == 0 { 6 } else { length })
            .unwrap_or((escape, ""));
        if length > 0 {
            out.push_str(kept);
        }
        rest = after;
    }
    out + rest
}

/// More than an answer has.
const LIMIT: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_halves_of_characters() {
        let event = |data: &str| Incoming {
            name: None,
            data: data.to_owned(),
        };
        for (data, text) in [
            (r#""a\ud83d\ude00\n""#, "a😀\n"),
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00\\ud83d\"""#, "\u{fffd}\\ud83d\""),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        ] {
            assert_eq!(event(data).json(), Ok(Value::from(text)), "{data}");
        }
        assert!(event("{").json().is_err());
    }
}
