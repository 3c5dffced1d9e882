//! The repair of one stream, pushed: bytes in, bytes out.

use super::editor::Editor;
use crate::format_fixing::FormatFixing;
use crate::sse::{Frame, SseDecoder};
use crate::stream::call::record::RepairRecord;
use crate::stream::call::state::StreamLimits;
use crate::stream::read::dialect::Dialect;
use crate::stream::read::reader::Reader;

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
    reader: Reader,
    editor: Editor,
    /// Nothing is looked at (any more).
    passing: bool,
}

impl StreamRepairer {
    /// A repairer with the default limits.
    pub fn new(dialect: Dialect, fixing: FormatFixing) -> Self {
        Self::with(dialect, fixing, StreamLimits::default())
    }

    /// A repairer with other limits.
    pub fn with(dialect: Dialect, fixing: FormatFixing, limits: StreamLimits) -> Self {
        Self {
            framer: SseDecoder::with_limit(limits.event),
            passing: !fixing.enabled,
            reader: Reader::new(dialect, fixing, limits),
            editor: Editor::default(),
        }
    }

    /// Takes the next bytes of the stream and appends to `out` what may leave now.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.passing {
            return self.editor.send(bytes, out);
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
            self.editor.end(false, &mut self.reader, out);
        }
        self.passing = true;
    }

    /// Ends a stream that broke off, with an error of the connection, say: the arguments of calls under way were cut
    /// off, so that what is held of them leaves as it came.
    pub fn abort(&mut self, out: &mut Vec<u8>) {
        if self.passing {
            return;
        }
        self.editor.end(true, &mut self.reader, out);
        self.editor.send(self.framer.rest(), out);
        self.passing = true;
    }

    /// What became of the calls that ended since the last time, if their arguments were not simply JSON. Up to
    /// 4,096 wait to be taken; those above are only told through `tracing`.
    #[must_use = "the records are given out once"]
    pub fn take_records(&mut self) -> Vec<RepairRecord> {
        self.reader.state.take_records()
    }

    /// The names of the tools whose calls passed untouched, since they are not
    /// [`target_tools`](FormatFixing::target_tools); the first 64. A call that has no name is one of `""`.
    pub fn skipped(&self) -> &[String] {
        self.reader.state.skipped()
    }

    /// How many tool calls were seen so far, of whatever tools. None in a stream that has some: it is of another
    /// dialect.
    pub fn calls(&self) -> u64 {
        self.reader.state.calls()
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
        self.reader.state.lost()
    }

    /// Whether the stream ended with an error that was put in for a call that could not be repaired
    /// ([`fallback_on_error`](FormatFixing::fallback_on_error) is off). Nothing leaves after it.
    pub fn failed(&self) -> bool {
        self.reader.state.failed
    }

    fn take_frames(&mut self, ended: bool, out: &mut Vec<u8>) {
        let (reader, editor) = (&mut self.reader, &mut self.editor);
        loop {
            let goes_on = self.framer.line_left();
            let Some(frame) = self.framer.next_frame() else {
                return;
            };
            match frame {
                Frame::Event(event) => editor.event(&event, reader, out),
                Frame::Oversized { raw, .. } => {
                    let message = format!("an event of more than {} bytes", reader.state.limits.event);
                    editor.give_up(&message, reader, out);
                    editor.send(raw, out);
                    reader.state.lose(message);
                }
                Frame::Ignored(raw) => {
                    let comment = raw.starts_with(b":") && !goes_on;
                    if ended && comment && !raw.ends_with(b"\n") && !raw.ends_with(b"\r") {
                        editor.end(false, reader, out); // the stream ends inside of it: nothing can follow
                    }
                    editor.send(raw, out);
                }
            }
            if reader.state.lost().is_some() || reader.state.failed {
                self.passing = true;
                return editor.send(self.framer.rest(), out);
            }
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
