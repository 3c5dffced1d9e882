//! Types that no call can satisfy: errors of the registration, with their path.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde_json::json;
use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde::Deserialize;

use crate::definitions::declared::{assert_shown, definition, refusal};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct First {
    /// The id of the first.
    id: String,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Second {
    /// Name.
    name: String,
    /// The id of the second.
    id: String,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Both {
    #[serde(flatten)]
    first: First,
    #[serde(flatten)]
    second: Second,
}

/// A newtype hides the fields from schemars.
#[derive(Deserialize, JsonSchema)]
struct Wrapped(#[expect(dead_code, reason = "only the schema is looked at")] First);

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct BothWrapped {
    #[serde(flatten)]
    first: Wrapped,
    #[serde(flatten)]
    second: Second,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "id")]
#[expect(dead_code, reason = "only the schema is looked at")]
enum TaggedById {
    One(Second),
    Other,
}

#[test]
fn rejects_duplicates_in_required() {
    for (refused, object, places) in [
        (refusal::<Both>(), "/properties/it", [0, 2]),
        (refusal::<BothWrapped>(), "/properties/it", [0, 2]),
        (
            refusal::<Vec<TaggedById>>(),
            "/properties/it/items/oneOf/0",
            [0, 2],
        ),
    ] {
        let [first, second] = places.map(|place| format!("{object}/required/{place}"));
        assert_eq!(
            refused,
            format!(
                "the schema of `takes` is invalid at `{second}`: \"id\" is required twice, here and at `{first}`: two flattened \
                 structs have a field of this name, or a tag has the name of a field; rename one of the two"
            )
        );
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "only the schema is looked at")]
enum Shape {
    Point,
    Circle(f64),
    Polygon { corners: u8 },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Content<T> {
    Value(T),
}

#[derive(Deserialize, JsonSchema)]
struct Unit;

#[derive(Deserialize, JsonSchema)]
enum Plain {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
enum Variants {
    Text { text: String },
    Number { number: u8 },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Drawing {
    /// Shapes of the drawing.
    shapes: BTreeMap<String, Vec<Option<Shape>>>,
}

#[test]
fn rejects_tagged_variants_that_are_no_objects() {
    let reason = |name: &str, expected: &str| {
        format!(
            "no call can reach the variant `{name}`: it has the tag `kind` inside an object, and its content is {expected}; write a \
             variant with fields, or add `content = \"value\"` beside `tag = \"kind\"`"
        )
    };
    let at = |path: &str, reason: String| format!("the schema of `takes` is invalid at `{path}`: {reason}");
    assert_eq!(
        refusal::<Shape>(),
        at("/properties/it/oneOf/1", reason("Circle", "f64"))
    );
    assert_eq!(
        refusal::<Drawing>(),
        at(
            "/properties/it/properties/shapes/additionalProperties/items/anyOf/0/oneOf/1",
            reason("Circle", "f64")
        )
    );
    for (refused, expected) in [
        (refusal::<Content<String>>(), "a string"),
        (refusal::<Content<bool>>(), "a boolean"),
        (refusal::<Content<Vec<u8>>>(), "a sequence"),
        (refusal::<Content<Option<u8>>>(), "u8"),
        (refusal::<Content<(u8, u8)>>(), "a tuple of size 2"),
    ] {
        assert!(refused.ends_with(&reason("Value", expected)), "{refused}");
    }
    // The schema is an object and a string.
    assert!(refusal::<Content<Plain>>().contains("no value is valid here"));
}

#[test]
fn accepts_tagged_variants_that_are_objects() {
    definition::<Content<First>>();
    definition::<Content<BTreeMap<String, u8>>>();
    definition::<Content<Unit>>();
    definition::<Content<Variants>>();
    definition::<Content<Content<First>>>();
    definition::<Content<Option<First>>>();
    definition::<Content<serde_json::Value>>();
}

#[derive(Deserialize, JsonSchema)]
enum Never {}

#[derive(Deserialize, JsonSchema)]
enum Sometimes {
    /// Variant that can be sent.
    Yes,
    /// Variant that cannot be sent.
    No(Never),
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Endless {
    /// Second variant.
    inner: Box<Endless>,
}

#[test]
fn rejects_types_without_values() {
    for (refused, path) in [
        (refusal::<Never>(), "/properties/it"),
        (refusal::<Sometimes>(), "/properties/it/oneOf/1/properties/No"),
        (refusal::<(u8, Never)>(), "/properties/it"),
        (refusal::<Endless>(), "/properties/it"),
    ] {
        let expected = format!(
            "the schema of `takes` is invalid at `{path}`: no value is valid here, so that no call can reach it: its type is an enum \
             without variants, contains itself in each of its values, or is tagged and no object; change or remove it"
        );
        assert_eq!(refused, expected);
    }
    // The empty list is valid.
    definition::<Vec<Never>>();
}

/// `format: "ip"` is specific to schemars.
#[test]
fn addresses_of_both_kinds_have_no_format() {
    assert_shown::<IpAddr>(json!({ "type": "string", "description": "The value." }));
    assert_shown::<Ipv4Addr>(json!({ "type": "string", "description": "The value.", "format": "ipv4" }));
}
