//! [`PlainSchema`], [`UnionSchema`]: a wanted schema of one kind, with its id.

use crate::schema::compiled::{Plain, Schema, SchemaId, Union};

/// A wanted schema that states types and limits.
#[derive(Clone, Copy)]
pub(in crate::arguments) struct PlainSchema<'s> {
    pub(in crate::arguments) id: SchemaId,
    pub(in crate::arguments) schema: &'s Schema,
    pub(in crate::arguments) plain: &'s Plain,
}

/// A wanted schema with alternatives.
#[derive(Clone, Copy)]
pub(in crate::arguments) struct UnionSchema<'s> {
    pub(in crate::arguments) id: SchemaId,
    pub(in crate::arguments) schema: &'s Schema,
    pub(in crate::arguments) alternatives: &'s Union,
}
