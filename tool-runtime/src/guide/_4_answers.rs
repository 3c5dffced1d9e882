//! Answers: what a function returns becomes text, and whatever happens to it, there is a `tool_result`.
//!
//! # Success
//!
//! A text (`String`, `&'static str`, `Box<str>`, an `Option` of one ..) goes out as it is, everything else that is
//! `Serialize` as compact JSON: few tokens, and models read it well.
//!
//! ```
//! use tool_runtime::message::Block;
//! use tool_runtime::serde::Serialize;
//! use tool_runtime::{Blocks, testing, tool};
//!
//! /// Tell the motto of the library.
//! #[tool]
//! async fn motto() -> &'static str {
//!     "quiet, please"
//! }
//!
//! #[derive(Serialize)]
//! #[serde(crate = "tool_runtime::serde")]
//! struct Shelf {
//!     room: u8,
//!     letter: char,
//! }
//!
//! /// Tell where novels stand.
//! #[tool]
//! async fn novels() -> Vec<Shelf> {
//!     vec![Shelf { room: 2, letter: 'C' }]
//! }
//!
//! /// Show the cover of the book of the month.
//! #[tool]
//! async fn cover() -> Blocks {
//!     Blocks(vec![Block::text("Moby-Dick"), Block::image("image/png", "iVBORw0KGgo=")])
//! }
//!
//! #[tokio::main]
//! async fn main() {
//!     testing::run::<motto>("{}").await.assert_text("quiet, please");
//!     testing::run::<novels>("{}").await.assert_text(r#"[{"room":2,"letter":"C"}]"#);
//!     assert_eq!(testing::run::<cover>("{}").await.result.text(), None); // content blocks: a text and an image
//! }
//! ```
//!
//! A function that returns a [`ToolOutput`](crate::ToolOutput) decides at run time: text or blocks, success or failure.
//!
//! # A value for programs
//!
//! Some callers are programs: a client of MCP reads values, not texts. [`Structured`](crate::Structured) is for a type that also has a
//! [`JsonSchema`](crate::schemars::JsonSchema): the definition gets an `output_schema`, and the result the value beside the text.
//! (`format::mcp` needs the feature `formats`: `tool-runtime = { .., features = ["formats"] }`.)
//!
//! ```
//! use tool_runtime::schemars::JsonSchema;
//! use tool_runtime::serde::Serialize;
//! use tool_runtime::{Structured, ToolRegistry, format::mcp, tool};
//!
//! #[derive(Serialize, JsonSchema)]
//! #[serde(crate = "tool_runtime::serde")]
//! #[schemars(crate = "tool_runtime::schemars")]
//! struct Shelf {
//!     /// The number of the room.
//!     room: u8,
//!     /// The letter on the shelf.
//!     letter: char,
//! }
//!
//! /// Tell where a book stands.
//! #[tool]
//! async fn find(
//!     /// The title.
//!     title: String,
//! ) -> Result<Structured<Shelf>, String> {
//!     match title.as_str() {
//!         "Moby-Dick" => Ok(Structured(Shelf { room: 2, letter: 'C' })),
//!         _ => Err(format!("the library has no `{title}`")),
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), tool_runtime::RegistryError> {
//!     let mut registry = ToolRegistry::new();
//!     registry.register::<find>()?;
//!     let definition = registry.tool_definitions()[0];
//!     assert_eq!(mcp::tool(definition)["outputSchema"]["properties"]["room"]["type"], "integer");
//!
//!     let result = registry.execute_tool("toolu_01", "find", r#"{ "title": "Moby-Dick" }"#).await;
//!     assert_eq!(result.text(), Some(r#"{"room":2,"letter":"C"}"#)); // what a model reads
//!     assert_eq!(result.structured.as_ref().unwrap()["room"], 2); // what a layer and MCP's form have
//!     assert_eq!(mcp::result(&result).unwrap()["structuredContent"]["letter"], "C");
//!     Ok(())
//! }
//! ```
//!
//! `T` may be any type, also a `Vec`. The form of [MCP](super::_9_formats) leaves out what is no object, which its revisions before 2026-07-28
//! do not take. A value that does not match the schema, which takes a `Serialize` written by hand,
//! fails in [`testing`](crate::testing) and is an error in the log of a debug build. A dynamic tool sets
//! [`output_schema`](crate::ToolDefinition::output_schema) and answers with
//! [`with_structured`](crate::ToolOutput::with_structured).
//!
//! # Failure
//!
//! Return a `Result`. The error is text for the model, so let it say what to do instead.
//! [`ToolError`](crate::ToolError) is a code and a message; anything that is `Display` will do.
//!
//! ```
//! use tool_runtime::{ToolError, testing, tool};
//!
//! /// Lend a book.
//! #[tool]
//! async fn lend(
//!     /// The title.
//!     title: String,
//! ) -> Result<String, ToolError> {
//!     match title.as_str() {
//!         "Moby-Dick" => Err(ToolError::new("lent", "somebody has it until Monday; offer to reserve it")),
//!         _ => Ok(format!("{title} is yours for four weeks")),
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! testing::run::<lend>(r#"{ "title": "Ulysses" }"#).await
//!     .assert_text("Ulysses is yours for four weeks");
//! testing::run::<lend>(r#"{ "title": "Moby-Dick" }"#).await
//!     .assert_error("lent: somebody has it until Monday; offer to reserve it");
//! # }
//! ```
//!
//! What *caused* an error is for you and not for the model: paths, addresses, what a database said. A `std::error::Error` tells
//! it by its `source()`, an `anyhow::Error` by its chain. Each is in the log, as `causes` of a warning within the call's span,
//! and the model reads the outermost text alone; unless you write `#[tool(causes)]`, where what went wrong below is no secret and
//! helps. A cause that the error's own text repeats is told once.
//!
//! ```
//! use std::num::ParseIntError;
//! use std::{error, fmt};
//! use tool_runtime::{testing, tool};
//!
//! #[derive(Debug)]
//! struct BadSignature(ParseIntError);
//!
//! impl fmt::Display for BadSignature {
//!     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
//!         f.write_str("the signature does not end with a number")
//!     }
//! }
//!
//! impl error::Error for BadSignature {
//!     fn source(&self) -> Option<&(dyn error::Error + 'static)> {
//!         Some(&self.0)
//!     }
//! }
//!
//! fn number(signature: &str) -> Result<u32, BadSignature> {
//!     let (_, number) = signature.rsplit_once(' ').unwrap_or_default();
//!     number.parse().map_err(BadSignature)
//! }
//!
//! /// Tell the floor of a book.
//! #[tool]
//! async fn floor(
//!     /// Its signature, e.g. "FI 42".
//!     signature: String,
//! ) -> Result<u32, BadSignature> {
//!     Ok(number(&signature)? / 1000)
//! }
//!
//! /// Tell the shelf of a book.
//! #[tool(causes)]
//! async fn shelf(
//!     /// Its signature, e.g. "FI 42".
//!     signature: String,
//! ) -> Result<u32, BadSignature> {
//!     Ok(number(&signature)? / 100)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let input = r#"{ "signature": "FI x" }"#;
//! testing::run::<floor>(input).await.assert_error("the signature does not end with a number");
//! testing::run::<shelf>(input).await
//!     .assert_error("the signature does not end with a number: invalid digit found in string");
//! # }
//! ```
//!
//! # Errors that pass
//!
//! The catalogue is being rebuilt; the printer is out of reach. [`ToolError::retry`](crate::ToolError::retry) is such an error: the model
//! reads that another attempt may succeed, and the host learns [`Failure::Retryable`](crate::result::Failure::Retryable). It counts also
//! as the `source()` of your own error. So that a model does not try for ever, `tool_builtins::AttemptLimit` is a
//! [layer](super::_7_layers) that counts the attempts in a row of each session and tool, refused calls included. It refuses nothing:
//! from the last allowed attempt on, a note below the answer names the number of attempts, and says to call the tool no more and to tell
//! the user what went wrong. (In the manifest: `tool-builtins = { path = "../tool-runtime/tool-builtins" }`.)
//!
//! ```
//! use tool_builtins::AttemptLimit;
//! use tool_runtime::result::Failure;
//! use tool_runtime::{Context, ToolCall, ToolError, ToolRegistry, tool};
//!
//! /// Look a title up in the catalogue.
//! #[tool(read_only)]
//! async fn look_up(
//!     /// The title.
//!     title: String,
//! ) -> Result<String, ToolError> {
//!     # let _ = title;
//!     Err(ToolError::retry("the catalogue is being rebuilt"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new().layer(AttemptLimit::new(2));
//! registry.register::<look_up>()?;
//! let context = Context::new().with_session("s-1");
//! let call = |id: &str, arguments: &'static str| ToolCall::new(id, "look_up", arguments).with_context(context.clone());
//!
//! let refused = registry.call(call("toolu_01", "{}")).await;
//! assert_eq!(refused.failure, Some(Failure::InvalidArguments));
//!
//! let outcome = registry.call(call("toolu_02", r#"{ "title": "Emma" }"#)).await;
//! assert_eq!(outcome.failure, Some(Failure::Retryable));
//! assert_eq!(
//!     outcome.result.text(),
//!     Some(
//!         "the catalogue is being rebuilt\n\n\
//!          This may succeed when it is tried again.\n\n\
//!          This was attempt 2 in a row that failed: do not call `look_up` again, and tell the user what went wrong."
//!     ),
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # Everything else
//!
//! A model that gets no answer to a call is lost, and so is one whose turn ends because a function panicked. So every
//! call is answered, and none takes another down. The model reads `content`; the host sees which [`Failure`] it was.
//!
//! [`Failure`]: crate::result::Failure
//!
//! ```
//! use tool_runtime::result::Failure;
//! use tool_runtime::{ToolCall, ToolRegistry, tool, tool_set};
//!
//! /// Count the books of a shelf.
//! #[tool]
//! async fn count(
//!     /// Which, from 0.
//!     shelf: usize,
//! ) -> u32 {
//!     [120, 75][shelf] // there are two
//! }
//!
//! /// Wait for a book to come back.
//! #[tool(timeout = "20ms")]
//! async fn wait() {
//!     std::future::pending().await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! # tokio::time::pause();
//! let mut registry = ToolRegistry::new();
//! registry.register_all(tool_set![count, wait])?;
//!
//! for (name, input, failure, told) in [
//!     ("count", r#"{ "shelf": 0 }"#, None, "120"),
//!     ("count", r#"{ "shelf": 2 }"#, Some(Failure::Panicked), "the tool `count` failed with an internal error; .."),
//!     ("count", r#"{ "row": 2 }"#, Some(Failure::InvalidArguments), "`count` was not called because of invalid arguments:"),
//!     ("wait", "{}", Some(Failure::TimedOut), "the tool `wait` timed out and was stopped; .."),
//!     ("sing", "{}", Some(Failure::NotFound), "Tool 'sing' not found"),
//! ] {
//!     let outcome = registry.call(ToolCall::new("toolu_01", name, input)).await;
//!     assert_eq!(outcome.failure, failure);
//!     assert_eq!(outcome.result.tool_use_id, "toolu_01");
//!     assert_eq!(outcome.result.is_error, failure.is_some());
//!     assert!(outcome.result.text().unwrap().starts_with(told.trim_end_matches("..")));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What the panic said is in the host's log and not in the answer: it may hold what the model must not see.
//! [The faults, one by one](crate::faults): what the model reads and what the host learns.
//!
//! Next: [what a tool needs and the model does not supply](super::_5_host).
