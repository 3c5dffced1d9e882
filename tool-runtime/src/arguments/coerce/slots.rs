//! Positions of an object's properties among its members.

use crate::arguments::input::tree::node::Members;
use crate::schema::compiled::Object;

/// A slot for each property; a few slots need no allocation.
pub(in crate::arguments) enum Slots {
    Few([Option<usize>; MAX_INLINE], usize),
    Many(Vec<Option<usize>>),
}

/// Maximum number of properties without an allocation.
const MAX_INLINE: usize = 6;

impl Slots {
    pub(in crate::arguments) fn new(object: &Object) -> Self {
        match object.properties.len() {
            count @ ..=MAX_INLINE => Self::Few([None; MAX_INLINE], count),
            count => Self::Many(vec![None; count]),
        }
    }

    pub(in crate::arguments) fn as_mut(&mut self) -> &mut [Option<usize>] {
        match self {
            Self::Few(places, count) => places.get_mut(..*count).unwrap_or_default(),
            Self::Many(places) => places,
        }
    }

    /// Assigns members to the properties with exactly their names, and returns the positions of all other members.
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
