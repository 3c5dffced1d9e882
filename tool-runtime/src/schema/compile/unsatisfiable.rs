//! Finds subschemas that no value satisfies, for a warning at registration: their keywords contradict each other, such as
//! `"type": "integer"` and `"enum": ["many"]`.
//!
//! Some contradictions are not found: patterns, `multipleOf` and keywords that coercion does not enforce are treated as
//! satisfiable. A subschema `false` is not reported, since it forbids a property on purpose.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use super::nullable::{expand_nullable, original_pointer};
use crate::schema::check::SchemaWarning;
use crate::schema::compiled::bounds::{Bound, NumberLimits};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::values::{TextLimits, Values};
use crate::schema::compiled::{Additional, CompiledSchema, Kind, List, Object, Plain, Schema, SchemaId};
use crate::schema::keywords::pointer::existing_prefix;

impl CompiledSchema {
    /// Returns warnings about the subschemas of `written` that no value satisfies; `self` is compiled from `written`.
    pub(crate) fn unsatisfiable(&self, written: &Value) -> Vec<SchemaWarning> {
        let satisfiable = self.satisfiable();
        let expanded = expand_nullable(written);
        let warning = |pointer: String| {
            let path = original_pointer(written, existing_prefix(&expanded, &pointer));
            let reason = match written.pointer(&path).map(excluding).as_deref() {
                None | Some("") => "no value satisfies this schema".to_owned(),
                Some(keywords) => format!("no value satisfies {keywords} together"),
            };
            SchemaWarning::new(path, reason)
        };
        let mut warnings: Vec<SchemaWarning> = self.causes(&satisfiable).into_iter().map(warning).collect();
        warnings.dedup();
        warnings
    }

    /// Returns for each schema whether a value satisfies it. The result is the least fixed point, since values are finite.
    fn satisfiable(&self) -> Vec<bool> {
        let mut satisfiable = vec![false; self.schemas.len()];
        loop {
            let mut has_changed = false;
            // Most schemas precede their subschemas, so the reverse order needs few passes.
            for (index, schema) in self.schemas.iter().enumerate().rev() {
                let is_new = satisfiable.get(index) == Some(&false)
                    && schema.is_satisfiable(&|id| satisfiable.get(id.0 as usize) == Some(&true));
                if is_new && let Some(slot) = satisfiable.get_mut(index) {
                    *slot = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                return satisfiable;
            }
        }
    }

    /// Returns the pointers to unsatisfiable schemas, except for schemas that are unsatisfiable because of a subschema.
    fn causes(&self, satisfiable: &[bool]) -> Vec<String> {
        let is_satisfiable = |id: SchemaId| satisfiable.get(id.0 as usize) != Some(&false);
        let (mut causes, mut first) = (Vec::new(), None);
        let mut seen = HashSet::new();
        let mut pending = VecDeque::from([(SchemaId::ROOT, String::new())]);
        while let Some((id, pointer)) = pending.pop_front() {
            let schema = self.schema(id);
            if !seen.insert(id) || schema.is_false() {
                continue;
            }
            if !is_satisfiable(id) {
                if !schema.is_satisfiable(&|inner| !self.schema(inner).is_false()) || schema.is_union() {
                    if !self.forbids(schema) {
                        causes.push(pointer);
                    }
                    continue;
                }
                first.get_or_insert_with(|| pointer.clone());
            }
            // An alternative may exclude values on purpose.
            if !schema.is_union() {
                let inner = schema.kind.in_place_subschemas().iter();
                pending.extend(inner.map(|inner| (*inner, pointer.clone())));
            }
            let plain = schema.plain().into_iter();
            pending.extend(plain.flat_map(|plain| plain.children(&pointer)));
        }
        // The remaining unsatisfiable schemas depend on each other.
        if causes.is_empty() {
            first.into_iter().collect()
        } else {
            causes
        }
    }

    /// Returns whether a part of an `allOf` is `false`.
    fn forbids(&self, schema: &Schema) -> bool {
        let parts = schema.kind.in_place_subschemas();
        !schema.is_union() && parts.iter().any(|part| self.schema(*part).is_false())
    }
}

impl Schema {
    fn is_false(&self) -> bool {
        self.types == Types::NONE && matches!(self.kind, Kind::Any)
    }

    fn is_union(&self) -> bool {
        matches!(self.kind, Kind::Union(_))
    }

    /// Returns whether a value satisfies the schema. `inner` has this result for the subschemas.
    fn is_satisfiable(&self, inner: &dyn Fn(SchemaId) -> bool) -> bool {
        if self.types == Types::NONE {
            return false;
        }
        match &self.kind {
            Kind::Any => true,
            Kind::Plain(plain) => plain.is_satisfiable(self.types, inner),
            Kind::Union(union) => {
                union.null && self.types.has(Types::NULL) || union.schemas.iter().any(|id| inner(*id))
            }
            Kind::AllOf(all_of) => all_of.schemas.iter().all(|id| inner(*id)),
        }
    }
}

impl Plain {
    fn is_satisfiable(&self, types: Types, inner: &dyn Fn(SchemaId) -> bool) -> bool {
        if let Some(values) = &self.values {
            return self.allows_one_of(values, types);
        }
        types.overlaps(Types::NULL | Types::BOOLEAN)
            || (types.has(Types::STRING) && self.text.as_ref().is_none_or(TextLimits::is_satisfiable))
            || (types.overlaps(Types::NUMBER)
                && self
                    .number
                    .as_ref()
                    .is_none_or(|limits| limits.is_satisfiable(types)))
            || (types.has(Types::ARRAY) && self.list.as_ref().is_none_or(|list| list.is_satisfiable(inner)))
            || (types.has(Types::OBJECT)
                && self
                    .object
                    .as_ref()
                    .is_none_or(|object| object.is_satisfiable(inner)))
    }

    /// Returns whether a value of an `enum` has one of the types and is within the limits of strings.
    fn allows_one_of(&self, values: &Values, types: Types) -> bool {
        let allows_text = |text: &str| {
            types.has(Types::STRING) && self.text.as_ref().is_none_or(|limits| limits.allows(text))
        };
        values.texts.iter().any(|text| allows_text(text)) || !values.others.is_empty()
    }
}

impl TextLimits {
    fn is_satisfiable(&self) -> bool {
        is_range(self.min, self.max)
    }

    fn allows(&self, text: &str) -> bool {
        let length = text.chars().count() as u64;
        self.min.is_none_or(|min| length >= min)
            && self.max.is_none_or(|max| length <= max)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }
}

impl NumberLimits {
    fn is_satisfiable(&self, types: Types) -> bool {
        let is_integer = !types.has(Types::NUMBER);
        let is_range = |low: &Bound, high: &Bound, is_exclusive: u8| match (low.integer, high.integer) {
            (Some(low), Some(high)) if is_integer => low.saturating_add(is_exclusive.into()) <= high,
            _ if is_exclusive > 0 => low.value() < high.value(),
            _ => low.value() <= high.value(),
        };
        let lower = [(&self.min, 0), (&self.exclusive_min, 1)];
        let upper = [(&self.max, 0), (&self.exclusive_max, 1)];
        lower.into_iter().all(|(low, excludes_low)| {
            upper.into_iter().all(|(high, excludes_high)| {
                let bounds = low.as_ref().zip(high.as_ref());
                bounds.is_none_or(|(low, high)| is_range(low, high, excludes_low + excludes_high))
            })
        })
    }
}

impl List {
    fn is_satisfiable(&self, inner: &dyn Fn(SchemaId) -> bool) -> bool {
        let min = self.min.unwrap_or(0);
        let prefix = self.prefix.len();
        // Items after the prefix have the same schema.
        let needed = usize::try_from(min).unwrap_or(usize::MAX).min(prefix + 1);
        is_range(self.min, self.max)
            && (0..needed).all(|index| self.item(index).is_none_or(inner))
            && (self.additional != Additional::Denied || min <= prefix as u64)
    }
}

impl Object {
    fn is_satisfiable(&self, inner: &dyn Fn(SchemaId) -> bool) -> bool {
        let required = self.properties.iter().filter(|property| property.required);
        let count = (required.clone().count() + self.also_required.len()) as u64;
        let allows_undeclared = |name: &str| match self.additional {
            _ if self.patterns.iter().any(|(pattern, _)| pattern.is_match(name)) => true,
            Additional::Denied => false,
            Additional::Of(schema) => inner(schema),
            Additional::Any | Additional::Unspecified => true,
        };
        let is_closed = self.additional == Additional::Denied && self.patterns.is_empty();
        is_range(self.min, self.max)
            && self.max.is_none_or(|max| count <= max)
            && required.map(|property| property.schema).all(inner)
            && self.also_required.iter().all(|name| allows_undeclared(name))
            && (!is_closed || self.min.unwrap_or(0) <= self.properties.len() as u64)
    }
}

fn is_range(min: Option<u64>, max: Option<u64>) -> bool {
    min.zip(max).is_none_or(|(min, max)| min <= max)
}

/// Lists the keywords of a schema that restrict its values.
fn excluding(schema: &Value) -> String {
    const KEYWORDS: [&str; 20] = [
        "type",
        "enum",
        "const",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
        "items",
        "minProperties",
        "maxProperties",
        "required",
        "additionalProperties",
        "anyOf",
        "oneOf",
        "allOf",
    ];
    let present = KEYWORDS
        .into_iter()
        .filter(|keyword| schema.get(keyword).is_some());
    let quoted: Vec<String> = present.map(|keyword| format!("`{keyword}`")).collect();
    match quoted.as_slice() {
        [] | [_] => String::new(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
