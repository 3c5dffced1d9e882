//! Around every call: permission, timeouts and long results are layers, and no tool knows of them.
//!
//! Some things concern all tools: who may call what, how long it may take, what is written to a log. They are [`tower`]
//! layers, as in a web server: a call goes in through them, its outcome comes out through them, the one added last is
//! the outermost. Any layer for `Service<ToolCall>` will do, `tower`'s own or yours.
//!
//! [`tower`]: https://docs.rs/tower
//!
//! ```toml
//! tower = { version = "0.5", features = ["filter", "util"] }
//! tool-builtins = { path = "../tool-runtime/tool-builtins" } # for long results
//! ```
//!
//! # Permission
//!
//! A filter sees each call before the tool does. What it refuses is answered with its words: the model reads why, and
//! can ask. Here tools that only read are free, and everything else needs the user's yes.
//!
//! ```
//! use std::collections::HashSet;
//! use tool_runtime::layer::BoxError;
//! use tool_runtime::result::Failure;
//! use tool_runtime::{Context, ToolCall, ToolRegistry, tool, tool_set};
//! use tower::filter::FilterLayer;
//!
//! /// Look up a reader.
//! #[tool(read_only)]
//! async fn find_reader() -> &'static str {
//!     "Ada, card 7"
//! }
//!
//! /// Delete a reader's account.
//! #[tool(destructive)]
//! async fn delete_reader() -> &'static str {
//!     "gone"
//! }
//!
//! /// What the user said yes to. The host puts it into the context of the calls.
//! struct Allowed(&'static [&'static str]);
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! registry.register_all(tool_set![find_reader, delete_reader])?;
//!
//! let tools = registry.tool_definitions().into_iter();
//! let reading = tools.filter(|tool| tool.hints.read_only == Some(true));
//! let free: HashSet<String> = reading.map(|tool| tool.name.clone()).collect();
//! let permission = move |call: ToolCall| -> Result<ToolCall, BoxError> {
//!     let allowed = call.context.extension().is_some_and(|Allowed(names)| names.contains(&&*call.name));
//!     if free.contains(&call.name) || allowed {
//!         return Ok(call);
//!     }
//!     Err(format!("the user did not allow `{}`; ask first", call.name).into())
//! };
//! let registry = registry.layer(FilterLayer::new(permission));
//!
//! let result = registry.execute_tool("toolu_01", "find_reader", "{}").await;
//! assert_eq!(result.text(), Some("Ada, card 7"));
//!
//! let delete = ToolCall::new("toolu_02", "delete_reader", "{}");
//! let outcome = registry.call(delete.clone()).await;
//! assert_eq!(outcome.failure, Some(Failure::Layer));
//! assert_eq!(outcome.result.text(), Some("the user did not allow `delete_reader`; ask first"));
//!
//! let delete = delete.with_context(Context::new().with_extension(Allowed(&["delete_reader"])));
//! assert_eq!(registry.call(delete).await.result.text(), Some("gone"));
//! # Ok(())
//! # }
//! ```
//!
//! `read_only` and `destructive` are hints: they reach layers and MCP's clients, and enforce nothing by themselves. A
//! layer that waits for the user is `tower`'s `AsyncFilterLayer`. What it should show is not what the model wrote but
//! what the function would get:
//!
//! ```
//! # use tool_runtime::{ToolCall, ToolRegistry, tool};
//! # /// Delete a reader's account.
//! # #[tool(destructive)]
//! # async fn delete_reader(
//! #     /// The number of the card.
//! #     card: u32,
//! # ) -> String {
//! #     format!("{card} is gone")
//! # }
//! # fn main() -> Result<(), tool_runtime::RegistryError> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<delete_reader>()?;
//! let request = registry.request(ToolCall::new("toolu_01", "delete_reader", r#"{ "Card": "7" }"#));
//! assert_eq!(request.arguments_json, r#"{"card":7}"#); // nothing has run
//! assert_eq!((request.warnings.len(), request.errors.len()), (2, 0));
//! # Ok(())
//! # }
//! ```
//!
//! # Long results
//!
//! What a tool returns stays in the conversation, and is paid for with every further turn. `OffloadLayer` of
//! `tool-builtins` moves what is long into a file and leaves a pointer; a model that has a tool to read files reads it
//! when it wants to. A file keeps what it has: when a server repeats an id, the next file's name gets a number.
//!
//! ```
//! use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions};
//! use tool_runtime::{ToolRegistry, tool};
//!
//! /// Print the whole catalogue.
//! #[tool(read_only)]
//! async fn catalogue() -> String {
//!     "Moby-Dick\n".repeat(5000)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let files = MemoryWriter::new(); // in a test; real files without it
//! let options = OffloadOptions::new("session-1", "/offloaded");
//! let mut registry = ToolRegistry::new().layer(OffloadLayer::new(options).with_writer(files.clone()));
//! registry.register::<catalogue>()?;
//!
//! let result = registry.execute_tool("toolu_01", "catalogue", "{}").await;
//! let pointer = result.text().unwrap();
//! assert!(pointer.len() < 500 && pointer.contains("/offloaded/session-1/toolu_01.md"), "{pointer}");
//! assert_eq!(files.read("/offloaded/session-1/toolu_01.md").unwrap().lines().count(), 5000);
//! # Ok(())
//! # }
//! ```
//!
//! # A layer of your own
//!
//! Two closures, one for the layer and one for each call:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use tool_runtime::layer::ToolService;
//! use tool_runtime::{ToolCall, ToolRegistry, tool};
//! use tower::{ServiceExt, layer::layer_fn, service_fn};
//!
//! /// Tell when the library opens.
//! #[tool]
//! async fn opens() -> &'static str {
//!     "at nine"
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let log = Arc::new(Mutex::new(Vec::new()));
//! let entries = Arc::clone(&log);
//! let mut registry = ToolRegistry::new().layer(layer_fn(move |tools: ToolService| {
//!     let entries = Arc::clone(&entries);
//!     service_fn(move |call: ToolCall| {
//!         let (tools, entries) = (tools.clone(), Arc::clone(&entries));
//!         async move {
//!             let asked = call.name.clone();
//!             let outcome = tools.oneshot(call).await?; // the layers inside, and the tool
//!             entries.lock().unwrap().push(format!("{asked}: {:?}", outcome.result.text()));
//!             Ok::<_, tool_runtime::layer::BoxError>(outcome)
//!         }
//!     })
//! }));
//! registry.register::<opens>()?;
//!
//! registry.execute_tool("toolu_01", "opens", "{}").await;
//! assert_eq!(*log.lock().unwrap(), [r#"opens: Some("at nine")"#]);
//! # Ok(())
//! # }
//! ```
//!
//! Next: [all of it together](super::_8_a_turn).
