//! [`ToolRegistry`]: names to tools, and the way in for every call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::call::{RawArguments, ToolCall};
use crate::declaration::Wording;
use crate::definition::{InvalidName, ToolDefinition, ToolName};
use crate::execute;
use crate::policy::Policy;
use crate::result::{ToolOutcome, ToolResult};
use crate::schema::Shape;
use crate::state::States;
use crate::tool::{DeclaredTool, Handler, IntoTools, Tool};

/// The tools that a model may call, and the way to call them (seed 000, F-007).
///
/// Cheap to clone: a clone shares everything until one of the two is changed.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry {
    core: Arc<Core>,
}

/// What calls need of a registry, shared by its clones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Core {
    tools: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<ToolName, usize>,
    pub(crate) states: States,
    pub(crate) policy: Policy,
}

impl Core {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.tools.get(*self.by_name.get(name)?)
    }
}

/// A tool in a registry.
pub struct RegisteredTool {
    pub(crate) name: ToolName,
    pub(crate) definition: ToolDefinition,
    pub(crate) shape: Shape,
    pub(crate) policy: Option<Policy>,
    pub(crate) timeout: Option<std::time::Duration>,
    pub(crate) wording: Option<Wording>,
    pub(crate) handler: Handler,
}

impl RegisteredTool {
    /// What the model is told.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }
}

impl RegisteredTool {
    /// Checks a declared tool against what the registry has.
    fn declared(tool: DeclaredTool, states: &States) -> Result<Self, RegistryError> {
        let DeclaredTool { declaration, handler } = tool;
        let name = ToolName::parse(declaration.name)?;
        if let Some((parameter, state)) = declaration
            .params
            .iter()
            .find_map(|param| Some((param.name, (param.missing_state)(states)?)))
        {
            return Err(RegistryError::MissingState {
                tool: name.to_string(),
                parameter,
                state,
            });
        }
        let definition = declaration.marked_definition();
        let shape = Shape::compile(&definition.input_schema);
        Ok(Self {
            name,
            definition,
            shape,
            policy: None,
            timeout: declaration.timeout,
            wording: declaration.wording,
            handler,
        })
    }
}

impl std::fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegisteredTool")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

impl Core {
    fn add(&mut self, tool: RegisteredTool) -> Result<(), RegistryError> {
        if self.by_name.contains_key(&tool.name) {
            return Err(RegistryError::Duplicate {
                tool: tool.name.to_string(),
            });
        }
        self.by_name.insert(tool.name.clone(), self.tools.len());
        self.tools.push(Arc::new(tool));
        Ok(())
    }
}

impl ToolRegistry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the tools a value that they take as `State<T>`; replaces an earlier one of the same type.
    #[must_use]
    pub fn with_state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        Arc::make_mut(&mut self.core).states.insert(value);
        self
    }

    /// Sets how lenient the registry is where neither tool nor call says otherwise.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        Arc::make_mut(&mut self.core).policy = policy;
        self
    }

    /// Registers an annotated function by its name.
    ///
    /// # Errors
    ///
    /// When the name is taken or refused, a state is missing, a default breaks its own limits, or the schema is
    /// invalid. The registry is then as it was.
    pub fn register<T: Tool>(&mut self) -> Result<&mut Self, RegistryError> {
        self.register_all(vec![DeclaredTool::of::<T>()])
    }

    /// Registers a family of tools: all of them, or none when one is refused.
    pub fn register_all(&mut self, tools: impl IntoTools) -> Result<&mut Self, RegistryError> {
        let mut core = (*self.core).clone();
        for tool in tools.into_tools() {
            let registered = RegisteredTool::declared(tool, &core.states)?;
            core.add(registered)?;
        }
        self.core = Arc::new(core);
        Ok(self)
    }

    /// The registered tool of that name.
    pub fn get_tool(&self, name: &str) -> Option<&RegisteredTool> {
        self.core.tool(name).map(Arc::as_ref)
    }

    /// What the model is told, in the order of registration.
    pub fn tool_definitions(&self) -> Vec<&ToolDefinition> {
        self.core.tools.iter().map(|tool| &tool.definition).collect()
    }

    /// Runs a tool and answers in the API's form. Never fails: what goes wrong is in the result.
    pub async fn execute_tool(
        &self,
        tool_use_id: impl Into<String>,
        name: impl Into<String>,
        input: impl Into<RawArguments>,
    ) -> ToolResult {
        self.call(ToolCall::new(tool_use_id, name, input)).await.result
    }

    /// Runs a call and tells everything about it.
    pub async fn call(&self, call: ToolCall) -> ToolOutcome {
        let arrived = Instant::now();
        let mut outcome = execute::run(&self.core, call).await;
        outcome.duration = arrived.elapsed();
        outcome
    }
}

/// Why a tool was not registered. The registry is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The API would refuse the name.
    #[error(transparent)]
    InvalidName(#[from] InvalidName),
    /// The name is taken.
    #[error("a tool named `{tool}` is already registered; give one of the two another `name`")]
    Duplicate {
        /// The name.
        tool: String,
    },
    /// A parameter wants a state that the registry does not have.
    #[error(
        "`{tool}` takes `{parameter}: State<{state}>`, and the registry has none; call `.with_state(..)` before you register it"
    )]
    MissingState {
        /// The tool.
        tool: String,
        /// The parameter.
        parameter: &'static str,
        /// The type of the state.
        state: &'static str,
    },
}
