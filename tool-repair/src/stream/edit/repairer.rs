//! [`StreamRepairer`]: repairs the bytes of a stream.

use super::editor::Editor;
use crate::format_fixing::FormatFixing;
use crate::sse::{Frame, SseDecoder};
use crate::stream::call::record::RepairRecord;
use crate::stream::call::state::StreamLimits;
use crate::stream::read::dialect::Dialect;
use crate::stream::read::reader::Reader;

/// Repairs the tool calls of a stream of server-sent events, received in pieces of any size.
///
/// [`finish`](Self::finish) or [`abort`](Self::abort) must be called at the end of the stream: both return held bytes.
/// Bytes that are pushed afterwards pass unchanged.
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
    decoder: SseDecoder,
    reader: Reader,
    editor: Editor,
    /// Whether the rest of the stream passes unchanged.
    passing: bool,
}

impl StreamRepairer {
    /// Creates a repairer with the default limits.
    pub fn new(dialect: Dialect, fixing: FormatFixing) -> Self {
        Self::with(dialect, fixing, StreamLimits::default())
    }

    /// Creates a repairer with other limits.
    pub fn with(dialect: Dialect, fixing: FormatFixing, limits: StreamLimits) -> Self {
        Self {
            decoder: SseDecoder::with_limit(limits.event),
            passing: !fixing.enabled,
            reader: Reader::new(dialect, fixing, limits),
            editor: Editor::default(),
        }
    }

    /// Handles the next bytes of the stream, and appends the bytes that can be sent to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.passing {
            return self.editor.send(bytes, out);
        }
        self.decoder.push(bytes);
        self.take_frames(false, out);
    }

    /// Ends the stream and its open calls, and appends all remaining bytes to `out`. Bytes that are pushed afterwards
    /// pass unchanged.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if self.passing {
            return;
        }
        self.decoder.finish();
        self.take_frames(true, out);
        if !self.passing {
            self.editor.end(false, &mut self.reader, out);
        }
        self.passing = true;
    }

    /// Ends a stream that broke off, for example because of a connection error. The arguments of open calls were cut
    /// off, so their held bytes are appended unchanged.
    pub fn abort(&mut self, out: &mut Vec<u8>) {
        if self.passing {
            return;
        }
        self.editor.end(true, &mut self.reader, out);
        self.editor.send(self.decoder.rest(), out);
        self.passing = true;
    }

    /// Returns the records of calls that ended since the last call of this method. A call has a record if its arguments
    /// were not a string with valid JSON. Up to 4,096 records are kept. Later records are only logged with `tracing`.
    #[must_use = "each record is returned once"]
    pub fn take_records(&mut self) -> Vec<RepairRecord> {
        self.reader.state.take_records()
    }

    /// Returns the names of the first 64 tools whose calls passed unchanged because the tools are not among the
    /// [`target_tools`](FormatFixing::target_tools). A call without a name is listed as `""`.
    pub fn skipped(&self) -> &[String] {
        self.reader.state.skipped()
    }

    /// Returns the number of received tool calls of all tools. For a stream with calls, 0 means that the dialect is
    /// wrong.
    pub fn calls(&self) -> u64 {
        self.reader.state.calls()
    }

    /// Returns the reason why the rest of the stream passes unchanged: the size of an event or the number of calls
    /// exceeded the [limits](StreamLimits). Open calls are recorded as refused; later calls are not read.
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
        self.reader.state.bailout_reason()
    }

    /// Returns whether the stream ended with an error for a call that could not be repaired, since
    /// [`fallback_on_error`](FormatFixing::fallback_on_error) is off. No bytes are sent after the error.
    pub fn failed(&self) -> bool {
        self.reader.state.failed
    }

    fn take_frames(&mut self, ended: bool, out: &mut Vec<u8>) {
        let (reader, editor) = (&mut self.reader, &mut self.editor);
        loop {
            let continues_line = self.decoder.is_line_continued();
            let Some(frame) = self.decoder.next_frame() else {
                return;
            };
            match frame {
                Frame::Event(event) => editor.event(&event, reader, out),
                Frame::Oversized { raw, .. } => {
                    let message = format!("an event of more than {} bytes", reader.state.limits.event);
                    editor.bail_out(&message, reader, out);
                    editor.send(raw, out);
                    reader.state.bail_out(message);
                }
                Frame::Ignored(raw) => {
                    let comment = raw.starts_with(b":") && !continues_line;
                    if ended && comment && !raw.ends_with(b"\n") && !raw.ends_with(b"\r") {
                        editor.end(false, reader, out); // the stream ends inside this comment, so no event can follow
                    }
                    editor.send(raw, out);
                }
            }
            if reader.state.bailout_reason().is_some() || reader.state.failed {
                self.passing = true;
                return editor.send(self.decoder.rest(), out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_bytes_after_the_end() {
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
