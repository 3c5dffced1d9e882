//! [`Correction`]: a change with which a rejected request is repeated.

use axum::http::StatusCode;

use super::context::{ContextError, output_limit};
use super::failure::ChatFailure;
use crate::wire::object::{Change, Object, set_field};
use crate::wire::walk;

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

/// A field without which a request has nearly the same answer.
#[derive(Debug)]
struct OptionalField {
    name: &'static str,
    /// Place of the field in the request.
    place: FieldPlace,
    /// Line of `[upstream.quirks]` that leaves the field out.
    quirk: Option<&'static str>,
}

/// Place of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldPlace {
    Request,
    /// The field `strict` of functions and of the output's schema.
    Functions,
    /// A field of messages.
    Messages,
}

const fn optional(name: &'static str, quirk: Option<&'static str>) -> OptionalField {
    let place = FieldPlace::Request;
    OptionalField { name, place, quirk }
}

/// Fields without which a request has nearly the same answer.
const OPTIONAL: [OptionalField; 12] = [
    optional("parallel_tool_calls", Some("parallel = false")),
    optional("stream_options", None),
    optional("reasoning_effort", Some(r#"reasoning = "none""#)),
    optional("temperature", None),
    optional("top_p", None),
    optional("top_k", Some("top_k = false")),
    optional("safety_identifier", Some(r#"user_field = "none""#)),
    optional("prompt_cache_key", Some("cache_key = false")),
    optional("service_tier", Some("tiers = false")),
    optional("user", Some(r#"user_field = "none""#)),
    OptionalField {
        place: FieldPlace::Functions,
        ..optional("strict", Some("strict = false"))
    },
    OptionalField {
        place: FieldPlace::Messages,
        ..optional("reasoning_content", Some(r#"back = "none""#))
    },
];

/// Fields of the maximum number of output tokens, each with the other one.
const MAX_FIELDS: [(&str, &str); 2] = [
    ("max_completion_tokens", "max_tokens"),
    ("max_tokens", "max_completion_tokens"),
];

impl Correction {
    /// Returns the change after which a rejected request may be accepted.
    pub(super) fn new(
        status: StatusCode,
        failure: &ChatFailure,
        body: &str,
        fits_max_tokens: bool,
    ) -> Option<Self> {
        if !matches!(status.as_u16(), 400 | 422) {
            return None;
        }
        if let Some(error) = ContextError::read(failure) {
            let fitting = error.fitting().filter(|_| fits_max_tokens);
            return fitting.map(Self::MaxTokens);
        }
        if let Some(limit) = output_limit(failure) {
            return Some(Self::MaxTokens(limit));
        }
        let request = Object::from_json(body)?;
        let message = &failure.message;
        // The longer name contains neither a shorter one nor the reverse: `max_tokens` is not part of `max_completion_tokens`.
        let is_named = |field: &str| request.get(field).is_some() && failure.names(field);
        if is_about_a_value(message) {
            return None;
        }
        if let Some((field, _)) = MAX_FIELDS.iter().find(|(field, _)| is_named(field)) {
            return Some(Self::OtherMaxField(field));
        }
        let mut optional = OPTIONAL.iter().map(|field| field.name);
        if let Some(field) = optional.find(|field| failure.names(field) && without(body, field).is_some()) {
            return Some(Self::Without(field));
        }
        let is_about_roles = ["role", "variant", "system"]
            .iter()
            .any(|word| message.contains(word));
        if is_about_roles && message.contains("developer") {
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
            Self::Without(field) => without(body, field)?,
            Self::OtherMaxField(field) => {
                let (_, other) = MAX_FIELDS.iter().find(|(known, _)| known == field)?;
                let value = Object::from_json(body)?.get(field)?;
                let without = written(body, |name| (name != *field).then_some(Change::Keep));
                crate::wire::object::with_field(&without, other, value)
            }
            Self::SystemRole => in_messages(body, "role", r#""developer""#, r#""system""#),
            Self::EmptyContent => in_messages(body, "content", "null", r#""""#),
        };
        (changed != body).then_some(changed)
    }

    /// Returns the code of the warning about the change.
    pub(in crate::upstream::openai) fn code(&self) -> &'static str {
        match self {
            Self::MaxTokens(_) => "max_tokens",
            Self::Without(field) | Self::OtherMaxField(field) => field,
            Self::SystemRole => "developer",
            Self::EmptyContent => "content",
        }
    }

    /// Returns the line of `[upstream.quirks]` with which the server would not reject the request, if there is one.
    pub(in crate::upstream::openai) fn quirk(&self) -> Option<&'static str> {
        match self {
            Self::MaxTokens(_) | Self::EmptyContent => None,
            Self::Without(name) => OPTIONAL.iter().find(|field| field.name == *name)?.quirk,
            Self::OtherMaxField("max_tokens") => Some(r#"max_field = "max_completion_tokens""#),
            Self::OtherMaxField(_) => Some(r#"max_field = "max_tokens""#),
            Self::SystemRole => Some(r#"role = "system""#),
        }
    }

    /// Returns whether a later change makes this one void.
    pub(in crate::upstream::openai) fn is_replaced_by(&self, later: &Self) -> bool {
        self == later || matches!((self, later), (Self::OtherMaxField(_), Self::OtherMaxField(_)))
    }

    /// Returns whether the change also holds for other requests to the model.
    pub(in crate::upstream::openai) fn is_learned(&self) -> bool {
        !matches!(self, Self::MaxTokens(_))
    }
}

/// Returns whether a message rejects the value of a field that the server knows. Without the field, the request would have another meaning, and
/// other requests have other values.
fn is_about_a_value(message: &str) -> bool {
    const LIMITS: [&str; 9] = [
        "must be",
        "range",
        "less than",
        "greater than",
        "between",
        "at least",
        "at most",
        "too large",
        "too small",
    ];
    const UNKNOWN: [&str; 6] = [
        "support",
        "unknown",
        "unrecognized",
        "unexpected",
        "permitted",
        "must not be null",
    ];
    let message = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|words| message.contains(words));
    has(&LIMITS) && !has(&UNKNOWN)
}

/// Returns a request without an optional field; `None` if the request does not have the field.
fn without(body: &str, name: &'static str) -> Option<String> {
    let field = OPTIONAL.iter().find(|field| field.name == name)?;
    let changed = match field.place {
        FieldPlace::Request => without_field(body, name),
        FieldPlace::Functions => {
            let in_tool = |tool: &str| in_field(tool, "function", |function| without_field(function, name));
            let in_format =
                |format: &str| in_field(format, "json_schema", |schema| without_field(schema, name));
            let body = in_field(body, "tools", |tools| in_items(tools, in_tool));
            in_field(&body, "response_format", in_format)
        }
        FieldPlace::Messages => {
            let in_message = |message: &str| without_field(message, name);
            in_field(body, "messages", |messages| in_items(messages, in_message))
        }
    };
    (changed != body).then_some(changed)
}

fn without_field(object: &str, name: &str) -> String {
    match Object::from_json(object).and_then(|fields| fields.get(name)) {
        Some(_) => written(object, |field| (field != name).then_some(Change::Keep)),
        None => object.to_owned(),
    }
}

/// Changes a field of an object, if the object has the field.
fn in_field(object: &str, name: &str, change: impl FnOnce(&str) -> String) -> String {
    match Object::from_json(object).and_then(|fields| fields.get(name)) {
        Some(value) => set_field(object, name, &change(value)),
        None => object.to_owned(),
    }
}

/// Replaces a value of a field of messages. Values and texts that look like messages are unchanged.
fn in_messages(body: &str, name: &str, from: &str, to: &str) -> String {
    let in_message = |message: &str| {
        let value = Object::from_json(message).and_then(|message| message.get(name));
        if value == Some(from) {
            set_field(message, name, to)
        } else {
            message.to_owned()
        }
    };
    in_field(body, "messages", |messages| in_items(messages, in_message))
}

/// Changes the items of a list.
fn in_items(list: &str, change: impl FnMut(&str) -> String) -> String {
    let items: Vec<String> = walk::items(list).map(change).collect();
    format!("[{}]", items.join(","))
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
            let correction = Correction::new(StatusCode::BAD_REQUEST, &failure, body, true).unwrap();
            assert_eq!(correction.apply(body).unwrap(), expected, "{message}");
            assert_eq!(Correction::new(StatusCode::NOT_FOUND, &failure, body, true), None);
        }
        for message in [
            "max_tokens must be positive",
            "temperature must be in the range [0, 2], got 3",
            "You are not enrolled in the developer programme",
        ] {
            let failure =
                ChatFailure::parse(&serde_json::json!({ "error": { "message": message } }).to_string());
            assert_eq!(
                Correction::new(StatusCode::BAD_REQUEST, &failure, body, true),
                None,
                "{message}"
            );
        }
        let other = ChatFailure::parse(r#"{"error":{"message":"no tool `top_k`"}}"#);
        assert_eq!(Correction::new(StatusCode::BAD_REQUEST, &other, body, true), None);
    }

    #[test]
    fn nested_fields_and_words_leave_the_request() {
        let body = concat!(
            r#"{"model":"m","tools":[{"type":"function","function":{"name":"strict","parameters":{"strict":1},"strict":true}},{"type":"function","function":{"name":"b"}}],"#,
            r#""messages":[{"role":"user","content":"user"},{"role":"assistant","content":"a","reasoning_content":"r"}],"#,
            r#""response_format":{"type":"json_schema","json_schema":{"name":"output","strict":true}},"user":"u"}"#
        );
        for (error, expected) in [
            (
                r#"{"error":{"message":"Unknown parameter: 'tools[0].function.strict'."}}"#,
                body.replace(r#","strict":true"#, ""),
            ),
            (
                r#"{"error":{"message":"Unrecognized request argument supplied: user","param":"user"}}"#,
                body.replace(r#","user":"u""#, ""),
            ),
            (
                r#"{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'user'), 'msg': 'Extra inputs are not permitted'}]"}"#,
                body.replace(r#","user":"u""#, ""),
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}]}"#,
                body.replace(r#","reasoning_content":"r""#, ""),
            ),
        ] {
            let failure = ChatFailure::parse(error);
            let correction = Correction::new(StatusCode::UNPROCESSABLE_ENTITY, &failure, body, true);
            assert_eq!(correction.unwrap().apply(body).unwrap(), expected, "{error}");
        }
        for message in [
            "roles must alternate user/assistant",
            "access is restricted",
            "user must be at most 64 characters, got 'user'",
            "a strict schema",
        ] {
            let failure = ChatFailure::parse(&serde_json::json!({ "message": message }).to_string());
            assert_eq!(
                Correction::new(StatusCode::BAD_REQUEST, &failure, body, true),
                None,
                "{message}"
            );
        }
    }

    #[test]
    fn only_messages_change_their_role_and_content() {
        let tools = concat!(
            r#","tools":[{"function":{"parameters":{"default":{"role":"developer","content":null},"#,
            r#""examples":[{"role":"x","content":null}],"messages":[{"role":"developer","content":null}]}}}]}"#
        );
        let messages =
            r#"{"messages":[{"role":"developer","content":"s"},{"role":"assistant","content":null,"n":1}]"#;
        for (correction, expected) in [
            (Correction::SystemRole, messages.replace("developer", "system")),
            (Correction::EmptyContent, messages.replace("null", r#""""#)),
        ] {
            let body = format!("{messages}{tools}");
            assert_eq!(correction.apply(&body).unwrap(), format!("{expected}{tools}"));
            assert_eq!(correction.apply(&format!(r#"{{"messages":[]{tools}"#)), None);
        }
    }

    #[test]
    fn quirks_are_flags_of_profiles() {
        for field in &OPTIONAL {
            let Some(quirk) = Correction::Without(field.name).quirk() else {
                continue;
            };
            let read = toml::from_str::<crate::upstream::openai::profile::Quirks>(quirk);
            assert!(read.is_ok(), "{quirk}: {read:?}");
        }
        for correction in [
            Correction::OtherMaxField("max_tokens"),
            Correction::OtherMaxField("max_completion_tokens"),
            Correction::SystemRole,
        ] {
            let quirk = correction.quirk().unwrap();
            assert!(
                toml::from_str::<crate::upstream::openai::profile::Quirks>(quirk).is_ok(),
                "{quirk}"
            );
        }
    }

    #[test]
    fn max_tokens_fit_only_if_that_is_set() {
        let message = "maximum context length is 32768 tokens and your request has 17459 input tokens";
        let failure = ChatFailure::parse(&serde_json::json!({ "message": message }).to_string());
        let correction = |fits| Correction::new(StatusCode::BAD_REQUEST, &failure, "{}", fits);
        assert_eq!(correction(true), Some(Correction::MaxTokens(15245)));
        assert_eq!(correction(false), None);
    }
}
