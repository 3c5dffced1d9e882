//! [`ToolCall`]: a model's call of a tool.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::arguments::policy::Policy;
use crate::call::deadline::SharedDeadline;
use crate::call::request::ToolCallRequest;
use crate::host::context::Context;
use crate::host::state::States;
use crate::tool::entry::RegisteredTool;
use crate::tool::tool_trait::Tool;
use crate::wire::definition::ToolDefinition;
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::ToolOutcome;

/// Call of a tool (`tool_use`): the id, the name of the tool, and the model's arguments.
///
/// ```
/// use tool_runtime::ToolCall;
/// use tool_runtime::serde_json::json;
///
/// let from_text = ToolCall::new("toolu_01", "add", r#"{"a": 1, "b": 2}"#);
/// let from_value = ToolCall::new("toolu_01", "add", json!({ "a": 1, "b": 2 }));
/// assert_eq!(from_text.name, from_value.name);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolCall {
    /// Id of the call and of its result.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Unparsed arguments.
    pub input: RawArguments<'static>,
    /// Context from the host: session, deadline, cancellation, extensions.
    pub context: Context,
    /// Policy of this call; `None` uses the policy of the tool or the registry.
    pub policy: Option<Policy>,
    /// Route of the call within the layers of a registry.
    pub(crate) route: Option<Route>,
}

impl ToolCall {
    /// Creates a call. `input` is JSON text or a [`Value`].
    pub fn new<'a>(
        id: impl Into<String>,
        name: impl Into<String>,
        input: impl Into<RawArguments<'a>>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input: input.into().into_owned(),
            context: Context::new(),
            policy: None,
            route: None,
        }
    }

    /// Sets the context.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Self {
        self.context = context;
        self
    }

    /// Sets the policy of this call, in place of the policies of the tool and the registry.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Returns the definition of the called tool, with its [hints](ToolDefinition::hints), for layers.
    ///
    /// `None` if no tool has this name, and outside the layers of a registry.
    pub fn definition(&self) -> Option<&ToolDefinition> {
        self.tool().map(|tool| tool.definition())
    }

    /// Returns the name by which the model calls the tool, for texts that layers write for the model. In the layers
    /// of a [nested](crate::ToolRegistry::nest) registry this name has the prefix, and [`name`](Self::name) does not.
    pub fn qualified_name(&self) -> &str {
        self.tool()
            .map_or(&self.name, |tool| tool.qualified_name.as_str())
    }

    /// Returns whether the called tool is the annotated function `T`, for layers. A comparison of names could match another
    /// tool, or miss `T` under another name or in a [nested](crate::ToolRegistry::nest) registry.
    ///
    /// ```
    /// use tool_runtime::layer::BoxError;
    /// use tool_runtime::{ToolCall, ToolRegistry, tool};
    /// use tower::filter::FilterLayer;
    ///
    /// /// Open the door.
    /// #[tool]
    /// async fn open() {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let mut doors = ToolRegistry::new();
    /// doors.register::<open>()?;
    /// let mut registry = ToolRegistry::new().layer(FilterLayer::new(|call: ToolCall| {
    ///     if call.is_call_of::<open>() { Err(BoxError::from("it is night")) } else { Ok(call) }
    /// }));
    /// registry.nest("front", doors)?;
    /// let result = registry.execute_tool("toolu_01", "front__open", "{}").await;
    /// assert_eq!(result.text(), Some("it is night"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_call_of<T: Tool>(&self) -> bool {
        let function = self.tool().and_then(|tool| tool.function);
        function.is_some_and(|function| function == T::declare().function)
    }

    /// Reads the arguments for a layer, as the function would receive them, without running the function.
    ///
    /// Returns `None` outside of the layers of a registry: use [`ToolRegistry::prepare`](crate::ToolRegistry::prepare)
    /// there. For an unknown tool or invalid arguments, [`ToolCallRequest::errors`] is not empty.
    pub fn prepare(&self) -> Option<ToolCallRequest> {
        let target = Arc::clone(&self.route.as_ref()?.target);
        Some(target.prepare(self.clone()))
    }

    pub(crate) fn tool(&self) -> Option<&Arc<RegisteredTool>> {
        self.route.as_ref()?.target.tool(&self.name)
    }
}

/// Route of a call in the layers of a registry.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) target: Arc<dyn RegistryTools>,
    is_reached: Arc<AtomicBool>,
    /// Deadline of layers and tool.
    pub(crate) deadline: SharedDeadline,
}

/// The tools of the registry that runs a call. The table of tools implements this trait, which avoids a cycle of modules:
/// a registry has layers, layers receive calls, and a call refers to its registry.
pub(crate) trait RegistryTools: Send + Sync {
    fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>>;

    fn states(&self) -> &States;

    /// Reads the arguments of a call without running the function.
    fn prepare(&self, call: ToolCall) -> ToolCallRequest;

    /// Runs a call that has passed the layers.
    fn run(self: Arc<Self>, call: ToolCall, route: Route) -> LayerFuture;
}

/// Future of a call in layers: the outcome, or the error of a layer.
pub(crate) type LayerFuture =
    Pin<Box<dyn Future<Output = Result<ToolOutcome, Box<dyn Error + Send + Sync>>> + Send>>;

impl Route {
    pub(crate) fn new(target: Arc<dyn RegistryTools>, deadline: SharedDeadline) -> Self {
        Self {
            target,
            is_reached: Arc::default(),
            deadline,
        }
    }

    /// Runs a call that has passed the layers.
    pub(crate) fn run(self, call: ToolCall) -> LayerFuture {
        Arc::clone(&self.target).run(call, self)
    }

    pub(crate) fn set_reached(&self) {
        self.is_reached.store(true, Ordering::Relaxed);
    }

    /// Returns whether the call has reached the tools.
    pub(crate) fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route").finish_non_exhaustive()
    }
}

/// Deserializes a `tool_use` block. Unknown fields are ignored.
impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct ToolUse {
            id: String,
            name: String,
            #[serde(default)]
            input: Value,
        }
        let ToolUse { id, name, input } = ToolUse::deserialize(deserializer)?;
        Ok(Self::new(id, name, input))
    }
}
