//! A family: the methods of a type are tools that share it.
//!
//! Tools that work on the same thing are methods of it. `#[tools]` stands on the `impl` block, `#[tool]` on the methods
//! that the model may call; the others stay what they are.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
//! use tool_runtime::serde_json::{json, to_value};
//! use tool_runtime::{Context, ToolCall, ToolError, ToolRegistry, tools};
//!
//! /// The lending desk: who has which book.
//! struct Desk {
//!     books: Mutex<BTreeMap<String, Option<String>>>,
//! }
//!
//! #[tools]
//! impl Desk {
//!     /// List the books that can be borrowed now.
//!     #[tool(read_only)]
//!     async fn list_books(&self) -> Vec<String> {
//!         let books = self.books();
//!         books.iter().filter(|(_, reader)| reader.is_none()).map(|(title, _)| title.clone()).collect()
//!     }
//!
//!     /// Lend a book to the reader at the desk.
//!     #[tool]
//!     async fn lend_book(
//!         &self,
//!         /// The title, as `list_books` spells it.
//!         title: String,
//!         context: Context,
//!     ) -> Result<String, ToolError> {
//!         let reader = context.session().unwrap_or("a guest").to_owned();
//!         match self.books().get_mut(&title) {
//!             Some(book @ None) => Ok(format!("lent to {}", book.insert(reader))),
//!             Some(Some(_)) => Err(ToolError::new("lent", "somebody else has it; choose from `list_books`")),
//!             None => Err(ToolError::new("unknown_title", "there is no such book; choose from `list_books`")),
//!         }
//!     }
//!
//!     /// Take a book out of the library for ever.
//!     #[tool(destructive)]
//!     async fn discard_book(
//!         &self,
//!         /// The title.
//!         title: String,
//!     ) -> bool {
//!         self.books().remove(&title).is_some()
//!     }
//!
//!     // No tool: the model never hears of it.
//!     fn books(&self) -> MutexGuard<'_, BTreeMap<String, Option<String>>> {
//!         self.books.lock().unwrap_or_else(PoisonError::into_inner)
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let books = ["Moby-Dick", "Ulysses"].map(|title| (title.to_owned(), None));
//! let desk = Arc::new(Desk { books: Mutex::new(books.into()) });
//!
//! let mut registry = ToolRegistry::new();
//! registry.register_all(Arc::clone(&desk))?; // all of them, or none if one is refused
//! let names: Vec<&str> = registry.tool_definitions().iter().map(|tool| tool.name.as_str()).collect();
//! assert_eq!(names, ["list_books", "lend_book", "discard_book"]);
//!
//! let call = ToolCall::new("toolu_01", "lend_book", r#"{ "title": "Ulysses" }"#)
//!     .with_context(Context::new().with_session("Ada"));
//! assert_eq!(registry.call(call).await.result.text(), Some("lent to Ada"));
//!
//! let result = registry.execute_tool("toolu_02", "lend_book", r#"{ "title": "Ulysses" }"#).await;
//! assert_eq!(result.text(), Some("lent: somebody else has it; choose from `list_books`"));
//!
//! // The host has the same desk, and so has a test.
//! assert_eq!(desk.books().get("Ulysses"), Some(&Some("Ada".to_owned())));
//! assert_eq!(desk.list_books().await, ["Moby-Dick"]);
//! # Ok(())
//! # }
//! ```
//!
//! Calls run side by side, so a tool takes `&self` and keeps what changes behind a lock. Hold it for no longer than it
//! takes: a `std::sync` lock that is held across an `.await` does not compile, since the call could go on on another
//! thread.
//!
//! # Functions in a set
//!
//! Functions that belong together without a type make a set with [`tool_set!`](crate::tool_set). It keeps them private
//! to their module:
//!
//! ```
//! mod opening {
//!     use tool_runtime::{IntoTools, tool, tool_set};
//!
//!     /// Tell when the library opens.
//!     #[tool]
//!     async fn opens() -> &'static str {
//!         "at nine"
//!     }
//!
//!     /// Tell when the library closes.
//!     #[tool]
//!     async fn closes() -> &'static str {
//!         "at six"
//!     }
//!
//!     /// What this module offers.
//!     pub fn tools() -> impl IntoTools {
//!         tool_set![opens, closes]
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = tool_runtime::ToolRegistry::new();
//! registry.register_all(opening::tools())?;
//! assert_eq!(registry.execute_tool("toolu_01", "closes", "{}").await.text(), Some("at six"));
//!
//! // For one request, some of them.
//! let mornings = registry.subset(["opens"]);
//! assert_eq!(mornings.tool_definitions().len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! A name that is taken is an error of `register_all`, and then none of the set is registered.
//!
//! ## Registries side by side
//!
//! Two libraries that never heard of each other both have a tool `find`. [`nest`](crate::ToolRegistry::nest) puts a registry into
//! another one, with a prefix before its names, as axum nests routers:
//!
//! ```
//! use tool_runtime::permission::{Decision, Permission};
//! use tool_runtime::{State, ToolRegistry, tool};
//!
//! /// Find a title.
//! #[tool(read_only)]
//! async fn find(
//!     /// What is in it.
//!     word: String,
//!     shelf: State<Vec<String>>,
//! ) -> Vec<String> {
//!     shelf.iter().filter(|title| title.contains(&word)).cloned().collect()
//! }
//!
//! /// Clear the shelf.
//! #[tool(destructive)]
//! async fn clear() {}
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! // Each is whole: its own state, its own policy, its own layers.
//! let guard = Permission::by_hints(async |request| {
//!     Decision::Deny(format!("nobody may {} the maps", request.call.name))
//! });
//! let mut maps = ToolRegistry::new().with_state(vec!["Oslo 1881".to_owned()]).layer(guard);
//! maps.register::<find>()?.register::<clear>()?;
//! let mut books = ToolRegistry::new().with_state(vec!["Ulysses".to_owned()]);
//! books.register::<find>()?;
//!
//! let mut library = ToolRegistry::new();
//! library.nest("maps", maps)?.nest("books", books)?;
//! let names: Vec<&str> = library.tool_definitions().iter().map(|tool| tool.name.as_str()).collect();
//! assert_eq!(names, ["maps__find", "maps__clear", "books__find"]);
//!
//! let result = library.execute_tool("toolu_01", "maps__find", r#"{ "word": "Oslo" }"#).await;
//! assert_eq!(result.text(), Some(r#"["Oslo 1881"]"#));
//!
//! // The layer of the maps knows its tools by the names that they have there.
//! let result = library.execute_tool("toolu_02", "maps__clear", "{}").await;
//! assert_eq!(result.text(), Some("nobody may clear the maps"));
//!
//! // What the model reads has the name that it called.
//! let result = library.execute_tool("toolu_03", "books__find", "{}").await;
//! assert!(result.text().unwrap().starts_with("`books__find` was not called because of invalid arguments"));
//! # Ok(())
//! # }
//! ```
//!
//! Layers of the outer registry run first, and see the whole name. A name that is taken, or longer than 64 characters with its prefix,
//! is an error of `nest`.
//!
//! Next: [who may call what, and for how long](super::_7_layers).
