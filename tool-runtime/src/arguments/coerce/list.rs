//! Coercion of lists: items, a single value in place of a list, and limits.

use std::rc::Rc;

use super::Coercer;
use super::context::CoercionContext;
use crate::arguments::input::tree::node::Node;
use crate::arguments::limits;
use crate::arguments::report::expected::{Expected, or_null};
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;
use crate::arguments::report::schema_hint::Example;
use crate::arguments::rules::Mode;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Additional, List, Schema, SchemaId};
use crate::wire::issue::{Code, Issue};

impl<'s, 'a> Coercer<'s, 'a, '_> {
    pub(in crate::arguments) fn list(
        &mut self,
        items: &[Node<'a>],
        schema: &'s Schema,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let list = schema.plain().and_then(|plain| plain.list.as_ref());
        if !self.may_open(items.len(), at) {
            return None;
        }
        let mark = self.report.mark();
        let mut changed: Option<Vec<Node<'a>>> = None;
        for (place, item) in items.iter().enumerate() {
            let at = Path::Index(at, place);
            let Some(schema) = list.and_then(|list| list.item(place)) else {
                self.free(item, &at);
                continue;
            };
            if let Some(taken) = self.coerce(item, schema, &at, context.item())
                && let Some(slot) = changed.get_or_insert_with(|| items.to_vec()).get_mut(place)
            {
                *slot = taken;
            }
        }
        let list = list?;
        if self.report.counts.errors > mark.counts.errors && self.is_only_item(items, list, context) {
            self.report.roll_back(mark);
            let tuple = Example(self.compiled, list);
            self.report.refuse(at, || ambiguous(items, &tuple));
            return None;
        }
        // In a tuple, removing an item would move the items after it.
        let removes_repeated = list.unique && !list.is_tuple() && context.mode == Mode::Lenient;
        // With an invalid item all items are kept, since the errors have their indices.
        if removes_repeated && self.report.counts.errors == mark.counts.errors {
            changed = self
                .without_duplicates(changed.as_deref().unwrap_or(items), at)
                .or(changed);
        }
        let taken = changed.as_deref().unwrap_or(items);
        self.limit_count(taken, list, schema, at);
        if list.unique && !removes_repeated {
            self.refuse_repeated(taken, schema, at);
        }
        changed.map(|items| Node::List(Rc::new(items)))
    }

    /// Removes duplicate items; `None` if there are none.
    fn without_duplicates(&mut self, items: &[Node<'a>], at: &Path<'_>) -> Option<Vec<Node<'a>>> {
        let repeated = limits::repeated_items(items);
        let (first, again) = *repeated.first()?;
        self.report.lose();
        self.report.warn(at, || {
            let message = match repeated.len() {
                1 => format!("item {again} repeats item {first} and was removed; send each item once"),
                count => format!(
                    "{count} items repeat earlier ones and were removed, the first is item {again}, \
                     which repeats item {first}; send each item once"
                ),
            };
            Issue::warning(Code::DuplicateItemsRemoved, "", message)
        });
        let mut places = repeated.into_iter().map(|(_, place)| place).peekable();
        let kept = items
            .iter()
            .enumerate()
            .filter(|(place, _)| places.next_if_eq(place).is_none());
        Some(kept.map(|(_, item)| item.clone()).collect())
    }

    /// Returns whether a value for a list of lists is a list without inner lists, which can be read as the only item.
    fn is_only_item(&self, items: &[Node<'_>], list: &List, context: CoercionContext) -> bool {
        let nested = match list.additional {
            Additional::Of(item) => self.compiled.schema(item).types.without(Types::NULL) == Types::ARRAY,
            _ => false,
        };
        context.mode.coerces()
            && context.wraps
            && nested
            && list.can_wrap_single()
            && !items.iter().any(|item| matches!(item, Node::List(_)))
    }

    /// Wraps a single value into a list (rule 5).
    pub(in crate::arguments) fn wrapped(
        &mut self,
        node: &Node<'a>,
        id: SchemaId,
        list: Option<&'s List>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let mark = self.report.mark();
        let inside = Path::Index(at, 0);
        let item = if let Some(schema) = list.and_then(|list| list.item(0)) {
            self.coerce(node, schema, &inside, context.item())
        } else {
            self.free(node, &inside);
            None
        };
        if self.report.counts.errors > mark.counts.errors {
            // The value is not an item either, so the list is missing.
            let counts = self.report.counts;
            let is_beyond_limit = counts.limits > mark.counts.limits && counts.losses == mark.counts.losses;
            self.report.roll_back(mark);
            if is_beyond_limit {
                self.report.limit();
            }
            let wanted = self.wanted(id);
            self.report.refuse(at, || {
                messages::invalid_type(Code::UnsupportedArrayLiteral, node, wanted)
            });
            return None;
        }
        let items = vec![item.unwrap_or_else(|| node.clone())];
        self.report.warn(at, || {
            let message = format!(
                "{} was read as an array with one item; send an array",
                messages::shown(node)
            );
            Issue::warning(Code::ScalarCoercedToList, "", message)
        });
        // The warning about the list precedes the warnings about its item.
        let found = self.report.since(mark);
        found.rotate_right(usize::from(!found.is_empty()));
        if let Some(list) = list {
            self.limit_count(&items, list, self.compiled.schema(id), at);
        }
        Some(Node::List(Rc::new(items)))
    }

    fn limit_count(&mut self, items: &[Node<'_>], list: &List, schema: &Schema, at: &Path<'_>) {
        let most = match list.additional {
            Additional::Denied => Some(list.prefix.len() as u64),
            _ => None,
        };
        let max = [list.max, most].into_iter().flatten().min();
        if let Some(limit) = limits::check_count(items.len(), list.min, max, "item") {
            self.report.refuse(at, || {
                let sent = Node::List(Rc::new(items.to_vec()));
                let limit = if list.is_tuple() {
                    format!("an array like {} with {limit}", Example(self.compiled, list))
                } else {
                    limit
                };
                messages::violates(&sent, or_null(schema, limit))
            });
        }
    }

    fn refuse_repeated(&mut self, items: &[Node<'_>], schema: &Schema, at: &Path<'_>) {
        if let Some(&(first, again)) = limits::repeated_items(items).first() {
            self.report.refuse(at, || {
                let limit = or_null(schema, "unique items".to_owned());
                let limit = format!("{limit}; item {again} equals item {first}");
                messages::violates(&Node::List(Rc::new(items.to_vec())), limit)
            });
        }
    }

    /// Returns the description of a schema, for messages.
    pub(in crate::arguments) fn wanted(&self, schema: SchemaId) -> Expected<'s> {
        Expected(self.compiled, schema)
    }
}

fn ambiguous(items: &[Node<'_>], wanted: &Example<'_>) -> Issue {
    let sent = Node::List(Rc::new(items.to_vec()));
    let message = format!(
        "ambiguous value {}: the array or its only item; expected {wanted}",
        messages::shown(&sent)
    );
    messages::refused(Code::AmbiguousList, &sent, message)
}
