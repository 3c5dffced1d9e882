//! [`Extension`]: a value of the call's context as a parameter.

use std::ops::{Deref, DerefMut};

/// A value of this call from [`Context::with_extension`](crate::Context::with_extension): a user, a connection, a
/// request's id. Layers can add extensions, too.
///
/// The host supplies a parameter of this type; the definition does not contain it. A call without the value does not
/// run the function: the host learns the reason, and the model reads that the tool has an internal error. For an
/// optional value, take the [`Context`](crate::Context) and use [`extension`](crate::Context::extension).
///
/// ```
/// use tool_runtime::{Context, Extension, ToolCall, ToolRegistry, tool};
///
/// #[derive(Clone)]
/// struct User(&'static str);
///
/// /// Say who is asking.
/// #[tool]
/// async fn who_am_i(user: Extension<User>) -> &'static str {
///     user.0.0
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new();
/// registry.register::<who_am_i>()?;
/// let call = ToolCall::new("toolu_01", "who_am_i", "{}")
///     .with_context(Context::new().with_extension(User("Ada")));
/// assert_eq!(registry.call(call).await.result.text(), Some("Ada"));
///
/// // By hand, as in a test.
/// assert_eq!(who_am_i(Extension(User("Bo"))).await, "Bo");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Extension<T>(pub T);

impl<T> Deref for Extension<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Extension<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
