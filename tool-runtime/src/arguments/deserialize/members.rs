//! What a look at the arguments leaves behind: the members that came for parameters.

use serde_json::Value;

use super::member::Member;
use crate::arguments::tree::node;
use crate::schema::CompiledSchema;

/// What came for the properties of the arguments as a whole, as far as there are parameters for them.
#[derive(Debug, Default)]
pub(in crate::arguments) struct Members<'a>([Option<Member<'a>>; MOST]);

/// As many parameters as a function can have.
const MOST: usize = 16;

impl<'a> Members<'a> {
    #[inline]
    pub(in crate::arguments) fn set(&mut self, place: usize, member: Member<'a>) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = Some(member);
        }
    }

    /// Takes all of them from a tree.
    pub(in crate::arguments) fn fill(&mut self, compiled: &CompiledSchema, tree: &'a node::Members<'a>) {
        for (place, property) in compiled.properties().iter().enumerate() {
            if let Some(node) = tree.get(&property.name) {
                self.set(place, Member::Tree(node));
            }
        }
    }

    /// What came for the property in that place.
    #[inline]
    pub(in crate::arguments) fn get(&self, place: usize) -> Option<&Member<'a>> {
        self.0.get(place)?.as_ref()
    }

    /// The text that was given for it, to be moved.
    pub(in crate::arguments) fn given_text(&mut self, place: Option<usize>) -> Option<&mut String> {
        match self.0.get_mut(place?)? {
            Some(Member::Given(Value::String(text))) => Some(text),
            _ => None,
        }
    }
}
