//! A JSON value against a shape: whether all of it conforms to the letter, and what came for each parameter.

use serde_json::{Map, Number, Value};

use super::conform;
use super::keys::{Keys, Owner};
use super::members::{Conforming, Members};
use super::walk::{MOST_LEVELS, item};
use crate::arguments::member::Member;
use crate::schema::shape::{Form, FormId, Shape};

/// Looks at the arguments as a whole; the scalars among the parameters are kept.
pub(super) fn arguments<'v>(
    shape: &Shape,
    value: &'v Value,
    members: &mut Members<'v>,
) -> Option<Conforming> {
    let walk = Walk { shape };
    let mut keys = Keys::new(shape.form(FormId::ROOT), true)?;
    let mut conforming = Conforming::ByMembers;
    for (key, value) in value.as_object()? {
        match walk.entry(&mut keys, key, value, MOST_LEVELS)? {
            (Owner::Property(place, _), Came::Scalar(member)) => members.set(place, member),
            (_, Came::Scalar(_)) => {}
            (_, Came::Parts) => conforming = Conforming::AsTree,
        }
    }
    keys.are_complete().then_some(conforming)
}

/// What came behind a key.
enum Came<'v> {
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
                self.object(form, map, levels.checked_sub(1)?)?;
                return Some(Came::Parts);
            }
        };
        Some(Came::Scalar(scalar))
    }

    fn object(&self, form: &'s Form, map: &Map<String, Value>, levels: usize) -> Option<()> {
        let mut keys = Keys::new(form, false)?;
        for (key, value) in map {
            self.entry(&mut keys, key, value, levels)?;
        }
        keys.are_complete().then_some(())
    }

    fn entry<'v>(
        &self,
        keys: &mut Keys<'s, 'v>,
        key: &'v str,
        value: &'v Value,
        levels: usize,
    ) -> Option<(Owner, Came<'v>)> {
        let owner = keys.next(key)?;
        let form = match owner {
            Owner::Property(_, form) | Owner::Other(form) => self.shape.form(form),
            Owner::Anybody => &Form::ANY,
        };
        Some((owner, self.value(form, value, levels)?))
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
