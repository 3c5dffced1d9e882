//! The host: state, sessions, deadlines and cancellation reach a tool without the model hearing of them.
//!
//! By its type a parameter is the model's or the host's. The host's are six, and none of them is in the definition:
//!
//! | type | is | from |
//! |---|---|---|
//! | [`State<T>`](crate::State) | what tools share: a store, a client, a pool | [`with_state`](crate::ToolRegistry::with_state) |
//! | [`SessionState<T>`](crate::SessionState) | what belongs to a conversation: [sessions](super::_14_sessions) | the session |
//! | [`Extension<T>`](crate::Extension) | a value for this call: a user, a request's id | [`with_extension`](crate::Context::with_extension) |
//! | [`Context`](crate::Context) | what belongs to this call: session, deadline, whatever you put in | [`with_context`](crate::ToolCall::with_context) |
//! | [`Progress`](crate::Progress) | where the function says how far it is | [`with_progress`](crate::Context::with_progress) |
//! | [`CancellationToken`](crate::CancellationToken) | whether anybody still waits for the answer | the call |
//!
//! # State
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::sync::Mutex;
//! use tool_runtime::serde_json::json;
//! use tool_runtime::{Context, State, ToolCall, ToolRegistry, tool};
//!
//! /// Books that are out, each with the reader who has it.
//! #[derive(Default)]
//! struct Loans(Mutex<BTreeSet<(String, String)>>);
//!
//! /// Lend a book to the reader at the desk.
//! #[tool]
//! async fn lend(
//!     /// The title.
//!     title: String,
//!     loans: State<Loans>,
//!     context: Context,
//! ) -> Result<String, &'static str> {
//!     // Who is at the desk is the host's to say. A model could claim to be anybody.
//!     let reader = context.session().ok_or("nobody is at the desk")?;
//!     loans.0.lock().unwrap().insert((title, reader.to_owned()));
//!     Ok(format!("lent to {reader}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new().with_state(Loans::default());
//! registry.register::<lend>()?;
//! // The model knows of the title alone.
//! assert_eq!(registry.tool_definitions()[0].input_schema["required"], json!(["title"]));
//! assert_eq!(registry.tool_definitions()[0].input_schema["properties"].as_object().unwrap().len(), 1);
//!
//! let call = ToolCall::new("toolu_01", "lend", r#"{ "title": "Ulysses" }"#)
//!     .with_context(Context::new().with_session("Ada"));
//! assert_eq!(registry.call(call).await.result.text(), Some("lent to Ada"));
//!
//! // What the tools share, for the host.
//! let loans = registry.state::<Loans>().unwrap();
//! assert!(loans.0.lock().unwrap().contains(&("Ulysses".to_owned(), "Ada".to_owned())));
//!
//! // By hand, as in a test: the function needs no registry, only values.
//! let desk = Context::new().with_session("Bo");
//! assert_eq!(lend("Emma".to_owned(), State::new(Loans::default()), desk).await, Ok("lent to Bo".to_owned()));
//! # Ok(())
//! # }
//! ```
//!
//! A value that is in an `Arc` already goes in as `with_state(Arc::clone(&value))`; tools take it as `State<Arc<T>>`.
//!
//! A registry without the state refuses the tool when it is registered, not when it is called:
//!
//! ```
//! # use std::sync::Mutex;
//! # use tool_runtime::{State, ToolRegistry, tool};
//! # #[derive(Default)]
//! # struct Loans(Mutex<Vec<String>>);
//! # /// Lend a book to the reader at the desk.
//! # #[tool]
//! # async fn lend(
//! #     /// The title.
//! #     title: String,
//! #     loans: State<Loans>,
//! # ) {
//! #     loans.0.lock().unwrap().push(title);
//! # }
//! let error = ToolRegistry::new().register::<lend>().unwrap_err().to_string();
//! assert!(error.starts_with("`lend` takes `loans: State<"));
//! assert!(error.ends_with("and the registry has none; call `.with_state(..)` before you register it"));
//! ```
//!
//! # A value for a call
//!
//! Who asks, in which request, with which rights: the host, or a layer, puts it into the context, and functions take it by its type.
//!
//! ```
//! use tool_runtime::result::Failure;
//! use tool_runtime::{Context, Extension, ToolCall, ToolRegistry, tool};
//!
//! #[derive(Clone)]
//! struct Reader(&'static str);
//!
//! /// Renew all loans.
//! #[tool]
//! async fn renew(reader: Extension<Reader>) -> String {
//!     format!("renewed for {}", reader.0.0)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<renew>()?;
//! let call = ToolCall::new("toolu_01", "renew", "{}").with_context(Context::new().with_extension(Reader("Ada")));
//! assert_eq!(registry.call(call).await.result.text(), Some("renewed for Ada"));
//!
//! // Without it the function does not run. The log names the tool, the parameter and the type; the model hears nothing of them.
//! let outcome = registry.call(ToolCall::new("toolu_02", "renew", "{}")).await;
//! assert_eq!(outcome.failure, Some(Failure::HostValue));
//! # Ok(())
//! # }
//! ```
//!
//! # Time
//!
//! A call ends at the earlier of two moments: the tool's own `#[tool(timeout = "30s")]`, counted from its start, and
//! the deadline of its context, which is the host's. A function that takes the `Context` reads that moment from
//! [`deadline`](crate::Context::deadline), and can plan its retries by it. The function is left at the `.await` where it waits, and what it
//! owns is dropped. One that never awaits cannot be stopped: see [below](#functions-that-block).
//!
//! ```
//! use std::time::Duration;
//! use tool_runtime::result::Failure;
//! use tool_runtime::{Context, ToolCall, ToolRegistry, tool};
//!
//! /// Ask another library.
//! #[tool]
//! async fn ask_another_library() {
//!     tokio::time::sleep(Duration::from_secs(3600)).await;
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<ask_another_library>()?;
//!
//! let call = ToolCall::new("toolu_01", "ask_another_library", "{}")
//!     .with_context(Context::new().with_timeout(Duration::from_millis(20)));
//! assert_eq!(registry.call(call).await.failure, Some(Failure::TimedOut));
//! # Ok(())
//! # }
//! ```
//!
//! Which timeout is whose, and what counts against it:
//!
//! | | set by | counts from | waiting in layers counts | the model reads |
//! |---|---|---|---|---|
//! | of a tool | `#[tool(timeout = "30s")]` | when the call reaches the tool | no | ``the tool `x` timed out and was stopped; ..`` |
//! | of any tool, also a dynamic one | [`set_timeout`](crate::ToolRegistry::set_timeout), in place of the tool's own | when the call reaches the tool | no | the same |
//! | of a call | [`with_timeout`](crate::Context::with_timeout), [`with_deadline`](crate::Context::with_deadline) | the moment at which the context is made | yes, all of it but the decision of a [`Permission`](crate::permission::Permission) | the same, or ``the call timed out before ..`` |
//! | of a call, set by a layer that passes it on | the same, on `call.context` | that moment | only of the layers inside | the same |
//! | of a layer | `tower`'s `TimeoutLayer` | the moment at which the call comes to that layer | only of the layers inside | the layer's words |
//!
//! All hold, and the earliest ends the call. While a [`Permission`](super::_7_layers#permission) waits for a user's decision
//! the deadline stands still; in any other layer that waits, the time counts. Where it should not, the host sets no deadline, and
//! the layer gives the call its time when it passes it on:
//!
//! ```
//! use std::time::Duration;
//! use tool_runtime::layer::BoxError;
//! use tool_runtime::{Context, ToolCall, ToolRegistry, tool};
//! use tower::filter::AsyncFilterLayer;
//!
//! /// Delete a reader's account.
//! #[tool(destructive)]
//! async fn delete_reader(context: Context) -> bool {
//!     context.deadline().is_some()
//! }
//! # async fn wait_for_the_archive(_: &ToolCall) -> bool { true }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let archive = AsyncFilterLayer::new(async |mut call: ToolCall| -> Result<ToolCall, BoxError> {
//!     if !wait_for_the_archive(&call).await {
//!         return Err("the archive is closed today".into());
//!     }
//!     call.context = call.context.with_timeout(Duration::from_secs(60)); // from now on
//!     Ok(call)
//! });
//! let mut registry = ToolRegistry::new().layer(archive);
//! registry.register::<delete_reader>()?;
//! let result = registry.execute_tool("toolu_01", "delete_reader", "{}").await;
//! assert_eq!(result.text(), Some("true"));
//! # Ok(())
//! # }
//! ```
//!
//! # Cancellation
//!
//! The user presses Escape. A tool that holds nothing is dropped and need not care. One that has to tidy up takes the
//! token: it is told, has 50 ms to answer, and then is dropped like the others.
//!
//! ```
//! use tool_runtime::result::Failure;
//! use tool_runtime::{CancellationToken, Context, ToolCall, ToolRegistry, tool};
//!
//! /// Scan a book.
//! #[tool]
//! async fn scan(cancel: CancellationToken) -> &'static str {
//!     tokio::select! {
//!         () = all_pages() => "scanned",
//!         () = cancel.cancelled() => "stopped; the pages that were scanned are kept",
//!     }
//! }
//! # async fn all_pages() { std::future::pending().await }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<scan>()?;
//!
//! let escape = CancellationToken::new();
//! let call = ToolCall::new("toolu_01", "scan", "{}")
//!     .with_context(Context::new().with_cancellation(escape.clone()));
//! let (outcome, ()) = tokio::join!(registry.call(call), async {
//!     tokio::task::yield_now().await;
//!     escape.cancel();
//! });
//! assert_eq!(outcome.failure, Some(Failure::Cancelled));
//! assert_eq!(outcome.result.text(), Some("stopped; the pages that were scanned are kept"));
//! # Ok(())
//! # }
//! ```
//!
//! # Progress
//!
//! A call that takes long says how far it is. Reporting never waits, and while nobody listens nothing is written. The host listens with a
//! `watch` channel of tokio's for each call: it sees the latest report, whenever it looks.
//!
//! ```
//! use tokio::sync::watch;
//! use tool_runtime::{Context, Progress, ProgressReport, ToolCall, ToolRegistry, tool};
//!
//! /// Scan a book.
//! #[tool]
//! async fn scan_book(
//!     /// How many pages it has.
//!     pages: u64,
//!     progress: Progress,
//! ) -> String {
//!     for page in 1..=pages {
//!         progress.report(page, pages, format_args!("page {page}"));
//!         scan(page).await;
//!     }
//!     format!("{pages} pages are scanned")
//! }
//! # async fn scan(_: u64) {}
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<scan_book>()?;
//!
//! let (sender, mut reports) = watch::channel(ProgressReport::default());
//! let call = ToolCall::new("toolu_01", "scan_book", r#"{ "pages": 3 }"#)
//!     .with_context(Context::new().with_progress(sender));
//! let (outcome, latest) = tokio::join!(registry.call(call), async {
//!     let mut latest = ProgressReport::default();
//!     // Ends when the call does.
//!     while reports.changed().await.is_ok() {
//!         latest = reports.borrow_and_update().clone();
//!     }
//!     latest
//! });
//! assert_eq!((latest.done, latest.total), (3, Some(3)));
//! assert_eq!(latest.to_string(), "3 of 3: page 3");
//! assert_eq!(outcome.result.text(), Some("3 pages are scanned"));
//! # Ok(())
//! # }
//! ```
//!
//! The channel closes with the call, also if a thread or a task of the function keeps its `Progress`. A clone of the context that the host
//! keeps for other calls keeps it open.
//!
//! The function of a dynamic tool has it from its context: [`Context::progress`](crate::Context::progress).
//!
//! # Functions that block
//!
//! Reading a large file, compressing, asking a database whose client is not `async`: such a body holds its thread, and no other call can
//! use it. Write a plain `fn` and `#[tool(blocking)]`: it runs on one of tokio's threads for such functions.
//!
//! ```
//! use tool_runtime::{CancellationToken, ToolRegistry, tool};
//!
//! /// Count the pages that name a word.
//! #[tool(blocking, read_only, timeout = "20s")]
//! fn count_pages(
//!     /// The word.
//!     word: String,
//!     cancel: CancellationToken,
//! ) -> usize {
//!     let pages = all_pages().into_iter().take_while(|_| !cancel.is_cancelled());
//!     pages.filter(|page| page.contains(&word)).count()
//! }
//! # fn all_pages() -> [&'static str; 2] { ["call me", "to sea"] }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<count_pages>()?;
//! let result = registry.execute_tool("toolu_01", "count_pages", r#"{"word": "sea"}"#).await;
//! assert_eq!(result.text(), Some("1"));
//! # Ok(())
//! # }
//! ```
//!
//! Its panics, deadline and cancellation are those of any tool, and its call ends in time. The thread cannot be stopped: it goes on until
//! the function returns, so ask the token in long loops, as above. The log says which call left a thread behind (`a blocking tool goes on
//! after its call was stopped`, with their number in `threads`) and when it has ended. One for which no thread is free when its call ends
//! never runs. At its own end a tokio runtime waits for all of them, unless it is ended with `shutdown_timeout`.
//!
//! Next: [tools that belong together](super::_6_family).
