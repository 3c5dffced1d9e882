//! Coercion of objects: maps keys to properties, and reports missing and unknown keys.

use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;

use super::Coercer;
use super::context::{CoercionContext, Stability};
use super::map_keys::{KeyReading, coerced, is_among};
use super::slots::Slots;
use super::stand_in::may_be_string;
use crate::arguments::input::tree::node::{Members, Node};
use crate::arguments::limits;
use crate::arguments::report::expected::or_null;
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;
use crate::arguments::rules::Mode;
use crate::schema::compiled::name::fold;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Additional, AllOf, Kind, Object, Property, Schema, SchemaId};
use crate::wire::issue::Code;

/// Outcome of a member.
enum Slot<'a> {
    AsSent,
    Changed(Node<'a>),
    /// Read as a missing key.
    Missing,
    /// An unknown key, which is left out.
    Unknown,
}

/// Changes to the members of an object; allocates only for the first change.
#[derive(Default)]
struct Edits<'a> {
    slots: Vec<(usize, Slot<'a>)>,
    names: Vec<(usize, Cow<'a, str>)>,
    /// Properties that were read from another spelling of their key, each with the member of that name that is
    /// ignored.
    replaced: Vec<(usize, usize)>,
}

/// A key without a declared property.
#[derive(Clone, Copy)]
struct ExtraKey<'k> {
    /// Position among the members.
    place: usize,
    /// Reading of the key, if the keys of the object are constrained.
    reading: Option<&'k KeyReading>,
}

impl<'s, 'a> Coercer<'s, 'a, '_> {
    pub(in crate::arguments) fn object(
        &mut self,
        members: &Members<'a>,
        schema: &'s Schema,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Node<'a>> {
        if !self.may_open(members.entries.len(), at) {
            return None;
        }
        let object = schema.plain().and_then(|plain| plain.object.as_ref());
        let object = object.unwrap_or(&FREE);
        let mut edits = Edits::default();
        let mut places = Slots::new(object);
        let mut extras = places.assign(members, object);
        let places = places.as_mut();
        let mut keys = Vec::new();
        if object.is_map() {
            keys = self.map_keys(members, object, places, &mut extras, at, context);
        } else if !extras.is_empty() && (context.respells() || context.mode.coerces() && !object.is_variant) {
            self.respell(members, object, places, &mut extras, &mut edits, context);
        }
        let whole = at;
        for (position, (property, place)) in object.properties.iter().zip(&*places).enumerate() {
            let at = Path::Key(whole, &property.name);
            if let Some(nothing) = edits.replaced_by(position)
                && let Some((_, node)) = members.entries.get(nothing)
            {
                self.report_duplicates(members, nothing, &at);
                edits.set(nothing, self.property(node, property, &at, context.entry()));
            }
            let Some((place, (key, node))) =
                place.and_then(|place| Some((place, members.entries.get(place)?)))
            else {
                if property.required && !is_among(&property.name, &keys) {
                    let wanted = self.wanted(property.schema);
                    self.report
                        .refuse(&at, || messages::missing(&at, &property.name, wanted));
                }
                continue;
            };
            if object.is_map() {
                self.report_key(key, keys.get(place), object, whole);
            } else if *key != *property.name {
                self.report.warn(&at, || messages::renamed(key, &property.name));
            }
            self.report_duplicates(members, place, &at);
            let slot = self.property(node, property, &at, context.entry());
            edits.set(place, slot);
        }
        self.require_undeclared(members, object, &keys, at);
        for place in extras {
            let reading = keys.get(place);
            self.extra(
                members,
                ExtraKey { place, reading },
                object,
                &mut edits,
                at,
                context,
            );
        }
        self.limit_object(members, edits.missing(), object, schema, at);
        edits.names.extend(coerced(keys));
        edits.apply(members)
    }

    /// Reports missing required keys that no property declares.
    #[inline(never)] // keeps its variables off the stack of each level
    fn require_undeclared(
        &mut self,
        members: &Members<'a>,
        object: &Object,
        keys: &[KeyReading],
        at: &Path<'_>,
    ) {
        for name in &object.also_required {
            if members.get(name).is_none() && !is_among(name, keys) {
                let at = Path::Key(at, name);
                self.report
                    .refuse(&at, || messages::missing(&at, name, "a value"));
            }
        }
    }

    #[inline(never)] // keeps the stack of each level small
    fn limit_object(
        &mut self,
        members: &Members<'a>,
        missing: usize,
        object: &Object,
        schema: &Schema,
        at: &Path<'_>,
    ) {
        let count = members.entries.len() - missing;
        if let Some(limit) = limits::check_count(count, object.min, object.max, "property") {
            let sent = || Node::Object(members.clone());
            self.report
                .refuse(at, || messages::violates(&sent(), or_null(schema, limit)));
        }
    }

    /// Renames keys that differ from a declared name only in case, `_` and `-` (rule 7).
    #[inline(never)] // keeps its variables off the stack of each level
    fn respell(
        &self,
        members: &Members<'a>,
        object: &Object,
        places: &mut [Option<usize>],
        extras: &mut Vec<usize>,
        edits: &mut Edits<'a>,
        context: CoercionContext,
    ) {
        let mut claims: Vec<(usize, usize)> = Vec::new();
        for place in extras.iter().copied() {
            let Some((key, _)) = members.entries.get(place) else {
                continue;
            };
            let is_required = object.also_required.iter().any(|name| **name == **key);
            let has_pattern = || object.patterns.iter().any(|(pattern, _)| pattern.is_match(key));
            if is_required || has_pattern() || self.is_known(key, context) {
                continue;
            }
            let folded = fold(key);
            // Descriptions and results of a server have its own keys.
            let renamed = self.compiled.renamed_key(key);
            let mut candidates = object.properties.iter().enumerate().filter(|(_, property)| {
                renamed.map_or_else(|| property.folded == folded, |name| *property.name == *name)
            });
            if let (Some((position, property)), None) = (candidates.next(), candidates.next())
                && places
                    .get(position)
                    .is_some_and(|place| self.is_free(*place, members, property, context))
                // In an object that allows other keys, the key may be one of them.
                && match object.additional {
                    Additional::Unspecified | Additional::Denied => true,
                    Additional::Any => property.required,
                    Additional::Of(_) => false,
                }
            {
                claims.push((position, place));
            }
        }
        let mut rivals = vec![0_usize; places.len()];
        for (position, _) in &claims {
            if let Some(count) = rivals.get_mut(*position) {
                *count += 1;
            }
        }
        claims.retain(|(position, _)| rivals.get(*position) == Some(&1));
        for (position, place) in &claims {
            if let (Some(slot), Some(property)) =
                (places.get_mut(*position), object.properties.get(*position))
            {
                let nothing = slot.replace(*place);
                edits.replaced.extend(nothing.map(|nothing| (*position, nothing)));
                edits.rename(*place, Cow::Owned(property.name.to_string()));
            }
        }
        extras.retain(|extra| !claims.iter().any(|(_, place)| place == extra));
    }

    /// Returns whether no member has a property's own name, or only a member that is read as missing. If such a
    /// member excluded other spellings, removing it would admit them on the next reading.
    fn is_free(
        &self,
        place: Option<usize>,
        members: &Members<'_>,
        property: &Property,
        context: CoercionContext,
    ) -> bool {
        match place.and_then(|place| members.entries.get(place)) {
            Some((_, node)) => self.is_absence(node, property, context.entry()),
            None => true,
        }
    }

    /// Returns whether the value of a declared property is read as missing.
    fn is_absence(&self, node: &Node<'_>, property: &Property, context: CoercionContext) -> bool {
        let schema = self.compiled.schema(property.schema);
        let context = context.under(schema);
        if property.required || schema.types.has(Types::NULL) {
            return false;
        }
        match node {
            Node::Null => match context.mode {
                // `null` may be a missing value for serde, but not for JSON Schema.
                Mode::Schema | Mode::Exact if !self.compiled.is_typed() => false,
                Mode::Schema | Mode::Strict => !property.has_default,
                Mode::Lenient | Mode::Lossless | Mode::Exact => true,
            },
            Node::Text(text) => self.reads_as_null(text, schema, context),
            _ => false,
        }
    }

    /// Coerces the value of a declared property.
    fn property(
        &mut self,
        node: &Node<'a>,
        property: &Property,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Slot<'a> {
        if self.is_absence(node, property, context) {
            if property.has_default || !matches!(node, Node::Null) {
                self.report_missing(node, property.schema, at);
            }
            return Slot::Missing;
        }
        match self.coerce(node, property.schema, at, context) {
            Some(changed) => Slot::Changed(changed),
            None => Slot::AsSent,
        }
    }

    /// Returns the schema of an optional enum key of a map that rejects `null` or a null word as its value.
    fn missing_entry(
        &self,
        key: &str,
        node: &Node<'_>,
        object: &Object,
        context: CoercionContext,
    ) -> Option<SchemaId> {
        // The variants of a Rust enum are the declared keys.
        let names = || self.compiled.schema(object.names?).plain()?.values.as_ref();
        let is_required = || object.also_required.iter().any(|name| **name == *key);
        if !matches!(node, Node::Null | Node::Text(_)) || names().is_none() || is_required() {
            return None;
        }
        let refuses = |schema: &SchemaId| {
            let schema = self.compiled.schema(*schema);
            let context = context.entry().under(schema);
            let is_null = match node {
                Node::Text(text) => self.reads_as_null(text, schema, context),
                _ => context.mode.coerces(),
            };
            is_null && !schema.types.has(Types::NULL)
        };
        let mut matching = object
            .patterns
            .iter()
            .filter(|(pattern, _)| pattern.is_match(key))
            .map(|(_, schema)| *schema)
            .peekable();
        match object.additional {
            _ if matching.peek().is_some() => matching.find(refuses),
            Additional::Of(schema) => Some(schema).filter(refuses),
            _ => None,
        }
    }

    /// Reports a `null` or a null word that was read as a missing key.
    fn report_missing(&mut self, node: &Node<'_>, schema: SchemaId, at: &Path<'_>) {
        if matches!(node, Node::Text(_)) && may_be_string(self.compiled.schema(schema)) {
            self.report.lose();
        }
        let code = match node {
            Node::Null => Code::NullTreatedAsMissing,
            _ => Code::EmptyStringTreatedAsNull,
        };
        self.report.warn(at, || messages::missing_value(code, node));
    }

    /// Coerces the value of a key without a declared property.
    fn extra(
        &mut self,
        members: &Members<'a>,
        extra: ExtraKey<'_>,
        object: &'s Object,
        edits: &mut Edits<'a>,
        at: &Path<'_>,
        context: CoercionContext,
    ) {
        let ExtraKey { place, reading } = extra;
        let Some((key, node)) = members.entries.get(place) else {
            return;
        };
        let top = matches!(at, Path::Root);
        let Some(key) = self.report_key(key, reading, object, at) else {
            return;
        };
        let at = Path::Key(at, key);
        self.report_duplicates(members, place, &at);
        if let Some(schema) = self.missing_entry(key, node, object, context) {
            self.report_missing(node, schema, &at);
            edits.set(place, Slot::Missing);
            return;
        }
        if let Some(slot) = self.patterned(key, node, object, &at, context) {
            edits.set(place, slot);
            return;
        }
        match object.additional {
            Additional::Of(schema) => {
                let changed = self.coerce(node, schema, &at, context.entry());
                edits.set(place, changed.map_or(Slot::AsSent, Slot::Changed));
            }
            Additional::Any => self.free(node, &at),
            Additional::Unspecified if object.is_unconstrained && !top => self.free(node, &at),
            Additional::Unspecified if self.is_known(key, context) => {}
            rest => {
                // In JSON Schema, `false` rejects keys that another part of the conjunction declares, too; Lenient
                // and Lossless only warn.
                let is_known = self.is_known(key, context);
                self.free(node, &at);
                let code = if top {
                    Code::UnknownParameter
                } else {
                    Code::UnknownProperty
                };
                let denied = rest == Additional::Denied && (context.denies || context.mode == Mode::Exact);
                let others = self
                    .all_of(context)
                    .map_or(&[][..], |all_of| &all_of.keys.declared);
                let known = || known_names(object, others);
                if denied {
                    self.report
                        .refuse(&at, || messages::unknown(code, key, known(), true));
                } else {
                    self.report
                        .warn_unknown(&at, || messages::unknown(code, key, known(), false));
                }
                if rest != Additional::Denied && self.may_be_of_another(key, context) {
                    self.report.leave();
                } else if !is_known && !self.keeps_unknown && !self.may_be_renamed(context) {
                    edits.set(place, Slot::Unknown);
                }
            }
        }
    }

    /// Coerces the value of a key to all `patternProperties` that match the key.
    fn patterned(
        &mut self,
        key: &str,
        node: &Node<'a>,
        object: &'s Object,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<Slot<'a>> {
        let matching = object
            .patterns
            .iter()
            .filter(|(pattern, _)| pattern.is_match(key));
        let mut schemas: Vec<SchemaId> = matching.map(|(_, schema)| *schema).collect();
        // Equal schemas are applied once.
        let mut seen = HashSet::new();
        schemas.retain(|schema| seen.insert(*schema));
        let changed = match schemas.as_slice() {
            [] => return None,
            [only] => self.coerce(node, *only, at, context.entry()),
            all => self.parts(node, all, at, context.entry()),
        };
        Some(changed.map_or(Slot::AsSent, Slot::Changed))
    }

    /// Returns whether the key belongs to another part of the conjunction.
    pub(in crate::arguments) fn is_known(&self, key: &str, context: CoercionContext) -> bool {
        self.all_of(context).is_some_and(|all_of| all_of.keys.has(key))
    }

    /// Returns whether another part of the same conjunction may rename an unknown key, since some parts are not read
    /// yet.
    fn may_be_renamed(&self, context: CoercionContext) -> bool {
        self.is_in_conjunction(context) && context.stability != Stability::Unchecked
    }

    /// Returns whether the key belongs to another alternative, which serde uses if a type rejects a value that its
    /// schema allows.
    fn may_be_of_another(&self, key: &str, context: CoercionContext) -> bool {
        context
            .within
            .is_some_and(|whole| match &self.compiled.schema(whole).kind {
                Kind::Union(alternatives) => alternatives.keys.has(key),
                _ => false,
            })
    }

    /// Returns whether the value is in a conjunction, whose parts keep each other's keys.
    pub(in crate::arguments) fn is_in_conjunction(&self, context: CoercionContext) -> bool {
        self.all_of(context).is_some()
    }

    /// Returns the conjunction that contains the value.
    fn all_of(&self, context: CoercionContext) -> Option<&'s AllOf> {
        match &self.compiled.schema(context.within?).kind {
            Kind::AllOf(all_of) => Some(all_of),
            _ => None,
        }
    }

    fn report_duplicates(&mut self, members: &Members<'_>, place: usize, at: &Path<'_>) {
        if members.repeated.binary_search(&place).is_ok()
            && let Some((key, _)) = members.entries.get(place)
        {
            self.report.repeat(at, key);
        }
    }
}

/// Returns the names of an object's properties, and the names of the properties in other parts of the conjunction.
fn known_names<'n>(object: &'n Object, others: &'n [Box<str>]) -> impl Iterator<Item = &'n str> {
    let own = object.properties.iter().map(|property| &*property.name);
    let others = others.iter().map(|name| &**name);
    own.chain(others.filter(|name| object.position(name).is_none()))
}

impl<'a> Edits<'a> {
    /// Renames the key of a member.
    fn rename(&mut self, place: usize, name: Cow<'a, str>) {
        self.names.push((place, name));
    }

    fn set(&mut self, place: usize, slot: Slot<'a>) {
        if !matches!(slot, Slot::AsSent) {
            self.slots.push((place, slot));
        }
    }

    fn missing(&self) -> usize {
        let is_missing = |(_, slot): &&(usize, Slot<'a>)| matches!(slot, Slot::Missing);
        self.slots.iter().filter(is_missing).count()
    }

    /// Returns the ignored member with a property's own name.
    fn replaced_by(&self, position: usize) -> Option<usize> {
        let mut replaced = self.replaced.iter();
        replaced
            .find(|(property, _)| *property == position)
            .map(|(_, place)| *place)
    }

    #[inline(never)]
    fn apply(self, members: &Members<'a>) -> Option<Node<'a>> {
        if self.slots.is_empty() && self.names.is_empty() {
            return None;
        }
        let mut slots: Vec<_> = members.entries.iter().map(|_| Slot::AsSent).collect();
        for (place, slot) in self.slots {
            if let Some(as_sent) = slots.get_mut(place) {
                *as_sent = slot;
            }
        }
        let mut names = vec![None; members.entries.len()];
        for (place, name) in self.names {
            if let Some(as_sent) = names.get_mut(place) {
                *as_sent = Some(name);
            }
        }
        let changed = members.entries.iter().zip(slots).zip(names);
        let entries = changed.filter_map(|(((key, node), slot), name)| {
            let node = match slot {
                Slot::AsSent => node.clone(),
                Slot::Changed(changed) => changed,
                Slot::Missing | Slot::Unknown => return None,
            };
            Some((name.unwrap_or_else(|| key.clone()), node))
        });
        Some(Node::Object(Members {
            entries: Rc::new(entries.collect()),
            repeated: Vec::new(),
        }))
    }
}

static FREE: std::sync::LazyLock<Object> = std::sync::LazyLock::new(Object::unconstrained);
