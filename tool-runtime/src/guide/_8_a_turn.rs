//! A turn: the loop of an agent, with a family of tools, a permission and offloading around them.
//!
//! An agent is a loop: ask the model, run the calls, send the results, until the model calls nothing more. The answer arrives
//! as a stream, so that its text can be shown at once; a [`ResponseReader`](crate::format::anthropic::ResponseReader)
//! puts it together. `format` needs the feature `formats`; the reader also needs the feature `stream`:
//!
//! ```
//! use std::error::Error;
//! use tool_runtime::format::Delta;
//! use tool_runtime::format::anthropic::{self, Response, ResponseReader};
//! use tool_runtime::message::Message;
//! use tool_runtime::serde_json::json;
//! use tool_runtime::{Context, ToolRegistry};
//! # use strict_api::http;
//!
//! type Result<T> = std::result::Result<T, Box<dyn Error>>;
//!
//! async fn run(registry: &ToolRegistry, url: &str, question: Message, context: Context) -> Result<Vec<Message>> {
//!     let mut messages = vec![question];
//!     loop {
//!         let response = ask(registry, url, &messages).await?;
//!         match response.stop_reason.as_str() {
//!             "tool_use" | "pause_turn" | "end_turn" | "stop_sequence" => {}
//!             // `max_tokens`, `refusal` …: the answer has no end. Nothing of it runs, and nothing is sent back.
//!             other => return Err(format!("the model stopped early: {other}").into()),
//!         }
//!         // A model may answer nothing; the API refuses a message without content.
//!         if !response.message.is_empty() {
//!             messages.push(response.message);
//!         }
//!         match response.stop_reason.as_str() {
//!             "tool_use" => {}
//!             "pause_turn" => continue, // the API's own tools take longer: the same messages again, with this one
//!             _ => return Ok(messages),
//!         }
//!         // The session, the deadline, what was allowed: for all calls of the turn.
//!         let calls = response.calls.into_iter().map(|call| call.with_context(context.clone()));
//!         // A few at a time; the outcomes are in the order of the calls.
//!         let outcomes = registry.execute_all(calls).await;
//!         messages.push(anthropic::results(outcomes.iter().map(|outcome| &outcome.result)));
//!     }
//! }
//!
//! async fn ask(registry: &ToolRegistry, url: &str, messages: &[Message]) -> Result<Response> {
//!     let request = json!({
//!         "model": "claude-sonnet-5",
//!         "max_tokens": 4096,
//!         "stream": true,
//!         "tools": registry.tool_definitions(),
//!         "messages": messages,
//!     });
//!     // `http` is your HTTP client; the methods are named as in `reqwest`.
//!     let mut body = http::post(&format!("{url}/v1/messages"), &request).await?;
//!     let mut reader = ResponseReader::new();
//!     while let Some(bytes) = body.chunk().await? {
//!         for delta in reader.push(&bytes)? {
//!             if let Delta::Text(text) = delta {
//!                 print!("{text}");
//!             }
//!         }
//!     }
//!     Ok(reader.finish()?)
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! # let event = |event: tool_runtime::serde_json::Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
//! # let answer = |reason: &str| [
//! #     json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": {} } }),
//! #     json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "Noon." } }),
//! #     json!({ "type": "content_block_stop", "index": 0 }),
//! #     json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": {} }),
//! #     json!({ "type": "message_stop" }),
//! # ].map(event).concat();
//! # let server = strict_api::StrictServer::start([answer("end_turn"), answer("max_tokens")]);
//! # let registry = ToolRegistry::new();
//! # let messages = run(&registry, &server.url(), Message::user_text("What time is it?"), Context::new()).await?;
//! # assert_eq!(messages.len(), 2);
//! # let cut = run(&registry, &server.url(), Message::user_text("What time is it?"), Context::new()).await;
//! # assert_eq!(cut.unwrap_err().to_string(), "the model stopped early: max_tokens");
//! # let server = strict_api::StrictServer::start([answer("end_turn").replace("Noon.", "")]);
//! # let empty = run(&registry, &server.url(), Message::user_text("Say nothing."), Context::new()).await?;
//! # assert_eq!(empty.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! The [`Response`](crate::format::anthropic::Response) is split: `message` is what the next request sends back, unless it is empty, and
//! `id`, `model` or `usage`, which the API refuses there, are beside it. A body without `stream` is split in the same way:
//! `Response::try_from(from_slice::<Message>(&body)?)`. Calls run only after `tool_use`: another `stop_reason` may
//! have cut the last one in the middle. A stream that ends early, or with an `error` event, is an error of the reader.
//!
//! `examples/live` in the repository is this loop, with `reqwest`, on a real server of this API or of Chat Completions.
//!
//! The whole loop, with a local server that is as strict as the API, and answers that were written beforehand. `run` is the loop
//! above; `StrictServer` and `stream` stand for a server of your own, and what follows them is a test:
//!
//! ```
//! use std::sync::Mutex;
//! use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions, Reader, read_offloaded};
//! use tool_runtime::layer::BoxError;
//! use tool_runtime::serde_json::{Value, json, to_value};
//! use tool_runtime::{Context, ToolCall, ToolError, ToolRegistry, tools};
//! use tower::filter::FilterLayer;
//! # use strict_api::{StrictServer, http};
//! # use tool_runtime::format::anthropic::{self, Response, ResponseReader};
//! # use tool_runtime::message::Message;
//! # type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
//!
//! /// The lending desk: titles, each with the reader who has it.
//! struct Desk(Mutex<Vec<(String, Option<String>)>>);
//!
//! #[tools]
//! impl Desk {
//!     /// Print the catalogue.
//!     #[tool(read_only)]
//!     async fn catalogue(&self) -> Vec<String> {
//!         self.0.lock().unwrap().iter().map(|(title, _)| title.clone()).collect()
//!     }
//!
//!     /// Lend a book to the reader at the desk.
//!     #[tool]
//!     async fn lend(
//!         &self,
//!         /// The title.
//!         title: String,
//!         context: Context,
//!     ) -> Result<String, ToolError> {
//!         let mut books = self.0.lock().unwrap();
//!         let book = books.iter_mut().find(|(known, reader)| *known == title && reader.is_none());
//!         let (_, reader) = book.ok_or(ToolError::new("not_here", "choose from the catalogue"))?;
//!         Ok(format!("lent to {}", reader.insert(context.session().unwrap_or("a guest").to_owned())))
//!     }
//!
//!     /// Throw a book away.
//!     #[tool(destructive)]
//!     async fn discard(
//!         &self,
//!         /// The title.
//!         title: String,
//!     ) {
//!         self.0.lock().unwrap().retain(|(known, _)| *known != title);
//!     }
//! }
//!
//! // A call that the user does not allow does not run, and the model reads why.
//! fn refuse_discard(call: ToolCall) -> Result<ToolCall, BoxError> {
//!     match call.name.as_str() {
//!         "discard" => Err("only the librarian discards books; offer to ask her".into()),
//!         _ => Ok(call),
//!     }
//! }
//!
//! # async fn run(registry: &ToolRegistry, url: &str, question: Message, context: Context) -> Result<Vec<Message>> {
//! #     let mut messages = vec![question];
//! #     loop {
//! #         let response = ask(registry, url, &messages).await?;
//! #         messages.push(response.message);
//! #         if response.stop_reason != "tool_use" {
//! #             return Ok(messages);
//! #         }
//! #         let calls = response.calls.into_iter().map(|call| call.with_context(context.clone()));
//! #         let outcomes = registry.execute_all(calls).await;
//! #         messages.push(anthropic::results(outcomes.iter().map(|outcome| &outcome.result)));
//! #     }
//! # }
//! # async fn ask(registry: &ToolRegistry, url: &str, messages: &[Message]) -> Result<Response> {
//! #     let tools = registry.tool_definitions();
//! #     let request = json!({ "model": "claude", "max_tokens": 4096, "stream": true, "tools": tools, "messages": messages });
//! #     let mut body = http::post(&format!("{url}/v1/messages"), &request).await?;
//! #     let mut reader = ResponseReader::new();
//! #     while let Some(bytes) = body.chunk().await? {
//! #         reader.push(&bytes)?;
//! #     }
//! #     Ok(reader.finish()?)
//! # }
//! # /// The stream of a message with these blocks; the arguments of calls are texts.
//! # fn stream(blocks: Value) -> String {
//! #     let usage = json!({ "input_tokens": 100, "output_tokens": 10 });
//! #     let start = json!({
//! #         "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": null, "usage": usage,
//! #     });
//! #     let mut events = vec![json!({ "type": "message_start", "message": start })];
//! #     let mut stop_reason = "end_turn";
//! #     for (index, mut block) in blocks.as_array().unwrap().iter().cloned().enumerate() {
//! #         let delta = if block["type"] == "tool_use" {
//! #             stop_reason = "tool_use";
//! #             let arguments = block["input"].take();
//! #             block["input"] = json!({});
//! #             json!({ "type": "input_json_delta", "partial_json": arguments })
//! #         } else {
//! #             json!({ "type": "text_delta", "text": block["text"].take() })
//! #         };
//! #         if block["text"].is_null() {
//! #             block["text"] = json!("");
//! #         }
//! #         if block["type"] == "tool_use" {
//! #             block.as_object_mut().unwrap().remove("text");
//! #         }
//! #         events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
//! #         events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
//! #         events.push(json!({ "type": "content_block_stop", "index": index }));
//! #     }
//! #     events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason }, "usage": { "output_tokens": 50 } }));
//! #     events.push(json!({ "type": "message_stop" }));
//! #     events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
//! # }
//! # #[tokio::main]
//! # async fn main() -> Result<()> {
//! let mut books: Vec<_> = (1..=400).map(|volume| (format!("Annals, volume {volume}"), None)).collect();
//! books.push(("Ulysses".to_owned(), None));
//! let files = MemoryWriter::new();
//! let options = OffloadOptions::new("guests", "/offloaded");
//! let offload = OffloadLayer::new(options.clone()).with_writer(files.clone());
//! let mut registry = ToolRegistry::new()
//!     .with_state(options)
//!     .with_state(Reader::new(files))
//!     .layer(offload)
//!     .layer(FilterLayer::new(refuse_discard));
//! registry.register_all(Desk(Mutex::new(books)))?.register::<read_offloaded>()?; // the model reads what was offloaded
//!
//! let server = StrictServer::start([
//!     // Two calls at once, the second a little sloppy: a Python dict, and a key in the wrong case.
//!     stream(json!([
//!         { "type": "tool_use", "id": "toolu_01", "name": "catalogue", "input": "{}" },
//!         { "type": "tool_use", "id": "toolu_02", "name": "lend", "input": "{'Title': 'Ulysses'}" },
//!     ])),
//!     stream(json!([
//!         { "type": "tool_use", "id": "toolu_03", "name": "discard", "input": "{\"title\": \"Annals, volume 1\"}" },
//!     ])),
//!     stream(json!([
//!         { "type": "text", "text": "Ulysses is yours. I cannot discard the Annals; shall I ask the librarian?" },
//!     ])),
//! ]);
//! let question = Message::user_text("Ulysses, please. And away with the Annals!");
//! let messages = run(&registry, &server.url(), question, Context::new().with_session("ada")).await?;
//!
//! let roles: Vec<&str> = messages.iter().map(|message| message.role.as_str()).collect();
//! assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant"]);
//!
//! // The first turn's results: a pointer to the long catalogue, and the book.
//! let first = to_value(&messages[2])?;
//! let pointer = first["content"][0]["content"].as_str().unwrap();
//! assert!(pointer.contains("/offloaded/ada/toolu_01.md"), "{pointer}");
//! assert_eq!(
//!     first["content"][1],
//!     json!({ "type": "tool_result", "tool_use_id": "toolu_02", "content": "lent to ada" }),
//! );
//! // The second turn's: no.
//! assert_eq!(
//!     to_value(&messages[4])?["content"],
//!     json!([{
//!         "type": "tool_result",
//!         "tool_use_id": "toolu_03",
//!         "content": "only the librarian discards books; offer to ask her",
//!         "is_error": true
//!     }]),
//! );
//! // The model's messages went back without `id`, `model` and `usage`.
//! assert_eq!(server.requests()[1]["messages"][1], to_value(&messages[1])?);
//! assert_eq!(server.requests().len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! `execute_all` runs calls on the threads of tokio's runtime and returns their outcomes in the order of the calls.
//! [`with_max_concurrency`](crate::ToolRegistry::with_max_concurrency) limits how many run at once. If the
//! user ends the turn, drop the future of `execute_all`: every call in it ends.
//!
//! Next: [the same in the words of other APIs](super::_9_formats).
