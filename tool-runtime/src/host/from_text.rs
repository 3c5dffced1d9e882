//! [`FromText`]: marks a call that was recovered from text.

/// Extension of the [`Context`](crate::Context) of a call that was [recovered from text](crate::repair::calls). The outcome of the call has the warning
/// [`recovered_from_text`](crate::issue::Code::RecoveredFromText); permissions and layers can treat such calls differently.
///
/// ```
/// use tool_runtime::issue::Code;
/// use tool_runtime::repair::calls::{Formats, recover};
/// use tool_runtime::{Context, FromText, ToolCall, ToolRegistry, tool};
///
/// /// Read a file.
/// #[tool]
/// async fn read(
///     /// Path of the file
///     path: String,
/// ) -> String {
///     path
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new();
/// registry.register::<read>()?;
/// let recovered = recover("read(path='a.rs')", &registry, Formats::ALL);
/// for (index, call) in recovered.calls.into_iter().enumerate() {
///     let context = Context::new().with_extension(FromText);
///     let call = ToolCall::new(format!("call_{index}"), call.name, call.arguments).with_context(context);
///     let outcome = registry.call(call).await;
///     assert_eq!(outcome.result.text(), Some("a.rs"));
///     assert_eq!(outcome.warnings[0].code, Code::RecoveredFromText);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromText;
