//! The last pass over the schemas: what can only be known when all of them are there.

use std::collections::{HashSet, VecDeque};

use super::check::SchemaError;
use super::compiled::{Additional, CompiledSchema, Kind, KnownKeys, Plain, Schema, SchemaId, Tag, Union};
use super::pointer;
use super::types::Types;

/// Works out the types of composite schemas, how their alternatives are told apart, and which keys they know. The path of an
/// error leads through the schemas: from where the schema has a reference or a union, it may not be found there.
pub(super) fn finalize(schemas: Vec<Schema>) -> Result<CompiledSchema, SchemaError> {
    let mut compiled = CompiledSchema::new(schemas);
    let mut done = vec![State::Open; compiled.schemas.len()];
    for id in compiled.ids() {
        if let Err(error) = compiled.finalize_types(id, &mut done, 0) {
            let path = compiled.pointer_to(id);
            return Err(SchemaError { path, ..error });
        }
    }
    let mut done = vec![State::Open; compiled.schemas.len()];
    for id in compiled.ids() {
        compiled.finalize_lists(id, &mut done);
    }
    Ok(compiled)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Visiting,
    Done,
}

/// How deep unions and conjunctions may stand in one another without a property or an item between.
const MOST: usize = 16;

impl CompiledSchema {
    fn ids(&self) -> impl Iterator<Item = SchemaId> + use<> {
        (0..u32::try_from(self.schemas.len()).unwrap_or(u32::MAX)).map(SchemaId)
    }

    fn finalize_types(&mut self, id: SchemaId, done: &mut [State], depth: usize) -> Result<(), SchemaError> {
        let Some(state) = done.get_mut(id.0 as usize) else {
            return Ok(());
        };
        match state {
            State::Done => return Ok(()),
            State::Visiting => {
                let reason = "a schema leads back to itself; put a property or an item between the two";
                return Err(SchemaError::new("", reason));
            }
            State::Open if depth > MOST => {
                let reason = format!("more than {MOST} directly nested unions; merge them into one");
                return Err(SchemaError::new("", reason));
            }
            State::Open => *state = State::Visiting,
        }
        for inner in self.schema(id).kind.composed_of().to_vec() {
            self.finalize_types(inner, done, depth + 1)?;
        }
        let mut schema = self.schema(id).clone();
        match &mut schema.kind {
            Kind::Union(alternatives) => {
                self.finalize_alternatives(alternatives);
                self.count_null(alternatives);
                let types = alternatives
                    .schemas
                    .iter()
                    .map(|schema| self.schema(*schema).types);
                let null = if alternatives.null {
                    Types::NULL
                } else {
                    Types::NONE
                };
                schema.types = types.fold(null, |all, types| all | types);
                alternatives.keys = self.known_keys(&alternatives.schemas);
            }
            Kind::AllOf(parts) => {
                let types = parts.schemas.iter().map(|schema| self.schema(*schema).types);
                schema.types = types.fold(Types::ALL, Types::and);
                parts.keys = self.known_keys(&parts.schemas);
            }
            Kind::Plain(_) | Kind::Any => {}
        }
        if let Some(place) = self.schemas.get_mut(id.0 as usize) {
            *place = schema;
        }
        if let Some(state) = done.get_mut(id.0 as usize) {
            *state = State::Done;
        }
        Ok(())
    }

    /// A shortest way to a schema, as keywords lead there.
    fn pointer_to(&self, target: SchemaId) -> String {
        let mut seen = HashSet::new();
        let mut open = VecDeque::from([(SchemaId::ROOT, String::new())]);
        while let Some((id, at)) = open.pop_front() {
            if id == target {
                return at;
            }
            if seen.insert(id) {
                let schema = self.schema(id);
                open.extend(schema.kind.composed_of().iter().map(|inner| (*inner, at.clone())));
                open.extend(schema.plain().into_iter().flat_map(|plain| plain.inside(&at)));
            }
        }
        String::new()
    }

    fn finalize_alternatives(&self, alternatives: &mut Union) {
        // One left beside `null`, itself a union: one union with `null`, unless it matters how many take that.
        if let [only] = alternatives.schemas.as_slice()
            && let Schema {
                strict: false,
                kind: Kind::Union(inner),
                types,
                ..
            } = self.schema(*only)
            && !(alternatives.null && types.has(Types::NULL) && (alternatives.exclusive || inner.exclusive))
        {
            let null = alternatives.null || inner.null;
            *alternatives = (**inner).clone();
            alternatives.null = null;
        }
        alternatives.tag = self.tag(alternatives);
    }

    /// Makes `null` an alternative like others where another takes it, too, and only one may.
    fn count_null(&mut self, alternatives: &mut Union) {
        let mut schemas = alternatives.schemas.iter();
        let is_twice = alternatives.exclusive
            && alternatives.null
            && schemas.any(|schema| self.schema(*schema).types.has(Types::NULL));
        if is_twice && let Ok(id) = u32::try_from(self.schemas.len()) {
            self.schemas.push(Schema {
                types: Types::NULL,
                ..Schema::ANY
            });
            alternatives.schemas.push(SchemaId(id));
            alternatives.null = false;
        }
    }

    /// What tells the objects among the alternatives apart.
    fn tag(&self, alternatives: &Union) -> Option<Tag> {
        let schemas = alternatives.schemas.iter().copied();
        let objects: Vec<SchemaId> = schemas
            .filter(|id| self.schema(*id).types.has(Types::OBJECT))
            .collect();
        let plain = objects
            .iter()
            .all(|id| self.schema(*id).types == Types::OBJECT && self.object(*id).is_some());
        if objects.len() < 2 || !plain {
            return None;
        }
        // An untagged enum is an `anyOf`, and its alternatives may share keys that they do not declare.
        let by_key = self.key_tag(&objects).filter(|_| alternatives.exclusive);
        by_key.or_else(|| self.property_tag(&objects))
    }

    fn key_tag(&self, objects: &[SchemaId]) -> Option<Tag> {
        let mut keys: Vec<(Box<str>, SchemaId)> = Vec::new();
        for id in objects {
            let object = self.object(*id)?;
            let [only] = object.properties.as_slice() else {
                return None;
            };
            let fits = only.required && object.also_required.is_empty() && object.patterns.is_empty();
            if !fits || keys.iter().any(|(name, _)| *name == only.name) {
                return None;
            }
            keys.push((only.name.clone(), *id));
        }
        Some(Tag::Key(keys))
    }

    fn property_tag(&self, objects: &[SchemaId]) -> Option<Tag> {
        let first = self.object(*objects.first()?)?;
        first.properties.iter().find_map(|candidate| {
            let mut values: Vec<(Box<str>, SchemaId)> = Vec::new();
            let mut case_sensitive = false;
            for id in objects {
                let object = self.object(*id)?;
                let property = object.properties.get(object.position(&candidate.name)?)?;
                let schema = self.schema(property.schema);
                let own = schema.plain().and_then(|plain| plain.values.as_ref())?;
                if !property.required || schema.types != Types::STRING {
                    return None;
                }
                case_sensitive |= own.case_sensitive;
                for value in &own.texts {
                    if values.iter().any(|(known, _)| known == value) {
                        return None;
                    }
                    values.push((value.clone(), *id));
                }
            }
            Some(Tag::Property {
                name: candidate.name.clone(),
                folded: candidate.folded.clone(),
                values,
                case_sensitive,
            })
        })
    }

    fn object(&self, id: SchemaId) -> Option<&super::compiled::Object> {
        self.schema(id).plain()?.object.as_ref()
    }

    /// The keys that several schemas know.
    fn known_keys(&self, schemas: &[SchemaId]) -> KnownKeys {
        let (mut keys, mut seen) = (KnownKeys::default(), HashSet::new());
        for schema in schemas {
            self.declared(*schema, &mut seen, &mut keys);
        }
        keys.declared.sort();
        keys.declared.dedup();
        keys
    }

    /// The keys that a schema declares itself or through what it is composed of.
    fn declared(&self, id: SchemaId, seen: &mut HashSet<SchemaId>, whole: &mut KnownKeys) {
        if !seen.insert(id) {
            return;
        }
        let schema = self.schema(id);
        match &schema.kind {
            Kind::Plain(plain) => {
                if let Some(object) = &plain.object {
                    let names = object.properties.iter().map(|property| property.name.clone());
                    whole.declared.extend(names);
                    whole.open |= matches!(object.rest, Additional::Any | Additional::Of(_));
                }
            }
            Kind::Any => {}
            composite => {
                for inner in composite.composed_of() {
                    self.declared(*inner, seen, whole);
                }
            }
        }
    }

    /// Works out whether lists of strings may come.
    fn finalize_lists(&mut self, id: SchemaId, done: &mut [State]) {
        match done.get_mut(id.0 as usize) {
            Some(state @ State::Open) => *state = State::Done,
            _ => return,
        }
        for inner in self.schema(id).kind.composed_of().to_vec() {
            self.finalize_lists(inner, done);
        }
        let schema = self.schema(id);
        let takes_strings = |id: &SchemaId| self.schema(*id).types.has(Types::STRING);
        let found = schema.types.has(Types::ARRAY)
            && match &schema.kind {
                Kind::Any => true,
                Kind::Plain(plain) => plain.list.as_ref().is_none_or(|list| match &list.rest {
                    Additional::Of(item) => takes_strings(item),
                    Additional::Denied => list.prefix.iter().any(takes_strings),
                    Additional::Unspecified | Additional::Any => {
                        !list.is_tuple() || list.prefix.iter().any(takes_strings)
                    }
                }),
                composite => composite
                    .composed_of()
                    .iter()
                    .any(|inner| self.schema(*inner).lists_of_strings),
            };
        if let Some(place) = self.schemas.get_mut(id.0 as usize) {
            place.lists_of_strings = found;
        }
    }
}

impl Plain {
    /// The schemas of the values inside, each with its place.
    fn inside(&self, at: &str) -> Vec<(SchemaId, String)> {
        let rest = |rest: Additional, keyword: &str| match rest {
            Additional::Of(schema) => Some((schema, format!("{at}/{keyword}"))),
            _ => None,
        };
        let mut inside = Vec::new();
        if let Some(list) = &self.list {
            let prefix = list.prefix.iter().enumerate();
            inside.extend(prefix.map(|(place, schema)| (*schema, format!("{at}/prefixItems/{place}"))));
            inside.extend(rest(list.rest, "items"));
        }
        if let Some(object) = &self.object {
            for property in &object.properties {
                let place = pointer::join(&format!("{at}/properties"), &property.name);
                inside.push((property.schema, place));
            }
            for (pattern, schema) in &object.patterns {
                let place = pointer::join(&format!("{at}/patternProperties"), pattern.as_str());
                inside.push((*schema, place));
            }
            inside.extend(rest(object.rest, "additionalProperties"));
            inside.extend(object.names.map(|names| (names, format!("{at}/propertyNames"))));
        }
        inside
    }
}

impl Kind {
    /// The schemas that the same value is held against.
    pub(super) fn composed_of(&self) -> &[SchemaId] {
        match self {
            Self::Union(alternatives) => &alternatives.schemas,
            Self::AllOf(parts) => &parts.schemas,
            Self::Plain(_) | Self::Any => &[],
        }
    }
}
