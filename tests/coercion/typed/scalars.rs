//! A single number, boolean, string or enum value.

use std::borrow::Cow;
use std::num::NonZeroU32;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use uuid::Uuid;

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Read,
    Write,
    Append,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    All,
    None,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub enum Single {
    Fixed,
}

/// A type that accepts fewer values than its schema.
#[derive(Serialize)]
pub struct Even(u32);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        if number % 2 == 0 {
            Ok(Self(number))
        } else {
            Err(serde::de::Error::custom("send an even number"))
        }
    }
}

impl JsonSchema for Even {
    fn schema_name() -> Cow<'static, str> {
        "Even".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        u32::json_schema(generator)
    }
}

echo! {
    null_only(());
    integer(i64);
    optional_integer(Option<i64>);
    default_integer(#[arg(default = 10)] i64);
    integer_i8(i8);
    integer_u8(u8);
    integer_i16(i16);
    integer_u16(u16);
    integer_i32(i32);
    integer_u32(u32);
    integer_u64(u64);
    integer_i128(i128);
    integer_u128(u128);
    number(f64);
    optional_number(Option<f64>);
    boolean(bool);
    optional_boolean(Option<bool>);
    default_boolean(#[arg(default = true)] bool);
    string(String);
    optional_string(Option<String>);
    default_string(#[arg(default = "*")] String);
    one_char(char);
    anything(Value);
    mode(Mode);
    optional_mode(Option<Mode>);
    optional_scope(Option<Scope>);
    optional_length(#[arg(length = 2..=4)] Option<String>);
    optional_pattern(#[arg(pattern = "^[a-z]+$")] Option<String>);
    one_uuid(Uuid);
    optional_uuid(Option<Uuid>);
    case_sensitive_mode(#[arg(values = ["read", "write"], case_sensitive)] String);
    twin_enum(#[arg(values = ["read", "Read", "write"])] String);
    twin_separators(#[arg(values = ["a_b", "a-b"])] String);
    many_twins(#[arg(values = ["Red", "red", "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"])] String);
    digit_enum(#[arg(values = ["1", "2"])] String);
    level(#[arg(values = [1, 2, 3])] i64);
    optional_level(#[arg(values = [1, 2, 3])] Option<i64>);
    single_value(Single);
    ranged(#[arg(range = 1..=10)] i64);
    half_open(#[arg(range = 0..10)] i64);
    ranged_number(#[arg(range = -1.5..=1.5)] f64);
    length(#[arg(length = 2..=4)] String);
    pattern(#[arg(pattern = "^[a-z]+$")] String);
    loose_pattern(#[arg(pattern = "b+")] String);
    unicode_pattern(#[arg(pattern = r"^[\p{L}\p{N} ._\-]+$")] String);
    not_blank(#[arg(not_blank)] String);
    strict_integer(#[arg(strict)] i64);
    non_zero(NonZeroU32);
    even_number(Even);
}
