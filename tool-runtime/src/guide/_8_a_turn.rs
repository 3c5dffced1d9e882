//! A turn: the loop of an agent, with a family of tools, a permission and offloading around them.
//!
//! An agent is a loop. Ask the model; run what it calls; tell it the results; until it calls nothing more. Most of what
//! could go wrong in it has been dealt with in the chapters before, so the loop itself is short (`format` needs the
//! feature `formats`):
//!
//! ```
//! # use std::collections::VecDeque;
//! use tool_runtime::format::anthropic;
//! use tool_runtime::message::Message;
//! use tool_runtime::{Context, ToolRegistry};
//!
//! async fn run(registry: &ToolRegistry, model: &mut Model, question: Message, context: Context) -> Vec<Message> {
//!     let mut messages = vec![question];
//!     loop {
//!         let answer = model.ask(registry.tool_definitions(), &messages).await;
//!         let calls = anthropic::calls(&answer).expect("the API sends well-formed messages");
//!         messages.push(answer);
//!         if calls.is_empty() {
//!             return messages;
//!         }
//!         // Who is asking, until when, what was allowed: the same for all calls of the turn.
//!         let calls = calls.into_iter().map(|call| call.with_context(context.clone()));
//!         // Side by side, a few at a time; the outcomes come in the order of the calls.
//!         let outcomes = registry.execute_all(calls).await;
//!         messages.push(anthropic::results(outcomes.iter().map(|outcome| &outcome.result)));
//!     }
//! }
//! # struct Model;
//! # impl Model {
//! #     async fn ask(&mut self, _: Vec<&tool_runtime::ToolDefinition>, _: &[Message]) -> Message { Message::user([]) }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # let messages = run(&ToolRegistry::new(), &mut Model, Message::user([]), Context::new()).await;
//! # assert_eq!(messages.len(), 2);
//! # }
//! ```
//!
//! `Model` is yours: an HTTP client that sends definitions and messages. What follows is a whole evening at the desk,
//! with a model whose answers are written down beforehand.
//!
//! ```
//! use std::sync::Mutex;
//! use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions};
//! use tool_runtime::layer::BoxError;
//! use tool_runtime::serde_json::{Value, from_value, json, to_value};
//! use tool_runtime::{Context, ToolCall, ToolError, ToolRegistry, tools};
//! use tower::filter::FilterLayer;
//! # use tool_runtime::format::anthropic;
//! # use tool_runtime::message::Message;
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
//! // What the user did not allow is not done, and the model is told so.
//! fn permission(call: ToolCall) -> Result<ToolCall, BoxError> {
//!     match call.name.as_str() {
//!         "discard" => Err("only the librarian discards books; offer to ask her".into()),
//!         _ => Ok(call),
//!     }
//! }
//!
//! # async fn run(registry: &ToolRegistry, model: &mut Model, question: Message, context: Context) -> Vec<Message> {
//! #     let mut messages = vec![question];
//! #     loop {
//! #         let answer = model.ask(registry.tool_definitions(), &messages).await;
//! #         let calls = anthropic::calls(&answer).expect("the API sends well-formed messages");
//! #         messages.push(answer);
//! #         if calls.is_empty() {
//! #             return messages;
//! #         }
//! #         let calls = calls.into_iter().map(|call| call.with_context(context.clone()));
//! #         let outcomes = registry.execute_all(calls).await;
//! #         messages.push(anthropic::results(outcomes.iter().map(|outcome| &outcome.result)));
//! #     }
//! # }
//! # struct Model(std::collections::VecDeque<Message>);
//! # impl Model {
//! #     async fn ask(&mut self, _: Vec<&tool_runtime::ToolDefinition>, _: &[Message]) -> Message {
//! #         self.0.pop_front().unwrap()
//! #     }
//! #     fn scripted(answers: impl IntoIterator<Item = Value>) -> Self {
//! #         let message = |content| from_value(json!({ "role": "assistant", "content": content })).unwrap();
//! #         Self(answers.into_iter().map(message).collect())
//! #     }
//! # }
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut books: Vec<_> = (1..=400).map(|volume| (format!("Annals, volume {volume}"), None)).collect();
//! books.push(("Ulysses".to_owned(), None));
//! let files = MemoryWriter::new();
//! let offload = OffloadLayer::new(OffloadOptions::new("guests", "/offloaded")).with_writer(files.clone());
//! let mut registry = ToolRegistry::new().layer(offload).layer(FilterLayer::new(permission));
//! registry.register_all(Desk(Mutex::new(books)))?;
//!
//! let mut model = Model::scripted([
//!     // Two calls at once, the second a little sloppy.
//!     json!([
//!         { "type": "tool_use", "id": "toolu_01", "name": "catalogue", "input": {} },
//!         { "type": "tool_use", "id": "toolu_02", "name": "lend", "input": { "Title": "Ulysses" } },
//!     ]),
//!     json!([{ "type": "tool_use", "id": "toolu_03", "name": "discard", "input": { "title": "Annals, volume 1" } }]),
//!     json!([{ "type": "text", "text": "Ulysses is yours. I cannot discard the Annals; shall I ask the librarian?" }]),
//! ]);
//! let question = Message::user_text("Ulysses, please. And away with the Annals!");
//! let messages = run(&registry, &mut model, question, Context::new().with_session("ada")).await;
//!
//! let roles: Vec<&str> = messages.iter().map(|message| message.role.as_str()).collect();
//! assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant"]);
//!
//! // The first turn's answers: a pointer to the long catalogue, and the book.
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
//! # Ok(())
//! # }
//! ```
//!
//! `execute_all` runs calls on the threads of tokio's runtime and returns their outcomes in the order of the calls.
//! [`with_max_concurrency`](crate::ToolRegistry::with_max_concurrency) limits how many run at once. If the
//! user ends the turn, drop the future of `execute_all`: every call in it ends.
//!
//! Next: [the same in the words of other APIs](super::_9_formats).
