//! Converts the return value of a function into a [`ToolOutput`].

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::marker::PhantomData;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::tool::output::causes::{ErrorText, Fallible, HandlerError, WithSources};
use crate::wire::depth;
use crate::wire::result::{Blocks, Content, ToolOutput};

/// Types that a `#[tool]` may return, directly or as the `Ok` of a `Result`.
///
/// | returned | becomes |
/// |---|---|
/// | `String`, `&'static str`, `Cow<'static, str>`, `Box<str>`; with serde's feature `rc` also `Rc<str>`, `Arc<str>` | the text, verbatim |
/// | an `Option` of these | the text, verbatim, or `null` |
/// | `()` | an empty text |
/// | any other [`Serialize`] | compact JSON text |
/// | [`Structured<T>`](crate::Structured) | compact JSON text, and the value of it |
/// | [`Blocks`] | content blocks |
/// | [`ToolOutput`] | itself |
///
/// ```
/// use tool_runtime::{testing, tool};
///
/// /// Tell the three largest cities.
/// #[tool]
/// async fn largest() -> Vec<(&'static str, f32)> {
///     vec![("Tokyo", 37.0), ("Delhi", 34.7), ("Shanghai", 30.5)]
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// testing::run::<largest>("{}").await.assert_text(r#"[["Tokyo",37.0],["Delhi",34.7],["Shanghai",30.5]]"#);
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the return type of a tool",
    label = "neither `Serialize` nor a `Structured<T>` whose `T` is `Serialize` and `JsonSchema`",
    note = "return a `String`, anything that is `Serialize` (`Rc` and `Arc` need serde's feature `rc`), `Structured<T>`, `Blocks` or `ToolOutput`, or a `Result` of one of these",
    note = "a type of your own that becomes JSON needs these lines above it, each once:\n#[derive(tool_runtime::serde::Serialize)]\n#[serde(crate = \"tool_runtime::serde\")]",
    note = "inside of a `Structured<T>`, the type also needs `tool_runtime::schemars::JsonSchema` in its `#[derive(..)]`, and `#[schemars(crate = \"tool_runtime::schemars\")]`"
)]
pub trait IntoToolOutput {
    /// Converts the value into the output. A serialization error becomes an error output.
    fn into_tool_output(self) -> ToolOutput;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + 'static> IntoToolOutput for T {
    #[inline]
    fn into_tool_output(mut self) -> ToolOutput {
        let this: &mut dyn Any = &mut self;
        if let Some(text) = verbatim(this) {
            return ToolOutput::text(text);
        }
        if let Some(value) = this.downcast_mut::<Value>()
            && depth::is_deeper_than(MAX_DEPTH, value)
        {
            depth::drop_iteratively(value.take());
            return too_deep();
        }
        match serde_json::to_string(&self) {
            Ok(json) => ToolOutput::text(json),
            Err(error) => not_serializable(&error),
        }
    }
}

/// Returns the output for a value that cannot be serialized.
pub(crate) fn not_serializable(error: &serde_json::Error) -> ToolOutput {
    ToolOutput::error(format!("the tool's result cannot be serialized as JSON: {error}"))
}

/// Maximum depth of a result: more than any real result needs, and far from a stack overflow.
const MAX_DEPTH: usize = 512;

/// Returns the text of a string type, which is returned verbatim and not as JSON.
// The type is known at compile time, so only one branch remains.
#[inline]
fn verbatim(value: &mut dyn Any) -> Option<String> {
    if let Some(text) = value.downcast_mut::<String>() {
        return Some(std::mem::take(text));
    }
    if let Some(text) = value.downcast_mut::<Option<String>>() {
        return text.take();
    }
    if let Some(text) = value.downcast_mut::<Cow<'static, str>>() {
        return Some(std::mem::take(text).into_owned());
    }
    let value = &*value;
    let text = borrowed::<&'static str>(value)
        .or_else(|| borrowed::<Cow<'static, str>>(value))
        .or_else(|| borrowed::<Box<str>>(value))
        .or_else(|| borrowed::<Rc<str>>(value))
        .or_else(|| borrowed::<Arc<str>>(value));
    if let Some(text) = text {
        return Some(text.to_owned());
    }
    value.is::<()>().then(String::new)
}

/// Returns the text in a `T`, or in an `Option<T>`, by reference.
#[inline]
fn borrowed<T: Deref<Target = str> + 'static>(value: &dyn Any) -> Option<&str> {
    let text = value.downcast_ref::<T>();
    let text = text.or_else(|| value.downcast_ref::<Option<T>>()?.as_ref());
    text.map(T::deref)
}

#[diagnostic::do_not_recommend]
impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> ToolOutput {
        within_depth(self)
    }
}

#[diagnostic::do_not_recommend]
impl IntoToolOutput for Blocks {
    fn into_tool_output(self) -> ToolOutput {
        within_depth(self.into())
    }
}

/// Returns the output, or an error if its blocks are nested so deep that serializing or dropping them would overflow
/// the stack.
fn within_depth(mut output: ToolOutput) -> ToolOutput {
    if let Some(value) = &mut output.structured
        && depth::is_deeper_than(MAX_DEPTH, value)
    {
        depth::drop_iteratively(value.take());
        return too_deep();
    }
    let Content::Blocks(blocks) = &output.content else {
        return output;
    };
    let mut values = blocks.iter().flat_map(|block| block.0.values());
    if !values.any(|value| depth::is_deeper_than(MAX_DEPTH, value)) {
        return output;
    }
    if let Content::Blocks(blocks) = output.content {
        for block in blocks {
            depth::drop_iteratively(Value::Object(block.0));
        }
    }
    too_deep()
}

pub(crate) fn too_deep() -> ToolOutput {
    ToolOutput::error("the tool's result is nested too deeply to be serialized as JSON")
}

/// Output of a function that returns a `T` or a `Result<T, E>`, created by [`Output::respond`].
#[derive(Debug)]
pub struct OutputOf<T> {
    pub(crate) output: ToolOutput,
    returned: PhantomData<fn() -> T>,
}

impl<T> From<ToolOutput> for OutputOf<T> {
    #[inline]
    fn from(output: ToolOutput) -> Self {
        Self {
            output,
            returned: PhantomData,
        }
    }
}

/// Return value of a function.
///
/// `impl<T: Serialize> IntoToolOutput for T` would conflict with an implementation for `Result` (E0119), so method
/// resolution selects [`respond`](Self::respond): the inherent method for `Result`, and the method of [`Respond`] for other
/// types, also through aliases. [`with_sources`](Self::with_sources) is selected in the same way.
#[derive(Debug)]
pub struct Output<T>(pub T);

// The bound is on the `impl`, so that method resolution selects `Respond` for an `E` that is not an `Error`.
impl<T, E: Error + 'static> Output<Result<T, E>> {
    /// Uses the sources of the error as causes.
    pub fn with_sources(self) -> Output<Result<T, WithSources<E>>> {
        Output(self.0.map_err(WithSources))
    }
}

// The bounds are on the method. On the `impl`, method resolution would select `Respond` for an `E` without `Display`.
impl<T, E> Output<Result<T, E>> {
    /// Includes the causes of the error in the text for the model: the key `causes`.
    pub fn causes(self) -> WithCauses<T, E> {
        WithCauses(self.0)
    }

    /// Converts the value, or the text of the error.
    pub fn respond(self) -> OutputOf<T>
    where
        T: IntoToolOutput,
        E: ErrorText,
    {
        let output = match self.0 {
            Ok(value) => value.into_tool_output(),
            Err(error) => {
                let (text, _) = text_and_causes(&error);
                error_output(text, &error)
            }
        };
        output.into()
    }
}

/// Returns the output for an error with this text.
#[cold]
fn error_output(text: String, error: &dyn ErrorText) -> ToolOutput {
    if error.is_retryable() {
        ToolOutput::retry(text)
    } else {
        ToolOutput::error(text)
    }
}

/// An [`Output`] whose text for the model includes the causes of an error.
#[derive(Debug)]
pub struct WithCauses<T, E>(Result<T, E>);

impl<T, E> WithCauses<T, E> {
    /// Converts the value, or the text of the error with its causes.
    pub fn respond(self) -> OutputOf<T>
    where
        T: IntoToolOutput,
        E: ErrorText,
    {
        let output = match self.0 {
            Ok(value) => value.into_tool_output(),
            Err(error) => match text_and_causes(&error) {
                (text, causes) if causes.is_empty() => error_output(text, &error),
                (text, causes) => error_output(format!("{text}: {causes}"), &error),
            },
        };
        output.into()
    }
}

/// Returns the text and the causes of an error, and logs the causes.
#[cold]
fn text_and_causes(error: &dyn ErrorText) -> (String, String) {
    let text = error.text();
    let causes = error.causes(&text);
    if !causes.is_empty() {
        tracing::warn!(causes, "a tool failed");
    }
    (text, causes)
}

/// [`Output::respond`] for all types except `Result`.
pub trait Respond {
    /// Return type of the function.
    type Returned;

    /// Returns `self`, since the value is not an error, or is an error without `source()`.
    #[must_use]
    fn with_sources(self) -> Self;

    /// Cannot be called, since a type without an error has no causes.
    #[must_use]
    fn causes(self) -> Self
    where
        Self::Returned: Fallible;

    /// Returns the output of the value.
    // The bound is on the method. On the `impl`, rustc would report a missing method `respond`.
    fn respond(self) -> OutputOf<Self::Returned>
    where
        Self::Returned: IntoToolOutput;
}

impl<T> Respond for Output<T> {
    type Returned = T;

    fn with_sources(self) -> Self {
        self
    }

    fn causes(self) -> Self
    where
        T: Fallible,
    {
        self
    }

    fn respond(self) -> OutputOf<T>
    where
        T: IntoToolOutput,
    {
        self.0.into_tool_output().into()
    }
}

/// Return types for handlers of dynamic tools: a `Result` of any [`IntoToolOutput`], or one of the types listed here.
/// The error of the `Result` converts into a `Box<dyn Error + Send + Sync>`, for instance an error, a string or a
/// [`ToolError`](crate::ToolError); its causes are logged.
///
/// The other types are a list, since an implementation for every [`Serialize`] would conflict with the implementation
/// for `Result`. [`register_dynamic`](crate::ToolRegistry::register_dynamic) has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the return type of a dynamic tool's handler",
    note = "any value that is `Serialize` can be the `Ok` of a `Result`: write `Ok::<_, String>(..)`",
    note = "without a `Result`, return a `String`, a `serde_json::Value`, `Blocks`, `Structured`, `ToolOutput` or `()`"
)]
pub trait HandlerOutput {
    /// Converts the value into the output.
    fn into_tool_output(self) -> ToolOutput;
}

impl<T: IntoToolOutput, E: HandlerError> HandlerOutput for Result<T, E> {
    fn into_tool_output(self) -> ToolOutput {
        Output(self.map_err(E::into)).respond().output
    }
}

macro_rules! handler_outputs {
    ($($type:ty),*) => {
        $(impl HandlerOutput for $type {
            fn into_tool_output(self) -> ToolOutput {
                IntoToolOutput::into_tool_output(self)
            }
        })*
    };
}

handler_outputs!(String, &'static str, Value, Blocks, ToolOutput, ());
