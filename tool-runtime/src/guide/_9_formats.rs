//! Formats: the same tool in the words of each API.
//!
//! The crate speaks the words of Anthropic's Messages API throughout: `input_schema`, `tool_use`, `tool_result`. For
//! the others [`format`](mod@crate::format) has pure functions, three for each API (the definition out, the calls in, the result
//! out), and readers that make a whole response of a stream. Nothing is sent. They come with two features:
//!
//! ```toml
//! [dependencies]
//! tool-runtime = { path = "../tool-runtime/tool-runtime", features = ["formats", "stream"] }
//! ```
//!
//! # OpenAI's chat completions, and compatible servers
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
//! # Ok(())
//! # }
//! ```
//!
//! The loop is that of [the chapter before](super::_8_a_turn), with the reader of this API. Compatible servers differ in their streams: some
//! omit `index` or `id`, repeat them, or say `stop` although there are calls. The reader tells the pieces apart, or it is an error.
//! `http` is your HTTP client; `StrictServer` and `stream` stand for a server of your own, and what follows the loop is a test:
//!
//! ```
//! use tool_runtime::format::Delta;
//! use tool_runtime::format::openai::chat::{self, ResponseReader};
//! use tool_runtime::serde_json::{Value, json};
//! use tool_runtime::{ToolRegistry, tool};
//! # use strict_api::{StrictServer, http};
//!
//! type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
//!
//! async fn run(registry: &ToolRegistry, url: &str, question: &str) -> Result<Vec<Value>> {
//!     let tools: Vec<_> = registry.tool_definitions().into_iter().map(chat::tool).collect();
//!     let mut messages = vec![json!({ "role": "user", "content": question })];
//!     loop {
//!         let request = json!({ "model": "gpt-5", "stream": true, "tools": tools, "messages": messages });
//!         let mut body = http::post(&format!("{url}/v1/chat/completions"), &request).await?;
//!         let mut reader = ResponseReader::new();
//!         while let Some(bytes) = body.chunk().await? {
//!             for delta in reader.push(&bytes)? {
//!                 if let Delta::Text(text) = delta {
//!                     print!("{text}");
//!                 }
//!             }
//!         }
//!         let response = reader.finish()?;
//!         if response.is_cut_off() {
//!             return Err("the answer has no end; nothing of it runs".into());
//!         }
//!         messages.push(response.message);
//!         if response.calls.is_empty() {
//!             return Ok(messages);
//!         }
//!         for outcome in registry.execute_all(response.calls).await {
//!             messages.push(chat::result(&outcome.result)?);
//!         }
//!     }
//! }
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
//! # /// A stream of these deltas.
//! # fn stream(deltas: &[Value]) -> String {
//! #     let chunk = |delta: &Value, reason: Option<&str>| {
//! #         let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
//! #         format!("data: {}\n\n", json!({ "id": "chatcmpl-1", "model": "gpt-5", "choices": [choice] }))
//! #     };
//! #     let chunks: String = deltas.iter().map(|delta| chunk(delta, None)).collect();
//! #     chunks + &chunk(&json!({}), Some("stop")) + "data: [DONE]\n\n"
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<find_book>()?;
//! // A local server, as strict as the API. Its model writes a Python dict, and its calls have no `index`.
//! let server = StrictServer::start([
//!     stream(&[
//!         json!({ "tool_calls": [{ "id": "call_1", "function": { "name": "find_book", "arguments": "{'title': " } }] }),
//!         json!({ "tool_calls": [{ "id": "call_1", "function": { "arguments": "'Ulysses'}" } }] }),
//!     ]),
//!     stream(&[json!({ "content": "It is in " }), json!({ "content": "room 2." })]),
//! ]);
//! let messages = run(&registry, &server.url(), "Where is Ulysses?").await?;
//! assert_eq!(
//!     messages[1..],
//!     [
//!         json!({ "role": "assistant", "content": null, "tool_calls": [{
//!             "id": "call_1",
//!             "type": "function",
//!             "function": { "name": "find_book", "arguments": "{\"title\": \"Ulysses\"}" }
//!         }] }),
//!         json!({ "role": "tool", "tool_call_id": "call_1", "content": "Ulysses is in room 2" }),
//!         json!({ "role": "assistant", "content": "It is in room 2." }),
//!     ],
//! );
//! # Ok(())
//! # }
//! ```
//!
//! A body without `stream` becomes the same [`Response`](crate::format::openai::chat::Response): `Response::try_from(body)`.
//!
//! # OpenAI's Responses
//!
//! A response consists of items. All of them go back, and a result is one more:
//!
//! ```
//! # use tool_runtime::serde_json::{Value, json};
//! # use tool_runtime::{ToolRegistry, tool};
//! # use strict_api::{StrictServer, http};
//! use tool_runtime::format::openai::responses::{self, ResponseReader};
//!
//! # type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
//! async fn run(registry: &ToolRegistry, url: &str, question: &str) -> Result<Vec<Value>> {
//!     let tools: Vec<_> = registry.tool_definitions().into_iter().map(responses::tool).collect();
//!     let mut input = vec![json!({ "role": "user", "content": question })];
//!     loop {
//!         let request = json!({ "model": "gpt-5", "stream": true, "tools": tools, "input": input });
//!         let mut body = http::post(&format!("{url}/v1/responses"), &request).await?;
//!         let mut reader = ResponseReader::new();
//!         while let Some(bytes) = body.chunk().await? {
//!             reader.push(&bytes)?;
//!         }
//!         let response = reader.finish()?;
//!         if response.status != "completed" {
//!             return Err("the answer has no end; nothing of it runs".into());
//!         }
//!         input.extend(response.output);
//!         if response.calls.is_empty() {
//!             return Ok(input);
//!         }
//!         for outcome in registry.execute_all(response.calls).await {
//!             input.push(responses::result(&outcome.result)?);
//!         }
//!     }
//! }
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
//! # fn stream(output: Value) -> String {
//! #     let response = json!({ "id": "resp_1", "model": "gpt-5", "status": "completed", "output": output });
//! #     let event = json!({ "type": "response.completed", "response": response });
//! #     format!("event: response.completed\ndata: {event}\n\n")
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<find_book>()?;
//! # let call = json!({ "type": "function_call", "call_id": "call_1", "name": "find_book", "arguments": "{\"title\": \"Ulysses\"}" });
//! # let text = json!([{ "type": "output_text", "text": "In room 2.", "annotations": [] }]);
//! # let server = StrictServer::start([
//! #     stream(json!([{ "type": "reasoning", "id": "rs_1", "summary": [] }, call])),
//! #     stream(json!([{ "type": "message", "id": "msg_1", "role": "assistant", "content": text }])),
//! # ]);
//! let input = run(&registry, &server.url(), "Where is Ulysses?").await?;
//! assert_eq!(
//!     input[3],
//!     json!({ "type": "function_call_output", "call_id": "call_1", "output": "Ulysses is in room 2" }),
//! );
//! # assert_eq!(input.len(), 5);
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
