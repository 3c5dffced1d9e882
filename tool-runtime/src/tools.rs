//! The tools of a registry and what every call needs of them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::declaration::Wording;
use crate::definition::{InvalidName, ToolDefinition, ToolName};
use crate::policy::Policy;
use crate::schema::{self, Shape, marks};
use crate::state::States;
use crate::tool::{DeclaredTool, Handler};

/// What calls need of a registry, shared by its clones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    tools: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<ToolName, usize>,
    pub(crate) states: States,
    pub(crate) policy: Policy,
    pub(crate) warnings_in_results: bool,
}

impl Tools {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// All tools, in the order of their registration.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &RegisteredTool> {
        self.tools.iter().map(Arc::as_ref)
    }

    /// The narrowest policy counts: the call's, the tool's, the registry's.
    pub(crate) fn policy_of(&self, tool: &RegisteredTool, call: Option<Policy>) -> Policy {
        call.or(tool.policy).unwrap_or(self.policy)
    }

    pub(crate) fn add(&mut self, tool: RegisteredTool) -> Result<(), RegistryError> {
        if self.by_name.contains_key(&tool.name) {
            return Err(RegistryError::Duplicate {
                tool: tool.name.to_string(),
            });
        }
        self.by_name.insert(tool.name.clone(), self.tools.len());
        self.tools.push(Arc::new(tool));
        Ok(())
    }

    /// Changes a tool; its former self lives on in other registries.
    pub(crate) fn change(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut RegisteredTool),
    ) -> Result<(), RegistryError> {
        let place = self
            .by_name
            .get(name)
            .and_then(|place| self.tools.get_mut(*place));
        let Some(tool) = place else {
            return Err(RegistryError::NotRegistered {
                tool: crate::issue::echo(name).into_owned(),
            });
        };
        change(Arc::make_mut(tool));
        Ok(())
    }

    /// Keeps the tools that `keep` names, in their order.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.tools.retain(|tool| keep(tool.name.as_str()));
        let places = self
            .tools
            .iter()
            .enumerate()
            .map(|(place, tool)| (tool.name.clone(), place));
        self.by_name = places.collect();
    }
}

/// A tool in a registry.
#[derive(Clone)]
pub struct RegisteredTool {
    pub(crate) name: ToolName,
    pub(crate) definition: ToolDefinition,
    pub(crate) shape: Shape,
    pub(crate) policy: Option<Policy>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) wording: Option<Wording>,
    pub(crate) handler: Handler,
}

impl RegisteredTool {
    /// What the model is told.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// The policy set for this tool; `None` leaves it to the registry.
    pub fn policy(&self) -> Option<Policy> {
        self.policy
    }

    /// How long a call may take, when the tool says so.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Checks a declared tool against what the registry has.
    pub(crate) fn declared(tool: DeclaredTool, states: &States) -> Result<Self, RegistryError> {
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
        let mut definition = declaration.marked_definition();
        let shape = compile(&name, &definition)?;
        marks::strip(&mut definition.input_schema);
        marks::strip_defaults(&mut definition.input_schema);
        for path in schema::undescribed(&definition.input_schema) {
            tracing::warn!(tool = %name, path, "this property has no description, the model has to guess");
        }
        let (timeout, wording) = (declaration.timeout, declaration.wording);
        Ok(Self {
            name,
            definition,
            shape,
            policy: None,
            timeout,
            wording,
            handler,
        })
    }

    /// Checks a tool that is known by its definition.
    pub(crate) fn dynamic(mut definition: ToolDefinition, handler: Handler) -> Result<Self, RegistryError> {
        let name = ToolName::parse(&definition.name)?;
        let shape = compile(&name, &definition)?;
        marks::strip(&mut definition.input_schema);
        Ok(Self {
            name,
            definition,
            shape,
            policy: None,
            timeout: None,
            wording: None,
            handler,
        })
    }
}

/// Compiles the schema of a tool; what it does not enforce is logged.
fn compile(tool: &ToolName, definition: &ToolDefinition) -> Result<Shape, RegistryError> {
    let compiled =
        Shape::compile(&definition.input_schema).map_err(|error| RegistryError::InvalidSchema {
            tool: tool.to_string(),
            path: error.path,
            reason: error.reason,
        })?;
    for warning in &compiled.warnings {
        tracing::warn!(tool = tool.as_str(), path = warning.path, "{warning}");
    }
    Ok(compiled.shape)
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredTool")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
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
        "`{tool}` takes `{parameter}: State<{state}>`, and the registry has none; \
         call `.with_state(..)` before you register it"
    )]
    MissingState {
        /// The tool.
        tool: String,
        /// The parameter.
        parameter: &'static str,
        /// The type of the state.
        state: &'static str,
    },
    /// The schema cannot be enforced as it stands.
    #[error("the schema of `{tool}` is invalid at `{path}`: {reason}")]
    InvalidSchema {
        /// The tool.
        tool: String,
        /// Where in the schema: an RFC 6901 JSON Pointer.
        path: String,
        /// What is wrong and what to write instead.
        reason: String,
    },
    /// There is no such tool to change.
    #[error("no tool named `{tool}` is registered")]
    NotRegistered {
        /// The name.
        tool: String,
    },
}
