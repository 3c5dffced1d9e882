//! Reads values of a random type with the calls of serde's derived code, into the text of `Debug`.

use std::fmt::{self, Debug};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde_json::Value;

use super::{Content, FIELDS, Form, Key, Need, Scalar, VARIANTS};

impl<'de> DeserializeSeed<'de> for &Form {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        match self {
            Form::Scalar(scalar) => scalar.deserialize(deserializer),
            Form::Optional(inner) => deserializer.deserialize_option(Optional(inner)),
            Form::List(item) => deserializer.deserialize_seq(List(item)),
            Form::Tuple(items) => deserializer.deserialize_tuple(items.len(), Tuple(items)),
            Form::Map(key, entry) => deserializer.deserialize_map(Entries(*key, entry)),
            Form::Newtype(inner) => deserializer.deserialize_newtype_struct("Newtype", Newtype(inner)),
            Form::Struct(fields) => {
                deserializer.deserialize_struct("Struct", &FIELDS[..fields.len()], Struct(fields))
            }
            Form::Enum(variants) => {
                deserializer.deserialize_enum("Enum", &VARIANTS[..variants.len()], Enum(variants))
            }
        }
    }
}

fn shown<'de, T: Deserialize<'de> + Debug, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
    T::deserialize(deserializer).map(|value| format!("{value:?}"))
}

impl<'de> DeserializeSeed<'de> for Scalar {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        match self {
            Self::Bool => shown::<bool, D>(deserializer),
            Self::I8 => shown::<i8, D>(deserializer),
            Self::U8 => shown::<u8, D>(deserializer),
            Self::I32 => shown::<i32, D>(deserializer),
            Self::U32 => shown::<u32, D>(deserializer),
            Self::I64 => shown::<i64, D>(deserializer),
            Self::U64 => shown::<u64, D>(deserializer),
            Self::F32 => shown::<f32, D>(deserializer),
            Self::F64 => shown::<f64, D>(deserializer),
            Self::Char => shown::<char, D>(deserializer),
            Self::Text => shown::<String, D>(deserializer),
            Self::Unit => shown::<(), D>(deserializer),
            Self::Any => shown::<Value, D>(deserializer),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        match self {
            Self::Text => shown::<String, D>(deserializer),
            Self::I64 => shown::<i64, D>(deserializer),
            Self::U8 => shown::<u8, D>(deserializer),
        }
    }
}

struct Optional<'f>(&'f Form);

impl<'de> Visitor<'de> for Optional<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an option")
    }

    fn visit_none<E>(self) -> Result<String, E> {
        Ok("None".to_owned())
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok("None".to_owned())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        Ok(format!("Some({})", self.0.deserialize(deserializer)?))
    }
}

struct List<'f>(&'f Form);

impl<'de> Visitor<'de> for List<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        let mut shown = Vec::new();
        while let Some(item) = items.next_element_seed(self.0)? {
            shown.push(item);
        }
        Ok(format!("[{}]", shown.join(", ")))
    }
}

struct Tuple<'f>(&'f [Form]);

impl<'de> Visitor<'de> for Tuple<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tuple")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        let mut shown = Vec::new();
        for (place, form) in self.0.iter().enumerate() {
            let item = items.next_element_seed(form)?;
            shown.push(item.ok_or_else(|| A::Error::invalid_length(place, &self))?);
        }
        Ok(format!("({})", shown.join(", ")))
    }
}

struct Entries<'f>(Key, &'f Form);

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<String, A::Error> {
        let mut shown = std::collections::BTreeMap::new();
        while let Some((key, value)) = entries.next_entry_seed(self.0, self.1)? {
            shown.insert(key, value);
        }
        Ok(format!("{shown:?}"))
    }
}

struct Newtype<'f>(&'f Form);

impl<'de> Visitor<'de> for Newtype<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a newtype")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        Ok(format!("Newtype({})", self.0.deserialize(deserializer)?))
    }
}

/// Reads the position of a name from a string or from a number.
struct Named<'n>(&'n [&'static str], bool);

impl<'de> DeserializeSeed<'de> for &Named<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for &Named<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let position = self.0.iter().position(|known| *known == name);
        match position {
            Some(position) => Ok(position),
            // Unknown fields of a struct are skipped.
            None if self.1 => Ok(usize::MAX),
            None => Err(E::custom(format_args!("unknown variant `{name}`"))),
        }
    }
}

struct Struct<'f>(&'f [(Form, Need)]);

impl<'de> Visitor<'de> for Struct<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a struct")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<String, A::Error> {
        let names = Named(&FIELDS[..self.0.len()], true);
        let mut values: Vec<Option<String>> = vec![None; self.0.len()];
        while let Some(position) = entries.next_key_seed(&names)? {
            match (self.0.get(position), values.get_mut(position)) {
                (Some((form, _)), Some(value)) => {
                    if value.is_some() {
                        return Err(A::Error::duplicate_field(FIELDS[position]));
                    }
                    *value = Some(entries.next_value_seed(form)?);
                }
                _ => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        let mut shown = Vec::new();
        for (((form, need), value), name) in self.0.iter().zip(values).zip(FIELDS) {
            let default = form.default().filter(|_| *need == Need::Default);
            let absent = default.or(matches!(form, Form::Optional(_)).then_some("None"));
            let value = value.or(absent.map(str::to_owned));
            let value = value.ok_or_else(|| A::Error::missing_field(name))?;
            shown.push(format!("{name}: {value}"));
        }
        Ok(format!("Struct {{ {} }}", shown.join(", ")))
    }
}

struct Enum<'f>(&'f [Content]);

impl<'de> Visitor<'de> for Enum<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an enum")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<String, A::Error> {
        let names = Named(&VARIANTS[..self.0.len()], false);
        let (position, content) = variant.variant_seed(&names)?;
        let held = match &self.0[position] {
            Content::Unit => content.unit_variant().map(|()| String::new()),
            Content::Newtype(form) => content.newtype_variant_seed(form),
            Content::Tuple(items) => content.tuple_variant(items.len(), Tuple(items)),
            Content::Struct(fields) => content.struct_variant(&FIELDS[..fields.len()], Struct(fields)),
        };
        Ok(format!("{}({})", VARIANTS[position], held?))
    }
}
