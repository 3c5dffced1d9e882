//! Rules that unions and conjunctions share: a limit of their nesting, and the rule that a coerced value, coerced again, does not
//! change.

use super::cache::Outcome;
use super::{Coercer, MOST_COMPOSITES};
use crate::arguments::input::tree::node::Node;
use crate::arguments::report::Mark;
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;

/// A value where a union or a conjunction is wanted, and what it was coerced to.
pub(in crate::arguments) struct CompositeReading<'n, 'a> {
    pub(in crate::arguments) node: &'n Node<'a>,
    pub(in crate::arguments) taken: Option<Node<'a>>,
}

impl<'s, 'a> Coercer<'s, 'a, '_> {
    /// Enters a union or a conjunction, where the stack has space for it.
    pub(in crate::arguments) fn enter_composite(&mut self, at: &Path<'_>) -> Option<Mark> {
        if self.budget.composites >= MOST_COMPOSITES {
            self.report_too_deep(at, messages::too_many_unions);
            return None;
        }
        self.budget.composites += 1;
        let reached = &mut self.budget.reached.composites;
        *reached = self.budget.composites.max(*reached);
        Some(self.report.mark())
    }

    /// Whether the union or conjunction that is being read stands in no other.
    pub(in crate::arguments) fn is_outermost(&self) -> bool {
        self.budget.composites == 1 && !self.budget.rereads
    }

    /// Leaves it with what was made of a value. Of the outermost one, that is read again, since several ways of reading
    /// may lead from one to the next: where they do, none is taken. Inner readings are part of it, but for a
    /// conjunction in an alternative, which answers for itself: were its result not its own reading, another
    /// alternative might take that.
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
        let has_overlooked = self.report.counts.overlooked > entered.counts.overlooked;
        let is_refused = (is_outermost || answers)
            && !has_errors
            && (taken
                .as_ref()
                .is_some_and(|taken| !self.is_stable(node, taken, &read))
                || is_outermost && (taken.is_some() || has_overlooked) && !self.is_given_whole(node, &read));
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

    /// Whether what was made of a value is read as just that again.
    fn is_stable(
        &mut self,
        node: &Node<'a>,
        taken: &Node<'a>,
        read: impl Fn(&mut Coercer<'s, 'a, '_>, &Node<'a>) -> Option<Node<'a>>,
    ) -> bool {
        // With the keys that a type is not given: what is passed on has them.
        let kept = (!self.keeps_unknown)
            .then(|| self.in_trial(|this| read(this, node)).value)
            .flatten();
        let taken = kept.as_ref().unwrap_or(taken);
        let Outcome { counts, value } = self.with_own_cache(|this| this.in_trial(|this| read(this, taken)));
        counts.is_unchanged() && value.is_none_or(|again| again == *taken)
    }

    /// Whether serde, which takes the first alternative that matches, keeps all the keys, except for those that were reported.
    fn is_given_whole(
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
            again.counts.overlooked <= given.counts.left
        })
    }
}
