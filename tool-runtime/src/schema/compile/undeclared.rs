//! Finds required properties that no schema declares, for a warning at registration: the schema does not describe their
//! values to the model.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use super::nullable::{expand_nullable, original_pointer};
use crate::schema::check::SchemaWarning;
use crate::schema::compiled::{Additional, CompiledSchema, Object, SchemaId};
use crate::schema::keywords::pointer::existing_prefix;
use crate::wire::issue::excerpt;

impl CompiledSchema {
    /// Returns warnings about undeclared names in `required`; `self` is compiled from `written`.
    ///
    /// Alternatives, parts and conditions are not searched, since they often require properties that the enclosing
    /// schema declares.
    pub(crate) fn undeclared(&self, written: &Value) -> Vec<SchemaWarning> {
        let expanded = expand_nullable(written);
        let mut warnings = Vec::new();
        let mut seen = HashSet::new();
        let mut pending = VecDeque::from([(SchemaId::ROOT, String::new())]);
        while let Some((id, pointer)) = pending.pop_front() {
            let schema = self.schema(id);
            let Some(plain) = schema.plain().filter(|_| seen.insert(id)) else {
                continue;
            };
            // The values of an `enum` show the required properties.
            let may_lack = schema.assertions.is_none() && plain.values.is_none();
            if let Some(object) = plain.object.as_ref().filter(|_| may_lack) {
                let path = format!("{pointer}/required");
                let path = original_pointer(written, existing_prefix(&expanded, &path));
                warnings.extend(object.undeclared().map(|name| {
                    let reason = format!("`{}` is required, and no property declares it", excerpt(name));
                    SchemaWarning::new(path.clone(), reason)
                }));
            }
            pending.extend(plain.children(&pointer));
        }
        warnings
    }
}

impl Object {
    /// Returns the required names without a declaration as property, by a pattern or by `additionalProperties`.
    fn undeclared(&self) -> impl Iterator<Item = &str> {
        let names = self.also_required.iter().map(|name| &**name);
        names.filter(|name| {
            self.additional == Additional::Unspecified
                && !self.patterns.iter().any(|(pattern, _)| pattern.is_match(name))
        })
    }
}
