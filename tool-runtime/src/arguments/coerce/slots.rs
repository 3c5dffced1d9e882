//! The positions of an object's properties among the members that were sent.

use crate::arguments::input::tree::node::Members;
use crate::schema::compiled::Object;

/// One place for each property. Of few, they take no memory of their own.
pub(in crate::arguments) enum Slots {
    Few([Option<usize>; FEW], usize),
    Many(Vec<Option<usize>>),
}

/// More properties than these take memory.
const FEW: usize = 6;

impl Slots {
    pub(in crate::arguments) fn new(object: &Object) -> Self {
        match object.properties.len() {
            count @ ..=FEW => Self::Few([None; FEW], count),
            count => Self::Many(vec![None; count]),
        }
    }

    pub(in crate::arguments) fn as_mut(&mut self) -> &mut [Option<usize>] {
        match self {
            Self::Few(places, count) => places.get_mut(..*count).unwrap_or_default(),
            Self::Many(places) => places,
        }
    }

    /// Gives the members to the properties of exactly their names; the places of the others are returned.
    pub(in crate::arguments) fn assign(&mut self, members: &Members<'_>, object: &Object) -> Vec<usize> {
        let places = self.as_mut();
        let mut extras = Vec::new();
        let mut guess = 0;
        for (place, (key, _)) in members.entries.iter().enumerate() {
            let position = if object.has_at(guess, key) {
                Some(guess)
            } else {
                object.position(key)
            };
            match position.and_then(|position| Some((position, places.get_mut(position)?))) {
                Some((position, slot)) => {
                    *slot = Some(place);
                    guess = position + 1;
                }
                None => extras.push(place),
            }
        }
        extras
    }
}
