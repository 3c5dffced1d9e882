//! JSON text that is known to conform, as a serde `Deserializer`.

use std::borrow::Cow;
use std::str::FromStr;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::map_key::{Key, NO_KEY};
use super::node::{self, RAW, fits_single};
use super::not_taken::{NotTaken, Taken};
use crate::arguments::tokens::Tokens;

/// Text from the beginning of a value on.
#[derive(Debug)]
pub(in crate::arguments) struct ConformingText<'de>(Tokens<'de>);

impl<'de> ConformingText<'de> {
    pub(in crate::arguments) fn new(text: &'de str) -> Self {
        Self(Tokens::new(text))
    }

    /// Nothing is left. A type that ignores the error of another may have stopped in the middle.
    pub(in crate::arguments) fn end(&self) -> Taken<()> {
        self.0.is_at_end().then_some(()).ok_or(NotTaken)
    }

    /// The first byte behind white space, not taken yet.
    #[inline]
    pub(super) fn ahead(&mut self) -> Taken<u8> {
        self.0.skip_space();
        self.0.peek().ok_or(NotTaken)
    }

    #[inline]
    pub(super) fn skip(&mut self, byte: u8) -> Taken<()> {
        self.0.skip_space();
        self.0.take(byte).then_some(()).ok_or(NotTaken)
    }

    pub(super) fn word(&mut self, word: &str) -> Taken<()> {
        self.0.skip_space();
        self.0.take_word(word).then_some(()).ok_or(NotTaken)
    }

    #[inline]
    pub(super) fn string(&mut self) -> Taken<Cow<'de, str>> {
        self.0.skip_space();
        Ok(self.0.literal()?.decode()?)
    }

    /// A key, without escapes: the fast path takes no others.
    #[inline]
    pub(super) fn key(&mut self) -> Taken<&'de str> {
        self.0.skip_space();
        let literal = self.0.literal()?;
        self.skip(b':')?;
        literal.is_plain.then_some(literal.inside).ok_or(NotTaken)
    }

    fn number(&mut self) -> Taken<&'de str> {
        self.0.skip_space();
        Ok(self.0.number()?.text)
    }

    /// Goes over a value.
    fn skip_value(&mut self) -> Taken<()> {
        let mut open = 0_usize;
        loop {
            match self.ahead()? {
                b'"' => drop(self.0.literal()?),
                b'[' | b'{' => {
                    open += 1;
                    self.0.at += 1;
                }
                b']' | b'}' => {
                    open = open.checked_sub(1).ok_or(NotTaken)?;
                    self.0.at += 1;
                }
                b',' | b':' => self.0.at += 1,
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => drop(self.number()?),
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Taken<V::Value> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// As `serde_json` does it: an integer if 64 bits hold it (and there is no `-0`), otherwise a float.
    fn visit_number<V: Visitor<'de>>(&mut self, visitor: V) -> Taken<V::Value> {
        let number = self.number()?;
        if let Ok(value) = number.parse() {
            return visitor.visit_u64(value);
        }
        match number.parse() {
            Ok(value) if value != 0 => visitor.visit_i64(value),
            _ => visitor.visit_f64(number.parse().map_err(|_| NotTaken)?),
        }
    }

    /// The same where an integer is wanted: there, `3.0` is one.
    fn visit_integer<V: Visitor<'de>, T: FromStr>(
        &mut self,
        visitor: V,
        visit: fn(V, T) -> Taken<V::Value>,
    ) -> Taken<V::Value> {
        let start = self.0.at;
        let number = self.number()?;
        if let Ok(value) = number.parse() {
            return visitor.visit_u64(value);
        }
        match number.parse() {
            Ok(value) if value != 0 => visitor.visit_i64(value),
            _ => {
                if let Some(value) = node::integer(number) {
                    return visit(visitor, value);
                }
                self.0.at = start;
                self.visit_number(visitor)
            }
        }
    }

    fn visit_boolean<V: Visitor<'de>>(&mut self, visitor: V) -> Taken<V::Value> {
        let is = self.ahead()? == b't';
        self.word(if is { "true" } else { "false" })?;
        visitor.visit_bool(is)
    }

    fn visit_null<V: Visitor<'de>>(&mut self, visitor: V) -> Taken<V::Value> {
        self.word("null")?;
        visitor.visit_unit()
    }

    fn visit_list<V: Visitor<'de>>(&mut self, visitor: V) -> Taken<V::Value> {
        self.skip(b'[')?;
        let mut items = Parts::new(self, b']');
        let value = visitor.visit_seq(&mut items)?;
        items.end()?;
        Ok(value)
    }

    fn visit_object<V: Visitor<'de>>(&mut self, visitor: V) -> Taken<V::Value> {
        self.skip(b'{')?;
        let mut entries = Parts::new(self, b'}');
        let value = visitor.visit_map(&mut entries)?;
        entries.end()?;
        Ok(value)
    }
}

macro_rules! hints {
    ($($way:ident: $($method:ident($($argument:ident: $type:ty),*))*;)*) => {
        $($(#[inline]
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Taken<V::Value> {
            $(let _ = $argument;)*
            self.$way(visitor)
        })*)*
    };
}

impl<'de> Deserializer<'de> for &mut ConformingText<'de> {
    type Error = NotTaken;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        match self.ahead()? {
            b'"' => self.visit_string(visitor),
            b'{' => self.visit_object(visitor),
            b'[' => self.visit_list(visitor),
            b'n' => self.visit_null(visitor),
            b't' | b'f' => self.visit_boolean(visitor),
            _ => self.visit_number(visitor),
        }
    }

    integers! {
        deserialize_i8: visit_i8; deserialize_i16: visit_i16; deserialize_i32: visit_i32; deserialize_i64: visit_i64;
        deserialize_u8: visit_u8; deserialize_u16: visit_u16; deserialize_u32: visit_u32; deserialize_u64: visit_u64;
    }

    hints! {
        visit_boolean: deserialize_bool();
        visit_number: deserialize_f64();
        visit_string: deserialize_char() deserialize_str() deserialize_string() deserialize_identifier();
        visit_null: deserialize_unit() deserialize_unit_struct(name: &'static str);
        visit_list: deserialize_seq() deserialize_tuple(length: usize)
            deserialize_tuple_struct(name: &'static str, length: usize);
        visit_object: deserialize_map();
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Taken<V::Value> {
        match self.ahead()? {
            b'[' => self.visit_list(visitor),
            _ => self.visit_object(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        let start = self.0.at;
        let float: f64 = self.number()?.parse().map_err(|_| NotTaken)?;
        if !fits_single(float) {
            return Err(NotTaken);
        }
        self.0.at = start;
        self.visit_number(visitor)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        visitor.visit_i128(node::integer(self.number()?).ok_or(NotTaken)?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        visitor.visit_u128(node::integer(self.number()?).ok_or(NotTaken)?)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        if self.ahead()? == b'[' {
            return self.visit_list(visitor);
        }
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Cow::Owned(text) => visitor.visit_byte_buf(text.into_bytes()),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        match self.ahead()? {
            b'n' => self.word("null").and_then(|()| visitor.visit_none()),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Taken<V::Value> {
        if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        self.ahead()?;
        let start = self.0.at;
        self.skip_value()?;
        let text = self.0.since(start).to_owned();
        visitor.visit_map(MapDeserializer::new(std::iter::once((RAW, text))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Taken<V::Value> {
        if self.ahead()? == b'{' {
            self.0.at += 1;
            let value = visitor.visit_enum(Variant(self))?;
            self.skip(b'}')?;
            return Ok(value);
        }
        match self.string()? {
            Cow::Borrowed(name) => visitor.visit_enum(BorrowedStrDeserializer::new(name)),
            Cow::Owned(name) => visitor.visit_enum(StringDeserializer::new(name)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        self.skip_value()?;
        visitor.visit_unit()
    }
}

/// The items of a list or the entries of an object.
struct Parts<'j, 'de> {
    json: &'j mut ConformingText<'de>,
    close: u8,
    is_first: bool,
}

impl<'j, 'de> Parts<'j, 'de> {
    /// Those up to the bracket that closes them; the one that opens them was read.
    fn new(json: &'j mut ConformingText<'de>, close: u8) -> Self {
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

    /// A type that leaves parts unread does not take them.
    fn end(&mut self) -> Taken<()> {
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
        if !self.go_on()? {
            return Ok(None);
        }
        let key = self.json.key()?;
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
struct Variant<'j, 'de>(&'j mut ConformingText<'de>);

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = NotTaken;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Taken<(T::Value, Self)> {
        let name = self.0.key()?;
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
