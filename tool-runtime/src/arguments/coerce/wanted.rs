//! [`PlainSchema`], [`UnionSchema`]: an expected schema of one kind, with its id.

use crate::schema::compiled::{Plain, Schema, SchemaId, Union};

/// An expected schema with types and limits.
#[derive(Clone, Copy)]
pub(in crate::arguments) struct PlainSchema<'s> {
    pub(in crate::arguments) id: SchemaId,
    pub(in crate::arguments) schema: &'s Schema,
    pub(in crate::arguments) plain: &'s Plain,
}

/// An expected schema with alternatives.
#[derive(Clone, Copy)]
pub(in crate::arguments) struct UnionSchema<'s> {
    pub(in crate::arguments) id: SchemaId,
    pub(in crate::arguments) schema: &'s Schema,
    pub(in crate::arguments) alternatives: &'s Union,
}
