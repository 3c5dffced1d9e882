//! [`RawArguments`]: the unparsed arguments of a call.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::wire::depth;

/// Unparsed arguments, borrowed or owned: text that should be JSON, a JSON value, or bytes that should be text.
///
/// Every function with arguments takes `impl Into<RawArguments<'_>>`: text, a [`Value`], bytes, or a reference to one
/// of these. The arguments are not copied until a call has to own them.
///
/// ```
/// use tool_runtime::{RawArguments, ToolRegistry, ToolResult, serde_json::json};
///
/// // A helper passes its argument on:
/// async fn search(registry: &ToolRegistry, input: impl Into<RawArguments<'_>>) -> ToolResult {
///     registry.execute_tool("toolu_01", "search", input).await
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(RawArguments::from("{}"), RawArguments::Text("{}".into()));
/// assert_eq!(RawArguments::from(b"{}".as_slice()), RawArguments::Text("{}".into()));
/// assert_eq!(RawArguments::from(vec![0xFF]).to_string(), "\u{FFFD}"); // not UTF-8: an error when it is parsed
///
/// let registry = ToolRegistry::new();
/// let text = String::from("{}");
/// for result in [search(&registry, &text).await, search(&registry, json!({})).await] {
///     assert_eq!(result.text(), Some("Tool 'search' not found"));
/// }
/// # }
/// ```
///
/// In a function that is not `async`, name the lifetime: `fn f<'a>(input: impl Into<RawArguments<'a>>)`.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum RawArguments<'a> {
    /// JSON text, not yet parsed. The best form, since the text of numbers is kept.
    Text(Cow<'a, str>),
    /// A parsed value. The text of its numbers is lost: `1.50` is `1.5`.
    Value(Cow<'a, Value>),
    /// Bytes, for instance from a socket; invalid UTF-8 is an error.
    Bytes(Cow<'a, [u8]>),
}

impl RawArguments<'_> {
    /// Converts into arguments that own their data.
    ///
    /// A value that is nested too deep is copied only in part; the copy is too deep as well.
    #[must_use]
    pub fn into_owned(mut self) -> RawArguments<'static> {
        match &mut self {
            Self::Text(text) => RawArguments::Text(Cow::Owned(std::mem::take(text).into_owned())),
            Self::Value(Cow::Borrowed(value)) => depth::copy(value).into(),
            Self::Value(Cow::Owned(value)) => value.take().into(),
            Self::Bytes(bytes) => RawArguments::Bytes(Cow::Owned(std::mem::take(bytes).into_owned())),
        }
    }

    /// Borrows the arguments.
    pub fn borrowed(&self) -> RawArguments<'_> {
        match self {
            Self::Text(text) => RawArguments::Text(Cow::Borrowed(text)),
            Self::Value(value) => RawArguments::Value(Cow::Borrowed(value)),
            Self::Bytes(bytes) => RawArguments::Bytes(Cow::Borrowed(bytes)),
        }
    }

    /// Takes the arguments, leaving an empty text.
    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Text(Cow::Borrowed("")))
    }

    /// Drops an owned value. The value was read, so it is not nested too deep.
    #[inline]
    pub(crate) fn free(&mut self) {
        if let Self::Value(Cow::Owned(value)) = self {
            *value = Value::Null;
        }
    }
}

impl Clone for RawArguments<'_> {
    fn clone(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.clone()),
            Self::Value(Cow::Borrowed(value)) => Self::Value(Cow::Borrowed(value)),
            Self::Value(Cow::Owned(value)) => Self::Value(Cow::Owned(depth::copy(value))),
            Self::Bytes(bytes) => Self::Bytes(bytes.clone()),
        }
    }
}

/// Dropping a deep value recursively would overflow the stack.
impl Drop for RawArguments<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Self::Value(Cow::Owned(value)) = self
            && depth::is_too_deep(value)
        {
            depth::drop_iteratively(value.take());
        }
    }
}

/// Displays text unchanged, a value as JSON, bytes as lossy UTF-8.
impl std::fmt::Display for RawArguments<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Value(value) => write!(f, "{value}"),
            Self::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
        }
    }
}

/// Serializes text as a string, a value unchanged, bytes as lossy UTF-8.
impl Serialize for RawArguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).serialize(serializer),
        }
    }
}

impl From<String> for RawArguments<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a str> for RawArguments<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a String> for RawArguments<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<Cow<'a, str>> for RawArguments<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl From<Value> for RawArguments<'_> {
    fn from(value: Value) -> Self {
        Self::Value(Cow::Owned(value))
    }
}

impl<'a> From<&'a Value> for RawArguments<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(Cow::Borrowed(value))
    }
}

impl From<Vec<u8>> for RawArguments<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) => Self::Bytes(error.into_bytes().into()),
        }
    }
}

impl<'a> From<&'a [u8]> for RawArguments<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => Self::Bytes(bytes.into()),
        }
    }
}

impl<'a> From<&'a RawArguments<'_>> for RawArguments<'a> {
    fn from(raw: &'a RawArguments<'_>) -> Self {
        raw.borrowed()
    }
}
