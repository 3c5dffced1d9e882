//! Enums in all representations of serde.

use serde_json::json;
use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde::Deserialize;

use crate::definitions::declared::{assert_shown, is_required};

/// Method of matching.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Mode {
    Glob,
    Exact,
}

/// Effort of the search.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Effort {
    /// One look.
    Low,
    /// Unlimited
    /// effort.
    High,
}

#[test]
fn unit_enums_are_one_enum() {
    let mode = json!({ "type": "string", "description": "The value.", "enum": ["glob", "exact"] });
    assert_shown::<Mode>(mode.clone());
    assert_shown::<Option<Mode>>(mode);
    assert!(!is_required::<Option<Mode>>());
    assert_shown::<Vec<Option<Mode>>>(json!({
        "type": "array", "description": "The value.",
        "items": { "type": ["string", "null"], "description": "Method of matching.", "enum": ["glob", "exact", null] },
    }));
}

#[test]
fn documentation_of_variants_is_in_the_description() {
    let effort = |description: &str| {
        json!({
            "type": "string",
            "description": format!("{description}\n- `low`: One look.\n- `high`: Unlimited effort."),
            "enum": ["low", "high"],
        })
    };
    assert_shown::<Effort>(effort("The value."));
    assert_shown::<Option<Effort>>(effort("The value."));
    assert_shown::<Vec<Effort>>(
        json!({ "type": "array", "description": "The value.", "items": effort("Effort of the search.") }),
    );
}

/// Direction.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
enum Way {
    /// Towards the pole.
    North,
    East,
    /// Away from it.
    South,
    West,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Walk {
    /// Start position.
    start: uuid::Uuid,
    /// Target position.
    ways: Vec<Way>,
}

#[test]
fn partly_documented_variants_keep_their_order() {
    let way = |description: &str| {
        json!({
            "type": "string",
            "description": format!("{description}\n- `north`: Towards the pole.\n- `south`: Away from it."),
            "enum": ["north", "east", "south", "west"],
        })
    };
    assert_shown::<Option<Way>>(way("The value."));
    let walk = crate::definitions::declared::schema::<Option<Walk>>();
    assert_eq!(walk["properties"]["ways"]["items"], way("Direction."));
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is looked at")]
enum External {
    Nothing,
    /// Everything there is.
    All,
    /// Number.
    Count(u32),
    /// Position inside a frame.
    Frame {
        /// The left edge.
        left: i32,
    },
}

#[test]
fn externally_tagged() {
    assert_shown::<External>(json!({
        "description": "The value.",
        "oneOf": [
            {
                "type": "string",
                "description": "- `all`: Everything there is.",
                "enum": ["nothing", "all"],
            },
            {
                "type": "object", "description": "Number.",
                "properties": { "count": { "type": "integer", "minimum": 0 } },
                "required": ["count"],
            },
            {
                "type": "object", "description": "Position inside a frame.",
                "properties": { "frame": {
                    "type": "object",
                    "properties": { "left": { "type": "integer", "description": "The left edge." } },
                    "required": ["left"],
                } },
                "required": ["frame"],
            },
        ],
    }));
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is looked at")]
enum Internal {
    Nothing,
    /// A circle.
    Circle {
        /// Distance from the centre to the edge.
        radius: f64,
    },
}

#[test]
fn internally_tagged() {
    let expected = json!({
        "description": "The value.",
        "oneOf": [
            {
                "type": "object",
                "properties": { "kind": { "type": "string", "const": "nothing" } },
                "required": ["kind"],
            },
            {
                "type": "object", "description": "A circle.",
                "properties": {
                    "kind": { "type": "string", "const": "circle" },
                    "radius": { "type": "number", "description": "Distance from the centre to the edge." },
                },
                "required": ["kind", "radius"],
            },
        ],
    });
    assert_shown::<Internal>(expected.clone());
    assert_shown::<Option<Internal>>(expected);
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", tag = "t", content = "c")]
#[expect(dead_code, reason = "only the schema is looked at")]
enum Adjacent {
    Nothing,
    /// Some text.
    Text(String),
}

#[test]
fn adjacently_tagged() {
    assert_shown::<Adjacent>(json!({
        "description": "The value.",
        "oneOf": [
            {
                "type": "object",
                "properties": { "t": { "type": "string", "const": "Nothing" } },
                "required": ["t"],
            },
            {
                "type": "object", "description": "Some text.",
                "properties": { "t": { "type": "string", "const": "Text" }, "c": { "type": "string" } },
                "required": ["t", "c"],
            },
        ],
    }));
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde", untagged)]
#[expect(dead_code, reason = "only the schema is looked at")]
enum Untagged {
    /// A number.
    Number(i64),
    /// Several.
    Several(Vec<i64>),
}

#[test]
fn untagged() {
    let expected = json!({
        "description": "The value.",
        "anyOf": [
            { "type": "integer", "description": "A number." },
            { "type": "array", "description": "Several.", "items": { "type": "integer" } },
        ],
    });
    assert_shown::<Untagged>(expected.clone());
    assert_shown::<Option<Untagged>>(expected);
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Flat {
    /// A.
    a: bool,
    #[serde(flatten)]
    external: External,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_runtime::serde")]
#[expect(dead_code, reason = "only the schema is looked at")]
struct FlatTwice {
    #[serde(flatten)]
    external: External,
    #[serde(flatten)]
    internal: Internal,
}

#[test]
fn flattened() {
    assert_shown::<Flat>(json!({
        "type": "object",
        "description": "The value.",
        "properties": { "a": { "type": "boolean", "description": "A." } },
        "required": ["a"],
        "oneOf": [
            {
                "type": "object", "description": "Everything there is.",
                "properties": { "all": { "type": "null" } },
                "required": ["all"],
            },
            {
                "type": "object", "description": "Number.",
                "properties": { "count": { "type": "integer", "minimum": 0 } },
                "required": ["count"],
            },
            {
                "type": "object", "description": "Position inside a frame.",
                "properties": { "frame": {
                    "type": "object",
                    "properties": { "left": { "type": "integer", "description": "The left edge." } },
                    "required": ["left"],
                } },
                "required": ["frame"],
            },
            {
                "type": "object",
                "properties": { "nothing": { "type": "null" } },
                "required": ["nothing"],
            },
        ],
    }));
    let twice = crate::definitions::declared::schema::<FlatTwice>();
    let unions = twice["allOf"].as_array().unwrap();
    assert_eq!(unions.len(), 2);
    for union in unions {
        for alternative in union["oneOf"].as_array().unwrap() {
            assert_eq!(alternative["type"], "object", "{alternative}");
        }
    }
    let read: Flat = serde_json::from_value(json!({ "a": true, "all": null })).unwrap();
    assert!(matches!(read.external, External::All));
}
