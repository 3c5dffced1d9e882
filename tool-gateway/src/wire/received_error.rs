//! [`ReceivedError`]: an error that a server sent in place of a message.

use axum::http::StatusCode;
use serde_json::{Map, Value};

use super::error::status_of_type;
use super::fields::ObjectText;
use super::object::Object;

/// An error that a server sent in place of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReceivedError {
    /// Error of the Messages API in its original form.
    Api(ObjectText),
    /// An error in the form of another API.
    Foreign(ForeignError),
}

/// An error in the form of another API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignError {
    /// HTTP status in the error.
    pub(crate) status: Option<StatusCode>,
    /// Message in the error.
    pub(crate) message: String,
}

/// Maximum length of an error in bytes. Longer texts are not parsed.
const MAX_BYTES: usize = 1 << 20;

impl ReceivedError {
    /// Parses the body of a response or the data of an event. Returns `None` if the text has no error message.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = Some(text.trim_ascii()).filter(|text| text.len() <= MAX_BYTES)?;
        if let Some(error) = ObjectText::new(text).filter(is_api_error) {
            return Some(Self::Api(error));
        }
        ForeignError::parse(text).map(Self::Foreign)
    }
}

/// Returns whether an object is an error of the Messages API with a type and a message.
fn is_api_error(error: &ObjectText) -> bool {
    let error = error.object();
    let details = error.get("error").and_then(|details| Object::parse(details).ok());
    let has_details = |details: Object<'_>| {
        ["type", "message"]
            .iter()
            .all(|name| details.string(name).is_some())
    };
    error.is("type", "error") && details.is_some_and(has_details)
}

impl ForeignError {
    /// Parses a JSON text. The known forms are `{"error": {"message": …, "code": …}}` of OpenAI and Google, a list with such an object, and
    /// an object whose `error`, `message`, `detail`, `error_msg` or `msg` is a string.
    fn parse(text: &str) -> Option<Self> {
        let body = match serde_json::from_str(text).ok()? {
            Value::Array(items) => items.into_iter().next()?,
            body => body,
        };
        let body = body.as_object()?;
        let error = body.get("error");
        let details = error.and_then(Value::as_object);
        let message = details
            .and_then(message)
            .or_else(|| string(error))
            .or_else(|| message(body))?;
        let status = details.and_then(status).or_else(|| status(body));
        Some(Self { status, message })
    }
}

/// Returns the message of an error object.
fn message(fields: &Map<String, Value>) -> Option<String> {
    let names = ["message", "detail", "error_msg", "msg"];
    names.into_iter().find_map(|name| string(fields.get(name)))
}

/// Returns a string that is not blank.
fn string(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned)
}

/// Returns the HTTP status of an error object: the first of `status`, `status_code`, `code` and `error_code` whose value is a number from
/// 400 to 599, or a string with such a number. Without such a field, the status is derived from `type`, as in the Messages API.
fn status(fields: &Map<String, Value>) -> Option<StatusCode> {
    let number = |value: &Value| match value {
        Value::Number(number) => u16::try_from(number.as_u64()?).ok(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let names = ["status", "status_code", "code", "error_code"];
    let mut codes = names
        .into_iter()
        .filter_map(|name| fields.get(name).and_then(number));
    let code = codes.find(|code| (400..600).contains(code));
    let code = code.and_then(|code| StatusCode::from_u16(code).ok());
    code.or_else(|| status_of_type(fields.get("type")?.as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_errors_of_other_servers() {
        for (text, status, message) in [
            (
                r#"{"error":{"message":"slow down","type":"requests","code":"429"}}"#,
                Some(429),
                "slow down",
            ),
            (
                r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#,
                Some(429),
                "slow down",
            ),
            (
                r#"[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]"#,
                Some(503),
                "busy",
            ),
            (r#"{"error":"no model","status":404}"#, Some(404), "no model"),
            (
                r#"{"object":"error","message":"too long","code":400}"#,
                Some(400),
                "too long",
            ),
            (
                r#"{"type":"error","error":"no details","code":99999}"#,
                None,
                "no details",
            ),
            (r#"{"detail":"Not authenticated"}"#, None, "Not authenticated"),
            (
                r#"{"error_code":17,"error_msg":"daily limit"}"#,
                None,
                "daily limit",
            ),
        ] {
            let expected = ReceivedError::Foreign(ForeignError {
                status: status.map(|status| StatusCode::from_u16(status).unwrap()),
                message: message.to_owned(),
            });
            assert_eq!(ReceivedError::parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn keeps_the_text_of_messages_api_errors() {
        let text = r#"{ "type":"error", "error":{"type":"later_error","message":"m","x":1.50}}"#;
        let expected = ReceivedError::Api(ObjectText::new(text).unwrap());
        assert_eq!(ReceivedError::parse(&format!("{text}\n")), Some(expected));
    }

    #[test]
    fn rejects_texts_without_an_error_message() {
        for other in [
            "",
            "<html>",
            "[]",
            "5",
            "{}",
            r#"{"error":null}"#,
            r#"{"error":{"code":1}}"#,
            r#"{"message":" "}"#,
            r#"{"type":"error"}"#,
        ] {
            assert_eq!(ReceivedError::parse(other), None, "{other}");
        }
    }
}
