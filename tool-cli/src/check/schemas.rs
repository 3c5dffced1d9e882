//! Schemas of checked calls. A bounded number of compiled schemas is kept, and warnings are reported once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::rc::Rc;

use serde_json::Value;
use tool_runtime::{RegistryError, ToolDefinition, ToolRegistry};

use crate::check::captured_warnings::capture_warnings;
use crate::jsonl::message_of;

/// Tool name under which every schema is registered. The name is never shown.
pub(crate) const NAME: &str = "call";

/// Result of a compilation: a registry whose only tool has the schema, or an error message if the schema is invalid.
pub(crate) type Compiled = Rc<Result<ToolRegistry, String>>;

/// Compiled schemas by their text.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    compiled: HashMap<Rc<str>, Compiled>,
    /// Texts in the order of their compilation. The oldest schema is evicted first.
    order: VecDeque<Rc<str>>,
    /// Hashes of the schemas whose warnings were reported. They are kept after the schema is evicted, so that no warning is
    /// reported twice.
    reported: HashSet<u64>,
    hasher: RandomState,
}

impl Schemas {
    /// Returns the compiled schema, and its warnings if they were not reported before.
    pub(crate) fn compiled(&mut self, text: &str) -> (Compiled, Vec<String>) {
        if let Some(compiled) = self.compiled.get(text) {
            return (Rc::clone(compiled), Vec::new());
        }
        if self.order.len() >= MAX_SCHEMAS
            && let Some(oldest) = self.order.pop_front()
        {
            self.compiled.remove(&oldest);
        }
        let (compiled, mut warnings) = capture_warnings(|| compile(text));
        if !warnings.is_empty() && !self.reported.insert(self.hasher.hash_one(text)) {
            warnings.clear();
        }
        let (text, compiled) = (Rc::<str>::from(text), Rc::new(compiled));
        self.order.push_back(Rc::clone(&text));
        self.compiled.insert(text, Rc::clone(&compiled));
        (compiled, warnings)
    }
}

fn compile(text: &str) -> Result<ToolRegistry, String> {
    let schema: Value = serde_json::from_str(text)
        .map_err(|error| format!("invalid `schema`: {}; expected a JSON Schema", message_of(&error)))?;
    let mut registry = ToolRegistry::new().without_name_check();
    let registered = registry.register_dynamic(ToolDefinition::new(NAME, "", schema), |_, _| async {});
    match registered {
        Ok(_) => Ok(registry),
        Err(RegistryError::InvalidSchema { path, reason, .. }) if path.is_empty() => {
            Err(format!("invalid `schema`: {reason}"))
        }
        Err(RegistryError::InvalidSchema { path, reason, .. }) => {
            Err(format!("invalid `schema` at `{path}`: {reason}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Maximum number of compiled schemas.
const MAX_SCHEMAS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_warnings_once_even_after_eviction() {
        let mut schemas = Schemas::default();
        let odd = r#"{"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=x)"}}}"#;
        let (compiled, warnings) = schemas.compiled(odd);
        assert!(compiled.is_ok() && warnings.len() == 1, "{warnings:?}");
        for place in 0..MAX_SCHEMAS {
            let other = format!(r#"{{"type": "object", "title": "{place}"}}"#);
            assert!(schemas.compiled(&other).0.is_ok());
        }
        assert!(!schemas.compiled.contains_key(odd));
        assert_eq!(schemas.compiled(odd).1, [""; 0]);
        assert_eq!(
            (schemas.compiled.len(), schemas.order.len()),
            (MAX_SCHEMAS, MAX_SCHEMAS)
        );
    }
}
