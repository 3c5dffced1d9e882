//! Walks the coerced arguments and the schema in parallel, and reports each violated keyword at the path of its value.

use std::borrow::Cow;
use std::collections::HashSet;

use super::evaluate::{Criteria, Evaluated, Evaluator};
use super::messages;
use crate::arguments::input::tree::node::{Members, Node};
use crate::arguments::limits;
use crate::arguments::report::expected::{self, Expected};
use crate::arguments::report::messages as reported;
use crate::arguments::report::path::Path;
use crate::schema::compiled::CompiledSchema;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::validation::{
    Condition, InPlace, ListKeywords, ObjectKeywords, Subschema, SubschemaId, Validation,
};
use crate::wire::issue::{Code, Issue};

/// A walk over the arguments. If coercion has enforced a schema, only the keywords that coercion ignores are checked. If
/// coercion ignores the whole schema, such as `then`, all its keywords are checked.
pub(super) struct ValidationWalk<'v, 'm> {
    compiled: &'v CompiledSchema,
    validation: &'v Validation,
    pub(super) evaluator: Evaluator<'v, 'm>,
    is_strict: bool,
    /// Whether coercion has warned of an unknown key.
    has_unknown: bool,
    pub(super) issues: Vec<Issue>,
    /// Paths of properties that are evaluated by a schema that coercion ignores.
    pub(super) known: HashSet<String>,
    /// Visited lists and objects: the address of the value, the schema, and whether coercion has enforced the schema.
    visited: HashSet<(usize, SubschemaId, bool)>,
    /// Number of bytes of findings that can still be kept.
    allowance: usize,
}

/// Maximum size of the findings, as for coercion.
const MAX_BYTES: usize = 16 << 20;

impl<'v, 'm> ValidationWalk<'v, 'm> {
    pub(super) fn new(
        compiled: &'v CompiledSchema,
        evaluator: Evaluator<'v, 'm>,
        is_strict: bool,
        has_unknown: bool,
    ) -> Self {
        Self {
            compiled,
            validation: evaluator.validation,
            evaluator,
            is_strict,
            has_unknown,
            issues: Vec::new(),
            known: HashSet::new(),
            visited: HashSet::new(),
            allowance: MAX_BYTES,
        }
    }

    /// Checks a value against a subschema. `enforced` means that coercion has already enforced this subschema, except for
    /// the keywords that it ignores.
    pub(super) fn subschema(&mut self, id: SubschemaId, node: &Node<'_>, at: &Path<'_>, enforced: bool) {
        let schema = self.validation.subschema(id);
        if enforced && !schema.has_assertions || !self.is_first(id, node, enforced) || !self.evaluator.enter()
        {
            return;
        }
        if enforced || self.own_limits(id, node, at) {
            self.format(schema, node, at);
            if let Some(in_place) = &schema.in_place {
                self.in_place(id, node, in_place, at, enforced);
            }
            match (node, &schema.list, &schema.object) {
                (Node::List(items), Some(list), _) => self.list(items, schema, list, at, enforced),
                (Node::Object(members), _, Some(object)) => {
                    self.object(node, members, object, schema, at, enforced);
                }
                _ => {}
            }
            if let Some(rest) = schema.unevaluated(node) {
                self.unevaluated(id, rest, node, at);
            }
        }
        self.evaluator.nested -= 1;
    }

    /// Returns whether a list or an object was not visited before: several parts of an `allOf` may lead to it.
    fn is_first(&mut self, id: SubschemaId, node: &Node<'_>, enforced: bool) -> bool {
        node.count() == 0 || self.visited.insert((node.address(), id, enforced))
    }

    /// Adds a finding.
    fn report(&mut self, at: &Path<'_>, make: impl FnOnce() -> Issue) {
        if self.allowance > 0 {
            let issue = at.issue(make());
            self.allowance = self
                .allowance
                .saturating_sub(issue.path.len() + issue.message.len());
            self.issues.push(issue);
        }
    }

    /// Returns the description of a subschema, for a message.
    fn expected(&self, id: SubschemaId) -> Option<Expected<'v>> {
        Some(Expected(self.compiled, self.compiled.described(id)?))
    }

    /// Returns whether a value certainly satisfies `judge`: the result must not depend on a rejected value.
    fn is_certain(&mut self, judge: impl FnOnce(&mut Evaluator<'v, 'm>) -> bool) -> bool {
        let outer = std::mem::take(&mut self.evaluator.is_doubtful);
        let is_met = judge(&mut self.evaluator);
        let is_sure = !self.evaluator.is_doubtful && self.evaluator.stopped.is_none();
        self.evaluator.is_doubtful = outer;
        is_met && is_sure
    }

    /// Returns the criteria for a value that must be valid. Unexpected properties are invalid only in strict mode.
    fn criteria(&self) -> Criteria {
        Criteria {
            assertions: true,
            unexpected: self.is_strict,
        }
    }

    /// Checks the type, the allowed values, and the limits of a string or number, for a schema that coercion ignores.
    /// Returns whether to check further keywords.
    #[inline(never)] // keeps its variables off the stack of each level
    fn own_limits(&mut self, id: SubschemaId, node: &Node<'_>, at: &Path<'_>) -> bool {
        let schema = self.validation.subschema(id);
        if schema.is_never() {
            self.report(at, || messages::denied(at, node));
            return false;
        }
        if !schema.has_type(node) {
            let (code, types) = (messages::type_code(schema.types), schema.types);
            let wanted = self.expected(id);
            self.report(at, || match (node, wanted) {
                (Node::Null, Some(wanted)) => reported::null(wanted),
                (Node::Null, None) => reported::null(types),
                (Node::List(_) | Node::Object(_), Some(wanted)) if code == Code::UnsupportedStringLiteral => {
                    reported::not_a_string(node, wanted, at.mentions_json(self.compiled))
                }
                (_, Some(wanted)) => reported::invalid_type(code, node, wanted),
                (_, None) => reported::invalid_type(code, node, types),
            });
            return false;
        }
        if let Some(values) = schema.values.as_ref().filter(|_| !schema.is_allowed(node)) {
            self.report(at, || reported::not_among(values, node));
            return false;
        }
        match node {
            Node::Text(text) => {
                let described = self.compiled.described(id);
                let format = described.and_then(|id| self.compiled.schema(id).format);
                let limits = schema.text.as_ref();
                if let Some(limit) = limits.and_then(|limits| limits::check_text(limits, format, text)) {
                    self.report(at, || reported::violates(node, messages::or_null(schema, limit)));
                }
            }
            Node::Number(number) => {
                let limits = schema.number.as_ref();
                if let Some(limits) = limits.filter(|limits| !limits::number_fits(limits, &number.text)) {
                    let types = schema.types.and(Types::NUMBER);
                    let wanted = format!("{types}{}", expected::Range(limits));
                    self.report(at, || reported::violates(node, messages::or_null(schema, wanted)));
                }
            }
            _ => {}
        }
        true
    }

    /// Records that a key is known to a schema that coercion ignores.
    fn note_known(&mut self, at: &Path<'_>) {
        if self.has_unknown {
            self.known.insert(at.pointer());
        }
    }

    /// Records the keys that a schema declares, whether or not it applies.
    fn note_declared(&mut self, id: SubschemaId, node: &Node<'_>, at: &Path<'_>) {
        if let (Node::Object(members), Some(object)) = (node, &self.validation.subschema(id).object) {
            for (key, _) in members.entries.iter() {
                if object.properties.contains_key(&**key) {
                    self.note_known(&Path::Key(at, key));
                }
            }
        }
    }

    fn format(&mut self, schema: &Subschema, node: &Node<'_>, at: &Path<'_>) {
        if let (Some(format), Node::Text(text)) = (schema.format, node)
            && !format.matches(text)
        {
            self.report(at, || reported::violates(node, format.description()));
        }
    }

    fn list(
        &mut self,
        items: &[Node<'_>],
        schema: &'v Subschema,
        list: &'v ListKeywords,
        at: &Path<'_>,
        enforced: bool,
    ) {
        if !enforced {
            self.list_limits(items, schema, list, at);
        }
        for (place, item) in items.iter().enumerate() {
            let Some(schema) = list.prefix.get(place).copied().or(list.rest) else {
                break;
            };
            self.subschema(schema, item, &Path::Index(at, place), enforced);
        }
        if list.contains.is_some() {
            self.contains(items, schema, list, at);
        }
    }

    #[inline(never)]
    fn list_limits(&mut self, items: &[Node<'_>], schema: &Subschema, list: &ListKeywords, at: &Path<'_>) {
        if let Some(limit) = limits::check_count(items.len(), list.min, list.max, "item") {
            let limit = messages::or_null(schema, limit);
            self.report(at, || reported::violates(&messages::list(items), limit));
        }
        if list.unique
            && let Some(&(first, again)) = limits::repeated_items(items).first()
        {
            let limit = messages::or_null(schema, "unique items".to_owned());
            let limit = format!("{limit}; item {again} equals item {first}");
            self.report(at, || reported::violates(&messages::list(items), limit));
        }
    }

    #[inline(never)]
    fn contains(&mut self, items: &[Node<'_>], schema: &Subschema, list: &ListKeywords, at: &Path<'_>) {
        let Some(contains) = list.contains else { return };
        let mut count = 0;
        let is_wrong = self.is_certain(|evaluator| {
            count = evaluator.count_valid(items, contains.schema);
            count < contains.min || contains.max.is_some_and(|max| count > max)
        });
        if is_wrong {
            let wanted = self.expected(contains.schema);
            let wanted = messages::described(self.validation.subschema(contains.schema), wanted);
            self.report(at, || {
                let expected = messages::or_null(schema, messages::contained(contains, count, wanted));
                reported::violates(&messages::list(items), expected)
            });
        }
    }

    fn object(
        &mut self,
        node: &Node<'_>,
        members: &Members<'_>,
        object: &'v ObjectKeywords,
        schema: &Subschema,
        at: &Path<'_>,
        enforced: bool,
    ) {
        if !enforced {
            self.object_limits(members, schema, object, at);
        }
        self.names(members, object, at, enforced);
        for (key, entry) in members.entries.iter() {
            self.entry(key, entry, object, &Path::Key(at, key), enforced);
        }
        if !object.dependent_required.is_empty() {
            self.dependent_required(members, object, at);
        }
        for (name, schema) in &object.dependent_schemas {
            if members.get(name).is_some() {
                let mark = self.issues.len();
                self.subschema(*schema, node, at, false);
                self.explain(mark, || Some(messages::was_sent(name)));
            }
        }
    }

    /// Checks the value of a key.
    fn entry(
        &mut self,
        key: &str,
        entry: &Node<'_>,
        object: &'v ObjectKeywords,
        at: &Path<'_>,
        enforced: bool,
    ) {
        let mut is_known = false;
        if let Some(schema) = object.properties.get(key) {
            is_known = true;
            self.subschema(*schema, entry, at, enforced);
        }
        for (pattern, schema) in &object.patterns {
            let is_match = pattern.as_ref().map(|pattern| pattern.is_match(key));
            is_known |= is_match != Some(false);
            if is_match == Some(true) {
                self.subschema(*schema, entry, at, enforced);
            }
        }
        let additional = object.additional.filter(|_| !is_known);
        match additional {
            Some(rest) if self.validation.subschema(rest).is_never() && !enforced => {
                self.unexpected(key, object, at);
            }
            Some(rest) => {
                is_known = true;
                self.subschema(rest, entry, at, enforced);
            }
            None => {}
        }
        if is_known && !enforced {
            self.note_known(at);
        }
    }

    /// Reports an unexpected property.
    #[inline(never)]
    fn unexpected(&mut self, key: &str, object: &ObjectKeywords, at: &Path<'_>) {
        let code = if at.depth() == 1 {
            Code::UnknownParameter
        } else {
            Code::UnknownProperty
        };
        let known = || object.declared.iter().map(|name| &**name);
        let is_strict = self.is_strict;
        self.report(at, || reported::unknown(code, key, known(), is_strict));
    }

    #[inline(never)]
    fn object_limits(
        &mut self,
        members: &Members<'_>,
        schema: &Subschema,
        object: &ObjectKeywords,
        at: &Path<'_>,
    ) {
        for name in object.required.iter().filter(|name| members.get(name).is_none()) {
            let declared = object
                .properties
                .get(name)
                .and_then(|schema| self.expected(*schema));
            self.missing(name, declared, at);
        }
        if let Some(limit) = limits::check_count(members.entries.len(), object.min, object.max, "property") {
            let limit = messages::or_null(schema, limit);
            self.report(at, || reported::violates(&Node::Object(members.clone()), limit));
        }
    }

    /// Reports a missing required key.
    fn missing(&mut self, name: &str, wanted: Option<Expected<'v>>, at: &Path<'_>) {
        let at = Path::Key(at, name);
        // A key that a condition requires is usually declared beside the condition.
        let wanted = wanted.or_else(|| {
            let steps = at.steps();
            let schema = self.compiled.schema_at(steps.iter().map(|step| &**step))?;
            Some(Expected(self.compiled, schema))
        });
        self.report(&at, || match wanted {
            Some(wanted) => reported::missing(&at, name, wanted),
            None => reported::missing(&at, name, "a value"),
        });
    }

    #[inline(never)]
    fn names(&mut self, members: &Members<'_>, object: &ObjectKeywords, at: &Path<'_>, enforced: bool) {
        let Some(names) = object.names else { return };
        if enforced && !self.validation.subschema(names).has_assertions {
            return;
        }
        for (key, _) in members.entries.iter() {
            let name = Node::Text(Cow::Borrowed(key));
            if !self.evaluator.is_valid(names, &name, Criteria::ALL) {
                let (schema, wanted) = (self.validation.subschema(names), self.expected(names));
                self.report(&Path::Key(at, key), || {
                    let not = schema.in_place.as_ref().and_then(|in_place| in_place.not);
                    let not = not.map(|not| self.validation.subschema(not));
                    reported::invalid_key(key, messages::key(schema, not, key, wanted))
                });
            }
        }
    }

    #[inline(never)]
    fn dependent_required(&mut self, members: &Members<'_>, object: &ObjectKeywords, at: &Path<'_>) {
        for (name, needed) in &object.dependent_required {
            if members.get(name).is_none() {
                continue;
            }
            for needed in needed.iter().filter(|needed| members.get(needed).is_none()) {
                let mark = self.issues.len();
                let declared = object
                    .properties
                    .get(needed)
                    .and_then(|schema| self.expected(*schema));
                self.missing(needed, declared, at);
                self.explain(mark, || Some(messages::was_sent(name)));
            }
        }
    }

    fn in_place(
        &mut self,
        id: SubschemaId,
        node: &Node<'_>,
        in_place: &'v InPlace,
        at: &Path<'_>,
        enforced: bool,
    ) {
        for part in &in_place.all_of {
            self.subschema(*part, node, at, enforced);
        }
        for (schemas, is_exclusive) in [(&in_place.any_of, false), (&in_place.one_of, true)] {
            if schemas.is_empty() {
                continue;
            }
            match self.matching(schemas, is_exclusive, node, enforced) {
                AlternativeMatch::One(schema) => self.subschema(schema, node, at, enforced),
                AlternativeMatch::None if !enforced => {
                    self.no_alternative(id, Code::NoAlternativeFits, node, at);
                }
                AlternativeMatch::Several if !enforced => {
                    self.no_alternative(id, Code::AmbiguousValue, node, at);
                }
                AlternativeMatch::None | AlternativeMatch::Several => {}
            }
        }
        if let Some(not) = in_place.not {
            self.not(not, node, at);
        }
        if let Some(condition) = in_place.condition {
            self.condition(condition, node, at);
        }
    }

    /// Returns the alternative that a value matches, or else the alternative whose errors are reported, if there is one.
    /// Several matches are an error only for a `oneOf` that coercion ignores.
    #[inline(never)]
    fn matching(
        &mut self,
        schemas: &[SubschemaId],
        is_exclusive: bool,
        node: &Node<'_>,
        enforced: bool,
    ) -> AlternativeMatch {
        let by = self.criteria();
        let exact = Criteria::ALL;
        let find = |this: &mut Self, by| {
            schemas
                .iter()
                .copied()
                .find(|schema| this.evaluator.is_valid(*schema, node, by))
        };
        if !enforced && is_exclusive && self.evaluator.count_matches(schemas, node, exact, None) > 1 {
            return AlternativeMatch::Several;
        }
        if let Some(schema) = find(self, exact).or_else(|| find(self, by)) {
            return AlternativeMatch::One(schema);
        }
        if enforced {
            // Coercion has found an alternative that is valid, except for the keywords that coercion does not enforce.
            let structure = Criteria {
                assertions: false,
                ..by
            };
            return find(self, structure).map_or(AlternativeMatch::None, AlternativeMatch::One);
        }
        let typed = |schema: &&SubschemaId| self.validation.subschema(**schema).has_type(node);
        let mut typed = schemas.iter().filter(typed);
        match (typed.next(), typed.next()) {
            (Some(only), None) => AlternativeMatch::One(*only),
            _ => AlternativeMatch::None,
        }
    }

    #[inline(never)]
    fn no_alternative(&mut self, id: SubschemaId, code: Code, node: &Node<'_>, at: &Path<'_>) {
        let wanted = self.expected(id);
        self.report(at, || messages::no_alternative(code, node, wanted));
    }

    #[inline(never)]
    fn not(&mut self, not: SubschemaId, node: &Node<'_>, at: &Path<'_>) {
        if self.is_certain(|evaluator| evaluator.is_valid(not, node, Criteria::ALL)) {
            let (schema, wanted) = (self.validation.subschema(not), self.expected(not));
            self.report(at, || messages::not(schema, node, wanted));
        }
    }

    #[inline(never)]
    fn condition(&mut self, condition: Condition, node: &Node<'_>, at: &Path<'_>) {
        let Condition {
            test,
            then,
            otherwise,
        } = condition;
        let is_met = self.is_certain(|evaluator| evaluator.is_valid(test, node, Criteria::ALL));
        let is_unmet = !is_met && self.is_certain(|evaluator| !evaluator.is_valid(test, node, Criteria::ALL));
        let applied = match (is_met, is_unmet) {
            (true, _) => then,
            (_, true) => otherwise,
            _ => None,
        };
        for schema in [Some(test).filter(|_| !is_unmet), then, otherwise]
            .into_iter()
            .flatten()
        {
            // If the condition is undecided, the keys that both branches declare are known.
            if schema == test || !is_met && !is_unmet {
                self.note_declared(schema, node, at);
            }
        }
        if let Some(schema) = applied {
            let mark = self.issues.len();
            self.subschema(schema, node, at, false);
            let tested = self.validation.subschema(test);
            self.explain(mark, || messages::tested(tested, node));
        }
    }

    /// Checks the properties and items that no other keyword has evaluated.
    #[inline(never)]
    fn unevaluated(&mut self, id: SubschemaId, rest: SubschemaId, node: &Node<'_>, at: &Path<'_>) {
        let by = self.criteria();
        let mut evaluated: Option<Evaluated> = Some(vec![false; node.count()]);
        if !self.is_certain(|evaluator| evaluator.applied(id, node, by, &mut evaluated)) {
            return;
        }
        let is_never = self.validation.subschema(rest).is_never();
        let places = evaluated.unwrap_or_default().into_iter().enumerate();
        for (place, _) in places.filter(|(_, is_evaluated)| !is_evaluated) {
            match node {
                Node::List(items) => {
                    let Some(item) = items.get(place) else { continue };
                    let inside = Path::Index(at, place);
                    if is_never {
                        self.report(&inside, || messages::unexpected_item(item));
                    } else {
                        self.subschema(rest, item, &inside, false);
                    }
                }
                Node::Object(members) => {
                    let Some((key, entry)) = members.entries.get(place) else {
                        continue;
                    };
                    let inside = Path::Key(at, key);
                    let object = self.validation.subschema(id).object.as_ref();
                    if let Some(object) = object.filter(|_| is_never) {
                        self.unexpected(key, object, &inside);
                    } else {
                        self.note_known(&inside);
                        self.subschema(rest, entry, &inside, false);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds the reason to the errors since `mark`.
    fn explain(&mut self, mark: usize, reason: impl FnOnce() -> Option<String>) {
        let found = self.issues.get_mut(mark..).unwrap_or_default();
        if found.is_empty() {
            return;
        }
        if let Some(reason) = reason() {
            for issue in found {
                issue.add_condition(&reason);
            }
        }
    }
}

/// The matching alternative of a union.
enum AlternativeMatch {
    One(SubschemaId),
    None,
    Several,
}
