//! Coerces a tree to a schema, with a warning for each change and an error for each value that does not conform.
//!
//! The tree is not modified: a changed value is a new one, and its parents are copied. The files of this folder are
//! mutually recursive, as schemas are: `Coercer::coerce` calls the method for a scalar, a list, an object, a union or
//! a conjunction, each in its own file, and these call `coerce` for inner values.

pub(super) mod context;
pub(super) mod cache;
pub(super) mod composite;
mod scalar;
mod stand_in;
mod separated;
mod list;
mod conjunction;
mod slots;
mod map_keys;
mod object;
mod tag;
mod union;
mod wanted;

use std::rc::Rc;

use crate::arguments::coerce::composite::CompositeReading;
use crate::arguments::coerce::wanted::{PlainSchema, UnionSchema};
use crate::arguments::input::tree::node::Node;
use crate::arguments::input::tree::parse::{self, Read, TooDeep};
use crate::arguments::limits::{self, Membership};
use crate::arguments::report::Report;
use crate::arguments::report::expected::Expected;
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;
use crate::arguments::rules::Mode;
use crate::arguments::validate::evaluate::{Evaluator, Stop};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::validation::SubschemaId;
use crate::schema::compiled::{Additional, CompiledSchema, Kind, Plain, SchemaId};
use crate::wire::depth;
use crate::wire::issue::{Code, Issue};
use cache::{Among, Cache, Depth, Outcome, Trial};
use context::CoercionContext;
use stand_in::may_be_string;

/// Coerces values to schemas. Passed by value: a trial has a separate report, and a temporary tree has a separate
/// cache.
#[derive(Debug)]
pub(crate) struct Coercer<'s, 'a, 'c> {
    pub(crate) compiled: &'s CompiledSchema,
    /// Whether unknown keys are kept in the result, as in forwarded JSON. A type does not get unknown keys, since it
    /// might know some of them (`#[schemars(skip)]`, `#[serde(alias)]`).
    pub(crate) keeps_unknown: bool,
    /// Whether this is a trial of the value that a type gets.
    pub(crate) for_type: bool,
    pub(crate) report: &'c mut Report,
    pub(crate) cache: &'c mut Cache<'a>,
    pub(crate) budget: &'c mut Budget,
}

/// Maximum number of nested unions and conjunctions, more than honest arguments need. With [`depth::MAX_DEPTH`]
/// levels between, they take less than 512 KiB of stack in an optimized build, and less than 1 MiB otherwise.
pub(in crate::arguments) const MAX_COMPOSITES: usize = 64;

/// Budget of one coercion, with all its trials.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Remaining number of trials.
    work: usize,
    /// Number of open unions and conjunctions.
    composites: usize,
    /// Whether the outermost of them is being read again.
    rereads: bool,
    /// Greatest depth in the current trial.
    reached: Depth,
    /// Reason why reading the arguments was aborted. No other finding is reported then.
    pub(crate) stopped: Option<Issue>,
}

impl Budget {
    /// Creates the budget for arguments with this number of values.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            work: size.saturating_mul(WORK_PER_VALUE).saturating_add(MAX_WORK),
            composites: 0,
            rereads: false,
            reached: Depth::default(),
            stopped: None,
        }
    }
}

/// Maximum number of trials, more than honest arguments need: about a second of work.
const MAX_WORK: usize = 2_000_000;

/// Number of items or members that cost as much as a trial.
const PARTS_PER_WORK: usize = 8;

/// Additional trials for each value in large arguments.
const WORK_PER_VALUE: usize = 16;

impl<'s, 'a> Coercer<'s, 'a, '_> {
    /// Reads a value in a trial, which counts issues and keeps none.
    fn in_trial(&mut self, read: impl FnOnce(&mut Coercer<'s, 'a, '_>) -> Option<Node<'a>>) -> Outcome<'a> {
        self.trial(self.for_type, read)
    }

    /// Coerces in a trial to the value that a type gets.
    fn attempt_as_given(
        &mut self,
        read: impl FnOnce(&mut Coercer<'s, 'a, '_>) -> Option<Node<'a>>,
    ) -> Outcome<'a> {
        self.trial(true, read)
    }

    fn trial(
        &mut self,
        for_type: bool,
        read: impl FnOnce(&mut Coercer<'s, 'a, '_>) -> Option<Node<'a>>,
    ) -> Outcome<'a> {
        let mut report = Report::for_trial();
        let value = read(&mut Coercer {
            compiled: self.compiled,
            keeps_unknown: !for_type, // alternatives are distinguished by them
            for_type,
            report: &mut report,
            cache: self.cache,
            budget: self.budget,
        });
        Outcome {
            counts: report.counts,
            value,
        }
    }

    /// Reads nodes that do not outlive the cache, with a separate cache.
    fn with_own_cache<R>(&mut self, read: impl FnOnce(&mut Coercer<'s, 'a, '_>) -> R) -> R {
        read(&mut Coercer {
            compiled: self.compiled,
            keeps_unknown: self.keeps_unknown,
            for_type: self.for_type,
            report: self.report,
            cache: &mut Cache::default(),
            budget: self.budget,
        })
    }

    /// Coerces a value to a schema; `None` if the value is unchanged, which includes rejected values.
    pub(crate) fn coerce(
        &mut self,
        node: &Node<'a>,
        id: SchemaId,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let schema = self.compiled.schema(id);
        let context = context.under(schema);
        let wanted = Expected(self.compiled, id);
        if let Some(assertions) = &schema.assertions
            && matches!(context.mode, Mode::Schema | Mode::Exact)
            && !context.defers_assertions
            && !self.assertions_hold(node, assertions, at)
        {
            self.report.refuse(at, messages::unlike_assertions);
            return None;
        }
        match node {
            Node::Null if !schema.types.has(Types::NULL) => {
                self.report.refuse(at, || messages::null(wanted));
                return None;
            }
            Node::Text(text)
                if schema.types.has(Types::NULL) && self.reads_as_null(text, schema, context) =>
            {
                let code = Code::EmptyStringTreatedAsNull;
                if may_be_string(schema) {
                    self.report.lose();
                }
                self.report
                    .warn(at, || messages::changed(code, node, &Node::Null));
                if matches!(schema.kind, Kind::Union(_) | Kind::AllOf(_)) {
                    self.with_own_cache(|this| this.coerce(&Node::Null, id, at, context));
                }
                return Some(Node::Null);
            }
            _ => {}
        }
        match &schema.kind {
            Kind::Any if schema.types == Types::ALL => {
                self.free(node, at);
                None
            }
            Kind::Any => {
                let plain = &NO_LIMITS;
                self.plain(node, PlainSchema { id, schema, plain }, at, context)
            }
            Kind::Plain(plain) => self.plain(node, PlainSchema { id, schema, plain }, at, context),
            Kind::Union(alternatives) => {
                let mark = self.enter_composite(at)?;
                let wanted = UnionSchema {
                    id,
                    schema,
                    alternatives,
                };
                let taken = self.alternatives(node, wanted, at, context.alternative());
                self.leave_composite(mark, CompositeReading { node, taken }, at, false, |this, node| {
                    this.coerce(node, id, at, context)
                })
            }
            Kind::AllOf(parts) => self.conjunction(node, id, &parts.schemas, at, context),
        }
    }

    /// Returns whether an unchanged value satisfies keywords that coercion does not enforce: rule 2 requires all
    /// keywords.
    #[inline(never)] // keeps its variables off the stack of each level
    fn assertions_hold(&mut self, node: &Node<'a>, assertions: &[SubschemaId], at: &Path<'_>) -> bool {
        let Some(validation) = self.compiled.validation() else {
            return true;
        };
        let nested = at.depth() + self.budget.composites;
        let mut evaluator = Evaluator::new(validation, &mut self.cache.verdicts, self.budget.work, nested);
        let holds = assertions
            .iter()
            .all(|subschema| evaluator.assertions_hold(*subschema, node));
        self.budget.work = evaluator.work;
        if let Some(stop) = evaluator.stopped {
            self.cache.verdicts.clear();
            match stop {
                Stop::TooDeep => self.report_too_deep(at, messages::too_many_unions),
                Stop::TooComplex => self.abort(at, messages::too_complex),
            }
            return false;
        }
        holds
    }

    /// Returns whether the parts of a list or an object may be read: not if the result would be too deep, including
    /// wrapped and decoded levels.
    pub(in crate::arguments) fn may_open(&mut self, parts: usize, at: &Path<'_>) -> bool {
        let levels = at.depth() + 1;
        if levels > depth::MAX_DEPTH {
            self.report_too_deep(at, messages::too_deep);
            return false;
        }
        self.budget.reached.levels = self.budget.reached.levels.max(levels);
        // Conjunctions of unions read the same parts repeatedly, without a trial for each.
        let work = if self.budget.composites > 0 {
            parts / PARTS_PER_WORK
        } else {
            0
        };
        self.may_work(work, at)
    }

    /// Rejects a value that nests too deeply. In a trial, only that alternative does not match.
    #[inline(never)] // keeps its variables off the stack of each level
    pub(in crate::arguments) fn report_too_deep(&mut self, at: &Path<'_>, why: fn() -> Issue) {
        if self.report.is_trial {
            self.budget.reached = Depth::TOO_DEEP;
            self.report.refuse(at, why);
        } else {
            self.abort(at, why);
        }
    }

    /// Returns whether the budget allows more trials.
    pub(in crate::arguments) fn may_work(&mut self, trials: usize, at: &Path<'_>) -> bool {
        let left = self.budget.work.checked_sub(trials);
        match left {
            Some(left) => self.budget.work = left,
            None => self.abort(at, messages::too_complex),
        }
        left.is_some()
    }

    /// Aborts the reading, also in a trial: the alternatives that were not tried are unknown.
    pub(in crate::arguments) fn abort(&mut self, at: &Path<'_>, why: fn() -> Issue) {
        self.budget.stopped.get_or_insert_with(|| at.issue(why()));
        self.report.refuse(at, why);
    }

    /// Checks a value without a schema: only a value that cannot be represented is rejected.
    pub(in crate::arguments) fn free(&mut self, node: &Node<'_>, at: &Path<'_>) {
        match node {
            Node::Number(number) if !number.is_finite() => {
                self.report.refuse(at, || messages::not_finite(node));
            }
            Node::List(items) if !self.may_open(items.len(), at) => {}
            Node::Object(members) if !self.may_open(members.entries.len(), at) => {}
            Node::List(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.free(item, &Path::Index(at, place));
                }
            }
            Node::Object(members) => {
                for (place, (key, entry)) in members.entries.iter().enumerate() {
                    let at = Path::Key(at, key);
                    if members.repeated.binary_search(&place).is_ok() {
                        self.report.repeat(&at, key);
                    }
                    self.free(entry, &at);
                }
            }
            _ => {}
        }
    }

    fn plain(
        &mut self,
        node: &Node<'a>,
        wanted: PlainSchema<'s>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let PlainSchema { id, schema, plain } = wanted;
        let types = schema.types.without(Types::NULL);
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
        let misses = several && context.mode.coerces() && plain.values.as_ref().is_some_and(excluded);
        match one_of_them {
            Some(own) if !misses => self.typed(node, own, wanted, at, context),
            _ if several && context.mode.coerces() => {
                let mark = self.enter_composite(at)?;
                let trials: Vec<Trial> = types.each().map(|one| Trial::Type(id, one)).collect();
                let among = Among {
                    owner: id,
                    trials: &trials,
                    exclusive: false,
                };
                let taken = self.choose(node, among, at, context.alternative());
                self.leave_composite(mark, CompositeReading { node, taken }, at, false, |this, node| {
                    this.coerce(node, id, at, context)
                })
            }
            _ if several => {
                let expected = Expected(self.compiled, id);
                self.report.refuse(at, || match &plain.values {
                    Some(values) => messages::not_among(values, node),
                    None => messages::invalid_type(Code::NoAlternativeFits, node, expected),
                });
                None
            }
            _ => self.typed(node, types, wanted, at, context),
        }
    }

    /// Coerces a value to a single type, its own or another one.
    pub(in crate::arguments) fn typed(
        &mut self,
        node: &Node<'a>,
        want: Types,
        wanted: PlainSchema<'s>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let changed = match (want, node) {
            (Types::ARRAY, Node::List(items)) => self.list(items, wanted.schema, at, context),
            (Types::OBJECT, Node::Object(members)) => self.object(members, wanted.schema, at, context),
            (Types::ARRAY | Types::OBJECT, Node::Text(_)) if context.mode.coerces() => {
                if let Some(read) = self.readable(node, want, wanted, at, context) {
                    self.report_decoded(&read, at);
                    let changed = self.typed(&read.node, want, wanted, at, context);
                    return Some(changed.unwrap_or_else(|| read.node.clone()));
                }
                if let Some(items) = self.separated(node, want, wanted, at, context) {
                    return Some(items);
                }
                self.reject_type(node, want, wanted, at, context)
            }
            (Types::ARRAY | Types::OBJECT, _) => self.reject_type(node, want, wanted, at, context),
            _ => return self.scalar(node, want, wanted, at, context),
        };
        self.only_allowed(changed.as_ref().unwrap_or(node), wanted.plain, at);
        changed
    }

    /// Rejects a value that is not the expected list or object.
    fn reject_type(
        &mut self,
        node: &Node<'a>,
        want: Types,
        PlainSchema { id, plain, .. }: PlainSchema<'s>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        let wanted = Expected(self.compiled, id);
        if want == Types::OBJECT {
            self.report.refuse(at, || {
                messages::invalid_type(Code::UnsupportedObjectLiteral, node, wanted)
            });
            return None;
        }
        let list = plain.list.as_ref();
        if context.mode.coerces()
            && context.wraps
            && list.is_none_or(crate::schema::compiled::List::can_wrap_single)
            && !self.is_no_item(node, id, context)
        {
            return self.wrapped(node, id, list, at, context);
        }
        self.report.refuse(at, || {
            messages::invalid_type(Code::UnsupportedArrayLiteral, node, wanted)
        });
        None
    }

    /// Decodes the expected list or object in a string, unless it is more likely a string (rule 4b).
    #[inline(never)] // keeps its variables off the stack of each level
    fn readable(
        &mut self,
        node: &Node<'a>,
        want: Types,
        wanted: PlainSchema<'s>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Rc<Read<'a>>> {
        let read = match self.decode(node, want, at) {
            Err(TooDeep) if want == Types::OBJECT || !self.has_flat_items(wanted.plain) => {
                self.report_too_deep(at, messages::too_deep);
                return None;
            }
            read => read.ok()??,
        };
        if want == Types::ARRAY && wanted.schema.lists_of_strings {
            let exact = context.with(Mode::Exact);
            let trial = self.in_trial(|this| this.typed(&read.node, want, wanted, at, exact));
            if !trial.counts.has_no_findings() {
                return None;
            }
        }
        Some(read)
    }

    /// Returns whether the items of a list are neither lists nor objects: a deeper value is not such a list, but may
    /// be the text of an item.
    fn has_flat_items(&self, plain: &Plain) -> bool {
        let rest = plain.list.as_ref().map(|list| list.additional);
        matches!(rest, Some(Additional::Of(item)) if !self.compiled.schema(item).types.overlaps(Types::ARRAY | Types::OBJECT))
    }

    /// Decodes a text that is a whole list or object, in JSON or Python syntax.
    #[inline(never)] // keeps its variables off the stack of each level
    pub(in crate::arguments) fn decode(
        &mut self,
        node: &Node<'a>,
        want: Types,
        at: &Path<'_>,
    ) -> Result<Option<Rc<Read<'a>>>, TooDeep> {
        let Node::Text(text) = node else {
            return Ok(None);
        };
        if !opens(text, want) {
            return Ok(None);
        }
        let allowed = depth::MAX_DEPTH.saturating_sub(at.depth());
        let known = self.cache.decoded.get(&node.address());
        let decoded = match known {
            // A text that was too deep elsewhere may be allowed here.
            Some(Err(levels)) if *levels < allowed => None,
            known => known.cloned(),
        };
        let decoded = decoded.unwrap_or_else(|| {
            let read = parse::read_inner(text, allowed).map_err(|TooDeep| allowed);
            let decoded = read.map(|read| read.map(|read| (read.node.levels(), Rc::new(read))));
            self.cache.decoded.insert(node.address(), decoded.clone());
            decoded
        });
        match decoded {
            Ok(Some((levels, _))) if levels > allowed => Err(TooDeep),
            Ok(read) => Ok(read
                .map(|(_, read)| read)
                .filter(|read| want.has(read.node.types()))),
            Err(_) => Err(TooDeep),
        }
    }

    /// Reports the decoding of a string, with the changes to its text.
    pub(in crate::arguments) fn report_decoded(
        &mut self,
        Read { node, repaired, .. }: &Read<'a>,
        at: &Path<'_>,
    ) {
        let held = node.types();
        self.report.warn(at, || {
            let message = format!("a string that holds JSON was decoded; send {held} itself, not its text");
            Issue::warning(Code::JsonStringDecoded, "", message)
        });
        if let Some(repaired) = repaired {
            self.report.warn(at, || repaired.clone());
        }
    }
}

/// Returns whether a text begins like the expected list or object.
pub(in crate::arguments) fn opens(text: &str, want: Types) -> bool {
    let begins = |brackets: &[char]| text.trim_start().starts_with(brackets);
    want.has(Types::ARRAY) && begins(&['[', '(']) || want.has(Types::OBJECT) && begins(&['{'])
}

pub(in crate::arguments) static NO_LIMITS: Plain = Plain::NONE;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::arguments::input::tree::json::parse;

    #[test]
    fn too_many_trials_are_too_complex() {
        let either = json!({ "anyOf": [{ "type": "integer" }, { "type": "array", "items": { "$ref": "#/$defs/Either" } }] });
        let schema = json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/Either" } }, "$defs": { "Either": either } });
        let compiled = CompiledSchema::compile(&schema).unwrap().0;
        let sent = parse(r#"{"x":[["1"],["2"],["3"]]}"#, depth::MAX_DEPTH).unwrap();
        let codes = |work| {
            let mut report = Report::default();
            let mut budget = Budget {
                work,
                ..Budget::new(0)
            };
            let mut coercer = Coercer {
                compiled: &compiled,
                keeps_unknown: true,
                for_type: false,
                report: &mut report,
                cache: &mut Cache::default(),
                budget: &mut budget,
            };
            coercer.coerce(
                &sent,
                SchemaId::ROOT,
                &Path::Root,
                CoercionContext::all(Mode::Lenient),
            );
            (budget.stopped, report.counts)
        };
        let (stopped, counts) = codes(1_000);
        assert_eq!((stopped, counts.errors, counts.warnings), (None, 0, 3));
        for work in [0, 1, 5, 10, 20] {
            let stopped = codes(work).0.expect("too much work");
            assert_eq!(
                (stopped.code, stopped.is_error()),
                (Code::TooComplex, true),
                "{work}"
            );
            assert!(stopped.path.starts_with("/x"), "{}", stopped.path);
        }
    }

    /// The numbers are stated in `coercion.md`.
    #[test]
    fn alternative_takes_about_five_trials_for_each_value() {
        assert_eq!(Budget::new(0).work, 2_000_000);
        // A value takes at least two bytes.
        assert_eq!(Budget::new(1).work - Budget::new(0).work, 2 * 8);
        let properties: Vec<_> = (0..10)
            .map(|n| json!({ "type": "object", "properties": { format!("k{n}"): { "type": "integer" } }, "required": [format!("k{n}")] }))
            .collect();
        let schema = json!({ "type": "object", "properties": { "x": { "type": "array", "items": { "anyOf": properties } } } });
        let compiled = CompiledSchema::compile(&schema).unwrap().0;
        let trials = |item: &str| {
            let text = format!(r#"{{"x":[{}]}}"#, [item; 10].join(","));
            let sent = parse(&text, depth::MAX_DEPTH).unwrap();
            let mut budget = Budget::new(0);
            let mut coercer = Coercer {
                compiled: &compiled,
                keeps_unknown: true,
                for_type: false,
                report: &mut Report::default(),
                cache: &mut Cache::default(),
                budget: &mut budget,
            };
            coercer.coerce(
                &sent,
                SchemaId::ROOT,
                &Path::Root,
                CoercionContext::all(Mode::Lenient),
            );
            (MAX_WORK - budget.work) / (10 * 10)
        };
        let items = [
            r#"{"k9":1}"#,
            r#"{"q":1}"#,
            r#"{"k9":"1"}"#,
            r#"{"K9":"1","q":1}"#,
        ];
        let trials = items.map(trials);
        assert!(trials.iter().all(|count| *count <= 5), "{trials:?}");
    }
}
