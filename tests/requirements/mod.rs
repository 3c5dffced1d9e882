//! Tests the requirements of `docs/requirements.md`. Each test names, in the line above it, those that it proves.

mod tracing_events;
mod todo;
mod registry;
mod results;
mod offload;
mod arguments;
mod repair;
