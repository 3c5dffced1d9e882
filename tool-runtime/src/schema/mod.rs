//! JSON Schemas: what schemars writes made fit for models, and what a model is shown made fit to be enforced.

pub(crate) mod subschemas;
pub(crate) mod marks;
mod describe;
mod unions;
mod recursion;
mod clean;
pub(crate) mod types;
pub(crate) mod decimal;
pub(crate) mod pointer;
pub(crate) mod bounds;
pub(crate) mod name;
pub(crate) mod shape;
mod formats;
pub(crate) mod limits;
mod reference;
mod check;
mod nullable;
mod uri;
mod identify;
mod merge;
mod compiler;
mod alternatives;
mod settle;
mod compile;

pub(crate) use clean::clean;
pub(crate) use describe::undescribed;
pub(crate) use identify::by_pointer;
pub(crate) use nullable::spelled_out;
pub(crate) use shape::Shape;
pub(crate) use unions::unwrap_sole;
