//! Tests of the requirements in `docs/requirements.md`. The line above each test names the proved requirements.

mod tracing_events;
mod todo;
mod registry;
mod results;
mod offload;
mod arguments;
mod repair;
