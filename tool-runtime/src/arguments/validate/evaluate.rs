//! Evaluates whether a value is valid by JSON Schema, and which of its properties and items a schema evaluates.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::arguments::input::tree::node::{Members, Node};
use crate::arguments::limits::{self, Membership};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::validation::{
    Condition, Contains, InPlace, ListKeywords, ObjectKeywords, Subschema, SubschemaId, Validation,
};

/// Keywords by which a value is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::arguments) struct Criteria {
    /// Whether the keywords that coercion does not enforce apply.
    pub(in crate::arguments) assertions: bool,
    /// Whether properties that `false` denies are invalid. Without a strict policy they are only a warning.
    pub(in crate::arguments) unexpected: bool,
}

impl Criteria {
    /// Evaluates a subschema with all keywords of JSON Schema.
    pub(in crate::arguments) const ALL: Self = Self {
        assertions: true,
        unexpected: true,
    };
}

/// Flags of the evaluated items or members of a list or an object, by position.
pub(in crate::arguments) type Evaluated = Vec<bool>;

/// Verdicts on the values of one tree, by address: the tree must outlive them.
pub(in crate::arguments) type Verdicts = HashMap<(usize, SubschemaId, Criteria, bool), Verdict>;

/// Validity of a list or an object.
#[derive(Debug, Clone)]
pub(in crate::arguments) struct Verdict {
    is_valid: bool,
    is_doubtful: bool,
    evaluated: Option<Rc<Evaluated>>,
}

/// Reason why a value could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::arguments) enum Stop {
    TooDeep,
    TooComplex,
}

/// Maximum depth of nested subschemas: the stack has space for no more.
pub(in crate::arguments) const MAX_NESTED: usize = 400;

#[derive(Debug)]
pub(in crate::arguments) struct Evaluator<'v, 'm> {
    pub(in crate::arguments) validation: &'v Validation,
    pub(in crate::arguments) verdicts: &'m mut Verdicts,
    /// Remaining number of subschemas to apply.
    pub(in crate::arguments) work: usize,
    /// Number of open subschemas.
    pub(in crate::arguments) nested: usize,
    pub(in crate::arguments) stopped: Option<Stop>,
    /// Values that coercion or a type has rejected.
    pub(in crate::arguments) refused: HashSet<usize>,
    /// Whether the last verdicts depend on a rejected value.
    pub(in crate::arguments) is_doubtful: bool,
}

impl<'v, 'm> Evaluator<'v, 'm> {
    pub(in crate::arguments) fn new(
        validation: &'v Validation,
        verdicts: &'m mut Verdicts,
        work: usize,
        nested: usize,
    ) -> Self {
        Self {
            validation,
            verdicts,
            work,
            nested,
            stopped: None,
            refused: HashSet::new(),
            is_doubtful: false,
        }
    }

    /// Returns whether a value is valid.
    pub(in crate::arguments) fn is_valid(&mut self, id: SubschemaId, node: &Node<'_>, by: Criteria) -> bool {
        self.evaluate(id, node, by, None)
    }

    /// Judges a value; collects the evaluated items or members of a valid list or object.
    pub(in crate::arguments) fn evaluate(
        &mut self,
        id: SubschemaId,
        node: &Node<'_>,
        by: Criteria,
        evaluated: Option<&mut Evaluated>,
    ) -> bool {
        if !self.enter() {
            return false;
        }
        let is_valid = match node {
            Node::List(_) | Node::Object(_) => self.composite(id, node, by, evaluated),
            _ => self.scalar(id, node, by),
        };
        self.nested -= 1;
        is_valid
    }

    /// Counts an applied subschema; `false` above the limit.
    pub(in crate::arguments) fn enter(&mut self) -> bool {
        if self.nested >= MAX_NESTED {
            self.stopped.get_or_insert(Stop::TooDeep);
        }
        self.spend(1);
        if self.stopped.is_some() {
            return false;
        }
        self.nested += 1;
        true
    }

    fn spend(&mut self, work: usize) {
        match self.work.checked_sub(work) {
            Some(left) => self.work = left,
            None => self.stopped = self.stopped.or(Some(Stop::TooComplex)),
        }
    }

    fn scalar(&mut self, id: SubschemaId, node: &Node<'_>, by: Criteria) -> bool {
        let schema = self.validation.subschema(id);
        self.is_doubtful |= self.refused.contains(&node.address());
        let is_within = match node {
            Node::Text(text) => {
                let limits = schema.text.as_ref();
                limits.is_none_or(|limits| limits::text_violation(limits, text).is_none())
                    && schema.is_formatted(text, by)
            }
            Node::Number(number) => {
                let limits = schema.number.as_ref();
                limits.is_none_or(|limits| limits::number_fits(limits, &number.text))
            }
            _ => true,
        };
        is_within && schema.has_type(node) && schema.is_allowed(node) && self.in_place(id, node, by, None)
    }

    fn composite(
        &mut self,
        id: SubschemaId,
        node: &Node<'_>,
        by: Criteria,
        evaluated: Option<&mut Evaluated>,
    ) -> bool {
        let key = (node.address(), id, by, evaluated.is_some());
        if !self.verdicts.contains_key(&key) {
            let outer = std::mem::replace(&mut self.is_doubtful, self.refused.contains(&node.address()));
            let mut own = evaluated.is_some().then(|| vec![false; node.count()]);
            let is_valid = self.composite_keywords(id, node, by, &mut own);
            let verdict = Verdict {
                is_valid,
                is_doubtful: self.is_doubtful,
                evaluated: own.filter(|_| is_valid).map(Rc::new),
            };
            self.is_doubtful = outer;
            self.verdicts.insert(key, verdict);
        }
        let Some(verdict) = self.verdicts.get(&key) else {
            return false;
        };
        self.is_doubtful |= verdict.is_doubtful;
        if let (Some(all), Some(own)) = (evaluated, &verdict.evaluated) {
            add(all, own);
        }
        verdict.is_valid
    }

    fn composite_keywords(
        &mut self,
        id: SubschemaId,
        node: &Node<'_>,
        by: Criteria,
        evaluated: &mut Option<Evaluated>,
    ) -> bool {
        let schema = self.validation.subschema(id);
        if !schema.has_type(node) || !schema.is_allowed(node) {
            return false;
        }
        let unevaluated = schema.unevaluated(node).filter(|_| by.assertions);
        if unevaluated.is_some() && evaluated.is_none() {
            *evaluated = Some(vec![false; node.count()]);
        }
        self.applied(id, node, by, evaluated)
            && unevaluated.is_none_or(|rest| self.rest(rest, node, by, evaluated.as_mut()))
    }

    /// Returns whether the keywords hold, except for `unevaluatedItems` and `unevaluatedProperties`.
    pub(in crate::arguments) fn applied(
        &mut self,
        id: SubschemaId,
        node: &Node<'_>,
        by: Criteria,
        evaluated: &mut Option<Evaluated>,
    ) -> bool {
        let schema = self.validation.subschema(id);
        let is_valid = match (node, &schema.list, &schema.object) {
            (Node::List(items), Some(list), _) => self.list(items, list, by, evaluated.as_mut()),
            (Node::Object(members), _, Some(object)) => {
                self.object(members, object, by, evaluated.as_mut())
                    && (!by.assertions || self.dependent(node, object, by, evaluated.as_mut()))
            }
            _ => true,
        };
        is_valid && self.in_place(id, node, by, evaluated.as_mut())
    }

    fn list(
        &mut self,
        items: &[Node<'_>],
        list: &ListKeywords,
        by: Criteria,
        mut evaluated: Option<&mut Evaluated>,
    ) -> bool {
        if !counts(items.len(), list.min, list.max)
            || list.unique && !limits::repeated_items(items).is_empty()
        {
            return false;
        }
        for (place, item) in items.iter().enumerate() {
            let Some(schema) = list.prefix.get(place).copied().or(list.rest) else {
                break;
            };
            if !self.evaluate(schema, item, by, None) {
                return false;
            }
            mark(evaluated.as_deref_mut(), place);
        }
        let contains = list.contains.filter(|_| by.assertions);
        contains.is_none_or(|contains| self.contains(items, contains, evaluated))
    }

    fn contains(
        &mut self,
        items: &[Node<'_>],
        contains: Contains,
        mut evaluated: Option<&mut Evaluated>,
    ) -> bool {
        let mut count = 0_u64;
        for (place, item) in items.iter().enumerate() {
            if self.evaluate(contains.schema, item, Criteria::ALL, None) {
                count += 1;
                mark(evaluated.as_deref_mut(), place);
            }
        }
        count >= contains.min && contains.max.is_none_or(|max| count <= max)
    }

    /// Returns the number of items that are valid by JSON Schema.
    pub(in crate::arguments) fn count_valid(&mut self, items: &[Node<'_>], schema: SubschemaId) -> u64 {
        let valid = items
            .iter()
            .filter(|item| self.evaluate(schema, item, Criteria::ALL, None));
        valid.count() as u64
    }

    fn object(
        &mut self,
        members: &Members<'_>,
        object: &ObjectKeywords,
        by: Criteria,
        mut evaluated: Option<&mut Evaluated>,
    ) -> bool {
        let has = |name: &str| members.get(name).is_some();
        if !counts(members.entries.len(), object.min, object.max)
            || !object.required.iter().all(|name| has(name))
        {
            return false;
        }
        for (place, (key, entry)) in members.entries.iter().enumerate() {
            self.spend(object.patterns.len());
            if let Some(names) = object.names
                && !self.evaluate(names, &Node::Text(Cow::Borrowed(key)), by, None)
            {
                return false;
            }
            match self.entry(key, entry, object, by) {
                Some(true) => mark(evaluated.as_deref_mut(), place),
                Some(false) => return false,
                None => {}
            }
        }
        true
    }

    /// Returns whether the value of a key is valid; `None` if no keyword applies to it.
    fn entry(&mut self, key: &str, entry: &Node<'_>, object: &ObjectKeywords, by: Criteria) -> Option<bool> {
        let mut is_known = false;
        if let Some(schema) = object.properties.get(key) {
            is_known = true;
            if !self.evaluate(*schema, entry, by, None) {
                return Some(false);
            }
        }
        for (pattern, schema) in &object.patterns {
            let Some(pattern) = pattern else {
                is_known = true; // the key may match
                continue;
            };
            if pattern.is_match(key) {
                is_known = true;
                if !self.evaluate(*schema, entry, by, None) {
                    return Some(false);
                }
            }
        }
        if is_known {
            return Some(true);
        }
        let additional = object.additional?;
        if !by.unexpected && self.validation.subschema(additional).is_never() {
            return None;
        }
        Some(self.evaluate(additional, entry, by, None))
    }

    /// Evaluates `dependentRequired` and `dependentSchemas`.
    fn dependent(
        &mut self,
        node: &Node<'_>,
        object: &ObjectKeywords,
        by: Criteria,
        mut evaluated: Option<&mut Evaluated>,
    ) -> bool {
        let Node::Object(members) = node else { return true };
        let has = |name: &str| members.get(name).is_some();
        let mut required = object.dependent_required.iter();
        if !required.all(|(name, needed)| !has(name) || needed.iter().all(|name| has(name))) {
            return false;
        }
        let mut schemas = object.dependent_schemas.iter();
        schemas.all(|(name, schema)| !has(name) || self.evaluate(*schema, node, by, evaluated.as_deref_mut()))
    }

    fn in_place(
        &mut self,
        id: SubschemaId,
        node: &Node<'_>,
        by: Criteria,
        mut evaluated: Option<&mut Evaluated>,
    ) -> bool {
        let Some(in_place) = &self.validation.subschema(id).in_place else {
            return true;
        };
        let mut all_of = in_place.all_of.iter();
        all_of.all(|part| self.evaluate(*part, node, by, evaluated.as_deref_mut()))
            && (in_place.any_of.is_empty()
                || self.any_of(&in_place.any_of, node, by, evaluated.as_deref_mut()))
            && (in_place.one_of.is_empty()
                || self.one_of(&in_place.one_of, node, by, evaluated.as_deref_mut()))
            && (!by.assertions || self.not_and_if(in_place, node, by, evaluated))
    }

    fn any_of(
        &mut self,
        schemas: &[SubschemaId],
        node: &Node<'_>,
        by: Criteria,
        mut evaluated: Option<&mut Evaluated>,
    ) -> bool {
        let mut is_valid = false;
        for schema in schemas {
            is_valid |= self.evaluate(*schema, node, by, evaluated.as_deref_mut());
            if is_valid && evaluated.is_none() {
                break;
            }
        }
        is_valid
    }

    /// Evaluates a `oneOf`, of which exactly one schema must be valid. If unexpected properties are allowed, a schema
    /// without any is preferred.
    fn one_of(
        &mut self,
        schemas: &[SubschemaId],
        node: &Node<'_>,
        by: Criteria,
        mut evaluated: Option<&mut Evaluated>,
    ) -> bool {
        match self.count_matches(schemas, node, by, evaluated.as_deref_mut()) {
            1 => true,
            0 if !by.unexpected => schemas
                .iter()
                .any(|schema| self.evaluate(*schema, node, by, evaluated.as_deref_mut())),
            _ => false,
        }
    }

    /// Returns how many schemas of a `oneOf` a value matches without unexpected properties.
    pub(in crate::arguments) fn count_matches(
        &mut self,
        schemas: &[SubschemaId],
        node: &Node<'_>,
        by: Criteria,
        mut evaluated: Option<&mut Evaluated>,
    ) -> usize {
        let exact = Criteria {
            unexpected: true,
            ..by
        };
        let matching = schemas
            .iter()
            .filter(|schema| self.evaluate(**schema, node, exact, evaluated.as_deref_mut()));
        matching.count()
    }

    fn not_and_if(
        &mut self,
        in_place: &InPlace,
        node: &Node<'_>,
        by: Criteria,
        mut evaluated: Option<&mut Evaluated>,
    ) -> bool {
        if let Some(not) = in_place.not
            && self.evaluate(not, node, Criteria::ALL, None)
        {
            return false;
        }
        let Some(Condition {
            test,
            then,
            otherwise,
        }) = in_place.condition
        else {
            return true;
        };
        let is_met = self.evaluate(test, node, Criteria::ALL, evaluated.as_deref_mut());
        let applied = if is_met { then } else { otherwise };
        applied.is_none_or(|schema| self.evaluate(schema, node, by, evaluated))
    }

    /// Returns whether the unevaluated items or properties are valid.
    fn rest(
        &mut self,
        schema: SubschemaId,
        node: &Node<'_>,
        by: Criteria,
        evaluated: Option<&mut Evaluated>,
    ) -> bool {
        let Some(evaluated) = evaluated else { return true };
        let is_never = self.validation.subschema(schema).is_never();
        for (place, is_evaluated) in evaluated.iter_mut().enumerate() {
            if *is_evaluated {
                continue;
            }
            let (part, is_property) = match node {
                Node::List(items) => (items.get(place), false),
                Node::Object(members) => (members.entries.get(place).map(|(_, entry)| entry), true),
                _ => (None, false),
            };
            if is_never && is_property && !by.unexpected {
                continue;
            }
            if !part.is_some_and(|part| self.evaluate(schema, part, by, None)) {
                return false;
            }
            *is_evaluated = true;
        }
        true
    }

    /// Returns whether an unchanged value satisfies the keywords of a subschema that coercion does not enforce.
    pub(in crate::arguments) fn assertions_hold(&mut self, id: SubschemaId, node: &Node<'_>) -> bool {
        let (schema, by) = (self.validation.subschema(id), Criteria::ALL);
        if schema.unevaluated(node).is_some() {
            return self.is_valid(id, node, by);
        }
        let holds = match (node, &schema.list, &schema.object) {
            (Node::Text(text), ..) => schema.is_formatted(text, by),
            (Node::List(items), Some(list), _) => list
                .contains
                .is_none_or(|contains| self.contains(items, contains, None)),
            (Node::Object(_), _, Some(object)) => self.dependent(node, object, by, None),
            _ => true,
        };
        let in_place = schema.in_place.as_ref();
        holds && in_place.is_none_or(|in_place| self.not_and_if(in_place, node, by, None))
    }
}

impl Subschema {
    /// Returns the schema of `unevaluatedItems` or `unevaluatedProperties`, by the type of the value.
    pub(in crate::arguments) fn unevaluated(&self, node: &Node<'_>) -> Option<SubschemaId> {
        match node {
            Node::List(_) => self.list.as_ref()?.unevaluated,
            Node::Object(_) => self.object.as_ref()?.unevaluated,
            _ => None,
        }
    }

    /// Returns whether a value has one of the types.
    pub(in crate::arguments) fn has_type(&self, node: &Node<'_>) -> bool {
        self.types == Types::ALL || self.types.has(node.types())
    }

    /// Returns whether `enum` and `const` allow a value.
    pub(in crate::arguments) fn is_allowed(&self, node: &Node<'_>) -> bool {
        let values = self.values.as_ref();
        values.is_none_or(|values| limits::membership(values, node, false) == Membership::Is)
    }

    fn is_formatted(&self, text: &str, by: Criteria) -> bool {
        !by.assertions || self.format.is_none_or(|format| format.matches(text))
    }
}

fn counts(count: usize, min: Option<u64>, max: Option<u64>) -> bool {
    let count = count as u64;
    min.is_none_or(|min| count >= min) && max.is_none_or(|max| count <= max)
}

fn mark(evaluated: Option<&mut Evaluated>, place: usize) {
    if let Some(slot) = evaluated.and_then(|evaluated| evaluated.get_mut(place)) {
        *slot = true;
    }
}

fn add(evaluated: &mut Evaluated, more: &Evaluated) {
    for (slot, more) in evaluated.iter_mut().zip(more) {
        *slot |= more;
    }
}
