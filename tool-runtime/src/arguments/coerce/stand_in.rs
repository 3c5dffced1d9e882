//! Texts that stand for nothing, such as `""` and `"null"`: where they are read as `null` or as a missing value.

use super::Coercer;
use super::context::CoercionContext;
use crate::arguments::input::tree::node::Node;
use crate::arguments::rules::{self, Mode};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Schema, SchemaId};

impl<'a> Coercer<'_, 'a, '_> {
    /// Rule 4: whether a text is read as `null` or as a missing value where one of these is allowed.
    ///
    /// If the schema has no strings, such a text has no other reading. A string, or the item of a list, could be meant: then the schema
    /// has to refuse it, and only Lenient reads it so. For a `Patch`, `null` and a missing value differ, and a tool that destroys data may do
    /// more without an argument than with it: both keep the error.
    #[inline(never)] // not on the stack of the whole walk
    pub(in crate::arguments) fn stands_for_nothing(
        &self,
        text: &str,
        schema: &Schema,
        context: CoercionContext,
    ) -> bool {
        if !context.mode.coerces() || !rules::is_null_word(text) {
            return false;
        }
        if !may_be_meant(schema) {
            return true;
        }
        context.mode == Mode::Lenient
            && !schema.is_patch
            && !self.compiled.is_destructive()
            && !self
                .compiled
                .accepts_null_word(text, schema, context.under(schema).respells())
    }

    /// Whether a text stands for nothing, so that it is not wrapped into a list of strings.
    pub(in crate::arguments) fn is_no_item(
        &self,
        node: &Node<'a>,
        list: SchemaId,
        context: CoercionContext,
    ) -> bool {
        let schema = self.compiled.schema(list);
        matches!(node, Node::Text(text) if schema.lists_of_strings
            && rules::is_null_word(text)
            && !self.compiled.has_item(text, schema, context.respells()))
    }
}

/// Whether a text that could stand for nothing may be meant as a string, or as an item.
pub(in crate::arguments) fn may_be_meant(schema: &Schema) -> bool {
    schema.types.has(Types::STRING) || schema.lists_of_strings
}
