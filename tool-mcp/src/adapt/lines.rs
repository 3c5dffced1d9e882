//! Lines of a pipe: one message each, beside text that is no message.

use serde_json::Value;

use crate::adapt::line_id::{in_head, in_tail};

/// Number of first and last bytes of a large line that may have its id.
const ID_BYTES: usize = 4 << 10;
/// Maximum number of bytes between two messages.
const MAX_IGNORED_BYTES: usize = 1 << 20;

/// Maximum number of bytes of a message that is parsed on a thread that serves other tasks, too.
#[cfg(any(feature = "client", feature = "http"))]
pub(crate) const LONG_BYTES: usize = 256 << 10;

/// Line of a pipe.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    /// Message, or a batch of messages.
    Message(Value),
    /// Message above the limit, dropped while it was read. The id is missing if it is in neither end of the line.
    TooLarge { id: Option<Value>, bytes: usize },
    /// Message that is not valid JSON, with its id.
    Invalid { id: Value },
    /// Text that is no message.
    Ignored,
}

/// Splits the bytes of a pipe into lines.
#[derive(Debug)]
pub(crate) struct LineDecoder {
    max_bytes: usize,
    state: LineState,
    /// Number of bytes since the last message that belong to none.
    ignored_bytes: usize,
}

#[derive(Debug)]
enum LineState {
    /// The line can be a message.
    Message(Vec<u8>),
    /// The line is no message.
    Text,
    /// The line is a message above the limit.
    Large {
        head: Vec<u8>,
        tail: Vec<u8>,
        bytes: usize,
    },
}

impl LineDecoder {
    /// Creates a decoder for messages of at most `max_bytes` bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            state: LineState::Message(Vec::new()),
            ignored_bytes: 0,
        }
    }

    /// Takes bytes, and appends the lines that end in them.
    pub(crate) fn push(&mut self, bytes: &[u8], lines: &mut Vec<Line>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.extend(piece);
            if piece.ends_with(b"\n") {
                lines.extend(self.end_line());
            }
        }
    }

    /// Returns the number of bytes of the pending line that are parsed at its end.
    #[cfg(feature = "client")]
    pub(crate) fn pending_bytes(&self) -> usize {
        match &self.state {
            LineState::Message(line) => line.len(),
            LineState::Text | LineState::Large { .. } => 0,
        }
    }

    /// Returns the last line, which has no line end.
    pub(crate) fn finish(&mut self) -> Option<Line> {
        self.end_line()
    }

    /// Returns whether more than 1 MiB was written without a message.
    #[cfg_attr(
        not(feature = "client"),
        allow(dead_code, reason = "only a server is restarted")
    )]
    pub(crate) fn is_flooded(&self) -> bool {
        self.ignored_bytes > MAX_IGNORED_BYTES
    }

    fn extend(&mut self, piece: &[u8]) {
        match &mut self.state {
            LineState::Message(line) => {
                line.extend_from_slice(piece);
                if is_text(line) {
                    self.ignored_bytes += line.len();
                    self.state = LineState::Text;
                } else if line.len() > self.max_bytes {
                    self.state = LineState::Large {
                        head: line.get(..ID_BYTES).unwrap_or(line).to_vec(),
                        tail: line
                            .get(line.len().saturating_sub(ID_BYTES)..)
                            .unwrap_or_default()
                            .to_vec(),
                        bytes: line.len(),
                    };
                }
            }
            LineState::Text => self.ignored_bytes += piece.len(),
            LineState::Large { tail, bytes, .. } => {
                *bytes += piece.len();
                tail.extend_from_slice(piece);
                tail.drain(..tail.len().saturating_sub(ID_BYTES));
            }
        }
    }

    fn end_line(&mut self) -> Option<Line> {
        let line = match std::mem::replace(&mut self.state, LineState::Message(Vec::new())) {
            LineState::Text => Line::Ignored,
            LineState::Large { head, tail, bytes } => Line::TooLarge {
                id: in_head(&head).or_else(|| in_tail(tail.trim_ascii_end())),
                bytes,
            },
            LineState::Message(line) => match serde_json::from_slice(without_bom(&line)) {
                Ok(message) => Line::Message(message),
                Err(_) if line.trim_ascii().is_empty() => return None,
                // Invalid UTF-8, or nested more deeply than can be read.
                Err(_) => {
                    let id = in_head(&line).or_else(|| in_tail(line.trim_ascii_end()));
                    id.map_or_else(
                        || {
                            self.ignored_bytes += line.len();
                            Line::Ignored
                        },
                        |id| Line::Invalid { id },
                    )
                }
            },
        };
        if !matches!(line, Line::Ignored) {
            self.ignored_bytes = 0;
        }
        Some(line)
    }
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

fn without_bom(line: &[u8]) -> &[u8] {
    line.strip_prefix(BOM).unwrap_or(line)
}

/// Returns whether the start of a line shows that the line is no message: an object, or a list of objects.
fn is_text(line: &[u8]) -> bool {
    if BOM.starts_with(line) {
        return false;
    }
    let first = without_bom(line).trim_ascii_start().first();
    first.is_some_and(|byte| !matches!(byte, b'{' | b'['))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(text: &str, piece: usize, max_bytes: usize) -> Vec<Line> {
        let mut decoder = LineDecoder::new(max_bytes);
        let mut lines = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            decoder.push(piece, &mut lines);
        }
        lines.extend(decoder.finish());
        lines
    }

    #[test]
    fn splits_messages_from_text_in_pieces_of_any_size() {
        let text = "Server 1.0\n\n{\"id\":1}\r\n[1, 2]\n  \n[INFO] ready\n\u{feff}{\"id\":2}\nlast";
        let wanted = [
            Line::Ignored,
            Line::Message(json!({"id": 1})),
            Line::Message(json!([1, 2])),
            Line::Ignored,
            Line::Message(json!({"id": 2})),
            Line::Ignored,
        ];
        for piece in 1..text.len() {
            assert_eq!(lines(text, piece, 1000), wanted, "{piece}");
        }
    }

    #[test]
    fn drops_large_messages_and_keeps_their_ids() {
        let big = "x".repeat(20_000);
        for (line, id) in [
            (format!(r#"{{"id":7,"result":"{big}"}}"#), Some(json!(7))),
            (format!(r#"{{"result":"{big}","id":7}}"#), Some(json!(7))),
            (format!(r#"{{"a":"{big}","id":7,"b":"{big}"}}"#), None),
        ] {
            for piece in [1, 1000, line.len()] {
                let text = format!("{line}\n{{\"id\":8}}\n");
                let wanted = Line::TooLarge {
                    id: id.clone(),
                    bytes: line.len() + 1,
                };
                assert_eq!(
                    lines(&text, piece, 10_000),
                    [wanted, Line::Message(json!({"id": 8}))]
                );
            }
        }
    }

    #[test]
    fn names_the_call_of_a_message_that_cannot_be_read() {
        let deep = format!(r#"{{"id":7,"result":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(lines(&deep, 1000, 10_000), [Line::Invalid { id: json!(7) }]);
        assert_eq!(
            lines("{\"id\":7,\"result\":\n", 1000, 10_000),
            [Line::Invalid { id: json!(7) }]
        );
        assert_eq!(lines("{oops}\n", 1000, 10_000), [Line::Ignored]);
    }

    #[test]
    fn counts_text_up_to_the_next_message() {
        let mut decoder = LineDecoder::new(10_000);
        let mut lines = Vec::new();
        let text = "x".repeat(MAX_IGNORED_BYTES);
        decoder.push(text.as_bytes(), &mut lines);
        assert!(!decoder.is_flooded());
        decoder.push(b"\n{\"id\":1}\n", &mut lines);
        decoder.push(text.as_bytes(), &mut lines);
        assert!(!decoder.is_flooded());
        decoder.push(b"x", &mut lines);
        assert!(decoder.is_flooded());
    }
}
