//! What a registry does around a call: isolation, cancellation, batches and layers.

mod assertions;
mod answers;
mod batches;
mod cancellation;
mod given;
mod layers;
mod notes;
mod polls;
mod registration;
mod tools;
mod unknown_names;
