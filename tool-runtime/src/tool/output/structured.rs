//! [`Structured`]: a return value that programs read as a value, and models as text.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

use crate::schema::clean;
use crate::schema::generate::field_attributes;
use crate::schema::generate::variants::Enums;
use crate::tool::output::convert::{self, HandlerOutput, IntoToolOutput};
use crate::wire::result::ToolOutput;

/// A structured answer: what a function returns, or the `Ok` of its `Result`, if programs read the answer as well as models.
///
/// The definition of the tool has the schema of `T` as its [`output_schema`](crate::ToolDefinition::output_schema), and the result has
/// the [value](crate::ToolResult::structured) beside the text, which is the same as compact JSON. MCP's forms have both
/// (`outputSchema`, `structuredContent`); Anthropic's and OpenAI's have the text alone. Layers see the value.
///
/// The schema is schemars' for serialization. The value may be of any type; revisions of MCP before 2026-07-28 take objects only, so
/// their [form](crate::format::mcp) leaves out the schema and the value of any other type: a list that older clients are to read as a value
/// goes into a field.
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
/// A value that does not match the schema, which needs a `Serialize` written by
/// hand, is an error in the log of a debug build, and fails in [`testing`](crate::testing).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Structured<T>(pub T);

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> IntoToolOutput for Structured<T> {
    fn into_tool_output(self) -> ToolOutput {
        let text = match serde_json::to_string(&self.0) {
            Ok(text) => text,
            Err(error) => return convert::not_serializable(&error),
        };
        // Read from the text, so that both say the same: an `f32` has other digits as a value.
        match serde_json::from_str(&text) {
            Ok(value) => ToolOutput::text(text).with_structured(value),
            Err(_) => convert::too_deep(),
        }
    }
}

/// Returns the schema of what is written for a `T`, with the marks of
/// [`schema::keywords::marks`](crate::schema::keywords::marks) still in it.
pub(crate) fn marked_schema<T: JsonSchema>() -> Value {
    let settings = || SchemaSettings::draft2020_12().for_serialize();
    let generate =
        |settings: SchemaSettings| Value::from(settings.into_generator().into_root_schema_for::<T>());
    let mut schema = generate(settings());
    // Nothing but a check of results lacks the attributes of types that are too large.
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
