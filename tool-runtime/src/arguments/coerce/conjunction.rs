//! Conjunctions (`allOf`) whose parts could not be merged into one schema: a value has to conform to all parts.

use super::Coercer;
use super::cache::Trial;
use super::composite::CompositeReading;
use super::context::{CoercionContext, Stability};
use crate::arguments::input::tree::node::Node;
use crate::arguments::report::Mark;
use crate::arguments::report::path::Path;
use crate::schema::compiled::SchemaId;

/// Work of reading a conjunction with its issues, in trials. Nested conjunctions are reported once for each path to
/// them.
const REPORTING_WORK: usize = 8;

impl<'a> Coercer<'_, 'a, '_> {
    /// Coerces a value to a conjunction. Several parts may read equal inner values, which can be conjunctions again: a
    /// trial reads each value once.
    #[inline(never)] // keeps its variables off the stack of each level
    pub(in crate::arguments) fn conjunction(
        &mut self,
        node: &Node<'a>,
        id: SchemaId,
        parts: &[SchemaId],
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let context = CoercionContext {
            within: context
                .within
                .filter(|_| self.is_in_conjunction(context))
                .or(Some(id)),
            ..context
        };
        if !self.report.is_trial || self.for_type {
            return self.parts(node, parts, at, context);
        }
        let key = (node.address(), Trial::Schema(id), context);
        let known = self.cache.outcomes.get(&key);
        let outcome = known
            .and_then(|known| known.get(at, self.budget))
            .unwrap_or_else(|| {
                let outer = std::mem::take(&mut self.budget.reached);
                let outcome = self.in_trial(|this| this.parts(node, parts, at, context));
                let known = self.cache.outcomes.entry(key).or_default();
                known.add(outcome.clone(), at, outer, self.budget);
                outcome
            });
        self.report.counts += outcome.counts;
        outcome.value
    }

    /// Coerces a value to all parts in order; each part reads the result of the parts before.
    pub(in crate::arguments) fn parts(
        &mut self,
        node: &Node<'a>,
        parts: &[SchemaId],
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let work = if self.report.is_trial { 1 } else { REPORTING_WORK };
        if !self.may_work(work, at) {
            return None;
        }
        let mark = self.enter_composite(at)?;
        let mut current: Option<Node<'a>> = None;
        for part in parts {
            let changed = match &current {
                None => self.coerce(node, *part, at, context.part()),
                Some(node) => self.with_own_cache(|this| this.coerce(node, *part, at, context.part())),
            };
            current = changed.or(current);
        }
        let again = if self.is_outermost() {
            context
        } else {
            context.again()
        };
        let answers = context.stability == Stability::Own;
        let reading = CompositeReading { node, taken: current };
        let taken = self.leave_composite(mark, reading, at, answers, |this, node| {
            this.parts(node, parts, at, again)
        });
        let taken = if answers {
            self.finalize_unknown_keys(CompositeReading { node, taken }, parts, mark, at, context.again())
        } else {
            taken
        };
        self.report.add_once(mark);
        taken
    }

    /// Replaces the unknown keys of the original value by the unknown keys of the coerced value: another part may have
    /// renamed or removed a key that is unknown to one part. The remaining unknown keys are removed from the value for
    /// a type.
    #[inline(never)] // keeps its variables off the stack of each level
    fn finalize_unknown_keys(
        &mut self,
        reading: CompositeReading<'_, 'a>,
        parts: &[SchemaId],
        mark: Mark,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let CompositeReading { node, taken } = reading;
        let is_failed_trial = self.report.is_trial && self.report.counts.errors > mark.counts.errors;
        let has_unknown_keys = self.report.counts.unknown_keys > mark.counts.unknown_keys;
        if is_failed_trial || !has_unknown_keys || (taken.is_none() && self.keeps_unknown) {
            return taken;
        }
        self.report.remove_unknown_keys(mark);
        let mark = self.report.mark();
        let coerced = taken.as_ref().unwrap_or(node);
        let given = self.with_own_cache(|this| this.parts(coerced, parts, at, context));
        self.report.keep_only_unknown_keys(mark);
        given.or(taken)
    }
}
