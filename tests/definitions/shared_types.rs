//! Types with several uses: one definition for each, if that is shorter.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::dynamic_tool::{self, POLICIES};
use tests::instances;
use tests::random::Random;
use tool_runtime::format::{anthropic, mcp, openai};
use tool_runtime::schemars::{self, JsonSchema};
use tool_runtime::serde::Deserialize;
use tool_runtime::{ToolDefinition, ToolRegistry, tool};

use crate::definitions::declared::{definition, registered};

fn bytes(definition: &ToolDefinition) -> usize {
    serde_json::to_string(definition).unwrap().len()
}

/// A length.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
enum Length {
    /// The browser decides.
    Auto,
    /// Pixels of the screen.
    Px(f64),
    /// Multiples of the font's size.
    Em(f64),
    /// Percent of the parent's size.
    Percent(f64),
}

/// A color.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "model")]
#[expect(dead_code, reason = "only the schema is looked at")]
enum Color {
    /// Red, green and blue.
    Rgb {
        /// From 0 to 255.
        red: u8,
        /// From 0 to 255.
        green: u8,
        /// From 0 to 255.
        blue: u8,
    },
    /// A color by its name.
    Named {
        /// CSS name of the color.
        name: String,
    },
}

/// The four sides of a box.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Sides {
    /// Above.
    top: Option<Length>,
    /// Margin on the right.
    right: Option<Length>,
    /// Below.
    bottom: Option<Length>,
    /// Margin on the left.
    left: Option<Length>,
}

/// One side of a border.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Border {
    /// Width.
    width: Length,
    /// Color.
    color: Option<Color>,
}

/// The style of an element.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Style {
    /// The width.
    width: Option<Length>,
    /// The height.
    height: Option<Length>,
    /// Outside the border.
    margin: Option<Sides>,
    /// Inside the border.
    padding: Option<Sides>,
    /// The border above.
    border_top: Option<Border>,
    /// The border below.
    border_bottom: Option<Border>,
    /// Style of the text.
    color: Option<Color>,
    /// Color of the background.
    background: Option<Color>,
}

/// The styles of a page.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct StyleSheet {
    /// Style of headings.
    heading: Style,
    /// Style of paragraphs.
    paragraph: Style,
    /// Style of links.
    link: Style,
    /// Style of links below the pointer.
    link_hover: Option<Style>,
    /// Style of quotations.
    quote: Style,
    /// Style of tables.
    table: Style,
    /// Selection by class.
    classes: std::collections::BTreeMap<String, Style>,
}

#[test]
fn each_type_is_defined_once() {
    let definition = definition::<StyleSheet>();
    let schema = &definition.input_schema;
    let names: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["Style", "Length", "Sides", "Border", "Color"]);
    assert!(
        bytes(&definition) < 4_500,
        "{} bytes: {schema}",
        bytes(&definition)
    );
    let heading = json!({ "$ref": "#/$defs/Style", "description": "Style of headings." });
    assert_eq!(schema["properties"]["it"]["properties"]["heading"], heading);
    assert_eq!(
        schema["$defs"]["Style"]["description"],
        "The style of an element."
    );
    assert_eq!(schema["$defs"]["Border"]["required"], json!(["width"]));
}

macro_rules! levels {
    ($leaf:ident $($level:ident of $inner:ident),*) => {
        /// The innermost level.
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct $leaf {
            /// Any text.
            text: String,
        }

        $(
            /// A level between others.
            #[derive(Deserialize, JsonSchema)]
            #[expect(dead_code, reason = "only the schema is looked at")]
            struct $level {
                /// The first part of this level.
                first: $inner,
                /// The second part, which may be left out.
                second: Option<Box<$inner>>,
                /// More parts of the same type.
                #[serde(default)]
                more: Vec<$inner>,
            }
        )*
    };
}

levels!(L0 L1 of L0, L2 of L1, L3 of L2, L4 of L3, L5 of L4, L6 of L5, L7 of L6, L8 of L7, L9 of L8, L10 of L9, L11 of L10,
    L12 of L11, L13 of L12, L14 of L13, L15 of L14, L16 of L15, L17 of L16, L18 of L17, L19 of L18, L20 of L19, L21 of L20,
    L22 of L21, L23 of L22, L24 of L23);

/// Inlined, twelve levels are 3^12 copies of the innermost type, and 24 levels would not fit into memory.
#[test]
fn definitions_and_registration_are_linear_in_the_number_of_types() {
    let started = Instant::now();
    let [six, twelve, twenty_four] =
        [definition::<L6>(), definition::<L12>(), definition::<L24>()].map(|definition| bytes(&definition));
    assert!(twelve < 4_700, "{twelve} bytes");
    assert!(
        twelve < six * 5 / 2 && twenty_four < six * 5,
        "{six}, {twelve}, {twenty_four} bytes"
    );
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

/// Take it.
#[tool]
async fn take_two(
    /// The first.
    first: L1,
    /// The second.
    second: Option<L1>,
) {
    let _ = (first, second);
}

/// The forms of all APIs have the definitions, with the descriptions of the uses.
#[test]
fn every_wire_form_has_the_definitions() {
    let definition = definition::<StyleSheet>();
    for schema in [
        anthropic::tool(&definition)["input_schema"].clone(),
        openai::chat::tool(&definition)["function"]["parameters"].clone(),
        openai::responses::tool(&definition)["parameters"].clone(),
        mcp::tool(&definition)["inputSchema"].clone(),
    ] {
        assert_eq!(schema, definition.input_schema);
    }
    let definition = self::definition::<Style>();
    let strict = openai::chat::strict_tool(&definition).unwrap().tool;
    let schema = &strict["function"]["parameters"];
    let margin = &schema["properties"]["it"]["properties"]["margin"];
    // A reference must not have siblings there.
    assert_eq!(margin["description"], "Outside the border.");
    assert_eq!(
        margin["anyOf"],
        json!([{ "$ref": "#/$defs/Sides" }, { "type": "null" }])
    );
    assert!(schema["$defs"]["Sides"]["properties"]["top"].is_object());
    let strict = anthropic::strict_tool(&definition).unwrap().tool;
    assert!(strict["input_schema"]["$defs"]["Length"].is_object());
}

/// Inlines all references of a schema.
fn in_place(schema: &Value, root: &Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let own = keywords
                .iter()
                .filter(|(keyword, _)| !matches!(keyword.as_str(), "$ref" | "$defs"));
            let own = own.map(|(keyword, value)| (keyword.clone(), in_place(value, root)));
            let target = keywords
                .get("$ref")
                .and_then(Value::as_str)
                .map(|reference| &reference[1..]);
            let target = target.map(|pointer| in_place(root.pointer(pointer).unwrap(), root));
            let target = target
                .as_ref()
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default();
            Value::Object(target.into_iter().chain(own).collect())
        }
        Value::Array(items) => items.iter().map(|item| in_place(item, root)).collect(),
        scalar => scalar.clone(),
    }
}

/// A call has equal arguments, issues and messages, whether or not a type is inlined.
#[test]
fn calls_are_read_as_with_each_type_in_place() {
    let mut random = Random::new(31);
    for schema in [
        definition::<StyleSheet>(),
        definition::<L6>(),
        definition::<Labels>(),
    ]
    .map(|it| it.input_schema)
    {
        assert!(schema.get("$defs").is_some());
        let registries = [&schema, &in_place(&schema, &schema)].map(dynamic_tool::registry);
        for _ in 0..20 {
            let fitting = instances::fitting(&mut random, &schema, &schema, 5);
            for sent in [
                instances::nearly(&mut random, &fitting),
                instances::loosened(&mut random, &fitting),
                fitting,
            ] {
                for policy in POLICIES {
                    let [shared, placed] = registries.each_ref().map(|registry| {
                        let request = dynamic_tool::prepare(registry, sent.to_string(), policy);
                        let issues = request.errors.iter().chain(&request.warnings);
                        let issues: Vec<_> = issues.map(ToString::to_string).collect();
                        (request.arguments.clone(), issues)
                    });
                    assert_eq!(shared, placed, "{policy:?}: {sent}");
                }
            }
        }
    }
}

/// A short name.
#[derive(Deserialize, JsonSchema)]
struct Label(
    #[expect(dead_code, reason = "only the schema is looked at")]
    #[schemars(length(max = 40), regex(pattern = "^[A-Za-z0-9 _-]*$"))]
    String,
);

/// A type whose content is further limited by the attributes of its fields.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Labels {
    /// A.
    plain: Label,
    /// B.
    again: Label,
    /// C.
    other: Label,
    /// D.
    fourth: Label,
    /// E.
    #[schemars(length(min = 3))]
    long: Label,
    /// F.
    #[schemars(inner(length(max = 5)))]
    list: Vec<Label>,
}

/// schemars ignores such attributes next to a reference.
#[test]
fn attributes_of_fields_hold_for_shared_types() {
    let schema = definition::<Labels>().input_schema;
    let properties = &schema["properties"]["it"]["properties"];
    assert_eq!(
        properties["plain"],
        json!({ "$ref": "#/$defs/Label", "description": "A." })
    );
    assert_eq!(properties["long"]["minLength"], 3, "{schema}");
    assert_eq!(properties["long"]["maxLength"], 40, "{schema}");
    assert_eq!(properties["list"]["items"]["maxLength"], 5, "{schema}");
}

/// A passenger.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct 旅客 {
    /// Name of the second traveller.
    companions: Vec<旅客>,
    /// Names of the waiting people.
    #[serde(default)]
    contact: Option<Box<旅客>>,
}

/// Book a journey.
#[tool]
async fn book(
    /// Name of the traveller.
    passenger: 旅客,
    /// Name of the payer.
    payer: Option<旅客>,
) -> usize {
    passenger.companions.len() + payer.map_or(0, |payer| payer.companions.len())
}

/// A fragment contains only ASCII characters (RFC 3986).
#[test]
fn names_outside_ascii_have_one_reference() {
    let definition = registered::<book>();
    let text = serde_json::to_string(&definition).unwrap();
    let reference = "\"$ref\":\"#/$defs/%E6%97%85%E5%AE%A2\"";
    assert_eq!(text.matches("\"$ref\"").count(), 4, "{text}");
    assert_eq!(text.matches(reference).count(), 4, "{text}");
    assert!(definition.input_schema["$defs"]["旅客"].is_object(), "{text}");
    let strict = openai::chat::strict_tool(&definition).unwrap().tool.to_string();
    assert_eq!(
        strict.matches(reference).count(),
        strict.matches("\"$ref\"").count(),
        "{strict}"
    );
}

#[tokio::test]
async fn shared_types_are_coerced() {
    let mut registry = ToolRegistry::new();
    registry
        .register::<book>()
        .unwrap()
        .register::<take_two>()
        .unwrap();
    let result = registry
        .execute_tool(
            "1",
            "book",
            r#"{"passenger":{"companions":[{"companions":"[]"}]},"payer":{"companions":[]}}"#,
        )
        .await;
    assert_eq!(result.text(), Some("1"));
    let exact = r#"{"first":{"first":{"text":"a"},"more":[{"text":"b"}]},"second":{"first":{"text":"c"}}}"#;
    let outcome = registry
        .call(tool_runtime::ToolCall::new("1", "take_two", exact))
        .await;
    assert!(
        !outcome.result.is_error && outcome.warnings.is_empty(),
        "{outcome:?}"
    );
    let missing = r#"{"first":{"first":{"text":"a"}},"second":{"first":{}}}"#;
    let outcome = registry
        .call(tool_runtime::ToolCall::new("1", "take_two", missing))
        .await;
    assert_eq!(outcome.errors[0].path, "/second/first/text");
}
