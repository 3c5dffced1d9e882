//! [`PipeReader`]: the lines of a server's standard output, of which long ones are parsed on another thread.

use crate::adapt::lines::{LONG_BYTES, Line, LineDecoder};

/// Bytes of standard output, and the lines in them.
pub(super) struct PipeReader {
    decoder: LineDecoder,
    pub(super) buffer: Vec<u8>,
    pub(super) lines: Vec<Line>,
}

impl PipeReader {
    /// Creates a reader of messages of at most `max_bytes` bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            decoder: LineDecoder::new(max_bytes),
            buffer: vec![0; 64 << 10],
            lines: Vec::new(),
        }
    }

    /// Returns whether the lines that end in the first `count` bytes of the buffer, or with the output, are together too long to be parsed
    /// between other tasks.
    pub(super) fn is_long(&self, count: usize) -> bool {
        let bytes = self.buffer.get(..count).unwrap_or_default();
        let ended = bytes.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
        let ended = if count == 0 { Some(0) } else { ended };
        ended.is_some_and(|ended| self.decoder.pending_bytes() + ended > LONG_BYTES)
    }

    /// Decodes the first `count` bytes of the buffer, or the end of the output.
    pub(super) fn decoded(mut self, count: usize) -> Self {
        if count == 0 {
            self.lines.extend(self.decoder.finish());
        }
        let bytes = self.buffer.get(..count).unwrap_or_default();
        self.decoder.push(bytes, &mut self.lines);
        self
    }

    /// Returns whether more than 1 MiB was written without a message.
    pub(super) fn is_flooded(&self) -> bool {
        self.decoder.is_flooded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the last of these pieces has lines that are too long.
    fn is_long(pieces: &[&[u8]]) -> bool {
        let mut reader = PipeReader::new(1 << 20);
        let mut is_long = false;
        for piece in pieces {
            for (slot, byte) in reader.buffer.iter_mut().zip(*piece) {
                *slot = *byte;
            }
            is_long = reader.is_long(piece.len());
            reader = reader.decoded(piece.len());
        }
        is_long
    }

    #[test]
    fn lines_above_the_limit_are_long_at_their_end() {
        let piece = vec![b'['; 64 << 10];
        let four = [&*piece; 4];
        let after = |last| is_long(&[four.as_slice(), &[last]].concat());
        assert_eq!(piece.len() * 4, LONG_BYTES);
        assert!(!is_long(&four), "no line ends");
        assert!(!after(b"[[["), "no line ends");
        assert!(after(b"\n"), "the line has one byte more than the limit");
        assert!(after(b"[]]\n"));
        assert!(after(b"\n[["));
        assert!(!after(b""), "the output ends with as many bytes as the limit");
        assert!(
            is_long(&[four.as_slice(), &[b"[", b""]].concat()),
            "the output ends"
        );
        let three = |last| is_long(&[&[&*piece; 3], [last].as_slice()].concat());
        let (mut end, mut begin) = (piece.clone(), piece.clone());
        *end.last_mut().unwrap() = b'\n';
        *begin.first_mut().unwrap() = b'\n';
        assert!(!three(&end), "the line has as many bytes as the limit");
        assert!(!three(&begin), "the next line has not ended");
    }

    #[test]
    fn text_is_not_long() {
        let piece = vec![b'x'; 64 << 10];
        assert!(!is_long(&[&piece, &piece, &piece, &piece, &piece, b"\n"]));
    }
}
