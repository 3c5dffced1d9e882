//! What a model asks for: [`ToolCall`] as it comes, [`ToolCallRequest`] once its arguments were read.

use std::any::Any;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::depth;
use crate::issue::Issue;
use crate::policy::Policy;

/// One `tool_use`: an id to answer to, a tool's name, and the arguments as the model wrote them.
///
/// ```
/// use tool_runtime::ToolCall;
/// use tool_runtime::serde_json::json;
///
/// let from_text = ToolCall::new("toolu_01", "add", r#"{"a": 1, "b": 2}"#);
/// let from_value = ToolCall::new("toolu_01", "add", json!({ "a": 1, "b": 2 }));
/// assert_eq!(from_text.name, from_value.name);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id that the answer carries.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, unread.
    pub input: RawArguments,
    /// What the host gives the tool: session, deadline, cancellation, extensions.
    pub context: Context,
    /// How lenient to be with this call; `None` leaves it to the tool and the registry.
    pub policy: Option<Policy>,
    /// The registry that the call was handed to, on its way through the layers to that registry's tools.
    pub(crate) scope: Option<Arc<dyn Any + Send + Sync>>,
}

impl ToolCall {
    /// A call; `input` is JSON text or a [`Value`].
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: impl Into<RawArguments>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input: input.into(),
            context: Context::new(),
            policy: None,
            scope: None,
        }
    }

    /// Gives the call a context.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Self {
        self.context = context;
        self
    }

    /// Overrides how lenient the registry and the tool are, for this call.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }
}

/// Reads a `tool_use` block; fields it does not know are ignored.
impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct ToolUse {
            id: String,
            name: String,
            #[serde(default)]
            input: Value,
        }
        let ToolUse { id, name, input } = ToolUse::deserialize(deserializer)?;
        Ok(Self::new(id, name, input))
    }
}

/// Arguments as they came: text that should be JSON, a JSON value, or bytes that should be text.
///
/// Nobody has to build one: whatever a model's API hands over becomes one.
///
/// ```
/// use tool_runtime::{RawArguments, serde_json::json};
///
/// assert_eq!(RawArguments::from("{}"), RawArguments::Text("{}".to_owned()));
/// assert_eq!(RawArguments::from(json!({})), RawArguments::Value(json!({})));
/// assert_eq!(RawArguments::from(b"{}".as_slice()), RawArguments::Text("{}".to_owned()));
/// assert_eq!(RawArguments::from(vec![0xFF]), RawArguments::Bytes(vec![0xFF])); // no UTF-8: refused when it is read
/// ```
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum RawArguments {
    /// JSON text, if all is well. The best form: number text survives exactly.
    Text(String),
    /// A parsed value. The text of its numbers is gone: `1.50` is `1.5`.
    Value(Value),
    /// Bytes from a socket; refused with a clear error when they are not UTF-8.
    Bytes(Vec<u8>),
}

/// The same, borrowed: what reads the arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Input<'a> {
    Text(&'a str),
    Value(&'a Value),
    Bytes(&'a [u8]),
}

/// Arguments for one call: to be read, or given away.
#[derive(Debug)]
pub(crate) enum Handed<'a> {
    Lent(Input<'a>),
    /// Nobody needs it afterwards, so what conforms can be moved out of it.
    Given(&'a mut Value),
}

impl Handed<'_> {
    /// The same, for a while.
    #[inline]
    pub(crate) fn reborrow(&mut self) -> Handed<'_> {
        match self {
            Self::Lent(input) => Handed::Lent(*input),
            Self::Given(value) => Handed::Given(value),
        }
    }

    /// To be read.
    pub(crate) fn as_input(&self) -> Input<'_> {
        match self {
            Self::Lent(input) => *input,
            Self::Given(value) => Input::Value(value),
        }
    }

    /// Frees a value that was given, since a function may run for long. It must not be deeper than [`depth::MOST`].
    #[inline]
    pub(crate) fn discard(&mut self) {
        if let Self::Given(value) = self {
            **value = Value::Null;
        }
    }
}

impl RawArguments {
    /// To be read.
    pub(crate) fn as_input(&self) -> Input<'_> {
        match self {
            Self::Text(text) => Input::Text(text),
            Self::Value(value) => Input::Value(value),
            Self::Bytes(bytes) => Input::Bytes(bytes),
        }
    }

    /// Given away.
    #[inline]
    pub(crate) fn give(&mut self) -> Handed<'_> {
        match self {
            Self::Value(value) => Handed::Given(value),
            other => Handed::Lent(other.as_input()),
        }
    }
}

/// Arguments for a call that is made at once: borrowed, where they were given so.
///
/// What [`execute_tool`](crate::ToolRegistry::execute_tool) takes: text, a [`Value`], bytes, [`RawArguments`], or a
/// reference to any of them.
///
/// ```
/// use tool_runtime::{Arguments, serde_json::json};
///
/// let text = String::from(r#"{"a": 1}"#);
/// let borrowed = Arguments::from(&text);
/// let given = Arguments::from(json!({ "a": 1 }));
/// assert!(format!("{borrowed:?} {given:?}").contains("Borrowed"));
/// ```
#[derive(Debug)]
pub struct Arguments<'a>(Kept<'a>);

#[derive(Debug)]
enum Kept<'a> {
    Borrowed(Input<'a>),
    Owned(RawArguments),
}

impl Arguments<'_> {
    /// Given away, where they are not borrowed.
    #[inline]
    pub(crate) fn give(&mut self) -> Handed<'_> {
        match &mut self.0 {
            Kept::Borrowed(input) => Handed::Lent(*input),
            Kept::Owned(raw) => raw.give(),
        }
    }

    pub(crate) fn into_raw(self) -> RawArguments {
        match self.0 {
            Kept::Borrowed(Input::Text(text)) => text.into(),
            Kept::Borrowed(Input::Value(value)) => RawArguments::Value(depth::copy(value)),
            Kept::Borrowed(Input::Bytes(bytes)) => bytes.into(),
            Kept::Owned(raw) => raw,
        }
    }
}

macro_rules! arguments {
    (borrowed $($type:ty, |$given:ident| $input:expr;)*) => {
        $(impl<'a> From<&'a $type> for Arguments<'a> {
            fn from($given: &'a $type) -> Self {
                Self(Kept::Borrowed($input))
            }
        })*
    };
    (owned $($type:ty)*) => {
        $(impl From<$type> for Arguments<'_> {
            fn from(given: $type) -> Self {
                Self(Kept::Owned(given.into()))
            }
        })*
    };
}

arguments! {
    borrowed
    str, |text| Input::Text(text);
    String, |text| Input::Text(text);
    Value, |value| Input::Value(value);
    [u8], |bytes| Input::Bytes(bytes);
    RawArguments, |raw| raw.as_input();
}
arguments!(owned String Value Vec<u8> RawArguments);

/// Text as a string, a value as itself, bytes as what can be read of them.
impl Serialize for RawArguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).serialize(serializer),
        }
    }
}

/// A value that is nested too deep for any tool is copied only so far that the copy is, too.
impl Clone for RawArguments {
    fn clone(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.clone()),
            Self::Value(value) => Self::Value(depth::copy(value)),
            Self::Bytes(bytes) => Self::Bytes(bytes.clone()),
        }
    }
}

/// A value may be nested so deep that dropping it the usual way would overflow the stack.
impl Drop for RawArguments {
    fn drop(&mut self) {
        if let Self::Value(value) = self
            && depth::is_too_deep(value)
        {
            depth::dismantle(value.take());
        }
    }
}

impl From<String> for RawArguments {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for RawArguments {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for RawArguments {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<Value> for RawArguments {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Vec<u8>> for RawArguments {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(refused) => Self::Bytes(refused.into_bytes()),
        }
    }
}

impl From<&[u8]> for RawArguments {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

/// A call whose arguments were read and not yet acted upon: what
/// [`ToolRegistry::request`](crate::ToolRegistry::request) answers.
///
/// What a permission dialog shows, what a gateway passes on: the coerced arguments, unknown ones included.
///
/// ```
/// use tool_runtime::{ToolCall, ToolRegistry, tool};
///
/// /// Send money.
/// #[tool]
/// async fn send_money(
///     /// How much, in euros.
///     euros: u32,
/// ) {}
///
/// let mut registry = ToolRegistry::new();
/// registry.register::<send_money>().unwrap();
/// let request = registry.request(ToolCall::new("toolu_01", "send_money", r#"{ "euros": "5", "to": "Bo" }"#));
/// assert_eq!(request.arguments_json, r#"{"euros":5,"to":"Bo"}"#);
/// assert_eq!((request.warnings.len(), request.errors.len()), (2, 0));
/// ```
// Seed 002 has it by this name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolCallRequest {
    /// The id that the answer will carry.
    pub tool_use_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as they came.
    pub raw_arguments: RawArguments,
    /// The arguments after coercion; unknown ones are kept, refused ones stand as they were sent.
    pub arguments: Map<String, Value>,
    /// The same as compact JSON text, with every number as it was written: a [`Value`] cannot hold all of them.
    #[serde(skip)]
    pub arguments_json: String,
    /// What was changed or ignored; does not stop the call.
    pub warnings: Vec<Issue>,
    /// Why the call cannot be made; empty when it can.
    pub errors: Vec<Issue>,
}
