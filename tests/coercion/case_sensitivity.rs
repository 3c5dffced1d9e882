//! `#[arg(case_sensitive)]` applies to a parameter and all values in it: enum values, enum keys of maps, tags.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use tests::runtime::block_on;
use tool_runtime::{Policy, ToolCall, ToolRegistry, tool};

#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
enum Color {
    Red,
    DarkGreen,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only deserialized")]
struct Holder {
    color: Option<Color>,
    max_size: Option<i64>,
    either: Option<Either>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only deserialized")]
enum Either {
    Color(Color),
    Number(i64),
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type")]
#[expect(dead_code, reason = "only deserialized")]
enum Internal {
    Circle { color: Option<Color> },
    Square,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
#[expect(dead_code, reason = "only deserialized")]
enum Adjacent {
    Circle(Color),
    Square,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only deserialized")]
enum External {
    Point,
    Circle(i64),
    Square { color: Color },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only deserialized")]
enum OneWithData {
    Point,
    Circle(i64),
}

macro_rules! parameter {
    ($($name:ident $sensitive:ident: $type:ty;)*) => {
        $(
            /// Accepts a value.
            #[tool]
            async fn $name(
                /// The argument.
                #[arg(name = "it")]
                _it: $type,
            ) {
            }

            /// Accepts a value.
            #[tool]
            async fn $sensitive(
                /// The argument.
                #[arg(name = "it", case_sensitive)]
                _it: $type,
            ) {
            }
        )*

        fn registry(policy: Policy) -> ToolRegistry {
            let mut registry = ToolRegistry::new().with_policy(policy);
            $(registry.register::<$name>().unwrap().register::<$sensitive>().unwrap();)*
            registry
        }
    };
}

parameter! {
    value value_sensitive: Color;
    optional optional_sensitive: Option<Color>;
    list list_sensitive: Vec<Color>;
    set set_sensitive: BTreeSet<Color>;
    lists lists_sensitive: Vec<Vec<Color>>;
    tuple tuple_sensitive: (Color, i64);
    map map_sensitive: BTreeMap<Color, i64>;
    values values_sensitive: BTreeMap<String, Color>;
    object object_sensitive: Holder;
    internal internal_sensitive: Internal;
    internals internals_sensitive: Vec<Internal>;
    adjacent adjacent_sensitive: Adjacent;
    external external_sensitive: External;
    externals externals_sensitive: Vec<External>;
    one_with_data one_with_data_sensitive: OneWithData;
    either either_sensitive: Either;
}

/// Returns the codes and paths of the errors.
fn errors(registry: &ToolRegistry, tool: &str, it: &str) -> Vec<String> {
    let arguments = format!(r#"{{"it":{it}}}"#);
    let outcome = block_on(registry.call(ToolCall::new("1", tool, arguments)));
    let errors = outcome.errors.iter();
    errors
        .map(|issue| format!("{}@{}", issue.code, issue.path))
        .collect()
}

#[test]
fn mark_holds_for_everything_in_a_parameter() {
    let rows = [
        (
            "value",
            r#""DarkGreen""#,
            r#""dark_green""#,
            "enum_out_of_range@/it",
        ),
        ("value", r#""Red""#, r#"" Red""#, "enum_out_of_range@/it"),
        ("optional", r#""Red""#, r#""red""#, "enum_out_of_range@/it"),
        ("list", r#"["Red"]"#, r#"["red"]"#, "enum_out_of_range@/it/0"),
        ("set", r#"["Red"]"#, r#"["RED"]"#, "enum_out_of_range@/it/0"),
        (
            "lists",
            r#"[["Red"]]"#,
            r#"[["RED"]]"#,
            "enum_out_of_range@/it/0/0",
        ),
        ("tuple", r#"["Red",1]"#, r#"["red",1]"#, "enum_out_of_range@/it/0"),
        ("map", r#"{"Red":1}"#, r#"{"red":1}"#, "invalid_map_key@/it/red"),
        ("map", r#"{"Red":1}"#, r#"{" Red":1}"#, "invalid_map_key@/it/ Red"),
        (
            "values",
            r#"{"k":"Red"}"#,
            r#"{"k":"red"}"#,
            "enum_out_of_range@/it/k",
        ),
        (
            "object",
            r#"{"color":"Red"}"#,
            r#"{"color":"red"}"#,
            "enum_out_of_range@/it/color",
        ),
        (
            "object",
            r#"{"either":"Red"}"#,
            r#"{"either":"red"}"#,
            "no_alternative_fits@/it/either",
        ),
        (
            "internal",
            r#"{"type":"Square"}"#,
            r#"{"type":"square"}"#,
            "enum_out_of_range@/it/type",
        ),
        (
            "internal",
            r#"{"type":"Circle","color":"Red"}"#,
            r#"{"type":"Circle","color":"red"}"#,
            "enum_out_of_range@/it/color",
        ),
        (
            "internals",
            r#"[{"type":"Square"}]"#,
            r#"[{"type":"SQUARE"}]"#,
            "enum_out_of_range@/it/0/type",
        ),
        (
            "adjacent",
            r#"{"t":"Square"}"#,
            r#"{"t":"square"}"#,
            "enum_out_of_range@/it/t",
        ),
        (
            "adjacent",
            r#"{"t":"Circle","c":"Red"}"#,
            r#"{"t":"Circle","c":"red"}"#,
            "enum_out_of_range@/it/c",
        ),
        ("external", r#""Point""#, r#""point""#, "no_alternative_fits@/it"),
        (
            "external",
            r#"{"Circle":1}"#,
            r#"{"circle":1}"#,
            "no_alternative_fits@/it",
        ),
        (
            "external",
            r#"{"Square":{"color":"Red"}}"#,
            r#"{"Square":{"color":"red"}}"#,
            "enum_out_of_range@/it/Square/color",
        ),
        (
            "externals",
            r#"[{"Circle":1}]"#,
            r#"[{"circle":1}]"#,
            "no_alternative_fits@/it/0",
        ),
        (
            "one_with_data",
            r#"{"Circle":1}"#,
            r#"{"circle":1}"#,
            "no_alternative_fits@/it",
        ),
        ("either", r#""Red""#, r#""red""#, "no_alternative_fits@/it"),
    ];
    for policy in [Policy::Lenient, Policy::Lossless] {
        let registry = registry(policy);
        for (tool, exact, other, error) in rows {
            let sensitive = format!("{tool}_sensitive");
            for (tool, it) in [(tool, exact), (tool, other), (&sensitive, exact)] {
                let none: [String; 0] = [];
                assert_eq!(errors(&registry, tool, it), none, "{policy:?} {tool} {it}");
            }
            let found = errors(&registry, &sensitive, other);
            assert!(
                found.iter().any(|found| found == error),
                "{policy:?} {sensitive} {other}: {found:?}"
            );
        }
    }
}

/// The attribute applies to values, not to names.
#[test]
fn names_of_properties_are_normalized_all_the_same() {
    let registry = registry(Policy::Lenient);
    let none: [String; 0] = [];
    assert_eq!(
        errors(&registry, "object_sensitive", r#"{"maxSize":1,"Color":"Red"}"#),
        none
    );
    assert_eq!(
        errors(&registry, "internal_sensitive", r#"{"Type":"Circle"}"#),
        none
    );
    assert_eq!(errors(&registry, "object_sensitive", r#"{"max_size":"1"}"#), none);
}
