//! The parts of a value that is known to conform, one after the other: items, entries, the content of a variant.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::text::{Conformed, NotTaken, Taken};
use crate::arguments::map_key::{Key, NO_KEY};

/// The items of a list or the entries of an object.
pub(super) struct Parts<'j, 'de> {
    json: &'j mut Conformed<'de>,
    close: u8,
    is_first: bool,
}

impl<'j, 'de> Parts<'j, 'de> {
    /// Those up to the bracket that closes them; the one that opens them was read.
    pub(super) fn new(json: &'j mut Conformed<'de>, close: u8) -> Self {
        Self {
            json,
            close,
            is_first: true,
        }
    }

    /// Whether there is one more.
    #[inline]
    fn go_on(&mut self) -> Taken<bool> {
        if self.json.ahead()? == self.close {
            return Ok(false);
        }
        if !std::mem::take(&mut self.is_first) {
            self.json.skip(b',')?;
        }
        Ok(true)
    }

    /// The next key, with its colon; `None` when there is none any more.
    #[inline]
    fn key(&mut self) -> Taken<Option<&'de str>> {
        if !self.is_first
            && let Some(key) = self.json.compact_key()
        {
            return Ok(Some(key));
        }
        if !self.go_on()? {
            return Ok(None);
        }
        let key = self.json.plain_string()?.ok_or(NotTaken)?;
        self.json.skip(b':')?;
        Ok(Some(key))
    }

    /// A type that leaves parts unread does not take them.
    pub(super) fn end(&mut self) -> Taken<()> {
        self.json.skip(self.close)
    }
}

impl<'de> SeqAccess<'de> for &mut Parts<'_, 'de> {
    type Error = NotTaken;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Taken<Option<T::Value>> {
        if !self.go_on()? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.json).map(Some)
    }
}

impl<'de> MapAccess<'de> for &mut Parts<'_, 'de> {
    type Error = NotTaken;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Taken<Option<K::Value>> {
        let Some(key) = self.key()? else {
            return Ok(None);
        };
        if key.starts_with(NO_KEY) {
            return Err(NotTaken);
        }
        seed.deserialize(Key::new(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Taken<T::Value> {
        seed.deserialize(&mut *self.json)
    }
}

/// An externally tagged variant, behind the bracket that opens it.
pub(super) struct Variant<'j, 'de>(pub(super) &'j mut Conformed<'de>);

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = NotTaken;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Taken<(T::Value, Self)> {
        let name = self.0.plain_string()?.ok_or(NotTaken)?;
        self.0.skip(b':')?;
        Ok((
            seed.deserialize(BorrowedStrDeserializer::<NotTaken>::new(name))?,
            self,
        ))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = NotTaken;

    fn unit_variant(self) -> Taken<()> {
        self.0.word("null")
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Taken<T::Value> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Taken<V::Value> {
        self.0.visit_list(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Taken<V::Value> {
        self.0.visit_object(visitor)
    }
}
