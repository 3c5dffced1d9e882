//! Tools of a server that can be offered to a model, and the others with reasons.

#[cfg(feature = "http")]
use std::collections::HashMap;
use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use serde_json::Value;
use tool_runtime::definition::Hints;
use tool_runtime::format::mcp;
use tool_runtime::{Context, ToolDefinition, ToolRegistry};
use tracing::subscriber::NoSubscriber;

#[cfg(feature = "http")]
use crate::adapt::parameter_headers::{ParameterHeader, parameter_headers};
use crate::adapt::text::{clean, clean_schema};

/// Maximum number of bytes of a definition.
const DEFINITION_BYTES: usize = 64 << 10;
/// Maximum number of bytes of all definitions that are not left out.
const LIST_BYTES: usize = 8 << 20;

/// Tool of a server that is not offered to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Name of the tool, or an empty text if the tool has no name.
    pub tool: String,
    /// Kind of the reason.
    pub reason: LeftOutReason,
    /// The reason in words, for people.
    pub detail: String,
}

/// Displays `git_log: reason`.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tool, self.detail)
    }
}

/// Reason why a tool is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// No name, or no `inputSchema` that is an object.
    Malformed,
    /// The definition cannot be registered; most often, its schema is invalid.
    Invalid,
    /// An earlier tool of the list has this name.
    Duplicate,
    /// The definition has more than 64 KiB.
    TooLarge,
    /// The list has too many tools, or more than 8 MiB.
    TooMany,
}

impl LeftOutReason {
    /// Returns the reason as a label of a metric.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Invalid => "invalid",
            Self::Duplicate => "duplicate",
            Self::TooLarge => "too_large",
            Self::TooMany => "too_many",
        }
    }
}

/// Tools of a server, from its pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) left_out: Vec<LeftOut>,
    /// Repairs of definitions, for the log.
    pub(crate) warnings: Vec<String>,
    /// Time for which the list is fresh, by the server's word.
    pub(crate) ttl: Duration,
    /// Headers of calls, by the names of the tools that request headers.
    #[cfg(feature = "http")]
    pub(crate) headers: HashMap<String, Vec<ParameterHeader>>,
    names: HashSet<String>,
    bytes: usize,
}

/// Settings of a listing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListingRules {
    pub(crate) max_tools: usize,
    pub(crate) trusts_hints: bool,
    /// Whether `x-mcp-header` of schemas is read, which has no effect in other transports.
    #[cfg(feature = "http")]
    pub(crate) reads_headers: bool,
}

impl Listing {
    /// Adds a tool of the list.
    pub(crate) fn add(&mut self, tool: &Value, rules: ListingRules) {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if let Err((reason, detail)) = self.accept(name, tool, rules) {
            self.left_out.push(LeftOut {
                tool: name.to_owned(),
                reason,
                detail,
            });
        }
    }

    fn accept(
        &mut self,
        name: &str,
        tool: &Value,
        rules: ListingRules,
    ) -> Result<(), (LeftOutReason, String)> {
        let mut definition =
            mcp::definition(tool).map_err(|error| (LeftOutReason::Malformed, error.to_string()))?;
        if !definition.input_schema.is_object() {
            return Err((
                LeftOutReason::Malformed,
                "missing `inputSchema`; expected an object".to_owned(),
            ));
        }
        if self.names.contains(name) {
            return Err((LeftOutReason::Duplicate, "duplicate name".to_owned()));
        }
        let bytes = tool.to_string().len();
        if bytes > DEFINITION_BYTES {
            let detail = format!("expected at most {DEFINITION_BYTES} bytes, got {bytes}");
            return Err((LeftOutReason::TooLarge, detail));
        }
        if self.tools.len() >= rules.max_tools {
            return Err((
                LeftOutReason::TooMany,
                format!("expected at most {} tools", rules.max_tools),
            ));
        }
        if self.bytes + bytes > LIST_BYTES {
            return Err((
                LeftOutReason::TooMany,
                format!("expected at most {LIST_BYTES} bytes of tools"),
            ));
        }
        if clean_definition(&mut definition) {
            self.warnings
                .push(format!("{name}: removed invisible characters of the description"));
        }
        if !rules.trusts_hints {
            distrust(&mut definition, tool);
        }
        check(&definition).map_err(|detail| (LeftOutReason::Invalid, detail))?;
        #[cfg(feature = "http")]
        if rules.reads_headers {
            let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
            let headers = parameter_headers(schema).map_err(|detail| (LeftOutReason::Invalid, detail))?;
            if !headers.is_empty() {
                self.headers.insert(name.to_owned(), headers);
            }
        }
        self.bytes += bytes;
        self.names.insert(name.to_owned());
        self.tools.push(definition);
        Ok(())
    }
}

/// Removes invisible characters. Returns whether there were any.
fn clean_definition(definition: &mut ToolDefinition) -> bool {
    let mut is_changed = clean(&mut definition.description) | clean_schema(&mut definition.input_schema);
    if let Some(title) = &mut definition.hints.title {
        is_changed |= clean(title);
    }
    for (name, value) in &mut definition.mcp {
        match value {
            Value::String(title) if name == "title" => is_changed |= clean(title),
            Value::Object(_) if name == "annotations" => is_changed |= clean_schema(value),
            _ => {}
        }
    }
    is_changed
}

/// Removes the hints, which are claims of the server: a claim must not make a call repeatable or allowed. MCP's form still has
/// them.
fn distrust(definition: &mut ToolDefinition, tool: &Value) {
    let title = definition.hints.title.take();
    definition.hints = Hints::default();
    definition.hints.title = title;
    if let Some(annotations @ Value::Object(_)) = tool.get("annotations") {
        let mut annotations = annotations.clone();
        clean_schema(&mut annotations);
        definition.mcp.insert("annotations".to_owned(), annotations);
    }
}

/// Returns the reason why a definition cannot be offered to a model.
fn check(definition: &ToolDefinition) -> Result<(), String> {
    let handler = async |_, _: Value, _: Context| "";
    // The reason is logged with the name of the server, and only if the list has changed.
    let left_out = tracing::subscriber::with_default(NoSubscriber::new(), || {
        ToolRegistry::new().register_usable([definition.clone()], handler)
    });
    left_out
        .first()
        .map_or(Ok(()), |left_out| Err(left_out.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULES: ListingRules = ListingRules {
        max_tools: 500,
        trusts_hints: false,
        #[cfg(feature = "http")]
        reads_headers: false,
    };

    fn listing(tools: &Value, rules: ListingRules) -> Listing {
        let mut listing = Listing::default();
        for tool in tools.as_array().unwrap() {
            listing.add(tool, rules);
        }
        listing
    }

    fn names(listing: &Listing) -> Vec<&str> {
        listing.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn leaves_out_unusable_tools_and_keeps_the_others() {
        let any = json!({ "type": "object" });
        let unusable = [
            (json!({"name": "a"}), LeftOutReason::Malformed),
            (
                json!({"name": "b", "inputSchema": null}),
                LeftOutReason::Malformed,
            ),
            (json!({"name": "c", "inputSchema": []}), LeftOutReason::Malformed),
            (json!({"inputSchema": any}), LeftOutReason::Malformed),
            (json!(17), LeftOutReason::Malformed),
            (
                json!({"name": "d", "inputSchema": {"properties": {"x": {"type": "intger"}}}}),
                LeftOutReason::Invalid,
            ),
            (
                json!({"name": "e", "inputSchema": {"$ref": "https://example.org/schema"}}),
                LeftOutReason::Invalid,
            ),
            (
                json!({"name": "good", "inputSchema": any}),
                LeftOutReason::Duplicate,
            ),
            (
                json!({"name": "f", "inputSchema": any, "description": "x".repeat(DEFINITION_BYTES)}),
                LeftOutReason::TooLarge,
            ),
        ];
        let mut tools = vec![json!({"name": "good", "inputSchema": any})];
        tools.extend(unusable.iter().map(|(tool, _)| tool.clone()));
        tools.push(json!({"name": "last", "inputSchema": any}));
        let listing = listing(&Value::Array(tools), RULES);
        assert_eq!(names(&listing), ["good", "last"]);
        let reasons: Vec<_> = listing.left_out.iter().map(|left_out| left_out.reason).collect();
        assert_eq!(reasons, unusable.map(|(_, reason)| reason));
        assert!(
            listing
                .left_out
                .iter()
                .all(|left_out| !left_out.detail.is_empty())
        );
    }

    #[test]
    fn caps_tools_and_bytes() {
        let tool = |at: usize, bytes: usize| json!({"name": format!("t{at}"), "inputSchema": {"type": "object"}, "description": "x".repeat(bytes)});
        let many = listing(
            &(0..10).map(|at| tool(at, 0)).collect(),
            ListingRules {
                max_tools: 7,
                ..RULES
            },
        );
        assert_eq!((many.tools.len(), many.left_out.len()), (7, 3));
        assert_eq!(many.left_out[0].reason, LeftOutReason::TooMany);

        // Definitions that are left out do not count.
        let mut tools: Vec<Value> = (0..20).map(|at| tool(at, 70_000)).collect();
        tools.extend((20..170).map(|at| tool(at, 60_000)));
        let large = listing(&Value::Array(tools), RULES);
        assert_eq!(large.tools.len(), LIST_BYTES / tool(20, 60_000).to_string().len());
        assert_eq!(large.left_out.last().unwrap().reason, LeftOutReason::TooMany);
    }

    #[test]
    fn hints_are_claims() {
        let tools = json!([{
            "name": "remove",
            "title": "Re\u{200B}move",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true, "title": "R"},
            "x-unknown": {"kept": null}
        }]);
        let claimed = listing(&tools, RULES);
        let tool = &claimed.tools[0];
        assert_eq!(tool.hints.read_only, None);
        assert_eq!(tool.hints.title.as_deref(), Some("Remove"));
        let shown = mcp::tool(tool);
        assert_eq!(shown["annotations"], json!({"readOnlyHint": true, "title": "R"}));
        assert_eq!(shown["x-unknown"], json!({"kept": null}));
        assert_eq!(claimed.warnings.len(), 1);

        let rules = ListingRules {
            trusts_hints: true,
            ..RULES
        };
        let trusted = listing(&tools, rules);
        assert_eq!(trusted.tools[0].hints.read_only, Some(true));
        assert_eq!(mcp::tool(&trusted.tools[0])["annotations"]["readOnlyHint"], true);
    }
}
