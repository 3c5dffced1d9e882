//! Types that ignore the errors of inner types. The deserializer does not receive the error, and must not continue as if the value had been
//! read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::num::NonZeroU8;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value, json};

use super::custom::{Bytes, First, Raw, Seen, Variants, Wrapped};
use super::enums::{Adjacent, External, Internal, Kind, Untagged};
use super::structs::{Flat, Patch, Point, Triple, Unit};
use crate::properties::typed::probe::{Probe, Reader, answer};

/// A value that is missing if its type rejects the input.
#[derive(Debug)]
pub struct OrNothing<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrNothing<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).ok()))
    }
}

impl<T> JsonSchema for OrNothing<T> {
    fn schema_name() -> Cow<'static, str> {
        "OrNothing".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

/// A field that may ignore errors, before fields whose names its parts may have.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Around {
    a: OrNothing<BTreeMap<String, Ipv4Addr>>,
    b: OrNothing<Vec<NonZeroU8>>,
    x: Option<Value>,
    #[serde(default, deserialize_with = "or_default")]
    y: String,
}

#[expect(clippy::unnecessary_wraps, reason = "serde wants a `Result`")]
fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(T::deserialize(deserializer).unwrap_or_default())
}

/// Text of the field.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct AroundWritten {
    a: BTreeMap<String, Ipv4Addr>,
    b: Vec<u8>,
    x: Option<Value>,
    y: String,
}

/// Declares and lists tools with one parameter that accepts any value. Random inputs mostly match the inner type.
///
/// A type that ignores errors is never inside another one: the inner type may be read incompletely, and the outer type would hide this.
/// Types that request raw text, or another type than they accept, do not ignore errors either, since a tree provides more.
macro_rules! ignored_errors {
    ($($name:ident: $type:ty => $written:ty;)*) => {
        pub fn probes() -> Vec<Probe> {
            vec![$({
                /// Answers with its argument, and with who read it.
                #[tool_runtime::tool]
                async fn $name(
                    /// The argument.
                    it: $type,
                    /// Records the deserializer.
                    reader: Reader,
                ) -> String {
                    answer(&it, reader)
                }
                let mut probe = Probe::new::<$name, $type>(stringify!($name));
                probe.schema["properties"]["it"] = json!({ "anyOf": [schema_of::<$written>(), {}] });
                probe
            }),*]
        }
    };
}

fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().into()
}

ignored_errors! {
    no_bool: OrNothing<bool> => bool;
    no_i8: OrNothing<i8> => i8;
    no_i64: OrNothing<i64> => i64;
    no_i128: OrNothing<i128> => i128;
    no_u8: OrNothing<u8> => u8;
    no_u64: OrNothing<u64> => u64;
    no_u128: OrNothing<u128> => u128;
    no_f32: OrNothing<f32> => f32;
    no_f64: OrNothing<f64> => f64;
    no_char: OrNothing<char> => char;
    no_string: OrNothing<String> => String;
    no_unit: OrNothing<()> => ();
    no_option: OrNothing<Option<u8>> => Option<u8>;
    no_address: OrNothing<Ipv4Addr> => Ipv4Addr;
    no_number: OrNothing<Number> => Number;
    no_object: OrNothing<Map<String, Value>> => Map<String, Value>;
    no_value: OrNothing<Value> => Value;
    no_raw: OrNothing<Raw> => Raw;
    no_list: OrNothing<Vec<i16>> => Vec<i16>;
    no_set: OrNothing<BTreeSet<u8>> => BTreeSet<u8>;
    no_pair: OrNothing<(u8, Option<bool>)> => (u8, Option<bool>);
    no_array: OrNothing<[f32; 2]> => [f32; 2];
    no_map: OrNothing<BTreeMap<String, i8>> => BTreeMap<String, i8>;
    no_map_by_integer: OrNothing<BTreeMap<i64, bool>> => BTreeMap<i64, bool>;
    no_map_by_boolean: OrNothing<BTreeMap<bool, f64>> => BTreeMap<bool, f64>;
    no_map_by_kind: OrNothing<BTreeMap<Kind, u8>> => BTreeMap<Kind, u8>;
    no_point: OrNothing<Point> => Point;
    no_triple: OrNothing<Triple> => Triple;
    no_unit_struct: OrNothing<Unit> => Unit;
    no_flat: OrNothing<Flat> => Flat;
    no_patch: OrNothing<Patch> => Patch;
    no_kind: OrNothing<Kind> => Kind;
    no_external: OrNothing<External> => External;
    no_internal: OrNothing<Internal> => Internal;
    no_adjacent: OrNothing<Adjacent> => Adjacent;
    no_untagged: OrNothing<Untagged> => Untagged;
    no_bytes: OrNothing<Bytes> => Bytes;
    no_seen: OrNothing<Seen> => Seen;
    no_wrapped: OrNothing<Wrapped> => Wrapped;
    no_variants: OrNothing<Variants> => Variants;
    no_first: OrNothing<First> => First;
    some_in_list: Vec<OrNothing<u8>> => Vec<u16>;
    some_lists_in_list: Vec<OrNothing<Vec<i8>>> => Vec<Vec<i16>>;
    some_in_map: BTreeMap<String, OrNothing<BTreeMap<String, u8>>> => BTreeMap<String, BTreeMap<String, u16>>;
    some_in_pair: (OrNothing<Triple>, OrNothing<External>) => (Triple, External);
    an_around: Around => AroundWritten;
    some_arounds: Vec<Around> => Vec<AroundWritten>;
}
