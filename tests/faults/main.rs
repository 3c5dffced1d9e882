//! All faults of calls, with the text for the model and the telemetry for the host, as in the rows of `docs/faults.md`. `rows.rs` compares
//! the document with the tests.

mod rows;
#[cfg(unix)]
mod own_process;
mod telemetry;
mod calls;
mod panics;
mod layers;
mod permission;
mod time;
mod arguments;
mod results;
mod state;
mod batches;
mod shutdown;
mod stores;
mod read_back;
#[cfg(unix)] // what the kernel refuses, and in which words
mod disk;
#[cfg(unix)]
mod workspace;
#[cfg(unix)]
mod processes;
mod parallel;
