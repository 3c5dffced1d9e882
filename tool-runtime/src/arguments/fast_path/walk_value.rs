//! A JSON value against a compiled schema: whether all of it conforms to the letter, and what came for each parameter.

use std::cell::Cell;

use serde_json::{Map, Number, Value};

use super::conform;
use super::keys::{Keys, Owner};
use super::walk_text::{MOST_LEVELS, item};
use crate::arguments::coerce::composite::MOST_COMPOSITES;
use crate::arguments::deserialize::member::Member;
use crate::arguments::deserialize::members::Members;
use crate::schema::compiled::{CompiledSchema, Kind, Schema, SchemaId, Tag, Union};
use crate::schema::types::Types;

/// Looks at the arguments as a whole; what came for each parameter is kept.
pub(super) fn arguments<'v, M: Into<Member<'v>>>(
    compiled: &CompiledSchema,
    entries: impl Iterator<Item = (&'v String, M)>,
    members: &mut Members<'v>,
) -> Option<()> {
    let walk = Walk {
        compiled,
        work: Cell::new(MOST_WORK),
        unions: Cell::new(0),
        composites: Cell::new(MOST_COMPOSITES),
    };
    let mut keys = Keys::new(compiled, compiled.schema(SchemaId::ROOT), true)?;
    for (key, member) in entries {
        let (owner, member) = (keys.next(key)?, member.into());
        walk.value(walk.schema(owner), member.as_value()?, MOST_LEVELS)?;
        if let Owner::Property(place, _) = owner {
            members.set(place, member);
        }
    }
    keys.are_complete().then_some(())
}

struct Walk<'s> {
    compiled: &'s CompiledSchema,
    /// How many values and bytes of strings may still be looked at again for the sake of unions.
    work: Cell<usize>,
    /// In how many unions this is.
    unions: Cell<usize>,
    /// How many more unions may stand in one another: no more than the tree takes.
    composites: Cell<usize>,
}

/// More than unions need that are worth a look.
const MOST_WORK: usize = 100_000;

impl<'s> Walk<'s> {
    /// `levels` more may be opened.
    fn value(&self, schema: &'s Schema, value: &Value, levels: usize) -> Option<()> {
        if self.unions.get() > 1 {
            self.work(value)?;
        }
        if let Kind::Union(alternatives) = &schema.kind {
            return self.alternatives(alternatives, value, levels);
        }
        let conforms = match value {
            Value::Null => conform::null(schema),
            Value::Bool(_) => conform::boolean(schema),
            Value::String(text) => conform::text(schema, text),
            Value::Number(value) => number(schema, value),
            Value::Array(items) => return self.list(schema, items, levels.checked_sub(1)?),
            Value::Object(map) => return self.object(schema, map, levels.checked_sub(1)?),
        };
        conforms.then_some(())
    }

    fn object(&self, schema: &'s Schema, map: &Map<String, Value>, levels: usize) -> Option<()> {
        let mut keys = Keys::new(self.compiled, schema, false)?;
        for (key, value) in map {
            let owner = keys.next(key)?;
            self.value(self.schema(owner), value, levels)?;
        }
        keys.are_complete().then_some(())
    }

    fn schema(&self, owner: Owner) -> &'s Schema {
        match owner {
            Owner::Property(_, schema) | Owner::Other(schema) => self.compiled.schema(schema),
            Owner::Anybody => &Schema::ANY,
        }
    }

    fn list(&self, schema: &'s Schema, items: &[Value], levels: usize) -> Option<()> {
        let list = conform::list(schema)?;
        for (place, value) in items.iter().enumerate() {
            self.value(item(self.compiled, list, place)?, value, levels)?;
        }
        conform::count(list, items.len()).then_some(())
    }
}

impl<'s> Walk<'s> {
    /// Counts a value that unions in unions may look at many times; `None` when that was too often.
    fn work(&self, value: &Value) -> Option<()> {
        let bytes = value.as_str().map_or(0, str::len);
        self.work.set(self.work.get().checked_sub(1 + bytes)?);
        Some(())
    }

    /// As of text: `null`, what the tag names, the first that conforms.
    fn alternatives(&self, alternatives: &'s Union, value: &Value, levels: usize) -> Option<()> {
        self.composites.set(self.composites.get().checked_sub(1)?);
        let conforms = match (value, &alternatives.tag) {
            (Value::Null, _) if alternatives.null => Some(()),
            (Value::Object(map), Some(tag)) => {
                let schema = named(tag, map).map(|schema| self.compiled.schema(schema));
                schema.and_then(|schema| self.value(schema, value, levels))
            }
            _ => self.first(alternatives, value, levels),
        };
        self.composites.set(self.composites.get() + 1);
        conforms
    }

    fn first(&self, alternatives: &'s Union, value: &Value, levels: usize) -> Option<()> {
        let types = types(value)?;
        self.unions.set(self.unions.get() + 1);
        let taken = self.first_of(alternatives, types, value, levels);
        self.unions.set(self.unions.get() - 1);
        taken
    }

    fn first_of(&self, alternatives: &'s Union, types: Types, value: &Value, levels: usize) -> Option<()> {
        let mut is_taken = false;
        // As of text.
        let is_no_final = !(alternatives.exclusive
            || self.compiled.is_typed() && types.overlaps(Types::ARRAY | Types::OBJECT));
        for schema in &alternatives.schemas {
            let schema = self.compiled.schema(*schema);
            if !schema.types.overlaps(types) {
                continue;
            }
            match self.value(schema, value, levels) {
                Some(()) if is_taken => return None,
                Some(()) => is_taken = true,
                None if is_no_final => {}
                None => return None,
            }
            if is_taken && !alternatives.exclusive {
                break;
            }
        }
        is_taken.then_some(())
    }
}

fn types(value: &Value) -> Option<Types> {
    Some(match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOLEAN,
        // To an alternative that takes integers it may be one, to others it is none.
        Value::Number(number) if number.as_f64().is_some_and(|value| value == 0.0) && number.is_f64() => {
            return None;
        }
        Value::Number(_) => Types::NUMBER,
        Value::String(_) => Types::STRING,
        Value::Array(_) => Types::ARRAY,
        Value::Object(_) => Types::OBJECT,
    })
}

/// The schema that an object's tag names.
fn named(tag: &Tag, map: &Map<String, Value>) -> Option<SchemaId> {
    let (schemas, name) = match tag {
        Tag::Key(schemas) => (schemas, map.keys().next()?.as_str()),
        Tag::Property { name, values, .. } => (values, map.get(&**name)?.as_str()?),
    };
    let mut schemas = schemas.iter();
    schemas
        .find(|(known, _)| **known == *name)
        .map(|(_, schema)| *schema)
}

fn number(schema: &Schema, number: &Number) -> bool {
    if let Some(value) = number.as_u64() {
        return conform::integer(schema, value);
    }
    // With `arbitrary_precision` it may be the 0 of `-0`, which is a float.
    if let Some(value) = number.as_i64().filter(|value| *value != 0) {
        return conform::integer(schema, value);
    }
    // From there on a float may be what became of an integer; without a fraction, it may be one.
    let value = number.as_f64().filter(|value| value.abs() < SURE);
    value.is_some_and(|value| conform::float(schema, || value))
}

/// Above this, floats have no fraction.
const SURE: f64 = 4_503_599_627_370_496.0;
