//! A JSON value against a shape: whether all of it conforms to the letter, and what came for each parameter.

use serde_json::{Map, Number, Value};

use super::conform;
use super::keys::{Keys, Owner};
use super::members::Members;
use super::walk::{MOST_LEVELS, item};
use crate::arguments::member::Member;
use crate::schema::shape::{Form, FormId, Shape};

/// Looks at the arguments as a whole; what came for each parameter is kept.
pub(super) fn arguments<'v>(shape: &Shape, value: &'v Value, members: &mut Members<'v>) -> Option<()> {
    let walk = Walk { shape };
    let mut keys = Keys::new(shape.form(FormId::ROOT), true)?;
    for (key, value) in value.as_object()? {
        let owner = keys.next(key)?;
        if let Owner::Property(place, _) = owner {
            members.set(place, Member::Value(value));
        }
        walk.value(walk.form(owner), value, MOST_LEVELS)?;
    }
    keys.are_complete().then_some(())
}

struct Walk<'s> {
    shape: &'s Shape,
}

impl<'s> Walk<'s> {
    /// `levels` more may be opened.
    fn value(&self, form: &'s Form, value: &Value, levels: usize) -> Option<()> {
        let conforms = match value {
            Value::Null => conform::null(form),
            Value::Bool(_) => conform::boolean(form),
            Value::String(text) => conform::text(form, text),
            Value::Number(value) => number(form, value),
            Value::Array(items) => return self.list(form, items, levels.checked_sub(1)?),
            Value::Object(map) => return self.object(form, map, levels.checked_sub(1)?),
        };
        conforms.then_some(())
    }

    fn object(&self, form: &'s Form, map: &Map<String, Value>, levels: usize) -> Option<()> {
        let mut keys = Keys::new(form, false)?;
        for (key, value) in map {
            let owner = keys.next(key)?;
            self.value(self.form(owner), value, levels)?;
        }
        keys.are_complete().then_some(())
    }

    fn form(&self, owner: Owner) -> &'s Form {
        match owner {
            Owner::Property(_, form) | Owner::Other(form) => self.shape.form(form),
            Owner::Anybody => &Form::ANY,
        }
    }

    fn list(&self, form: &'s Form, items: &[Value], levels: usize) -> Option<()> {
        let list = conform::list(form)?;
        for (place, value) in items.iter().enumerate() {
            self.value(item(self.shape, list, place)?, value, levels)?;
        }
        conform::count(list, items.len()).then_some(())
    }
}

fn number(form: &Form, number: &Number) -> bool {
    if let Some(value) = number.as_u64() {
        return conform::integer(form, value);
    }
    if let Some(value) = number.as_i64() {
        return conform::integer(form, value);
    }
    // From there on a float may be what became of an integer; without a fraction, it may be one.
    let value = number.as_f64().filter(|value| value.abs() < SURE);
    value.is_some_and(|value| conform::float(form, || value))
}

/// Above this, floats have no fraction.
const SURE: f64 = 4_503_599_627_370_496.0;
