//! [`ToolRegistry`]: registers tools and runs calls.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use serde_json::Value;
use tower_layer::Layer;
use tower_service::Service;
use tracing::Instrument as _;

use crate::arguments::policy::Policy;
use crate::call::batch;
use crate::call::handle::{CallState, handle};
use crate::call::layer::{BoxError, Layers, RegistryFuture, ToolService, handle_in_layers};
use crate::call::prepare;
use crate::call::prepare::ToolCallRequest;
use crate::call::tool_call::ToolCall;
use crate::call::trace;
use crate::host::context::Context;
use crate::host::session_store::{SessionStateStore, SharedSessionStore};
use crate::host::session_values::SessionValues;
use crate::host::state::State;
use crate::schema::FormatPolicy;
use crate::tool::declared::{IntoTools, Invocation, Shared, Tool};
use crate::tool::entry::RegisteredTool;
use crate::tool::output::HandlerOutput;
use crate::tool::registry_error::RegistryError;
use crate::tool::table::{SEPARATOR, Tools};
use crate::wire::definition::{ToolDefinition, ToolName};
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::{Failure, ToolOutcome, ToolResult};

#[doc = include_str!("docs/registry.md")]
// R-REG-1 to R-REG-3, R-REG-7.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry {
    tools: Arc<Tools>,
    layers: Layers,
    concurrency: Concurrency,
}

/// How many calls of one batch run at once.
#[derive(Clone, Copy, Debug)]
struct Concurrency(usize);

impl Default for Concurrency {
    /// More than most turns have, and not too many for most upstream services.
    fn default() -> Self {
        Self(8)
    }
}

/// Building a registry.
impl ToolRegistry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a state, which tools take as `State<T>`; replaces an earlier one of the same type. Concurrent calls share it, so it
    /// is `Send`, `Sync` and `'static`.
    ///
    /// [`state`](Self::state) returns it. Tools take an `Arc<T>` as `State<Arc<T>>`.
    #[must_use]
    pub fn with_state<T: Shared>(mut self, value: T) -> Self {
        self.tools_mut().states.insert(value);
        self
    }

    /// Sets the store of the values that tools take as [`SessionState<T>`](crate::SessionState), instead of the one in memory.
    #[must_use]
    pub fn with_session_store(mut self, store: impl SessionStateStore) -> Self {
        self.tools_mut().states.sessions = SharedSessionStore::new(store);
        self
    }

    /// Sets the policy for calls, unless the tool or the call has its own.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.tools_mut().policy = policy;
        self
    }

    /// Appends a note with the warnings to the result of each function that was called, for the model; off by default.
    ///
    /// Layers see the result without this [note](ToolOutcome::notes): an offload layer stores the tool's output only, and the
    /// note follows the pointer to it.
    #[must_use]
    pub fn with_warnings_in_results(mut self, enabled: bool) -> Self {
        self.tools_mut().warnings_in_results = enabled;
        self
    }

    /// Includes the defaults of parameters in the schemas; off by default. Applies to tools that are registered afterwards.
    #[must_use]
    pub fn with_defaults_in_schemas(mut self, enabled: bool) -> Self {
        self.tools_mut().include_defaults = enabled;
        self
    }

    /// Enforces `format` in schemas; off by default, as in JSON Schema, where it is information for the model. Applies to tools that are
    /// registered afterwards.
    ///
    /// These are enforced: `date`, `time` and `date-time` (RFC 3339), `uuid` (RFC 9562), `ipv4`, `ipv6`, `email` (RFC 5321, in ASCII)
    /// and `uri` (RFC 3986, with a scheme). A text of another form is `constraint_violated`.
    ///
    /// ```
    /// use tool_runtime::{Policy, ToolCall, ToolDefinition, ToolRegistry, serde_json::{Value, json}};
    ///
    /// let schema = json!({ "type": "object", "properties": { "day": { "type": "string", "format": "date" } } });
    /// let definition = ToolDefinition::new("plan", "Plan a day.", schema);
    /// let mut registry = ToolRegistry::new().with_formats_enforced(true);
    /// registry.register_dynamic(definition, async |arguments: Value, _| arguments).unwrap();
    ///
    /// let request = registry.prepare(ToolCall::new("toolu_01", "plan", json!({ "day": "2025-02-30" })));
    /// assert_eq!(
    ///     request.errors[0].to_string(),
    ///     r#"constraint_violated at /day: invalid value "2025-02-30"; expected a date of the calendar, for example 2025-01-31, or leave it out"#,
    /// );
    /// ```
    #[must_use]
    pub fn with_formats_enforced(mut self, enabled: bool) -> Self {
        self.tools_mut().schemas.formats = if enabled {
            FormatPolicy::Enforced
        } else {
            FormatPolicy::Shown
        };
        self
    }

    /// Corrects the schemas of [dynamic tools](Self::register_dynamic) that are written in another dialect; on by default. Applies to
    /// tools that are registered afterwards.
    ///
    /// `"type": "float"`, `"properties": []`, `"required": true` in a property and others are read
    /// [as meant](crate::coercion#schemas-in-other-dialects). Each correction is a warning in the log, and the definition has the corrected
    /// schema. Without corrections such a schema is an error, and a definition keeps its schema as it was given.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::{Value, json}};
    ///
    /// let schema = json!({ "type": "object", "properties": { "price": { "type": "float", "required": true } } });
    /// let definition = ToolDefinition::new("pay", "Pay a price.", schema);
    /// let mut registry = ToolRegistry::new();
    /// registry.register_dynamic(definition.clone(), async |arguments: Value, _| arguments).unwrap();
    /// assert_eq!(
    ///     registry.tool_definitions()[0].input_schema,
    ///     json!({ "type": "object", "properties": { "price": { "type": "number" } }, "required": ["price"] }),
    /// );
    ///
    /// let mut registry = ToolRegistry::new().with_schema_corrections(false);
    /// assert!(registry.register_dynamic(definition, async |arguments: Value, _| arguments).is_err());
    /// ```
    #[must_use]
    pub fn with_schema_corrections(mut self, enabled: bool) -> Self {
        self.tools_mut().schemas.has_corrections = enabled;
        self
    }

    /// Sets how many calls of one [`execute_all`](Self::execute_all) run concurrently; 8 by default, at least 1.
    #[must_use]
    pub fn with_max_concurrency(mut self, calls: usize) -> Self {
        self.concurrency = Concurrency(calls.max(1));
        self
    }

    /// Disables the fast path for arguments that conform to the schema. That is slower; outcomes must not differ.
    #[doc(hidden)] // for tests, which compare both
    #[must_use]
    pub fn without_fast_path(mut self) -> Self {
        self.tools_mut().without_fast_path = true;
        self
    }

    /// Accepts arguments that name another tool than the one that is called.
    #[doc(hidden)] // for a host that knows schemas without the names of their tools
    #[must_use]
    pub fn without_name_check(mut self) -> Self {
        self.tools_mut().accepts_any_name = true;
        self
    }

    /// Adds a `tower` layer around every call; the last one is the outermost.
    ///
    /// An error of a layer becomes the call's result, with the call's id.
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
        self.layers.push(layer);
        self
    }

    /// Registers an annotated function by its name, which is that of a type: `registry.register::<find_trains>()`.
    ///
    /// It returns a reference, so that calls can be chained; the registry is a variable of its own:
    ///
    /// ```
    /// # use tool_runtime::{RegistryError, ToolRegistry, tool};
    /// # /// Find trains.
    /// # #[tool]
    /// # async fn find_trains() {}
    /// # fn registry() -> Result<ToolRegistry, RegistryError> {
    /// let mut registry = ToolRegistry::new();
    /// registry.register::<find_trains>()?;
    /// # Ok(registry)
    /// # }
    /// ```
    ///
    /// In one expression, [`with_tools`](Self::with_tools) returns the registry itself.
    ///
    /// # Errors
    ///
    /// If the name is invalid or taken, a state is missing, a default violates its constraints, or the schema is invalid. The
    /// registry then remains unchanged.
    // The compiler shows this line for `register(find_trains)`.
    pub fn register<T: Tool /* register::<find_trains>() */>(&mut self) -> Result<&mut Self, RegistryError> {
        self.register_all(vec![T::declare()])
    }

    /// Registers a set of tools: all of them, or none if one fails.
    ///
    /// [`with_tools`](Self::with_tools) is the same in one expression with the other settings of a registry.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub fn register_all(&mut self, tools: impl IntoTools) -> Result<&mut Self, RegistryError> {
        let mut table = (*self.tools).clone();
        for tool in tools.into_tools() {
            let tool =
                RegisteredTool::declared(tool, &table.states, table.include_defaults, table.schemas.formats)?;
            table.add(tool)?;
        }
        self.tools = Arc::new(table);
        Ok(self)
    }

    /// The registry with a set of tools: all of them, or an error if one fails.
    ///
    /// ```
    /// use tool_runtime::{RegistryError, ToolRegistry, tool, tool_set};
    ///
    /// /// Ring a bell.
    /// #[tool]
    /// async fn ring() {}
    ///
    /// fn registry() -> Result<ToolRegistry, RegistryError> {
    ///     ToolRegistry::new().with_max_concurrency(2).with_tools(tool_set![ring])
    /// }
    /// assert!(registry().unwrap().get_tool("ring").is_some());
    /// ```
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub fn with_tools(mut self, tools: impl IntoTools) -> Result<Self, RegistryError> {
        self.register_all(tools)?;
        Ok(self)
    }

    /// Registers a tool with a definition and a handler.
    ///
    /// A schema in another dialect is [corrected](Self::with_schema_corrections), with a warning in the log.
    ///
    /// The handler takes two parameters: the arguments, an object that was coerced to the schema, and the call's [`Context`]. The
    /// object includes unknown arguments, but not the defaults of the schema, which the handler applies itself.
    ///
    /// It returns a [`HandlerOutput`]: a `Result` of any type that a `#[tool]` may return, or a `String`, a
    /// `&'static str`, a [`Value`], [`Blocks`](crate::Blocks), a [`ToolOutput`](crate::ToolOutput) or `()`.
    ///
    /// It clones captured values for each call, since calls run concurrently:
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
    /// If the name is invalid or taken, or the schema is invalid.
    pub fn register_dynamic<F, R>(
        &mut self,
        definition: ToolDefinition,
        handler: F,
    ) -> Result<&mut Self, RegistryError>
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static, // with the call's `Context`: `|arguments, _| ..`
        R: Future<Output: HandlerOutput> + Send + 'static,  // write `async |arguments, context| ..`
    {
        let tool = RegisteredTool::dynamic(
            definition,
            Arc::new(move |call: &mut Invocation<'_>| call.run_dynamic(&handler)),
            self.tools.schemas,
        )?;
        self.tools_mut().add(tool)?;
        Ok(self)
    }

    /// Registers the tools of one source, for instance of an MCP server, with one handler, which is told the name that the source
    /// has for the called tool: all of them, or none if one fails.
    ///
    /// The API takes fewer names than other protocols. A tool with another name is registered as
    /// [`ToolName::replace_invalid`] has it, `files.read` as `files_read`.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::json};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    /// let listed = ["files.read", "files.remove"].map(|name| ToolDefinition::new(name, "", schema.clone()));
    /// let mut registry = ToolRegistry::new();
    /// registry.register_source(listed, async |name, arguments, _context| {
    ///     // Here the source would be asked.
    ///     Ok::<_, String>(format!("{name} {arguments}"))
    /// })?;
    /// let result = registry.execute_tool("toolu_01", "files_read", r#"{ "path": "/tmp" }"#).await;
    /// assert_eq!(result.text(), Some(r#"files.read {"path":"/tmp"}"#));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`register_dynamic`](Self::register_dynamic); also if nothing is left of a name, or two become the same.
    pub fn register_source<F, R>(
        &mut self,
        definitions: impl IntoIterator<Item = ToolDefinition>,
        handler: F,
    ) -> Result<&mut Self, RegistryError>
    where
        F: Fn(String, Value, Context) -> R + Send + Sync + 'static, // with the source's name: `|name, arguments, context| ..`
        R: Future<Output: HandlerOutput> + Send + 'static, // write `async |name, arguments, context| ..`
    {
        let handler = Arc::new(handler);
        let mut table = (*self.tools).clone();
        for mut definition in definitions {
            let name = ToolName::replace_invalid(&definition.name)?.to_string();
            let source_name = std::mem::replace(&mut definition.name, name);
            let is_renamed = definition.name != source_name;
            let (handler, sent_name) = (Arc::clone(&handler), source_name.clone());
            let tool = RegisteredTool::dynamic(
                definition,
                Arc::new(move |call: &mut Invocation<'_>| {
                    call.run_dynamic(|arguments, context| handler(sent_name.clone(), arguments, context))
                }),
                table.schemas,
            )?;
            table.add(tool).map_err(|error| match error {
                RegistryError::Duplicate { tool } if is_renamed => {
                    RegistryError::DuplicateRenamed { source_name, tool }
                }
                error => error,
            })?;
        }
        self.tools = Arc::new(table);
        Ok(self)
    }

    /// Adds the tools of another registry, each as `prefix__name`, as axum nests routers: `nest("files", ..)` makes `search` to
    /// `files__search`.
    ///
    /// Their calls run in that registry, with its states, sessions, policies, settings and layers, as if it had been called: its
    /// layers run inside of this one's, and know its tools by their names without the prefix. All texts for the model, the spans and
    /// the log have the name with the prefix. [`set_policy`](Self::set_policy), [`set_timeout`](Self::set_timeout),
    /// [`subset`](Self::subset) and [`unregister`](Self::unregister) take it, too.
    ///
    /// Values that a call's context [has with it](Context::with_session_values) are shared by all; otherwise each registry keeps
    /// its own of a session, and [`remove_session`](Self::remove_session) removes all of them.
    ///
    /// ```
    /// use tool_runtime::{State, ToolRegistry, tool};
    ///
    /// /// Find what contains a word.
    /// #[tool]
    /// async fn search(
    ///     /// The word.
    ///     word: String,
    ///     place: State<String>,
    /// ) -> String {
    ///     format!("{word} is in {}", *place)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let mut files = ToolRegistry::new().with_state("a file".to_owned());
    /// files.register::<search>()?;
    /// let mut mails = ToolRegistry::new().with_state("a mail".to_owned());
    /// mails.register::<search>()?;
    ///
    /// let mut registry = ToolRegistry::new();
    /// registry.nest("files", files)?.nest("mails", mails)?;
    /// let names: Vec<&str> = registry.tool_definitions().iter().map(|tool| &*tool.name).collect();
    /// assert_eq!(names, ["files__search", "mails__search"]);
    /// let result = registry.execute_tool("toolu_01", "mails__search", r#"{ "word": "tea" }"#).await;
    /// assert_eq!(result.text(), Some("tea is in a mail"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the prefix is not a name, a name with the prefix is longer than 64 characters, or one is taken. The registry then remains
    /// unchanged.
    pub fn nest(&mut self, prefix: &str, registry: Self) -> Result<&mut Self, RegistryError> {
        if let Err(error) = ToolName::parse(prefix) {
            return Err(RegistryError::InvalidPrefix {
                prefix: prefix.to_owned(),
                reason: format!("{}; expected a-z, A-Z, 0-9, `_` and `-`", error.reason()),
            });
        }
        let mut table = (*self.tools).clone();
        let nested = registry.layers.into_nested(registry.tools);
        table.nest(&format!("{prefix}{SEPARATOR}"), nested)?;
        self.tools = Arc::new(table);
        Ok(self)
    }

    /// Adds the tools of another registry under their own names, as axum merges routers. Otherwise as [`nest`](Self::nest): their calls run
    /// in that registry, with its states, sessions, policies, settings and layers.
    ///
    /// So tools that share a layer need no prefix; [`layer_tool`](Self::layer_tool) is for one tool of this registry.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_runtime::{ToolRegistry, tool, tool_set};
    /// use tower::timeout::TimeoutLayer;
    ///
    /// /// Look up a word.
    /// #[tool]
    /// async fn look_up() {}
    ///
    /// /// Read a page of the web.
    /// #[tool]
    /// async fn fetch() {
    ///     tokio::time::sleep(Duration::from_secs(60)).await;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let web = ToolRegistry::new()
    ///     .layer(TimeoutLayer::new(Duration::from_millis(20)))
    ///     .with_tools(tool_set![fetch])?;
    /// let mut registry = ToolRegistry::new().with_tools(tool_set![look_up])?;
    /// registry.merge(web)?;
    /// let names: Vec<&str> = registry.tool_definitions().iter().map(|tool| &*tool.name).collect();
    /// assert_eq!(names, ["look_up", "fetch"]);
    /// assert_eq!(registry.execute_tool("toolu_01", "fetch", "{}").await.text(), Some("request timed out"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If a name is taken. The registry then remains unchanged.
    pub fn merge(&mut self, registry: Self) -> Result<&mut Self, RegistryError> {
        let mut table = (*self.tools).clone();
        table.nest("", registry.layers.into_nested(registry.tools))?;
        self.tools = Arc::new(table);
        Ok(self)
    }

    /// Adds a `tower` layer around the calls of one tool, inside of the layers of the registry; the last one is the outermost. The tool keeps
    /// the policy and the other settings that the registry has now: set these before.
    ///
    /// ```
    /// use tool_runtime::{ToolRegistry, tool, tool_set};
    /// use tower::limit::ConcurrencyLimitLayer;
    ///
    /// /// Look up a word.
    /// #[tool]
    /// async fn look_up() {}
    ///
    /// /// Print a page.
    /// #[tool]
    /// async fn print() {}
    ///
    /// # fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let mut registry = ToolRegistry::new().with_tools(tool_set![look_up, print])?;
    /// registry.layer_tool("print", ConcurrencyLimitLayer::new(1))?; // there is one printer
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no tool with this name.
    pub fn layer_tool<L>(&mut self, name: &str, layer: L) -> Result<&mut Self, RegistryError>
    where
        L: Layer<ToolService>,
        L::Service: Service<ToolCall, Response = ToolOutcome, Error: Into<BoxError>, Future: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let mut layers = Layers::default();
        layers.push(layer);
        self.tools_mut()
            .enclose(name, |tools| layers.into_nested(tools))?;
        Ok(self)
    }

    /// Removes a tool and returns its definition; `None` if there is none with this name.
    pub fn unregister(&mut self, name: &str) -> Option<ToolDefinition> {
        let definition = self.get_tool(name)?.definition().clone();
        self.tools_mut().retain(&|other| other != name);
        Some(definition)
    }

    /// Sets the policy of a tool, instead of the registry's.
    ///
    /// # Errors
    ///
    /// If there is no tool with this name.
    pub fn set_policy(&mut self, name: &str, policy: Policy) -> Result<&mut Self, RegistryError> {
        self.tools_mut()
            .change(name, &|tool| tool.policy = Some(policy))?;
        Ok(self)
    }

    /// Sets the timeout of a tool, from when a call reaches it, the reading of its arguments included; mainly for dynamic tools.
    /// Replaces the tool's own; `None` removes it.
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
    /// If there is no tool with this name.
    pub fn set_timeout(
        &mut self,
        name: &str,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<&mut Self, RegistryError> {
        let timeout = timeout.into();
        self.tools_mut().change(name, &|tool| tool.timeout = timeout)?;
        Ok(self)
    }

    /// A registry with some of the tools, for one request. The tools themselves are shared.
    ///
    /// Ignores unknown names; calls to them fail as not found.
    #[doc(alias = "only")]
    #[must_use]
    pub fn subset<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<N> = names.into_iter().collect();
        let names: HashSet<&str> = names.iter().map(AsRef::as_ref).collect();
        let mut subset = self.clone();
        subset.tools_mut().retain(&|name| names.contains(name));
        subset
    }

    fn tools_mut(&mut self) -> &mut Tools {
        Arc::make_mut(&mut self.tools)
    }
}

/// Inspecting a registry.
impl ToolRegistry {
    /// The tool with this name.
    pub fn get_tool(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.tool(name).map(Arc::as_ref)
    }

    /// The state that tools take as `State<T>`.
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

    /// The values that tools take as [`SessionState<T>`](crate::SessionState) in calls of a session; without one, in calls without a
    /// session. Clones and subsets of a registry share them.
    ///
    /// ```
    /// use tool_runtime::{Context, SessionState, ToolCall, ToolRegistry, tool};
    ///
    /// /// Count.
    /// #[tool]
    /// async fn count(count: SessionState<u32>) {
    ///     *count.lock() += 1;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut registry = ToolRegistry::new();
    /// registry.register::<count>()?;
    /// let call = ToolCall::new("toolu_01", "count", "{}").with_context(Context::new().with_session("s-1"));
    /// registry.call(call).await;
    /// assert_eq!(*registry.session_values(Some("s-1")).get::<u32>()?.lock(), 1);
    /// assert_eq!(*registry.session_values(None).get::<u32>()?.lock(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn session_values(&self, session: Option<&str>) -> SessionValues {
        self.tools.states.sessions.values(session)
    }

    /// Removes the values of a session that has ended, and returns them. Those in memory are never removed otherwise. The values of
    /// [nested](Self::nest) registries are removed as well, and not returned.
    pub fn remove_session(&self, session: Option<&str>) -> Option<SessionValues> {
        self.tools.remove_session(session)
    }

    /// The definitions for the model, in the order of registration.
    pub fn tool_definitions(&self) -> Vec<&ToolDefinition> {
        self.tools.tools().map(RegisteredTool::definition).collect()
    }
}

/// Calling tools.
impl ToolRegistry {
    /// Runs a tool and returns the result in the API's form. A failure is an error result.
    ///
    /// For an unknown name it is exactly `Tool '{name}' not found`; [`call`](Self::call) and [`execute_all`](Self::execute_all)
    /// append a note: all names of a registry with at most eight tools, else those that are similar, if there are any.
    pub async fn execute_tool(
        &self,
        tool_use_id: impl Into<String>,
        name: impl AsRef<str>,
        input: impl Into<RawArguments<'_>>,
    ) -> ToolResult {
        let context = Context::new();
        let mut state = CallState::new(tool_use_id.into(), name.as_ref(), input.into(), &context);
        self.run(&mut state).await;
        if state.outcome.failure != Some(Failure::NotFound) {
            state.outcome.join_notes();
        }
        state.outcome.result
    }

    /// Runs a call and returns its outcome.
    ///
    /// For an unknown name, a [note](ToolOutcome::notes) lists all names of a registry with at most eight tools, else up to three
    /// similar names. If no name is similar, there is no note.
    pub async fn call(&self, mut call: ToolCall) -> ToolOutcome {
        let arrived = Instant::now();
        let mut state = CallState::of(&mut call);
        self.run(&mut state).await;
        let mut outcome = state.outcome;
        outcome.join_notes();
        outcome.duration = arrived.elapsed();
        outcome
    }

    /// Runs a call within its span, through the layers.
    async fn run(&self, call: &mut CallState<'_>) {
        let span = trace::span(call.name, call.id());
        if span.is_disabled() && self.layers.is_empty() && !self.tools.has_nested() {
            return handle(&self.tools, call).await;
        }
        // Boxed, since it would enlarge the future of every other call.
        let handled = Box::pin(handle_in_layers(&self.layers, &self.tools, call));
        handled.instrument(span.clone()).await;
        trace::record(&span, &call.outcome);
    }

    /// Runs the calls of one turn concurrently, on the runtime's threads, and returns the outcomes in order.
    ///
    /// [`with_max_concurrency`](Self::with_max_concurrency) limits how many run at once. Dropping the future aborts all of them.
    /// Needs a tokio runtime.
    #[doc(alias("call_all", "batch"))]
    pub async fn execute_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolOutcome> {
        let run = |call| {
            let registry = self.clone();
            async move { registry.call(call).await }
        };
        batch::run(calls.into_iter().collect(), self.concurrency.0, run).await
    }

    /// Reads a call's arguments without running the function, for permission dialogs and gateways. In a layer, use
    /// [`ToolCall::prepare`].
    #[doc(alias("preview", "validate", "request"))]
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

/// A registry is a service, which is always ready.
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

    use serde_json::json;

    use super::ToolRegistry;
    use crate::call::handle::{CallState, handle};
    use crate::call::tool_call::ToolCall;
    use crate::param::declared::Param;
    use crate::tool::declaration::Declaration;
    use crate::tool::declared::{DeclaredTool, WithOutputSchema as _};
    use crate::tool::output::OutputOf;
    use crate::wire::definition::ToolDefinition;
    use crate::wire::raw_arguments::RawArguments;

    #[test]
    fn frees_owned_arguments_before_the_function_runs() {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let definition = ToolDefinition::new("wait", "Wait.", schema);
        let text = Param::<String>::new("text", "A text.");
        let typed = DeclaredTool::function(Declaration::new("wait_typed", "Wait."), (text,), |_| {
            pending::<OutputOf<()>>()
        });
        let mut registry = ToolRegistry::new();
        registry
            .register_dynamic(definition, async |_, _| pending::<String>().await)
            .unwrap()
            .register_all(vec![typed.with_output_schema()])
            .unwrap();
        let all = [json!({ "text": "as wanted" }), json!({ "text": 5 })];
        for (name, sent) in all.iter().flat_map(|sent| [("wait", sent), ("wait_typed", sent)]) {
            let mut call = ToolCall::new("id", name, sent.clone());
            let mut state = CallState::of(&mut call);
            {
                let mut running = std::pin::pin!(handle(&registry.tools, &mut state));
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(running.as_mut().poll(&mut context).is_pending());
            }
            assert_eq!(state.input, RawArguments::from(""));
        }
    }
}
