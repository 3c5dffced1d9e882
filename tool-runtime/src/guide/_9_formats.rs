//! Formats: the same tool in the words of each API.
//!
//! The crate speaks the words of Anthropic's Messages API throughout: `input_schema`, `tool_use`, `tool_result`. For
//! the others [`format`](mod@crate::format) has pure functions, three for each: the definition out, the calls in, the
//! result out. Nothing is sent and nothing is remembered. They come with a feature:
//!
//! ```toml
//! [dependencies]
//! tool-runtime = { path = "../tool-runtime/tool-runtime", features = ["formats"] }
//! ```
//!
//! # OpenAI's chat completions, and whoever speaks like them
//!
//! ```
//! use tool_runtime::format::openai::chat;
//! use tool_runtime::serde_json::json;
//! use tool_runtime::{ToolRegistry, tool};
//!
//! /// Find a book.
//! #[tool(read_only)]
//! async fn find_book(
//!     /// Its title.
//!     title: String,
//!     /// In which room to look.
//!     room: Option<u8>,
//! ) -> String {
//!     format!("{title} is in room {}", room.unwrap_or(2))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<find_book>()?;
//!
//! let tools: Vec<_> = registry.tool_definitions().into_iter().map(chat::tool).collect();
//! assert_eq!(tools[0]["type"], "function");
//! assert_eq!(tools[0]["function"]["name"], "find_book");
//! assert_eq!(tools[0]["function"]["parameters"]["required"], json!(["title"]));
//!
//! let message = json!({ "role": "assistant", "tool_calls": [{
//!     "id": "call_1",
//!     "type": "function",
//!     "function": { "name": "find_book", "arguments": "{\"title\": \"Ulysses\"}" }
//! }] });
//! let mut answers = Vec::new();
//! for outcome in registry.execute_all(chat::calls(&message)?).await {
//!     answers.push(chat::result(&outcome.result)?);
//! }
//! assert_eq!(
//!     answers,
//!     [json!({ "role": "tool", "tool_call_id": "call_1", "content": "Ulysses is in room 2" })],
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # OpenAI's Responses
//!
//! ```
//! # use tool_runtime::serde_json::json;
//! # use tool_runtime::{ToolRegistry, tool};
//! use tool_runtime::format::openai::responses;
//!
//! # /// Find a book.
//! # #[tool(read_only)]
//! # async fn find_book(
//! #     /// Its title.
//! #     title: String,
//! #     /// In which room to look.
//! #     room: Option<u8>,
//! # ) -> String {
//! #     format!("{title} is in room {}", room.unwrap_or(2))
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<find_book>()?;
//! assert_eq!(responses::tool(registry.tool_definitions()[0])["name"], "find_book");
//!
//! let response = json!({ "output": [
//!     { "type": "reasoning", "summary": [] },
//!     { "type": "function_call", "call_id": "call_1", "name": "find_book", "arguments": "{\"title\": \"Ulysses\"}" }
//! ] });
//! let outcomes = registry.execute_all(responses::calls(&response)?).await;
//! assert_eq!(
//!     responses::result(&outcomes[0].result)?,
//!     json!({ "type": "function_call_output", "call_id": "call_1", "output": "Ulysses is in room 2" }),
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # The Model Context Protocol
//!
//! Here the hints come to light, as annotations:
//!
//! ```
//! # use tool_runtime::serde_json::json;
//! # use tool_runtime::{ToolRegistry, tool};
//! use tool_runtime::format::mcp;
//!
//! # /// Find a book.
//! # #[tool(read_only)]
//! # async fn find_book(
//! #     /// Its title.
//! #     title: String,
//! #     /// In which room to look.
//! #     room: Option<u8>,
//! # ) -> String {
//! #     format!("{title} is in room {}", room.unwrap_or(2))
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<find_book>()?;
//! let listed = mcp::tool(registry.tool_definitions()[0]); // of `tools/list`
//! assert_eq!(listed["annotations"], json!({ "readOnlyHint": true }));
//!
//! let params = json!({ "name": "find_book", "arguments": { "title": "Ulysses" } }); // of `tools/call`
//! let outcome = registry.call(mcp::call("1", &params)?).await;
//! assert_eq!(
//!     mcp::result(&outcome.result)?,
//!     json!({ "content": [{ "type": "text", "text": "Ulysses is in room 2" }] }),
//! );
//! # Ok(())
//! # }
//! ```
//!
//! [`mcp::output`](crate::format::mcp::output) is the other direction: a result of `tools/call` becomes the output of a tool, so that the tools
//! of a server [are tools of yours](super::_10_dynamic#all-tools-of-a-server). Texts, images, errors and structured values are the same
//! afterwards; audio, links and resources become texts that name them, since models take nothing else from a tool.
//!
//! # Strict forms
//!
//! Some APIs can hold the model to the schema, if it keeps to a subset. `strict_tool` puts a definition into it and
//! says what got lost; that is still enforced here. In OpenAI's, what is optional becomes what may be `null`:
//!
//! ```
//! # use tool_runtime::serde_json::json;
//! # use tool_runtime::{ToolRegistry, tool};
//! use tool_runtime::format::openai::chat;
//!
//! # /// Find a book.
//! # #[tool(read_only)]
//! # async fn find_book(
//! #     /// Its title.
//! #     title: String,
//! #     /// In which room to look.
//! #     room: Option<u8>,
//! # ) -> String {
//! #     format!("{title} is in room {}", room.unwrap_or(2))
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<find_book>()?;
//! let strict = chat::strict_tool(registry.tool_definitions()[0])?;
//! let parameters = &strict.tool["function"]["parameters"];
//! assert_eq!(parameters["required"], json!(["title", "room"]));
//! assert_eq!(parameters["properties"]["room"]["type"], json!(["integer", "null"]));
//!
//! // `null` is read as absent, so the same function serves both forms.
//! let result = registry.execute_tool("call_1", "find_book", r#"{ "title": "Ulysses", "room": null }"#).await;
//! assert_eq!(result.text(), Some("Ulysses is in room 2"));
//! # Ok(())
//! # }
//! ```
//!
//! Next: [tools that nobody wrote in Rust](super::_10_dynamic).
