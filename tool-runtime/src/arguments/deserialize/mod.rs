//! Arguments as serde `Deserializer`s, in whatever form they are at the end: a coerced tree, or text or a value that is known
//! to conform. Of those, nothing is checked a second time, and what a type says against one is dropped: the tree is read then, and
//! tells where.

/// Asks for an integer of each width; above the files that use it.
macro_rules! integers {
    ($($method:ident: $visit:ident;)*) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
            self.visit_integer(visitor, V::$visit)
        })*
    };
}

pub(super) mod error;
pub(super) mod map_key;
pub(super) mod node;
pub(super) mod not_taken;
pub(super) mod text;
pub(super) mod value;
pub(super) mod member;
pub(super) mod members;
