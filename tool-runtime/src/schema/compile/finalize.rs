//! Last pass of the compilation, which needs all compiled schemas.

use std::collections::{HashSet, VecDeque};

use crate::schema::check::SchemaError;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{
    Additional, CompiledSchema, Kind, KnownKeys, Object, Plain, Property, Schema, SchemaId, Tag, Union,
};
use crate::schema::keywords::pointer;

/// Computes the types, tags and known keys of composite schemas. The path of an error refers to the compiled schemas,
/// and may not exist in the source schema below a reference or a union.
pub(super) fn finalize(schemas: Vec<Schema>) -> Result<CompiledSchema, SchemaError> {
    let mut compiled = CompiledSchema::new(schemas);
    let mut states = vec![FinalizeState::Pending; compiled.schemas.len()];
    for id in compiled.ids() {
        if let Err(error) = compiled.finalize_types(id, &mut states, 0) {
            let path = compiled.pointer_to(id);
            return Err(SchemaError { path, ..error });
        }
    }
    let mut states = vec![FinalizeState::Pending; compiled.schemas.len()];
    for id in compiled.ids() {
        compiled.finalize_lists(id, &mut states);
    }
    Ok(compiled)
}

#[derive(Clone, Copy, PartialEq)]
enum FinalizeState {
    Pending,
    Visiting,
    Done,
}

/// Maximum depth of nested `anyOf`, `oneOf` and `allOf` without a property or an item between them.
const MAX_NESTED_UNIONS: usize = 16;

impl CompiledSchema {
    fn ids(&self) -> impl Iterator<Item = SchemaId> + use<> {
        (0..u32::try_from(self.schemas.len()).unwrap_or(u32::MAX)).map(SchemaId)
    }

    fn finalize_types(
        &mut self,
        id: SchemaId,
        states: &mut [FinalizeState],
        depth: usize,
    ) -> Result<(), SchemaError> {
        let Some(state) = states.get_mut(id.0 as usize) else {
            return Ok(());
        };
        match state {
            FinalizeState::Done => return Ok(()),
            FinalizeState::Visiting => {
                let reason = "a schema leads back to itself; put a property or an item between the two";
                return Err(SchemaError::new("", reason));
            }
            FinalizeState::Pending if depth > MAX_NESTED_UNIONS => {
                let reason =
                    format!("more than {MAX_NESTED_UNIONS} directly nested unions; merge them into one");
                return Err(SchemaError::new("", reason));
            }
            FinalizeState::Pending => *state = FinalizeState::Visiting,
        }
        for inner in self.schema(id).kind.in_place_subschemas().to_vec() {
            self.finalize_types(inner, states, depth + 1)?;
        }
        let mut schema = self.schema(id).clone();
        match &mut schema.kind {
            Kind::Union(union) => {
                self.finalize_union(union);
                self.move_null_to_schemas(union);
                self.mark_variants(union);
                let types = union.schemas.iter().map(|schema| self.schema(*schema).types);
                let null = if union.null { Types::NULL } else { Types::NONE };
                schema.types = types.fold(null, |all, types| all | types);
                union.keys = self.known_keys(&union.schemas);
            }
            Kind::AllOf(all_of) => {
                let types = all_of.schemas.iter().map(|schema| self.schema(*schema).types);
                schema.types = types.fold(Types::ALL, Types::and);
                all_of.keys = self.known_keys(&all_of.schemas);
            }
            Kind::Plain(_) | Kind::Any => {}
        }
        if let Some(slot) = self.schemas.get_mut(id.0 as usize) {
            *slot = schema;
        }
        if let Some(state) = states.get_mut(id.0 as usize) {
            *state = FinalizeState::Done;
        }
        Ok(())
    }

    /// Returns a shortest pointer to a schema.
    fn pointer_to(&self, target: SchemaId) -> String {
        let mut seen = HashSet::new();
        let mut pending = VecDeque::from([(SchemaId::ROOT, String::new())]);
        while let Some((id, pointer)) = pending.pop_front() {
            if id == target {
                return pointer;
            }
            if seen.insert(id) {
                let schema = self.schema(id);
                pending.extend(
                    schema
                        .kind
                        .in_place_subschemas()
                        .iter()
                        .map(|inner| (*inner, pointer.clone())),
                );
                pending.extend(
                    schema
                        .plain()
                        .into_iter()
                        .flat_map(|plain| plain.children(&pointer)),
                );
            }
        }
        String::new()
    }

    fn finalize_union(&self, union: &mut Union) {
        // A union of `null` and a union becomes one union, unless `oneOf` requires counting the schemas that accept
        // `null`.
        if let [sole] = union.schemas.as_slice()
            && let Schema {
                strict: false,
                case_sensitive: false,
                assertions: None,
                kind: Kind::Union(inner),
                types,
                ..
            } = self.schema(*sole)
            && !(union.null && types.has(Types::NULL) && (union.exclusive || inner.exclusive))
        {
            let null = union.null || inner.null;
            *union = (**inner).clone();
            union.null = null;
        }
        union.tag = self.find_tag(union);
    }

    /// Adds `null` to the schemas of a `oneOf` if another schema accepts `null`, too: exactly one schema may match.
    fn move_null_to_schemas(&mut self, union: &mut Union) {
        let mut schemas = union.schemas.iter();
        let is_ambiguous = union.exclusive
            && union.null
            && schemas.any(|schema| self.schema(*schema).types.has(Types::NULL));
        if is_ambiguous && let Ok(id) = u32::try_from(self.schemas.len()) {
            self.schemas.push(Schema {
                types: Types::NULL,
                ..Schema::ANY
            });
            union.schemas.push(SchemaId(id));
            union.null = false;
        }
    }

    /// Marks the alternatives of a `oneOf` whose only key is their tag. The `oneOf` may have a single alternative.
    fn mark_variants(&mut self, union: &Union) {
        for id in union.schemas.iter().filter(|_| union.exclusive) {
            let Some(object) = self.object(*id) else { continue };
            let is_constant = |property: &Property| {
                let plain = self.schema(property.schema).plain();
                plain.is_some_and(|plain| plain.values.is_some())
            };
            let is_variant =
                matches!(object.properties.as_slice(), [tag] if tag.required && !is_constant(tag));
            if is_variant
                && let Some(Schema {
                    kind: Kind::Plain(plain),
                    ..
                }) = self.schemas.get_mut(id.0 as usize)
                && let Some(object) = &mut plain.object
            {
                object.is_variant = true;
            }
        }
    }

    /// Finds the tag that distinguishes the alternatives that are objects.
    fn find_tag(&self, union: &Union) -> Option<Tag> {
        let schemas = union.schemas.iter().copied();
        let objects: Vec<SchemaId> = schemas
            .filter(|id| self.schema(*id).types.has(Types::OBJECT))
            .collect();
        let plain = objects
            .iter()
            .all(|id| self.schema(*id).types == Types::OBJECT && self.object(*id).is_some());
        if objects.len() < 2 || !plain {
            return None;
        }
        // An untagged enum is an `anyOf`, and its alternatives may share undeclared keys.
        let by_key = self.key_tag(&objects).filter(|_| union.exclusive);
        by_key.or_else(|| self.property_tag(&objects))
    }

    fn key_tag(&self, objects: &[SchemaId]) -> Option<Tag> {
        let mut keys: Vec<(Box<str>, SchemaId)> = Vec::new();
        for id in objects {
            let object = self.object(*id)?;
            let [sole] = object.properties.as_slice() else {
                return None;
            };
            let is_sole_key = sole.required
                && object.also_required.is_empty()
                && object.patterns.is_empty()
                && matches!(object.additional, Additional::Unspecified | Additional::Denied);
            if !is_sole_key || keys.iter().any(|(name, _)| *name == sole.name) {
                return None;
            }
            keys.push((sole.name.clone(), *id));
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
                case_sensitive |= schema.case_sensitive;
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

    pub(crate) fn object(&self, id: SchemaId) -> Option<&Object> {
        self.schema(id).plain()?.object.as_ref()
    }

    /// Returns the union of the keys of all schemas.
    fn known_keys(&self, schemas: &[SchemaId]) -> KnownKeys {
        let (mut keys, mut seen) = (KnownKeys::default(), HashSet::new());
        for schema in schemas {
            self.collect_keys(*schema, &mut seen, &mut keys);
        }
        let mut names = HashSet::new();
        keys.declared.retain(|name| names.insert(name.clone()));
        keys
    }

    /// Collects the keys of a schema and of the subschemas that apply to the same value.
    fn collect_keys(&self, id: SchemaId, seen: &mut HashSet<SchemaId>, keys: &mut KnownKeys) {
        if !seen.insert(id) {
            return;
        }
        let schema = self.schema(id);
        match &schema.kind {
            Kind::Plain(plain) => {
                if let Some(object) = &plain.object {
                    let names = object.properties.iter().map(|property| property.name.clone());
                    keys.declared.extend(names);
                    keys.patterns
                        .extend(object.patterns.iter().map(|(pattern, _)| pattern.clone()));
                    keys.open |= matches!(object.additional, Additional::Any | Additional::Of(_));
                }
            }
            Kind::Any => {}
            composite => {
                for inner in composite.in_place_subschemas() {
                    self.collect_keys(*inner, seen, keys);
                }
            }
        }
    }

    /// Computes `lists_of_strings`.
    fn finalize_lists(&mut self, id: SchemaId, states: &mut [FinalizeState]) {
        match states.get_mut(id.0 as usize) {
            Some(state @ FinalizeState::Pending) => *state = FinalizeState::Done,
            _ => return,
        }
        for inner in self.schema(id).kind.in_place_subschemas().to_vec() {
            self.finalize_lists(inner, states);
        }
        let schema = self.schema(id);
        let takes_strings = |id: &SchemaId| self.schema(*id).types.has(Types::STRING);
        let found = schema.types.has(Types::ARRAY)
            && match &schema.kind {
                Kind::Any => true,
                Kind::Plain(plain) => plain.list.as_ref().is_none_or(|list| match &list.additional {
                    Additional::Of(item) => takes_strings(item),
                    Additional::Denied => list.prefix.iter().any(takes_strings),
                    Additional::Unspecified | Additional::Any => {
                        !list.is_tuple() || list.prefix.iter().any(takes_strings)
                    }
                }),
                composite => composite
                    .in_place_subschemas()
                    .iter()
                    .any(|inner| self.schema(*inner).lists_of_strings),
            };
        if let Some(slot) = self.schemas.get_mut(id.0 as usize) {
            slot.lists_of_strings = found;
        }
    }
}

impl Plain {
    /// Returns the schemas of items and properties, each with its pointer.
    pub(super) fn children(&self, pointer: &str) -> Vec<(SchemaId, String)> {
        let additional = |additional: Additional, keyword: &str| match additional {
            Additional::Of(schema) => Some((schema, format!("{pointer}/{keyword}"))),
            _ => None,
        };
        let mut children = Vec::new();
        if let Some(list) = &self.list {
            let prefix = list.prefix.iter().enumerate();
            children
                .extend(prefix.map(|(index, schema)| (*schema, format!("{pointer}/prefixItems/{index}"))));
            children.extend(additional(list.additional, "items"));
        }
        if let Some(object) = &self.object {
            for property in &object.properties {
                let path = pointer::join(&format!("{pointer}/properties"), &property.name);
                children.push((property.schema, path));
            }
            for (pattern, schema) in &object.patterns {
                let path = pointer::join(&format!("{pointer}/patternProperties"), pattern.as_str());
                children.push((*schema, path));
            }
            children.extend(additional(object.additional, "additionalProperties"));
            children.extend(
                object
                    .names
                    .map(|names| (names, format!("{pointer}/propertyNames"))),
            );
        }
        children
    }
}

impl Kind {
    /// Returns the schemas that apply to the same value.
    pub(crate) fn in_place_subschemas(&self) -> &[SchemaId] {
        match self {
            Self::Union(union) => &union.schemas,
            Self::AllOf(all_of) => &all_of.schemas,
            Self::Plain(_) | Self::Any => &[],
        }
    }
}
