//! [`ToolRegistry`]: names to tools, and the way in for every call.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use serde_json::Value;
use tower_layer::Layer;
use tower_service::Service;

use crate::arguments::policy::Policy;
use crate::call::batch;
use crate::call::handle::{CallParts, handle};
use crate::call::layer::{BoxError, RegistryFuture, Stack, ToolService, handle_in_layers};
use crate::call::prepare;
use crate::call::prepare::ToolCallRequest;
use crate::call::tool_call::ToolCall;
use crate::call::trace;
use crate::host::context::Context;
use crate::host::state::State;
use crate::tool::declared::{IntoTools, Invocation, Shared, Tool};
use crate::tool::entry::RegisteredTool;
use crate::tool::output::HandlerOutput;
use crate::tool::registry_error::RegistryError;
use crate::tool::table::Tools;
use crate::wire::definition::ToolDefinition;
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::{ToolOutcome, ToolResult};

#[doc = include_str!("docs/registry.md")]
// Seed 000, F-007.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry {
    tools: Arc<Tools>,
    stack: Stack,
    concurrency: Concurrency,
}

/// How many calls of one batch run at once.
#[derive(Clone, Copy, Debug)]
struct Concurrency(usize);

impl Default for Concurrency {
    /// What a turn's calls rarely exceed and an upstream rarely minds.
    fn default() -> Self {
        Self(8)
    }
}

/// Building.
impl ToolRegistry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the tools a value that they take as `State<T>`; replaces an earlier one of the same type. Calls run side by
    /// side and share it, so it is `Send`, `Sync` and `'static`.
    ///
    /// [`state`](Self::state) hands it out again. A value that is in an `Arc` already is given as one, and taken as
    /// `State<Arc<T>>`.
    #[must_use]
    pub fn with_state<T: Shared>(mut self, value: T) -> Self {
        self.tools_mut().states.insert(value);
        self
    }

    /// Sets how lenient the registry is where neither tool nor call says otherwise.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.tools_mut().policy = policy;
        self
    }

    /// Tells the model behind each answer what was changed in its arguments; off by default.
    ///
    /// Layers see the answer without this [note](ToolOutcome::notes): an offloaded one is what the tool returned, and the
    /// model reads the note beside the pointer.
    #[must_use]
    pub fn with_warnings_in_results(mut self, enabled: bool) -> Self {
        self.tools_mut().warnings_in_results = enabled;
        self
    }

    /// Shows the defaults of parameters to the model too; off by default. Counts for the tools that are
    /// registered afterwards.
    #[must_use]
    pub fn with_defaults_in_schemas(mut self, enabled: bool) -> Self {
        self.tools_mut().include_defaults = enabled;
        self
    }

    /// Sets how many calls of one [`execute_all`](Self::execute_all) run at once; 8 by default, at least 1.
    #[must_use]
    pub fn with_max_concurrency(mut self, calls: usize) -> Self {
        self.concurrency = Concurrency(calls.max(1));
        self
    }

    /// Coerces all arguments, also those that conform to the schema as they are: slower, and nothing else may differ.
    #[doc(hidden)] // for tests, which compare
    #[must_use]
    pub fn without_fast_path(mut self) -> Self {
        self.tools_mut().without_fast_path = true;
        self
    }

    /// Puts a `tower` layer around every call, however it is made; the one added last is the outermost.
    ///
    /// What a layer returns as an error becomes the call's result, with the call's id.
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<ToolService>,
        L::Service: Service<ToolCall, Response = ToolOutcome, Error: Into<BoxError>, Future: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.stack.push(layer);
        self
    }

    /// Registers an annotated function by its name, which is that of a type: `registry.register::<find_trains>()`.
    ///
    /// # Errors
    ///
    /// When the name is taken or refused, a state is missing, a default breaks its own limits, or the schema is
    /// invalid. The registry is then as it was.
    // The compiler shows the line to whoever writes `register(find_trains)`.
    pub fn register<T: Tool /* register::<find_trains>() */>(&mut self) -> Result<&mut Self, RegistryError> {
        self.register_all(vec![T::declare()])
    }

    /// Registers a family of tools: all of them, or none when one is refused.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub fn register_all(&mut self, tools_to_add: impl IntoTools) -> Result<&mut Self, RegistryError> {
        let mut tools = (*self.tools).clone();
        for tool in tools_to_add.into_tools() {
            let tool = RegisteredTool::declared(tool, &tools.states, tools.include_defaults)?;
            tools.add(tool)?;
        }
        self.tools = Arc::new(tools);
        Ok(self)
    }

    /// Registers a tool that is known by its definition only.
    ///
    /// The handler takes two arguments, also where it needs one: `|arguments, _|`. The first are the call's, as an object, coerced
    /// to the schema. Unknown ones are in it: what they mean is for the handler to say. Defaults of the schema are not: it reads
    /// what is absent as it likes. The second is the call's [`Context`].
    ///
    /// It answers with an [`HandlerOutput`]: a `Result` of anything that a `#[tool]` may return, or a `String`, a
    /// `&'static str`, a [`Value`], [`Blocks`](crate::Blocks), a [`ToolOutput`](crate::ToolOutput) or `()`.
    ///
    /// What it captures it clones for each call, since calls run side by side:
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::json};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let client = Arc::new(Mutex::new(Vec::new()));
    /// let handle = Arc::clone(&client);
    /// let mut registry = ToolRegistry::new();
    /// registry.register_dynamic(
    ///     ToolDefinition::new("send", "Send a message.", json!({
    ///         "type": "object",
    ///         "properties": { "text": { "type": "string", "description": "What to send." } },
    ///         "required": ["text"],
    ///     })),
    ///     move |arguments, _| {
    ///         let client = Arc::clone(&handle);
    ///         async move {
    ///             let text = arguments["text"].as_str().ok_or("there is no `text`")?;
    ///             client.lock().map_err(|_| "the client is out of order")?.push(text.to_owned());
    ///             Ok::<_, &str>("sent")
    ///         }
    ///     },
    /// )?;
    /// let result = registry.execute_tool("toolu_01", "send", r#"{ "text": "hello" }"#).await;
    /// assert_eq!(result.text(), Some("sent"));
    /// assert_eq!(*client.lock().unwrap(), ["hello"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the name is taken or refused, or the schema is invalid.
    pub fn register_dynamic<F, R>(
        &mut self,
        definition: ToolDefinition,
        handler: F,
    ) -> Result<&mut Self, RegistryError>
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static, // with the call's `Context`: `|arguments, _| ..`
        R: Future<Output: HandlerOutput> + Send + 'static,
    {
        let tool = RegisteredTool::dynamic(
            definition,
            Arc::new(move |call: &mut Invocation<'_>| call.run_dynamic(&handler)),
        )?;
        self.tools_mut().add(tool)?;
        Ok(self)
    }

    /// Takes a tool out and gives its definition back; `None` when there is none of that name.
    pub fn unregister(&mut self, name: &str) -> Option<ToolDefinition> {
        let definition = self.get_tool(name)?.definition().clone();
        self.tools_mut().retain(|other| other != name);
        Some(definition)
    }

    /// Sets how lenient to be with one tool, whatever the registry's policy.
    ///
    /// # Errors
    ///
    /// When there is no tool of that name.
    pub fn set_policy(&mut self, name: &str, policy: Policy) -> Result<&mut Self, RegistryError> {
        self.tools_mut().change(name, |tool| tool.policy = Some(policy))?;
        Ok(self)
    }

    /// Sets how long a call of one tool may take, counted from the function's start: the way to a timeout for a dynamic tool.
    /// Takes the place of the tool's own, `None` takes that away.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::json};
    ///
    /// let search = ToolDefinition::new("search", "Search.", json!({ "type": "object" }));
    /// let mut registry = ToolRegistry::new();
    /// registry
    ///     .register_dynamic(search, async |_, _| "nothing")?
    ///     .set_timeout("search", Duration::from_secs(30))?;
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no tool of that name.
    pub fn set_timeout(
        &mut self,
        name: &str,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<&mut Self, RegistryError> {
        let timeout = timeout.into();
        self.tools_mut().change(name, |tool| tool.timeout = timeout)?;
        Ok(self)
    }

    /// A registry with some of the tools, for one request; the tools themselves are shared.
    ///
    /// Names that are not registered are left out: a call to them answers that there is no such tool.
    #[doc(alias = "only")]
    #[must_use]
    pub fn subset<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<N> = names.into_iter().collect();
        let names: HashSet<&str> = names.iter().map(AsRef::as_ref).collect();
        let mut subset = self.clone();
        subset.tools_mut().retain(|name| names.contains(name));
        subset
    }

    fn tools_mut(&mut self) -> &mut Tools {
        Arc::make_mut(&mut self.tools)
    }
}

/// Looking.
impl ToolRegistry {
    /// The registered tool of that name.
    pub fn get_tool(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.tool(name).map(Arc::as_ref)
    }

    /// The value that tools take as `State<T>`, shared with them.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use tool_runtime::ToolRegistry;
    ///
    /// let registry = ToolRegistry::new().with_state(Mutex::new(vec!["milk"]));
    /// let notes = registry.state::<Mutex<Vec<&str>>>().unwrap();
    /// assert_eq!(notes.lock().unwrap().len(), 1);
    /// ```
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        self.tools.states.get()
    }

    /// What the model is told, in the order of registration.
    pub fn tool_definitions(&self) -> Vec<&ToolDefinition> {
        self.tools.tools().map(RegisteredTool::definition).collect()
    }
}

/// Calling.
impl ToolRegistry {
    /// Runs a tool and answers in the API's form. Never fails: what goes wrong is in the result.
    ///
    /// Of an unknown name it is `Tool '{name}' not found` and nothing else; [`call`](Self::call) and
    /// [`execute_all`](Self::execute_all) put a note behind it that names the tools there are.
    pub async fn execute_tool(
        &self,
        tool_use_id: impl Into<String>,
        name: impl AsRef<str>,
        input: impl Into<RawArguments<'_>>,
    ) -> ToolResult {
        let call = CallParts {
            id: tool_use_id.into(),
            name: name.as_ref(),
            input: input.into(),
            context: &Context::new(),
            policy: None,
        };
        self.run(call).await.into_result()
    }

    /// Runs a call and tells everything about it.
    ///
    /// Behind the answer to an unknown name stands a [note](ToolOutcome::notes): up to three similar names, or all that
    /// there are in a registry of a few tools.
    pub async fn call(&self, mut call: ToolCall) -> ToolOutcome {
        let arrived = Instant::now();
        let mut outcome = self.run(CallParts::of(&mut call)).await;
        outcome.join_notes();
        outcome.duration = arrived.elapsed();
        outcome
    }

    /// Runs a call within its span, through the layers.
    async fn run(&self, call: CallParts<'_>) -> ToolOutcome {
        let span = trace::span(call.name, &call.id);
        match self.stack.outermost() {
            None => trace::run(span, handle(&self.tools, call)).await,
            // In a box, or every other call would be as large.
            Some(outermost) => {
                Box::pin(trace::run(
                    span,
                    handle_in_layers(outermost, &self.tools, call.into_owned()),
                ))
                .await
            }
        }
    }

    /// Runs the calls of one turn side by side on the runtime's threads and answers in their order.
    ///
    /// Never more at once than [`with_max_concurrency`](Self::with_max_concurrency) allows. Dropping the future
    /// ends all of them. Needs a tokio runtime.
    pub async fn execute_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolOutcome> {
        let run = |call| {
            let registry = self.clone();
            async move { registry.call(call).await }
        };
        batch::run(calls.into_iter().collect(), self.concurrency.0, run).await
    }

    /// Reads a call's arguments without running anything: what a permission dialog shows and a gateway passes on. In a layer,
    /// [`ToolCall::prepare`] does the same.
    pub fn prepare(&self, call: ToolCall) -> ToolCallRequest {
        let ToolCall {
            id,
            name,
            input,
            policy,
            ..
        } = call;
        prepare::prepare(&self.tools, id, name, input, policy)
    }
}

/// A registry is a service itself, and always ready.
impl Service<ToolCall> for ToolRegistry {
    type Response = ToolOutcome;
    type Error = Infallible;
    type Future = RegistryFuture;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> RegistryFuture {
        let registry = self.clone();
        Box::pin(async move { Ok(ToolRegistry::call(&registry, call).await) })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use serde_json::{Value, json};

    use super::ToolRegistry;
    use crate::call::handle::{CallParts, handle};
    use crate::call::tool_call::ToolCall;
    use crate::param::declared::Param;
    use crate::tool::declaration::Declaration;
    use crate::tool::declared::DeclaredTool;
    use crate::wire::definition::ToolDefinition;
    use crate::wire::raw_arguments::RawArguments;

    #[test]
    fn frees_owned_arguments_before_the_function_runs() {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let definition = ToolDefinition::new("wait", "Wait.", schema);
        let text = Param::<String>::new("text", "A text.");
        let typed = DeclaredTool::function(Declaration::new("wait_typed", "Wait."), (text,), |_| pending());
        let mut registry = ToolRegistry::new();
        registry
            .register_dynamic(definition, async |_, _| pending::<String>().await)
            .unwrap()
            .register_all(vec![typed])
            .unwrap();
        let all = [json!({ "text": "as wanted" }), json!({ "text": 5 })];
        for (name, sent) in all.iter().flat_map(|sent| [("wait", sent), ("wait_typed", sent)]) {
            let mut call = ToolCall::new("id", name, sent.clone());
            {
                let mut running = std::pin::pin!(handle(&registry.tools, CallParts::of(&mut call)));
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(running.as_mut().poll(&mut context).is_pending());
            }
            assert_eq!(call.input, RawArguments::from(Value::Null));
        }
    }
}
