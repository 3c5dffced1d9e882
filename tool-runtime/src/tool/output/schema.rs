//! [`OutputSchema`]: checks the structured values of a tool's results.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::arguments::policy::Policy;
use crate::arguments::{self, ArgumentReader};
use crate::schema::{CompiledSchema, FormatPolicy};
use crate::tool::registry_error::RegistryError;
use crate::wire::definition::ToolName;
use crate::wire::depth;
use crate::wire::issue::Issue;
use crate::wire::raw_arguments::RawArguments;

/// Compiled [`output_schema`](crate::ToolDefinition::output_schema) of a tool. It is the only property of an object schema,
/// since compiled schemas are for objects, and a result may be any value.
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
        // The schema is too deep to be copied, and is rejected in any case.
        if depth::is_too_deep(schema) {
            let refused = CompiledSchema::compile_with_formats(schema, formats).err();
            return refused.map_or(Ok(None), |error| Err(invalid(&error.path, error.reason)));
        }
        let mut schema = schema.clone();
        lead_into_property(&mut schema);
        let object = json!({ "type": "object", "properties": { RESULT: schema }, "required": [RESULT] });
        let compiled = CompiledSchema::compile_with_formats(&object, formats);
        let (mut compiled, _) = compiled.map_err(|error| {
            let path = error
                .path
                .strip_prefix("/properties/result")
                .unwrap_or(&error.path);
            invalid(path, error.reason)
        })?;
        // A tool may return an empty text for a format. From a model, the empty text would be a missing argument.
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
fn lead_into_property(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (name, value) in keywords {
                match value {
                    Value::String(reference) if name == "$ref" => {
                        if let Some(pointer) = reference.strip_prefix('#')
                            && (pointer.is_empty() || pointer.starts_with('/'))
                        {
                            *reference = format!("#/properties/{RESULT}{pointer}");
                        }
                    }
                    // Data may have members with the name of the keyword, and are not changed.
                    _ if matches!(name.as_str(), "const" | "enum" | "default" | "examples") => {}
                    value => lead_into_property(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(lead_into_property),
        _ => {}
    }
}
