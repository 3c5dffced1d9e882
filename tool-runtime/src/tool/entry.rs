//! [`RegisteredTool`]: a tool in a registry, and the checks at registration.

use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::arguments::policy::Policy;
use crate::arguments::{self, ArgumentReader};
use crate::host::state::States;
use crate::param::params::ParamSpec;
use crate::schema::compiled::pattern::Pattern;
use crate::schema::dialects::{PropertyKeys, Refusals};
use crate::schema::generate::contradictions::Contradiction;
use crate::schema::generate::variants::Unreachable;
use crate::schema::keywords::marks;
use crate::schema::{self, CompiledSchema, FormatPolicy, SchemaWarning, dialects};
use crate::tool::declaration::{Declaration, ErrorFormatter, MarkedDefinition};
use crate::tool::output::schema::OutputSchema;
use crate::tool::registry_error::RegistryError;
use crate::tool::size;
use crate::tool::tool_trait::{DeclaredTool, Handler};
use crate::wire::definition::{ToolDefinition, ToolName};
use crate::wire::depth;
use crate::wire::issue::Issue;
use crate::wire::raw_arguments::RawArguments;

/// A tool in a registry, from [`get_tool`](crate::ToolRegistry::get_tool).
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::{Policy, ToolRegistry, tool};
///
/// /// Ring a bell.
/// #[tool(timeout = "2s")]
/// async fn ring() {}
///
/// let mut registry = ToolRegistry::new();
/// registry.register::<ring>().unwrap().set_policy("ring", Policy::Strict).unwrap();
/// let ring = registry.get_tool("ring").unwrap();
/// assert_eq!(ring.definition().description, "Ring a bell.");
/// assert_eq!((ring.timeout(), ring.policy()), (Some(Duration::from_secs(2)), Some(Policy::Strict)));
/// assert!(registry.get_tool("sing").is_none());
/// ```
#[derive(Clone)]
pub struct RegisteredTool {
    pub(crate) name: ToolName,
    /// Name by which the model calls the tool, with the prefixes of nested registries.
    pub(crate) qualified_name: ToolName,
    pub(crate) definition: ToolDefinition,
    pub(crate) compiled: CompiledSchema,
    pub(crate) policy: Option<Policy>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) format_errors: Option<ErrorFormatter>,
    /// Defaults of parameters; empty for dynamic tools, whose handlers apply the defaults of the schema.
    pub(crate) defaults: Map<String, Value>,
    /// Whether a parameter is a `SessionState`.
    pub(crate) uses_session_state: bool,
    /// Checks structured results.
    pub(crate) output_schema: Option<OutputSchema>,
    pub(crate) handler: Handler,
    /// Type of the annotated function; `None` for a dynamic tool.
    pub(crate) function: Option<TypeId>,
    /// Name in the source of the tool; `None` if that is `name`.
    pub(crate) source_name: Option<Arc<str>>,
    /// Nested tool that receives the calls in place of the handler.
    pub(crate) nested: Option<NestedTool>,
}

/// Settings of a registry for schemas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaSettings {
    pub(crate) formats: FormatPolicy,
    /// Whether schemas of dynamic tools in other dialects are corrected.
    pub(crate) has_corrections: bool,
    /// Whether the private keywords of types also apply in schemas of dynamic tools.
    pub(crate) has_marks: bool,
    pub(crate) source: SourceChecks,
}

/// Checks of definitions that come from a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SourceChecks {
    /// The host wrote the definition.
    #[default]
    None,
    /// Mistakes that do not concern calls are repaired.
    Repaired,
    /// Definitions that the Messages API refuses are errors, too.
    Usable,
}

impl Default for SchemaSettings {
    fn default() -> Self {
        Self {
            formats: FormatPolicy::default(),
            has_corrections: true,
            has_marks: false,
            source: SourceChecks::None,
        }
    }
}

/// A tool of a nested registry.
#[derive(Clone, Debug)]
pub(crate) struct NestedTool {
    /// Index of the registry.
    pub(crate) registry: usize,
    /// Name of the tool in that registry.
    pub(crate) name: ToolName,
}

impl RegisteredTool {
    /// Returns the definition that the model sees.
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// Returns the name in the source of a tool from [`register_source`](crate::ToolRegistry::register_source), and in
    /// the innermost registry for other tools: without changed characters, prefixes and suffixes.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::json};
    ///
    /// let listed = [ToolDefinition::new("files.read", "Read.", json!({ "type": "object" }))];
    /// let mut files = ToolRegistry::new();
    /// files.register_source(listed, async |name, _, _| name)?;
    /// let mut registry = ToolRegistry::new();
    /// registry.nest("local", files)?;
    /// assert_eq!(registry.get_tool("local__files_read").unwrap().source_name(), "files.read");
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn source_name(&self) -> &str {
        self.source_name.as_deref().unwrap_or(self.name.as_str())
    }

    /// Returns the policy of the tool; `None` if the policy of the registry applies.
    pub fn policy(&self) -> Option<Policy> {
        self.policy
    }

    /// Returns the timeout from the tool's attribute, or from [`set_timeout`](crate::ToolRegistry::set_timeout).
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns whether a parameter of the tool is a [`SessionState`](crate::SessionState). A host that stores sessions runs the
    /// calls of such tools in order.
    pub fn uses_session_state(&self) -> bool {
        self.uses_session_state
    }

    /// Returns the error of a result's structured value, for the log; `None` without a structured value, or if the value
    /// matches the schema.
    pub(crate) fn structured_value_error(&self, value: Option<&Value>) -> Option<String> {
        self.output_schema.as_ref()?.error(value?)
    }

    /// Logs a structured value that does not match the schema. Returns whether there is an error.
    #[inline(never)]
    pub(crate) fn log_wrong_structured_value(&self, value: &Value) -> bool {
        let error = self.structured_value_error(Some(value));
        if let Some(error) = &error {
            tracing::error!(
                tool = self.qualified_name.as_str(),
                error,
                "the structured value of a result does not match the tool's output schema"
            );
        }
        error.is_some()
    }

    /// Checks a declared tool and its states.
    pub(crate) fn declared(
        tool: DeclaredTool,
        states: &States,
        include_defaults: bool,
        formats: FormatPolicy,
    ) -> Result<Self, RegistryError> {
        let DeclaredTool {
            declaration,
            handler,
            function,
        } = tool;
        let name = ToolName::parse(declaration.name)?;
        // The macro checks only literals.
        if declaration.description.is_empty() {
            return Err(RegistryError::MissingDescription {
                tool: name.to_string(),
            });
        }
        check_states(&name, &declaration, states)?;
        let MarkedDefinition {
            mut definition,
            unreachable,
        } = declaration.marked_definition();
        check_types(&name, &definition.input_schema, &unreachable)?;
        let (mut compiled, unenforced) = compile(&name, &definition.input_schema, formats)?;
        log_warnings(&name, &unenforced);
        compiled.set_parameters(declaration.params.iter().map(|param| param.name));
        compiled.set_destructive(definition.hints.destructive == Some(true));
        check_params(&name, &declaration, &compiled)?;
        check_examples(&name, &definition, &compiled)?;
        let output_schema = OutputSchema::compile(&name, definition.output_schema.as_ref(), formats)?;
        for schema in [
            Some(&mut definition.input_schema),
            definition.output_schema.as_mut(),
        ]
        .into_iter()
        .flatten()
        {
            marks::strip(schema);
            if !include_defaults {
                marks::strip_defaults(schema);
            }
        }
        if let Some(warning) = size::warning(&definition, || declaration.schema_of_types()) {
            tracing::warn!(tool = %name, path = "", "{warning}");
        }
        for path in schema::undescribed_properties(&definition.input_schema) {
            tracing::warn!(tool = %name, path, "this property has no description, the model has to guess");
        }
        let uses_session_state = declaration.params.iter().any(|param| param.is_session_state);
        let (timeout, format_errors) = (declaration.timeout, declaration.format_errors);
        let defaults = declaration.params.into_iter().filter_map(|param| {
            let default = param.default?.ok()?;
            Some((param.name.to_owned(), default))
        });
        Ok(Self {
            qualified_name: name.clone(),
            name,
            definition,
            compiled,
            policy: None,
            timeout,
            format_errors,
            defaults: defaults.collect(),
            uses_session_state,
            output_schema,
            handler,
            function: Some(function),
            source_name: None,
            nested: None,
        })
    }

    /// Checks a dynamic tool. A valid schema is kept, and keywords that APIs require are added.
    pub(crate) fn dynamic(
        mut definition: ToolDefinition,
        settings: SchemaSettings,
        handler: impl FnOnce(PropertyKeys) -> Handler,
    ) -> Result<Self, RegistryError> {
        let SchemaSettings {
            formats,
            has_corrections,
            has_marks,
            source,
        } = settings;
        let name = ToolName::parse(&definition.name)?;
        let (mut warnings, mut keys) = (Vec::new(), PropertyKeys::default());
        if has_corrections {
            warnings.extend(dialects::correct_arguments(&mut definition.input_schema));
            if source != SourceChecks::None {
                dialects::correct_source(&mut definition.input_schema, &mut warnings);
            }
            if let Some(output_schema) = &mut definition.output_schema {
                for warning in dialects::correct(output_schema) {
                    let path = &warning.path;
                    tracing::warn!(tool = name.as_str(), path, "output schema: {warning}");
                }
            }
        }
        let input_schema = enforced_schema(&definition.input_schema, has_marks);
        let mut compiled = match compile(&name, &input_schema, formats) {
            Ok((compiled, unenforced)) => {
                log_warnings(&name, &unenforced);
                compiled
            }
            Err(error) => {
                drop(input_schema);
                // The schema may be too deep for a recursive drop.
                depth::drop_iteratively(std::mem::take(&mut definition.input_schema));
                return Err(error);
            }
        };
        if has_corrections && source != SourceChecks::None {
            // After the first compilation, whose errors have the paths of the original schema.
            keys = PropertyKeys::rename(&mut definition.input_schema, &mut warnings);
        }
        let input_schema = enforced_schema(&definition.input_schema, has_marks);
        if !keys.is_empty() {
            (compiled, _) = compile(&name, &input_schema, formats)?;
            compiled.set_original_keys(keys.original_keys());
            for example in &mut definition.input_examples {
                keys.rename_example(example);
            }
        }
        compiled.set_destructive(definition.hints.destructive == Some(true));
        check_examples(&name, &definition, &compiled)?;
        let output_schema = definition.output_schema.as_ref();
        let output_schema = output_schema.map(|schema| enforced_schema(schema, has_marks));
        let output_schema = match OutputSchema::compile(&name, output_schema.as_deref(), formats) {
            // The schema only describes results for programs.
            Err(error) if source != SourceChecks::None && has_corrections => {
                tracing::warn!(
                    tool = name.as_str(),
                    path = "",
                    "the output schema was left out: {error}"
                );
                depth::drop_iteratively(definition.output_schema.take().unwrap_or_default());
                None
            }
            compiled => compiled?,
        };
        warnings.extend(compiled.unsatisfiable(&input_schema));
        warnings.extend(compiled.undeclared(&input_schema));
        if has_corrections {
            warnings.extend(dialects::complete(&mut definition.input_schema));
        }
        let refusals = Refusals::new(&definition.input_schema);
        if source == SourceChecks::Usable
            && let Some(SchemaWarning { path, reason }) = dialects::unknown_dialect(&definition.input_schema)
                .into_iter()
                .chain(refusals.messages_api.iter().cloned())
                .next()
        {
            let tool = name.to_string();
            return Err(RegistryError::InvalidSchema { tool, path, reason });
        }
        warnings.extend(refusals.messages_api);
        warnings.extend(refusals.openai);
        log_warnings(&name, &warnings);
        if let Some(warning) = size::warning(&definition, || definition.input_schema.clone()) {
            tracing::warn!(tool = %name, path = "", "{warning}");
        }
        Ok(Self {
            qualified_name: name.clone(),
            name,
            definition,
            compiled,
            policy: None,
            timeout: None,
            format_errors: None,
            defaults: Map::new(),
            uses_session_state: false,
            output_schema,
            handler: handler(keys),
            function: None,
            source_name: None,
            nested: None,
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

/// Checks that the registry has every state that a parameter needs.
fn check_states(tool: &ToolName, declaration: &Declaration, states: &States) -> Result<(), RegistryError> {
    for param in &declaration.params {
        if let Some(state) = (param.missing_state)(states) {
            return Err(RegistryError::MissingState {
                tool: tool.to_string(),
                parameter: param.name,
                state,
                similar: states.similar(state),
            });
        }
    }
    Ok(())
}

/// Checks the schema of Rust types for parts that no call can satisfy.
fn check_types(tool: &ToolName, schema: &Value, unreachable: &[Unreachable]) -> Result<(), RegistryError> {
    let invalid = |path, reason| RegistryError::InvalidSchema {
        tool: tool.to_string(),
        path,
        reason,
    };
    if let Some((path, reason)) = schema::generate::patches::find_misplaced(schema) {
        return Err(invalid(path, reason.to_owned()));
    }
    if let Some(variant) = unreachable.first() {
        return Err(invalid(variant.pointer.clone(), variant.reason()));
    }
    match schema::generate::contradictions::find(schema) {
        Some(Contradiction { path, reason }) => Err(invalid(path, reason)),
        None => Ok(()),
    }
}

/// Returns the enforced part of a dynamic tool's schema. A keyword with the name of a private mark belongs to the
/// author: the model sees it, and it is not enforced.
fn enforced_schema(schema: &Value, has_marks: bool) -> Cow<'_, Value> {
    if has_marks {
        Cow::Borrowed(schema)
    } else {
        marks::without(schema)
    }
}

/// Compiles the schema of a tool, and returns warnings about unenforced keywords.
fn compile(
    tool: &ToolName,
    input_schema: &Value,
    formats: FormatPolicy,
) -> Result<(CompiledSchema, Vec<SchemaWarning>), RegistryError> {
    let compiled = CompiledSchema::compile_with_formats(input_schema, formats);
    compiled.map_err(|error| RegistryError::InvalidSchema {
        tool: tool.to_string(),
        path: error.path,
        reason: error.reason,
    })
}

fn log_warnings(tool: &ToolName, warnings: &[SchemaWarning]) {
    for warning in warnings {
        tracing::warn!(tool = tool.as_str(), path = warning.path, "{warning}");
    }
}

/// Checks the attributes of the parameters. The macro checks only literals.
fn check_params(
    tool: &ToolName,
    declaration: &Declaration,
    compiled: &CompiledSchema,
) -> Result<(), RegistryError> {
    for param in &declaration.params {
        check_param(param, compiled).map_err(|reason| RegistryError::InvalidParameter {
            tool: tool.to_string(),
            parameter: param.name.to_owned(),
            reason,
        })?;
    }
    Ok(())
}

fn check_param(param: &ParamSpec, compiled: &CompiledSchema) -> Result<(), String> {
    if let Some(error) = &param.error {
        return Err(error.clone());
    }
    // An unsupported pattern is a warning in the schema of a dynamic tool, and an error in an attribute.
    let pattern = param.keywords.get("pattern").and_then(Value::as_str);
    if let Some(Err(error)) = pattern.map(Pattern::new) {
        return Err(format!(
            "its `pattern` cannot be read as a regular expression: {error}"
        ));
    }
    if let Some(Err(reason)) = &param.default {
        return Err(format!("its default cannot be written as JSON: {reason}"));
    }
    let default = param.default.as_ref().and_then(|default| default.as_ref().ok());
    let example = param
        .keywords
        .get("examples")
        .and_then(|examples| examples.get(0));
    // A missing `Option` is serialized as `null`.
    for (keyword, value) in [("default", default), ("example", example)] {
        if let Some(value) = value.filter(|value| !value.is_null())
            && let Some(error) = argument_errors(param.name, value, compiled).first()
        {
            return Err(format!("its {keyword} is wrong: {error}"));
        }
    }
    Ok(())
}

/// Returns the errors of an argument.
fn argument_errors(name: &str, value: &Value, compiled: &CompiledSchema) -> Vec<Issue> {
    let pointer = schema::keywords::pointer::join("", name);
    let mut errors = errors(compiled, Map::from_iter([(name.to_owned(), value.clone())]));
    errors.retain(|error| {
        error
            .path
            .strip_prefix(&pointer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    errors
}

/// Checks that the examples are valid, since the API rejects invalid examples.
fn check_examples(
    tool: &ToolName,
    definition: &ToolDefinition,
    compiled: &CompiledSchema,
) -> Result<(), RegistryError> {
    for (index, example) in definition.input_examples.iter().enumerate() {
        let invalid_example = |reason| RegistryError::InvalidExample {
            tool: tool.to_string(),
            index,
            reason,
        };
        let Value::Object(example) = example else {
            return Err(invalid_example(
                "an example is an object with the tool's arguments".to_owned(),
            ));
        };
        if let Some(error) = errors(compiled, example.clone()).first() {
            return Err(invalid_example(error.to_string()));
        }
    }
    Ok(())
}

/// Returns the errors of arguments under [`Policy::Strict`].
fn errors(compiled: &CompiledSchema, arguments: Map<String, Value>) -> Vec<Issue> {
    let mut input = RawArguments::from(Value::Object(arguments));
    let reader = ArgumentReader::new(compiled, Policy::Strict);
    let mut issues = arguments::coerce(reader, &mut input).issues;
    issues.retain(Issue::is_error);
    issues
}
