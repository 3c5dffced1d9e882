//! Testing: call a tool as a model would, and hold what the model is told.
//!
//! Three things can be wrong with a tool, and each has its test: what the function does, what the model is told, and
//! what becomes of what the model sends.
//!
//! ```
//! use tool_runtime::{ToolError, ToolRegistry, testing, tool};
//!
//! /// Tell what a late book costs.
//! #[tool(read_only)]
//! async fn fine(
//!     /// How many days late it is.
//!     #[arg(range = 0..=365)]
//!     days: u32,
//!     /// Whether it belongs to a child.
//!     #[arg(default = false)]
//!     child: bool,
//! ) -> Result<u32, ToolError> {
//!     match (days, child) {
//!         (300.., _) => Err(ToolError::new("lost", "so late a book counts as lost; ask for its price")),
//!         (_, true) => Ok(0),
//!         (days, false) => Ok(days * 20),
//!     }
//! }
//!
//! // 1. What it does. It is a function: no registry, no JSON.
//! # /*
//! #[tokio::test]
//! # */
//! async fn children_pay_nothing() {
//!     assert_eq!(fine(10, true).await, Ok(0));
//!     assert_eq!(fine(10, false).await, Ok(200));
//! }
//!
//! // 2. What the model is told. A change of it changes how the model behaves, so let no change go unseen.
//! # /*
//! #[test]
//! # */
//! fn the_model_reads_this() {
//!     let mut registry = ToolRegistry::new();
//!     registry.register::<fine>().unwrap();
//!     testing::assert_definitions!(registry, "tests/tools.json");
//! }
//!
//! // 3. What becomes of what the model sends.
//! # /*
//! #[tokio::test]
//! # */
//! async fn calls() {
//!     // As it should be.
//!     testing::run::<fine>(r#"{ "days": 10 }"#).await.assert_no_warnings().assert_text("200");
//!     // Sloppy.
//!     testing::run::<fine>(r#"{ "days": "10", "child": 1 }"#).await
//!         .assert_warnings([
//!             "string_literal_converted_to_integer at /days",
//!             "number_coerced_to_boolean at /child",
//!         ])
//!         .assert_text("0");
//!     // Wrong: not run at all.
//!     testing::run::<fine>(r#"{ "days": 400, "child": "maybe" }"#).await
//!         .assert_refused(["constraint_violated at /days", "unsupported_boolean_literal at /child"]);
//!     // Right, and refused by the function itself.
//!     testing::run::<fine>(r#"{ "days": 300 }"#).await
//!         .assert_error("lost: so late a book counts as lost; ask for its price");
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! #     children_pay_nothing().await;
//! #     the_model_reads_this();
//! #     calls().await;
//! # }
//! ```
//!
//! [`assert_definitions!`](crate::assert_definitions) compares the definitions with a file beside your `Cargo.toml`, or below it.
//! `UPDATE_DEFINITIONS=1 cargo test` writes that file, and it is committed. A change of a signature, of a comment or of a dependency that
//! tells the model something else then fails the test, and the message is not two files but the places:
//!
//! ```text
//! the definitions differ from those in /home/ada/library/tests/tools.json, so the model would be told something else:
//!
//! `fine` at /input_schema/properties/days/maximum
//!   old: 365
//!   new: 100
//!
//! if that is meant, run the test with UPDATE_DEFINITIONS=1 and review the file
//! ```
//!
//! Reviewers see in the file's difference what the model will read.
//!
//! [`testing::run`](crate::testing::run) makes a registry for one tool. A tool that needs state, a family or a dynamic
//! tool is called in yours by [`testing::run_in`](crate::testing::run_in), layers included:
//!
//! ```
//! use std::sync::Mutex;
//! use tool_runtime::{State, ToolRegistry, testing, tool};
//!
//! /// Put a book on the wish list.
//! #[tool]
//! async fn wish(
//!     /// The title.
//!     #[arg(not_blank)]
//!     title: String,
//!     wishes: State<Mutex<Vec<String>>>,
//! ) -> usize {
//!     let mut wishes = wishes.lock().unwrap();
//!     wishes.push(title);
//!     wishes.len()
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new().with_state(Mutex::new(Vec::<String>::new()));
//! registry.register::<wish>()?;
//!
//! testing::run_in(&registry, "wish", r#"{ "title": "Emma" }"#).await.assert_text("1");
//! testing::run_in(&registry, "wish", r#"{ "title": "  " }"#).await
//!     .assert_refused(["constraint_violated at /title"]);
//! assert_eq!(*registry.state::<Mutex<Vec<String>>>().unwrap().lock().unwrap(), ["Emma"]);
//! # Ok(())
//! # }
//! ```
//!
//! One that takes the [`Context`](crate::Context) is given one by [`testing::run_call`](crate::testing::run_call), which
//! takes a whole [`ToolCall`](crate::ToolCall). The outcome of a call that was made otherwise has the same assertions:
//! `CallAssert::from(outcome)`. A [value for programs](super::_4_answers#a-value-for-programs) is compared by
//! [`assert_structured`](crate::testing::CallAssert::assert_structured). The texts that they compare are answers; what stands after an answer
//! ([notes](crate::ToolOutcome::notes)) is compared by [`assert_notes`](crate::testing::CallAssert::assert_notes).
//!
//! Next: [what the macro wrote for you](super::_12_expansion).
