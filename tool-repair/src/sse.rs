//! Decodes server-sent events from bytes: pieces of any size become whole events with their raw bytes.
//!
//! An [`SseDecoder`] needs no runtime and no connection. The joined raw bytes of all frames are the pushed bytes,
//! so a proxy can forward unknown frames unchanged.
//!
//! ```
//! use tool_repair::sse::{Frame, SseDecoder};
//!
//! let mut decoder = SseDecoder::new();
//! let mut texts = Vec::new();
//! for piece in ["event: note\nda", "ta: one\r", "\ndata: two\n\n: ping\n\n"] {
//!     decoder.push(piece.as_bytes());
//!     while let Some(frame) = decoder.next_frame() {
//!         if let Frame::Event(event) = frame {
//!             texts.push((event.name().unwrap().to_owned(), event.data().unwrap().into_owned()));
//!         }
//!     }
//! }
//! assert_eq!(texts, [("note".to_owned(), b"one\ntwo".to_vec())]);
//! ```

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use memchr::memchr2;

/// Splits a stream of bytes into frames.
///
/// [`push`](Self::push) received bytes, then take frames until none is left. At the end, call
/// [`finish`](Self::finish) and take the remaining frames. Takes time linear in the bytes, and keeps at most one
/// event of the [`limit`](Self::with_limit)'s size, and the last pushed piece.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts of the current line and frame"
)]
pub struct SseDecoder {
    limit: usize,
    buffer: Vec<u8>,
    /// Start of the current frame.
    start: usize,
    /// Start of the frame's current line.
    line: usize,
    /// Position up to which the current line was searched for its end.
    at: usize,
    /// Whether a part of the current line was already returned.
    is_line_continued: bool,
    kind: FrameKind,
    /// Whether the previous line ended in a carriage return only.
    bare_return: bool,
    /// Whether the current frame exceeds the limit, so that a part of it was already returned.
    oversized: bool,
    begun: bool,
    finished: bool,
}

/// Kind of the current frame, decided by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    Unknown,
    /// A comment or a blank line.
    Ignored,
    Event,
}

/// An event, a part of an oversized event, or bytes between events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame<'a> {
    /// An event, with its blank line.
    Event(Event<'a>),
    /// Bytes outside of events: a byte order mark, a comment, or a blank line before an event.
    Ignored(&'a [u8]),
    /// A part of an event that exceeds the limit.
    Oversized {
        /// Bytes of the part.
        raw: &'a [u8],
        /// Whether this is the last part of the event.
        last: bool,
    },
}

impl<'a> Frame<'a> {
    /// Returns the raw bytes.
    pub fn raw(&self) -> &'a [u8] {
        match self {
            Self::Event(event) => event.raw,
            Self::Ignored(raw) | Self::Oversized { raw, .. } => raw,
        }
    }
}

impl SseDecoder {
    /// Default [limit](Self::with_limit) for the size of an event, above which it is returned in parts: 16 MiB.
    pub const LIMIT: usize = 16 << 20;

    /// Creates a decoder for events of up to [`LIMIT`](Self::LIMIT) bytes.
    pub fn new() -> Self {
        Self::with_limit(Self::LIMIT)
    }

    /// Creates a decoder for events of up to `limit` bytes, including field names and line ends. A larger event is
    /// returned as [`Frame::Oversized`], however it was split.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            start: 0,
            line: 0,
            at: 0,
            is_line_continued: false,
            kind: FrameKind::Unknown,
            bare_return: false,
            oversized: false,
            begun: false,
            finished: false,
        }
    }

    /// Appends the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.line -= self.start;
            self.at -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Ends the stream, so that [`next_frame`](Self::next_frame) returns the remaining bytes.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Returns the bytes after the last returned frame, for a caller that reads no more frames.
    pub fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Returns whether a part of the next line was already returned.
    pub(crate) fn is_line_continued(&self) -> bool {
        self.is_line_continued
    }

    /// Returns the next frame; `None` until more bytes arrive, and at the end of the stream.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        if !self.begun {
            match self.buffer.get(..BYTE_ORDER_MARK.len()) {
                Some(bytes) if bytes == BYTE_ORDER_MARK => {
                    self.begun = true;
                    self.kind = FrameKind::Ignored;
                    return Some(self.take_frame(BYTE_ORDER_MARK.len(), true));
                }
                None if BYTE_ORDER_MARK.starts_with(&self.buffer) && !self.finished => return None,
                _ => self.begun = true,
            }
        }
        while let Some((content_end, end)) = self.line_end() {
            let blank = content_end == self.line && !self.is_line_continued;
            if self.kind == FrameKind::Unknown {
                self.kind = self.kind_of_line();
            }
            if blank || self.kind == FrameKind::Ignored {
                return Some(self.take_frame(end, true));
            }
            self.line = end;
            self.at = end;
            self.is_line_continued = false;
            self.bare_return = end == content_end + 1 && self.buffer.get(content_end) == Some(&b'\r');
        }
        if self.finished {
            let end = self.buffer.len();
            return (end > self.start || self.oversized).then(|| self.take_unended_frame(end));
        }
        (self.buffer.len() - self.start > self.limit && self.at > self.start)
            .then(|| self.take_frame(self.at, false))
    }

    /// Returns the end of the contents of the current line, and the start of the next line.
    fn line_end(&mut self) -> Option<(usize, usize)> {
        let unsearched = self.buffer.get(self.at..)?;
        let Some(found) = memchr2(b'\n', b'\r', unsearched) else {
            self.at = self.buffer.len();
            return None;
        };
        self.at += found;
        let end = self.at + 1;
        if self.buffer.get(self.at) == Some(&b'\n') {
            return Some((self.at, end));
        }
        // A blank line after a bare carriage return also ends in a bare one, so its event is returned at once. After any
        // other line, a line feed that belongs to this line may follow.
        let blank = self.at == self.line && !self.is_line_continued;
        if blank && self.bare_return {
            return Some((self.at, end));
        }
        match self.buffer.get(end) {
            Some(b'\n') => Some((self.at, end + 1)),
            Some(_) => Some((self.at, end)),
            None => self.finished.then_some((self.at, end)),
        }
    }

    fn kind_of_line(&self) -> FrameKind {
        match self.buffer.get(self.line) {
            Some(b':' | b'\n' | b'\r') => FrameKind::Ignored,
            Some(_) => FrameKind::Event,
            None => FrameKind::Unknown,
        }
    }

    /// Returns the current frame up to `end`: the complete frame, its last part, or an earlier part.
    fn take_frame(&mut self, end: usize, last: bool) -> Frame<'_> {
        let complete = last && !self.oversized && end - self.start <= self.limit;
        if self.kind == FrameKind::Unknown {
            self.kind = self.kind_of_line();
        }
        let kind = self.kind;
        let span = self.start..end;
        self.start = end;
        self.oversized = !last;
        self.is_line_continued = !last && (self.is_line_continued || end > self.line);
        self.line = end;
        self.at = end;
        if last {
            self.kind = FrameKind::Unknown;
            self.bare_return = false;
        }
        let raw = self.buffer.get(span).unwrap_or_default();
        match kind {
            FrameKind::Ignored => Frame::Ignored(raw),
            _ if complete => Frame::Event(Event { raw, ended: true }),
            _ => Frame::Oversized { raw, last },
        }
    }

    /// Returns the remaining bytes as a frame if the stream ends inside a frame.
    fn take_unended_frame(&mut self, end: usize) -> Frame<'_> {
        match self.take_frame(end, true) {
            Frame::Event(event) => Frame::Event(Event {
                ended: false,
                ..event
            }),
            other => other,
        }
    }
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new()
    }
}

/// An event. The fields of the event are parsed on demand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    raw: &'a [u8],
    ended: bool,
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("raw", &String::from_utf8_lossy(self.raw))
            .field("ended", &self.ended)
            .finish()
    }
}

impl<'a> Event<'a> {
    /// Creates an event from its raw bytes.
    pub(crate) fn whole(raw: &'a [u8]) -> Self {
        Self { raw, ended: true }
    }

    /// Returns the raw bytes, with the blank line.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Returns whether the event ends with its blank line. Only the last event of a stream can lack the blank line.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the value of the last `event:` line; `None` without such a line, or if the value is not UTF-8.
    pub fn name(&self) -> Option<&'a str> {
        self.last(b"event")
    }

    /// Returns the value of the last `id:` line.
    pub fn id(&self) -> Option<&'a str> {
        self.last(b"id")
    }

    /// Returns the value of the last `retry:` line, in milliseconds.
    pub fn retry(&self) -> Option<u64> {
        self.last(b"retry")?.parse().ok()
    }

    /// Returns the values of the `data:` lines, joined by line feeds; `None` without such a line.
    pub fn data(&self) -> Option<Cow<'a, [u8]>> {
        let mut lines = self.fields().filter(|field| field.name == b"data");
        let first = Cow::Borrowed(lines.next()?.value);
        Some(lines.fold(first, |mut data, line| {
            data.to_mut().push(b'\n');
            data.to_mut().extend_from_slice(line.value);
            data
        }))
    }

    /// Returns all fields in order, without comments.
    pub fn fields(&self) -> Fields<'a> {
        Fields { raw: self.raw, at: 0 }
    }

    fn last(&self, name: &[u8]) -> Option<&'a str> {
        let field = self.fields().filter(|field| field.name == name).last()?;
        std::str::from_utf8(field.value).ok()
    }
}

/// A line of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field<'a> {
    /// Name of the field before the colon. A line without a colon is a name without a value.
    pub name: &'a [u8],
    /// Value after the colon, without an optional leading space.
    pub value: &'a [u8],
    /// Position of the value in the raw bytes of the event.
    pub span: Range<usize>,
}

/// Iterator over the fields of an event.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    raw: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        loop {
            let start = self.at;
            let rest = self.raw.get(start..).filter(|rest| !rest.is_empty())?;
            let length = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            let line = rest.get(..length)?;
            self.at = start
                + length
                + if rest.get(length..)?.starts_with(b"\r\n") {
                    2
                } else {
                    1
                };
            if line.is_empty() || line.starts_with(b":") {
                continue;
            }
            let colon = line.iter().position(|byte| *byte == b':');
            let name = line.get(..colon.unwrap_or(length))?;
            let after = line.get(colon.map_or(length, |colon| colon + 1)..)?;
            let value = after.strip_prefix(b" ").unwrap_or(after);
            let end = start + length;
            return Some(Field {
                name,
                value,
                span: end - value.len()..end,
            });
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every frame in short form: `E` and `e` for an event with and without its end, `-` for ignored bytes,
    /// `o` and `O` for a part and the last part of an oversized event.
    fn frames(pieces: &[&[u8]], limit: usize) -> Vec<(char, Vec<u8>)> {
        let mut decoder = SseDecoder::with_limit(limit);
        let mut all = Vec::new();
        let mut take = |decoder: &mut SseDecoder| {
            while let Some(frame) = decoder.next_frame() {
                let letter = match frame {
                    Frame::Event(event) if event.ended() => 'E',
                    Frame::Event(_) => 'e',
                    Frame::Ignored(_) => '-',
                    Frame::Oversized { last: false, .. } => 'o',
                    Frame::Oversized { last: true, .. } => 'O',
                };
                all.push((letter, frame.raw().to_vec()));
            }
        };
        for piece in pieces {
            decoder.push(piece);
            take(&mut decoder);
        }
        decoder.finish();
        take(&mut decoder);
        all
    }

    #[test]
    fn displays_events_as_text() {
        let mut decoder = SseDecoder::new();
        decoder.push(b"data: \xE5\x86\x99\xFF\n\n");
        let Some(Frame::Event(event)) = decoder.next_frame() else {
            panic!("one event");
        };
        let shown = "Event { raw: \"data: 写\u{fffd}\\n\\n\", ended: true }";
        assert_eq!(format!("{event:?}"), shown);
    }

    fn bytes(text: &[u8]) -> Vec<&[u8]> {
        text.chunks(1).collect()
    }

    const STREAMS: [&[u8]; 15] = [
        b"data: a\n\ndata: b\n\n",
        b"\xEF\xBB\xBFdata: a\n\n",
        b"event: x\r\ndata: a\r\ndata: b\r\n\r\n: ping\r\n\r\ndata: c\r\n\r\n",
        b"data: a\r\rdata: b\r\r",
        b"data: a\r\r\ndata: b\n\r\ndata: c\r\n\rdata: d",
        b": one\n: two\n\n\n\ndata: a\n: inside\ndata: b\n\n",
        b"data: \xE4\xBD\xA0\n\ndata: \xFF\xFE\n\n",
        b"id: 7\nretry: 10\nevent: e\n\n",
        b"data: no end",
        b"data: half end\n",
        b": no end",
        b"\xEF\xBB",
        b"",
        b"\r",
        b"data\n\ndata:\n\ndata:  two spaces\n\n",
    ];

    #[test]
    fn frames_are_equal_for_every_split() {
        for stream in STREAMS {
            let whole = frames(&[stream], SseDecoder::LIMIT);
            let raw: Vec<u8> = whole.iter().flat_map(|(_, raw)| raw.clone()).collect();
            assert_eq!(raw, stream);
            assert_eq!(frames(&bytes(stream), SseDecoder::LIMIT), whole, "{stream:?}");
            for cut in 0..=stream.len() {
                let (left, right) = stream.split_at(cut);
                assert_eq!(
                    frames(&[left, right], SseDecoder::LIMIT),
                    whole,
                    "{stream:?} cut at {cut}"
                );
            }
        }
    }

    #[test]
    fn splits_oversized_events_only() {
        let stream = b": a comment of any length\ndata: aaaaaaaaaa\ndata: bbbbbbbbbb\n\ndata: c\n\n";
        for pieces in [vec![&stream[..]], bytes(stream), stream.chunks(3).collect()] {
            let all = frames(&pieces, 12);
            let raw: Vec<u8> = all.iter().flat_map(|(_, raw)| raw.clone()).collect();
            assert_eq!(raw, stream);
            let letters: String = all.iter().map(|(letter, _)| *letter).collect();
            let mut letters = letters.trim_start_matches('-').to_owned();
            letters.retain(|letter| letter != 'o');
            assert_eq!(letters, "OE", "{all:?}");
        }
    }

    #[test]
    fn returns_events_and_comments_with_their_last_byte() {
        for (stream, at_once) in [
            (&b"data: a\n\n"[..], 1),
            (b"data: a\r\r", 1),
            (b": ping\n", 1),
            (b"data: a\r\n\r", 0),
            (b"data: a\n", 0),
        ] {
            let mut decoder = SseDecoder::new();
            decoder.push(stream);
            let mut count = 0;
            while decoder.next_frame().is_some() {
                count += 1;
            }
            assert_eq!(count, at_once, "{stream:?}");
        }
    }

    #[test]
    fn reads_fields_by_the_standard() {
        let raw =
            b"event: first\nevent:second\n: no\ndata:  a\r\ndata\rdata:b:c\nid: 4\nretry: 250\nother: x\n\n";
        let mut decoder = SseDecoder::new();
        decoder.push(raw);
        let Some(Frame::Event(event)) = decoder.next_frame() else {
            panic!("one event");
        };
        assert_eq!(event.name(), Some("second"));
        assert_eq!(event.data().as_deref(), Some(&b" a\n\nb:c"[..]));
        assert_eq!((event.id(), event.retry()), (Some("4"), Some(250)));
        for field in event.fields() {
            assert_eq!(&raw[field.span.clone()], field.value);
        }
    }
}
