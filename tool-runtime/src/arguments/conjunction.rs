//! Conjunctions: values that have to be all of several, where these could not be merged into one form.

use super::coerce::Coercer;
use super::context::Context;
use super::node::Node;
use super::report::Path;
use crate::schema::shape::FormId;

impl<'a> Coercer<'_, 'a> {
    /// All of several: each sees what the ones before made of the value.
    pub(super) fn parts(
        &mut self,
        node: &Node<'a>,
        parts: &[FormId],
        at: &Path<'_>,
        context: Context,
    ) -> Option<Node<'a>> {
        let mark = self.enter_composite(at)?;
        let mut current: Option<Node<'a>> = None;
        for part in parts {
            let changed = match &current {
                None => self.fit(node, *part, at, context),
                Some(node) => self.apart(|this| this.fit(node, *part, at, context)),
            };
            current = changed.or(current);
        }
        let taken = self.leave_composite(mark, (node, current), at, |this, node| {
            this.parts(node, parts, at, context)
        });
        self.report.say_once(mark);
        taken
    }
}
