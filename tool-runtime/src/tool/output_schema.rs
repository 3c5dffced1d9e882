//! [`OutputSchema`]: checks the structured values of a tool's results.

use std::sync::Arc;

use serde_json::Value;

use crate::arguments::policy::Policy;
use crate::arguments::{self, ArgumentReader};
use crate::schema::{CompiledSchema, FormatPolicy};
use crate::tool::registry_error::RegistryError;
use crate::wire::definition::ToolDefinition;
use crate::wire::issue::Issue;
use crate::wire::raw_arguments::RawArguments;

/// The compiled [`output_schema`](ToolDefinition::output_schema) of a tool.
#[derive(Clone, Debug)]
pub(crate) struct OutputSchema(Arc<CompiledSchema>);

impl OutputSchema {
    /// `None` if the definition has none.
    pub(crate) fn compile(
        definition: &ToolDefinition,
        formats: FormatPolicy,
    ) -> Result<Option<Self>, RegistryError> {
        let Some(schema) = &definition.output_schema else {
            return Ok(None);
        };
        let invalid = |path, reason| RegistryError::InvalidOutputSchema {
            tool: definition.name.clone(),
            path,
            reason,
        };
        if schema.get("type").is_none_or(|kind| kind != "object") {
            let reason = "MCP takes the schema of an object only; put the value into a field of a struct";
            return Err(invalid(String::new(), reason.to_owned()));
        }
        let compiled = CompiledSchema::compile_with_formats(schema, formats);
        let (compiled, _) = compiled.map_err(|error| invalid(error.path, error.reason))?;
        Ok(Some(Self(Arc::new(compiled))))
    }

    /// What is wrong with a value.
    pub(crate) fn error(&self, value: &Value) -> Option<String> {
        let mut input = RawArguments::from(value.clone());
        let reader = ArgumentReader::new(&self.0, Policy::Strict);
        let issues = arguments::coerce(reader, &mut input).issues;
        let errors: Vec<String> = issues
            .iter()
            .filter(|issue| issue.is_error())
            .map(Issue::to_string)
            .collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }
}
