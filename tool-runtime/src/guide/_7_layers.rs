//! Around every call: permission, timeouts and long results are layers, and no tool knows of them.
//!
//! Some things concern all tools: who may call what, how long it may take, what is written to a log. They are [`tower`]
//! layers, as in a web server: a call goes in through them, its outcome comes out through them. [The order](#the-order-of-layers) is at
//! the end of this page. A layer is `tower`'s or yours; its service takes a [`ToolCall`](crate::ToolCall), returns a
//! [`ToolOutcome`](crate::ToolOutcome), and is `Clone + Send + Sync`, since the calls of a turn run side by side. The service of tower's
//! `RateLimitLayer` is not `Clone`: put `tower::buffer::BufferLayer` around it, as in `ServiceBuilder::new().buffer(64).rate_limit(..)`.
//!
//! [`tower`]: https://docs.rs/tower
//!
//! ```toml
//! [dependencies]
//! tool-runtime = { path = "../tool-runtime/tool-runtime" }
//! tool-builtins = { path = "../tool-runtime/tool-builtins" } # for long results
//! tokio = { version = "1", features = ["macros", "rt-multi-thread", "sync", "time"] }
//! tower = { version = "0.5", features = ["buffer", "filter", "limit", "timeout", "util"] }
//! ```
//!
//! # Permission
//!
//! [`Permission`](crate::permission::Permission) asks before a call. It gets the arguments as the function would get them, which is
//! what a user should be shown, and decides: `Allow`, `AllowWith` other arguments, `AllowAlways`, `Deny` with words for the model, or
//! `Interrupt`. With
//! [`by_hints`](crate::permission::Permission::by_hints), tools that only read are not asked about. (The hints `read_only`,
//! `destructive`, `idempotent` and `open_world` reach layers and MCP's clients, and enforce nothing by themselves.) It holds for
//! every tool, also for those that are registered later; while a user thinks, no timeout of the call runs.
//!
//! ```
//! use std::sync::Arc;
//! use tokio::sync::Mutex;
//! use tool_runtime::permission::{Decision, Permission, PermissionRequest};
//! use tool_runtime::result::Failure;
//! use tool_runtime::{ToolCall, ToolRegistry, tool, tool_set};
//!
//! async fn ask(PermissionRequest { call, .. }: PermissionRequest, user: Arc<Mutex<User>>) -> Decision {
//!     if call.argument("dry_run").is_some_and(|dry_run| dry_run == true) {
//!         return Decision::Allow;
//!     }
//!     // Calls of one turn run side by side; the lock keeps their questions apart.
//!     if user.lock().await.allows(&call.name, &call.arguments_json).await {
//!         return Decision::Allow;
//!     }
//!     Decision::Deny(format!("the user did not allow this call of `{}`; ask what to do instead", call.name))
//! }
//!
//! /// Somebody at a terminal, for example.
//! struct User {
//!     questions: Vec<String>,
//! }
//!
//! impl User {
//!     async fn allows(&mut self, tool: &str, arguments: &str) -> bool {
//!         self.questions.push(format!("{tool} {arguments}?"));
//!         arguments.contains("7") // what this user says
//!     }
//! }
//!
//! /// Look up a reader.
//! #[tool(read_only)]
//! async fn find_reader() -> &'static str {
//!     "Ada, card 7"
//! }
//!
//! /// Delete a reader's account.
//! #[tool(destructive)]
//! async fn delete_reader(
//!     /// The number of the card.
//!     card: u32,
//!     /// Only tell what would be deleted.
//!     #[arg(default = true)]
//!     dry_run: bool,
//! ) -> String {
//!     format!("{card} {}", if dry_run { "would be gone" } else { "is gone" })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let user = Arc::new(Mutex::new(User { questions: Vec::new() }));
//! let asked = Arc::clone(&user);
//! let permission = Permission::by_hints(move |request| ask(request, Arc::clone(&asked)));
//! let mut registry = ToolRegistry::new().layer(permission);
//! registry.register_all(tool_set![find_reader, delete_reader])?;
//!
//! let results = registry.execute_all([
//!     ToolCall::new("toolu_01", "find_reader", "{}"),
//!     ToolCall::new("toolu_02", "delete_reader", r#"{ "card": 7 }"#), // a dry run, by its default
//!     ToolCall::new("toolu_03", "delete_reader", r#"{ "Card": "7", "dry_run": "false" }"#),
//!     ToolCall::new("toolu_04", "delete_reader", r#"{ "card": 8, "dry_run": false }"#),
//! ]).await;
//! let texts: Vec<_> = results.iter().filter_map(|outcome| outcome.result.text()).collect();
//! assert_eq!(texts, [
//!     "Ada, card 7",
//!     "7 would be gone",
//!     "7 is gone",
//!     "the user did not allow this call of `delete_reader`; ask what to do instead",
//! ]);
//! assert_eq!(results[3].failure, Some(Failure::Denied));
//!
//! let mut questions = user.lock().await.questions.clone();
//! questions.sort();
//! assert_eq!(questions, [
//!     r#"delete_reader {"card":7,"dry_run":false}?"#,
//!     r#"delete_reader {"card":8,"dry_run":false}?"#,
//! ]);
//! # Ok(())
//! # }
//! ```
//!
//! A user may change the arguments, or not want to be asked again:
//!
//! | decision | effect |
//! |---|---|
//! | `AllowWith(arguments)` | The call runs with these arguments. They are coerced and checked like any others, and a note after the result tells the model what was changed. |
//! | `AllowAlways(rule)` | The call runs, and the session keeps the rule: later calls that it allows run without a question. [`rule_for_tool`](crate::permission::PermissionRequest::rule_for_tool) allows every call of the tool, [`rule_for_call`](crate::permission::PermissionRequest::rule_for_call) those with equal arguments. |
//!
//! The rules of a session are a session state, [`AllowRules`](crate::permission::AllowRules): it is stored with the others (see
//! [sessions](super::_14_sessions)), and the host can show the rules and remove them. Their limits:
//!
//! - Calls that wait for a decision while a rule is added that allows them are passed on: the futures of their decisions are dropped, so a
//!   dialog that is open can be closed.
//! - Calls without a session share their rules: give each user's calls a session of their own with
//!   [`with_session`](crate::Context::with_session).
//! - A rule counts in every `Permission` around the tool. A policy that has to see every call must not be a `Permission`, since a
//!   user's rule would answer its questions: make it a [filter](#filters).
//!
//! ```
//! use tool_runtime::permission::{AllowRules, Decision, Permission, PermissionRequest};
//! use tool_runtime::{Context, ToolCall, ToolRegistry, tool};
//!
//! /// Renew a loan.
//! #[tool]
//! async fn renew(
//!     /// The title.
//!     title: String,
//!     /// For how many weeks.
//!     weeks: u8,
//! ) -> String {
//!     format!("{title} for {weeks} weeks")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let permission = Permission::by_hints(async |request: PermissionRequest| {
//!     let mut arguments = request.call.arguments.clone();
//!     if arguments["weeks"].as_u64() > Some(4) {
//!         arguments["weeks"] = 4.into(); // what the user has typed
//!         return Decision::AllowWith(arguments);
//!     }
//!     Decision::AllowAlways(request.rule_for_call())
//! });
//! let mut registry = ToolRegistry::new().layer(permission);
//! registry.register::<renew>()?;
//! let call = |arguments: &str| {
//!     ToolCall::new("toolu_01", "renew", arguments).with_context(Context::new().with_session("Ada"))
//! };
//!
//! let outcome = registry.call(call(r#"{ "title": "Emma", "weeks": 9 }"#)).await;
//! let text = "Emma for 4 weeks\n\nThe arguments of this call were changed when it was approved: `weeks` is 4.";
//! assert_eq!(outcome.result.text(), Some(text));
//!
//! registry.call(call(r#"{ "title": "Ulysses", "weeks": 2 }"#)).await; // from now on without a question
//! let rules = registry.session_values(Some("Ada")).get::<AllowRules>()?;
//! assert_eq!(rules.lock().0[0].tool, "renew");
//! # Ok(())
//! # }
//! ```
//!
//! Sometimes nobody can be asked while the call waits: the answer comes with another request, or tomorrow. Then the decision is
//! `Interrupt`. The host sees the failure, and makes the call again when somebody has approved it:
//!
//! ```
//! use tool_runtime::permission::{Decision, Permission, PermissionRequest};
//! use tool_runtime::result::Failure;
//! use tool_runtime::{Context, ToolCall, ToolRegistry, tool};
//!
//! /// The id of a call that was approved.
//! struct Approved(String);
//!
//! /// Buy a book.
//! #[tool]
//! async fn buy() -> &'static str {
//!     "bought"
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let permission = Permission::by_hints(async |request: PermissionRequest| {
//!     match request.context.extension() {
//!         Some(Approved(id)) if *id == request.call.tool_use_id => Decision::Allow,
//!         _ => Decision::Interrupt,
//!     }
//! });
//! let mut registry = ToolRegistry::new().layer(permission);
//! registry.register::<buy>()?;
//!
//! let call = ToolCall::new("toolu_01", "buy", "{}");
//! let outcome = registry.call(call.clone()).await;
//! assert_eq!(outcome.failure, Some(Failure::Interrupted));
//! // For a host without approvals, and for `execute_tool`:
//! let text = "`buy` was not called because approval is needed; ask the user to approve it";
//! assert_eq!(outcome.result.text(), Some(text));
//!
//! let approved = Context::new().with_extension(Approved("toolu_01".to_owned()));
//! let outcome = registry.call(call.with_context(approved)).await;
//! assert_eq!(outcome.result.text(), Some("bought"));
//! # Ok(())
//! # }
//! ```
//!
//! # Filters
//!
//! In a layer a call knows the tool that it goes to: [`definition`](crate::ToolCall::definition) has the hints,
//! [`prepare`](crate::ToolCall::prepare) the arguments as the function would get them. That is all that `Permission` is made of, and
//! a rule without a question is a filter of `tower`. What it refuses is answered with its words: the model reads why, and can do
//! something else.
//!
//! ```
//! use tool_runtime::layer::BoxError;
//! use tool_runtime::result::Failure;
//! use tool_runtime::{ToolCall, ToolRegistry, tool};
//! use tower::filter::FilterLayer;
//!
//! /// Passes on what changes nothing.
//! fn while_closed(call: ToolCall) -> Result<ToolCall, BoxError> {
//!     match call.definition() {
//!         Some(tool) if tool.hints.read_only != Some(true) => {
//!             Err(format!("the library is closed; `{}` works again from nine", tool.name).into())
//!         }
//!         _ => Ok(call), // without a definition the name is unknown: the registry answers
//!     }
//! }
//!
//! /// Lend a book.
//! #[tool]
//! async fn lend() {}
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new().layer(FilterLayer::new(while_closed));
//! registry.register::<lend>()?;
//! let outcome = registry.call(ToolCall::new("toolu_01", "lend", "{}")).await;
//! assert_eq!(outcome.result.text(), Some("the library is closed; `lend` works again from nine"));
//! assert_eq!(outcome.failure, Some(Failure::Layer));
//! # Ok(())
//! # }
//! ```
//!
//! A layer may change a call before it passes it on, or make one itself. It may also change the name of a call: the registry looks the
//! name up again after the last layer. If such a layer is inside of a `Permission`, the new tool runs **without having been asked
//! about**: put layers that change calls outside of it. Outside of layers,
//! [`ToolRegistry::prepare`](crate::ToolRegistry::prepare) reads the arguments of a call without running it, for a permission
//! dialog or to pass them on. Its `arguments` are those that were sent, coerced; `defaults` has the values of the
//! parameters that were not sent, and `argument(name)` looks in both.
//!
//! # Timeouts
//!
//! Layers stand around every way to call. What a layer refuses or stops becomes the result of the call;
//! the other calls of the turn are not affected. (A timeout for one tool is [`#[tool(timeout = "30s")]`](super::_5_host#time).)
//!
//! ```
//! use std::time::Duration;
//! use tool_runtime::{ToolCall, ToolRegistry, tool};
//! use tower::timeout::TimeoutLayer;
//!
//! /// Wait for a book to come back.
//! #[tool]
//! async fn wait_for_book(
//!     /// How long, in milliseconds.
//!     ms: u64,
//! ) -> String {
//!     tokio::time::sleep(Duration::from_millis(ms)).await;
//!     format!("waited {ms} ms")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new()
//!     .layer(TimeoutLayer::new(Duration::from_millis(500)))
//!     .with_max_concurrency(4);
//! registry.register::<wait_for_book>()?;
//!
//! let call = |id: &str, ms: u64| ToolCall::new(id, "wait_for_book", format!(r#"{{ "ms": {ms} }}"#));
//! let outcomes = registry.execute_all([call("toolu_01", 100), call("toolu_02", 60_000)]).await;
//! assert_eq!(outcomes[0].result.text(), Some("waited 100 ms"));
//! assert_eq!(outcomes[1].result.text(), Some("request timed out"));
//! assert!(outcomes[1].result.is_error);
//! # Ok(())
//! # }
//! ```
//!
//! # One tool, or some
//!
//! [`layer_tool`](crate::ToolRegistry::layer_tool) puts a layer around one tool, inside of the layers of the registry. Tools that share
//! layers or states are a registry of their own, which [`merge`](crate::ToolRegistry::merge) adds under the same names, and
//! [`nest`](crate::ToolRegistry::nest) with a prefix.
//!
//! ```
//! use tool_runtime::{ToolCall, ToolRegistry, tool, tool_set};
//! use tower::limit::ConcurrencyLimitLayer;
//! use tower::util::MapRequestLayer;
//!
//! /// Print a list of all loans.
//! #[tool]
//! async fn print_loans() -> &'static str {
//!     "printed"
//! }
//!
//! /// Look up a book in the catalogue of another library.
//! #[tool(read_only)]
//! async fn find_elsewhere() -> &'static str {
//!     "found"
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new().with_tools(tool_set![print_loans])?;
//! registry.layer_tool("print_loans", ConcurrencyLimitLayer::new(1))?; // there is one printer
//!
//! let others = ToolRegistry::new().layer(MapRequestLayer::new(|call: ToolCall| {
//!     println!("{} asks another library", call.id);
//!     call
//! }));
//! registry.merge(others.with_tools(tool_set![find_elsewhere])?)?;
//!
//! for (name, text) in [("print_loans", "printed"), ("find_elsewhere", "found")] {
//!     assert_eq!(registry.execute_tool("toolu_01", name, "{}").await.text(), Some(text));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Long results
//!
//! What a tool returns stays in the conversation, and is paid for with every further turn. `OffloadLayer` of
//! `tool-builtins` moves what is long into a file and leaves a pointer; with the tool `ReadOffloaded`, the model reads and searches
//! it when it wants to. A file keeps what it has: when a server repeats an id, the next file's name gets a number.
//!
//! ```
//! use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions, Reader, read_offloaded};
//! use tool_runtime::{ToolRegistry, serde_json::json, tool};
//!
//! /// Print the whole catalogue.
//! #[tool(read_only)]
//! async fn catalogue() -> String {
//!     "Moby-Dick\n".repeat(5000)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let files = MemoryWriter::new(); // in a test; for real files, no writer and a `LocalReader`
//! let options = OffloadOptions::new("session-1", "/offloaded");
//! let mut registry = ToolRegistry::new()
//!     .layer(OffloadLayer::new(options.clone()).with_writer(files.clone()))
//!     .with_state(options)
//!     .with_state(Reader::new(files.clone()));
//! registry.register::<catalogue>()?.register::<read_offloaded>()?;
//!
//! let result = registry.execute_tool("toolu_01", "catalogue", "{}").await;
//! let pointer = result.text().unwrap();
//! assert!(pointer.len() < 500 && pointer.contains("/offloaded/session-1/toolu_01.md"), "{pointer}");
//! assert_eq!(files.read("/offloaded/session-1/toolu_01.md").unwrap().lines().count(), 5000);
//!
//! let arguments = json!({ "id": "toolu_01", "offset": 10, "limit": 9 });
//! let result = registry.execute_tool("toolu_02", "ReadOffloaded", arguments).await;
//! assert_eq!(result.text(), Some("[characters 10 to 19 of 50000; go on with offset 19]\nMoby-Dick"));
//! # Ok(())
//! # }
//! ```
//!
//! # The order of layers
//!
//! The layer that is added first is the innermost, next to the tool; the one added last is the outermost. Of a
//! [nested](super::_6_family#registries-side-by-side) registry the layers run inside of the outer registry's. Inside out:
//!
//! | layer | reason for its place |
//! |---|---|
//! | `TimeoutLayer`, `ConcurrencyLimitLayer` | inside of the permission: the user's time to decide counts against no limit |
//! | `OffloadLayer` | outside of layers that shorten or replace a result; notes are joined after all layers, so they are never offloaded |
//! | `Permission`, filters | around everything that costs time: a call that is refused uses no permit of a limit |
//! | layers that change calls | around the permission, so that it decides about the call that is made |
//! | `AttemptLimit` | around layers that change calls: it counts the calls that the model made |
//! | a log | outermost: it sees the call that the model made and the result that the model reads, without notes |
//!
//! ```
//! use std::time::Duration;
//! use tool_builtins::AttemptLimit;
//! use tool_builtins::offload::{MemoryWriter, OffloadLayer, OffloadOptions};
//! use tool_runtime::permission::{Decision, Permission};
//! use tool_runtime::{ToolRegistry, tool};
//! use tower::timeout::TimeoutLayer;
//!
//! /// Print the catalogue.
//! #[tool]
//! async fn print_catalogue() -> String {
//!     "Moby-Dick\n".repeat(5000)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! # tokio::time::pause();
//! let files = MemoryWriter::new();
//! let mut registry = ToolRegistry::new()
//!     .layer(TimeoutLayer::new(Duration::from_secs(5)))
//!     .layer(OffloadLayer::new(OffloadOptions::new("session-1", "/offloaded")).with_writer(files.clone()))
//!     .layer(Permission::by_hints(async |_| {
//!         tokio::time::sleep(Duration::from_secs(60)).await; // the user reads the question
//!         Decision::Allow
//!     }))
//!     .layer(AttemptLimit::new(3));
//! registry.register::<print_catalogue>()?;
//!
//! let result = registry.execute_tool("toolu_01", "print_catalogue", "{}").await;
//! assert!(!result.is_error); // not timed out
//! assert!(files.read("/offloaded/session-1/toolu_01.md").is_some());
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
