//! Arguments against a schema: coerced, checked, read into typed values.

mod conform;
mod place;
mod keys;
mod exact;

use crate::call::RawArguments;
use crate::host::Host;
use crate::issue::{Code, Issue};
use crate::params::Params;
use crate::policy::Policy;
use crate::schema::Shape;

/// What reading found.
#[derive(Debug)]
pub(crate) struct Reading<V> {
    /// The values; `None` when an issue is an error.
    pub(crate) values: Option<V>,
    pub(crate) issues: Vec<Issue>,
}

/// Reads the arguments of a typed tool.
pub(crate) fn read<P: Params>(
    params: &P,
    shape: &Shape,
    input: &RawArguments,
    _policy: Policy,
    host: &Host<'_>,
) -> Reading<P::Values> {
    if let RawArguments::Text(text) = input
        && let Some(values) = exact::read(params, shape, text, host)
    {
        return Reading {
            values: Some(values),
            issues: Vec::new(),
        };
    }
    let read = match input {
        RawArguments::Text(text) => params.stream(&mut serde_json::Deserializer::from_str(text), host),
        RawArguments::Value(value) => params.stream(value, host),
        RawArguments::Bytes(bytes) => params.stream(&mut serde_json::Deserializer::from_slice(bytes), host),
    };
    match read {
        Ok(values) => Reading {
            values: Some(values),
            issues: Vec::new(),
        },
        Err(error) => Reading {
            values: None,
            issues: vec![Issue::error(Code::InvalidValue, "", error.to_string())],
        },
    }
}

/// What coercing found.
#[derive(Debug)]
pub(crate) struct Coerced {
    /// The arguments: coerced, unknown ones kept, refused ones as they were sent.
    pub(crate) arguments: serde_json::Map<String, serde_json::Value>,
    pub(crate) issues: Vec<Issue>,
}

/// Coerces the arguments of a tool that is known by its schema.
pub(crate) fn coerce(_shape: &Shape, input: &RawArguments, _policy: Policy) -> Coerced {
    let read = match input {
        RawArguments::Text(text) => serde_json::from_str(text),
        RawArguments::Value(value) => serde_json::from_value(value.clone()),
        RawArguments::Bytes(bytes) => serde_json::from_slice(bytes),
    };
    match read {
        Ok(arguments) => Coerced {
            arguments,
            issues: Vec::new(),
        },
        Err(error) => Coerced {
            arguments: serde_json::Map::new(),
            issues: vec![Issue::error(Code::JsonParseError, "", error.to_string())],
        },
    }
}
