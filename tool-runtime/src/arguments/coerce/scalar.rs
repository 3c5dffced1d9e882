//! Coercion of scalars: first the rows of the table in `coercion.md`, then the allowed values, then the limits.

use std::borrow::Cow;

use super::Coercer;
use super::context::CoercionContext;
use crate::arguments::coerce::wanted::PlainSchema;
use crate::arguments::input::tree::node::{Node, Number};
use crate::arguments::limits::{self, Membership};
use crate::arguments::report::expected::{self, Expected};
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;
use crate::arguments::rules::{self, Coercion};
use crate::schema::compiled::Plain;
use crate::schema::compiled::bounds::NumberLimits;
use crate::schema::compiled::types::Types;
use crate::wire::issue::{Code, Issue};

impl<'s, 'a> Coercer<'s, 'a, '_> {
    /// Coerces a value to a scalar.
    pub(in crate::arguments) fn scalar(
        &mut self,
        node: &Node<'a>,
        want: Types,
        wanted: PlainSchema<'s>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let PlainSchema { id, plain, .. } = wanted;
        let width = plain.number.as_ref().and_then(|limits| limits.width);
        let coercion = match want {
            Types::INTEGER => rules::integer(node, width, context.mode),
            Types::NUMBER => rules::number(node, context.mode),
            Types::BOOLEAN => rules::boolean(node, context.mode),
            Types::STRING => rules::string(node, context.mode),
            _ => Coercion::Refused(Code::NoAlternativeFits),
        };
        let (changed, code) = match coercion {
            Coercion::AsSent => (self.plainly(node, want), None),
            Coercion::Rewritten(taken) => (Some(taken), None),
            Coercion::Changed(taken, code) => (Some(taken), Some(code)),
            Coercion::Refused(code) => {
                let expected = Expected(self.compiled, id);
                // The range of a Rust type is a limit, as `maximum` is.
                if code == Code::IntegerOutOfRange && (width.is_some() || exceeded(node, plain).is_some()) {
                    self.report.limit();
                }
                self.report.refuse(at, || match (&plain.values, code) {
                    (Some(values), _) => messages::not_among(values, node),
                    (None, Code::IntegerOutOfRange) => {
                        messages::out_of_range(node, plain.number.as_ref(), self.compiled.schema(id))
                    }
                    (None, Code::UnsupportedNumberLiteral) if matches!(node, Node::Number(_)) => {
                        messages::not_finite(node)
                    }
                    (None, Code::UnsupportedStringLiteral)
                        if matches!(node, Node::List(_) | Node::Object(_)) =>
                    {
                        messages::not_a_string(node, expected, at.mentions_json(self.compiled))
                    }
                    (None, code) => messages::invalid_type(code, node, expected),
                });
                return None;
            }
        };
        if code.is_some_and(|code| rules::loses(node, code)) {
            self.report.lose();
        }
        let changed = match Self::canonical_spelling(changed.as_ref().unwrap_or(node), plain, context) {
            Ok(None) => changed,
            Ok(Some(declared)) => {
                if let Some(code) = code {
                    self.report.warn(at, || messages::changed(code, node, &declared));
                }
                let code = Code::EnumCaseNormalized;
                self.report.warn(at, || messages::changed(code, node, &declared));
                self.limit(&declared, node, want, wanted, at);
                return Some(declared);
            }
            Err(refused) => {
                self.report.refuse(at, || refused(node));
                return None;
            }
        };
        if let (Some(code), Some(taken)) = (code, &changed) {
            self.report.warn(at, || messages::changed(code, node, taken));
        }
        self.limit(changed.as_ref().unwrap_or(node), node, want, wanted, at);
        changed
    }

    /// Rewrites `3.0` as `3` for an integer type. Messages keep the original text.
    fn plainly(&self, node: &Node<'a>, want: Types) -> Option<Node<'a>> {
        match node {
            Node::Number(number)
                if want == Types::INTEGER && !self.keeps_unknown && !number.is_plain_integer() =>
            {
                Some(Node::Number(Number {
                    as_integer: true,
                    ..number.clone()
                }))
            }
            _ => None,
        }
    }

    /// Returns the declared spelling of an allowed value, if it differs.
    fn canonical_spelling(
        node: &Node<'a>,
        plain: &'s Plain,
        context: CoercionContext,
    ) -> Result<Option<Node<'a>>, impl FnOnce(&Node<'_>) -> Issue + use<'s, 'a>> {
        let Some(values) = &plain.values else {
            return Ok(None);
        };
        match limits::membership(values, node, context.respells()) {
            Membership::Is => Ok(None),
            Membership::Resembles(declared) => Ok(Some(Node::Text(Cow::Owned(declared.to_owned())))),
            Membership::IsNot => Err(|sent: &Node<'_>| messages::not_among(values, sent)),
        }
    }

    pub(in crate::arguments) fn only_allowed(&mut self, node: &Node<'_>, plain: &Plain, at: &Path<'_>) {
        if let Some(values) = &plain.values
            && limits::membership(values, node, false) != Membership::Is
        {
            self.report.refuse(at, || messages::not_among(values, node));
        }
    }

    /// Checks the limits of a coerced value. The message contains `sent`, the value before coercion.
    fn limit(
        &mut self,
        taken: &Node<'_>,
        sent: &Node<'_>,
        want: Types,
        PlainSchema { id, plain, .. }: PlainSchema<'_>,
        at: &Path<'_>,
    ) {
        let schema = self.compiled.schema(id);
        match taken {
            Node::Number(_) => {
                if let Some(limits) = exceeded(taken, plain) {
                    self.report.limit();
                    self.report.refuse(at, || {
                        let wanted = format!("{want}{}", expected::Range(limits));
                        messages::violates(sent, expected::or_null(schema, wanted))
                    });
                }
            }
            Node::Text(text) => {
                if let Some(limit) = plain
                    .text
                    .as_ref()
                    .and_then(|limits| limits::check_text(limits, schema.format, text))
                {
                    let wanted = expected::or_null(schema, limit);
                    self.report.refuse(at, || messages::violates(sent, wanted));
                }
            }
            _ => {}
        }
    }
}

/// Returns the limits of a number if the number exceeds one of the limits.
fn exceeded<'s>(node: &Node<'_>, plain: &'s Plain) -> Option<&'s NumberLimits> {
    let Node::Number(number) = node else { return None };
    let limits = plain.number.as_ref()?;
    (!limits::number_fits(limits, &number.text)).then_some(limits)
}
