//! [`Structured`]: a return value that programs receive as a value, and models as text.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

use crate::schema::clean;
use crate::schema::generate::field_attributes;
use crate::schema::generate::variants::Enums;
use crate::schema::keywords::marks;
use crate::tool::output::convert::{self, HandlerOutput, IntoToolOutput};
use crate::wire::result::ToolOutput;

/// A structured result for programs and models: the return type of a function, or the `Ok` of its `Result`.
///
/// The definition of the tool has the schema of `T` as its [`output_schema`](crate::ToolDefinition::output_schema).
/// The result has the [value](crate::ToolResult::structured), and its compact JSON text. The forms of MCP have the schema
/// and the value (`outputSchema`, `structuredContent`). The forms of Anthropic and OpenAI have only the text. Layers receive
/// the value.
///
/// schemars generates the schema for serialization. The value may be of any type. Revisions of MCP before 2026-07-28 allow
/// only objects, so their [form](crate::format::mcp) omits the schema and the value of any other type: wrap a list in
/// a struct if older clients need the value.
///
/// ```
/// use tool_runtime::schemars::JsonSchema;
/// use tool_runtime::serde::Serialize;
/// use tool_runtime::{Structured, ToolRegistry, tool};
///
/// #[derive(Serialize, JsonSchema)]
/// # #[serde(crate = "tool_runtime::serde")]
/// # #[schemars(crate = "tool_runtime::schemars")]
/// struct Weather {
///     /// Degrees Celsius.
///     celsius: f64,
///     /// Whether it rains.
///     rain: bool,
/// }
///
/// /// Tell the weather.
/// #[tool]
/// async fn weather() -> Structured<Weather> {
///     Structured(Weather { celsius: 21.5, rain: false })
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new();
/// registry.register::<weather>()?;
/// let schema = registry.tool_definitions()[0].output_schema.as_ref().unwrap();
/// assert_eq!(schema["required"], tool_runtime::serde_json::json!(["celsius", "rain"]));
///
/// let result = registry.execute_tool("toolu_01", "weather", "{}").await;
/// assert_eq!(result.text(), Some(r#"{"celsius":21.5,"rain":false}"#));
/// assert_eq!(result.structured.unwrap()["celsius"], 21.5);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// A value that does not match the schema, which requires a hand-written `Serialize`, is logged as an error in debug
/// builds, and fails in [`testing`](crate::testing).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Structured<T>(pub T);

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> IntoToolOutput for Structured<T> {
    fn into_tool_output(self) -> ToolOutput {
        let text = match serde_json::to_string(&self.0) {
            Ok(text) => text,
            Err(error) => return convert::not_serializable(&error),
        };
        // The value is parsed from the text, so that they are equal: a direct conversion of an `f32` gives other digits.
        match serde_json::from_str(&text) {
            Ok(value) => ToolOutput::text(text).with_structured(value),
            Err(_) => convert::too_deep(),
        }
    }
}

/// Returns the schema of a serialized `T`, with the marks of
/// [`schema::keywords::marks`](crate::schema::keywords::marks).
pub(crate) fn marked_schema<T: JsonSchema>() -> Value {
    let settings = || SchemaSettings::draft2020_12().for_serialize();
    let generate = |settings: SchemaSettings| {
        let generator = marks::with_marks(settings).into_generator();
        Value::from(generator.into_root_schema_for::<T>())
    };
    let mut schema = generate(settings());
    // If the types are too large to restore their attributes, only the check of results is weaker.
    let _ = field_attributes::restore(&mut schema, || {
        generate(settings().with(|settings| settings.inline_subschemas = true))
    });
    if let Value::Object(keywords) = &mut schema {
        keywords.shift_remove("$schema");
    }
    clean(&mut schema, |_| Enums::default());
    schema
}

impl<T: Serialize + JsonSchema> HandlerOutput for Structured<T> {
    fn into_tool_output(self) -> ToolOutput {
        IntoToolOutput::into_tool_output(self)
    }
}
