//! The rules of the house, held by tests: floors, sizes, names, and documents that tell the truth.

mod architecture;
mod documents;
mod floors;
mod locks;
mod manifests;
mod messages;
mod notes;
mod requirements;
mod sentences;
mod sizes;
mod sources;
mod tokens;
mod tuple_parameters;
mod type_names;
mod words;
