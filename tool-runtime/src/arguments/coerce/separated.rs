//! Lists in the form of text with commas: `"red, blue"` for a list of colours.

use std::borrow::Cow;
use std::rc::Rc;

use super::Coercer;
use super::context::CoercionContext;
use crate::arguments::coerce::wanted::PlainSchema;
use crate::arguments::input::tree::node::{Node, Number};
use crate::arguments::limits::{self, Membership};
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;
use crate::schema::compiled::decimal::Decimal;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Additional, Schema};
use crate::wire::issue::{Code, Issue};

impl<'s, 'a> Coercer<'s, 'a, '_> {
    /// Reads a text with commas as a list, if its pieces are items and the whole text is not: a plain string may
    /// contain commas.
    #[inline(never)] // keeps its variables off the stack of each level
    pub(in crate::arguments) fn separated(
        &mut self,
        node: &Node<'a>,
        want: Types,
        wanted: PlainSchema<'s>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let Node::Text(text) = node else { return None };
        let plain = wanted.plain;
        let list = plain.list.as_ref().filter(|list| list.can_wrap_single())?;
        let Additional::Of(item) = list.additional else {
            return None;
        };
        if want != Types::ARRAY || !context.wraps || !text.contains(',') {
            return None;
        }
        let pieces = self.compiled.schema(item).pieces(text, context)?;
        let count = pieces.len();
        let items = Node::List(Rc::new(pieces));
        let trial =
            self.with_own_cache(|this| this.in_trial(|this| this.typed(&items, want, wanted, at, context)));
        if trial.counts.errors > 0 || trial.counts.losses > 0 {
            return None;
        }
        self.report.warn(at, || {
            let message = format!(
                "{} was read as an array with {count} items; send an array",
                messages::shown(node)
            );
            Issue::warning(Code::StringLiteralConvertedToList, "", message)
        });
        let changed = self.with_own_cache(|this| this.typed(&items, want, wanted, at, context));
        Some(changed.unwrap_or(items))
    }
}

impl Schema {
    /// Splits a text into at least two items: quoted strings, values that the schema lists or a `format` describes,
    /// or numbers.
    fn pieces<'a>(&self, text: &str, context: CoercionContext) -> Option<Vec<Node<'a>>> {
        let plain = self.plain();
        if self.types.has(Types::STRING) {
            let is_one = |text: &str| {
                let plain = plain?;
                let is_valid = match (
                    &plain.values,
                    plain.text.as_ref().and_then(|limits| limits.format),
                ) {
                    (Some(values), _) => {
                        let node = Node::Text(text.into());
                        limits::membership(values, &node, context.respells()) != Membership::IsNot
                    }
                    (None, format) => format?.matches(text),
                };
                Some(is_valid)
            };
            let as_text = |piece: &str| Node::Text(Cow::Owned(piece.to_owned()));
            if let Some(quoted) = quoted(text) {
                return Some(quoted.into_iter().map(as_text).collect());
            }
            let mut pieces = text.split(',').map(str::trim);
            let are_items = !is_one(text)? && pieces.clone().all(|piece| is_one(piece) == Some(true));
            return are_items.then(|| pieces.by_ref().map(as_text).collect());
        }
        if !self.types.overlaps(Types::NUMBER) {
            return None;
        }
        // A comma without a space after it may be part of a number: `1,000`, `3,14`.
        let pieces: Option<Vec<_>> = text
            .trim()
            .split(", ")
            .map(|piece| number(piece.trim()))
            .collect();
        pieces.filter(|pieces| pieces.len() > 1)
    }
}

/// Parses a number in JSON syntax, so that no piece is part of a number.
fn number<'a>(text: &str) -> Option<Node<'a>> {
    let digits = text.trim_start_matches('-');
    let has_zeros = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    Decimal::parse(text).filter(|_| !has_zeros)?;
    serde_json::from_str::<serde_json::Number>(text).ok()?;
    Some(Node::Number(Number {
        text: Cow::Owned(text.to_owned()),
        approximate: false,
        as_integer: false,
    }))
}

/// Parses a text of quoted strings that are separated by commas and have no escapes.
fn quoted(text: &str) -> Option<Vec<&str>> {
    let mut rest = text.trim();
    let mut strings = Vec::new();
    loop {
        let quote = rest.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
        let (string, after) = rest.get(1..)?.split_once(quote)?;
        if string.contains('\\') {
            return None;
        }
        strings.push(string);
        rest = match after.trim_start() {
            "" => break,
            after => after.strip_prefix(',')?.trim_start(),
        };
    }
    (strings.len() > 1).then_some(strings)
}
