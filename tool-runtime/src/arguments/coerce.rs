//! The walk: a tree against a shape. All leniency of types lives here and in the files below it.
//!
//! The tree stays as it is; what changes is made anew, and a parent only where a child changed.

use std::borrow::Cow;

use super::around::Around;
use super::limits::{self, Membership};
use super::memo::{Among, Memo, Trial};
use super::node::Node;

use super::report::{Path, Report};
use super::rules::{self, Rigor};
use super::syntax::{self, Read};
use super::wording::{self, Wanted};
use crate::depth;
use crate::issue::{Code, Issue};
use crate::schema::shape::{Form, FormId, Kind, Plain, Shape};
use crate::schema::types::Types;

/// One coercion of one call's arguments.
#[derive(Debug)]
pub(crate) struct Coercer<'s> {
    pub(super) shape: &'s Shape,
    pub(crate) report: Report,
    /// Whether keys that the schema does not know stay in the result: they do in JSON that is passed on. A type does
    /// not get them, it might know them all the same (`#[schemars(skip)]`, `#[serde(alias)]`).
    pub(super) keeps_unknown: bool,
    pub(super) memo: Memo,
    /// How many trials may be made.
    pub(super) most_work: usize,
    /// How much of the stack is used by what stands at no other place than its parent.
    pub(super) steps: usize,
    /// Whether the parts of a conjunction are being asked if they agree.
    agreeing: bool,
    /// Whether what a union made of a value is being read again.
    pub(super) lasting: bool,
}

/// More steps than honest arguments need: with [`depth::MOST`] levels between, they take less than 2 MiB of stack.
const MOST_STEPS: usize = 600;

/// More trials than honest arguments need: about a second's work.
const MOST_WORK: usize = 2_000_000;

/// The same of large arguments, for each value in them.
const WORK_PER_VALUE: usize = 16;

impl<'s> Coercer<'s> {
    /// For arguments of so many values.
    pub(crate) fn new(shape: &'s Shape, keeps_unknown: bool, size: usize) -> Self {
        Self {
            shape,
            report: Report::default(),
            keeps_unknown,
            memo: Memo::default(),
            most_work: size.saturating_mul(WORK_PER_VALUE).saturating_add(MOST_WORK),
            steps: 0,
            agreeing: false,
            lasting: false,
        }
    }

    /// Fits a value to a form: `None` when it stays as it was sent, also because it was refused.
    pub(crate) fn fit<'a>(
        &mut self,
        node: &Node<'a>,
        id: FormId,
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        let form = self.shape.form(id);
        let around = around.under(form);
        let wanted = Wanted(self.shape, id);
        match node {
            Node::Null if !form.types.has(Types::NULL) => {
                self.report.refuse(at, || wording::null(wanted));
                return None;
            }
            Node::Text(text)
                if stands_for_nothing(text, form, around.rigor) && form.types.has(Types::NULL) =>
            {
                let code = Code::EmptyStringTreatedAsNull;
                self.report.warn(at, || wording::changed(code, node, &Node::Null));
                return Some(Node::Null);
            }
            _ => {}
        }
        match &form.kind {
            Kind::Free if form.types == Types::ALL => {
                self.free(node, at);
                None
            }
            Kind::Free => self.plain(node, (id, form, &NO_LIMITS), at, around),
            Kind::Plain(plain) => self.plain(node, (id, form, plain), at, around),
            Kind::Alternatives(_) | Kind::Parts(_) if !self.enter(1, at) => None,
            Kind::Alternatives(alternatives) => {
                let taken = self.alternatives(node, (id, form, alternatives), at, around);
                self.steps -= 1;
                taken
            }
            Kind::Parts(parts) => {
                let around = Around {
                    within: around.within.or(Some(id)),
                    ..around
                };
                let taken = self.parts(node, &parts.forms, at, around);
                self.steps -= 1;
                taken
            }
        }
    }

    /// Whether the stack has room for so many steps, which are taken then.
    pub(super) fn enter(&mut self, steps: usize, at: &Path<'_>) -> bool {
        let has_room = self.steps + steps <= MOST_STEPS;
        if has_room {
            self.steps += steps;
        } else {
            self.report.refuse(at, wording::too_composed);
        }
        has_room
    }

    /// A value that anything may be: only what cannot be passed on is refused.
    pub(super) fn free(&mut self, node: &Node<'_>, at: &Path<'_>) {
        match node {
            Node::Number(number) if !number.is_finite() => {
                self.report.refuse(at, || wording::infinite(node));
            }
            Node::List(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.free(item, &Path::Index(at, place));
                }
            }
            Node::Object(members) => {
                for (place, (key, entry)) in members.entries.iter().enumerate() {
                    let at = Path::Key(at, key);
                    if members.repeated.binary_search(&place).is_ok() {
                        self.report.warn(&at, || wording::repeated(key));
                    }
                    self.free(entry, &at);
                }
            }
            _ => {}
        }
    }

    fn plain<'a>(
        &mut self,
        node: &Node<'a>,
        (id, form, plain): (FormId, &'s Form, &'s Plain),
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        let types = form.types.without(Types::NULL);
        let several = types.count() > 1;
        let one_of_them = match node {
            Node::Null => {
                self.only_allowed(node, plain, at);
                return None;
            }
            Node::Number(_) if types.has(Types::NUMBER) => Some(Types::NUMBER),
            other => Some(other.types()).filter(|own| types.has(*own)),
        };
        let excluded = |values| limits::membership(values, node, false) != Membership::Is;
        let misses = several && around.rigor.bends() && plain.values.as_ref().is_some_and(excluded);
        match one_of_them {
            Some(own) if !misses => self.typed(node, own, (id, form, plain), at, around),
            _ if several && around.rigor.bends() => {
                let trials: Vec<Trial> = types.each().map(|one| Trial::Type(id, one)).collect();
                let among = Among {
                    owner: id,
                    trials: &trials,
                    exclusive: false,
                };
                self.choose(node, among, at, around)
            }
            _ if several => {
                let wanted = Wanted(self.shape, id);
                self.report.refuse(at, || match &plain.values {
                    Some(values) => wording::not_among(values, node),
                    None => wording::unreadable(Code::NoAlternativeFits, node, wanted),
                });
                None
            }
            _ => self.typed(node, types, (id, form, plain), at, around),
        }
    }

    /// A value where one type is wanted, be it the value's own or not.
    pub(super) fn typed<'a>(
        &mut self,
        node: &Node<'a>,
        want: Types,
        (id, form, plain): (FormId, &'s Form, &'s Plain),
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        let changed = match (want, node) {
            (Types::ARRAY, Node::List(items)) => self.list(items, plain.list.as_ref(), at, around),
            (Types::OBJECT, Node::Object(members)) => self.object(members, plain.object.as_ref(), at, around),
            (Types::ARRAY | Types::OBJECT, Node::Text(text)) if around.rigor.bends() => {
                if let Some(decoded) = self.decoded(text, want, (id, form, plain), at, around) {
                    return Some(decoded);
                }
                self.misfit(node, want, (id, plain), at, around)
            }
            (Types::ARRAY | Types::OBJECT, _) => self.misfit(node, want, (id, plain), at, around),
            _ => return self.scalar(node, want, (id, plain), at, around),
        };
        self.only_allowed(changed.as_ref().unwrap_or(node), plain, at);
        changed
    }

    /// A list or an object is wanted, and something else came.
    fn misfit<'a>(
        &mut self,
        node: &Node<'a>,
        want: Types,
        (id, plain): (FormId, &'s Plain),
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        let wanted = Wanted(self.shape, id);
        if want == Types::OBJECT {
            self.report.refuse(at, || {
                wording::unreadable(Code::UnsupportedObjectLiteral, node, wanted)
            });
            return None;
        }
        let list = plain.list.as_ref();
        if around.rigor.bends()
            && around.wraps
            && list.is_none_or(crate::schema::shape::List::takes_one_for_all)
        {
            return self.wrapped(node, (id, list), at, around);
        }
        self.report.refuse(at, || {
            wording::unreadable(Code::UnsupportedArrayLiteral, node, wanted)
        });
        None
    }

    /// Rule 4b: a string that holds the list or object that is wanted.
    fn decoded<'a>(
        &mut self,
        text: &Cow<'a, str>,
        want: Types,
        (id, form, plain): (FormId, &'s Form, &'s Plain),
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        let Read { node, repaired } = decode(text, want, at)?;
        if want == Types::ARRAY && form.lists_of_strings {
            let exact = Around {
                rigor: Rigor::Exact,
                ..around
            };
            let conforms = self.apart(|this| {
                this.tally(|this| {
                    this.typed(&node, want, (id, form, plain), at, exact);
                })
            });
            if conforms.is_some() {
                return None;
            }
        }
        self.tell_decoded(want, repaired, at);
        let changed = self.apart(|this| this.typed(&node, want, (id, form, plain), at, around));
        Some(changed.unwrap_or(node))
    }

    /// What was done to get at what a string holds.
    pub(super) fn tell_decoded(&mut self, held: Types, repaired: Option<Issue>, at: &Path<'_>) {
        self.report.warn(at, || {
            let message = format!("a string that holds JSON was decoded; send {held} itself, not its text");
            Issue::warning(Code::JsonStringDecoded, "", message)
        });
        if let Some(repaired) = repaired {
            self.report.warn(at, || repaired);
        }
    }

    /// All of several: each sees what the ones before made of the value, and in the end all have to agree.
    pub(super) fn parts<'a>(
        &mut self,
        node: &Node<'a>,
        parts: &[FormId],
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        let mark = self.report.mark();
        let mut current: Option<Node<'a>> = None;
        for part in parts {
            let changed = match &current {
                None => self.fit(node, *part, at, around),
                Some(node) => self.apart(|this| this.fit(node, *part, at, around)),
            };
            current = changed.or(current);
        }
        if let Some(taken) = &current
            && self.report.tally.errors == mark.tally.errors
            && !self.apart(|this| this.agree(taken, parts, at, around))
        {
            self.report.rewind(mark);
            self.report.refuse(at, || {
                let shown = wording::shown(node);
                let message = format!(
                    "{shown} is read in one way here and in another there; send what needs no reading"
                );
                wording::refused(Code::AmbiguousValue, node, message)
            });
            return None;
        }
        self.report.say_once(mark);
        current
    }

    /// Whether all parts take a value as it is. Not asked again of the parts inside: that would double with each level.
    fn agree(&mut self, node: &Node<'_>, parts: &[FormId], at: &Path<'_>, around: Around) -> bool {
        if std::mem::replace(&mut self.agreeing, true) {
            return true;
        }
        let mut changes = false;
        let found = self.tally(|this| {
            changes = parts.iter().any(|part| {
                this.fit(node, *part, at, around)
                    .is_some_and(|again| again != *node)
            });
        });
        self.agreeing = false;
        !changes && found.is_none_or(|found| found.errors == 0)
    }

    /// Runs something on nodes that will not live as long as those the memo knows.
    pub(super) fn apart<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::take(&mut self.memo);
        self.memo.inherit(&outer);
        let result = run(self);
        let inner = std::mem::replace(&mut self.memo, outer);
        self.memo.resume(&inner);
        result
    }
}

/// Rule 4a: whether a string stands for nothing where no string is wanted.
pub(super) fn stands_for_nothing(text: &str, form: &Form, rigor: Rigor) -> bool {
    rigor.bends() && !form.types.has(Types::STRING) && !form.lists_of_strings && rules::means_nothing(text)
}

/// The list or object that a string holds, whole, in JSON or as Python writes it.
pub(super) fn decode<'a>(text: &Cow<'a, str>, want: Types, at: &Path<'_>) -> Option<Read<'a>> {
    let opens = |brackets: &[char]| text.trim_start().starts_with(brackets);
    if !(want.has(Types::ARRAY) && opens(&['[', '(']) || want.has(Types::OBJECT) && opens(&['{'])) {
        return None;
    }
    let levels = depth::MOST.saturating_sub(at.depth());
    syntax::read_inner(text, levels).filter(|read| want.has(read.node.types()))
}

pub(super) static NO_LIMITS: Plain = Plain::NONE;
