//! Everything that can go wrong with a call: what the model reads of it, what the host learns, row by row as
//! `docs/faults.md` has it. `rows.rs` holds the document and the tests together.

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
mod processes;
mod parallel;
