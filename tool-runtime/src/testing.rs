//! For tests of tools: call one as a model would, and say what you expect.
//!
//! ```
//! # use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::json};
//! use tool_runtime::testing;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # let mut registry = ToolRegistry::new();
//! # let definition = ToolDefinition::new("add", "Add.", json!({
//! #     "type": "object",
//! #     "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
//! #     "required": ["a", "b"],
//! # }));
//! # registry.register_dynamic(definition, async |input, _| {
//! #     input["a"].as_i64().zip(input["b"].as_i64()).map(|(a, b)| json!(a + b)).ok_or("no numbers")
//! # }).unwrap();
//! testing::run_in(&registry, "add", r#"{"a": 2, "b": 40}"#).await.assert_silent().assert_text("42");
//! # }
//! ```

#![allow(
    clippy::return_self_not_must_use,
    reason = "the last assertion of a chain is for nobody"
)]
#![allow(
    clippy::panic,
    reason = "an assertion that does not hold panics, as `assert_eq!` does"
)]

use std::ops::Deref;

use serde_json::Value;

use crate::call::{RawArguments, ToolCall};
use crate::issue::Issue;
use crate::registry::ToolRegistry;
use crate::result::{Failure, ToolOutcome};
use crate::tool::Tool;

/// Calls an annotated function that needs no state, in a registry of its own.
///
/// ```
/// use tool_runtime::{testing, tool};
///
/// /// Divide a number by another.
/// #[tool]
/// async fn divide(
///     /// What is divided.
///     number: i64,
///     /// By what.
///     by: i64,
/// ) -> Result<i64, &'static str> {
///     number.checked_div(by).ok_or("there is no result; send another `by`")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// testing::run::<divide>(r#"{ "number": 6, "by": 2 }"#).await.assert_silent().assert_text("3");
/// testing::run::<divide>(r#"{ "number": "6", "by": 2 }"#).await
///     .assert_warnings(["string_literal_converted_to_integer at /number"]);
/// testing::run::<divide>(r#"{ "number": "six" }"#).await
///     .assert_refused(["unsupported_integer_literal at /number", "missing_required at /by"]);
/// testing::run::<divide>(r#"{ "number": 6, "by": 0 }"#).await
///     .assert_error("there is no result; send another `by`");
/// # }
/// ```
///
/// # Panics
///
/// When the tool cannot be registered.
#[track_caller]
pub fn run<T: Tool>(input: impl Into<RawArguments>) -> impl Future<Output = Checked> {
    let mut registry = ToolRegistry::new();
    if let Err(error) = registry.register::<T>() {
        panic!("{error}");
    }
    let name = T::declare().declaration.name;
    let input = input.into();
    async move { run_in(&registry, name, input).await }
}

/// Calls a tool of a registry, through its layers.
pub async fn run_in(registry: &ToolRegistry, name: &str, input: impl Into<RawArguments>) -> Checked {
    Checked(registry.call(ToolCall::new("toolu_test", name, input)).await)
}

/// What a call came to, with assertions on it. Dereferences to the [`ToolOutcome`].
#[derive(Debug, Clone)]
pub struct Checked(ToolOutcome);

impl Checked {
    /// The call succeeded with this text.
    ///
    /// # Panics
    ///
    /// When it did not.
    #[track_caller]
    pub fn assert_text(self, expected: &str) -> Self {
        assert!(
            !self.result.is_error,
            "the call failed: {:?}",
            self.result.content
        );
        assert_eq!(self.answer().as_text(), Some(expected));
        self
    }

    /// The call succeeded with text that is this JSON; the order of keys does not matter.
    ///
    /// # Panics
    ///
    /// When it did not.
    #[track_caller]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the argument is a `json!` in every call"
    )]
    pub fn assert_json(self, expected: Value) -> Self {
        assert!(
            !self.result.is_error,
            "the call failed: {:?}",
            self.result.content
        );
        let found = serde_json::from_str::<Value>(self.answer().as_text().unwrap_or_default());
        match found {
            Ok(value) => assert_eq!(value, expected),
            Err(error) => panic!("the result is no JSON ({error}): {:?}", self.answer()),
        }
        self
    }

    /// The call failed with this text.
    ///
    /// # Panics
    ///
    /// When it did not.
    #[track_caller]
    pub fn assert_error(self, expected: &str) -> Self {
        assert!(
            self.result.is_error,
            "the call succeeded: {:?}",
            self.result.content
        );
        assert_eq!(self.answer().as_text(), Some(expected));
        self
    }

    /// These are the [notes](ToolOutcome::notes) behind the answer, in order. The other assertions on texts compare the
    /// answer without them.
    ///
    /// # Panics
    ///
    /// When they are others.
    #[track_caller]
    pub fn assert_notes<const N: usize>(self, expected: [&str; N]) -> Self {
        assert_eq!(self.notes, expected);
        self
    }

    /// Nothing about the arguments was worth a warning.
    ///
    /// # Panics
    ///
    /// When something was.
    #[track_caller]
    pub fn assert_silent(self) -> Self {
        self.assert_warnings([])
    }

    /// These are the warnings, each as `code` or `code at /path`, in order.
    ///
    /// # Panics
    ///
    /// When they are others.
    #[track_caller]
    pub fn assert_warnings<const N: usize>(self, expected: [&str; N]) -> Self {
        check(&self.warnings, &expected);
        self
    }

    /// The arguments were refused for these errors, each as `code` or `code at /path`, in order.
    ///
    /// # Panics
    ///
    /// When they were not, or for others.
    #[track_caller]
    pub fn assert_refused<const N: usize>(self, expected: [&str; N]) -> Self {
        assert_eq!(
            self.failure,
            Some(Failure::InvalidArguments),
            "{:?}",
            self.result.content
        );
        check(&self.errors, &expected);
        self
    }

    /// The outcome itself.
    pub fn into_outcome(self) -> ToolOutcome {
        self.0
    }
}

impl Deref for Checked {
    type Target = ToolOutcome;

    fn deref(&self) -> &ToolOutcome {
        &self.0
    }
}

#[track_caller]
fn check(issues: &[Issue], expected: &[&str]) {
    let found: Vec<String> = issues.iter().map(place).collect();
    assert_eq!(found, expected, "in full: {issues:#?}");
}

/// The short form that the assertions compare.
fn place(issue: &Issue) -> String {
    if issue.path.is_empty() {
        issue.code.to_string()
    } else {
        format!("{} at {}", issue.code, issue.path)
    }
}
