//! What a registry does around a call: isolation, cancellation, batches, layers, spans.

mod batches;
mod cancellation;
mod faults;
mod layers;
mod registration;
mod spans;
mod tools;
