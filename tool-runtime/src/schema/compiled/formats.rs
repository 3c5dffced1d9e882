//! Finds schemas by the path of a value, and descriptions of their `format`s.

use std::collections::HashSet;

use super::format_description::Format;
use super::schema::{Additional, CompiledSchema, Kind, Schema, SchemaId};

impl CompiledSchema {
    /// Returns the schema with a format at a path, and the format. If a path through unions has several schemas, the first
    /// schema with a format is returned.
    pub(crate) fn format_at<'p>(
        &self,
        steps: impl Iterator<Item = &'p str>,
    ) -> Option<(&Schema, &'static Format)> {
        let schemas = self.schemas_at(steps).into_iter();
        let mut schemas = schemas.map(|schema| self.schema(schema));
        schemas.find_map(|schema| Some((schema, schema.format?)))
    }

    /// Returns the first schema at a path.
    pub(crate) fn schema_at<'p>(&self, steps: impl Iterator<Item = &'p str>) -> Option<SchemaId> {
        self.schemas_at(steps).first().copied()
    }

    /// Returns whether the description of a value at a path mentions JSON.
    pub(crate) fn mentions_json_at<'p>(&self, steps: impl Iterator<Item = &'p str>) -> bool {
        let mut schemas = self.schemas_at(steps).into_iter();
        schemas.any(|schema| self.schema(schema).mentions_json)
    }

    /// Returns whether the property at a path is required; `None` without such a property, or if alternatives differ.
    pub(crate) fn is_required_at(&self, steps: &[&str]) -> Option<bool> {
        let (key, above) = steps.split_last()?;
        let is_required = |schema: SchemaId| {
            let object = self.schema(schema).plain()?.object.as_ref()?;
            match object.position(key) {
                Some(position) => Some(object.properties.get(position)?.required),
                None => object
                    .also_required
                    .iter()
                    .any(|name| **name == **key)
                    .then_some(true),
            }
        };
        let mut known = self
            .schemas_at(above.iter().copied())
            .into_iter()
            .filter_map(is_required);
        let first = known.next()?;
        known.all(|other| other == first).then_some(first)
    }

    /// Returns the schemas at a path, with their in-place subschemas.
    fn schemas_at<'p>(&self, steps: impl Iterator<Item = &'p str>) -> Vec<SchemaId> {
        let mut here = self.with_in_place_subschemas(vec![SchemaId::ROOT]);
        for step in steps {
            let child = here.iter().filter_map(|schema| self.schema(*schema).child(step));
            here = self.with_in_place_subschemas(child.collect());
        }
        here
    }

    /// Adds the in-place subschemas of the schemas.
    fn with_in_place_subschemas(&self, mut schemas: Vec<SchemaId>) -> Vec<SchemaId> {
        let mut seen = HashSet::new();
        let mut all = Vec::new();
        schemas.reverse();
        while let Some(schema) = schemas.pop() {
            if seen.insert(schema) {
                all.push(schema);
                schemas.extend(self.schema(schema).kind.in_place_subschemas().iter().rev());
            }
        }
        all
    }
}

impl Schema {
    /// Returns the schema of a property or an item.
    fn child(&self, step: &str) -> Option<SchemaId> {
        let Kind::Plain(plain) = &self.kind else {
            return None;
        };
        if let Some(object) = &plain.object {
            if let Some(property) = object
                .position(step)
                .and_then(|place| object.properties.get(place))
            {
                return Some(property.schema);
            }
            if let Additional::Of(schema) = object.additional {
                return Some(schema);
            }
        }
        plain.list.as_ref()?.item(step.parse().ok()?)
    }
}
