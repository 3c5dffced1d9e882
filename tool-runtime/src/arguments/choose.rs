//! Unions: which of several forms a value is meant to be.
//!
//! First whatever conforms as it was sent, then the tag, then the form that takes the value with the fewest
//! warnings. What a trial found is remembered, so that unions inside unions cost no more than their number.

use super::around::Around;
use super::coerce::{Coercer, decode};
use super::memo::{Among, Choice, Trial};
use super::node::Node;
use super::report::{Path, Tally};
use super::rules::Rigor;
use super::sketch::Sketch;
use super::syntax::Read;
use super::wording;
use crate::issue::Code;
use crate::schema::shape::{Alternatives, Form, FormId, Kind, Tag, Values};
use crate::schema::types::Types;

impl<'s> Coercer<'s> {
    /// A value where one of several forms is wanted.
    pub(super) fn alternatives<'a>(
        &mut self,
        node: &Node<'a>,
        (id, form, alternatives): (FormId, &'s Form, &'s Alternatives),
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        // The text of an object with a tag is told by it, as the object itself would be, unless it is wanted as a text.
        let may_be_text = form.types.has(Types::STRING)
            && (alternatives.tag.is_none() || self.takes_exactly(node, alternatives, at, around));
        match node {
            Node::Null if alternatives.null => return None,
            Node::Text(text) if around.rigor.bends() && !may_be_text && !form.lists_of_strings => {
                if let Some(Read {
                    node: decoded,
                    repaired,
                }) = decode(text, form.types, at)
                {
                    self.tell_decoded(decoded.types(), repaired, at);
                    let changed =
                        self.apart(|this| this.alternatives(&decoded, (id, form, alternatives), at, around));
                    return Some(changed.unwrap_or(decoded));
                }
            }
            Node::Object(members) => {
                if let Some(tag) = &alternatives.tag {
                    let tagged = self.tagged(members, (id, tag), at, around)?;
                    let taken = self.fit(node, tagged, at, around);
                    return match tag {
                        Tag::Key(keys) if members.entries.len() > 1 => {
                            Some(self.only_variant(taken.unwrap_or_else(|| node.clone()), keys))
                        }
                        _ => taken,
                    };
                }
            }
            _ => {}
        }
        if let [only] = alternatives.forms.as_slice() {
            return self.fit(node, *only, at, around);
        }
        let trials: Vec<Trial> = alternatives.forms.iter().map(|form| Trial::Form(*form)).collect();
        let among = Among {
            owner: id,
            trials: &trials,
            exclusive: alternatives.exclusive,
        };
        let taken = self.choose(node, among, at, around)?;
        Some(match &alternatives.tag {
            Some(Tag::Key(keys)) => self.only_variant(taken, keys),
            _ => taken,
        })
    }

    /// Whether one of the alternatives takes a text as it is.
    fn takes_exactly(
        &mut self,
        node: &Node<'_>,
        alternatives: &Alternatives,
        at: &Path<'_>,
        around: Around,
    ) -> bool {
        let exact = Around {
            rigor: Rigor::Exact,
            ..around
        };
        matches!(node, Node::Text(_))
            && alternatives.forms.iter().any(|form| {
                let found = self.apart(|this| this.tally(|this| drop(this.fit(node, *form, at, exact))));
                found.is_none()
            })
    }

    /// Tries each and takes the one that fits.
    pub(super) fn choose<'a>(
        &mut self,
        node: &Node<'a>,
        among: Among<'_>,
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        if !self.enter(STEPS, at) {
            return None;
        }
        self.memo.depth += 1;
        let choice = self.choice(node, among, at, around);
        let Among { owner, trials, .. } = among;
        let taken = match choice {
            Choice::Fits(trial) => self.attempt(node, trial, at, around),
            Choice::Several => {
                let wanted = self.wanted(owner);
                self.report.refuse(at, || {
                    let message = format!(
                        "{} can be read in more than one way; send {wanted}, written so that only one fits",
                        wording::shown(node)
                    );
                    wording::refused(Code::AmbiguousValue, node, message)
                });
                None
            }
            Choice::None(_) if self.values(owner).is_some() => {
                if let Some(values) = self.values(owner) {
                    self.report.refuse(at, || wording::not_among(values, node));
                }
                None
            }
            Choice::None(closest) => {
                let wanted = self.wanted(owner);
                let meant = self.meant(node, trials);
                self.report.refuse(at, || match meant {
                    Some(meant) => wording::alone(node, meant),
                    None => wording::unreadable(Code::NoAlternativeFits, node, wanted),
                });
                let mark = self.report.mark();
                let closest = meant.map_or(closest, |meant| Trial::Form(meant.form()));
                self.attempt(node, closest, at, around);
                // Nothing was changed, so nothing is to be told of changes.
                self.report.forget_warnings(mark);
                None
            }
        };
        self.memo.depth -= 1;
        self.steps -= STEPS;
        if self.memo.depth == 0 {
            self.memo.tallies.clear();
            self.memo.choices.clear();
        }
        taken
    }

    /// The object that a text was written for.
    fn meant(&self, node: &Node<'_>, trials: &[Trial]) -> Option<Sketch<'s>> {
        let Node::Text(text) = node else { return None };
        let forms = trials.iter().filter_map(|trial| match trial {
            Trial::Form(form) => Some(*form),
            Trial::Type(..) => None,
        });
        Sketch::named(self.shape, forms, text)
    }

    fn values(&self, form: FormId) -> Option<&'s Values> {
        self.shape.form(form).plain()?.values.as_ref()
    }

    fn choice(&mut self, node: &Node<'_>, among: Among<'_>, at: &Path<'_>, around: Around) -> Choice {
        let key = (address(node), among.owner, around);
        if let Some(known) = self.memo.choices.get(&key) {
            return *known;
        }
        let choice = self.weigh(node, among, at, around);
        if is_composite(node) || among.trials.iter().any(|trial| self.is_composed(*trial)) {
            self.memo.choices.insert(key, choice);
        }
        choice
    }

    fn weigh(&mut self, node: &Node<'_>, among: Among<'_>, at: &Path<'_>, around: Around) -> Choice {
        let Among {
            trials, exclusive, ..
        } = among;
        // What is tried exactly for the sake of a strict call has to be one only as well.
        let is_strict = around.rigor == Rigor::Strict || (around.rigor == Rigor::Exact && around.denies);
        if exclusive && is_strict {
            match self.valid(node, trials, at, around).as_slice() {
                [] => {}
                [only] => return Choice::Fits(*only),
                _ => return Choice::Several,
            }
        }
        let exact = Around {
            rigor: Rigor::Exact,
            ..around
        };
        for trial in trials {
            if self.weight(node, *trial, at, exact) == Tally::default() {
                return Choice::Fits(*trial);
            }
        }
        let weights: Vec<_> = trials
            .iter()
            .map(|trial| {
                let tally = self.weight(node, *trial, at, around);
                // An object that is taken as one, with keys too many, is not wrapped into a list instead.
                let wraps = is_composite(node) && !self.takes(*trial, node);
                ((tally.errors, tally.losses, wraps, tally), *trial)
            })
            .collect();
        let Some((best, first)) = weights.iter().min_by_key(|(weight, _)| *weight) else {
            return Choice::Several;
        };
        if best.0 > 0 {
            let distance = |((.., tally), trial): &&(Weight, Trial)| (!self.takes(*trial, node), *tally);
            let closest = weights.iter().min_by_key(distance);
            return Choice::None(closest.map_or(*first, |(_, trial)| *trial));
        }
        let mut equal = weights
            .iter()
            .filter(|(weight, _)| weight == best)
            .map(|(_, trial)| *trial);
        let first = equal.next().unwrap_or(*first);
        let rest: Vec<Trial> = equal.collect();
        let is_one_way = rest.is_empty() || self.all_lead_to_one(node, first, &rest, at, around);
        if is_one_way && self.lasts(node, first, among, at, around) {
            Choice::Fits(first)
        } else {
            Choice::Several
        }
    }

    /// Ways that lead to the same value are one way; keys that are left out in the end are no part of it.
    fn all_lead_to_one(
        &mut self,
        node: &Node<'_>,
        first: Trial,
        rest: &[Trial],
        at: &Path<'_>,
        around: Around,
    ) -> bool {
        let keeps = std::mem::replace(&mut self.keeps_unknown, true);
        let reading = self.reading(node, first, at, around);
        let same = rest
            .iter()
            .all(|other| self.reading(node, *other, at, around) == reading);
        self.keeps_unknown = keeps;
        same
    }

    /// Whether what a way makes of a value would be read as that again. Not asked of the unions inside: that would double
    /// with each level.
    fn lasts(
        &mut self,
        node: &Node<'_>,
        way: Trial,
        among: Among<'_>,
        at: &Path<'_>,
        around: Around,
    ) -> bool {
        if self.lasting {
            return true;
        }
        let keeps = std::mem::replace(&mut self.keeps_unknown, true);
        let lasts = self.reading(node, way, at, around).is_none_or(|taken| {
            self.lasting = true;
            let lasts = self.apart(|this| match this.weigh(&taken, among, at, around) {
                Choice::Fits(way) => this
                    .reading(&taken, way, at, around)
                    .is_none_or(|again| again == taken),
                Choice::Several | Choice::None(_) => false,
            });
            self.lasting = false;
            lasts
        });
        self.keeps_unknown = keeps;
        lasts
    }

    /// The first two that JSON Schema takes the value for: a second one breaks its `oneOf`, where leniently the first
    /// is meant.
    fn valid(&mut self, node: &Node<'_>, trials: &[Trial], at: &Path<'_>, around: Around) -> Vec<Trial> {
        let strict = Around {
            rigor: Rigor::Strict,
            ..around
        };
        let takes = |trial: &&Trial| self.weight(node, **trial, at, strict).errors == 0;
        trials.iter().filter(takes).take(2).copied().collect()
    }

    /// Whether a trial makes trials of its own.
    fn is_composed(&self, trial: Trial) -> bool {
        match trial {
            Trial::Form(form) => matches!(self.shape.form(form).kind, Kind::Alternatives(_) | Kind::Parts(_)),
            Trial::Type(..) => false,
        }
    }

    /// Whether a value is of a type that is wanted.
    fn takes(&self, trial: Trial, node: &Node<'_>) -> bool {
        let types = match trial {
            Trial::Form(form) => self.shape.form(form).types,
            Trial::Type(_, one) => one,
        };
        types.overlaps(node.types())
    }

    fn weight(&mut self, node: &Node<'_>, trial: Trial, at: &Path<'_>, around: Around) -> Tally {
        let key = (address(node), trial, around);
        if let Some(known) = self.memo.tallies.get(&key) {
            return *known;
        }
        self.memo.work += 1;
        if self.memo.work > self.most_work {
            return Tally {
                errors: 1,
                ..Tally::default()
            };
        }
        let tally = self.tally(|this| {
            this.attempt(node, trial, at, around);
        });
        let tally = tally.unwrap_or_default();
        if is_composite(node) || self.is_composed(trial) {
            self.memo.tallies.insert(key, tally);
        }
        tally
    }

    fn attempt<'a>(
        &mut self,
        node: &Node<'a>,
        trial: Trial,
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        match trial {
            Trial::Form(form) => self.fit(node, form, at, around),
            Trial::Type(id, one) => {
                let form = self.shape.form(id);
                self.typed(
                    node,
                    one,
                    (id, form, form.plain().unwrap_or(&super::coerce::NO_LIMITS)),
                    at,
                    around,
                )
            }
        }
    }

    /// What a trial makes of a value.
    fn reading<'a>(
        &mut self,
        node: &Node<'a>,
        trial: Trial,
        at: &Path<'_>,
        around: Around,
    ) -> Option<Node<'a>> {
        let mut reading = None;
        self.tally(|this| reading = this.attempt(node, trial, at, around));
        reading
    }

    /// What a trial finds; `None` when that is nothing.
    pub(super) fn tally(&mut self, run: impl FnOnce(&mut Self)) -> Option<Tally> {
        let before = std::mem::take(&mut self.report.tally);
        self.quietly(run);
        let found = std::mem::replace(&mut self.report.tally, before);
        Some(found).filter(|found| *found != Tally::default())
    }

    fn quietly<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.report.quiet, true);
        let result = run(self);
        self.report.quiet = before;
        result
    }
}

/// How well an alternative takes a value, the less the better: what it refuses, loses, wraps, and all that it says.
type Weight = (usize, usize, bool, Tally);

/// What a choice takes of the stack.
const STEPS: usize = 2;

/// Values without parts are as quickly tried again as looked up.
fn is_composite(node: &Node<'_>) -> bool {
    matches!(node, Node::List(_) | Node::Object(_))
}

fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}
