//! [`PendingSurrogates`]: surrogate pairs that are split between two events.

use serde_json::{Map, Value};

/// High surrogates at the ends of deltas, until the low ones arrive: some servers split texts at UTF-16 code units.
#[derive(Debug, Default)]
pub(super) struct PendingSurrogates {
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    high: u16,
    /// An event that adds U+FFFD to the surrogate's text, with the fields that identify the text. Equal events belong
    /// to the same text.
    event: Value,
}

impl PendingSurrogates {
    /// Parses an event; `name` is its type if the data have none. A pair from an earlier event is completed at the
    /// start of its text. A high surrogate at the end of a delta is removed and kept. All other lone surrogates
    /// become U+FFFD.
    pub(super) fn parse(&mut self, name: Option<&str>, data: &str) -> serde_json::Result<Value> {
        let strict = serde_json::from_str(data);
        if strict.is_ok() && self.pending.is_empty() {
            return strict;
        }
        let mut event = strict.or_else(|_| parse_lossy(data))?;
        let marked: Value = serde_json::from_str(&replace_surrogates(data, mark))?;
        let kind = marked.get("type").and_then(Value::as_str).or(name);
        if kind == Some("message_delta") {
            return Ok(event); // its strings are complete
        }
        self.join(&mut event, &marked, false, &|mut event| {
            if let (Some(kind), Value::Object(fields)) = (kind, &mut event) {
                fields.insert("type".to_owned(), kind.into());
            }
            event
        });
        Ok(event)
    }

    /// Takes the kept surrogates of ended texts, and returns an event for each, which adds U+FFFD to the text.
    pub(super) fn end(&mut self, is_ended: impl Fn(&Value) -> bool) -> Vec<Value> {
        let ended = self.pending.extract_if(.., |pending| is_ended(&pending.event));
        ended.map(|pending| pending.event).collect()
    }

    /// Joins the texts below a `delta`. `marked` is the same value with a mark for each lone surrogate; `wrap` adds
    /// the fields that identify a text.
    fn join(&mut self, value: &mut Value, marked: &Value, in_delta: bool, wrap: &dyn Fn(Value) -> Value) {
        match (value, marked) {
            (Value::Object(fields), Value::Object(marked)) => {
                let is_key = |(name, value): &(&String, &Value)| {
                    (*name == "type" || name.ends_with("index")) && !value.is_object() && !value.is_array()
                };
                let keys = marked.iter().filter(is_key);
                let keys: Map<String, Value> =
                    keys.map(|(name, value)| (name.clone(), value.clone())).collect();
                for (name, value) in fields {
                    let Some(marked) = marked.get(name) else { continue };
                    let wrap = |inner| {
                        let mut fields = keys.clone();
                        fields.insert(name.clone(), inner);
                        wrap(fields.into())
                    };
                    self.join(value, marked, in_delta || name == "delta", &wrap);
                }
            }
            (Value::Array(items), Value::Array(marked)) => {
                for (item, marked) in items.iter_mut().zip(marked) {
                    self.join(item, marked, in_delta, &|inner| wrap(vec![inner].into()));
                }
            }
            (Value::String(text), Value::String(marked)) if in_delta && !text.is_empty() => {
                self.join_text(text, marked, wrap(char::REPLACEMENT_CHARACTER.to_string().into()));
            }
            _ => {}
        }
    }

    fn join_text(&mut self, text: &mut String, marked: &str, event: Value) {
        let low = marked_surrogate(text.chars().next(), marked.chars().next());
        let low = low.filter(|unit| (0xDC00..=0xDFFF).contains(unit));
        let high = marked_surrogate(text.chars().next_back(), marked.chars().next_back());
        let high = high.filter(|unit| (0xD800..=0xDBFF).contains(unit));
        let pending = self.pending.iter().position(|pending| pending.event == event);
        let pending = pending.map(|at| self.pending.swap_remove(at).high);
        let high = high.filter(|_| self.pending.len() < LIMIT);
        if high.is_some() {
            text.pop();
        }
        if let Some(first) = pending {
            let replaced = low.map_or(0, |_| char::REPLACEMENT_CHARACTER.len_utf8());
            let units = [Some(first), low].into_iter().flatten();
            let character = char::decode_utf16(units).next().and_then(Result::ok);
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            text.replace_range(..replaced, character.encode_utf8(&mut [0; 4]));
        }
        self.pending.extend(high.map(|high| Pending { high, event }));
    }
}

/// Maximum number of kept surrogates, more than a stream has texts at once.
const LIMIT: usize = 64;

/// Parses JSON, replacing lone surrogates, which `serde_json` rejects, by U+FFFD. The arguments of calls are joined
/// before they are parsed.
pub(super) fn parse_lossy(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&replace_surrogates(json, |_| char::REPLACEMENT_CHARACTER))
}

/// Returns a private character for a lone surrogate. A text may contain this character: a surrogate is recognised by
/// the difference from the text with U+FFFD.
fn mark(surrogate: u16) -> char {
    char::from_u32(MARKS + u32::from(surrogate)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

const MARKS: u32 = 0xF_0000;

/// Returns the surrogate at a character of the text, by the character of the marked text.
fn marked_surrogate(character: Option<char>, marked: Option<char>) -> Option<u16> {
    let unit = u32::from(marked.filter(|marked| Some(*marked) != character)?);
    u16::try_from(unit.checked_sub(MARKS)?).ok()
}

/// Returns the JSON with its lone surrogates replaced.
fn replace_surrogates(json: &str, replacement: impl Fn(u16) -> char) -> String {
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
            (Some(surrogate @ 0xD800..=0xDFFF), _) => {
                out.push(replacement(surrogate));
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            _ => 2,
        };
        let (kept, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(kept);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replaces_lone_surrogates() {
        for (data, text) in [
            (r#""a\ud83d\ude00\n""#, "a😀\n"),
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00\\ud83d\"""#, "\u{fffd}\\ud83d\""),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        ] {
            let mut pending = PendingSurrogates::default();
            assert_eq!(pending.parse(None, data).unwrap(), Value::from(text), "{data}");
            assert!(pending.pending.is_empty());
        }
        assert!(PendingSurrogates::default().parse(None, "{").is_err());
    }

    #[test]
    fn joins_pairs_of_one_text() {
        let mut pending = PendingSurrogates::default();
        let mut parse = |index: u32, text: &str| {
            let data =
                format!(r#"{{"index":{index},"id":{index},"delta":{{"text":"{text}"}},"whole":"{text}"}}"#);
            let event = pending.parse(None, &data).unwrap();
            event["delta"]["text"].as_str().unwrap().to_owned()
        };
        assert_eq!(parse(0, r"a\ud83d"), "a");
        assert_eq!(parse(1, r"\ud83d"), "");
        assert_eq!(parse(0, ""), "");
        assert_eq!(parse(0, r"\ude00\ud83d"), "😀");
        assert_eq!(parse(1, r"b"), "\u{fffd}b");
        assert_eq!(parse(0, r"\ud83d"), "\u{fffd}");
        assert_eq!(parse(0, r"\ude01\ude01"), "😁\u{fffd}");
        assert_eq!(parse(2, "c\u{fd83d}"), "c\u{fd83d}", "a mark is text, too");
        assert_eq!(parse(2, r"\ud83d"), "");
        let ended = pending.end(|event| event["index"] == 2);
        assert_eq!(ended, [json!({ "index": 2, "delta": { "text": "\u{fffd}" } })]);
        assert!(pending.end(|_| true).is_empty());
    }
}
