//! [`Delta`]: the change of a block in an event of type `content_block_delta`.

use std::borrow::Cow;

use super::fields::ObjectText;
use super::object::{Object, push_string};
use super::walk;

/// A change of a block. Nearly all events of a stream append to one text; such events are parsed and written without a map of their fields.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Delta {
    /// Appends to a text.
    Text(TextField, String),
    /// Appends to a text, in several events.
    Texts(TextRun),
    /// Any other change, with its original text.
    Other(ObjectText),
}

/// A text of a block that arrives in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextField {
    Text,
    Thinking,
    Signature,
    PartialJson,
}

impl TextField {
    const ALL: [Self; 4] = [Self::Text, Self::Thinking, Self::Signature, Self::PartialJson];

    /// Returns the name of the field.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Signature => "signature",
            Self::PartialJson => "partial_json",
        }
    }

    /// Returns the field of a delta that has a single text and no other field.
    pub(super) fn from_delta(delta: &Object<'_>) -> Option<Self> {
        let is_delta = |field: &Self| delta.is("type", field.delta_type());
        let field = Self::ALL.into_iter().find(is_delta)?;
        (delta.fields().count() == 2).then_some(field)
    }

    /// Returns the `type` of the deltas that append to the field.
    fn delta_type(self) -> &'static str {
        match self {
            Self::Text => "text_delta",
            Self::Thinking => "thinking_delta",
            Self::Signature => "signature_delta",
            Self::PartialJson => "input_json_delta",
        }
    }
}

/// Consecutive changes of one text, without the parts that all of their events have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextRun {
    pub(crate) field: TextField,
    /// Index of the block in the events.
    index: usize,
    /// Pieces of the text as the strings of the events, one after the other.
    strings: String,
}

/// Beginning of an event, up to the index.
const EVENT: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":";

/// End of an event, after the string.
const EVENT_END: &str = "}}\n\n";

impl TextRun {
    pub(crate) fn new(first: &TextEvent<'_>) -> Self {
        Self {
            field: first.field,
            index: first.index,
            strings: first.string.to_owned(),
        }
    }

    /// Appends an event. Returns whether the event changes this text.
    pub(crate) fn push(&mut self, next: &TextEvent<'_>) -> bool {
        let is_same = self.field == next.field && self.index == next.index;
        if is_same {
            self.strings.push_str(next.string);
        }
        is_same
    }

    /// Appends a later run. Returns whether the run changes this text.
    pub(crate) fn append(&mut self, later: &Self) -> bool {
        let is_same = self.field == later.field && self.index == later.index;
        if is_same {
            self.strings.push_str(&later.strings);
        }
        is_same
    }

    /// Returns the texts that the events append.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Cow<'_, str>> {
        walk::items_of(&self.strings).filter_map(walk::string)
    }

    /// Frees the memory that the text does not need.
    pub(crate) fn shrink(&mut self) {
        self.strings.shrink_to_fit();
    }

    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.strings.len()
    }

    /// Appends the events, for a block at this index.
    pub(super) fn write_sse(&self, out: &mut String, index: usize) {
        let (kind, field) = (self.field.delta_type(), self.field.as_str());
        let begin = format!("{EVENT}{index},\"delta\":{{\"type\":\"{kind}\",\"{field}\":");
        for string in walk::items_of(&self.strings) {
            out.push_str(&begin);
            out.push_str(string);
            out.push_str(EVENT_END);
        }
    }
}

/// An event that appends to a text, in the notation of the API.
#[derive(Debug, PartialEq)]
pub(crate) struct TextEvent<'e> {
    /// Index of the block.
    pub(crate) index: usize,
    pub(crate) field: TextField,
    /// Text that the event appends.
    pub(crate) piece: Cow<'e, str>,
    /// The piece in JSON's form.
    string: &'e str,
}

impl<'e> TextEvent<'e> {
    /// Parses an event. Returns `None` for other types and other notations.
    pub(crate) fn parse(event: &'e [u8]) -> Option<Self> {
        if !event.starts_with(EVENT.as_bytes()) {
            return None;
        }
        let event = std::str::from_utf8(event).ok()?;
        let mut rest = Rest(event.strip_prefix(EVENT)?);
        let index = rest.number()?;
        let rest = rest.0.strip_prefix(",\"delta\":{\"type\":\"")?;
        let strip = |field: TextField| {
            let rest = rest.strip_prefix(field.delta_type())?.strip_prefix("\",\"")?;
            rest.strip_prefix(field.as_str())?.strip_prefix("\":")
        };
        let (field, rest) = TextField::ALL
            .into_iter()
            .find_map(|field| Some((field, strip(field)?)))?;
        let string = rest.strip_suffix(EVENT_END)?;
        Some(Self {
            index,
            field,
            piece: walk::string(string)?,
            string,
        })
    }
}

impl Delta {
    /// Returns whether the delta appends an empty text.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Text(_, text) => text.is_empty(),
            Self::Texts(run) => run.pieces().all(|piece| piece.is_empty()),
            Self::Other(_) => false,
        }
    }
}

impl From<ObjectText> for Delta {
    fn from(delta: ObjectText) -> Self {
        let text = {
            let object = delta.object();
            let field = TextField::from_delta(&object);
            field.and_then(|field| Some((field, object.string(field.as_str())?)))
        };
        match text {
            Some((field, text)) => Self::Text(field, text),
            None => Self::Other(delta),
        }
    }
}

/// Writes a delta that appends to a text.
pub(super) fn write_text(out: &mut String, field: TextField, text: &str) {
    out.push_str(r#"{"type":""#);
    out.push_str(field.delta_type());
    out.push_str(r#"",""#);
    out.push_str(field.as_str());
    out.push_str(r#"":"#);
    push_string(out, text);
    out.push('}');
}

/// Parses the data of an event that appends to a text: the index of the block, and the delta. Returns `None` if the event has another type,
/// other fields or another order of fields than the API.
pub(super) fn parse_text(data: &str) -> Option<(usize, Delta)> {
    let mut rest = Rest(data);
    for token in [
        "{",
        "\"type\"",
        ":",
        "\"content_block_delta\"",
        ",",
        "\"index\"",
        ":",
    ] {
        rest.expect(token)?;
    }
    let index = rest.number()?;
    for token in [",", "\"delta\"", ":", "{", "\"type\"", ":"] {
        rest.expect(token)?;
    }
    let field = TextField::ALL
        .into_iter()
        .find(|field| rest.expect_string(field.delta_type()).is_some())?;
    rest.expect(",")?;
    rest.expect_string(field.as_str())?;
    rest.expect(":")?;
    let text = rest.0.trim_ascii_end().strip_suffix('}')?;
    let text = text.trim_ascii_end().strip_suffix('}')?;
    let text = walk::string(text.trim_ascii())?;
    Some((index, Delta::Text(field, text.into_owned())))
}

/// Remaining input of a parser.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    /// Consumes a token, with an optional space before it.
    fn expect(&mut self, token: &str) -> Option<()> {
        self.0 = self.0.trim_ascii_start().strip_prefix(token)?;
        Some(())
    }

    /// Consumes this string, if it has no escapes.
    fn expect_string(&mut self, text: &str) -> Option<()> {
        let string = self.0.trim_ascii_start().strip_prefix('"')?;
        self.0 = string.strip_prefix(text)?.strip_prefix('"')?;
        Some(())
    }

    fn number(&mut self) -> Option<usize> {
        let text = self.0.trim_ascii_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = text.split_at_checked(digits)?;
        self.0 = rest;
        // JSON forbids leading zeros.
        let is_json = digits == 1 || !number.starts_with('0');
        is_json.then(|| number.parse().ok())?
    }
}

/// Maximum size of a piece of a text, in bytes.
const MAX_PIECE: usize = 16 << 10;

/// Divides a text into pieces for deltas; an empty text has none.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = rest.len().min(MAX_PIECE);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn delta(value: &Value) -> Delta {
        ObjectText::new(&value.to_string()).unwrap().into()
    }

    #[test]
    fn runs_keep_the_bytes_of_their_events_except_the_index() {
        let event = |index: usize, text: &str| {
            format!("{EVENT}{index},\"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}}}\n\n")
        };
        // A text may contain the text of an event.
        let texts = [r#""a""#, r#""""#, r#""\u00e9\n\"index\":3,""#, "\"é\""];
        let mut run: Option<TextRun> = None;
        for text in texts {
            let event = event(3, text);
            let read = TextEvent::parse(event.as_bytes()).unwrap();
            assert_eq!((read.index, read.field), (3, TextField::Text));
            match &mut run {
                None => run = Some(TextRun::new(&read)),
                Some(run) => assert!(run.push(&read)),
            }
        }
        let mut run = run.unwrap();
        for other in [event(4, "\"a\""), event(3, "\"a\"").replace("text", "thinking")] {
            assert!(!run.push(&TextEvent::parse(other.as_bytes()).unwrap()), "{other}");
        }
        assert_eq!(run.pieces().collect::<String>(), "aé\n\"index\":3,é");
        for index in [3, 0, 12] {
            let mut out = String::new();
            run.write_sse(&mut out, index);
            assert_eq!(out, texts.map(|text| event(index, text)).concat());
        }
    }

    #[test]
    fn rejects_text_events_in_another_notation() {
        let event = |rest: &str| format!("{EVENT}{rest}");
        for other in [
            event("0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\r\n\r\n"),
            event("0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\nid: 1\n\n"),
            event("0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"},\"new\":1}\n\n"),
            event("0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\",\"new\":\"b\"}}\n\n"),
            event("0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\nb\"}}\n\n"),
            event("0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\\ud800\"}}\n\n"),
            event("0,\"delta\":{\"type\":\"text_delta\",\"text\":\"}}\n\n"),
            event("00,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"),
            event(",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"),
            event("0,\"delta\":{\"type\":\"text_delta\",\"thinking\":\"a\"}}\n\n"),
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n".to_owned(),
        ] {
            assert_eq!(TextEvent::parse(other.as_bytes()), None, "{other:?}");
        }
    }

    #[test]
    fn text_events_round_trip_without_a_map() {
        for (data, field, text) in [
            (
                r#"{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"a\n\u00e9"}}"#,
                TextField::Text,
                "a\né",
            ),
            (
                r#" { "type": "content_block_delta", "index": 3, "delta": {"type": "thinking_delta", "thinking": "" }   } "#,
                TextField::Thinking,
                "",
            ),
            (
                r#"{"type":"content_block_delta","index":3,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
                TextField::Signature,
                "c2ln",
            ),
            (
                r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}"#,
                TextField::PartialJson,
                "{\"a",
            ),
        ] {
            let delta = Delta::Text(field, text.to_owned());
            assert_eq!(parse_text(data), Some((3, delta.clone())));
            let event: Value = serde_json::from_str(data).unwrap();
            let mut out = String::new();
            write_text(&mut out, field, text);
            assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), event["delta"]);
            assert_eq!(self::delta(&event["delta"]), delta);
        }
    }

    #[test]
    fn keeps_deltas_with_other_fields() {
        for delta in [
            json!({ "type": "text_delta" }),
            json!({ "type": "text_delta", "text": null }),
            json!({ "type": "text_delta", "text": "a", "new": 1 }),
            json!({ "type": "text_delta", "text": "a", "thinking": null }),
            json!({ "type": "text_delta", "thinking": "a" }),
            json!({ "type": "later_delta", "text": "a" }),
            json!({ "type": "citations_delta", "citation": {} }),
        ] {
            let data = json!({ "type": "content_block_delta", "index": 0, "delta": delta }).to_string();
            assert_eq!(parse_text(&data), None, "{data}");
            let read = self::delta(&delta);
            let Delta::Other(fields) = &read else {
                panic!("{data}");
            };
            assert_eq!(serde_json::from_str::<Value>(fields.as_str()).unwrap(), delta);
        }
        // JSON, and texts that are not JSON.
        for other in [
            r#"{"index":3,"delta":{"text":"","type":"text_delta"},"type":"content_block_delta"}"#,
            r#"{"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":1.5,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":99999999999999999999,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text\u005fdelta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta ","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":5}}"#,
            r#"{"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a}}"#,
            r#"{"type":"content_block_start","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"new":1}"#,
            r#"{"type":"ping"}"#,
        ] {
            assert_eq!(parse_text(other), None, "{other}");
        }
    }

    #[test]
    fn pieces_of_arguments_are_whole_characters() {
        let arguments = "\u{20ac}".repeat(MAX_PIECE);
        let all: Vec<&str> = pieces(&arguments).collect();
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|piece| piece.len() <= MAX_PIECE));
        assert_eq!(all.concat(), arguments);
        assert_eq!(pieces("{}").collect::<Vec<_>>(), ["{}"]);
        assert_eq!(pieces("").count(), 0);
    }
}
