//! Tests of the project's rules: floors, sizes, names, sentences, and documents that match the code.

mod architecture;
mod constructors;
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
