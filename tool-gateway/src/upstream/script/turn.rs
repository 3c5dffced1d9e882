//! File of a script: its fields, and errors of invalid fields.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::block::ScriptBlock;
use super::raw_object::{RawObject, one_line};

/// Content of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    pub(super) turns: Vec<ScriptTurn>,
    #[serde(default)]
    pub(super) order: Order,
}

/// Selection of the turn that answers a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// The turn whose index is the number of assistant messages in the request.
    #[default]
    Messages,
    /// The next turn.
    Requests,
}

/// A response.
#[derive(Debug, Deserialize)]
#[serde(try_from = "TurnFields")]
pub(super) struct ScriptTurn {
    /// `None` if the turn is an error.
    pub(super) message: Option<ScriptMessage>,
    pub(super) error: Option<ErrorResponse>,
    pub(super) headers: HeaderMap,
    pub(super) delay: Duration,
    pub(super) event_delay: Duration,
}

#[derive(Debug)]
pub(super) struct ScriptMessage {
    pub(super) blocks: Vec<ScriptBlock>,
    pub(super) stop_reason: String,
    pub(super) usage: Usage,
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    /// Number of characters in a delta.
    pub(super) delta_size: usize,
    pub(super) ping: bool,
}

/// Usage of a message. Missing counters are computed.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "RawObject")]
pub(super) struct Usage {
    pub(super) members: RawObject,
    pub(super) has_input_tokens: bool,
    pub(super) has_output_tokens: bool,
}

#[derive(Debug)]
pub(super) struct ErrorResponse {
    pub(super) status: StatusCode,
    /// Content type and text of the body, if the script sets one.
    pub(super) body: Option<(&'static str, Bytes)>,
    pub(super) headers: HeaderMap,
}

/// Fields of a turn in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnFields {
    content: Option<Vec<ScriptBlock>>,
    error: Option<ErrorFields>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    id: Option<String>,
    model: Option<String>,
    deltas: Option<NonZeroUsize>,
    #[serde(default)]
    ping: bool,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    event_delay_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorFields {
    status: u16,
    body: Option<Box<RawValue>>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl TryFrom<TurnFields> for ScriptTurn {
    type Error = String;

    fn try_from(fields: TurnFields) -> Result<Self, String> {
        if fields.content.is_none() && fields.error.is_none() {
            return Err("a turn has neither `content` nor `error`; write for example \
                        \"content\": [{\"type\": \"text\", \"text\": \"Hello\"}]"
                .to_owned());
        }
        let default_stop_reason = |blocks: &[ScriptBlock]| {
            let calls = blocks.iter().any(|block| block.is_tool_use);
            if calls { "tool_use" } else { "end_turn" }.to_owned()
        };
        let message = fields.content.map(|blocks| ScriptMessage {
            stop_reason: fields.stop_reason.unwrap_or_else(|| default_stop_reason(&blocks)),
            blocks,
            usage: fields.usage.unwrap_or_default(),
            id: fields.id,
            model: fields.model,
            delta_size: fields.deltas.map_or(16, NonZeroUsize::get),
            ping: fields.ping,
        });
        Ok(Self {
            message,
            error: fields.error.map(ErrorResponse::try_from).transpose()?,
            headers: header_map(&fields.headers)?,
            delay: Duration::from_millis(fields.delay_ms),
            event_delay: Duration::from_millis(fields.event_delay_ms),
        })
    }
}

impl TryFrom<ErrorFields> for ErrorResponse {
    type Error = String;

    fn try_from(fields: ErrorFields) -> Result<Self, String> {
        let status = StatusCode::from_u16(fields.status).ok();
        let status = status.filter(|_| (400..600).contains(&fields.status));
        let status = status
            .ok_or_else(|| format!("invalid `status` {}; expected one from 400 to 599", fields.status))?;
        let body = fields.body.map(|body| {
            // Proxies answer with a text or HTML page.
            match serde_json::from_str::<String>(body.get()) {
                Ok(text) => ("text/plain; charset=utf-8", Bytes::from(text)),
                Err(_) => ("application/json", Bytes::from(one_line(body.get()))),
            }
        });
        Ok(Self {
            status,
            body,
            headers: header_map(&fields.headers)?,
        })
    }
}

impl TryFrom<RawObject> for Usage {
    type Error = String;

    fn try_from(members: RawObject) -> Result<Self, String> {
        let counts = |name: &str| {
            let Some(value) = members.get(name) else {
                return Ok(false);
            };
            let valid = value.parse::<u64>().is_ok();
            let error = || format!("invalid `{name}`: expected a number of tokens, got {value}");
            if valid { Ok(true) } else { Err(error()) }
        };
        Ok(Self {
            has_input_tokens: counts("input_tokens")?,
            has_output_tokens: counts("output_tokens")?,
            members,
        })
    }
}

fn header_map(fields: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let valid_name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("invalid header name `{name}`; expected for example `retry-after`"))?;
        let valid_value = HeaderValue::from_str(value).map_err(|_| {
            format!("invalid value of the header `{name}`; expected visible ASCII characters")
        })?;
        headers.insert(valid_name, valid_value);
    }
    Ok(headers)
}
