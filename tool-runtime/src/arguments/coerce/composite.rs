//! Rules for unions and conjunctions: a limit for nesting them, and the rule that coercing a coerced value does not
//! change it.

use super::cache::Outcome;
use super::{Coercer, MAX_COMPOSITES};
use crate::arguments::input::tree::node::Node;
use crate::arguments::report::Mark;
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;

/// A value for a union or a conjunction, and its coerced form.
pub(in crate::arguments) struct CompositeReading<'n, 'a> {
    pub(in crate::arguments) node: &'n Node<'a>,
    pub(in crate::arguments) taken: Option<Node<'a>>,
}

impl<'s, 'a> Coercer<'s, 'a, '_> {
    /// Enters a union or a conjunction, if the stack has space for it.
    pub(in crate::arguments) fn enter_composite(&mut self, at: &Path<'_>) -> Option<Mark> {
        if self.budget.composites >= MAX_COMPOSITES {
            self.report_too_deep(at, messages::too_many_unions);
            return None;
        }
        self.budget.composites += 1;
        let reached = &mut self.budget.reached.composites;
        *reached = self.budget.composites.max(*reached);
        Some(self.report.mark())
    }

    /// Returns whether the open union or conjunction is not inside another one.
    pub(in crate::arguments) fn is_outermost(&self) -> bool {
        self.budget.composites == 1 && !self.budget.rereads
    }

    /// Leaves a union or a conjunction with the coerced value. The result of the outermost one is coerced again,
    /// since one reading may lead to another: an unstable result is rejected. The check includes inner results,
    /// except for a conjunction in an alternative, which is checked separately: another alternative might accept its
    /// unstable result.
    pub(in crate::arguments) fn leave_composite(
        &mut self,
        entered: Mark,
        reading: CompositeReading<'_, 'a>,
        at: &Path<'_>,
        answers: bool,
        read: impl Fn(&mut Coercer<'s, 'a, '_>, &Node<'a>) -> Option<Node<'a>>,
    ) -> Option<Node<'a>> {
        let CompositeReading { node, taken } = reading;
        let is_outermost = self.is_outermost();
        self.budget.composites -= 1;
        self.budget.rereads |= is_outermost;
        let has_errors = self.report.counts.errors > entered.counts.errors;
        let has_unknown_keys = self.report.counts.unknown_keys > entered.counts.unknown_keys;
        let is_refused = (is_outermost || answers)
            && !has_errors
            && (taken
                .as_ref()
                .is_some_and(|taken| !self.is_stable(node, taken, &read))
                || is_outermost
                    && (taken.is_some() || has_unknown_keys)
                    && !self.keeps_all_keys(node, &read));
        if is_outermost {
            self.budget.rereads = false;
            self.cache.forget();
        }
        if is_refused {
            self.report.roll_back(entered);
            self.report.refuse(at, || messages::conflicting_parts(node));
            return None;
        }
        taken
    }

    /// Returns whether coercing a coerced value again does not change it.
    fn is_stable(
        &mut self,
        node: &Node<'a>,
        taken: &Node<'a>,
        read: impl Fn(&mut Coercer<'s, 'a, '_>, &Node<'a>) -> Option<Node<'a>>,
    ) -> bool {
        // Includes unknown keys: types do not get them, but forwarded values have them.
        let kept = (!self.keeps_unknown)
            .then(|| self.in_trial(|this| read(this, node)).value)
            .flatten();
        let taken = kept.as_ref().unwrap_or(taken);
        let Outcome { counts, value } = self.with_own_cache(|this| this.in_trial(|this| read(this, taken)));
        counts.is_unchanged() && value.is_none_or(|again| again == *taken)
    }

    /// Returns whether serde, which chooses the first matching alternative, keeps all keys except for reported ones.
    fn keeps_all_keys(
        &mut self,
        node: &Node<'a>,
        read: impl Fn(&mut Coercer<'s, 'a, '_>, &Node<'a>) -> Option<Node<'a>>,
    ) -> bool {
        if !self.compiled.is_typed() {
            return true;
        }
        let given = self.with_own_cache(|this| this.attempt_as_given(|this| read(this, node)));
        given.value.is_none_or(|value| {
            let again = self.with_own_cache(|this| this.in_trial(|this| read(this, &value)));
            again.counts.unknown_keys <= given.counts.left
        })
    }
}
