//! Execution of calls by a registry: isolation, cancellation, batches and layers.

mod assertions;
mod outputs;
mod empty_results;
mod batches;
mod cancellation;
mod blocking;
mod permission;
mod decisions;
mod owned_arguments;
mod layers;
mod nested_registries;
mod notes;
mod polls;
mod progress;
mod registration;
mod retries;
mod session_state;
mod sources;
mod spans;
mod structured;
mod extension;
mod tools;
mod unknown_names;
