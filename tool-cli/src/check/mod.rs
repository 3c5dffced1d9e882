//! Command `check`, which checks recorded calls against their schemas.

// A module uses only modules that are declared before it.
mod captured_warnings;
mod schemas;
mod issue_counts;
mod progress;
pub(crate) mod lines;
