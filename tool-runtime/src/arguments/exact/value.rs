//! A JSON value against a shape: whether all of it conforms to the letter, and what came for each parameter.

use serde_json::{Map, Number, Value};

use super::conform;
use super::keys::{Keys, Owner};
use super::walk::item;
use crate::arguments::member::Member;
use crate::depth;
use crate::schema::shape::{Form, FormId, Shape};

/// Looks at the arguments as a whole; `keep` is told what came for the declared property in each place.
pub(super) fn arguments<'v>(
    shape: &Shape,
    value: &'v Value,
    keep: &mut dyn FnMut(usize, Came<'v>),
) -> Option<()> {
    let walk = Walk { shape };
    walk.object(
        shape.form(FormId::ROOT),
        value.as_object()?,
        depth::MOST,
        true,
        keep,
    )
}

/// What came for a property.
pub(super) enum Came<'v> {
    Scalar(Member<'v>),
    /// A value with parts of its own.
    Parts,
}

struct Walk<'s> {
    shape: &'s Shape,
}

impl<'s> Walk<'s> {
    /// `levels` more may be opened.
    fn value<'v>(&self, form: &'s Form, value: &'v Value, levels: usize) -> Option<Came<'v>> {
        let scalar = match value {
            Value::Null => conform::null(form).then_some(Member::Null)?,
            Value::Bool(value) => conform::boolean(form).then_some(Member::Bool(*value))?,
            Value::String(text) => conform::text(form, text).then_some(Member::Text(text))?,
            Value::Number(value) => number(form, value)?,
            Value::Array(items) => {
                self.list(form, items, levels.checked_sub(1)?)?;
                return Some(Came::Parts);
            }
            Value::Object(map) => {
                self.object(form, map, levels.checked_sub(1)?, false, &mut |_, _| ())?;
                return Some(Came::Parts);
            }
        };
        Some(Came::Scalar(scalar))
    }

    fn object<'v>(
        &self,
        form: &'s Form,
        map: &'v Map<String, Value>,
        levels: usize,
        is_root: bool,
        keep: &mut dyn FnMut(usize, Came<'v>),
    ) -> Option<()> {
        let mut keys = Keys::new(form, is_root)?;
        for (key, value) in map {
            match keys.next(key)? {
                Owner::Property(place, form) => {
                    keep(place, self.value(self.shape.form(form), value, levels)?);
                }
                Owner::Other(form) => {
                    self.value(self.shape.form(form), value, levels)?;
                }
                Owner::Anybody => {
                    self.value(&Form::ANY, value, levels)?;
                }
            }
        }
        keys.are_complete().then_some(())
    }

    fn list(&self, form: &'s Form, items: &[Value], levels: usize) -> Option<()> {
        let list = conform::list(form)?;
        for (place, value) in items.iter().enumerate() {
            self.value(item(self.shape, list, place)?, value, levels)?;
        }
        conform::count(list, items.len()).then_some(())
    }
}

fn number<'v>(form: &Form, number: &Number) -> Option<Member<'v>> {
    if let Some(value) = number.as_u64() {
        return conform::integer(form, value).then_some(Member::Unsigned(value));
    }
    if let Some(value) = number.as_i64() {
        return conform::integer(form, value).then_some(Member::Signed(value));
    }
    // From there on a float may be what became of an integer; without a fraction, it may be one.
    let value = number.as_f64().filter(|value| value.abs() < SURE)?;
    conform::float(form, || value).then_some(Member::Float(value))
}

/// Above this, floats have no fraction.
const SURE: f64 = 4_503_599_627_370_496.0;
