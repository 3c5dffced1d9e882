//! Arguments that are known to conform, as serde `Deserializer`s: nothing is checked a second time, and what a type
//! says against it is not heard here, the tree is asked then. Of JSON text in most of these files, of a value in one.

/// Asks for an integer of each width; above the files that use it.
macro_rules! integers {
    ($($method:ident: $visit:ident;)*) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
            self.visit_integer(visitor, V::$visit)
        })*
    };
}

mod text;
mod parts;
mod value;

use std::str::FromStr;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer, StringDeserializer};
use serde::de::{Deserializer, Visitor};

use super::feed::{self, RAW, fits_single};
use parts::{Parts, Variant};
pub(super) use text::Conformed;
use text::{NotTaken, Taken};
pub(super) use value::ConformedValue;

impl<'de> Conformed<'de> {
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

    /// The same where an integer is wanted: there, `3.0` is one.
    fn visit_integer<V: Visitor<'de>, T: FromStr>(
        &mut self,
        visitor: V,
        visit: fn(V, T) -> Taken<V::Value>,
    ) -> Taken<V::Value> {
        let start = self.at;
        let number = self.number()?;
        if let Ok(value) = number.parse() {
            return visitor.visit_u64(value);
        }
        match number.parse() {
            Ok(value) if value != 0 => visitor.visit_i64(value),
            _ => {
                if let Some(value) = feed::integer(number) {
                    return visit(visitor, value);
                }
                self.at = start;
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
        let start = self.at;
        let float: f64 = self.number()?.parse().map_err(|_| NotTaken)?;
        if !fits_single(float) {
            return Err(NotTaken);
        }
        self.at = start;
        self.visit_number(visitor)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        visitor.visit_i128(feed::integer(self.number()?).ok_or(NotTaken)?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        visitor.visit_u128(feed::integer(self.number()?).ok_or(NotTaken)?)
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
            None => visitor.visit_enum(StringDeserializer::new(self.escaped_string()?)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Taken<V::Value> {
        self.skip_value()?;
        visitor.visit_unit()
    }
}
