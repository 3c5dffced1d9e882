//! The flat form of a schema of arguments: one object without `anyOf`, `oneOf`, `allOf` or `$ref` at the root.
//!
//! The Messages API and OpenAI's APIs refuse a request if the schema of one of its tools has such a keyword at the
//! root. The flat form is only shown. It allows more than the schema: calls are checked against the schema, and the
//! rules that the flat form has no keyword for are sentences for the model.

mod object;
mod rules;
mod alternatives;
mod flattener;
mod references;
mod flat_schema;
mod definition;

pub(crate) use flat_schema::FlatSchema;
