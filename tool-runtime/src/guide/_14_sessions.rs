//! Sessions: state that belongs to a conversation, and is stored and restored with it.
//!
//! A [`State`](crate::State) is one for all. What belongs to one conversation is a [`SessionState`](crate::SessionState): the parameter
//! names a type, and each session has its own value of it, which starts from the type's default.
//!
//! ```
//! use tool_runtime::serde::{Deserialize, Serialize};
//! use tool_runtime::{Context, SessionState, ToolCall, ToolRegistry, tool, tool_set};
//!
//! /// The books that a reader wants to borrow.
//! #[derive(Default, Serialize, Deserialize)]
//! #[serde(crate = "tool_runtime::serde")]
//! struct Basket {
//!     titles: Vec<String>,
//! }
//!
//! /// Put a book into the reader's basket.
//! #[tool]
//! async fn put_into_basket(
//!     /// The title.
//!     title: String,
//!     basket: SessionState<Basket>,
//! ) -> usize {
//!     let mut basket = basket.lock();
//!     basket.titles.push(title);
//!     basket.titles.len()
//! }
//!
//! /// List the books in the reader's basket.
//! #[tool(read_only)]
//! async fn list_basket(basket: SessionState<Basket>) -> String {
//!     basket.lock().titles.join(", ")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut registry = ToolRegistry::new();
//! registry.register_all(tool_set![put_into_basket, list_basket])?;
//!
//! for (reader, title) in [("Ada", "Ulysses"), ("Bo", "Emma"), ("Ada", "Dubliners")] {
//!     let call = ToolCall::new("toolu_01", "put_into_basket", format!(r#"{{ "title": "{title}" }}"#))
//!         .with_context(Context::new().with_session(reader));
//!     registry.call(call).await;
//! }
//! let call = ToolCall::new("toolu_02", "list_basket", "{}").with_context(Context::new().with_session("Ada"));
//! assert_eq!(registry.call(call).await.result.text(), Some("Ulysses, Dubliners"));
//!
//! // For the host.
//! let basket = registry.session_values(Some("Bo")).get::<Basket>()?;
//! assert_eq!(basket.lock().titles, ["Emma"]);
//!
//! // By hand, as in a test.
//! assert_eq!(put_into_basket("Emma".to_owned(), SessionState::default()).await, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Two tools share a value because they name the same type: give each state a type of its own, and not `Vec<String>`. Calls without
//! a session share one value. [`lock`](crate::SessionState::lock) waits for the other calls of the session; its guard cannot be held
//! across an `.await`, so read before, and write after.
//!
//! # Where values are kept
//!
//! In memory, by the registry, with all its clones and subsets; a session that has ended is removed with
//! [`remove_session`](crate::ToolRegistry::remove_session), and nothing is removed otherwise. A
//! [`SessionStateStore`](crate::SessionStateStore) of your own takes the place of that memory. A host that stores conversations gives
//! each call the values of its conversation, and stores them with the answer:
//!
//! ```
//! use tool_runtime::serde_json::Value;
//! use tool_runtime::{Context, SessionState, SessionValues, ToolCall, ToolRegistry, tool};
//!
//! /// Stamp the reader's card.
//! #[tool]
//! async fn stamp(stamps: SessionState<u32>) -> u32 {
//!     *stamps.lock() += 1;
//!     *stamps.lock()
//! }
//!
//! /// A turn of a conversation: what was stored before it comes in, what is to be stored comes out.
//! async fn turn(registry: &ToolRegistry, stored: &str) -> Result<String, Box<dyn std::error::Error>> {
//!     let values = SessionValues::from_json(tool_runtime::serde_json::from_str(stored)?);
//!     let call = ToolCall::new("toolu_01", "stamp", "{}")
//!         .with_context(Context::new().with_session_values(values.clone()));
//!     registry.call(call).await;
//!     Ok(Value::Object(values.to_json()?).to_string())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<stamp>()?;
//! let first = turn(&registry, "{}").await?;
//! assert_eq!(first, r#"{"u32":1}"#);
//! // Two branches of the conversation, from one turn.
//! assert_eq!(turn(&registry, &first).await?, r#"{"u32":2}"#);
//! assert_eq!(turn(&registry, &first).await?, r#"{"u32":2}"#);
//! # Ok(())
//! # }
//! ```
//!
//! This is what the gateway does with each turn: a branch starts from the state of its parent, two sessions never share one, and it
//! survives a restart. Calls of tools with a `SessionState` run there in the order of the model, others beside them. What a call that
//! was cut off has changed is not stored, nor what a task changes that outlives its call.
//!
//! A [`Permission`](super::_7_layers#permission) keeps what was decided with `AllowAlways` in the session, too:
//! [`AllowRules`](crate::permission::AllowRules) is a session state like any other.
//!
//! # When the type changes
//!
//! Values are stored under the path of their type. A type that is renamed or moved starts from its default; what is stored under a
//! path that the program does not know is kept, and written again unchanged. A field that is new needs `#[serde(default)]`: a stored
//! value that cannot be read stays as it is, the function does not run, and the log says why.
//!
//! ```
//! use tool_runtime::SessionValues;
//! use tool_runtime::serde_json::json;
//!
//! let stored = json!({ "u32": "five", "library::Card": { "stamps": 5 } });
//! let values = SessionValues::from_json(stored.as_object().unwrap().clone());
//! let error = values.get::<u32>().unwrap_err().to_string();
//! assert!(error.starts_with("the stored session state of type `u32` cannot be read"));
//! assert_eq!(json!(values.to_json().unwrap()), stored);
//! ```
//!
//! This was the last chapter. [Back to the list](super).
