//! JSON in an event, with the position of each byte in the event, so that a string can be replaced without changing
//! any other byte.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use super::cursor::contents;
use crate::scan::is_json;
use crate::sse::Event;

/// JSON of the `data:` lines of an event.
pub(crate) struct Payload<'a> {
    raw: &'a [u8],
    text: Cow<'a, str>,
    lines: Lines,
}

/// Positions of the lines in the raw bytes.
enum Lines {
    One(usize),
    /// Start of each line in the JSON, and in the raw bytes.
    Several(Vec<(usize, usize)>),
}

/// A value in the JSON, and the string that replaces it.
pub(crate) struct Edit {
    /// Number of the value's call.
    pub(crate) call: u64,
    /// Position of the value, including quotes.
    pub(crate) span: Range<usize>,
    /// Contents of the new string; `None` leaves the value unchanged.
    pub(crate) contents: Option<String>,
}

impl Edit {
    /// Appends to the contents.
    pub(crate) fn append(&mut self, rest: &str, payload: &Payload<'_>) {
        if !rest.is_empty() {
            let value = payload.slice(&self.span);
            self.contents
                .get_or_insert_with(|| contents(value).unwrap_or_default().to_owned())
                .push_str(rest);
        }
    }
}

impl<'a> Payload<'a> {
    /// Parses the JSON of an event; `None` without valid JSON.
    pub(crate) fn parse(event: &Event<'a>) -> Option<Self> {
        let mut lines = event.fields().filter(|field| field.name == b"data");
        let first = lines.next()?;
        let mut text = Cow::Borrowed(std::str::from_utf8(first.value).ok()?);
        let mut lines_read = Lines::One(first.span.start);
        for line in lines {
            if let Lines::One(first) = lines_read {
                lines_read = Lines::Several(vec![(0, first)]);
            }
            let text = text.to_mut();
            text.push('\n');
            if let Lines::Several(lines_read) = &mut lines_read {
                lines_read.push((text.len(), line.span.start));
            }
            text.push_str(std::str::from_utf8(line.value).ok()?);
        }
        is_json(&text).then(|| Self {
            raw: event.raw(),
            text,
            lines: lines_read,
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn slice(&self, span: &Range<usize>) -> &str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// Writes the event with the edits.
    pub(crate) fn write(&self, edits: &mut [Edit], out: &mut Vec<u8>) {
        edits.sort_by_key(|edit| edit.span.start);
        let mut written = 0;
        for edit in edits.iter() {
            let Some(contents) = &edit.contents else { continue };
            let place = self.raw_span(&edit.span);
            out.extend_from_slice(self.raw.get(written..place.start).unwrap_or_default());
            out.push(b'"');
            out.extend_from_slice(contents.as_bytes());
            out.push(b'"');
            written = place.end;
        }
        out.extend_from_slice(self.raw.get(written..).unwrap_or_default());
    }

    /// Writes the event with one value replaced by a string.
    pub(crate) fn replace(&self, span: Range<usize>, contents: String, out: &mut Vec<u8>) {
        let contents = Some(contents);
        self.write(
            &mut [Edit {
                call: 0,
                span,
                contents,
            }],
            out,
        );
    }

    /// Returns the span in the raw bytes for a non-empty span in the JSON.
    fn raw_span(&self, span: &Range<usize>) -> Range<usize> {
        let of = |at: usize| match &self.lines {
            Lines::One(start) => start + at,
            Lines::Several(lines) => {
                let line = lines.partition_point(|(start, _)| *start <= at);
                let (start, place) = lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
                place + (at - start)
            }
        };
        of(span.start)..of(span.end.saturating_sub(1)) + 1
    }
}

/// Returns whether an event that is not UTF-8 may contain a piece of arguments for clients that replace invalid UTF-8.
pub(crate) fn may_be_read_by_others(event: &Event<'_>, key: &str) -> bool {
    let raw = event.raw();
    std::str::from_utf8(raw).is_err() && memmem::find(raw, key.as_bytes()).is_some()
}

/// Returns the line end of a stream, from one of its events.
pub(crate) fn line_end(raw: &[u8]) -> &'static str {
    if raw.ends_with(b"\r\n") {
        "\r\n"
    } else if raw.ends_with(b"\r") {
        "\r"
    } else {
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::super::cursor::Cursor;
    use super::*;

    #[test]
    fn replaces_values_on_any_lines() {
        let raw = b"event: e\ndata: {\"a\":\ndata:  {\"b\":\ndata: 1}, \"c\": \"x\"\ndata:}\n\n";
        let event = Event::whole(raw);
        let payload = Payload::parse(&event).unwrap();
        let mut spans = Vec::new();
        Cursor::new(payload.text())
            .object(|_, cursor| {
                spans.push(cursor.value()?);
                Some(())
            })
            .unwrap();
        let mut edits: Vec<Edit> = spans
            .into_iter()
            .rev()
            .map(|span| Edit {
                call: 0,
                contents: Some(payload.slice(&span).len().to_string()),
                span,
            })
            .collect();
        let mut out = Vec::new();
        payload.write(&mut edits, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "event: e\ndata: {\"a\":\ndata:  \"8\", \"c\": \"3\"\ndata:}\n\n"
        );
    }

    #[test]
    fn payload_may_be_nested_to_any_depth() {
        let raw = format!("data: {}{}\n\n", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Payload::parse(&Event::whole(raw.as_bytes())).is_some());
    }

    #[test]
    fn rejects_payloads_that_are_not_json() {
        for raw in [
            &b"data: [DONE]\n\n"[..],
            b"data: {\"a\":\n\n",
            b"event: e\n\n",
            b"data: \"\xff\"\n\n",
        ] {
            assert!(Payload::parse(&Event::whole(raw)).is_none());
        }
    }
}
