//! [`ToolRegistry`], and the registration of tools: functions, sets, dynamic tools and other registries.
//!
//! The struct and its methods are in one file, since the compiler names a method by the module of its `impl` block if
//! the type is in another module. The file also has the methods whose bounds the compiler explains.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tower_layer::Layer;
use tower_service::Service;

use crate::arguments::policy::Policy;
use crate::call::layer::{BoxError, Layers, ToolService};
use crate::call::table::{NestedRegistry, SEPARATOR, Tools};
use crate::call::tool_call::ToolCall;
use crate::host::context::Context;
use crate::host::session_store::{SessionStateStore, SharedSessionStore};
use crate::tool::entry::{RegisteredTool, SourceChecks};
use crate::tool::left_out::LeftOut;
use crate::tool::output::convert::HandlerOutput;
use crate::tool::registry_error::RegistryError;
use crate::tool::source_names;
use crate::tool::tool_trait::{IntoTools, Invocation, Shared, Tool};
use crate::wire::definition::{ToolDefinition, ToolName};
use crate::wire::issue::excerpt;
use crate::wire::result::ToolOutcome;

#[doc = include_str!("../docs/registry.md")]
// R-REG-1 to R-REG-3, R-REG-7.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry {
    pub(super) tools: Arc<Tools>,
    pub(super) layers: Layers,
    pub(super) concurrency: Concurrency,
}

/// Maximum number of concurrent calls of one batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concurrency(pub(super) usize);

impl Default for Concurrency {
    /// Returns 8, which is more than the calls of most turns, and not too many for most upstream services.
    fn default() -> Self {
        Self(8)
    }
}

/// States and layers.
impl ToolRegistry {
    /// Creates a registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a state, which tools take as `State<T>`; replaces an earlier state of the same type. Concurrent calls
    /// share the state, so `T` is `Send`, `Sync` and `'static`.
    ///
    /// [`state`](Self::state) returns the state. Tools take an `Arc<T>` as `State<Arc<T>>`.
    #[must_use]
    pub fn with_state<T: Shared>(mut self, value: T) -> Self {
        self.tools_mut().states.insert(value);
        self
    }

    /// Sets the store for values that tools take as [`SessionState<T>`](crate::SessionState); by default they are in
    /// memory.
    #[must_use]
    pub fn with_session_store(mut self, store: impl SessionStateStore) -> Self {
        self.tools_mut().states.sessions = SharedSessionStore::new(store);
        self
    }

    /// Adds a `tower` layer around every call; the last layer is the outermost.
    ///
    /// An error of a layer becomes the result of the call, with the call's id.
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
}

/// Registering tools.
impl ToolRegistry {
    /// Registers an annotated function by its name, which is also the name of a type:
    /// `registry.register::<find_trains>()`.
    ///
    /// Returns a reference, so that registrations can be chained; the registry is a separate variable:
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
    /// Returns an error if the name is invalid or taken, a state is missing, a default violates its constraints, or
    /// the schema is invalid. The registry then remains unchanged.
    // The compiler shows this line for `register(find_trains)`.
    pub fn register<T: Tool /* register::<find_trains>() */>(&mut self) -> Result<&mut Self, RegistryError> {
        self.register_all(vec![T::declare()])
    }

    /// Registers a set of tools: all of them, or none if one fails.
    ///
    /// [`with_tools`](Self::with_tools) does the same in an expression that returns the registry.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`register`](Self::register).
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

    /// Registers a set of tools and returns the registry, or an error if one tool fails.
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
    /// Returns the errors of [`register`](Self::register).
    pub fn with_tools(mut self, tools: impl IntoTools) -> Result<Self, RegistryError> {
        self.register_all(tools)?;
        Ok(self)
    }

    /// Registers a tool with a definition and a handler.
    ///
    /// A schema in another dialect is [corrected](Self::with_schema_corrections), with a warning in the log.
    ///
    /// The handler takes two parameters: the arguments, an object that was coerced to the schema, and the call's
    /// [`Context`]. The object includes unknown arguments, but not the defaults of the schema, which the handler
    /// applies itself.
    ///
    /// The handler returns a [`HandlerOutput`]: a `Result` of any type that a `#[tool]` may return, or a `String`, a
    /// `&'static str`, a [`Value`], [`Blocks`](crate::Blocks), a [`ToolOutput`](crate::ToolOutput) or `()`.
    ///
    /// The handler clones captured values for each call, since calls run concurrently:
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
    /// Returns an error if the name is invalid or taken, or the schema is invalid.
    pub fn register_dynamic<F, R>(
        &mut self,
        definition: ToolDefinition,
        handler: F,
    ) -> Result<&mut Self, RegistryError>
    where
        F: Fn(Value, Context) -> R + Send + Sync + 'static, // with the call's `Context`: `|arguments, _| ..`
        R: Future<Output: HandlerOutput> + Send + 'static,  // write `async |arguments, context| ..`
    {
        let tool = RegisteredTool::dynamic(definition, self.tools.schemas, |keys| {
            Arc::new(move |call: &mut Invocation<'_>| call.run_dynamic(&keys, &handler))
        })?;
        self.tools_mut().add(tool)?;
        Ok(self)
    }

    /// Registers the tools of one source, for instance of an MCP server, with one handler: all of them, or none if
    /// one fails. The handler receives the source's name for the called tool.
    ///
    /// The API allows fewer names than other protocols. A valid name is kept. In others, `_` replaces invalid characters:
    /// `files.read` becomes `files_read`. If that is the name of another tool, is longer than 64 characters, or has no
    /// valid character, the name gets a suffix of 8 digits that depends only on the source's name.
    ///
    /// A wrong output schema is left out, with a warning in the log, and a schema without a type is the schema of an
    /// object. [`register_usable`](Self::register_usable) also leaves out the tools that cannot be registered.
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
    /// Returns the errors of [`register_dynamic`](Self::register_dynamic).
    pub fn register_source<F, R>(
        &mut self,
        definitions: impl IntoIterator<Item = ToolDefinition>,
        handler: F,
    ) -> Result<&mut Self, RegistryError>
    where
        F: Fn(String, Value, Context) -> R + Send + Sync + 'static, // with the source's name: `|name, arguments, context| ..`
        R: Future<Output: HandlerOutput> + Send + 'static, // write `async |name, arguments, context| ..`
    {
        let mut table = (*self.tools).clone();
        for tool in SourceTool::from_definitions(&table, SourceChecks::Repaired, definitions, handler) {
            table.add(tool.registered?)?;
        }
        self.tools = Arc::new(table);
        Ok(self)
    }

    /// Registers the usable tools of one source as [`register_source`](Self::register_source) does, and returns the
    /// others with the reasons, which are also in the log: tools whose name is taken, of two tools with one name the
    /// second, and tools whose schema is invalid, has an unknown `$schema`, or has a property that the Messages API
    /// refuses. A request with such a tool would be refused as a whole.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::json};
    ///
    /// let listed = [
    ///     ToolDefinition::new("read", "Read.", json!({ "type": "object" })),
    ///     ToolDefinition::new("write", "Write.", json!({ "type": "object", "properties": { "text": { "$ref": "https://example.com/text" } } })),
    /// ];
    /// let mut registry = ToolRegistry::new();
    /// let left_out = registry.register_usable(listed, async |name, _, _| name);
    /// assert_eq!(registry.tool_definitions().len(), 1);
    /// assert_eq!((left_out.len(), left_out[0].name.as_str()), (1, "write"));
    /// assert!(left_out[0].to_string().starts_with("the schema of `write` is invalid at `/properties/text/$ref`"));
    /// ```
    #[must_use = "the model does not see the tools that were left out"]
    pub fn register_usable<F, R>(
        &mut self,
        definitions: impl IntoIterator<Item = ToolDefinition>,
        handler: F,
    ) -> Vec<LeftOut>
    where
        F: Fn(String, Value, Context) -> R + Send + Sync + 'static, // with the source's name: `|name, arguments, context| ..`
        R: Future<Output: HandlerOutput> + Send + 'static, // write `async |name, arguments, context| ..`
    {
        let table = self.tools_mut();
        let mut left_out = Vec::new();
        for tool in SourceTool::from_definitions(table, SourceChecks::Usable, definitions, handler) {
            let added = tool.registered.and_then(|registered| table.add(registered));
            left_out.extend(added.err().map(|error| LeftOut::new(tool.source_name, error)));
        }
        log_left_out(&left_out);
        left_out
    }

    /// Adds the tools of another registry, each as `prefix__name`, as axum nests routers: `nest("files", ..)`
    /// registers `search` as `files__search`.
    ///
    /// Calls of these tools run in the nested registry, with its states, sessions, policies, settings and layers, as if
    /// it had been called directly. Layers of the nested registry run inside this registry's layers and receive the
    /// names without the prefix. Texts for the model, spans and the log have the names with the prefix, and
    /// [`set_policy`](Self::set_policy), [`set_timeout`](Self::set_timeout), [`subset`](Self::subset) and
    /// [`unregister`](Self::unregister) take these names.
    ///
    /// A name that is longer than 64 characters with the prefix is cut to 55, and gets a suffix of `_` and 8 digits that
    /// depends only on the tool's [name in its source](RegisteredTool::source_name).
    ///
    /// Session values in a call's [context](Context::with_session_values) are shared by all registries. Otherwise
    /// each registry keeps its own values of a session, and [`remove_session`](Self::remove_session) removes all of
    /// them.
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
    /// Returns an error if the prefix is not a name, or a name with the prefix is taken. The registry then remains
    /// unchanged.
    pub fn nest(&mut self, prefix: &str, registry: Self) -> Result<&mut Self, RegistryError> {
        check_prefix(prefix)?;
        let mut table = (*self.tools).clone();
        let nested = NestedRegistry::from(registry);
        table.nest(&format!("{prefix}{SEPARATOR}"), nested)?;
        self.tools = Arc::new(table);
        Ok(self)
    }

    /// Adds the tools of another registry as [`nest`](Self::nest) does, except for tools whose name is taken. Returns
    /// these tools with the reasons, which are also in the log.
    ///
    /// ```
    /// use tool_runtime::{ToolRegistry, tool, tool_set};
    ///
    /// /// Search.
    /// #[tool]
    /// async fn search() {}
    ///
    /// let docs = ToolRegistry::new().with_tools(tool_set![search])?;
    /// let mut registry = ToolRegistry::new();
    /// assert!(registry.nest_usable("docs", docs.clone())?.is_empty());
    /// let left_out = registry.nest_usable("docs", docs)?;
    /// assert_eq!((left_out[0].name.as_str(), left_out[0].error.code()), ("search", "duplicate"));
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the prefix is not a name.
    pub fn nest_usable(&mut self, prefix: &str, registry: Self) -> Result<Vec<LeftOut>, RegistryError> {
        check_prefix(prefix)?;
        let mut table = (*self.tools).clone();
        let nested = NestedRegistry::from(registry);
        let left_out = table.nest_usable(&format!("{prefix}{SEPARATOR}"), nested)?;
        self.tools = Arc::new(table);
        log_left_out(&left_out);
        Ok(left_out)
    }

    /// Adds the tools of another registry under their own names, as axum merges routers. As with
    /// [`nest`](Self::nest), their calls run in that registry, with its states, sessions, policies, settings and
    /// layers.
    ///
    /// Tools that share a layer therefore need no prefix; [`layer_tool`](Self::layer_tool) adds a layer to one tool
    /// of this registry.
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
    /// Returns an error if a name is taken. The registry then remains unchanged.
    pub fn merge(&mut self, registry: Self) -> Result<&mut Self, RegistryError> {
        let mut table = (*self.tools).clone();
        table.nest("", NestedRegistry::from(registry))?;
        self.tools = Arc::new(table);
        Ok(self)
    }

    /// Adds the tools of another registry as [`merge`](Self::merge) does, except for tools whose name is taken. Returns these
    /// tools with the reasons, which are also in the log.
    ///
    /// ```
    /// use tool_runtime::{ToolRegistry, tool, tool_set};
    ///
    /// /// Search.
    /// #[tool]
    /// async fn search() {}
    ///
    /// let docs = ToolRegistry::new().with_tools(tool_set![search])?;
    /// let mut registry = ToolRegistry::new();
    /// assert!(registry.merge_usable(docs.clone()).is_empty());
    /// assert_eq!(registry.merge_usable(docs)[0].error.code(), "duplicate");
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn merge_usable(&mut self, registry: Self) -> Vec<LeftOut> {
        let mut table = (*self.tools).clone();
        // Without a prefix, each name remains valid.
        let left_out = table
            .nest_usable("", NestedRegistry::from(registry))
            .unwrap_or_default();
        self.tools = Arc::new(table);
        log_left_out(&left_out);
        left_out
    }

    /// Adds a `tower` layer around the calls of one tool, inside the layers of the registry; the last layer is the
    /// outermost. The tool keeps the registry's current policy and settings, so set these before.
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
    /// Returns an error if there is no tool with this name.
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
        self.tools_mut().enclose(name, layers)?;
        Ok(self)
    }

    /// Removes a tool and returns its definition; `None` if no tool has this name.
    pub fn unregister(&mut self, name: &str) -> Option<ToolDefinition> {
        let definition = self.get_tool(name)?.definition().clone();
        self.tools_mut().retain(&|other| other != name);
        Some(definition)
    }

    /// Sets the policy of a tool, instead of the registry's.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no tool with this name.
    pub fn set_policy(&mut self, name: &str, policy: Policy) -> Result<&mut Self, RegistryError> {
        self.tools_mut()
            .change(name, &|tool| tool.policy = Some(policy))?;
        Ok(self)
    }

    /// Sets the timeout of a tool, which starts when a call reaches it and includes reading the arguments; mainly for
    /// dynamic tools. Replaces the tool's own timeout; `None` removes it.
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
    /// Returns an error if there is no tool with this name.
    pub fn set_timeout(
        &mut self,
        name: &str,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<&mut Self, RegistryError> {
        let timeout = timeout.into();
        self.tools_mut().change(name, &|tool| tool.timeout = timeout)?;
        Ok(self)
    }

    /// Returns a registry with some of the tools, for one request. The tools themselves are shared.
    ///
    /// Unknown names are ignored; calls to them fail as not found.
    #[doc(alias = "only")]
    #[must_use]
    pub fn subset<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<N> = names.into_iter().collect();
        let names: HashSet<&str> = names.iter().map(AsRef::as_ref).collect();
        let mut subset = self.clone();
        subset.tools_mut().retain(&|name| names.contains(name));
        subset
    }

    pub(super) fn tools_mut(&mut self) -> &mut Tools {
        Arc::make_mut(&mut self.tools)
    }
}

/// A tool of a source.
struct SourceTool {
    source_name: String,
    registered: Result<RegisteredTool, RegistryError>,
}

impl SourceTool {
    /// Names and checks the tools of a source, for a registry with these tools.
    fn from_definitions<F, R>(
        table: &Tools,
        checks: SourceChecks,
        definitions: impl IntoIterator<Item = ToolDefinition>,
        handler: F,
    ) -> Vec<Self>
    where
        F: Fn(String, Value, Context) -> R + Send + Sync + 'static,
        R: Future<Output: HandlerOutput> + Send + 'static,
    {
        let handler = Arc::new(handler);
        let mut settings = table.schemas;
        settings.source = checks;
        let definitions: Vec<ToolDefinition> = definitions.into_iter().collect();
        let own_names: Vec<&str> = definitions.iter().map(|tool| tool.name.as_str()).collect();
        let names = source_names::for_source(&own_names, |name| table.has(name));
        let tools = definitions.into_iter().zip(names).map(|(mut definition, name)| {
            let source_name = definition.name.clone();
            let registered = name.map_err(RegistryError::from).and_then(|name| {
                definition.name = name.to_string();
                let (handler, sent_name) = (Arc::clone(&handler), source_name.clone());
                let mut tool = RegisteredTool::dynamic(definition, settings, |keys| {
                    Arc::new(move |call: &mut Invocation<'_>| {
                        call.run_dynamic(&keys, |arguments, context| {
                            handler(sent_name.clone(), arguments, context)
                        })
                    })
                })?;
                tool.source_name = Some(source_name.as_str().into());
                Ok(tool)
            });
            Self {
                source_name,
                registered,
            }
        });
        tools.collect()
    }
}

fn log_left_out(left_out: &[LeftOut]) {
    for tool in left_out {
        tracing::warn!(tool = &*excerpt(&tool.name), "a tool was left out: {tool}");
    }
}

/// Checks the prefix of nested tools.
fn check_prefix(prefix: &str) -> Result<(), RegistryError> {
    match ToolName::parse(prefix) {
        Ok(_) => Ok(()),
        Err(error) => Err(RegistryError::InvalidPrefix {
            prefix: prefix.to_owned(),
            reason: format!("{}; expected a-z, A-Z, 0-9, `_` and `-`", error.reason()),
        }),
    }
}

impl From<ToolRegistry> for NestedRegistry {
    fn from(ToolRegistry { tools, layers, .. }: ToolRegistry) -> Self {
        Self { tools, layers }
    }
}
