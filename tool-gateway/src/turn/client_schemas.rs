//! [`ClientSchemas`]: compiled schemas of the clients' tools.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tool_runtime::call::ToolCallRequest;
use tool_runtime::{Policy, ToolCall, ToolDefinition, ToolRegistry};

/// Compiled schemas of the clients' tools. Each schema is compiled at its first call; the schemas of the latest calls are kept.
#[derive(Debug, Default)]
pub(crate) struct ClientSchemas {
    kept: Mutex<KeptSchemas>,
}

#[derive(Debug, Default)]
struct KeptSchemas {
    by_digest: HashMap<blake3::Hash, KeptSchema>,
    /// Number of look-ups.
    uses: u64,
}

#[derive(Debug)]
struct KeptSchema {
    compiled: Arc<ClientSchema>,
    last_use: u64,
}

/// Maximum number of kept schemas.
const MAX_KEPT: usize = 1024;

impl ClientSchemas {
    /// Returns the compiled form of a schema, which is JSON. `tool` is the name for the log.
    pub(crate) fn compiled(&self, tool: &str, schema: &str) -> Arc<ClientSchema> {
        let digest = blake3::hash(schema.as_bytes());
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.uses += 1;
            let uses = kept.uses;
            if let Some(schema) = kept.by_digest.get_mut(&digest) {
                schema.last_use = uses;
                return Arc::clone(&schema.compiled);
            }
        }
        // Compiled without the lock, since a large schema takes milliseconds.
        let compiled = Arc::new(ClientSchema::new(tool, schema));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.by_digest.len() >= MAX_KEPT {
            let oldest = kept.by_digest.iter().min_by_key(|(_, schema)| schema.last_use);
            if let Some(digest) = oldest.map(|(digest, _)| *digest) {
                kept.by_digest.remove(&digest);
            }
        }
        let last_use = kept.uses;
        let schema = KeptSchema {
            compiled: Arc::clone(&compiled),
            last_use,
        };
        kept.by_digest.insert(digest, schema);
        compiled
    }
}

/// A compiled schema of a client's tool.
#[derive(Debug)]
pub(crate) struct ClientSchema {
    /// Registry with one tool; `None` if the schema does not compile.
    registry: Option<ToolRegistry>,
}

/// Name of the tool in the registry. A client's name may be no name of the API.
const TOOL: &str = "tool";

impl ClientSchema {
    fn new(tool: &str, schema: &str) -> Self {
        let registry = Self::registry(schema);
        if let Err(error) = &registry {
            tracing::warn!(
                tool,
                error,
                "the schema of a client's tool is invalid; its calls are not coerced"
            );
        }
        Self {
            registry: registry.ok(),
        }
    }

    fn registry(schema: &str) -> Result<ToolRegistry, String> {
        let schema: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
        let mut registry = ToolRegistry::new().without_name_check();
        let definition = ToolDefinition::new(TOOL, "", schema);
        registry
            .register_dynamic(definition, async |arguments: Value, _| arguments)
            .map_err(|error| error.to_string())?;
        Ok(registry)
    }

    /// Reads arguments, which are JSON text; `None` if the schema does not compile.
    pub(crate) fn read(&self, arguments: &str, policy: Policy) -> Option<ToolCallRequest> {
        let call = ToolCall::new("", TOOL, arguments).with_policy(policy);
        self.registry.as_ref().map(|registry| registry.prepare(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_schemas_of_the_latest_calls() {
        let schemas = ClientSchemas::default();
        let schema = |number: usize| format!(r#"{{"type":"object","description":"{number}"}}"#);
        let first = schemas.compiled("a", &schema(0));
        for number in 1..MAX_KEPT {
            schemas.compiled("a", &schema(number));
        }
        assert!(Arc::ptr_eq(&first, &schemas.compiled("b", &schema(0))));
        let second = schemas.compiled("a", &schema(1));
        schemas.compiled("a", &schema(MAX_KEPT));
        assert!(Arc::ptr_eq(&first, &schemas.compiled("a", &schema(0))));
        assert!(Arc::ptr_eq(&second, &schemas.compiled("a", &schema(1))));
        assert_eq!(schemas.kept.lock().unwrap().by_digest.len(), MAX_KEPT);
    }

    #[test]
    fn an_invalid_schema_reads_no_arguments() {
        for schema in ["{", r#"{"type":"object","properties":5}"#] {
            let schema = ClientSchemas::default().compiled("a", schema);
            assert!(schema.read("{}", Policy::Lossless).is_none());
        }
    }
}
