//! Sloppy calls: what models get wrong is mended where that is no guess, and refused with words that help where it is.
//!
//! A model writes arguments as it writes everything, by what is likely. Most are right. Some are almost right: a number
//! in quotes, a name in another case, `null` for nothing. A tool that refuses those wastes a turn on pedantry; one that
//! takes just anything acts on guesses. So there are three fates:
//!
//! | the arguments | the function | told |
//! |---|---|---|
//! | fit | runs | nothing |
//! | have one reading that fits | runs, with the right values | a warning for each change |
//! | have none, or two | does not run | an error for each mistake |
//!
//! # Mended
//!
//! ```
//! use tool_runtime::{ToolCall, ToolRegistry, tool};
//!
//! /// List new books.
//! #[tool]
//! async fn new_books(
//!     /// Only of this year and later.
//!     first_year: Option<u16>,
//!     /// Of which kinds.
//!     kinds: Vec<String>,
//!     /// The most to list.
//!     #[arg(default = 10, range = 1..=50)]
//!     limit: u8,
//! ) -> String {
//!     format!("{first_year:?} {kinds:?} {limit}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<new_books>()?;
//!
//! let input = r#"{ "firstYear": null, "kinds": "novel", "limit": "3", "sort": "asc" }"#;
//! let outcome = registry.call(ToolCall::new("toolu_01", "new_books", input)).await;
//! assert_eq!(outcome.result.text(), Some(r#"None ["novel"] 3"#));
//!
//! let warnings: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
//! assert_eq!(
//!     warnings,
//!     [
//!         "parameter_name_normalized at /first_year: `firstYear` was read as `first_year`, the declared spelling",
//!         "scalar_coerced_to_list at /kinds: \"novel\" was read as an array with one item; send an array",
//!         "string_literal_converted_to_integer at /limit: \"3\" was read as 3",
//!         "unknown_parameter:sort at /sort: unknown parameter; expected one of `first_year`, `kinds`, `limit`",
//!     ],
//! );
//! # Ok(())
//! # }
//! ```
//!
//! A warning is an [`Issue`](crate::Issue): a stable code, a JSON Pointer to the place, a message. The host finds it in the outcome;
//! its `tracing` log has the code and the pointer, not the message, which quotes what was sent. With
//! [`with_warnings_in_results`](crate::ToolRegistry::with_warnings_in_results) the model reads it, too, as a note after the answer.
//!
//! # Refused
//!
//! All mistakes at once, each with what to send instead: a model that reads this gets the next call right.
//!
//! ```
//! # use tool_runtime::{ToolRegistry, tool};
//! # /// List new books.
//! # #[tool]
//! # async fn new_books(
//! #     /// Only of this year and later.
//! #     first_year: Option<u16>,
//! #     /// Of which kinds.
//! #     kinds: Vec<String>,
//! #     /// The most to list.
//! #     #[arg(default = 10, range = 1..=50)]
//! #     limit: u8,
//! # ) -> String {
//! #     format!("{first_year:?} {kinds:?} {limit}")
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! # let mut registry = ToolRegistry::new();
//! # registry.register::<new_books>()?;
//! let input = r#"{ "first_year": "last", "limit": 0 }"#;
//! let result = registry.execute_tool("toolu_01", "new_books", input).await;
//! assert!(result.is_error);
//! assert_eq!(
//!     result.text(),
//!     Some(
//!         "`new_books` was not called because of invalid arguments:\n\
//!          - unsupported_integer_literal at /first_year: invalid value \"last\"; expected an integer from 0 to 65535, or leave it out\n\
//!          - missing_required:kinds at /kinds: missing required parameter; expected an array like [<a string>, …]\n\
//!          - constraint_violated at /limit: invalid value 0; expected an integer from 1 to 50, or leave it out"
//!     ),
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # How much is mended is your choice
//!
//! A [`Policy`](crate::Policy) can be set for a registry, for a tool, for a call; the narrowest counts.
//!
//! ```
//! use tool_runtime::{Policy, ToolCall, ToolRegistry, tool};
//!
//! /// Pay a fine.
//! #[tool]
//! async fn pay(
//!     /// How much, in euros.
//!     euros: u32,
//! ) -> String {
//!     format!("{euros} € paid")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::RegistryError> {
//! let mut registry = ToolRegistry::new();
//! registry.register::<pay>()?;
//!
//! let pay = |input: &str, policy| {
//!     let call = ToolCall::new("toolu_01", "pay", input).with_policy(policy);
//!     let registry = &registry;
//!     async move { registry.call(call).await.result }
//! };
//! // `Lenient`, the default: what can be understood.
//! assert_eq!(pay(r#"{ "euros": "3" }"#, Policy::Lenient).await.text(), Some("3 € paid"));
//! assert_eq!(pay(r#"{ "euros": 3.75 }"#, Policy::Lenient).await.text(), Some("3 € paid"));
//! // `Lossless`: only what loses nothing.
//! assert_eq!(pay(r#"{ "euros": "3" }"#, Policy::Lossless).await.text(), Some("3 € paid"));
//! assert!(pay(r#"{ "euros": 3.75 }"#, Policy::Lossless).await.is_error);
//! // `Strict`: types must match.
//! assert!(pay(r#"{ "euros": "3" }"#, Policy::Strict).await.is_error);
//! # Ok(())
//! # }
//! ```
//!
//! `Lossless` also refuses arguments with sentences around the object, since they would be lost. `Strict` changes
//! no value and repairs no text. For a single parameter there is `#[arg(strict)]`. All rules, with every code, are on one
//! page: [`coercion`](crate::coercion).
//!
//! # Text that is not even JSON
//!
//! Some models answer with a Python dict. Before the arguments are read, such text is repaired, under the same rule:
//! never by a guess. What was cut off in the middle is not completed.
//!
//! ```
//! use tool_runtime::{testing, tool};
//!
//! /// Pay a fine.
//! #[tool]
//! async fn pay(
//!     /// How much, in euros.
//!     euros: u32,
//!     /// Whether it is all.
//!     in_full: bool,
//! ) -> String {
//!     format!("{euros} {in_full}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! testing::run::<pay>("{'euros': 3, 'in_full': True}").await
//!     .assert_warnings(["json_repaired"])
//!     .assert_text("3 true");
//! testing::run::<pay>("{'euros': 3").await
//!     .assert_refused(["json_parse_error"]);
//! # }
//! ```
//!
//! The same repair works [without a registry](super::_13_repair), on texts and, with the feature `stream`, on streams.
//!
//! Next: [what comes back](super::_4_answers).
