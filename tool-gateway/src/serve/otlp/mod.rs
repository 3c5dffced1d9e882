//! Spans for an OpenTelemetry collector. The entry is [`Traces`].

mod collector;
#[cfg(not(feature = "otlp"))]
mod off;
#[cfg(feature = "otlp")]
mod client;
#[cfg(feature = "otlp")]
mod traces;

#[cfg(not(feature = "otlp"))]
pub(crate) use off::Traces;
#[cfg(feature = "otlp")]
pub(crate) use traces::Traces;
