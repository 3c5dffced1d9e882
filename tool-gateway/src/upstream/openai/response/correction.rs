//! [`Correction`]: a change with which a rejected request is repeated.

use axum::http::StatusCode;

use super::context::{ContextError, output_limit};
use super::failure::ChatFailure;
use crate::wire::object::{Change, Object};

/// A change of a request of Chat Completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::upstream::openai) enum Correction {
    /// Another maximum number of output tokens.
    MaxTokens(u64),
    /// Without a field that the server does not know.
    Without(&'static str),
    /// The maximum number of output tokens in the other field.
    OtherMaxField(&'static str),
    /// The system prompt with the role `system`.
    SystemRole,
    /// Empty texts in place of `content: null`.
    EmptyContent,
}

/// Fields without which a request has nearly the same answer.
const OPTIONAL: [&str; 9] = [
    "parallel_tool_calls",
    "stream_options",
    "reasoning_effort",
    "temperature",
    "top_p",
    "top_k",
    "safety_identifier",
    "prompt_cache_key",
    "service_tier",
];

/// Fields of the maximum number of output tokens, each with the other one.
const MAX_FIELDS: [(&str, &str); 2] = [
    ("max_completion_tokens", "max_tokens"),
    ("max_tokens", "max_completion_tokens"),
];

impl Correction {
    /// Returns the change after which a rejected request may be accepted.
    pub(super) fn new(status: StatusCode, failure: &ChatFailure, body: &str) -> Option<Self> {
        if !matches!(status.as_u16(), 400 | 422) {
            return None;
        }
        if let Some(error) = ContextError::read(failure) {
            return error.fitting().map(Self::MaxTokens);
        }
        if let Some(limit) = output_limit(failure) {
            return Some(Self::MaxTokens(limit));
        }
        let request = Object::from_json(body)?;
        let message = &failure.message;
        let is_named = |field: &str| request.get(field).is_some() && message.contains(field);
        // The longer name contains neither a shorter one nor the reverse: `max_tokens` is not part of `max_completion_tokens`.
        if let Some((field, _)) = MAX_FIELDS.iter().find(|(field, _)| is_named(field)) {
            return Some(Self::OtherMaxField(field));
        }
        if let Some(field) = OPTIONAL.into_iter().find(|field| is_named(field)) {
            return Some(Self::Without(field));
        }
        if message.contains("developer") {
            return Some(Self::SystemRole);
        }
        let names_null =
            message.contains("content") && (message.contains("null") || message.contains("None"));
        names_null.then_some(Self::EmptyContent)
    }

    /// Returns the changed body of a request; `None` if the change has no effect.
    pub(in crate::upstream::openai) fn apply(&self, body: &str) -> Option<String> {
        let changed = match self {
            Self::MaxTokens(max) => {
                let max = max.to_string();
                written(body, |name| match name {
                    "max_tokens" | "max_completion_tokens" => Some(Change::To(&max)),
                    _ => Some(Change::Keep),
                })
            }
            Self::Without(field) => written(body, |name| (name != *field).then_some(Change::Keep)),
            Self::OtherMaxField(field) => {
                let (_, other) = MAX_FIELDS.iter().find(|(known, _)| known == field)?;
                let value = Object::from_json(body)?.get(field)?;
                let without = written(body, |name| (name != *field).then_some(Change::Keep));
                crate::wire::object::with_field(&without, other, value)
            }
            // Quotes in texts are escaped, so only a role has this form.
            Self::SystemRole => body.replace(r#"{"role":"developer","#, r#"{"role":"system","#),
            Self::EmptyContent => body.replace(r#","content":null"#, r#","content":"""#),
        };
        (changed != body).then_some(changed)
    }

    /// Returns whether the change also holds for other requests to the model.
    pub(in crate::upstream::openai) fn is_learned(&self) -> bool {
        !matches!(self, Self::MaxTokens(_))
    }
}

/// Writes an object with changed fields.
fn written<'t>(body: &str, mut change: impl FnMut(&str) -> Option<Change<'t>>) -> String {
    let mut out = String::with_capacity(body.len());
    if let Some(object) = Object::from_json(body) {
        object.write(&mut out, |name, _| change(name));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_fields_leave_the_request() {
        let body = r#"{"model":"m","messages":[{"role":"developer","content":"s"},{"role":"assistant","content":null}],"max_tokens":32000,"temperature":1.0,"parallel_tool_calls":false}"#;
        for (message, expected) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                body.replace(r#","max_tokens":32000"#, "")
                    .replace("false}", r#"false,"max_completion_tokens":32000}"#),
            ),
            (
                "Unsupported value: 'temperature' does not support 1.0",
                body.replace(r#","temperature":1.0"#, ""),
            ),
            (
                "unknown field parallel_tool_calls",
                body.replace(r#","parallel_tool_calls":false"#, ""),
            ),
            ("unknown role developer", body.replace("developer", "system")),
            (
                "content must not be null",
                body.replace(r#""content":null"#, r#""content":"""#),
            ),
            (
                "maximum context length is 32768 tokens and your request has 17459 input tokens",
                body.replace("32000", "15245"),
            ),
            (
                "max_tokens: at most 4096 completion tokens",
                body.replace("32000", "4096"),
            ),
        ] {
            let failure =
                ChatFailure::parse(&serde_json::json!({ "error": { "message": message } }).to_string());
            let correction = Correction::new(StatusCode::BAD_REQUEST, &failure, body).unwrap();
            assert_eq!(correction.apply(body).unwrap(), expected, "{message}");
            assert_eq!(Correction::new(StatusCode::NOT_FOUND, &failure, body), None);
        }
        let other = ChatFailure::parse(r#"{"error":{"message":"no tool `top_k`"}}"#);
        assert_eq!(Correction::new(StatusCode::BAD_REQUEST, &other, body), None);
    }
}
