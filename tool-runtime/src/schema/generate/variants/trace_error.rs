//! [`TraceError`]: the end of each trace.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

#[derive(Debug, Default)]
pub(super) struct TraceError {
    /// Kind of value that a type expected in place of an object.
    pub(super) instead_of_map: Option<String>,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only looked at")
    }
}

impl std::error::Error for TraceError {}

impl Error for TraceError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::default()
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self {
            instead_of_map: (unexpected == Unexpected::Map).then(|| expected.to_string()),
        }
    }
}
