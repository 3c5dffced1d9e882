//! The repair of one stream, pushed: bytes in, bytes out.

use super::super::format_fixing::FormatFixing;
use super::anthropic::Anthropic;
use super::chat::Chat;
use super::dialect::Dialect;
use super::record::RepairRecord;
use super::responses::Responses;
use super::shared::{Shared, StreamLimits, StreamState};
use crate::sse::{Event, Frame, SseDecoder};

/// Repairs the tool calls of one stream of server-sent events, whatever the pieces it comes in.
///
/// At the end of the stream [`finish`](Self::finish) it, or [`abort`](Self::abort): what is held then is lost
/// otherwise. What is pushed after that passes as it comes.
///
/// ```
/// use tool_repair::FormatFixing;
/// use tool_repair::stream::{Dialect, StreamRepairer};
///
/// let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::default());
/// let mut out = Vec::new();
/// repairer.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\nda", &mut out);
/// repairer.push(b"ta: [DONE]\n\n", &mut out);
/// repairer.finish(&mut out);
/// assert_eq!(out, b"data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n");
/// assert!(repairer.take_records().is_empty());
/// ```
#[derive(Debug)]
pub struct StreamRepairer {
    framer: SseDecoder,
    calls: Calls,
    state: StreamState,
    /// Nothing is looked at (any more).
    passing: bool,
}

#[derive(Debug)]
enum Calls {
    Chat(Chat),
    Responses(Responses),
    Anthropic(Anthropic),
}

impl StreamRepairer {
    /// A repairer with the default limits.
    pub fn new(dialect: Dialect, fixing: FormatFixing) -> Self {
        Self::with(dialect, fixing, StreamLimits::default())
    }

    /// A repairer with other limits.
    pub fn with(dialect: Dialect, fixing: FormatFixing, limits: StreamLimits) -> Self {
        let calls = match dialect {
            Dialect::ChatCompletions => Calls::Chat(Chat::default()),
            Dialect::Responses => Calls::Responses(Responses::default()),
            Dialect::Anthropic => Calls::Anthropic(Anthropic::default()),
        };
        Self {
            framer: SseDecoder::with_limit(limits.event),
            calls,
            passing: !fixing.enabled,
            state: StreamState::new(fixing, limits),
        }
    }

    /// Takes the next bytes of the stream and appends to `out` what may leave now.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.passing {
            if !self.state.failed {
                out.extend_from_slice(bytes);
            }
            return;
        }
        self.framer.push(bytes);
        self.take_frames(false, out);
    }

    /// Ends the stream: appends to `out` all that is left. Calls that are under way end with it.
    /// What is pushed afterwards passes as it comes.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if self.passing {
            return;
        }
        self.framer.finish();
        self.take_frames(true, out);
        if !self.passing {
            self.calls.end(
                false,
                &mut Shared {
                    state: &mut self.state,
                    out,
                },
            );
        }
        self.passing = true;
    }

    /// Ends a stream that broke off, with an error of the connection, say: the arguments of calls under way were cut
    /// off, so that what is held of them leaves as it came.
    pub fn abort(&mut self, out: &mut Vec<u8>) {
        if self.passing {
            return;
        }
        let mut shared = Shared {
            state: &mut self.state,
            out,
        };
        self.calls.end(true, &mut shared);
        shared.send(self.framer.rest());
        self.passing = true;
    }

    /// What became of the calls that ended since the last time, if their arguments were not simply JSON. Up to
    /// 4,096 wait to be taken; those above are only told through `tracing`.
    #[must_use = "the records are given out once"]
    pub fn take_records(&mut self) -> Vec<RepairRecord> {
        self.state.take_records()
    }

    /// The names of the tools whose calls passed untouched, since they are not
    /// [`target_tools`](FormatFixing::target_tools); the first 64. A call that has no name is one of `""`.
    pub fn skipped(&self) -> &[String] {
        self.state.skipped()
    }

    /// How many tool calls were seen so far, of whatever tools. None in a stream that has some: it is of another
    /// dialect.
    pub fn calls(&self) -> u64 {
        self.state.calls()
    }

    /// Why the rest of the stream passes untouched, once it does: an event or the number of calls went over the
    /// [limits](StreamLimits). Calls that were under way are reported as refused; those after are not known.
    ///
    /// ```
    /// use tool_repair::FormatFixing;
    /// use tool_repair::stream::{Dialect, StreamLimits, StreamRepairer};
    ///
    /// let limits = StreamLimits { event: 1000, ..StreamLimits::default() };
    /// let mut repairer = StreamRepairer::with(Dialect::ChatCompletions, FormatFixing::default(), limits);
    /// repairer.push(format!("data: {}\n\n", "x".repeat(2000)).as_bytes(), &mut Vec::new());
    /// assert_eq!(repairer.bailout_reason(), Some("an event of more than 1000 bytes"));
    /// ```
    pub fn bailout_reason(&self) -> Option<&str> {
        self.state.lost()
    }

    /// Whether the stream ended with an error that was put in for a call that could not be repaired
    /// ([`fallback_on_error`](FormatFixing::fallback_on_error) is off). Nothing leaves after it.
    pub fn failed(&self) -> bool {
        self.state.failed
    }

    fn take_frames(&mut self, ended: bool, out: &mut Vec<u8>) {
        let mut shared = Shared {
            state: &mut self.state,
            out,
        };
        loop {
            let goes_on = self.framer.line_left();
            let Some(frame) = self.framer.next_frame() else {
                return;
            };
            match frame {
                Frame::Event(event) => self.calls.event(&event, &mut shared),
                Frame::Oversized { raw, .. } => {
                    let message = format!("an event of more than {} bytes", shared.state.limits.event);
                    self.calls.give_up(&message, &mut shared);
                    shared.send(raw);
                    shared.state.lose(message);
                }
                Frame::Ignored(raw) => {
                    let comment = raw.starts_with(b":") && !goes_on;
                    if ended && comment && !raw.ends_with(b"\n") && !raw.ends_with(b"\r") {
                        self.calls.end(false, &mut shared); // the stream ends inside of it: nothing can follow
                    }
                    shared.send(raw);
                }
            }
            if shared.state.lost().is_some() || shared.state.failed {
                self.passing = true;
                return shared.send(self.framer.rest());
            }
        }
    }
}

impl Calls {
    fn event(&mut self, event: &Event<'_>, shared: &mut Shared<'_>) {
        match self {
            Self::Chat(calls) => calls.event(event, shared),
            Self::Responses(calls) => calls.event(event, shared),
            Self::Anthropic(calls) => calls.event(event, shared),
        }
    }

    fn end(&mut self, cut: bool, shared: &mut Shared<'_>) {
        match self {
            Self::Chat(calls) => calls.end(cut, shared),
            Self::Responses(calls) => calls.end(cut, shared),
            Self::Anthropic(calls) => calls.end(cut, shared),
        }
    }

    fn give_up(&mut self, message: &str, shared: &mut Shared<'_>) {
        match self {
            Self::Chat(calls) => calls.give_up(message, shared),
            Self::Responses(calls) => calls.give_up(message, shared),
            Self::Anthropic(calls) => calls.give_up(message, shared),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_what_is_pushed_after_the_end() {
        let late = b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":\
            {\"name\":\"TodoWrite\",\"arguments\":\"{'a'\"}}]}}]}\n\n";
        let ends: [fn(&mut StreamRepairer, &mut Vec<u8>); 2] =
            [StreamRepairer::finish, StreamRepairer::abort];
        for end in ends {
            let mut repairer = StreamRepairer::new(Dialect::ChatCompletions, FormatFixing::for_every_tool());
            let mut out = Vec::new();
            end(&mut repairer, &mut out);
            repairer.push(late, &mut out);
            assert_eq!(out, late);
        }
    }
}
