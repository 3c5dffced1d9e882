//! Settings of a registry: policy, schemas, concurrency.

use crate::arguments::policy::Policy;
use crate::registry::tool_registry::{Concurrency, ToolRegistry};
#[cfg(feature = "format-assertion")]
use crate::schema::FormatPolicy;

/// Settings of a registry.
impl ToolRegistry {
    /// Sets the default policy, which applies if neither the call nor its tool has a policy.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.tools_mut().policy = policy;
        self
    }

    /// Sets whether a note with the warnings of a call is appended to its result, for the model. Off by default.
    ///
    /// Layers see the result without this [note](crate::ToolOutcome::notes). For example, an offload layer stores only the
    /// tool's output in a file and replaces it with a reference to the file; the note is appended after the reference.
    #[must_use]
    pub fn with_warnings_in_results(mut self, enabled: bool) -> Self {
        self.tools_mut().warnings_in_results = enabled;
        self
    }

    /// Sets whether the schemas include the defaults of parameters. Off by default. Applies to tools that are registered afterwards.
    #[must_use]
    pub fn with_defaults_in_schemas(mut self, enabled: bool) -> Self {
        self.tools_mut().include_defaults = enabled;
        self
    }

    /// Sets whether `format` is enforced. Off by default, since a format is an annotation in JSON Schema. Applies to tools
    /// that are registered afterwards. Needs the feature `format-assertion`.
    ///
    /// The enforced formats are `date`, `time` and `date-time` (RFC 3339), `uuid` (RFC 9562), `ipv4`, `ipv6`, `email`
    /// (RFC 5321, in ASCII) and `uri` (RFC 3986, with a scheme). A string that violates
    /// its format is rejected with `constraint_violated`. Other formats are not enforced.
    ///
    /// ```
    /// use tool_runtime::{Policy, ToolCall, ToolDefinition, ToolRegistry, serde_json::{Value, json}};
    ///
    /// let schema = json!({ "type": "object", "properties": { "day": { "type": "string", "format": "date" } } });
    /// let definition = ToolDefinition::new("plan", "Plan a day.", schema);
    /// let mut registry = ToolRegistry::new().with_formats_enforced(true);
    /// registry.register_dynamic(definition, async |arguments: Value, _| arguments).unwrap();
    ///
    /// let request = registry.prepare(ToolCall::new("toolu_01", "plan", json!({ "day": "2025-02-30" })));
    /// assert_eq!(
    ///     request.errors[0].to_string(),
    ///     r#"constraint_violated at /day: invalid value "2025-02-30"; expected a valid calendar date, for example 2025-01-31, or leave it out"#,
    /// );
    /// ```
    #[cfg(feature = "format-assertion")]
    #[must_use]
    pub fn with_formats_enforced(mut self, enabled: bool) -> Self {
        self.tools_mut().schemas.formats = if enabled {
            FormatPolicy::Enforced
        } else {
            FormatPolicy::Shown
        };
        self
    }

    /// Sets whether schemas of [dynamic tools](Self::register_dynamic) in other dialects are corrected. On by default.
    /// Applies to tools that are registered afterwards.
    ///
    /// Examples are `"type": "float"`, `"properties": []`, and `"required": true` in a property; see [all
    /// corrections](crate::coercion#schemas-in-other-dialects). Each correction is logged as a warning, and the
    /// definition has the corrected schema. Keywords that APIs require are added to valid schemas,
    /// too. Without corrections, nothing is added, and an invalid schema is an error.
    ///
    /// ```
    /// use tool_runtime::{ToolDefinition, ToolRegistry, serde_json::{Value, json}};
    ///
    /// let schema = json!({ "type": "object", "properties": { "price": { "type": "float", "required": true } } });
    /// let definition = ToolDefinition::new("pay", "Pay a price.", schema);
    /// let mut registry = ToolRegistry::new();
    /// registry.register_dynamic(definition.clone(), async |arguments: Value, _| arguments).unwrap();
    /// assert_eq!(
    ///     registry.tool_definitions()[0].input_schema,
    ///     json!({ "type": "object", "properties": { "price": { "type": "number" } }, "required": ["price"] }),
    /// );
    ///
    /// let mut registry = ToolRegistry::new().with_schema_corrections(false);
    /// assert!(registry.register_dynamic(definition, async |arguments: Value, _| arguments).is_err());
    /// ```
    #[must_use]
    pub fn with_schema_corrections(mut self, enabled: bool) -> Self {
        self.tools_mut().schemas.has_corrections = enabled;
        self
    }

    /// Sets the maximum number of concurrent calls in one [`execute_all`](Self::execute_all): 8 by default, and at least
    /// 1.
    #[must_use]
    pub fn with_max_concurrency(mut self, calls: usize) -> Self {
        self.concurrency = Concurrency(calls.max(1));
        self
    }

    /// Disables the fast path for conforming arguments, for tests: calls become slower, and outcomes must not differ.
    #[doc(hidden)] // for tests, which compare calls with and without the fast path
    #[must_use]
    pub fn without_fast_path(mut self) -> Self {
        self.tools_mut().without_fast_path = true;
        self
    }

    /// Accepts arguments in an envelope that names another tool than the called tool.
    #[doc(hidden)] // for a schema under a placeholder name, which is not the name in envelopes
    #[must_use]
    pub fn without_name_check(mut self) -> Self {
        self.tools_mut().accepts_any_name = true;
        self
    }

    /// Applies marks (private keywords in the schemas of Rust types) in schemas of dynamic tools, too.
    #[doc(hidden)] // for tests, which register the schema of a type as a dynamic tool
    #[must_use]
    pub fn with_marks_in_schemas(mut self) -> Self {
        self.tools_mut().schemas.has_marks = true;
        self
    }
}
