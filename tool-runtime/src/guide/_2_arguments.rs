//! Arguments: types and comments are all that the model is told, and all that it is held to.
//!
//! # A type is a schema
//!
//! ```
//! use std::collections::BTreeMap;
//! use tool_runtime::{ToolRegistry, serde_json::json, tool};
//!
//! /// Order books for the library.
//! #[tool]
//! async fn order_books(
//!     /// The titles.
//!     titles: Vec<String>,
//!     /// How many of each.
//!     copies: u32,
//!     /// What one may cost at most, in euros.
//!     price: Option<f64>,
//!     /// Notes for the shop, by title.
//!     #[arg(default = BTreeMap::new())]
//!     notes: BTreeMap<String, String>,
//! ) -> String {
//!     format!("{copies} of each of {titles:?}, below {price:?}, {} notes", notes.len())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! let schema = &registry.register::<order_books>()?.tool_definitions()[0].input_schema;
//! assert_eq!(
//!     schema["properties"],
//!     json!({
//!         "titles": { "type": "array", "items": { "type": "string" }, "description": "The titles." },
//!         "copies": { "type": "integer", "minimum": 0, "description": "How many of each." },
//!         "price": { "type": "number", "description": "What one may cost at most, in euros." },
//!         "notes": {
//!             "type": "object",
//!             "additionalProperties": { "type": "string" },
//!             "description": "Notes for the shop, by title."
//!         }
//!     }),
//! );
//! assert_eq!(schema["required"], json!(["titles", "copies"]));
//!
//! let least = r#"{ "titles": ["Moby-Dick"], "copies": 2 }"#;
//! let result = registry.execute_tool("toolu_01", "order_books", least).await;
//! assert_eq!(result.text(), Some(r#"2 of each of ["Moby-Dick"], below None, 0 notes"#));
//! # Ok(())
//! # }
//! ```
//!
//! `Option` may be left out, and so may what has a `default`; everything else is required. The macro does not look for
//! the word `Option`: it asks the type what it makes of nothing, so an alias of it counts as well.
//!
//! # What types cannot say
//!
//! `#[arg(..)]` adds limits. They are shown to the model *and* enforced, so that the function can rely on them:
//!
//! ```
//! use tool_runtime::{ToolRegistry, serde_json::json, tool};
//!
//! /// Extend the loan of a book.
//! #[tool]
//! async fn extend_loan(
//!     /// The number on the back of the book.
//!     #[arg(pattern = "^[A-Z]{2}[0-9]{4}$", example = "FI0042")]
//!     book: String,
//!     /// By how many weeks.
//!     #[arg(default = 2, range = 1..=4)]
//!     weeks: u8,
//! ) -> String {
//!     format!("{book} for {weeks} more weeks")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! let schema = &registry.register::<extend_loan>()?.tool_definitions()[0].input_schema;
//! assert_eq!(
//!     schema["properties"],
//!     json!({
//!         "book": {
//!             "type": "string",
//!             "description": "The number on the back of the book.",
//!             "pattern": "^[A-Z]{2}[0-9]{4}$",
//!             "examples": ["FI0042"]
//!         },
//!         "weeks": { "type": "integer", "description": "By how many weeks.", "minimum": 1, "maximum": 4 }
//!     }),
//! );
//!
//! let result = registry.execute_tool("toolu_01", "extend_loan", r#"{ "book": "42", "weeks": 9 }"#).await;
//! assert_eq!(
//!     result.text(),
//!     Some(
//!         "`extend_loan` was not called because of invalid arguments:\n\
//!          - constraint_violated at /book: invalid value \"42\"; expected a string that matches `^[A-Z]{2}[0-9]{4}$`\n\
//!          - constraint_violated at /weeks: invalid value 9; expected an integer from 1 to 4, or leave it out"
//!     ),
//! );
//! # Ok(())
//! # }
//! ```
//!
//! | key | limits or tells |
//! |---|---|
//! | `range = 1..=4` | a number |
//! | `length = 1..=64` | a string, a list, a map |
//! | `pattern = "^a"`, `not_blank` | a string |
//! | `values = ["a", "b"]` | anything, to these values |
//! | `example = "FI0042"` | nothing, but shows what is meant |
//! | `name = "bookNumber"`, `description = ".."` | nothing, but is what the model reads |
//!
//! [`#[tool]`](macro@crate::tool) has them all.
//!
//! # Types of your own
//!
//! What derives serde's `Deserialize` and schemars' `JsonSchema` can be a parameter, as deep as you like. serde's
//! attributes hold for the schema, too. An enum is the best description of all: the model sees what it may choose from. A type
//! that is used more than once is described once, in `$defs`, if that makes the definition shorter. Registration refuses what no
//! call could send, such as an `enum` without variants.
//!
//! ```
//! use tool_runtime::schemars::JsonSchema;
//! use tool_runtime::serde::Deserialize;
//! use tool_runtime::{ToolRegistry, serde_json::json, tool};
//!
//! /// Who wants to borrow.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "tool_runtime::serde", rename_all = "camelCase")]
//! #[schemars(crate = "tool_runtime::schemars")]
//! struct Reader {
//!     /// The number on the card.
//!     card_number: u32,
//!     /// How to tell that a book has arrived.
//!     tell_by: Channel,
//! }
//!
//! #[derive(Debug, Deserialize, JsonSchema)]
//! #[serde(crate = "tool_runtime::serde", rename_all = "snake_case")]
//! #[schemars(crate = "tool_runtime::schemars")]
//! enum Channel {
//!     Mail,
//!     TextMessage,
//! }
//!
//! /// Reserve a book.
//! #[tool]
//! async fn reserve(
//!     /// The title.
//!     title: String,
//!     /// For whom.
//!     reader: Reader,
//! ) -> String {
//!     format!("{title} for {}, told by {:?}", reader.card_number, reader.tell_by)
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), tool_runtime::RegistryError> {
//!     let mut registry = ToolRegistry::new();
//!     let schema = &registry.register::<reserve>()?.tool_definitions()[0].input_schema;
//!     assert_eq!(
//!         schema["properties"]["reader"],
//!         json!({
//!             "type": "object",
//!             "description": "For whom.",
//!             "properties": {
//!                 "cardNumber": { "type": "integer", "minimum": 0, "description": "The number on the card." },
//!                 "tellBy": {
//!                     "type": "string",
//!                     "enum": ["mail", "text_message"],
//!                     "description": "How to tell that a book has arrived."
//!                 }
//!             },
//!             "required": ["cardNumber", "tellBy"]
//!         }),
//!     );
//!
//!     let input = json!({ "title": "Moby-Dick", "reader": { "cardNumber": 7, "tellBy": "text_message" } });
//!     let result = registry.execute_tool("toolu_01", "reserve", input).await;
//!     assert_eq!(result.text(), Some("Moby-Dick for 7, told by TextMessage"));
//!     Ok(())
//! }
//! ```
//!
//! The `crate = ".."` lines are there because this example depends on `tool-runtime` alone; without them the derives
//! look for crates named `serde` and `schemars`. Where serde 1 and schemars 1 are dependencies of yours, the lines are not
//! needed. (The traits of schemars 0.8 are others: a type with those cannot be a parameter.)
//!
//! The model also reads the comments of fields. A field without one is a warning in the log when the tool is registered,
//! and no error of the compiler: the macro sees your function and not your types.
//!
//! Types of chrono, url and uuid are parameters with the feature of that name: `tool-runtime = { .., features = ["chrono"] }`
//! beside `chrono = { .., features = ["serde"] }`. An `Arc<T>` from the model needs serde's feature `rc`.
//!
//! # Absent, `null` or a value
//!
//! To an `Option`, `null` and absent are the same. A function that changes something needs to tell three cases apart: leave it, remove it,
//! replace it. A [`Patch`](crate::Patch) does, as a parameter and as a field; the model sees that `null` is allowed.
//!
//! ```
//! use tool_runtime::schemars::JsonSchema;
//! use tool_runtime::serde::Deserialize;
//! use tool_runtime::{Patch, ToolRegistry, serde_json::json, testing, tool};
//!
//! /// Where a book stands.
//! #[derive(Debug, Deserialize, JsonSchema)]
//! #[serde(crate = "tool_runtime::serde")]
//! #[schemars(crate = "tool_runtime::schemars")]
//! struct Place {
//!     /// The room.
//!     room: u8,
//!     /// The shelf; `null` if it lies about.
//!     #[serde(default)] // a field that may be absent
//!     shelf: Patch<String>,
//! }
//!
//! /// Correct what is known of a book.
//! #[tool]
//! async fn correct(
//!     /// Who lent it; `null` if it is back.
//!     #[arg(length = 1..=40)]
//!     reader: Patch<String>,
//!     /// Where it is.
//!     place: Option<Place>,
//! ) -> String {
//!     let mut lent_to = Some("Ada".to_owned());
//!     reader.apply(&mut lent_to);
//!     let shelf = place.map_or(Patch::Keep, |place| place.shelf);
//!     format!("{lent_to:?}, {shelf:?}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! let schema = &registry.register::<correct>()?.tool_definitions()[0].input_schema;
//! assert_eq!(schema["properties"]["reader"]["type"], json!(["string", "null"]));
//!
//! for (arguments, answer) in [
//!     (json!({}), r#"Some("Ada"), Keep"#),
//!     (json!({ "reader": null }), "None, Keep"),
//!     (json!({ "reader": "Bo", "place": { "room": 2, "shelf": null } }), r#"Some("Bo"), Clear"#),
//! ] {
//!     testing::run_in(&registry, "correct", arguments).await.assert_no_warnings().assert_text(answer);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A `Patch` that could never be absent, or never be `null`, is an error when its tool is registered: a field without
//! `#[serde(default)]`, an item of a list, an `Option<Patch<T>>`.
//!
//! Next: [what happens when a model does not keep to the schema](super::_3_sloppy_calls).
