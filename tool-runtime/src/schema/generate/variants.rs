//! Traces the `Deserialize` implementation of a type for what its schema by schemars lacks: the order of an enum's variants,
//! and the keys of maps with boolean or character keys.
//!
//! schemars lists documented variants after the others, and only serde knows the declared order; of maps with such keys it
//! writes the values only. So a type is deserialized from a tracer, which records names and always fails: no value is
//! created.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, EnumAccess, Error, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::Value;

use super::location::{Location, TaggedVariant};
use crate::schema::keywords::marks;

/// The names of one enum's variants.
pub(crate) type Names = &'static [&'static str];

/// The enums in a type, and the maps whose keys its schema does not describe.
#[derive(Debug, Clone, Default)]
#[allow(unnameable_types, reason = "a hidden method of `Parameter` hands it over")]
pub struct Enums {
    /// Enums of values, outer ones first.
    pub(crate) values: Vec<Names>,
    /// Enums of map keys.
    pub(crate) keys: Vec<Names>,
    /// JSON Pointers to the schemas of maps with boolean or character keys.
    pub(crate) maps: Vec<(String, KeyType)>,
    /// JSON Pointers to the schemas of maps with enum keys that are not traced.
    pub(crate) buffered: Vec<String>,
    /// JSON Pointers to the schemas of patches in an `Option`.
    pub(crate) wrapped_patches: Vec<String>,
    /// Variants that no value can be.
    pub(crate) unreachable: Vec<Unreachable>,
}

/// An internally tagged variant whose content is no object, such as a number: there is no place for it beside the tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreachable {
    /// A JSON Pointer to its schema.
    pub(crate) pointer: String,
    pub(crate) tag: String,
    pub(crate) name: String,
    /// The expected content, as serde describes it.
    pub(crate) expected: String,
}

impl Unreachable {
    /// The fault, and what to write instead.
    pub(crate) fn reason(&self) -> String {
        let Self {
            tag, name, expected, ..
        } = self;
        format!(
            "no call can reach the variant `{name}`: it has the tag `{tag}` inside an object, and its content is {expected}; write a \
             variant with fields, or add `content = \"value\"` beside `tag = \"{tag}\"`"
        )
    }
}

/// A type of map keys that are strings in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    Boolean,
    Character,
}

/// Traces `T`, whose schema is in `root` at a JSON Pointer.
pub(crate) fn find<T: DeserializeOwned>(root: &Value, pointer: &str) -> Enums {
    let findings = RefCell::new(Findings::default());
    let mut next = 0;
    let mut paths = vec![Vec::new()];
    while let Some(path) = paths.get(next).cloned() {
        // The findings are the result: it always fails.
        let result = T::deserialize(Tracer {
            path: &path,
            location: Location::new(root, Some(pointer.to_owned())),
            is_optional: false,
            findings: &findings,
        });
        findings.record_result(result.err());
        paths.extend((0..findings.take_branches()).map(|branch| [path.as_slice(), &[branch]].concat()));
        next += 1;
    }
    findings.into_inner().enums
}

#[derive(Default)]
struct Findings {
    enums: Enums,
    /// Types that were entered: each once, so that recursive types terminate.
    visited: HashSet<Visited>,
    /// The number of branches where the last trace stopped.
    branches: usize,
    /// The tagged variant at the end of the last trace.
    entered: Option<TaggedVariant>,
}

/// A type with fields, items or variants, at a location of the schema.
#[derive(PartialEq, Eq, Hash)]
struct Visited {
    /// The type name of its visitor.
    visitor: &'static str,
    /// The name of the type or of the variant.
    name: String,
    names: Names,
    pointer: Option<String>,
}

/// Methods of shared findings.
trait RecordFindings {
    /// Records the type where a trace stops, and its number of branches; one that was visited before is not entered again.
    fn record_end(&self, visited: Visited, branches: usize);
    /// The number of branches, which is reset.
    fn take_branches(&self) -> usize;
    /// Records a tagged variant whose content expects no object.
    fn record_result(&self, error: Option<TraceError>);
}

impl RecordFindings for RefCell<Findings> {
    fn record_end(&self, visited: Visited, branches: usize) {
        let mut findings = self.borrow_mut();
        if findings.visited.insert(visited) {
            findings.branches = branches;
        }
    }

    fn take_branches(&self) -> usize {
        std::mem::take(&mut self.borrow_mut().branches)
    }

    fn record_result(&self, error: Option<TraceError>) {
        let mut findings = self.borrow_mut();
        if let Some(TaggedVariant { pointer, tag, name }) = findings.entered.take()
            && let Some(expected) = error.and_then(|error| error.instead_of_map)
        {
            findings.enums.unreachable.push(Unreachable {
                pointer,
                tag,
                name,
                expected,
            });
        }
    }
}

/// A deserializer that follows a path (the index of a field, a variant …) and fails at its end.
#[derive(Clone)]
struct Tracer<'a> {
    path: &'a [usize],
    location: Location<'a>,
    /// Whether the value is directly in an `Option`.
    is_optional: bool,
    findings: &'a RefCell<Findings>,
}

impl Tracer<'_> {
    /// Takes the next branch of the path; fails at its end, and records the branches there.
    fn descend<V>(mut self, name: &str, names: Names, branches: usize) -> Result<(usize, Self), TraceError> {
        let Some((branch, path)) = self.path.split_first() else {
            let visited = Visited {
                visitor: type_name::<V>(),
                name: name.to_owned(),
                names,
                pointer: self.location.pointer,
            };
            self.findings.record_end(visited, branches);
            return Err(TraceError::default());
        };
        self.path = path;
        Ok((*branch, self))
    }

    /// Reads named fields or variants.
    fn descend_named<V>(self, name: &str, names: Names) -> Result<(&'static str, Self), TraceError> {
        let (branch, tracer) = self.descend::<V>(name, names, names.len())?;
        Ok((names.get(branch).ok_or_else(TraceError::default)?, tracer))
    }

    fn items<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        let (_, tracer) = self.descend::<V>("", &[], 1)?;
        let item = tracer.location.item();
        visitor.visit_seq(SingleAccess::new(String::new(), &tracer, item))
    }

    fn fields<'de, V: Visitor<'de>>(
        self,
        name: &str,
        fields: Names,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        let (key, tracer) = self.descend_named::<V>(name, fields)?;
        let field = tracer.location.descendant(&["properties", key]);
        visitor.visit_map(SingleAccess::new(key.to_owned(), &tracer, field))
    }
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = TraceError;

    /// An internally tagged enum, if the schema says so: each variant is entered with its tag alone. The content is then an empty
    /// object, and a type that expects no object says so, whatever else would be beside the tag.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        let mut variants = self.location.tagged_variants();
        if variants.is_empty() {
            return Err(TraceError::default());
        }
        let (branch, tracer) = self.descend::<V>("", &[], variants.len())?;
        if branch >= variants.len() {
            return Err(TraceError::default());
        }
        let variant = variants.swap_remove(branch);
        let entry = std::iter::once((variant.tag.clone(), variant.name.clone()));
        tracer.findings.borrow_mut().entered = Some(variant);
        // The content is read when this has returned, so that its error is that of the whole trace.
        visitor.visit_map(MapDeserializer::new(entry))
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, TraceError> {
        self.is_optional = true;
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        if name == marks::PATCH && std::mem::take(&mut self.is_optional) {
            let wrapped = self.location.pointer.clone();
            self.findings.borrow_mut().enums.wrapped_patches.extend(wrapped);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.items(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, TraceError> {
        self.items(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.items(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        let mut entries = self.location.entries();
        let (branch, tracer) = self.descend::<V>("", &[], entries.len())?;
        if branch >= entries.len() {
            return Err(TraceError::default());
        }
        let (key, value) = entries.swap_remove(branch);
        visitor.visit_map(SingleAccess::new(key, &tracer, value))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: Names,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.fields(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        add(&mut self.findings.borrow_mut().enums.values, variants);
        let (key, tracer) = self.descend_named::<V>(name, variants)?;
        let variant = tracer.location.variant(key);
        visitor.visit_enum(SingleAccess::new(key.to_owned(), &tracer, variant))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        identifier ignored_any
    }
}

/// Gives access to a single field, element, entry or variant.
struct SingleAccess<'a> {
    key: String,
    /// The location of the container.
    pointer: Option<String>,
    tracer: Tracer<'a>,
    is_used: bool,
}

impl<'a> SingleAccess<'a> {
    /// Accesses the value with this key and location.
    fn new(key: String, outer: &Tracer<'a>, location: Location<'a>) -> Self {
        Self {
            key,
            pointer: outer.location.pointer.clone(),
            tracer: Tracer {
                location,
                is_optional: false,
                ..outer.clone()
            },
            is_used: false,
        }
    }

    /// Fails the second time: a type may ignore the error, and would ask for elements forever.
    fn use_once(&mut self) -> Result<(), TraceError> {
        if std::mem::replace(&mut self.is_used, true) {
            return Err(TraceError::default());
        }
        Ok(())
    }
}

impl<'de> MapAccess<'de> for SingleAccess<'_> {
    type Error = TraceError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, TraceError> {
        self.use_once()?;
        let key = KeyTracer {
            name: &self.key,
            map: self.pointer.as_deref(),
            findings: self.tracer.findings,
        };
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, TraceError> {
        seed.deserialize(self.tracer.clone())
    }
}

/// Deserializes the key of an entry: the name of a field, or any key that a map accepts.
struct KeyTracer<'a> {
    name: &'a str,
    /// The location of the map's schema.
    map: Option<&'a str>,
    findings: &'a RefCell<Findings>,
}

impl KeyTracer<'_> {
    fn record(&self, key_type: KeyType) {
        if let Some(pointer) = self.map {
            let mut findings = self.findings.borrow_mut();
            findings.enums.maps.push((pointer.to_owned(), key_type));
        }
    }
}

/// Visits a fixed key, so that the values are traced.
macro_rules! fixed_keys {
    ($visit:ident $value:literal $($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
            visitor.$visit($value)
        })*
    };
}

impl<'de> Deserializer<'de> for KeyTracer<'_> {
    type Error = TraceError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        visitor.visit_str(self.name)
    }

    fixed_keys! {
        visit_u64 1 deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fixed_keys! { visit_f64 1.0 deserialize_f32 deserialize_f64 }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.record(KeyType::Boolean);
        visitor.visit_bool(true)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.record(KeyType::Character);
        visitor.visit_char('a')
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        add(&mut self.findings.borrow_mut().enums.keys, variants);
        let first: StrDeserializer<'_, TraceError> = variants
            .first()
            .ok_or_else(TraceError::default)?
            .into_deserializer();
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

impl<'de> SeqAccess<'de> for SingleAccess<'_> {
    type Error = TraceError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, TraceError> {
        self.use_once()?;
        seed.deserialize(self.tracer.clone()).map(Some)
    }
}

impl<'de> EnumAccess<'de> for SingleAccess<'_> {
    type Error = TraceError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), TraceError> {
        let name: StrDeserializer<'_, TraceError> = self.key.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for SingleAccess<'_> {
    type Error = TraceError;

    fn unit_variant(self) -> Result<(), TraceError> {
        Err(TraceError::default())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, TraceError> {
        seed.deserialize(self.tracer)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, TraceError> {
        self.tracer.items(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: Names, visitor: V) -> Result<V::Value, TraceError> {
        self.tracer.fields(&self.key, fields, visitor)
    }
}

#[derive(Debug, Default)]
struct TraceError {
    /// The kind of value that a type expected instead of an object.
    instead_of_map: Option<String>,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only looked at")
    }
}

impl std::error::Error for TraceError {}

impl Error for TraceError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::default()
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self {
            instead_of_map: (unexpected == Unexpected::Map).then(|| expected.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde::Deserialize;

    use serde::de::DeserializeOwned;

    use super::{Enums, Names};

    /// Traces a type without a schema.
    fn trace<T: DeserializeOwned>() -> Enums {
        super::find::<T>(&serde_json::Value::Null, "/nowhere")
    }

    fn values_of<T: DeserializeOwned>() -> Vec<Names> {
        trace::<T>().values
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
    enum StructVariants {
        First { value: Letter },
        Second { value: Deep },
    }

    #[test]
    fn tells_generic_types_and_struct_variants_apart() {
        assert_eq!(
            values_of::<Pair<Letter, Deep>>(),
            [["ypsilon", "X"], ["Two", "One"]]
        );
        assert_eq!(
            values_of::<StructVariants>(),
            [["First", "Second"], ["ypsilon", "X"], ["Two", "One"]]
        );
    }

    /// Ignores errors of `T`.
    struct IgnoresErrors<T>(Option<T>);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for IgnoresErrors<T> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Ok(Self(T::deserialize(deserializer).ok()))
        }
    }

    #[test]
    fn visits_types_that_ignore_errors_once() {
        assert_eq!(values_of::<Vec<IgnoresErrors<Letter>>>(), [["ypsilon", "X"]]);
        assert_eq!(
            values_of::<HashMap<String, IgnoresErrors<Letter>>>(),
            [["ypsilon", "X"]]
        );
        assert_eq!(
            values_of::<(IgnoresErrors<Letter>, IgnoresErrors<Deep>)>(),
            [["ypsilon", "X"]]
        );
        assert_eq!(
            values_of::<Wrapped<IgnoresErrors<Vec<IgnoresErrors<Deep>>>>>(),
            [["Two", "One"]]
        );
    }

    #[test]
    fn finds_enums_at_any_depth() {
        let found = values_of::<Option<Outer>>();
        assert_eq!(found, [&["B", "A", "C"][..], &["ypsilon", "X"], &["Two", "One"]]);
        assert!(values_of::<serde_json::Value>().is_empty());
        assert!(values_of::<Vec<(String, u8)>>().is_empty());
    }

    #[test]
    fn separates_enums_of_map_keys() {
        #[derive(Deserialize, PartialEq, Eq, Hash)]
        struct Wrapped(Letter);

        type Map<K> = HashMap<K, Vec<Deep>>;

        let found = trace::<(Vec<Map<Letter>>,)>();
        assert_eq!(found.keys, [["ypsilon", "X"]]);
        assert_eq!(found.values, [["Two", "One"]]);
        assert_eq!(trace::<Map<Wrapped>>().keys, [["ypsilon", "X"]]);
        assert!(trace::<Map<String>>().keys.is_empty());
        assert!(trace::<Outer>().keys.is_empty());
    }

    #[test]
    fn terminates_on_recursive_types() {
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only looked at")]
        struct List(Vec<List>);

        #[derive(Deserialize)]
        #[serde(transparent)]
        #[expect(dead_code, reason = "only looked at")]
        struct Map {
            map: HashMap<bool, Option<Map>>,
        }

        assert!(values_of::<List>().is_empty() && trace::<Map>().maps.is_empty());
    }

    #[test]
    fn finds_enums_in_maps_with_numeric_and_boolean_keys() {
        assert_eq!(
            values_of::<HashMap<u8, HashMap<bool, Vec<Letter>>>>(),
            [["ypsilon", "X"]]
        );
    }
}
