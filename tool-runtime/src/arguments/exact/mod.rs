//! The fast path: arguments that are exactly as the schema says go to their types without a tree.
//!
//! They are looked at once, against the [`Shape`], by code that knows no type; then each type reads its own part. Nothing is coerced and nothing is reported: at the first
//! surprise the whole reading is given up, and the tree tells what is the matter. So a yes of these files must be one
//! that the tree would give too, with the same value and without an issue (`tests/coercion` holds the two together).
//! A no may be given freely.

mod conform;
mod keys;
mod text;
mod walk;
mod value;

use serde::Deserialize as _;
use serde_json::{Map, Value};

use self::value::Came;
use super::conformed::Conformed;
use super::member::Member;
use crate::call::Input;
use crate::schema::Shape;
use crate::schema::shape::{FormId, Object, Property};

/// How arguments that conform to the letter are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conforming {
    /// By their members: what came for each parameter is ready for its type.
    ByMembers,
    /// As a tree, as they are: a part of a value is no value of its own.
    AsTree,
}

/// Looks at the arguments; `None` when somebody has to look closer.
pub(super) fn look<'a>(shape: &'a Shape, input: Input<'a>, members: &mut Members<'a>) -> Option<Conforming> {
    members.properties = parameters(shape)?;
    match input {
        Input::Text(text) => {
            walk::arguments(shape, text, &mut |place, member| members.set(place, member))?;
        }
        Input::Value(value) => {
            let mut has_parts = false;
            value::arguments(shape, value, &mut |place, member| match member {
                Came::Scalar(member) => members.set(place, member),
                Came::Parts => has_parts = true,
            })?;
            if has_parts {
                return Some(Conforming::AsTree);
            }
        }
        Input::Bytes(_) => return None,
    }
    Some(Conforming::ByMembers)
}

/// The arguments as a map, if they conform to the letter.
pub(super) fn map(shape: &Shape, input: Input<'_>) -> Option<Map<String, Value>> {
    match input {
        Input::Text(text) => {
            walk::arguments(shape, text, &mut |_, _| ())?;
            Map::deserialize(&mut Conformed::new(text)).ok()
        }
        Input::Value(value) => {
            value::arguments(shape, value, &mut |_, _| ())?;
            value.as_object().cloned()
        }
        Input::Bytes(_) => None,
    }
}

/// What came for each declared parameter.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    properties: &'a [Property],
    came: [Option<Member<'a>>; MOST],
}

/// As many parameters as a function can have.
const MOST: usize = 16;

fn parameters(shape: &Shape) -> Option<&[Property]> {
    let object = shape.form(FormId::ROOT).plain()?.object.as_ref();
    let properties = object.map_or(&[][..], |object: &Object| &object.properties);
    (properties.len() <= MOST).then_some(properties)
}

impl<'a> Members<'a> {
    fn set(&mut self, place: usize, member: Member<'a>) {
        if let Some(slot) = self.came.get_mut(place) {
            *slot = Some(member);
        }
    }

    /// What came for the parameter of that name; parameters are mostly asked for in declared order.
    pub(super) fn get(&self, name: &str, guess: usize) -> Option<Member<'a>> {
        let is_it = |property: &&Property| *property.name == *name;
        let place = match self.properties.get(guess).filter(is_it) {
            Some(_) => guess,
            None => self.properties.iter().position(|property| is_it(&property))?,
        };
        *self.came.get(place)?
    }
}
