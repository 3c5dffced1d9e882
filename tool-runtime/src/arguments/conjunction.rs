//! Conjunctions: values that have to be all of several, where these could not be merged into one form.

use super::coerce::Coercer;
use super::context::Context;
use super::node::Node;
use super::report::Path;
use super::wording;
use crate::schema::shape::FormId;

impl<'a> Coercer<'_, 'a> {
    /// All of several: each sees what the ones before made of the value, and in the end all have to agree.
    pub(super) fn parts(
        &mut self,
        node: &Node<'a>,
        parts: &[FormId],
        at: &Path<'_>,
        context: Context,
    ) -> Option<Node<'a>> {
        if !self.enter_composite(at) {
            return None;
        }
        let mark = self.report.mark();
        let mut current: Option<Node<'a>> = None;
        for part in parts {
            let changed = match &current {
                None => self.fit(node, *part, at, context),
                Some(node) => self.apart(|this| this.fit(node, *part, at, context)),
            };
            current = changed.or(current);
        }
        if self.is_outermost()
            && let Some(taken) = &current
            && self.report.tally.errors == mark.tally.errors
            && !self.agree(taken, parts, at, context)
        {
            self.report.rewind(mark);
            self.report.refuse(at, || wording::read_differently(node));
            current = None;
        }
        self.leave_composite();
        self.report.say_once(mark);
        current
    }

    /// Whether all parts take a value as it is.
    fn agree(&mut self, node: &Node<'a>, parts: &[FormId], at: &Path<'_>, context: Context) -> bool {
        let mut all = parts.iter();
        all.all(|part| self.reads_as_it_is(node, |this| this.fit(node, *part, at, context)))
    }
}
