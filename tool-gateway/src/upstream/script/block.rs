//! Content blocks of a script, and their streamed parts.

use serde::Deserialize;
use serde_json::Value;

use super::raw_object::{Excerpt, RawObject};

/// A block of an assistant message.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawObject")]
pub(super) struct ScriptBlock {
    /// Fields of the complete block.
    pub(super) complete: RawObject,
    /// Fields of the block in `content_block_start`.
    pub(super) start: RawObject,
    pub(super) deltas: Vec<Deltas>,
    /// Whether the block is a call of a client's tool.
    pub(super) is_tool_use: bool,
    /// Whether the block is a call without an id, which gets a new id in each response.
    pub(super) needs_id: bool,
}

/// A text that arrives in deltas of one type.
#[derive(Debug, Clone)]
pub(super) struct Deltas {
    pub(super) kind: &'static str,
    /// Name of the delta's field for the piece.
    pub(super) member: &'static str,
    pub(super) text: String,
    /// Whether the text is split into pieces.
    pub(super) in_pieces: bool,
    /// Whether an empty delta precedes the text.
    pub(super) empty_first: bool,
}

impl Deltas {
    fn pieces(kind: &'static str, member: &'static str, text: String) -> Self {
        Self {
            kind,
            member,
            text,
            in_pieces: true,
            empty_first: false,
        }
    }
}

impl TryFrom<RawObject> for ScriptBlock {
    type Error = String;

    fn try_from(object: RawObject) -> Result<Self, String> {
        let kind = object.string("type").map_err(|error| {
            format!("{error}; a block is for example {{\"type\": \"text\", \"text\": \"Hello\"}}")
        })?;
        match kind.as_str() {
            "text" => {
                let text = object.string("text")?;
                let deltas = vec![Deltas::pieces("text_delta", "text", text)];
                Ok(Self::streamed(object, &[("text", "\"\"")], deltas))
            }
            "thinking" => Self::thinking(object),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => Self::call(object, kind == "tool_use"),
            // Blocks without deltas, such as `redacted_thinking` and results of the server's tools.
            _ => Ok(Self::streamed(object, &[], Vec::new())),
        }
    }
}

impl ScriptBlock {
    pub(super) fn kind(&self) -> String {
        self.complete.string("type").unwrap_or_default()
    }

    fn streamed(complete: RawObject, at_start: &[(&str, &str)], deltas: Vec<Deltas>) -> Self {
        let mut start = RawObject::default();
        for (name, value) in complete.members() {
            let replaced = at_start.iter().find(|(replaced, _)| *replaced == name);
            start.push(name, replaced.map_or(value, |(_, value)| value).to_owned());
        }
        Self {
            complete,
            start,
            deltas,
            is_tool_use: false,
            needs_id: false,
        }
    }

    fn thinking(object: RawObject) -> Result<Self, String> {
        let thinking = object.string("thinking")?;
        let mut deltas = vec![Deltas::pieces("thinking_delta", "thinking", thinking)];
        if object.get("signature").is_some() {
            deltas.push(Deltas {
                in_pieces: false,
                ..Deltas::pieces("signature_delta", "signature", object.string("signature")?)
            });
        }
        let at_start = [("thinking", "\"\""), ("signature", "\"\"")];
        Ok(Self::streamed(object, &at_start, deltas))
    }

    fn call(object: RawObject, is_tool_use: bool) -> Result<Self, String> {
        object.string("name")?;
        let needs_id = object.get("id").is_none();
        if !needs_id {
            object.string("id")?;
        }
        if object.get("partial_json").is_some() {
            return Err("unknown field `partial_json`; write `input`, an object; \
                        malformed arguments need an `Upstream` other than a script"
                .to_owned());
        }
        let input = object
            .get("input")
            .ok_or("missing field `input`; write `\"input\": {}` for none")?;
        if !is_object(input) {
            let got = Excerpt(input);
            return Err(format!("invalid `input`: expected an object, got {got}"));
        }
        let deltas = Deltas {
            empty_first: true,
            ..Deltas::pieces("input_json_delta", "partial_json", input.to_owned())
        };
        Ok(Self {
            is_tool_use,
            needs_id,
            ..Self::streamed(object, &[("input", "{}")], vec![deltas])
        })
    }
}

fn is_object(json: &str) -> bool {
    matches!(serde_json::from_str(json), Ok(Value::Object(_)))
}
