//! [`Tool`]: the trait that the macro implements, and the type-erased form of a tool.

use std::any::TypeId;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pin_project_lite::pin_project;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{self, ArgumentReader};
use crate::host::Host;
use crate::host::context::{CancelOnDrop, CancellationToken, Context};
use crate::param::params::Params;
use crate::schema::dialects::PropertyKeys;
use crate::tool::declaration::Declaration;
use crate::tool::output::convert::{HandlerOutput, OutputOf};
use crate::tool::output::structured::{self, Structured};
use crate::wire::issue::{self, Issue};
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::ToolOutput;

/// An annotated function. `#[tool]` implements this trait for the struct with the function's name; do not implement
/// it by hand.
///
/// The guide explains the macro's output [line by line](crate::guide::_12_expansion).
///
/// ```
/// use tool_runtime::{RegistryError, Tool, ToolRegistry, tool};
///
/// /// Ring a bell.
/// #[tool]
/// async fn ring() {}
///
/// // For any tool:
/// fn with<T: Tool>(mut registry: ToolRegistry) -> Result<ToolRegistry, RegistryError> {
///     registry.register::<T>()?;
///     Ok(registry)
/// }
///
/// let registry = with::<ring>(ToolRegistry::new()).unwrap();
/// assert!(registry.get_tool("ring").is_some());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "expected the name of a function with `#[tool]`",
    note = "put `#[tool]` on the function and register it by its name: `registry.register::<{Self}>()`",
    note = "a value of a type with `#[tools]` goes into `registry.register_all(..)`"
)]
pub trait Tool: 'static {
    /// Returns the tool: its declaration and its function.
    fn declare() -> DeclaredTool;
}

/// A type with a set of tools. [`#[tools]`](macro@crate::tools) implements it for the type of its `impl` block, through a
/// trait whose name explains the compiler error for a second such block.
pub trait ToolSet: 'static {
    /// Returns the tools of the set, which share `self`.
    fn tools(self: Arc<Self>) -> Vec<DeclaredTool>;
}

/// Trait that the macro implements. The trait's name is part of the compiler error for a second block (E0119), which
/// cannot have a custom message.
pub trait OneToolsBlockPerType: 'static {
    /// Returns the tools of the set; see [`ToolSet::tools`].
    fn tools(self: Arc<Self>) -> Vec<DeclaredTool>;
}

#[diagnostic::do_not_recommend]
impl<S: OneToolsBlockPerType> ToolSet for S {
    fn tools(self: Arc<Self>) -> Vec<DeclaredTool> {
        OneToolsBlockPerType::tools(self)
    }
}

/// Argument of [`ToolRegistry::register_all`](crate::ToolRegistry::register_all): a [`ToolSet`], an `Arc` of one, or
/// the list from [`tool_set!`](crate::tool_set).
///
/// A module exports its tools by returning this: `pub fn tools() -> impl IntoTools`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of tools",
    label = "expected a value with tools, or `tool_set![..]`",
    note = "put `#[tools]` on an `impl` block of the type and `#[tool]` on its methods"
)]
pub trait IntoTools {
    /// Converts into a list of tools.
    fn into_tools(self) -> Vec<DeclaredTool>;
}

#[diagnostic::do_not_recommend]
impl<S: ToolSet> IntoTools for S {
    fn into_tools(self) -> Vec<DeclaredTool> {
        Arc::new(self).tools()
    }
}

impl<S: ToolSet> IntoTools for Arc<S> {
    fn into_tools(self) -> Vec<DeclaredTool> {
        self.tools()
    }
}

impl IntoTools for Vec<DeclaredTool> {
    fn into_tools(self) -> Vec<DeclaredTool> {
        self
    }
}

/// A tool with its captured state, before registration.
pub struct DeclaredTool {
    pub(crate) declaration: Declaration,
    pub(crate) handler: Handler,
    /// Type of the closure in the macro's output, unique for each annotated function.
    pub(crate) function: TypeId,
}

/// Type-erased function of a tool.
pub(crate) type Handler = Arc<dyn Fn(&mut Invocation<'_>) -> Option<Started> + Send + Sync>;

// The compiler shows the line of an unsatisfied bound: the comment after `Send` is advice for the user.
impl DeclaredTool {
    /// Creates a tool from a function and its parameters.
    pub fn function<P, F, R, T>(declaration: Declaration, params: P, function: F) -> DeclaredOf<T>
    where
        P: Params,
        F: Fn(P::Values) -> R + Send + Sync + 'static,
        R: Future<Output = OutputOf<T>> + Send + 'static, // drop values that are not `Send` before an `.await`
    {
        let tool = Self {
            declaration: declaration.with_params(&params),
            handler: Arc::new(move |call: &mut Invocation<'_>| call.run(&params, &function)),
            function: TypeId::of::<F>(),
        };
        DeclaredOf {
            tool,
            returned: PhantomData,
        }
    }

    /// Creates a tool from a method and its parameters; all calls share `this`.
    pub fn method<S, P, F, R, T>(
        declaration: Declaration,
        this: &Arc<S>,
        params: P,
        method: F,
    ) -> DeclaredOf<T>
    where
        S: Shared,
        P: Params,
        F: Fn(Arc<S>, P::Values) -> R + Send + Sync + 'static,
        R: Future<Output = OutputOf<T>> + Send + 'static, // drop values that are not `Send` before an `.await`
    {
        let this = Arc::clone(this);
        Self::function(declaration, params, move |values| {
            method(Arc::clone(&this), values)
        })
    }

    /// Returns the description for the model.
    pub fn description(&self) -> &str {
        &self.declaration.description
    }

    /// Replaces the description for the model, for a text that is known only at run time.
    ///
    /// ```
    /// use tool_runtime::{Tool, ToolRegistry, tool};
    ///
    /// /// Count the files.
    /// #[tool]
    /// async fn count() {}
    ///
    /// let tool = count::declare();
    /// let description = format!("{} There were {} in the morning.", tool.description(), 5);
    /// let mut registry = ToolRegistry::new();
    /// registry.register_all(vec![tool.with_description(description)])?;
    /// assert_eq!(registry.tool_definitions()[0].description, "Count the files. There were 5 in the morning.");
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.declaration.description = description.into().into();
        self
    }
}

/// Tool whose function returns a `T` or a `Result<T, E>`.
///
/// Method resolution selects [`with_output_schema`](Self::with_output_schema), as for the methods of
/// [`Respond`](crate::tool::output::convert::Respond): the inherent method for [`Structured`], and
/// [`WithOutputSchema`]'s for other types.
#[derive(Debug)]
pub struct DeclaredOf<T> {
    tool: DeclaredTool,
    returned: PhantomData<fn() -> T>,
}

impl<T: Serialize + JsonSchema> DeclaredOf<Structured<T>> {
    /// Adds the schema of the function's return value.
    pub fn with_output_schema(mut self) -> DeclaredTool {
        self.tool.declaration.output_schema = Some(structured::marked_schema::<T>);
        self.tool
    }
}

/// [`DeclaredOf::with_output_schema`] for all types except [`Structured`].
pub trait WithOutputSchema {
    /// Returns the tool unchanged: a plain return value has no schema.
    fn with_output_schema(self) -> DeclaredTool;
}

impl<T> WithOutputSchema for DeclaredOf<T> {
    fn with_output_schema(self) -> DeclaredTool {
        self.tool
    }
}

/// Value that concurrent calls share: the `self` of methods, or a state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot have tools, since concurrent calls share the value",
    label = "not `Send`, `Sync` and `'static`",
    note = "keep mutable data in a `std::sync::Mutex` or an atomic instead of a `Cell` or `RefCell`, and `Arc` instead of `Rc`"
)]
pub trait Shared: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shared for T {}

impl fmt::Debug for DeclaredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeclaredTool")
            .field("declaration", &self.declaration)
            .finish_non_exhaustive()
    }
}

/// Input of a tool's handler for one call.
#[derive(Debug)]
pub struct Invocation<'a> {
    pub(crate) reader: ArgumentReader<'a>,
    pub(crate) input: RawArguments<'a>,
    pub(crate) host: Host<'a>,
    /// Issues of the arguments, which outlive a panic of the function.
    pub(crate) issues: &'a mut Vec<Issue>,
    /// Whether to read the arguments without calling the function.
    pub(crate) is_dry_run: bool,
}

impl Invocation<'_> {
    /// Reads the arguments for `params` and calls `function` with them. `None` if an issue is an error, and in a dry
    /// run.
    #[inline]
    pub fn run<P, F, R, T>(&mut self, params: &P, function: F) -> Option<Started>
    where
        P: Params,
        F: FnOnce(P::Values) -> R,
        R: Future<Output = OutputOf<T>> + Send + 'static,
    {
        let Self {
            reader,
            input,
            host,
            issues,
            is_dry_run,
            ..
        } = self;
        let values = arguments::read(reader, params, input, host, issues)?;
        if *is_dry_run {
            return None;
        }
        input.free();
        self.log_warnings();
        // Created in its box, which avoids a move.
        let slot = Box::new_uninit();
        Some(self.start(Box::write(
            slot,
            Responding {
                future: function(values),
            },
        )))
    }

    /// Starts the handler of a dynamic tool, which gets all arguments as one object, under the original keys.
    pub(crate) fn run_dynamic<F, R>(&mut self, keys: &PropertyKeys, handler: F) -> Option<Started>
    where
        F: FnOnce(Value, Context) -> R,
        R: Future<Output: HandlerOutput> + Send + 'static,
    {
        let mut coerced = arguments::coerce(self.reader, &mut self.input);
        *self.issues = coerced.issues;
        if self.is_dry_run || self.issues.iter().any(Issue::is_error) {
            return None;
        }
        if !keys.is_empty() {
            keys.restore(&mut coerced.arguments);
        }
        self.input.free();
        self.log_warnings();
        let future = handler(Value::Object(coerced.arguments), self.host.context());
        Some(self.start(Box::new(async move { future.await.into_tool_output() })))
    }

    /// Logs the warnings before the function runs, in case it hangs or ends the process.
    #[inline]
    fn log_warnings(&self) {
        if !self.issues.is_empty() {
            issue::log(self.host.tool(), self.issues);
        }
    }

    /// Boxes the function's future, with a guard for the call's own token if the function uses the token.
    #[inline]
    fn start<R>(&mut self, future: Box<R>) -> Started
    where
        R: Future<Output = ToolOutput> + Send + 'static,
    {
        Started {
            future: Box::into_pin(future),
            guard: self.host.take_token().map(CancellationToken::cancel_on_drop),
        }
    }
}

pin_project! {
    /// Future of an annotated function, without the function's return type.
    struct Responding<R> {
        #[pin]
        future: R,
    }
}

impl<T, R: Future<Output = OutputOf<T>>> Future for Responding<R> {
    type Output = ToolOutput;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<ToolOutput> {
        let answered = ready!(self.project().future.poll(context));
        Poll::Ready(answered.output)
    }
}

/// Future of a called function.
pub struct Started {
    pub(crate) future: Pin<Box<dyn Future<Output = ToolOutput> + Send>>,
    /// Cancels the call's own token when the call ends.
    pub(crate) guard: Option<CancelOnDrop>,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").finish_non_exhaustive()
    }
}
