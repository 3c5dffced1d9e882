//! [`Tracer`]: a deserializer that follows a path through a type.

use std::any::type_name;
use std::cell::RefCell;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::{Deserializer, forward_to_deserialize_any};

use super::enums::Names;
use super::findings::{Findings, RecordFindings, Visited};
use super::key_tracer::KeyTracer;
use super::trace_error::TraceError;
use crate::schema::generate::location::Location;
use crate::schema::keywords::marks;

/// A deserializer that follows a path (the index of a field, a variant …) and returns an error at its end.
#[derive(Clone)]
pub(super) struct Tracer<'a> {
    pub(super) path: &'a [usize],
    pub(super) location: Location<'a>,
    /// Whether the value is directly in an `Option`.
    pub(super) is_optional: bool,
    pub(super) findings: &'a RefCell<Findings>,
}

impl Tracer<'_> {
    /// Follows the next branch of the path. At the end of the path, records the number of branches and returns an error.
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

    /// Deserializes an internally tagged enum, if the schema has one. Each variant is entered with only its tag, so that its
    /// content is an empty object. A type that expects another value returns an error, which is recorded.
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
        // The content is deserialized after this method returns, so its error is the result of the whole trace.
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
        self.findings.borrow_mut().enums.add_values(variants);
        let (key, tracer) = self.descend_named::<V>(name, variants)?;
        let variant = tracer.location.variant(key);
        visitor.visit_enum(SingleAccess::new(key.to_owned(), &tracer, variant))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        identifier ignored_any
    }
}

/// Access to a single field, element, entry or variant.
struct SingleAccess<'a> {
    key: String,
    /// Location of the container.
    pointer: Option<String>,
    tracer: Tracer<'a>,
    is_used: bool,
}

impl<'a> SingleAccess<'a> {
    /// Creates the access to the value with this key and location.
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

    /// Returns an error from the second call on, since a type that ignores errors would request elements forever.
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
