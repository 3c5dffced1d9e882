//! `check`: checks recorded calls against their schemas.

// Dependencies first: a module uses only modules declared before it.
mod captured_warnings;
mod schemas;
mod issue_counts;
mod progress;
pub(crate) mod lines;
