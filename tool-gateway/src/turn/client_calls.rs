//! [`ClientCalls`]: reads calls of the client's tools from an upstream whose API is translated. Such a server does not check calls.
//!
//! A call that can be read is shown with coerced arguments. A broken call is never shown: the model receives an error in its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use serde_json::{Value, json};
use tool_runtime::issue::{Code, Issue};
use tool_runtime::{Policy, ToolDefinition, ToolRegistry};

use super::client_schemas::ClientSchemas;
use super::forced_nulls::without_forced_nulls;
use crate::wire::block::{Block, ToolUse};
use crate::wire::object::{Object, set_field};
use crate::wire::request::MessagesRequest;

/// Rules for calls of the client's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientCallRules {
    /// Coercion of the arguments; `Strict` changes nothing.
    pub(crate) coercion: Policy,
    /// Coercion by the name of the tool.
    pub(crate) tools: BTreeMap<String, Policy>,
    /// Maximum number of consecutive hidden rounds after broken calls.
    pub(crate) broken_calls: usize,
    /// Whether the arguments of tools with `eager_input_streaming` arrive in pieces, without coercion.
    pub(crate) eager_streaming: bool,
    /// Whether the model corrects a broken call. Otherwise, such a call ends the turn with an error.
    pub(crate) fallback_on_error: bool,
}

impl Default for ClientCallRules {
    fn default() -> Self {
        Self {
            coercion: Policy::Lossless,
            tools: BTreeMap::new(),
            broken_calls: 2,
            eager_streaming: true,
            fallback_on_error: true,
        }
    }
}

/// Compiled schemas, and counters of calls. Clones share both.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientCallState {
    schemas: Arc<ClientSchemas>,
    pub(crate) broken: Family<BrokenCallLabels, Counter>,
    pub(crate) coercions: Family<CoercionLabels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct BrokenCallLabels {
    tool: String,
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CoercionLabels {
    code: &'static str,
}

/// Reader of the calls of a turn.
#[derive(Debug)]
pub(crate) struct ClientCalls {
    tools: BTreeMap<String, ClientTool>,
    rules: ClientCallRules,
    state: ClientCallState,
}

/// A tool that the client declares.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ClientTool {
    /// Schema as JSON; `None` for a tool of the API, whose schema is not in the request.
    schema: Option<String>,
    is_eager: bool,
    /// Whether the upstream may force the model to send all parameters.
    is_strict: bool,
}

// The schemas and counters are no part of the rules.
impl PartialEq for ClientCalls {
    fn eq(&self, other: &Self) -> bool {
        (&self.tools, &self.rules) == (&other.tools, &other.rules)
    }
}

/// A call of the client's tool as the gateway reads it.
#[derive(Debug)]
pub(crate) enum ReadCall {
    Valid(ValidCall),
    Broken(BrokenCall),
}

/// A call that is shown.
#[derive(Debug)]
pub(crate) struct ValidCall {
    /// The call with the model's arguments.
    pub(crate) sent: Block,
    /// The call for the client, if it differs.
    pub(crate) shown: Option<Block>,
}

/// A call that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenCall {
    /// Name of the tool as the model wrote it.
    pub(crate) name: String,
    /// Issue of the runtime.
    pub(crate) reason: String,
    /// Text of the result for the model.
    pub(crate) text: String,
}

impl ClientCalls {
    /// Creates the reader of the calls that answer a request.
    pub(crate) fn new(request: &MessagesRequest, rules: ClientCallRules, state: ClientCallState) -> Self {
        let tools = request.tools().filter_map(|tool| {
            let tool = Object::from_json(tool)?;
            let is_custom = tool.text("type").is_none_or(|kind| kind == "custom");
            let schema = tool.get("input_schema").filter(|_| is_custom);
            let client_tool = ClientTool {
                schema: schema.map(str::to_owned),
                is_eager: rules.eager_streaming && tool.get("eager_input_streaming") == Some("true"),
                is_strict: tool.get("strict") == Some("true"),
            };
            Some((tool.string("name")?, client_tool))
        });
        Self {
            tools: tools.collect(),
            rules,
            state,
        }
    }

    /// Returns the rules.
    pub(crate) fn rules(&self) -> &ClientCallRules {
        &self.rules
    }

    /// Returns whether the request declares a tool.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Reads a call. `internal` are the names of the gateway's tools, which the model may call, too.
    pub(crate) fn read<'n>(
        &'n self,
        block: &Block,
        name: &str,
        internal: impl Iterator<Item = &'n str>,
    ) -> ReadCall {
        let Some(call) = block.tool_use() else {
            return ReadCall::Valid(ValidCall {
                sent: block.clone(),
                shown: None,
            });
        };
        let Some(tool) = self.tools.get(name) else {
            let names = self.tools.keys().map(String::as_str).chain(internal);
            let issue = unknown_tool(name, names);
            return ReadCall::Broken(self.broken("unknown", &call, &issue));
        };
        let sent = match block.raw_input() {
            None => block.clone(),
            Some(raw) => match object_text(raw) {
                Some(input) => with_input(block, &input),
                None => return ReadCall::Broken(self.broken(name, &call, &unreadable(raw))),
            },
        };
        let renamed = (call.name != name).then(|| sent.with_string("name", name));
        let schema = tool.schema.as_deref().filter(|_| tool.is_strict);
        let input = sent.object().get("input").unwrap_or("{}");
        let without_nulls = schema.and_then(|schema| without_forced_nulls(input, schema));
        let coerced = match &without_nulls {
            Some(input) => self.coerced(name, tool, &with_input(&sent, input)),
            None => self.coerced(name, tool, &sent),
        };
        let shown = match coerced.or(without_nulls) {
            Some(input) => Some(with_input(renamed.as_ref().unwrap_or(&sent), &input)),
            None => renamed,
        };
        ReadCall::Valid(ValidCall { sent, shown })
    }

    /// Returns the coerced arguments of a call; `None` if they remain as they are.
    fn coerced(&self, name: &str, tool: &ClientTool, block: &Block) -> Option<String> {
        let policy = self.rules.tools.get(name).copied();
        let policy = policy.unwrap_or(self.rules.coercion);
        let schema = tool.schema.as_deref()?;
        if tool.is_eager || policy == Policy::Strict {
            return None;
        }
        let input = block.object().get("input")?.to_owned();
        let read = self.state.schemas.compiled(name, schema).read(&input, policy)?;
        if !read.errors.is_empty() {
            self.count(name, &read.errors, "a call does not match the client's schema");
            return None;
        }
        // Arguments that need no change keep their bytes.
        let sent: Value = serde_json::from_str(&input).ok()?;
        if read.warnings.is_empty() || sent.as_object() == Some(&read.arguments) {
            return None;
        }
        self.count(
            name,
            &read.warnings,
            "the arguments of a call were coerced to the client's schema",
        );
        Some(read.arguments_json)
    }

    fn count(&self, tool: &str, issues: &[Issue], message: &str) {
        for issue in issues {
            // Unknown keys are kept.
            if matches!(issue.code, Code::UnknownParameter | Code::UnknownProperty) {
                continue;
            }
            let code = issue.code.as_str();
            let labels = CoercionLabels { code };
            self.state.coercions.get_or_create(&labels).inc();
            tracing::info!(tool, code, "{message}");
        }
    }

    /// Builds and counts a broken call. `tool` is the declared name for the counter: a model may invent any number of names.
    fn broken(&self, tool: &str, call: &ToolUse, issue: &Issue) -> BrokenCall {
        let code = issue.code.as_str();
        let labels = BrokenCallLabels {
            tool: tool.to_owned(),
            code,
        };
        self.state.broken.get_or_create(&labels).inc();
        tracing::warn!(tool, code, "a call of the model cannot be read");
        let mut text = format!("The call was not made: {issue}");
        if issue.code != Code::UnknownTool {
            text.push_str("\nAround this place, the call has: ");
            text.push_str(surroundings(&call.input));
        }
        BrokenCall {
            name: call.name.clone(),
            reason: issue.to_string(),
            text,
        }
    }
}

impl BrokenCall {
    /// Returns the text for the client, in which the turn ends after too many such calls.
    pub(crate) fn notice(&self) -> String {
        let Self { name, reason, .. } = self;
        format!("The model's call of {name} could not be read: {reason}.")
    }

    /// Returns the message of the error that ends the turn.
    pub(crate) fn error(&self) -> String {
        let Self { name, reason, .. } = self;
        format!("the model's call of `{name}` cannot be read: {reason}")
    }

    /// Builds the result for the model.
    pub(crate) fn result(&self, id: &str) -> Block {
        let result =
            json!({ "type": "tool_result", "tool_use_id": id, "content": self.text, "is_error": true });
        Block::new(result.to_string())
    }
}

/// Returns the call with other arguments, which are a JSON object.
pub(super) fn with_input(block: &Block, input: &str) -> Block {
    Block::new(set_field(block.as_str(), "input", input))
}

/// Returns the object in arguments that are no object: no arguments, or a string with an object.
fn object_text(raw: &str) -> Option<String> {
    let raw = raw.trim();
    if raw.is_empty() || raw == "null" {
        return Some("{}".to_owned());
    }
    let inner = serde_json::from_str::<String>(raw).ok()?;
    let inner = inner.trim();
    if inner.is_empty() {
        return Some("{}".to_owned());
    }
    Object::parse(inner).is_ok().then(|| inner.to_owned())
}

/// Returns the runtime's issue with arguments that are no object.
fn unreadable(raw: &str) -> Issue {
    let schema = ClientSchemas::default().compiled("", r#"{"type":"object"}"#);
    let read = schema.read(raw, Policy::Strict);
    let issue = read.and_then(|read| read.errors.into_iter().next());
    issue.unwrap_or_else(|| {
        let message = "invalid arguments; expected a JSON object with the parameters by name";
        Issue::error(Code::ArgumentsNotObject, "", message)
    })
}

/// Returns the runtime's issue with the name of an unknown tool: the known names, or the similar ones if there are many.
fn unknown_tool<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Issue {
    let mut registry = ToolRegistry::new();
    for name in known {
        let definition = ToolDefinition::new(name, "", json!({ "type": "object" }));
        // A name that is no name of the API is not suggested.
        let _ = registry.register_dynamic(definition, async |arguments: Value, _| arguments);
    }
    let request = registry.prepare(tool_runtime::ToolCall::new("", name, "{}"));
    let issue = request.errors.into_iter().next();
    issue.unwrap_or_else(|| Issue::error(Code::UnknownTool, "", format!("Tool '{name}' not found")))
}

/// Maximum number of bytes of a broken call that its error repeats.
const MAX_SURROUNDINGS: usize = 500;

/// Returns the part of arguments around their first fault.
fn surroundings(text: &str) -> &str {
    let fault = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => 0,
        Err(error) => {
            let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            lines.map(str::len).sum::<usize>() + error.column()
        }
    };
    let boundary_before = |at: usize| {
        (0..=at.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at))
    };
    let start = boundary_before(fault.saturating_sub(MAX_SURROUNDINGS / 2)).unwrap_or(0);
    let end = boundary_before(start.saturating_add(MAX_SURROUNDINGS)).unwrap_or(0);
    text.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(coercion: Policy) -> ClientCalls {
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string","default":"d"}},"required":["n"]}"#;
        let request = format!(
            r#"{{"messages":[],"tools":[{{"name":"Edit","input_schema":{schema}}},{{"name":"Eager","input_schema":{schema},
            "eager_input_streaming":true}},{{"name":"Bad","input_schema":{{"type":"object","properties":5}}}},
            {{"name":"Off","input_schema":{schema}}},{{"type":"bash_20250124","name":"bash"}}]}}"#
        );
        let rules = ClientCallRules {
            coercion,
            tools: [("Off".to_owned(), Policy::Strict)].into(),
            ..ClientCallRules::default()
        };
        let request = MessagesRequest::parse(&request).unwrap();
        ClientCalls::new(&request, rules, ClientCallState::default())
    }

    fn read(calls: &ClientCalls, name: &str, arguments: &str) -> ReadCall {
        calls.read(&Block::call("id", name, arguments), name, ["lookup"].into_iter())
    }

    /// Returns the arguments of the model and of the client.
    #[track_caller]
    fn inputs(read: &ReadCall) -> [String; 2] {
        let ReadCall::Valid(ValidCall { sent, shown }) = read else {
            panic!("{read:?}")
        };
        let input = |block: &Block| block.tool_use().unwrap().input;
        [input(sent), input(shown.as_ref().unwrap_or(sent))]
    }

    #[test]
    fn coerces_arguments_to_the_clients_schema() {
        let lossless = calls(Policy::Lossless);
        for (tool, arguments, expected) in [
            // Valid as sent: byte for byte, without defaults.
            ("Edit", r#"{ "n" : 1,"s":"x" }"#, r#"{ "n" : 1,"s":"x" }"#),
            (
                "Edit",
                r#"{ "n" : 1, "other": [1] }"#,
                r#"{ "n" : 1, "other": [1] }"#,
            ),
            // Coerced; unknown keys are kept.
            ("Edit", r#"{"n": "42", "other": 1}"#, r#"{"n":42,"other":1}"#),
            // Errors remain: unchanged.
            ("Edit", r#"{"n": "x"}"#, r#"{"n": "x"}"#),
            ("Edit", r#"{"n": 3.5}"#, r#"{"n": 3.5}"#),
            ("Edit", r#"{"n": "42", "s": {}}"#, r#"{"n": "42", "s": {}}"#),
            // Never coerced.
            ("Eager", r#"{"n": "42"}"#, r#"{"n": "42"}"#),
            ("Off", r#"{"n": "42"}"#, r#"{"n": "42"}"#),
            ("Bad", r#"{"n": "42"}"#, r#"{"n": "42"}"#),
            ("bash", r#"{"n": "42"}"#, r#"{"n": "42"}"#),
        ] {
            let [sent, shown] = inputs(&read(&lossless, tool, arguments));
            assert_eq!((sent.as_str(), shown.as_str()), (arguments, expected), "{tool}");
        }
        let lenient = calls(Policy::Lenient);
        assert_eq!(inputs(&read(&lenient, "Edit", r#"{"n":3.5}"#))[1], r#"{"n":3}"#);
        let off = calls(Policy::Strict);
        assert_eq!(inputs(&read(&off, "Edit", r#"{"n":"4"}"#))[1], r#"{"n":"4"}"#);
        // One coercion, and three calls with errors that remain.
        let counts = Code::ALL.iter().map(|code| {
            let code = code.as_str();
            lossless
                .state
                .coercions
                .get_or_create(&CoercionLabels { code })
                .get()
        });
        assert_eq!(counts.sum::<u64>(), 4);
    }

    #[test]
    fn reads_missing_arguments_and_objects_in_strings() {
        for (arguments, expected) in [
            ("", "{}"),
            (" ", "{}"),
            ("null", "{}"),
            (r#""{\"n\": 1}""#, r#"{"n": 1}"#),
        ] {
            let [sent, _] = inputs(&read(&calls(Policy::Strict), "Edit", arguments));
            assert_eq!(sent, expected, "{arguments}");
        }
    }

    #[test]
    fn broken_calls_have_the_runtimes_issue() {
        let calls = calls(Policy::Lossless);
        for (tool, arguments, issue, sent) in [
            ("Edit", r#"{"n": 1"#, "json_parse_error: ", r#"{"n": 1"#),
            ("Edit", "n=1", "json_parse_error: ", "n=1"),
            ("Edit", "[1]", "arguments_not_object", "[1]"),
            ("Edit", "5", "arguments_not_object", "5"),
            ("Eddit", "{}", "unknown_tool:Eddit", "`Edit`"),
            ("", "{}", "unknown_tool", "`lookup`"),
        ] {
            let ReadCall::Broken(broken) = read(&calls, tool, arguments) else {
                panic!("{tool} {arguments}")
            };
            assert!(broken.reason.starts_with(issue), "{broken:?}");
            assert!(
                broken.text.contains(&broken.reason) && broken.text.contains(sent),
                "{broken:?}"
            );
        }
        let labels = BrokenCallLabels {
            tool: "unknown".to_owned(),
            code: "unknown_tool",
        };
        assert_eq!(calls.state.broken.get_or_create(&labels).get(), 2);
    }

    #[test]
    fn an_error_repeats_at_most_500_bytes_beside_the_fault() {
        let text = format!(
            r#"{{"a": "{}", 'b': 1, "c": "{}"}}"#,
            "ä".repeat(900),
            "ö".repeat(900)
        );
        let part = surroundings(&text);
        assert!(part.len() <= 500 && part.contains("'b': 1"), "{part}");
        assert_eq!(surroundings("{'a'"), "{'a'");
    }
}
