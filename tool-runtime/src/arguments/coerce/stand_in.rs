//! Texts that stand for nothing, such as `""` and `"null"`: where they are read as `null` or as a missing value.

use super::Coercer;
use super::context::Context;
use crate::arguments::input::tree::node::Node;
use crate::arguments::limits::{self, Membership};
use crate::arguments::rules::{self, Mode};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Kind, Schema, SchemaId};

impl<'a> Coercer<'_, 'a, '_> {
    /// Rule 4: whether a text is read as `null` or as a missing value where one of these is allowed.
    ///
    /// Where the schema has no strings, such a text is nothing else. A string, or the item of a list, could be meant: then the schema
    /// has to refuse it, and only Lenient reads it so. For a `Patch`, `null` and a missing value differ, and a tool that destroys data may do
    /// more without an argument than with it: both keep the error.
    #[inline(never)] // not on the stack of the whole walk
    pub(in crate::arguments) fn stands_for_nothing(
        &self,
        text: &str,
        schema: &Schema,
        context: Context,
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
            && !self.accepts_word(text, schema, context, MAX_LEVELS)
    }

    /// Whether a text stands for nothing, so that it is not wrapped into a list of strings.
    pub(in crate::arguments) fn is_no_item(&self, node: &Node<'a>, list: SchemaId, context: Context) -> bool {
        let schema = self.compiled.schema(list);
        matches!(node, Node::Text(text) if schema.lists_of_strings
            && rules::is_null_word(text)
            && !self.has_item(text, schema, context))
    }

    /// Whether a schema accepts a text that could stand for nothing: as a string, or as one of the values that it lists for items.
    fn accepts_word(&self, text: &str, schema: &Schema, context: Context, levels: usize) -> bool {
        let context = context.under(schema);
        let each = |inner: &SchemaId| match levels.checked_sub(1) {
            Some(levels) => self.accepts_word(text, self.compiled.schema(*inner), context, levels),
            // A recursive schema: a text that may be accepted stays.
            None => true,
        };
        match &schema.kind {
            Kind::Any => schema.types.has(Types::STRING),
            Kind::Plain(plain) => {
                let lists = |values| {
                    limits::membership(values, &Node::Text(text.into()), context.respells())
                        != Membership::IsNot
                };
                schema.types.has(Types::STRING)
                    && plain.values.as_ref().is_none_or(lists)
                    && plain
                        .text
                        .as_ref()
                        .is_none_or(|limits| limits::of_text(limits, None, text).is_none())
                    || self.has_item(text, schema, context)
            }
            Kind::Union(union) => union.schemas.iter().any(each),
            Kind::AllOf(all_of) => all_of.schemas.iter().all(each),
        }
    }

    /// Whether a list has a text among the values that are listed for its items.
    fn has_item(&self, text: &str, list: &Schema, context: Context) -> bool {
        let item = || list.plain()?.list.as_ref()?.item(0);
        list.types.has(Types::ARRAY)
            && item().is_some_and(|item| self.lists_word(text, item, context, MAX_LEVELS))
    }

    /// Whether a schema lists a text among its values, in one of its alternatives or one of its parts.
    fn lists_word(&self, text: &str, schema: SchemaId, context: Context, levels: usize) -> bool {
        let each = |inner: &SchemaId| match levels.checked_sub(1) {
            Some(levels) => self.lists_word(text, *inner, context, levels),
            None => true,
        };
        match &self.compiled.schema(schema).kind {
            Kind::Any => false,
            Kind::Plain(plain) => plain.values.as_ref().is_some_and(|values| {
                limits::membership(values, &Node::Text(text.into()), context.respells()) != Membership::IsNot
            }),
            Kind::Union(union) => union.schemas.iter().any(each),
            Kind::AllOf(all_of) => all_of.schemas.iter().any(each),
        }
    }
}

/// Whether a text that could stand for nothing may be meant as a string, or as an item.
pub(in crate::arguments) fn may_be_meant(schema: &Schema) -> bool {
    schema.types.has(Types::STRING) || schema.lists_of_strings
}

/// How many unions and conjunctions are looked into, one in the other.
const MAX_LEVELS: usize = 4;
