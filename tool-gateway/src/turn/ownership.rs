//! Ownership of tools. The gateway runs internal tools, and the client runs external tools (`classify_tools` in requirements 004).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tool_runtime::ToolDefinition;

use crate::session::canonical;
use crate::session::canonical_text::CanonicalText;
use crate::wire::error::ApiError;
use crate::wire::object::{Change, Object, push_string, with_field};
use crate::wire::walk;

/// Selection of the gateway's tools that take part in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Offer {
    /// Tools that the client declares, too.
    #[default]
    Declared,
    /// All tools of the gateway.
    Always,
}

/// Rules for the owner of a tool that both the client and the gateway have: a general rule, and a table of names.
///
/// ```
/// use tool_gateway::Ownership;
///
/// let ownership = Ownership::by_schema()
///     .with_internal(["TodoWrite"]) // the gateway's, whatever schema the client declares
///     .with_external(["Read"]) // the client's, and not offered
///     .with_alias("Bash", "run_command"); // the client's `Bash` is the gateway's `run_command`
/// assert_ne!(ownership, Ownership::by_name());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ownership {
    is_by_name: bool,
    internal: BTreeSet<String>,
    external: BTreeSet<String>,
    /// Internal names by the client's names.
    aliases: BTreeMap<String, String>,
}

impl Ownership {
    /// Makes a tool internal if the client declares it without a schema or with the gateway's schema, and external if the client declares
    /// another schema. The default is this rule.
    pub fn by_schema() -> Self {
        Self::default()
    }

    /// Makes every tool of the gateway internal, with any schema that the client declares (R-GW-5).
    pub fn by_name() -> Self {
        Self {
            is_by_name: true,
            ..Self::default()
        }
    }

    /// Makes tools internal, with any schema that the client declares.
    #[must_use]
    pub fn with_internal<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.internal.extend(names.into_iter().map(Into::into));
        self
    }

    /// Makes tools external, with any schema that the client declares. The gateway does not offer its own tools with these names.
    #[must_use]
    pub fn with_external<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.external.extend(names.into_iter().map(Into::into));
        self
    }

    /// Maps a name that clients declare to the internal tool `internal`. The model sees the client's name with the gateway's schema. If the
    /// gateway has a tool named `declared`, that tool is not offered.
    #[must_use]
    pub fn with_alias(mut self, declared: impl Into<String>, internal: impl Into<String>) -> Self {
        self.aliases.insert(declared.into(), internal.into());
        self
    }

    /// Returns the internal name of a tool that the client calls `name`.
    pub(crate) fn internal_name<'n>(&'n self, name: &'n str) -> &'n str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// Returns the names of the table's internal tools.
    pub(crate) fn internal(&self) -> &BTreeSet<String> {
        &self.internal
    }

    /// Returns the names of the table's external tools.
    pub(crate) fn external(&self) -> &BTreeSet<String> {
        &self.external
    }

    /// Returns the internal names by the client's names.
    pub(crate) fn aliases(&self) -> &BTreeMap<String, String> {
        &self.aliases
    }

    /// Returns the names in the table that must be tools of the gateway.
    pub(crate) fn internal_names(&self) -> impl Iterator<Item = &str> {
        self.internal
            .iter()
            .chain(self.aliases.values())
            .map(String::as_str)
    }
}

/// A tool of the gateway, with its texts for the upstream.
#[derive(Debug, Clone)]
pub(crate) struct InternalTool {
    definition: ToolDefinition,
    /// The definition, with its schema and its description as JSON texts.
    text: String,
    schema: String,
    description: String,
    /// The canonical form of the keywords of the schema that change the accepted arguments.
    canonical_schema: Vec<u8>,
}

impl InternalTool {
    pub(crate) fn new(definition: ToolDefinition) -> Self {
        // The client may declare the tool with the definition from `GET /v1/tools`, which is flat, too.
        let definition = match definition.flattened() {
            Cow::Owned(flat) => flat,
            Cow::Borrowed(_) => definition,
        };
        let mut description = String::new();
        push_string(&mut description, &definition.description);
        let schema = definition.input_schema.to_string();
        Self {
            text: serde_json::to_string(&definition).unwrap_or_default(),
            canonical_schema: CanonicalText::kept(|out| same_schema(out, &schema)),
            schema,
            description,
            definition,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.definition.name.as_str()
    }

    /// Returns whether a schema accepts the arguments that this tool's schema accepts. Schemas are compared in their canonical form, since
    /// JavaScript turns `1.0` into `1`.
    pub(crate) fn accepts(&self, schema: &str) -> bool {
        canonical::is_readable(schema)
            && CanonicalText::equals(&self.canonical_schema, |out| same_schema(out, schema))
    }
}

/// Tools of a request by their owners.
#[derive(Debug, Default)]
pub(crate) struct ClassifiedTools {
    /// Names of the tools that the gateway runs.
    pub(crate) internal: Arc<BTreeSet<String>>,
    /// Names of internal tools that the client declares, too, and can run itself.
    pub(crate) declared: BTreeSet<String>,
    /// Names of the client's tools. Empty if no internal tool is in the request.
    pub(crate) external: Arc<BTreeSet<String>>,
    /// Names of tools of MCP servers that the client declares and the gateway does not have. They are left out of the request.
    pub(crate) missing: BTreeSet<String>,
    /// Definitions for the upstream as the text of a list; `None` if the client's definitions are forwarded unchanged.
    pub(crate) definitions: Option<String>,
}

/// Description of an external tool without one.
const NO_DESCRIPTION: &str = "\"\"";

/// Schema of an external tool without one.
const NO_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

/// A tool that the client declares.
struct RequestTool<'a> {
    text: &'a str,
    name: Cow<'a, str>,
    is_custom: bool,
    has_description: bool,
    has_schema: bool,
    /// Internal tool, if the gateway runs the calls.
    internal: Option<&'a InternalTool>,
}

impl<'a> RequestTool<'a> {
    /// Returns the client's declaration with the gateway's schema, and with its description if the client has none.
    fn with_internal_schema(&self, internal: &InternalTool) -> String {
        let InternalTool {
            schema, description, ..
        } = internal;
        let mut text = String::new();
        let fields = Object::from_json(self.text).unwrap_or_default();
        fields.write(&mut text, |name, value| match name {
            "input_schema" => Some(Change::To(schema)),
            "description" if value == "null" => Some(Change::To(description)),
            _ => Some(Change::Keep),
        });
        if !self.has_description {
            text = with_field(&text, "description", description);
        }
        if !self.has_schema {
            text = with_field(&text, "input_schema", schema);
        }
        text
    }

    /// Fills in the fields of an external tool that the API requires (R-GW-6).
    fn filled_in(&self) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(self.text);
        if !self.has_description {
            text = with_field(&text, "description", NO_DESCRIPTION).into();
        }
        if !self.has_schema {
            text = with_field(&text, "input_schema", NO_SCHEMA).into();
        }
        text
    }

    /// Returns an upper bound of the size with the fields that the API requires.
    fn max_filled_in(&self) -> usize {
        let mut size = self.text.len();
        if !self.has_description {
            size += r#","description":"#.len() + NO_DESCRIPTION.len();
        }
        if !self.has_schema {
            size += r#","input_schema":"#.len() + NO_SCHEMA.len();
        }
        size
    }
}

/// Tools of the gateway that may take part in a turn, and the rules for their owners.
#[derive(Clone, Copy)]
pub(crate) struct OfferedTools<'a> {
    pub(crate) tools: &'a [Arc<InternalTool>],
    pub(crate) offer: Offer,
    /// Name of the tool that is offered with every `offer`.
    pub(crate) always: Option<&'a str>,
    pub(crate) ownership: &'a Ownership,
    /// Returns whether a tool of this name had this schema, so that a client that has read it still means the gateway's tool.
    pub(crate) had_schema: &'a (dyn Fn(&str, &str) -> bool + Sync),
    /// Returns whether only an MCP server can have a tool with this name.
    pub(crate) is_of_server: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Classifies the tools of a request.
pub(crate) fn classify<'a>(
    declared: walk::Items<'a>,
    offered: &OfferedTools<'a>,
) -> Result<ClassifiedTools, ApiError> {
    let OfferedTools {
        tools,
        offer,
        always,
        ownership,
        ..
    } = *offered;
    let mut missing = BTreeSet::new();
    let mut all = Vec::with_capacity(declared.capacity());
    for (index, text) in declared.enumerate() {
        let fields = Object::from_json(text)
            .ok_or_else(|| ApiError::invalid(format!("tools.{index}: expected an object")))?;
        let [kind, name, description, schema] =
            fields.get_all(["type", "name", "description", "input_schema"]);
        let is_custom = kind.is_none_or(|kind| kind == "null" || kind == "\"custom\"");
        let name = name.and_then(walk::string).unwrap_or_default();
        let internal_name = ownership.internal_name(&name);
        let internal = tools.iter().find(|tool| {
            is_custom && tool.name() == internal_name && is_internal(&name, schema, tool, offered)
        });
        if internal.is_none() && is_custom && is_missing(&name, schema, offered) {
            missing.insert(name.into_owned());
            continue;
        }
        all.push(RequestTool {
            text,
            name,
            is_custom,
            has_description: description.is_some(),
            has_schema: schema.is_some(),
            internal: internal.map(|tool| &**tool),
        });
    }
    let declared = all;
    let is_added = |name: &str| {
        let is_declared = |tool: &RequestTool<'_>| {
            tool.name == name || tool.internal.is_some_and(|tool| tool.name() == name)
        };
        (offer == Offer::Always || always == Some(name))
            && !declared.iter().any(is_declared)
            && !ownership.external.contains(name)
            && !ownership.aliases.contains_key(name)
    };
    let added: Vec<_> = tools.iter().filter(|tool| is_added(tool.name())).collect();
    if added.is_empty() && missing.is_empty() && declared.iter().all(|tool| tool.internal.is_none()) {
        // The turn may be driven all the same, with the client's tools alone.
        let names = declared.into_iter().map(|tool| tool.name.into_owned());
        let external: BTreeSet<String> = names.collect();
        return Ok(ClassifiedTools {
            external: external.into(),
            ..ClassifiedTools::default()
        });
    }
    let sizes = declared.iter().map(RequestTool::max_filled_in);
    let sizes = sizes.chain(added.iter().map(|tool| tool.text.len()));
    // A text that grows takes up to three times its size.
    let mut list = String::with_capacity(2 + sizes.map(|size| size + 1).sum::<usize>());
    list.push('[');
    let mut push = |text: &str| {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(text);
    };
    for tool in &declared {
        match tool.internal {
            Some(internal) => push(&tool.with_internal_schema(internal)),
            None if tool.is_custom => push(&tool.filled_in()),
            None => push(tool.text),
        }
    }
    for tool in &added {
        push(&tool.text);
    }
    list.push(']');
    let mut external = BTreeSet::new();
    let mut declared_internal = BTreeSet::new();
    for tool in declared {
        let names = match tool.internal {
            Some(_) => &mut declared_internal,
            None => &mut external,
        };
        names.insert(tool.name.into_owned());
    }
    let mut internal = declared_internal.clone();
    internal.extend(added.iter().map(|tool| tool.name().to_owned()));
    Ok(ClassifiedTools {
        internal: Arc::new(internal),
        declared: declared_internal,
        external: Arc::new(external),
        missing,
        definitions: Some(list),
    })
}

/// Returns whether a tool that the client declares is the gateway's, whatever schema the gateway's tool has.
fn is_meant(name: &str, schema: Option<&str>, ownership: &Ownership) -> bool {
    if ownership.external.contains(name) {
        return false;
    }
    if ownership.is_by_name || ownership.internal.contains(name) || ownership.aliases.contains_key(name) {
        return true;
    }
    let Some(schema) = schema.filter(|schema| *schema != "null") else {
        return true;
    };
    Object::from_json(schema).is_some_and(|schema| schema.fields().next().is_none())
}

fn is_internal(
    name: &str,
    schema: Option<&str>,
    internal: &InternalTool,
    offered: &OfferedTools<'_>,
) -> bool {
    let ownership = offered.ownership;
    if is_meant(name, schema, ownership) {
        return true;
    }
    let schema = schema.filter(|_| !ownership.external.contains(name));
    schema.is_some_and(|schema| internal.accepts(schema) || (offered.had_schema)(internal.name(), schema))
}

/// Returns whether a tool that the client declares is the tool of an MCP server that does not have it now.
fn is_missing(name: &str, schema: Option<&str>, offered: &OfferedTools<'_>) -> bool {
    let ownership = offered.ownership;
    let internal_name = ownership.internal_name(name);
    (offered.is_of_server)(internal_name)
        && !ownership.external.contains(name)
        && (is_meant(name, schema, ownership)
            || schema.is_some_and(|schema| (offered.had_schema)(internal_name, schema)))
}

/// Writes the canonical form of a schema without the keywords that do not change the accepted arguments.
fn same_schema(out: &mut CanonicalText, schema: &str) {
    canonical::write_filtered(out, schema, |field| {
        let is_annotation = ["description", "title", "$schema"]
            .iter()
            .any(|name| field.is(name));
        // Under `properties` these are names of parameters, whose schemas are objects.
        !is_annotation || field.value.starts_with('{')
    });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn note() -> ToolDefinition {
        let schema = json!({ "type": "object", "properties": { "title": { "type": "string", "description": "The title." } } });
        ToolDefinition::new("Note", "Take a note.", schema)
    }

    fn offered<'a>(
        tools: &'a [Arc<InternalTool>],
        offer: Offer,
        ownership: &'a Ownership,
    ) -> OfferedTools<'a> {
        OfferedTools {
            tools,
            offer,
            always: None,
            ownership,
            had_schema: &|_, schema| schema.contains("earlier"),
            is_of_server: &|name| name.starts_with("git__"),
        }
    }

    fn classified(declared: &Value, offer: Offer, ownership: &Ownership) -> (Vec<String>, Value) {
        let list = declared.to_string();
        let tools = classify(
            walk::items(&list),
            &offered(&[Arc::new(InternalTool::new(note()))], offer, ownership),
        )
        .unwrap();
        let sent = tools
            .definitions
            .map_or(declared.clone(), |text| serde_json::from_str(&text).unwrap());
        (tools.internal.iter().cloned().collect(), sent)
    }

    /// The API refuses a request with a union at the root, so the upstream gets the flat form, and a client that declares the
    /// listed tool has this form, too.
    #[test]
    fn a_tool_with_a_union_at_the_root_is_flat() {
        let properties = json!({ "id": { "type": "integer" }, "title": { "type": "string" } });
        let union =
            json!({ "properties": properties, "oneOf": [{ "required": ["id"] }, { "required": ["title"] }] });
        let tool = Arc::new(InternalTool::new(ToolDefinition::new("Find", "Find it.", union)));
        let flat = json!({ "type": "object", "properties": properties });
        let shown = json!({
            "name": "Find",
            "description": "Find it.\n\nSend exactly one of `id` and `title`.",
            "input_schema": flat,
        });
        let declared = shown.to_string();
        let bare = r#"{"name":"Find"}"#;
        for declared in [declared.as_str(), bare] {
            let tools = std::slice::from_ref(&tool);
            let ownership = Ownership::by_schema();
            let offered = offered(tools, Offer::Declared, &ownership);
            let list = format!("[{declared}]");
            let classified = classify(walk::items(&list), &offered).unwrap();
            assert_eq!(*classified.internal, BTreeSet::from(["Find".to_owned()]));
            let sent = classified.definitions.unwrap_or_else(|| format!("[{declared}]"));
            let sent: Value = serde_json::from_str(&sent).unwrap();
            assert_eq!(
                (&sent[0]["input_schema"], &sent[0]["description"]),
                (&flat, &shown["description"])
            );
        }
    }

    #[test]
    fn a_tool_is_internal_without_a_schema_or_with_ours() {
        let ours =
            json!({ "properties": { "title": { "type": "string" } }, "type": "object", "$schema": "s" });
        for schema in [json!(null), json!({}), ours, note().input_schema] {
            let (internal, sent) = classified(
                &json!([{ "name": "Note", "input_schema": schema }]),
                Offer::Declared,
                &Ownership::by_schema(),
            );
            assert_eq!(internal, ["Note"], "{schema}");
            assert_eq!(sent[0]["input_schema"], note().input_schema);
            assert_eq!(sent[0]["description"], "Take a note.");
        }
        let described =
            json!([{ "name": "Note", "description": "Mine.", "cache_control": { "type": "ephemeral" } }]);
        let (_, sent) = classified(&described, Offer::Declared, &Ownership::by_schema());
        assert_eq!(
            (&sent[0]["description"], &sent[0]["cache_control"]["type"]),
            (&json!("Mine."), &json!("ephemeral"))
        );
    }

    #[test]
    fn a_tool_with_an_earlier_schema_of_ours_is_internal() {
        let earlier = json!({ "type": "object", "properties": { "earlier": { "type": "string" } } });
        let declared = json!([{ "name": "Note", "input_schema": earlier }]);
        let (internal, sent) = classified(&declared, Offer::Declared, &Ownership::by_schema());
        assert_eq!(internal, ["Note"]);
        assert_eq!(sent[0]["input_schema"], note().input_schema);
    }

    #[test]
    fn a_missing_tool_of_a_server_is_left_out_and_never_the_clients() {
        let missing = |declared: &Value, ownership: &Ownership| {
            let list = declared.to_string();
            let tools = [Arc::new(InternalTool::new(note()))];
            let offered = offered(&tools, Offer::Declared, ownership);
            let found = classify(walk::items(&list), &offered).unwrap();
            let sent: Vec<Value> = found.definitions.map_or_else(
                || declared.as_array().unwrap().clone(),
                |text| serde_json::from_str(&text).unwrap(),
            );
            let sent: Vec<_> = sent
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect();
            (
                found.missing.into_iter().collect::<Vec<_>>(),
                found.external,
                sent,
            )
        };
        let object = json!({ "type": "object", "properties": { "x": {} } });
        let earlier = json!({ "type": "object", "properties": { "earlier": {} } });
        let log = || vec!["git__log".to_owned()];
        let none = Vec::<String>::new;
        for (tool, ownership, expected) in [
            (json!({ "name": "git__log" }), Ownership::by_schema(), log()),
            (
                json!({ "name": "git__log", "input_schema": {} }),
                Ownership::by_schema(),
                log(),
            ),
            (
                json!({ "name": "git__log", "input_schema": earlier }),
                Ownership::by_schema(),
                log(),
            ),
            (
                json!({ "name": "git__log", "input_schema": object }),
                Ownership::by_schema(),
                none(),
            ),
            (
                json!({ "name": "git__log", "input_schema": object }),
                Ownership::by_name(),
                log(),
            ),
            (
                json!({ "name": "git__log" }),
                Ownership::by_schema().with_external(["git__log"]),
                none(),
            ),
            (
                json!({ "name": "git__log", "type": "web_search_20250305" }),
                Ownership::by_schema(),
                none(),
            ),
            (json!({ "name": "gitlog" }), Ownership::by_schema(), none()),
            (
                json!({ "name": "Log", "input_schema": object }),
                Ownership::by_schema().with_alias("Log", "git__log"),
                vec!["Log".to_owned()],
            ),
        ] {
            let (found, external, sent) = missing(&json!([tool, { "name": "Bash" }]), &ownership);
            assert_eq!(found, expected, "{tool}");
            let name = tool["name"].as_str().unwrap().to_owned();
            assert_eq!(sent.contains(&name), expected.is_empty(), "{tool}: {sent:?}");
            assert!(sent.contains(&"Bash".to_owned()));
            assert!(!external.contains(&name) || expected.is_empty(), "{tool}");
        }
    }

    #[test]
    fn tool_with_another_schema_is_external() {
        let other = json!([{ "name": "Note", "description": "Mine.", "input_schema": { "type": "object", "properties": { "x": {} } } }]);
        let (internal, sent) = classified(&other, Offer::Declared, &Ownership::by_schema());
        assert_eq!((internal, sent), (vec![], other.clone()));
        let (internal, _) = classified(&other, Offer::Declared, &Ownership::by_name());
        assert_eq!(internal, ["Note"]);
    }

    #[test]
    fn tools_of_other_types_pass_untouched() {
        let server = json!([{ "type": "web_search_20250305", "name": "Note" }]);
        let (internal, sent) = classified(&server, Offer::Declared, &Ownership::by_name());
        assert_eq!((internal, sent), (vec![], server.clone()));
        let (internal, sent) = classified(&server, Offer::Always, &Ownership::by_name());
        assert_eq!((internal.len(), sent.as_array().unwrap().len()), (0, 1));
    }

    #[test]
    fn missing_fields_are_filled_in_beside_a_tool_of_the_gateway() {
        let bare = json!([{ "name": "other" }]);
        assert_eq!(
            classified(&bare, Offer::Declared, &Ownership::by_schema()),
            (vec![], bare.clone())
        );
        let (internal, sent) = classified(&bare, Offer::Always, &Ownership::by_schema());
        assert_eq!(internal, ["Note"]);
        let filled = json!({ "name": "other", "description": "", "input_schema": { "type": "object", "properties": {} } });
        assert_eq!((&sent[0], &sent[1]["name"]), (&filled, &json!("Note")));
    }

    #[test]
    fn ownership_table_overrides_single_names() {
        let other = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
        let declared = |name: &str| json!([{ "name": name, "description": "Mine.", "input_schema": other }]);
        let internal = |declared: &Value, ownership: &Ownership| {
            let (internal, sent) = classified(declared, Offer::Always, ownership);
            let names: Vec<_> = sent
                .as_array()
                .unwrap()
                .iter()
                .map(|tool| tool["name"].clone())
                .collect();
            (internal, names, sent[0]["input_schema"] == note().input_schema)
        };
        let named = || vec!["Note".to_owned()];
        let table = Ownership::by_schema().with_internal(["Note"]);
        assert_eq!(
            internal(&declared("Note"), &table),
            (named(), vec![json!("Note")], true)
        );
        let table = Ownership::by_name().with_external(["Note"]);
        assert_eq!(
            internal(&declared("Note"), &table),
            (vec![], vec![json!("Note")], false)
        );
        assert_eq!(
            internal(&declared("other"), &table),
            (vec![], vec![json!("other")], false)
        );
        // The alias exists only under the client's name.
        let table = Ownership::by_schema().with_alias("jot", "Note");
        assert_eq!(
            internal(&declared("jot"), &table),
            (vec!["jot".to_owned()], vec![json!("jot")], true)
        );
        assert_eq!(table.internal_name("jot"), "Note");
        assert_eq!(internal(&declared("other"), &table).0, named());
    }
}
