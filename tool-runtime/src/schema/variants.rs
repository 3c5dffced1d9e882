//! What a type has and its schema by schemars lacks: the order of an enum's variants, the keys of maps by booleans or
//! characters.
//!
//! schemars lists documented variants after the others, and serde alone knows the order; of a map by booleans or by
//! characters it writes the values only. So a type is asked to deserialize from something that looks inside, notes what
//! there is, and always ends with an error: no value is ever made.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::HashSet;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::Value;

/// The names of one enum's variants.
pub(crate) type Names = &'static [&'static str];

/// The enums that can be reached in a type, and the maps whose keys its schema does not state.
#[derive(Debug, Clone, Default)]
#[allow(unnameable_types, reason = "a hidden method of `Parameter` hands it over")]
pub struct Enums {
    /// Those of values, outer ones first.
    pub(crate) values: Vec<Names>,
    /// Those of the keys of maps.
    pub(crate) keys: Vec<Names>,
    /// JSON Pointers to the schemas of maps by booleans or characters.
    pub(crate) maps: Vec<(String, KeyType)>,
}

/// A type of map keys that JSON has as strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    Boolean,
    Character,
}

/// The enums and maps that can be reached in `T`, whose schema stands in `root` at a JSON Pointer.
pub(crate) fn of<T: DeserializeOwned>(root: &Value, pointer: &str) -> Enums {
    let findings = RefCell::new(Findings::default());
    let mut next = 0;
    let mut ways = vec![Vec::new()];
    while let Some(way) = ways.get(next).cloned() {
        // Only the findings count; that it fails is certain.
        let _ = T::deserialize(Look {
            way: &way,
            location: Location::new(root, Some(pointer.to_owned())),
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
    /// What was entered: each once, so a recursive type comes to an end.
    met: HashSet<Met>,
    /// How many ways lead on from where the last look ended.
    branches: usize,
}

/// A type with parts, at a location of the schema.
#[derive(PartialEq, Eq, Hash)]
struct Met {
    /// What reads it.
    visitor: &'static str,
    /// Its own name, of a variant the variant's.
    name: String,
    names: Names,
    pointer: Option<String>,
}

/// What is done with findings while they are shared.
trait Shared {
    /// Notes what has so many parts and where a look ends; a known one is not entered again.
    fn end_at(&self, met: Met, branches: usize);
    /// How many ways lead on.
    fn take_branches(&self) -> usize;
}

impl Shared for RefCell<Findings> {
    fn end_at(&self, met: Met, branches: usize) {
        let mut findings = self.borrow_mut();
        if findings.met.insert(met) {
            findings.branches = branches;
        }
    }

    fn take_branches(&self) -> usize {
        std::mem::take(&mut self.borrow_mut().branches)
    }
}

/// Where the schema of a type stands, as far as that can be followed: nobody keeps a type from having another schema.
#[derive(Clone)]
struct Location<'a> {
    root: &'a Value,
    pointer: Option<String>,
}

/// More references and unions than stand between a type and its schema.
const MOST_STEPS: usize = 64;

impl<'a> Location<'a> {
    /// The schema at a JSON Pointer, behind references and the unions that an `Option` makes.
    fn new(root: &'a Value, pointer: Option<String>) -> Self {
        let mut location = Self { root, pointer };
        for _ in 0..MOST_STEPS {
            let Some(next) = location.behind() else { break };
            location.pointer = Some(next);
        }
        location
            .pointer
            .take_if(|pointer| root.pointer(pointer).is_none());
        location
    }

    fn schema(&self) -> Option<&'a Value> {
        self.root.pointer(self.pointer.as_ref()?)
    }

    /// Where a reference or the union of an `Option` leads.
    fn behind(&self) -> Option<String> {
        let schema = self.schema()?;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return reference.strip_prefix('#').map(str::to_owned);
        }
        let [one, other] = schema.get("anyOf")?.as_array()?.as_slice() else {
            return None;
        };
        let is_null = |schema: &Value| schema.get("type").is_some_and(|name| name == "null");
        let place = match (is_null(one), is_null(other)) {
            (false, true) => 0,
            (true, false) => 1,
            _ => return None,
        };
        Some(format!("{}/anyOf/{place}", self.pointer.as_ref()?))
    }

    /// The schema some steps further in; lost where there is none.
    fn inside(&self, steps: &[&str]) -> Self {
        let escaped = steps
            .iter()
            .map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")));
        let pointer = self
            .pointer
            .as_ref()
            .map(|pointer| escaped.fold(pointer.clone(), |pointer, step| pointer + &step));
        Self::new(self.root, pointer)
    }

    fn is_found(&self) -> bool {
        self.pointer.is_some()
    }

    /// The first item of a list or a tuple.
    fn item(&self) -> Self {
        let first = self.inside(&["prefixItems", "0"]);
        if first.is_found() {
            return first;
        }
        self.inside(&["items"])
    }

    /// What stands in a variant.
    fn variant(&self, name: &str) -> Self {
        let alternatives = self.schema().and_then(|schema| schema.get("oneOf")?.as_array());
        let mut found = (0..alternatives.map_or(0, Vec::len))
            .map(|place| self.inside(&["oneOf", &place.to_string(), "properties", name]));
        found
            .find(Self::is_found)
            .unwrap_or_else(|| self.inside(&["properties", name]))
    }

    /// The entries of a map, or of a struct that is read as one: their keys (of keys that are not stated, none) and values.
    fn entries(&self) -> Vec<(String, Self)> {
        let named = |keyword| self.schema().and_then(|schema| schema.get(keyword)?.as_object());
        let properties = named("properties").into_iter().flatten();
        let patterns = named("patternProperties").into_iter().flatten();
        let mut entries: Vec<_> = properties
            .map(|(name, _)| (name.clone(), self.inside(&["properties", name])))
            .chain(patterns.map(|(name, _)| (String::new(), self.inside(&["patternProperties", name]))))
            .collect();
        if entries.is_empty() || named("additionalProperties").is_some() {
            entries.push((String::new(), self.inside(&["additionalProperties"])));
        }
        entries
    }
}

/// A deserializer that follows a way (which field, which variant …) and ends with an error.
#[derive(Clone)]
struct Look<'a> {
    way: &'a [usize],
    location: Location<'a>,
    findings: &'a RefCell<Findings>,
}

impl Look<'_> {
    /// The part to go on with; an error where the way ends.
    fn step<V>(mut self, name: &str, names: Names, branches: usize) -> Result<(usize, Self), Ended> {
        let Some((branch, way)) = self.way.split_first() else {
            let met = Met {
                visitor: type_name::<V>(),
                name: name.to_owned(),
                names,
                pointer: self.location.pointer,
            };
            self.findings.end_at(met, branches);
            return Err(Ended);
        };
        self.way = way;
        Ok((*branch, self))
    }

    /// The same of what has named parts.
    fn step_to<V>(self, name: &str, names: Names) -> Result<(&'static str, Self), Ended> {
        let (branch, look) = self.step::<V>(name, names, names.len())?;
        Ok((names.get(branch).ok_or(Ended)?, look))
    }

    fn items<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        let (_, look) = self.step::<V>("", &[], 1)?;
        let item = look.location.item();
        visitor.visit_seq(Inside::new(String::new(), &look, item))
    }

    fn fields<'de, V: Visitor<'de>>(self, name: &str, fields: Names, visitor: V) -> Result<V::Value, Ended> {
        let (key, look) = self.step_to::<V>(name, fields)?;
        let field = look.location.inside(&["properties", key]);
        visitor.visit_map(Inside::new(key.to_owned(), &look, field))
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
        self.items(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Ended> {
        self.items(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        self.items(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        let mut entries = self.location.entries();
        let (branch, look) = self.step::<V>("", &[], entries.len())?;
        if branch >= entries.len() {
            return Err(Ended);
        }
        let (key, value) = entries.swap_remove(branch);
        visitor.visit_map(Inside::new(key, &look, value))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: Names,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        self.fields(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, Ended> {
        add(&mut self.findings.borrow_mut().enums.values, variants);
        let (key, look) = self.step_to::<V>(name, variants)?;
        let variant = look.location.variant(key);
        visitor.visit_enum(Inside::new(key.to_owned(), &look, variant))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        identifier ignored_any
    }
}

/// The one thing inside that is looked at: a field, an element, an entry, a variant.
struct Inside<'a> {
    key: String,
    /// What holds it.
    pointer: Option<String>,
    look: Look<'a>,
    is_over: bool,
}

impl<'a> Inside<'a> {
    /// What has this key in what a look came to, and its location.
    fn new(key: String, outer: &Look<'a>, location: Location<'a>) -> Self {
        Self {
            key,
            pointer: outer.location.pointer.clone(),
            look: Look {
                location,
                ..outer.clone()
            },
            is_over: false,
        }
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
            name: &self.key,
            map: self.pointer.as_deref(),
            findings: self.look.findings,
        };
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Ended> {
        seed.deserialize(self.look.clone())
    }
}

/// The key of an entry: the name of a field, or whatever a map wants for one.
struct Key<'a> {
    name: &'a str,
    /// Where the schema of the map stands.
    map: Option<&'a str>,
    findings: &'a RefCell<Findings>,
}

impl Key<'_> {
    fn note(&self, key_type: KeyType) {
        if let Some(pointer) = self.map {
            let mut findings = self.findings.borrow_mut();
            findings.enums.maps.push((pointer.to_owned(), key_type));
        }
    }
}

/// Any key will do, so that the values are looked at.
macro_rules! any_keys {
    ($visit:ident $value:literal $($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
            visitor.$visit($value)
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Ended;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        visitor.visit_str(self.name)
    }

    any_keys! {
        visit_u64 1 deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    any_keys! { visit_f64 1.0 deserialize_f32 deserialize_f64 }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        self.note(KeyType::Boolean);
        visitor.visit_bool(true)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Ended> {
        self.note(KeyType::Character);
        visitor.visit_char('a')
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
        str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
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
        seed.deserialize(self.look.clone()).map(Some)
    }
}

impl<'de> EnumAccess<'de> for Inside<'_> {
    type Error = Ended;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Ended> {
        let name: StrDeserializer<'_, Ended> = self.key.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, self))
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

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Ended> {
        self.look.items(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: Names, visitor: V) -> Result<V::Value, Ended> {
        self.look.fields(&self.key, fields, visitor)
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

    use super::{Enums, Names};

    /// Without a schema to follow.
    fn of<T: DeserializeOwned>() -> Enums {
        super::of::<T>(&serde_json::Value::Null, "/nowhere")
    }

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

    #[test]
    fn types_that_hold_nothing_but_themselves_end() {
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only looked at")]
        struct List(Vec<List>);

        #[derive(Deserialize)]
        #[serde(transparent)]
        #[expect(dead_code, reason = "only looked at")]
        struct Map {
            map: HashMap<bool, Option<Map>>,
        }

        assert!(values_of::<List>().is_empty() && of::<Map>().maps.is_empty());
    }

    #[test]
    fn enums_are_found_in_maps_by_numbers_and_booleans() {
        assert_eq!(
            values_of::<HashMap<u8, HashMap<bool, Vec<Letter>>>>(),
            [["ypsilon", "X"]]
        );
    }
}
