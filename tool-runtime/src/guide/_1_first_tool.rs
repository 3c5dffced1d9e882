//! A first tool: written, shown to a model, called, answered.
//!
//! A language model can do one thing, write text. To let it act, you tell it which *tools* there are; it answers with
//! the wish to call one; you call it and tell the model what came out. Everything between the wish and the function,
//! and back, is what this crate does.
//!
//! ```text
//! you            ── a question, and what tools there are ──►  the model
//! the model      ── a call: a name and arguments ──────────►  the registry
//! the registry   ── values ────────────────────────────────►  your function
//! your function  ── what it returned ──────────────────────►  the registry
//! the registry   ── a result ──────────────────────────────►  the model
//! the model      ── another call, or its answer ───────────►  you
//! ```
//!
//! # Write a function
//!
//! ```toml
//! [dependencies]
//! tool-runtime = { path = "../tool-runtime/tool-runtime" } # a clone beside your crate: not on crates.io yet
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```
//!
//! ```
//! use tool_runtime::{ToolRegistry, tool};
//!
//! /// Find books by words of their title.
//! #[tool]
//! async fn find_books(
//!     /// Words of the title, for example `sea`.
//!     title: String,
//! ) -> Vec<&'static str> {
//!     let shelf = ["The Sea, the Sea", "Moby-Dick", "The Old Man and the Sea"];
//!     let wanted = title.to_lowercase();
//!     shelf.into_iter().filter(|book| book.to_lowercase().contains(&wanted)).collect()
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut registry = ToolRegistry::new();
//!     registry.register::<find_books>()?;
//!
//!     let result = registry.execute_tool("toolu_01", "find_books", r#"{ "title": "whale" }"#).await;
//!     assert_eq!(result.text(), Some("[]"));
//!     Ok(())
//! }
//! ```
//!
//! The two comments are not for people alone: they are what the model reads. It chooses a tool by its description and
//! fills in the arguments by theirs, so a tool or an argument without one does not compile.
//!
//! `#[tool]` leaves the function as it is, and puts an empty struct of the same name beside it; types and functions do
//! not share their names in Rust. `find_books(..)` is the function, `register::<find_books>()` takes the struct.
//!
//! # What the model is told
//!
//! You send the definitions along with the conversation. They were made from the signature:
//!
//! ```
//! # use tool_runtime::{ToolRegistry, tool};
//! use tool_runtime::serde_json::{json, to_value};
//!
//! # /// Find books by words of their title.
//! # #[tool]
//! # async fn find_books(
//! #     /// Words of the title, for example `sea`.
//! #     title: String,
//! # ) -> Vec<&'static str> {
//! #     vec![Box::leak(title.into_boxed_str())]
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<find_books>()?;
//! assert_eq!(
//!     to_value(registry.tool_definitions())?,
//!     json!([{
//!         "name": "find_books",
//!         "description": "Find books by words of their title.",
//!         "input_schema": {
//!             "type": "object",
//!             "properties": {
//!                 "title": { "type": "string", "description": "Words of the title, for example `sea`." }
//!             },
//!             "required": ["title"]
//!         }
//!     }]),
//! );
//! # Ok(())
//! # }
//! ```
//!
//! This is all that the model knows of your function. It does not see its body, and you do not see its thoughts: the
//! definition is the whole contract.
//!
//! # What the model wants, and what it gets
//!
//! The model answers with a `tool_use`: an id, a name, arguments. It gets a `tool_result` with the same id, also when
//! there is no such tool, so that it always knows what became of its wish:
//!
//! ```
//! # use tool_runtime::{ToolRegistry, tool};
//! use tool_runtime::ToolCall;
//! use tool_runtime::serde_json::{from_value, json, to_value};
//!
//! # /// Find books by words of their title.
//! # #[tool]
//! # async fn find_books(
//! #     /// Words of the title, for example `sea`.
//! #     title: String,
//! # ) -> Vec<&'static str> {
//! #     let shelf = ["The Sea, the Sea", "Moby-Dick", "The Old Man and the Sea"];
//! #     let wanted = title.to_lowercase();
//! #     shelf.into_iter().filter(|book| book.to_lowercase().contains(&wanted)).collect()
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<find_books>()?;
//! // The model asks ...
//! let call: ToolCall = from_value(json!({
//!     "type": "tool_use", "id": "toolu_01", "name": "find_books", "input": { "title": "the sea" }
//! }))?;
//! // ... and is answered.
//! assert_eq!(
//!     to_value(registry.call(call).await.result)?,
//!     json!({
//!         "type": "tool_result",
//!         "tool_use_id": "toolu_01",
//!         "content": r#"["The Sea, the Sea","The Old Man and the Sea"]"#
//!     }),
//! );
//!
//! let result = registry.execute_tool("toolu_02", "burn_books", "{}").await;
//! assert_eq!(
//!     to_value(result)?,
//!     json!({
//!         "type": "tool_result",
//!         "tool_use_id": "toolu_02",
//!         "content": "Tool 'burn_books' not found",
//!         "is_error": true
//!     }),
//! );
//! # Ok(())
//! # }
//! ```
//!
//! `execute_tool` gives the answer alone, [`call`](crate::ToolRegistry::call) all that is known about it. Neither can
//! fail: what goes wrong is in the answer, where the model can read it.
//!
//! # It is still a function
//!
//! ```
//! # use tool_runtime::tool;
//! # /// Find books by words of their title.
//! # #[tool]
//! # async fn find_books(
//! #     /// Words of the title, for example `sea`.
//! #     title: String,
//! # ) -> Vec<&'static str> {
//! #     let shelf = ["The Sea, the Sea", "Moby-Dick", "The Old Man and the Sea"];
//! #     shelf.into_iter().filter(|book| book.contains(&title)).collect()
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! assert_eq!(find_books("Moby".to_owned()).await, ["Moby-Dick"]);
//! # }
//! ```
//!
//! Next: [what a signature tells a model](super::_2_arguments).
