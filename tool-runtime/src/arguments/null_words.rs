//! Schemas that accept a null word, such as `"null"`, as a string or as a listed item.

use crate::arguments::input::tree::node::Node;
use crate::arguments::limits::{self, Membership};
use crate::schema::CompiledSchema;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Kind, Schema, SchemaId};

impl CompiledSchema {
    /// Returns whether a schema accepts a null word such as `"null"`, as a string or as a listed value of its items.
    /// With `respells`, listed values may differ in spelling.
    pub(in crate::arguments) fn accepts_null_word(
        &self,
        text: &str,
        schema: &Schema,
        respells: bool,
    ) -> bool {
        self.accepts_word(text, schema, respells, MAX_LEVELS)
    }

    /// Returns whether the items of a list have a text among their listed values.
    pub(in crate::arguments) fn has_item(&self, text: &str, list: &Schema, respells: bool) -> bool {
        let item = || list.plain()?.list.as_ref()?.item(0);
        list.types.has(Types::ARRAY)
            && item().is_some_and(|item| self.lists_word(text, item, respells, MAX_LEVELS))
    }

    fn accepts_word(&self, text: &str, schema: &Schema, respells: bool, levels: usize) -> bool {
        let respells = respells && !schema.case_sensitive;
        let each = |inner: &SchemaId| match levels.checked_sub(1) {
            Some(levels) => self.accepts_word(text, self.schema(*inner), respells, levels),
            // At the depth limit, as in a recursive schema, the word counts as accepted.
            None => true,
        };
        match &schema.kind {
            Kind::Any => schema.types.has(Types::STRING),
            Kind::Plain(plain) => {
                let lists = |values| {
                    limits::membership(values, &Node::Text(text.into()), respells) != Membership::IsNot
                };
                schema.types.has(Types::STRING)
                    && plain.values.as_ref().is_none_or(lists)
                    && plain
                        .text
                        .as_ref()
                        .is_none_or(|limits| limits::text_violation(limits, text).is_none())
                    || self.has_item(text, schema, respells)
            }
            Kind::Union(union) => union.schemas.iter().any(each),
            Kind::AllOf(all_of) => all_of.schemas.iter().all(each),
        }
    }

    /// Returns whether a schema, one of its alternatives or one of its parts lists a text as a value.
    fn lists_word(&self, text: &str, schema: SchemaId, respells: bool, levels: usize) -> bool {
        let each = |inner: &SchemaId| match levels.checked_sub(1) {
            Some(levels) => self.lists_word(text, *inner, respells, levels),
            None => true,
        };
        match &self.schema(schema).kind {
            Kind::Any => false,
            Kind::Plain(plain) => plain.values.as_ref().is_some_and(|values| {
                limits::membership(values, &Node::Text(text.into()), respells) != Membership::IsNot
            }),
            Kind::Union(union) => union.schemas.iter().any(each),
            Kind::AllOf(all_of) => all_of.schemas.iter().any(each),
        }
    }
}

/// Maximum depth of nested unions and conjunctions in the search.
const MAX_LEVELS: usize = 4;
