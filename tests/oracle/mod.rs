//! `Policy::Strict`, compared with other implementations of JSON Schema: a crate on random schemas, and the official suite.

mod differences;
mod unchanged;
mod random_schemas;
mod json_schema_suite;
