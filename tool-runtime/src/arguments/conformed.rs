//! JSON text that is known to conform, as a serde `Deserializer`: nothing is checked a second time, and what a type
//! says against it is not heard here, the tree is asked then.

use std::fmt::Display;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::feed::RAW;
use super::map_key::Key;
use crate::repair::plain;

/// Text from the beginning of a value on.
#[derive(Debug)]
pub(super) struct Conformed<'de> {
    text: &'de str,
    at: usize,
}

/// The type does not take it, or the text was not what it was said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not taken")]
pub(super) struct NotTaken;

impl Error for NotTaken {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

type Taken<T> = Result<T, NotTaken>;

impl<'de> Conformed<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, at: 0 }
    }

    #[inline]
    fn peek(&self) -> Taken<u8> {
        self.text.as_bytes().get(self.at).copied().ok_or(NotTaken)
    }

    /// The first byte behind white space, not taken yet.
    #[inline]
    fn ahead(&mut self) -> Taken<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Ok(byte),
            }
        }
    }

    #[inline]
    fn skip(&mut self, byte: u8) -> Taken<()> {
        if self.ahead()? != byte {
            return Err(NotTaken);
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Taken<()> {
        self.ahead()?;
        if !self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word))
        {
            return Err(NotTaken);
        }
        self.at += word.len();
        Ok(())
    }

    fn since(&self, start: usize) -> Taken<&'de str> {
        self.text.get(start..self.at).ok_or(NotTaken)
    }

    /// The next string, if nothing in it is escaped; otherwise it is still ahead.
    #[inline]
    fn plain_string(&mut self) -> Taken<Option<&'de str>> {
        self.skip(b'"')?;
        let start = self.at;
        self.at += plain(self.text.as_bytes().get(start..).unwrap_or_default());
        if self.peek()? == b'"' {
            let text = self.since(start)?;
            self.at += 1;
            return Ok(Some(text));
        }
        self.at = start - 1;
        Ok(None)
    }

    #[cold]
    fn escaped_string(&mut self) -> Taken<String> {
        let start = self.at;
        self.skip_string()?;
        serde_json::from_str(self.since(start)?).map_err(|_| NotTaken)
    }

    fn skip_string(&mut self) -> Taken<()> {
        self.skip(b'"')?;
        loop {
            self.at += plain(self.text.as_bytes().get(self.at..).unwrap_or_default());
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => self.at += 2,
            }
        }
    }

    fn number(&mut self) -> Taken<&'de str> {
        self.ahead()?;
        let start = self.at;
        while let Ok(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        self.since(start)
    }

    /// Goes over a value.
    fn skip_value(&mut self) -> Taken<()> {
        let mut open = 0_usize;
        loop {
            match self.ahead()? {
                b'"' => self.skip_string()?,
                b'[' | b'{' => {
                    open += 1;
                    self.at += 1;
                }
                b']' | b'}' => {
                    open = open.checked_sub(1).ok_or(NotTaken)?;
                    self.at += 1;
                }
                b',' | b':' => self.at += 1,
                b't' | b'n' => self.at += 4,
                b'f' => self.at += 5,
                _ => drop(self.number()?),
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Taken<V::Value> {
        match self.plain_string()? {
            Some(text) => visitor.visit_borrowed_str(text),
            None => visitor.visit_string(self.escaped_string()?),
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
        let mut items = Parts {
            json: self,
            close: b']',
            is_first: true,
        };
        let value = visitor.visit_seq(&mut items)?;
        items.end()?;
        Ok(value)
    }

    fn visit_object<V: Visitor<'de>>(&mut self, visitor: V) -> Taken<V::Value> {
        self.skip(b'{')?;
        let mut entries = Parts {
            json: self,
            close: b'}',
            is_first: true,
        };
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

impl<'de> Deserializer<'de> for &mut Conformed<'de> {
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

    hints! {
        visit_boolean: deserialize_bool();
        visit_number: deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
            deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_f64();
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
        let start = self.at;
        let float: f64 = self.number()?.parse().map_err(|_| NotTaken)?;
        if float.abs() > f64::from(f32::MAX) {
            return Err(NotTaken);
        }
        self.at = start;
        self.visit_number(visitor)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        visitor.visit_i128(self.number()?.parse().map_err(|_| NotTaken)?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        visitor.visit_u128(self.number()?.parse().map_err(|_| NotTaken)?)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        if self.ahead()? == b'[' {
            return self.visit_list(visitor);
        }
        match self.plain_string()? {
            Some(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            None => visitor.visit_byte_buf(self.escaped_string()?.into_bytes()),
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
        let start = self.at;
        self.skip_value()?;
        let text = self.since(start)?.to_owned();
        visitor.visit_map(MapDeserializer::new(std::iter::once((RAW, text))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Taken<V::Value> {
        if self.ahead()? == b'{' {
            self.at += 1;
            let value = visitor.visit_enum(Variant(self))?;
            self.skip(b'}')?;
            return Ok(value);
        }
        match self.plain_string()? {
            Some(name) => visitor.visit_enum(BorrowedStrDeserializer::new(name)),
            None => Err(NotTaken),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        self.skip_value()?;
        visitor.visit_unit()
    }
}

/// The items of a list or the entries of an object.
struct Parts<'j, 'de> {
    json: &'j mut Conformed<'de>,
    close: u8,
    is_first: bool,
}

impl Parts<'_, '_> {
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
        let key = self.json.plain_string()?.ok_or(NotTaken)?;
        self.json.skip(b':')?;
        seed.deserialize(Key::new(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Taken<T::Value> {
        seed.deserialize(&mut *self.json)
    }
}

/// An externally tagged variant, behind the bracket that opens it.
struct Variant<'j, 'de>(&'j mut Conformed<'de>);

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
