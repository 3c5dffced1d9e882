//! Coercion of unions: chooses an alternative for a value.
//!
//! For `anyOf`, this is the first alternative that the value conforms to without an issue, otherwise the first that
//! it conforms to (rule 2); for `oneOf`, the only such alternative. If the value conforms to none, the tag selects
//! the alternative, or else the best [`Score`] (rule 6). The outcome of each trial is cached, so nested unions take
//! linear time.

use super::cache::{Among, Choice, Outcome, Trial};
use super::context::CoercionContext;
use super::{Coercer, NO_LIMITS, opens};
use crate::arguments::coerce::wanted::{PlainSchema, UnionSchema};
use crate::arguments::input::tree::node::Node;
use crate::arguments::input::tree::parse::TooDeep;
use crate::arguments::limits;
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;
use crate::arguments::report::schema_hint::SchemaHint;
use crate::arguments::report::{CountsByDepth, IssueCounts};
use crate::arguments::rules::Mode;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{SchemaId, Tag, Values};
use crate::wire::issue::Code;

impl<'s, 'a> Coercer<'s, 'a, '_> {
    /// Coerces a value to one of several schemas.
    pub(in crate::arguments) fn alternatives(
        &mut self,
        node: &Node<'a>,
        wanted: UnionSchema<'s>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let UnionSchema {
            id,
            schema,
            alternatives,
        } = wanted;
        let context = self.in_union(wanted, context);
        match node {
            Node::Null if alternatives.null => return None,
            Node::Text(text)
                if context.mode.coerces()
                    && !schema.lists_of_strings
                    && opens(text, schema.types)
                    && !self.may_be_text(node, wanted, at, context) =>
            {
                match self.decode(node, schema.types, at) {
                    Ok(Some(read)) => {
                        self.report_decoded(&read, at);
                        let changed = self.alternatives(&read.node, wanted, at, context);
                        return Some(changed.unwrap_or_else(|| read.node.clone()));
                    }
                    Ok(None) => {}
                    Err(TooDeep) => self.report_too_deep(at, messages::too_deep),
                }
            }
            Node::Object(members) => {
                if let Some(tag) = &alternatives.tag
                    && !self.may_match_with_other_keys(members, tag)
                {
                    let tagged = self.tagged(members, id, tag, at, context)?;
                    let taken = self.coerce(node, tagged, at, context);
                    return match tag {
                        Tag::Key(keys) if members.entries.len() > 1 && !self.is_in_conjunction(context) => {
                            Some(self.only_variant(taken.unwrap_or_else(|| node.clone()), keys))
                        }
                        _ => taken,
                    };
                }
            }
            _ => {}
        }
        if let [only] = alternatives.schemas.as_slice() {
            return self.coerce(node, *only, at, context);
        }
        let trials: Vec<Trial> = alternatives
            .schemas
            .iter()
            .map(|schema| Trial::Schema(*schema))
            .collect();
        let among = Among {
            owner: id,
            trials: &trials,
            exclusive: alternatives.exclusive,
        };
        let taken = self.choose(node, among, at, context)?;
        Some(match &alternatives.tag {
            Some(Tag::Key(keys)) if !self.is_in_conjunction(context) => self.only_variant(taken, keys),
            _ => taken,
        })
    }

    /// Returns the context for a union in which serde may use another alternative's keys.
    fn in_union(
        &self,
        UnionSchema { id, alternatives, .. }: UnionSchema<'_>,
        context: CoercionContext,
    ) -> CoercionContext {
        let reads_in_order = self.compiled.picks_first_match(alternatives.exclusive);
        CoercionContext {
            within: context.within.or(Some(id).filter(|_| reads_in_order)),
            ..context
        }
    }

    /// Returns whether a string may stay a string. The JSON text of a tagged object is read as that object, unless an
    /// alternative accepts the string.
    fn may_be_text(
        &mut self,
        node: &Node<'a>,
        UnionSchema {
            schema, alternatives, ..
        }: UnionSchema<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> bool {
        let exact = context.with(Mode::Exact);
        schema.types.has(Types::STRING)
            && (alternatives.tag.is_none()
                || alternatives.schemas.iter().any(|schema| {
                    self.outcome(node, Trial::Schema(*schema), at, exact)
                        .counts
                        .has_no_findings()
                }))
    }

    /// Tries the alternatives and coerces to the chosen one.
    pub(in crate::arguments) fn choose(
        &mut self,
        node: &Node<'a>,
        among: Among<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        match self.choice(node, among, at, context) {
            Choice::Match(trial) => self.take(node, trial, at, context),
            Choice::Several => {
                self.report_ambiguous(node, among.owner, at);
                None
            }
            Choice::None(closest) => {
                self.report_no_match(node, among, closest, at, context);
                None
            }
        }
    }

    fn report_ambiguous(&mut self, node: &Node<'a>, owner: SchemaId, at: &Path<'_>) {
        let wanted = self.wanted(owner);
        self.report.refuse(at, || {
            let message = format!(
                "ambiguous value {}; expected {wanted}, written so that only one alternative matches",
                messages::shown(node)
            );
            messages::refused(Code::AmbiguousValue, node, message)
        });
    }

    /// Reports that no alternative matches, with the errors of the closest one.
    fn report_no_match(
        &mut self,
        node: &Node<'a>,
        among: Among<'_>,
        closest: Trial,
        at: &Path<'_>,
        context: CoercionContext,
    ) {
        let Among { owner, trials, .. } = among;
        if let Some(values) = self.values(owner) {
            self.report.refuse(at, || messages::not_among(values, node));
            return;
        }
        let wanted = self.wanted(owner);
        let hint = self.hint(node, trials);
        self.report.refuse(at, || match hint {
            Some(hint) => messages::incomplete(node, hint),
            None => messages::invalid_type(Code::NoAlternativeFits, node, wanted),
        });
        let mark = self.report.mark();
        let closest = hint.map_or(closest, |hint| Trial::Schema(hint.schema()));
        self.take(node, closest, at, context);
        // The value is unchanged, so there are no warnings about changes.
        self.report.remove_warnings(mark);
    }

    /// Returns the hint for the object that a text was written for.
    fn hint(&self, node: &Node<'a>, trials: &[Trial]) -> Option<SchemaHint<'s>> {
        let Node::Text(text) = node else { return None };
        let schemas = trials.iter().filter_map(|trial| match trial {
            Trial::Schema(schema) => Some(*schema),
            Trial::Type(..) => None,
        });
        SchemaHint::named(self.compiled, schemas, text)
    }

    fn values(&self, schema: SchemaId) -> Option<&'s Values> {
        self.compiled.schema(schema).plain()?.values.as_ref()
    }

    fn choice(
        &mut self,
        node: &Node<'a>,
        among: Among<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Choice {
        let key = (node.address(), among.owner, context);
        if let Some(known) = self.cache.choices.get(&key)
            && let Some(choice) = known.get(at, self.budget)
        {
            return choice;
        }
        let outer = std::mem::take(&mut self.budget.reached);
        let choice = self
            .conforming(node, among, at, context)
            .unwrap_or_else(|| self.score(node, among, at, context));
        let known = self.cache.choices.entry(key).or_default();
        known.add(choice, at, outer, self.budget);
        choice
    }

    /// Chooses the alternative that an unchanged value conforms to (rule 2).
    fn conforming(
        &mut self,
        node: &Node<'a>,
        among: Among<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Choice> {
        let Among {
            trials, exclusive, ..
        } = among;
        let by_schema = context.with_schema_rules();
        let conforms = |this: &mut Self, trial| this.outcome(node, trial, at, by_schema).counts.errors == 0;
        let mut conforming = trials.iter().copied();
        if exclusive {
            let first = conforming.find(|trial| conforms(self, *trial))?;
            return match conforming.find(|trial| conforms(self, *trial)) {
                None if self.keeps_conforming(node, first, among, at, context) => Some(Choice::Match(first)),
                None => None,
                Some(_) => Some(Choice::Several),
            };
        }
        let exact = context.with(Mode::Exact);
        // serde accepts keys that are unknown to an alternative.
        let reads_in_order = self.compiled.picks_first_match(exclusive);
        let mut as_sent = trials.iter().filter_map(|trial| {
            let counts = self.outcome(node, *trial, at, exact).counts;
            let is_match = counts.has_no_findings() || (reads_in_order && counts.is_unchanged());
            is_match.then_some((*trial, counts))
        });
        let as_sent = as_sent.next();
        if let Some((trial, counts)) = as_sent
            && (counts.has_no_findings() || context.mode == Mode::Exact)
        {
            return Some(Choice::Match(trial));
        }
        let first = conforming
            .find(|trial| conforms(self, *trial) && self.keeps_conforming(node, *trial, among, at, context));
        // serde rejects `3.0` as an integer, so the alternative that serde accepts may follow the first match, and have
        // fewer keys.
        let found = match (as_sent, first) {
            (Some((trial, counts)), Some(first))
                if self
                    .outcome(node, first, at, by_schema)
                    .counts
                    .unknown_keys_by_depth
                    > counts.unknown_keys_by_depth =>
            {
                Some(trial)
            }
            (as_sent, first) => first.or(as_sent.map(|(trial, _)| trial)),
        };
        found.map(Choice::Match)
    }

    /// Returns whether an alternative that a value conforms to, except for unknown keys, still accepts the value
    /// without loss when rule 7 has renamed these keys.
    fn keeps_conforming(
        &mut self,
        node: &Node<'a>,
        trial: Trial,
        among: Among<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> bool {
        if !context.mode.coerces() || self.compiled.picks_first_match(among.exclusive) {
            return true;
        }
        if self
            .outcome(node, trial, at, context.with_schema_rules())
            .counts
            .unknown_keys
            == 0
        {
            return true;
        }
        let counts = self.outcome(node, trial, at, context).counts;
        counts.errors == 0 && counts.losses == 0
    }

    /// Chooses the alternative with the best score (rule 6).
    fn score(
        &mut self,
        node: &Node<'a>,
        among: Among<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Choice {
        if let Some(limited) = self.limited(node, among, at, context) {
            return Choice::None(limited);
        }
        let mut scores: Vec<(Score, Trial)> = Vec::with_capacity(among.trials.len());
        // An object that matches with unknown keys is not wrapped into a list. If nothing is lost, wrapping need not
        // be tried.
        for wraps in [false, true] {
            if wraps && self.is_lossless_match(node, &scores, among, at, context) {
                break;
            }
            for trial in among.trials {
                if wraps == (is_composite(node) && !self.takes(*trial, node)) {
                    let counts = self.outcome(node, *trial, at, context).counts;
                    scores.push((score(counts, wraps), *trial));
                }
            }
        }
        let fits = |scores: &[(Score, Trial)]| scores.iter().any(|(score, _)| score.0 == 0);
        let has_fitted = fits(&scores);
        scores.retain(|(score, trial)| {
            score.0 > 0 || !self.matches_earlier_alternative(node, *trial, among, at, context)
        });
        if has_fitted && !fits(&scores) {
            return Choice::Several;
        }
        let Some((best, first)) = scores.iter().min_by_key(|(score, _)| *score) else {
            return Choice::Several;
        };
        if best.0 > 0 {
            let distance = |((.., counts), trial): &&(Score, Trial)| (!self.takes(*trial, node), *counts);
            let closest = scores.iter().min_by_key(distance);
            return Choice::None(closest.map_or(*first, |(_, trial)| *trial));
        }
        // Alternatives with equal results, by JSON Schema's equality, count as one.
        let value = self.outcome(node, *first, at, context).value;
        let value = value.as_ref().unwrap_or(node);
        let mut equal = scores
            .iter()
            .filter(|(score, trial)| score == best && trial != first);
        let agrees = equal.all(|(_, other)| {
            let other = self.outcome(node, *other, at, context).value;
            limits::is_same(other.as_ref().unwrap_or(node), value)
        });
        if agrees {
            Choice::Match(*first)
        } else {
            Choice::Several
        }
    }

    /// Returns the alternative that a value would match if its numbers were within their limits. Reading the numbers
    /// as texts or list items would evade the limits.
    fn limited(
        &mut self,
        node: &Node<'a>,
        among: Among<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Trial> {
        let by_schema = context.with_schema_rules();
        let mut trials = among.trials.iter().copied();
        let limited = match node {
            Node::Number(_) => {
                let is_beyond = |trial: &Trial| self.outcome(node, *trial, at, by_schema).counts.limits > 0;
                if let Some(limited) = trials.clone().find(is_beyond) {
                    return Some(limited);
                }
                // The value may be the only item of a list.
                trials.find(|trial| {
                    let counts = self.outcome(node, *trial, at, context).counts;
                    !self.takes(*trial, node) && counts.limits > 0 && counts.errors == counts.limits
                })
            }
            Node::Object(_) | Node::List(_) => trials.find(|trial| {
                let counts = self.outcome(node, *trial, at, by_schema).counts;
                counts.limits > 0 && counts.errors == counts.limits && counts.warnings == 0
            }),
            _ => None,
        }?;
        let keeps_numbers = |trial: &Trial| {
            let Outcome { counts, value } = self.outcome(node, *trial, at, context);
            counts.errors == 0 && value.is_none_or(|value| keeps_numbers(node, &value))
        };
        let is_within_another = among.trials.iter().any(keeps_numbers);
        (!is_within_another).then_some(limited)
    }

    /// Returns whether an alternative accepts a value without loss, and serde reads the result as that alternative.
    fn is_lossless_match(
        &mut self,
        node: &Node<'a>,
        scores: &[(Score, Trial)],
        among: Among<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> bool {
        is_composite(node)
            && scores.iter().any(|((errors, loses, ..), trial)| {
                *errors == 0 && !loses && !self.matches_earlier_alternative(node, *trial, among, at, context)
            })
    }

    /// Returns whether serde would read the result of an alternative as an earlier alternative without some of the
    /// keys.
    fn matches_earlier_alternative(
        &mut self,
        node: &Node<'a>,
        trial: Trial,
        among: Among<'_>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> bool {
        if !self.compiled.picks_first_match(among.exclusive) {
            return false;
        }
        let made = self.outcome(node, trial, at, context).value;
        let Some(made) = made.filter(is_composite) else {
            return false;
        };
        self.with_own_cache(|this| match this.conforming(&made, among, at, context) {
            Some(Choice::Match(read)) if read != trial => {
                this.outcome(&made, read, at, context).counts.unknown_keys > 0
            }
            _ => false,
        })
    }

    /// Returns whether a value has an expected type.
    fn takes(&self, trial: Trial, node: &Node<'a>) -> bool {
        let types = match trial {
            Trial::Schema(schema) => self.compiled.schema(schema).types,
            Trial::Type(_, one) => one,
        };
        types.overlaps(node.types())
    }

    /// Returns the outcome of a trial.
    fn outcome(
        &mut self,
        node: &Node<'a>,
        trial: Trial,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Outcome<'a> {
        let key = (node.address(), trial, context);
        if let Some(known) = self.cache.outcomes.get(&key)
            && let Some(outcome) = known.get(at, self.budget)
        {
            return outcome;
        }
        if !self.may_work(1, at) {
            return Outcome {
                counts: IssueCounts::ONE_ERROR,
                value: None,
            };
        }
        let for_type = std::mem::take(&mut self.for_type);
        let outer = std::mem::take(&mut self.budget.reached);
        let outcome = self.in_trial(|this| this.attempt(node, trial, at, context));
        self.for_type = for_type;
        let known = self.cache.outcomes.entry(key).or_default();
        known.add(outcome.clone(), at, outer, self.budget);
        outcome
    }

    /// Reads a value as one alternative: a trial uses the cached outcome, otherwise the issues are reported.
    fn take(
        &mut self,
        node: &Node<'a>,
        trial: Trial,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        if !self.report.is_trial || self.for_type {
            return self.attempt(node, trial, at, context);
        }
        let Outcome { counts, value } = self.outcome(node, trial, at, context);
        self.report.counts += counts;
        value
    }

    fn attempt(
        &mut self,
        node: &Node<'a>,
        trial: Trial,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        match trial {
            Trial::Schema(schema) => self.coerce(node, schema, at, context),
            Trial::Type(id, one) => {
                let schema = self.compiled.schema(id);
                let plain = schema.plain().unwrap_or(&NO_LIMITS);
                self.typed(node, one, PlainSchema { id, schema, plain }, at, context)
            }
        }
    }
}

/// Returns whether all numbers of a value are still numbers in the result, or each the only item of a list.
fn keeps_numbers(sent: &Node<'_>, made: &Node<'_>) -> bool {
    match (sent, made) {
        (Node::Number(_), Node::Number(_)) => true,
        (Node::Number(_), Node::List(items)) => {
            matches!(items.as_slice(), [item] if keeps_numbers(sent, item))
        }
        (Node::Number(_), _) => false,
        (Node::List(sent), Node::List(made)) => {
            let mut pairs = sent.iter().zip(made.iter());
            pairs.all(|(sent, made)| keeps_numbers(sent, made))
        }
        (Node::Object(sent), Node::Object(made)) => sent.entries.iter().all(|(key, sent)| {
            let made = made.entries.iter().find(|(other, _)| other == key);
            made.is_none_or(|(_, made)| keeps_numbers(sent, made))
        }),
        _ => true,
    }
}

/// Score of an alternative for a value, lower is better: errors, whether `Lossless` rejects it, whether it wraps,
/// unknown keys, warnings, and all counts.
type Score = (usize, bool, bool, CountsByDepth, usize, IssueCounts);

fn score(counts: IssueCounts, wraps: bool) -> Score {
    let loses = counts.losses > 0;
    (
        counts.errors,
        loses,
        wraps,
        counts.unknown_keys_by_depth,
        counts.warnings,
        counts,
    )
}

fn is_composite(node: &Node<'_>) -> bool {
    matches!(node, Node::List(_) | Node::Object(_))
}
