//! Unions and conjunctions seen from outside: how deep they stand in one another, and that what they make of a value is
//! read as just that again.

use super::cache::Outcome;
use super::coerce::Coercer;
use super::node::Node;
use super::report::{Mark, Path};
use super::wording;

/// More unions and conjunctions, one in the other, than honest arguments need. With [`depth::MOST`](crate::depth::MOST)
/// levels between, they take less than 512 KiB of stack in an optimized build, and less than 1 MiB in another.
const MOST_COMPOSITES: usize = 64;

impl<'a> Coercer<'_, 'a> {
    /// Enters a union or a conjunction, where the stack has room for it.
    pub(super) fn enter_composite(&mut self, at: &Path<'_>) -> Option<Mark> {
        if self.composites >= MOST_COMPOSITES {
            self.give_up(at, wording::too_composed);
            return None;
        }
        self.composites += 1;
        Some(self.report.mark())
    }

    /// Leaves it with what was made of a value. Of the outermost one, that is read again, since several ways of reading
    /// may lead from one to the next: where they do, none is taken. What was read inside is part of it.
    pub(super) fn leave_composite(
        &mut self,
        entered: Mark,
        (node, taken): (&Node<'a>, Option<Node<'a>>),
        at: &Path<'_>,
        read: impl Fn(&mut Self, &Node<'a>) -> Option<Node<'a>>,
    ) -> Option<Node<'a>> {
        let has_errors = self.report.tally.errors > entered.tally.errors;
        let is_refused = self.composites == 1
            && !has_errors
            && taken
                .as_ref()
                .is_some_and(|taken| !self.is_stable(node, taken, read));
        self.composites -= 1;
        if self.composites == 0 {
            self.cache.forget();
        }
        if is_refused {
            self.report.rewind(entered);
            self.report.refuse(at, || wording::read_differently(node));
            return None;
        }
        taken
    }

    /// Whether what was made of a value is read as just that again.
    fn is_stable(
        &mut self,
        node: &Node<'a>,
        taken: &Node<'a>,
        read: impl Fn(&mut Self, &Node<'a>) -> Option<Node<'a>>,
    ) -> bool {
        // With the keys that a type is not given: what is passed on has them.
        let kept = (!self.keeps_unknown())
            .then(|| self.quietly(|this| read(this, node)).value)
            .flatten();
        let taken = kept.as_ref().unwrap_or(taken);
        let Outcome { tally, value } = self.apart(|this| this.quietly(|this| read(this, taken)));
        tally.is_unchanged() && value.is_none_or(|again| again == *taken)
    }

    /// A trial: what there is to tell is counted, and nothing is told.
    pub(super) fn quietly(&mut self, read: impl FnOnce(&mut Self) -> Option<Node<'a>>) -> Outcome<'a> {
        let before = std::mem::take(&mut self.report.tally);
        let was_quiet = std::mem::replace(&mut self.report.quiet, true);
        let value = read(self);
        self.report.quiet = was_quiet;
        let tally = std::mem::replace(&mut self.report.tally, before);
        Outcome { tally, value }
    }

    /// Runs something on nodes that will not live as long as those the cache knows.
    pub(super) fn apart<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::take(&mut self.cache);
        let result = run(self);
        self.cache = outer;
        result
    }
}
