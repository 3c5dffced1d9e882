//! Keys of an object whose schema is an unmergeable `allOf`: each part declares some of the keys.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tests::dynamic_tool;
use tool_runtime::schemars::JsonSchema;
use tool_runtime::{Policy, ToolCall, ToolRegistry, tool};

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shape {
    Circle {
        /// Size in millimetres.
        radius_mm: u32,
    },
    Square {
        /// Size in millimetres.
        side_mm: u32,
    },
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "pattern", rename_all = "snake_case")]
enum Paint {
    Plain {
        /// A name.
        main_color: String,
    },
    Striped {
        /// A name.
        stripe_color: String,
        /// Size in millimetres.
        #[serde(skip_serializing_if = "Option::is_none")]
        stripe_width: Option<u32>,
    },
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tile {
    /// Number of tiles.
    item_count: u8,
    #[serde(flatten)]
    shape: Shape,
    #[serde(flatten)]
    paint: Paint,
}

/// Order tiles.
#[tool]
async fn order_tiles(
    /// Which.
    tile: Tile,
) -> Value {
    serde_json::to_value(tile).unwrap()
}

/// Returns the object that the functions of a typed and a dynamic tool receive, with the issues; both must be equal.
async fn order(tile: &Value) -> (Option<Value>, Vec<String>) {
    let mut registry = ToolRegistry::new();
    registry.register::<order_tiles>().unwrap();
    let dynamic = dynamic_tool::registry(&registry.tool_definitions()[0].input_schema);
    let arguments = json!({ "tile": tile });
    let outcome = registry
        .call(ToolCall::new("id", "order_tiles", arguments.clone()))
        .await;
    let issues = |errors: &[tool_runtime::Issue], warnings: &[tool_runtime::Issue]| -> Vec<String> {
        let all = errors.iter().chain(warnings);
        all.map(|issue| format!("{} {}", issue.code, issue.path))
            .collect()
    };
    let typed = issues(&outcome.errors, &outcome.warnings);
    let request = dynamic_tool::prepare(&dynamic, arguments, Policy::Lenient);
    assert_eq!(issues(&request.errors, &request.warnings), typed, "{tile}");
    let given = outcome.result.text().filter(|_| outcome.errors.is_empty());
    (given.map(|text| text.parse().unwrap()), typed)
}

#[tokio::test]
async fn each_part_reads_other_spellings_of_its_keys() {
    let tile = json!({
        "item_count": 1, "kind": "square", "side_mm": 2, "pattern": "striped", "stripe_color": "red", "stripe_width": 3,
    });
    assert_eq!(order(&tile).await, (Some(tile.clone()), vec![]));
    for (name, other) in [
        ("item_count", "itemCount"),
        ("kind", "Kind"),
        ("side_mm", "sideMm"),
        ("pattern", "Pattern"),
        ("stripe_color", "stripeColor"),
        ("stripe_width", "STRIPE-WIDTH"),
    ] {
        let mut sent = tile.clone();
        let value = sent.as_object_mut().unwrap().remove(name).unwrap();
        sent[other] = value;
        let renamed = format!("parameter_name_normalized /tile/{name}");
        assert_eq!(
            order(&sent).await,
            (Some(tile.clone()), vec![renamed.clone()]),
            "{other}"
        );
        // Also next to an error.
        if name != "item_count" {
            sent["item_count"] = json!("many");
            let error = "unsupported_integer_literal /tile/item_count".to_owned();
            assert_eq!(order(&sent).await, (None, vec![error, renamed]), "{other}");
        }
    }
}

#[tokio::test]
async fn keys_outside_all_parts_are_unknown() {
    let tile =
        json!({ "item_count": 1, "kind": "circle", "radius_mm": 2, "pattern": "plain", "main_color": "red" });
    let mut sent = tile.clone();
    sent["main_colour"] = json!("blue");
    let unknown = "unknown_property /tile/main_colour".to_owned();
    assert_eq!(order(&sent).await, (Some(tile), vec![unknown.clone()]));
    sent.as_object_mut().unwrap().remove("main_color");
    let missing = "missing_required /tile/main_color".to_owned();
    assert_eq!(order(&sent).await, (None, vec![missing, unknown]));
}

#[tokio::test]
async fn unknown_key_lists_the_keys_of_all_parts() {
    let mut registry = ToolRegistry::new();
    registry.register::<order_tiles>().unwrap();
    let tile = json!({ "item_count": 1, "kind": "circle", "radius_mm": 2, "pattern": "plain", "main_color": "red", "x": 1 });
    let outcome = registry
        .call(ToolCall::new("id", "order_tiles", json!({ "tile": tile })))
        .await;
    let messages: Vec<_> = outcome.warnings.iter().map(ToString::to_string).collect();
    let expected = "unknown_property:x at /tile/x: unknown property; expected one of `item_count`, `kind`, `radius_mm`, \
         `side_mm`, `pattern`, `main_color`, `stripe_color`, `stripe_width`";
    assert_eq!(messages, [expected]);
}

/// A pattern may declare a key.
#[test]
fn keys_that_match_a_pattern_of_a_part_are_known() {
    let object = |name: &str| json!({ "type": "object", "properties": { name: { "type": "integer" } }, "required": [name] });
    let schema = json!({ "type": "object", "properties": { "x": { "allOf": [
        { "anyOf": [object("a"), object("b")] },
        { "anyOf": [object("c"), object("d")] },
        { "patternProperties": { "^n_": { "type": "integer" } } },
    ] } } });
    let registry = dynamic_tool::registry(&schema);
    let sent = json!({ "x": { "a": 1, "c": 2, "n_1": "3", "m_1": 4 } });
    let request = dynamic_tool::prepare(&registry, sent, Policy::Lenient);
    let warnings: Vec<_> = request
        .warnings
        .iter()
        .map(|issue| format!("{} {}", issue.code, issue.path))
        .collect();
    assert_eq!(
        warnings,
        [
            "string_literal_converted_to_integer /x/n_1",
            "unknown_property /x/m_1"
        ]
    );
    assert!(request.errors.is_empty());
}
