//! The names of an enum's variants in declared order, for every enum that a type holds.
//!
//! schemars lists documented variants after the others, and serde alone knows the order. So a type is asked to
//! deserialize from something that looks inside, notes what enums there are, and always ends with an error: no
//! value is ever made.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::HashSet;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::{Deserializer, forward_to_deserialize_any};

/// The names of one enum's variants.
pub(crate) type Names = &'static [&'static str];

/// The enums that can be reached in a type.
#[derive(Debug, Clone, Default)]
#[allow(unnameable_types, reason = "a hidden method of `Parameter` hands it over")]
pub struct Enums {
    /// Those of values, outer ones first.
    pub(crate) values: Vec<Names>,
    /// Those of the keys of maps.
    pub(crate) keys: Vec<Names>,
}

/// The enums that can be reached in `T`.
pub(crate) fn of<T: DeserializeOwned>() -> Enums {
    let findings = RefCell::new(Findings::default());
    let mut next = 0;
    let mut ways = vec![Vec::new()];
    while let Some(way) = ways.get(next).cloned() {
        // Only the findings count; that it fails is certain.
        let _ = T::deserialize(Look {
            way: &way,
            findings: &findings,
        });
        ways.extend((0..findings.take_branches()).map(|branch| [way.as_slice(), &[branch]].concat()));
        next += 1;
    }
    findings.into_inner().enums
}

#[derive(Default)]
struct Findings {
    enums: Enums,
    /// Structs and enums that were met; each is entered once, so a recursive type comes to an end.
    met: HashSet<Met>,
    /// How many ways lead on from where the last look ended.
    branches: usize,
}

/// The type that reads it, its own name (of a variant: the variant's), and what is in it.
type Met = (&'static str, &'static str, Names);

/// What is done with findings while they are shared.
trait Shared {
    /// Notes a struct or an enum where a look ends; a known one is not entered again.
    fn end_at(&self, met: Met);
    /// How many ways lead on.
    fn take_branches(&self) -> usize;
}

impl Shared for RefCell<Findings> {
    fn end_at(&self, met: Met) {
        let mut findings = self.borrow_mut();
        if findings.met.insert(met) {
            findings.branches = met.2.len();
        }
    }

    fn take_branches(&self) -> usize {
        std::mem::take(&mut self.borrow_mut().branches)
    }
}

/// A deserializer that follows a way (which field, which variant …) and ends with an error.
#[derive(Clone, Copy)]
struct Look<'a> {
    way: &'a [usize],
    findings: &'a RefCell<Findings>,
}

impl Look<'_> {
    /// The name to go on with; an error where the way ends.
    fn step<V>(mut self, name: &'static str, names: Names) -> Result<(&'static str, Self), Ended> {
        let Some((branch, way)) = self.way.split_first() else {
            self.findings.end_at((type_name::<V>(), name, names));
            return Err(Ended);
        };
        self.way = way;
        Ok((names.get(*branch).ok_or(Ended)?, self))
    }
}

impl<'de> Deserializer<'de> for Look<'_> {
    type Error = Ended;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Ended> {
        Err(Ended)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        visitor.visit_seq(Inside::new("", self))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Ended> {
        visitor.visit_seq(Inside::new("", self))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        visitor.visit_seq(Inside::new("", self))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        visitor.visit_map(Inside::new("", self))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: Names,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        let (key, look) = self.step::<V>(name, fields)?;
        visitor.visit_map(Inside::new(key, look))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        add(&mut self.findings.borrow_mut().enums.values, variants);
        let (key, look) = self.step::<V>(name, variants)?;
        visitor.visit_enum(Inside::new(key, look))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        identifier ignored_any
    }
}

/// The one thing inside that is looked at: a field, an element, an entry, a variant.
struct Inside<'a> {
    key: &'static str,
    look: Look<'a>,
    is_over: bool,
}

impl<'a> Inside<'a> {
    fn new(key: &'static str, look: Look<'a>) -> Self {
        Self {
            key,
            look,
            is_over: false,
        }
    }

    fn key<'de>(&self) -> StrDeserializer<'de, Ended> {
        self.key.into_deserializer()
    }

    /// What is inside of it may keep the error to itself, and would be asked for again and again.
    fn once(&mut self) -> Result<(), Ended> {
        if std::mem::replace(&mut self.is_over, true) {
            return Err(Ended);
        }
        Ok(())
    }
}

impl<'de> MapAccess<'de> for Inside<'_> {
    type Error = Ended;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Ended> {
        self.once()?;
        let key = Key {
            name: self.key,
            findings: self.look.findings,
        };
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Ended> {
        seed.deserialize(self.look)
    }
}

/// The key of an entry: the name of a field, or whatever a map wants for one.
struct Key<'a> {
    name: &'static str,
    findings: &'a RefCell<Findings>,
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Ended;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        visitor.visit_borrowed_str(self.name)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        add(&mut self.findings.borrow_mut().enums.keys, variants);
        let first: StrDeserializer<'_, Ended> = variants.first().ok_or(Ended)?.into_deserializer();
        visitor.visit_enum(first)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

fn add(enums: &mut Vec<Names>, variants: Names) {
    if !enums.contains(&variants) {
        enums.push(variants);
    }
}

impl<'de> SeqAccess<'de> for Inside<'_> {
    type Error = Ended;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Ended> {
        self.once()?;
        seed.deserialize(self.look).map(Some)
    }
}

impl<'de> EnumAccess<'de> for Inside<'_> {
    type Error = Ended;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Ended> {
        Ok((seed.deserialize(self.key())?, self))
    }
}

impl<'de> VariantAccess<'de> for Inside<'_> {
    type Error = Ended;

    fn unit_variant(self) -> Result<(), Ended> {
        Err(Ended)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Ended> {
        seed.deserialize(self.look)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Ended> {
        self.look.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: Names, visitor: V) -> Result<V::Value, Ended> {
        self.look.deserialize_struct(self.key, fields, visitor)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("only looked at")]
struct Ended;

impl Error for Ended {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::Deserialize;

    use serde::de::DeserializeOwned;

    use super::{Names, of};

    fn values_of<T: DeserializeOwned>() -> Vec<Names> {
        of::<T>().values
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only looked at")]
    enum Outer {
        B,
        A(Inner),
        C {
            id: u8,
            list: Vec<Option<Deep>>,
            again: Box<Outer>,
        },
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only looked at")]
    struct Inner {
        text: String,
        map: HashMap<String, Letter>,
        next: Option<Box<Inner>>,
    }

    #[derive(Deserialize, PartialEq, Eq, Hash)]
    enum Letter {
        #[serde(rename = "ypsilon")]
        Y,
        X,
    }

    #[derive(Deserialize)]
    enum Deep {
        Two,
        One,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only looked at")]
    struct Pair<A, B> {
        one: Wrapped<A>,
        other: Wrapped<B>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only looked at")]
    struct Wrapped<T> {
        value: T,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only looked at")]
    enum Alike {
        This { value: Letter },
        That { value: Deep },
    }

    #[test]
    fn what_looks_alike_is_not_confused() {
        assert_eq!(
            values_of::<Pair<Letter, Deep>>(),
            [["ypsilon", "X"], ["Two", "One"]]
        );
        assert_eq!(
            values_of::<Alike>(),
            [["This", "That"], ["ypsilon", "X"], ["Two", "One"]]
        );
    }

    /// Nobody hears of its errors.
    struct Silent<T>(Option<T>);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Silent<T> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Ok(Self(T::deserialize(deserializer).ok()))
        }
    }

    #[test]
    fn what_keeps_errors_to_itself_is_looked_at_once() {
        assert_eq!(values_of::<Vec<Silent<Letter>>>(), [["ypsilon", "X"]]);
        assert_eq!(values_of::<HashMap<String, Silent<Letter>>>(), [["ypsilon", "X"]]);
        assert_eq!(values_of::<(Silent<Letter>, Silent<Deep>)>(), [["ypsilon", "X"]]);
        assert_eq!(
            values_of::<Wrapped<Silent<Vec<Silent<Deep>>>>>(),
            [["Two", "One"]]
        );
    }

    #[test]
    fn enums_are_found_wherever_they_are() {
        let found = values_of::<Option<Outer>>();
        assert_eq!(found, [&["B", "A", "C"][..], &["ypsilon", "X"], &["Two", "One"]]);
        assert!(values_of::<serde_json::Value>().is_empty());
        assert!(values_of::<Vec<(String, u8)>>().is_empty());
    }

    #[test]
    fn enums_of_keys_are_found_apart() {
        #[derive(Deserialize, PartialEq, Eq, Hash)]
        struct Wrapped(Letter);

        type Map<K> = HashMap<K, Vec<Deep>>;

        let found = of::<(Vec<Map<Letter>>,)>();
        assert_eq!(found.keys, [["ypsilon", "X"]]);
        assert_eq!(found.values, [["Two", "One"]]);
        assert_eq!(of::<Map<Wrapped>>().keys, [["ypsilon", "X"]]);
        assert!(of::<Map<String>>().keys.is_empty());
        assert!(of::<Outer>().keys.is_empty());
    }
}
