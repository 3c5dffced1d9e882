//! [`OutputSchema`]: checks the structured values of a tool's results.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::arguments::policy::Policy;
use crate::arguments::{self, ArgumentReader};
use crate::schema::keywords::subschemas;
use crate::schema::{CompiledSchema, FormatPolicy};
use crate::tool::registry_error::RegistryError;
use crate::wire::definition::ToolName;
use crate::wire::depth;
use crate::wire::issue::Issue;
use crate::wire::raw_arguments::RawArguments;

/// Compiled [`output_schema`](crate::ToolDefinition::output_schema) of a tool. The schema is wrapped in an object with the single property
/// `result`: [`CompiledSchema`] requires an object, and a result may be any JSON value.
#[derive(Clone, Debug)]
pub(crate) struct OutputSchema(Arc<CompiledSchema>);

/// Name of the property.
const RESULT: &str = "result";

impl OutputSchema {
    /// Compiles the schema of a tool's results; `None` if the tool has no such schema.
    pub(crate) fn compile(
        tool: &ToolName,
        schema: Option<&Value>,
        formats: FormatPolicy,
    ) -> Result<Option<Self>, RegistryError> {
        let Some(schema) = schema else {
            return Ok(None);
        };
        let invalid = |path: &str, reason| RegistryError::InvalidOutputSchema {
            tool: tool.to_string(),
            path: path.to_owned(),
            reason,
        };
        if depth::is_too_deep(schema) {
            // Compiling rejects this schema. `clone` is recursive, and could overflow the stack.
            let refused = CompiledSchema::compile_with_formats(schema, formats).err();
            return refused.map_or(Ok(None), |error| Err(invalid(&error.path, error.reason)));
        }
        let mut schema = schema.clone();
        rebase_references(&mut schema);
        let object = json!({ "type": "object", "properties": { RESULT: schema }, "required": [RESULT] });
        let compiled = CompiledSchema::compile_with_formats(&object, formats);
        let (mut compiled, _) = compiled.map_err(|error| {
            let path = error
                .path
                .strip_prefix("/properties/result")
                .unwrap_or(&error.path);
            invalid(path, error.reason)
        })?;
        // Coercion reads an empty string for a `format` as a missing argument; in a result, the empty string is a value.
        compiled.ignore_formats();
        Ok(Some(Self(Arc::new(compiled))))
    }

    /// Returns the error of a value, if it is invalid.
    pub(crate) fn error(&self, value: &Value) -> Option<String> {
        let object = Map::from_iter([(RESULT.to_owned(), value.clone())]);
        let mut input = RawArguments::from(Value::Object(object));
        let reader = ArgumentReader::new(&self.0, Policy::Strict);
        let mut errors = arguments::coerce(reader, &mut input).issues;
        errors.retain(Issue::is_error);
        for error in &mut errors {
            if let Some(path) = error.path.strip_prefix("/result") {
                error.path = path.to_owned();
            }
        }
        let errors: Vec<String> = errors.iter().map(Issue::to_string).collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }
}

/// Changes references to the root of a schema into references to the property of the enclosing object.
fn rebase_references(schema: &mut Value) {
    subschemas::visit_mut(schema, |keywords| {
        if let Some(Value::String(reference)) = keywords.get_mut("$ref")
            && let Some(pointer) = reference.strip_prefix('#')
            && (pointer.is_empty() || pointer.starts_with('/'))
        {
            *reference = format!("#/properties/{RESULT}{pointer}");
        }
    });
}
