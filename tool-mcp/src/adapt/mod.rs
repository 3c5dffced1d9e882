//! Conversions of lists, calls and results: no I/O.

pub(crate) mod revisions;
pub(crate) mod line_id;
pub(crate) mod lines;
#[cfg(any(feature = "client", feature = "http"))]
pub(crate) mod json;
#[cfg(feature = "client")]
pub(crate) mod era;
#[cfg(feature = "server")]
pub(crate) mod verbatim;
#[cfg(feature = "client")]
pub(crate) mod text;
#[cfg(all(feature = "client", feature = "http"))]
pub(crate) mod parameter_headers;
#[cfg(feature = "client")]
pub(crate) mod listing;
#[cfg(feature = "client")]
pub(crate) mod progress;
#[cfg(feature = "client")]
pub(crate) mod fault;
#[cfg(feature = "client")]
pub(crate) mod result;
