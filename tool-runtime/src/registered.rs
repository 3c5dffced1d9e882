//! A tool in a registry, and what has to hold before it gets there.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::arguments;
use crate::call::RawArguments;
use crate::declaration::{Declaration, Wording};
use crate::definition::{ToolDefinition, ToolName};
use crate::issue::Issue;
use crate::policy::Policy;
use crate::registry_error::RegistryError;
use crate::schema::{self, Shape, marks};
use crate::state::States;
use crate::tool::{DeclaredTool, Handler};

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

    /// Checks a declared tool, and what it needs of the host.
    pub(crate) fn declared(
        tool: DeclaredTool,
        states: &States,
        shows_defaults: bool,
    ) -> Result<Self, RegistryError> {
        let DeclaredTool { declaration, handler } = tool;
        let name = ToolName::parse(declaration.name)?;
        has_states(&name, &declaration, states)?;
        can_be_said(&name, &declaration)?;
        let mut definition = declaration.marked_definition();
        let shape = compile(&name, &definition)?;
        keeps_to_its_limits(&name, &declaration, &shape)?;
        examples_fit(&name, &definition, &shape)?;
        marks::strip(&mut definition.input_schema);
        if !shows_defaults {
            marks::strip_defaults(&mut definition.input_schema);
        }
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

    /// Checks a tool that is known by its definition. Its schema goes out as it came, but for our own marks.
    pub(crate) fn dynamic(mut definition: ToolDefinition, handler: Handler) -> Result<Self, RegistryError> {
        let name = ToolName::parse(&definition.name)?;
        let shape = compile(&name, &definition)?;
        examples_fit(&name, &definition, &shape)?;
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

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredTool")
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}

/// Every state that a parameter wants is there.
fn has_states(tool: &ToolName, declaration: &Declaration, states: &States) -> Result<(), RegistryError> {
    for param in &declaration.params {
        if let Some(state) = (param.missing_state)(states) {
            return Err(RegistryError::MissingState {
                tool: tool.to_string(),
                parameter: param.name,
                state,
            });
        }
    }
    Ok(())
}

/// The attributes of every parameter can be put into its schema.
fn can_be_said(tool: &ToolName, declaration: &Declaration) -> Result<(), RegistryError> {
    for param in &declaration.params {
        if let Some(reason) = &param.problem {
            return Err(RegistryError::InvalidParameter {
                tool: tool.to_string(),
                parameter: param.name.to_owned(),
                reason: reason.clone(),
            });
        }
    }
    Ok(())
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

/// The macro checks a literal default against literal limits; every default is checked here, once.
fn keeps_to_its_limits(
    tool: &ToolName,
    declaration: &Declaration,
    shape: &Shape,
) -> Result<(), RegistryError> {
    for param in &declaration.params {
        let refused = |reason: String| RegistryError::InvalidParameter {
            tool: tool.to_string(),
            parameter: param.name.to_owned(),
            reason,
        };
        match &param.default {
            // An `Option` that is absent by default.
            None | Some(Ok(Value::Null)) => {}
            Some(Err(reason)) => {
                return Err(refused(format!(
                    "its default cannot be written as JSON: {reason}"
                )));
            }
            Some(Ok(default)) => {
                let alone = Map::from_iter([(param.name.to_owned(), default.clone())]);
                let place = schema::pointer::join("", param.name);
                let concerns = |issue: &Issue| {
                    issue
                        .path
                        .strip_prefix(&place)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                if let Some(error) = errors(shape, alone).into_iter().find(concerns) {
                    return Err(refused(format!("its default is wrong: {error}")));
                }
            }
        }
    }
    Ok(())
}

/// An example that the tool would refuse is worse than none; the API refuses it as well.
fn examples_fit(tool: &ToolName, definition: &ToolDefinition, shape: &Shape) -> Result<(), RegistryError> {
    for (index, example) in definition.input_examples.iter().enumerate() {
        let refused = |reason| RegistryError::InvalidExample {
            tool: tool.to_string(),
            index,
            reason,
        };
        let Value::Object(example) = example else {
            return Err(refused(
                "an example is an object with the tool's arguments".to_owned(),
            ));
        };
        if let Some(error) = errors(shape, example.clone()).first() {
            return Err(refused(error.to_string()));
        }
    }
    Ok(())
}

/// Why arguments do not conform.
fn errors(shape: &Shape, arguments: Map<String, Value>) -> Vec<Issue> {
    let input = RawArguments::Value(Value::Object(arguments));
    let mut issues = arguments::coerce(shape, &input, Policy::Strict).issues;
    issues.retain(Issue::is_error);
    issues
}
