//! Test helpers: run calls as a model would, and assert on their outcomes.
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
//! testing::run_in(&registry, "add", r#"{"a": 2, "b": 40}"#).await.assert_no_warnings().assert_text("42");
//! # }
//! ```

#![allow(
    clippy::return_self_not_must_use,
    reason = "the result of the last assertion in a chain is unused"
)]
#![allow(clippy::panic, reason = "a failed assertion panics, like `assert_eq!`")]

pub(crate) mod definitions;

use std::ops::Deref;

use serde_json::Value;

use crate::call::tool_call::ToolCall;
use crate::registry::ToolRegistry;
use crate::tool::tool_trait::Tool;
use crate::wire::issue::Issue;
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::{Content, Failure, ToolOutcome};

#[doc(inline)]
pub use definitions::assert_definitions;

/// Calls an annotated function without state, in a new registry.
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
/// testing::run::<divide>(r#"{ "number": 6, "by": 2 }"#).await.assert_no_warnings().assert_text("3");
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
/// Panics if the tool cannot be registered.
#[track_caller]
pub fn run<'a, T: Tool>(input: impl Into<RawArguments<'a>>) -> impl Future<Output = CallAssert> {
    let mut registry = ToolRegistry::new();
    if let Err(error) = registry.register::<T>() {
        panic!("{error}");
    }
    let name = T::declare().declaration.name;
    let input = input.into().into_owned();
    async move { run_in(&registry, name, input).await }
}

/// Calls a tool of a registry, through its layers.
pub async fn run_in(registry: &ToolRegistry, name: &str, input: impl Into<RawArguments<'_>>) -> CallAssert {
    run_call(registry, ToolCall::new("toolu_test", name, input)).await
}

/// Runs a [`ToolCall`], for instance with a [`Context`](crate::Context), a policy or an id.
///
/// ```
/// use tool_runtime::{Context, ToolCall, ToolRegistry, testing, tool};
///
/// /// Tell who is at the desk.
/// #[tool]
/// async fn desk(context: Context) -> Result<String, &'static str> {
///     context.session().map(str::to_owned).ok_or("nobody is at the desk")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut registry = ToolRegistry::new();
/// registry.register::<desk>().unwrap();
/// let call = ToolCall::new("toolu_01", "desk", "{}").with_context(Context::new().with_session("Ada"));
/// testing::run_call(&registry, call).await.assert_text("Ada");
/// # }
/// ```
///
/// # Panics
///
/// Panics if the result has a structured value that does not match the tool's output schema.
pub async fn run_call(registry: &ToolRegistry, call: ToolCall) -> CallAssert {
    let name = call.name.clone();
    let outcome = registry.call(call).await;
    let value = outcome.result.structured.as_deref();
    let tool = registry.get_tool(&name);
    if let Some(error) = tool.and_then(|tool| tool.structured_value_error(value)) {
        let shown = value.map(Value::to_string).unwrap_or_default();
        fail(
            "the structured value does not match the tool's output schema",
            &error,
            &shown,
        );
    }
    outcome.into()
}

/// Outcome of a call, with assertions. Dereferences to the [`ToolOutcome`], and converts from one, for instance from
/// [`execute_all`](ToolRegistry::execute_all).
#[derive(Debug, Clone)]
pub struct CallAssert(ToolOutcome);

impl From<ToolOutcome> for CallAssert {
    fn from(outcome: ToolOutcome) -> Self {
        Self(outcome)
    }
}

impl CallAssert {
    /// Asserts that the call succeeded with this text.
    ///
    /// # Panics
    ///
    /// Panics if the call did not succeed, or with another text.
    #[track_caller]
    pub fn assert_text(self, expected: &str) -> Self {
        let is_expected = self.answer().as_text() == Some(expected);
        self.assert_answer(false, is_expected, &format!("{expected:?}"));
        self
    }

    /// Asserts that the call succeeded with text that is this JSON; the order of keys does not matter.
    ///
    /// # Panics
    ///
    /// Panics if the call did not succeed, or with another value.
    #[track_caller]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the argument is a `json!` in every call"
    )]
    pub fn assert_json(self, expected: Value) -> Self {
        let found = serde_json::from_str::<Value>(self.answer().as_text().unwrap_or_default());
        let shown = expected.to_string();
        match found {
            Ok(found) if !self.result.is_error && found != expected => {
                fail("unexpected answer", &shown, &found.to_string());
            }
            Err(error) if !self.result.is_error => {
                fail(
                    &format!("the answer is not JSON ({error})"),
                    &shown,
                    &self.answer_text(),
                );
            }
            _ => self.assert_answer(false, true, &shown),
        }
        self
    }

    /// Asserts that the call succeeded with this structured value, which a function returns as
    /// [`Structured`](crate::Structured); the order of keys does not matter.
    ///
    /// ```
    /// use tool_runtime::{Structured, schemars, serde, serde_json::json, testing, tool};
    ///
    /// #[derive(serde::Serialize, schemars::JsonSchema)]
    /// #[serde(crate = "tool_runtime::serde")]
    /// #[schemars(crate = "tool_runtime::schemars")]
    /// struct Size {
    ///     width: u32,
    ///     height: u32,
    /// }
    ///
    /// /// Measure the cover.
    /// #[tool]
    /// async fn measure() -> Structured<Size> {
    ///     Structured(Size { width: 12, height: 19 })
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// testing::run::<measure>("{}").await.assert_structured(json!({ "height": 19, "width": 12 }));
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the call did not succeed, or its result has another structured value or none.
    #[track_caller]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "the argument is a `json!` in every call"
    )]
    pub fn assert_structured(self, expected: Value) -> Self {
        let shown = format!("the structured value {expected}");
        match self.result.structured.as_deref() {
            Some(found) if !self.result.is_error && *found != expected => {
                fail(
                    "unexpected structured value",
                    &expected.to_string(),
                    &found.to_string(),
                );
            }
            None if !self.result.is_error => {
                fail("the result has no structured value", &shown, &self.answer_text());
            }
            _ => self.assert_answer(false, true, &shown),
        }
        self
    }

    /// Asserts that the call failed with this text.
    ///
    /// # Panics
    ///
    /// Panics if the call did not fail, or with another text.
    #[track_caller]
    pub fn assert_error(self, expected: &str) -> Self {
        let is_expected = self.answer().as_text() == Some(expected);
        self.assert_answer(true, is_expected, &format!("the error {expected:?}"));
        self
    }

    /// Asserts the [notes](ToolOutcome::notes), in order. Other assertions on texts compare the result without notes.
    ///
    /// # Panics
    ///
    /// Panics if the notes differ.
    #[track_caller]
    pub fn assert_notes<const N: usize>(self, expected: [&str; N]) -> Self {
        if self.notes != expected {
            fail(
                "unexpected notes",
                &format!("{expected:?}"),
                &format!("{:?}", self.notes),
            );
        }
        self
    }

    /// Asserts that there are no warnings.
    ///
    /// # Panics
    ///
    /// Panics if there are warnings.
    #[track_caller]
    pub fn assert_no_warnings(self) -> Self {
        self.assert_warnings([])
    }

    /// Asserts the warnings, each as `code at /path`, in order; a bare `code` has an empty path.
    ///
    /// # Panics
    ///
    /// Panics if the warnings differ.
    #[track_caller]
    pub fn assert_warnings<const N: usize>(self, expected: [&str; N]) -> Self {
        assert_issues("warnings", &self.warnings, &expected);
        self
    }

    /// Asserts that the arguments were rejected with these errors, each as `code at /path`, in order; a bare `code`
    /// has an empty path.
    ///
    /// # Panics
    ///
    /// Panics if the arguments were not rejected, or the errors differ.
    #[track_caller]
    pub fn assert_refused<const N: usize>(self, expected: [&str; N]) -> Self {
        if self.failure != Some(Failure::InvalidArguments) {
            let expected = format!("{expected:?}");
            fail("the arguments were not refused", &expected, &self.answer_text());
        }
        assert_issues("errors", &self.errors, &expected);
        self
    }

    /// Returns the outcome.
    pub fn into_outcome(self) -> ToolOutcome {
        self.0
    }

    #[track_caller]
    fn assert_answer(&self, is_error: bool, is_expected: bool, expected: &str) {
        let label = match (self.result.is_error, is_error) {
            (true, false) => "the call failed",
            (false, true) => "the call succeeded",
            _ if is_expected => return,
            _ => "unexpected answer",
        };
        fail(label, expected, &self.answer_text());
    }

    /// Returns the text of the result, for the message of a failed assertion.
    fn answer_text(&self) -> String {
        let error = if self.result.is_error { "the error " } else { "" };
        match &*self.answer() {
            Content::Text(text) => format!("{error}{text:?}"),
            blocks @ Content::Blocks(_) => {
                let blocks = serde_json::to_string(blocks).unwrap_or_default();
                format!("{error}the blocks {blocks}")
            }
        }
    }
}

impl Deref for CallAssert {
    type Target = ToolOutcome;

    fn deref(&self) -> &ToolOutcome {
        &self.0
    }
}

#[track_caller]
fn assert_issues(label: &str, issues: &[Issue], expected: &[&str]) {
    let found: Vec<String> = issues.iter().map(code_and_path).collect();
    if found != expected {
        let full: Vec<String> = issues.iter().map(ToString::to_string).collect();
        fail(
            &format!("unexpected {label}"),
            &format!("{expected:?}"),
            &format!("{found:?}\n   in full: {full:?}"),
        );
    }
}

/// Panics with the message of a failed assertion.
#[track_caller]
fn fail(label: &str, expected: &str, found: &str) -> ! {
    panic!("{label}\n  expected: {expected}\n       got: {found}");
}

/// Returns the form of an issue that assertions use.
fn code_and_path(issue: &Issue) -> String {
    if issue.path.is_empty() {
        issue.code.to_string()
    } else {
        format!("{} at {}", issue.code, issue.path)
    }
}
