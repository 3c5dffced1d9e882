//! Enums with data, in all four representations of serde.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Internal {
    Circle {
        /// Distance from the centre to the edge.
        radius: f64,
    },
    Square {
        /// Distance from corner to corner.
        side: i64,
    },
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "t", content = "c", rename_all = "snake_case")]
pub enum Adjacent {
    Number(i64),
    Text(String),
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum External {
    Nothing,
    BigCircle {
        /// Distance from the centre to the edge.
        radius: f64,
    },
    Square(i64),
}

/// Declares an untagged enum.
macro_rules! untagged {
    ($($name:ident($($variant:ident($type:ty)),*);)*) => {
        $(
            #[derive(Deserialize, Serialize, JsonSchema)]
            #[serde(untagged)]
            pub enum $name {
                $($variant($type),)*
            }
        )*
    };
}

untagged! {
    IntegerOrBoolean(Integer(i64), Boolean(bool));
    IntegerOrString(Integer(i64), String(String));
    IntegerOrNumber(Integer(i64), Number(f64));
    IntegerOrList(Integer(i64), List(Vec<i64>));
    ListsOfTwo(Integers(Vec<i64>), Strings(Vec<String>));
    StringOrObject(String(String), Object(File));
    StringOrList(String(String), List(Vec<String>));
    TwoObjects(A(A), B(B));
    SmallOrString(Small(i32), String(String));
    ByteOrString(Byte(u8), String(String));
    SmallOrList(Small(i32), List(Vec<i64>));
    ObjectOrObjects(Object(A), List(Vec<Both>));
    FullOrShort(Full(Full), Short(A));
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct File {
    /// Position of the shape.
    path: String,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct A {
    /// A number.
    a: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct B {
    /// A number.
    b: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Both {
    /// A number.
    a: i64,
    /// A number.
    b: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Full {
    /// A number.
    a: i64,
    /// Two numbers.
    b: Pair,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Pair {
    /// A number.
    x: i64,
    /// A number.
    y: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RangeOrStart {
    Range {
        /// The first.
        from: i64,
        /// The last.
        to: i64,
    },
    Start {
        /// The first.
        from: i64,
    },
}

echo_nested! {
    internal_tag(Internal);
    adjacent_tag(Adjacent);
    external_tag(External);
    integer_or_boolean(IntegerOrBoolean);
    optional_integer_or_boolean(Option<IntegerOrBoolean>);
    integer_or_string(IntegerOrString);
    integer_or_number(IntegerOrNumber);
    integers_or_strings(Vec<IntegerOrString>);
    integer_or_list(IntegerOrList);
    lists_of_two(ListsOfTwo);
    string_or_object(StringOrObject);
    string_or_list(StringOrList);
    two_objects(TwoObjects);
    range_or_start(RangeOrStart);
    ranges_or_starts(Vec<RangeOrStart>);
    small_or_string(SmallOrString);
    byte_or_string(ByteOrString);
    small_or_list(SmallOrList);
    object_or_objects(ObjectOrObjects);
    full_or_short(FullOrShort);
    union_list(Vec<IntegerOrBoolean>);
    tag_list(Vec<Internal>);
}
