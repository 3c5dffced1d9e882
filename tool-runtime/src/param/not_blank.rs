//! [`NotBlank`]: the schema of a string in a struct that must not be blank.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::schema::keywords::marks;

/// The schema of a string that must not be blank, for fields of structs; a parameter has `#[arg(not_blank)]`.
///
/// A blank string is an error, and the description states this. An optional field has the schema of an `Option<NotBlank>`; a list has the
/// schema of a `Vec<NotBlank>`. In a schema for another purpose than a tool, the rule is a `pattern`.
///
/// ```
/// use tool_runtime::schemars::JsonSchema;
/// use tool_runtime::serde::Deserialize;
/// use tool_runtime::{testing, tool};
///
/// /// A note.
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "tool_runtime::serde")]
/// #[schemars(crate = "tool_runtime::schemars")]
/// struct Note {
///     /// Text of the note.
///     #[schemars(with = "tool_runtime::NotBlank")]
///     text: String,
/// }
///
/// /// Save a note.
/// #[tool]
/// async fn save(
///     /// Note to save.
///     note: Note,
/// ) -> String {
///     note.text
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let blank = testing::run::<save>(r#"{ "note": { "text": " " } }"#).await;
/// let text = blank.result.text().unwrap_or_default();
/// assert!(text.contains("expected a string that is not blank"), "{text}");
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum NotBlank {}

impl JsonSchema for NotBlank {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NotBlank".into()
    }

    fn schema_id() -> Cow<'static, str> {
        "tool_runtime::NotBlank".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({ "type": "string" });
        if !marks::insert(&mut schema, marks::NOT_BLANK, generator) {
            schema.insert("pattern".to_owned(), r"\S".into());
        }
        schema
    }
}
