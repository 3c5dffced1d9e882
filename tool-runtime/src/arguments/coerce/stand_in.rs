//! Null words, such as `""` and `"null"`: whether they are read as `null` or as a missing value.

use super::Coercer;
use super::context::CoercionContext;
use crate::arguments::input::tree::node::Node;
use crate::arguments::rules::{self, Mode};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Schema, SchemaId};

impl<'a> Coercer<'_, 'a, '_> {
    /// Returns whether a text is read as `null` or as a missing value, if one of these is allowed (rule 4).
    ///
    /// If the schema has no strings, such a text has no other reading. If a string or a list item is possible, the
    /// schema has to reject the text, and only Lenient reads it as null. For a `Patch`, `null` and a missing value
    /// differ, and a tool that destroys data may do more without an argument than with it: in both cases the text is
    /// an error.
    #[inline(never)] // keeps its variables off the stack of each level
    pub(in crate::arguments) fn reads_as_null(
        &self,
        text: &str,
        schema: &Schema,
        context: CoercionContext,
    ) -> bool {
        if !context.mode.coerces() || !rules::is_null_word(text) {
            return false;
        }
        if !may_be_string(schema) {
            return true;
        }
        context.mode == Mode::Lenient
            && !schema.is_patch
            && !self.compiled.is_destructive()
            && !self
                .compiled
                .accepts_null_word(text, schema, context.under(schema).respells())
    }

    /// Returns whether a text is a null word, which is not wrapped into a list of strings.
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

/// Returns whether a null word may be a string or an item.
pub(in crate::arguments) fn may_be_string(schema: &Schema) -> bool {
    schema.types.has(Types::STRING) || schema.lists_of_strings
}
