//! Descriptions of `format`s. Messages about invalid values use them, whether or not they are enforced.

use std::collections::HashSet;

use super::compiled::{Additional, CompiledSchema, Kind, Schema, SchemaId};

impl CompiledSchema {
    /// The description of the format at a path. A path through unions may have several schemas; the first one with a format
    /// counts.
    pub(crate) fn format_at<'p>(&self, steps: impl Iterator<Item = &'p str>) -> Option<&'static str> {
        let mut schemas = self.schemas_at(steps).into_iter();
        schemas.find_map(|schema| self.schema(schema).format)
    }

    /// A schema at a path, the first one if there are several.
    pub(crate) fn schema_at<'p>(&self, steps: impl Iterator<Item = &'p str>) -> Option<SchemaId> {
        self.schemas_at(steps).first().copied()
    }

    /// Whether the property at a path is optional.
    pub(crate) fn is_optional_at(&self, steps: &[&str]) -> bool {
        let Some((key, above)) = steps.split_last() else {
            return false;
        };
        let is_optional = |schema: SchemaId| {
            let object = self.schema(schema).plain()?.object.as_ref()?;
            Some(!object.properties.get(object.position(key)?)?.required)
        };
        let mut schemas = self.schemas_at(above.iter().copied()).into_iter();
        schemas.find_map(is_optional).unwrap_or(false)
    }

    /// The schemas at a path, with their in-place subschemas.
    fn schemas_at<'p>(&self, steps: impl Iterator<Item = &'p str>) -> Vec<SchemaId> {
        let mut here = self.with_in_place_subschemas(vec![SchemaId::ROOT]);
        for step in steps {
            let child = here.iter().filter_map(|schema| self.schema(*schema).child(step));
            here = self.with_in_place_subschemas(child.collect());
        }
        here
    }

    /// These schemas and their in-place subschemas.
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
    /// The schema of a property or an item.
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

/// Describes a `format`.
pub(super) fn description(format: &str) -> Option<&'static str> {
    let known = FORMATS.iter().find(|(name, _)| *name == format);
    known.map(|(_, description)| *description)
}

/// The formats of JSON Schema, and those that schemars adds.
const FORMATS: [(&str, &str); 13] = [
    (
        "date-time",
        "a date and time with its offset, as 2025-01-31T13:45:00Z",
    ),
    (
        "partial-date-time",
        "a date and time without an offset, as 2025-01-31T13:45:00",
    ),
    ("date", "a date, as 2025-01-31"),
    ("time", "a time with its offset, as 13:45:00Z"),
    ("partial-time", "a time, as 13:45:00"),
    ("duration", "a duration, as PT1H30M"),
    ("email", "an email address"),
    ("hostname", "the name of a host"),
    ("ipv4", "an IPv4 address, as 192.0.2.1"),
    ("ipv6", "an IPv6 address, as 2001:db8::1"),
    ("uri", "a whole URL, as https://example.org/path"),
    ("uri-reference", "a URL or a part of one, as /path"),
    ("uuid", "a UUID: 32 hexadecimal digits in groups of 8-4-4-4-12"),
];
