//! Policies, the levels of leniency of coercion.

/// Leniency with which arguments are coerced to the schema. `docs/coercion.md` has the full table; for example:
///
/// | sent for an integer | `Lenient` | `Lossless` | `Strict` |
/// |---|---|---|---|
/// | `"42"` | 42, with a warning | 42, with a warning | an error |
/// | `3.14` | 3, with a warning | an error | an error |
///
/// Set for a [registry](crate::ToolRegistry::with_policy), for one of its [tools](crate::ToolRegistry::set_policy) or
/// for a [call](crate::ToolCall::with_policy); the most specific policy applies.
///
/// ```
/// use tool_runtime::{Policy, ToolCall, ToolRegistry, tool};
///
/// /// Wait.
/// #[tool]
/// async fn wait(
///     /// How long.
///     seconds: u32,
/// ) -> u32 {
///     seconds
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new().with_policy(Policy::Strict);
/// registry.register::<wait>()?;
/// let call = ToolCall::new("toolu_01", "wait", r#"{ "seconds": 3.14 }"#);
/// assert!(registry.call(call.clone()).await.result.is_error);
/// assert!(registry.call(call.clone().with_policy(Policy::Lossless)).await.result.is_error);
/// assert_eq!(registry.call(call.with_policy(Policy::Lenient)).await.result.text(), Some("3"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Policy {
    /// Values are coerced whenever their meaning is clear, with a warning for each change.
    #[default]
    Lenient,
    /// Rules of `Lenient`, except that a change with a loss of information is an error.
    Lossless,
    /// Types must match.
    Strict,
}
