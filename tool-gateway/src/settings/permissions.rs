//! [`PermissionRule`]: allows, denies or hands over calls by their tool, command or path, client and origin. `docs/gateway.md` has the
//! grammar.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Deserialize;
use tool_runtime::permission::{Decision, Permission, PermissionRequest};
use tool_runtime::{FromText, ToolRegistry};

use super::call_pattern::{CallPattern, Effect, Subject};
use super::client_keys::ClientKey;
use super::mistakes::Mistakes;
use super::{unknown_tool, values};
use crate::off_worker::BlockingThreads;
use crate::session::principal::Principal;

/// A rule about calls. The first rule that matches a call applies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PermissionRule {
    /// Pattern for names of tools, in which `*` matches any text, and for their commands or paths.
    pub(crate) tool: CallPattern,
    #[serde(deserialize_with = "values::name")]
    pub(crate) decision: DecisionName,
    /// Reason that the model receives.
    pub(crate) message: Option<String>,
    /// Names of the clients to which the rule applies; all by default.
    pub(crate) clients: Option<Vec<String>>,
    /// Whether the rule applies to calls that were recovered from text, or to other calls; both by default.
    pub(crate) from_text: Option<bool>,
}

/// A call, as far as rules distinguish calls.
#[derive(Debug, Clone, Copy)]
struct PermittedCall<'c> {
    tool: &'c str,
    subject: &'c Subject,
    /// Name of a tool of an MCP server in the form `mcp__KEY__NAME`.
    alias: Option<&'c str>,
    client: Option<&'c Principal>,
    is_from_text: bool,
}

/// Aliases of the tools of MCP servers, by their names: `mcp__KEY__NAME` with the server's name of the tool, as in Claude Code's permission
/// rules. Clones share the table, which has the tools of all generations.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolAliases(Arc<RwLock<HashMap<String, Arc<str>>>>);

impl ToolAliases {
    fn get(&self, tool: &str) -> Option<Arc<str>> {
        let aliases = self.0.read().unwrap_or_else(PoisonError::into_inner);
        aliases.get(tool).cloned()
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn insert(&self, tool: String, alias: &str) {
        let mut aliases = self.0.write().unwrap_or_else(PoisonError::into_inner);
        aliases.insert(tool, alias.into());
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionName {
    Allow,
    Deny,
    Ask,
}

impl PermissionRule {
    /// Returns the effect of the rule. `is_left_out` is whether tools leave the paths of the rule out of their results.
    fn effect(&self, is_left_out: bool) -> Effect {
        match self.decision {
            DecisionName::Allow => Effect::Allow,
            DecisionName::Deny | DecisionName::Ask if is_left_out => Effect::LeaveOut,
            DecisionName::Deny | DecisionName::Ask => Effect::Restrict,
        }
    }

    /// Returns whether the rule depends on an argument of the calls of a tool.
    fn depends_on_argument(&self, tool: &str) -> bool {
        self.tool.has_argument() && self.tool.matches_name(tool)
    }

    /// Returns whether the pattern matches the name or the alias of a call's tool.
    fn matches_name(&self, call: PermittedCall<'_>) -> bool {
        self.tool.matches_name(call.tool) || call.alias.is_some_and(|alias| self.tool.matches_name(alias))
    }

    /// Returns whether all conditions of the rule hold for a call.
    fn matches(&self, call: PermittedCall<'_>, is_left_out: bool) -> bool {
        let is_of_client = self.clients.as_ref().is_none_or(|clients| {
            let client = call.client.and_then(Principal::key_name);
            clients.iter().any(|name| client == Some(name))
        });
        is_of_client
            && self
                .from_text
                .is_none_or(|from_text| from_text == call.is_from_text)
            && self.matches_name(call)
            && self
                .tool
                .matches_subject(call.tool, call.subject, self.effect(is_left_out))
    }

    /// Adds a permission layer with these rules to a registry. Paths are relative to the root of the workspace.
    pub(crate) fn apply(
        rules: &[Self],
        root: Option<&Path>,
        aliases: &ToolAliases,
        registry: ToolRegistry,
    ) -> ToolRegistry {
        if rules.is_empty() {
            return registry;
        }
        let rules: Arc<[Self]> = rules.into();
        let root: Option<Arc<Path>> = root.map(Into::into);
        let aliases = aliases.clone();
        registry.layer(Permission::new(move |request: PermissionRequest| {
            let (rules, root, aliases) = (Arc::clone(&rules), root.clone(), aliases.clone());
            async move {
                let tool = request.definition().name.as_str();
                let alias = aliases.get(tool);
                let subject = if rules.iter().any(|rule| rule.depends_on_argument(tool)) {
                    subject(&request, root).await
                } else {
                    Subject::None
                };
                let call = PermittedCall {
                    tool,
                    subject: &subject,
                    alias: alias.as_deref(),
                    client: request.context.extension::<Principal>(),
                    is_from_text: request.context.extension::<FromText>().is_some(),
                };
                Self::decide(&rules, call)
            }
        }))
    }

    /// Returns the globs of paths that no client may read with the gateway's tools. `LS`, `Glob` and `Grep` leave these paths out of their
    /// results.
    pub(crate) fn unreadable(rules: &[Self]) -> Vec<String> {
        rules
            .iter()
            .take(Self::restricting_all(rules))
            .filter_map(|rule| rule.tool.reader_glob())
            .map(|glob| match glob.strip_prefix('!') {
                // In the globs of a workspace, a `!` at the beginning means an exception; here it is a letter of the path.
                Some(rest) => format!("{{!}}{rest}"),
                None => glob.to_owned(),
            })
            .collect()
    }

    /// Returns the number of rules before the first one that may let some client read a file.
    fn restricting_all(rules: &[Self]) -> usize {
        let may_let_read = |rule: &Self| {
            let is_for_all = rule.clients.is_none() && rule.from_text.is_none();
            rule.tool.matches_reader() && !(rule.decision != DecisionName::Allow && is_for_all)
        };
        rules.iter().position(may_let_read).unwrap_or(rules.len())
    }

    fn decide(rules: &[Self], call: PermittedCall<'_>) -> Decision {
        let restricting_all = Self::restricting_all(rules);
        let matches = |(index, rule): &(usize, &Self)| {
            rule.matches(
                call,
                *index < restricting_all && rule.tool.reader_glob().is_some(),
            )
        };
        let Some((_, rule)) = rules.iter().enumerate().find(matches) else {
            return Decision::Allow;
        };
        match rule.decision {
            DecisionName::Allow => Decision::Allow,
            DecisionName::Deny => Decision::Deny(rule.denial(call)),
            DecisionName::Ask => Decision::Interrupt,
        }
    }

    /// Returns the reason of a denial for the model. A call that searches more than the denied paths learns what it may search.
    fn denial(&self, call: PermittedCall<'_>) -> String {
        if let Some(message) = &self.message {
            return message.clone();
        }
        match call.subject {
            Subject::Paths(_)
                if !self
                    .tool
                    .matches_subject(call.tool, call.subject, Effect::LeaveOut) =>
            {
                "the folder may contain files that are denied to this client; send the `path` of a folder without them"
                    .to_owned()
            }
            _ => String::new(),
        }
    }

    /// Rejects rules that match no tool of the gateway, since they would have no effect. Rules for the client's tools are rejected, too,
    /// since the client runs these tools. A rule for `*` is accepted even if the gateway has no tools, and a rule whose pattern `may_match` a tool
    /// that an MCP server lists later.
    pub(crate) fn check(
        rules: &[Self],
        tools: &[String],
        may_match: &dyn Fn(&str) -> bool,
        clients: &[ClientKey],
        mistakes: &mut Mistakes,
    ) {
        for (index, rule) in rules.iter().enumerate() {
            for name in rule.clients.iter().flatten() {
                if !clients.iter().any(|client| client.name == *name) {
                    mistakes.add(
                        &["permissions", &index.to_string(), "clients"],
                        format_args!("unknown client `{name}`; expected the name of a client with a key"),
                    );
                }
            }
            let pattern = rule.tool.name();
            let is_match = |tool: &String| rule.tool.matches_name(tool);
            if pattern == "*" || may_match(pattern) || tools.iter().any(is_match) {
                continue;
            }
            mistakes.add(
                &["permissions", &index.to_string(), "tool"],
                format_args!(
                    "no tool of the gateway is called `{pattern}`, so this rule does nothing; {} \
                     (the client's own tools are not the gateway's to permit)",
                    unknown_tool::advice(pattern, tools),
                ),
            );
        }
    }
}

/// Threads that follow the links of paths.
static THREADS: BlockingThreads = BlockingThreads::new(8);

/// Returns the argument of a call to which rules apply, as the tool receives the argument.
async fn subject(request: &PermissionRequest, root: Option<Arc<Path>>) -> Subject {
    let (tool, call) = (
        request.definition().name.as_str().to_owned(),
        request.call.clone(),
    );
    let find = move || Subject::new(&tool, root.as_deref(), |name| call.argument(name));
    // Without the argument, no rule with a pattern of arguments allows the call.
    THREADS.run(find).await.unwrap_or(Subject::None)
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::super::file::read;
    use super::*;

    fn rules(text: &str) -> Vec<PermissionRule> {
        let file = read::<Settings>(text);
        assert!(file.mistakes.is_empty(), "{:?}", file.mistakes);
        file.settings.permissions
    }

    /// Each row has one rule, and a call: its tool, client and origin.
    #[test]
    fn each_condition_of_a_rule_has_matching_and_other_calls() {
        for (conditions, tool, client, is_from_text, is_match) in [
            // A name matches itself alone, letter for letter.
            (r#"tool = "Bash""#, "Bash", None, false, true),
            (r#"tool = "Bash""#, "bash", None, false, false),
            (r#"tool = "Bash""#, "BashOutput", None, false, false),
            (r#"tool = "a.b""#, "axb", None, false, false),
            // `*` matches any text, also none, at any place.
            (r#"tool = "*""#, "Bash", None, false, true),
            (r#"tool = "Bash*""#, "Bash", None, false, true),
            (r#"tool = "Bash*""#, "BashOutput", None, false, true),
            (r#"tool = "*Output""#, "BashOutput", None, false, true),
            (r#"tool = "T*d*""#, "TodoRead", None, false, true),
            (r#"tool = "T*d*""#, "Task", None, false, false),
            (r#"tool = "mcp__*__read""#, "mcp__files__read", None, false, true),
            (
                r#"tool = "mcp__*__read""#,
                "mcp__files__write",
                None,
                false,
                false,
            ),
            // Other characters of shells are text.
            (r#"tool = "?ash""#, "Bash", None, false, false),
            (r#"tool = "[B]ash""#, "Bash", None, false, false),
            // The names of keys.
            (
                "tool = \"*\"\nclients = [\"ada\", \"bob\"]",
                "Bash",
                Some("bob"),
                false,
                true,
            ),
            (
                "tool = \"*\"\nclients = [\"ada\", \"bob\"]",
                "Bash",
                Some("eve"),
                false,
                false,
            ),
            (
                "tool = \"*\"\nclients = [\"ada\", \"bob\"]",
                "Bash",
                None,
                false,
                false,
            ),
            (
                "tool = \"*\"\nclients = [\"a*\"]",
                "Bash",
                Some("ada"),
                false,
                false,
            ),
            // Calls that were recovered from text, and others.
            ("tool = \"Bash\"\nfrom_text = true", "Bash", None, true, true),
            ("tool = \"Bash\"\nfrom_text = true", "Bash", None, false, false),
            ("tool = \"Bash\"\nfrom_text = false", "Bash", None, true, false),
            ("tool = \"Bash\"\nfrom_text = false", "Bash", None, false, true),
            (r#"tool = "Bash""#, "Bash", None, true, true),
            // All conditions must hold.
            (
                "tool = \"B*\"\nfrom_text = true\nclients = [\"ada\"]",
                "Bash",
                Some("ada"),
                true,
                true,
            ),
            (
                "tool = \"B*\"\nfrom_text = true\nclients = [\"ada\"]",
                "Bash",
                Some("eve"),
                true,
                false,
            ),
            (
                "tool = \"B*\"\nfrom_text = true\nclients = [\"ada\"]",
                "Read",
                Some("ada"),
                true,
                false,
            ),
        ] {
            let rules = rules(&format!("[[permissions]]\ndecision = \"ask\"\n{conditions}"));
            let client = client.map(Principal::from_key_name);
            let call = PermittedCall {
                tool,
                subject: &Subject::None,
                alias: None,
                client: client.as_ref(),
                is_from_text,
            };
            let decision = PermissionRule::decide(&rules, call);
            let expected = if is_match {
                matches!(decision, Decision::Interrupt)
            } else {
                matches!(decision, Decision::Allow)
            };
            assert!(expected, "{conditions}, {call:?}: {decision:?}");
        }
    }

    #[test]
    fn unreadable_paths_are_denied_to_all_clients_before_any_exception() {
        let deny = |tool: &str| format!("[[permissions]]\ndecision = \"deny\"\ntool = \"{tool}\"\n");
        let of_ada = "clients = [\"ada\"]\n";
        for (text, unreadable) in [
            (
                deny("Read(secret/**)") + &deny("Read(./*.key)") + &deny("Read(*.pem)"),
                &["secret/**", "*.key", "**/*.pem"][..],
            ),
            (
                deny("Edit(src/**)") + &deny("Grep(/a)") + &deny("Read(/b)"),
                &["b"],
            ),
            (
                deny("Read(/a)") + "[[permissions]]\ntool = \"Read(/b)\"\ndecision = \"ask\"\n",
                &["a", "b"],
            ),
            (deny("Read(/a)") + of_ada + &deny("Read(/b)"), &[]),
            (
                deny("Read(/a)")
                    + "[[permissions]]\ntool = \"*\"\ndecision = \"allow\"\n"
                    + &deny("Read(/b)"),
                &["a"],
            ),
            (deny("Read(/a)") + &deny("Read") + &deny("Read(/b)"), &["a", "b"]),
            (deny("Read(/!a)"), &["{!}a"]),
        ] {
            assert_eq!(PermissionRule::unreadable(&rules(&text)), unreadable, "{text}");
        }
    }

    /// A search is denied for paths that its results would show, and not for paths that they leave out.
    #[test]
    fn searches_above_denied_paths_are_denied_unless_results_leave_the_paths_out() {
        let deny = |tool: &str| format!("[[permissions]]\ndecision = \"deny\"\ntool = \"{tool}\"\n");
        let allow = "[[permissions]]\ndecision = \"allow\"\ntool = \"Read(public/**)\"\n";
        let root = Subject::Paths(vec!["".into()]);
        let other = Subject::Paths(vec!["src".into()]);
        for (text, is_denied) in [
            (deny("Read(secret/**)"), false),
            (deny("Read(secret/**)") + "clients = [\"bob\"]\n", true),
            (deny("Read(secret/**)") + "clients = [\"ada\"]\n", false),
            (deny("Read(secret/**)") + "from_text = false\n", true),
            (allow.to_owned() + &deny("Read(secret/**)"), true),
            (deny("Grep(secret/**)"), true),
        ] {
            let rules = rules(&text);
            let bob = Principal::from_key_name("bob");
            let decide = |subject| {
                let call = PermittedCall {
                    tool: "Grep",
                    subject,
                    alias: None,
                    client: Some(&bob),
                    is_from_text: false,
                };
                PermissionRule::decide(&rules, call)
            };
            match decide(&root) {
                Decision::Deny(reason) => {
                    assert!(
                        is_denied && reason.contains("a folder without them"),
                        "{text}: {reason}"
                    );
                }
                decision => assert!(!is_denied, "{text}: {decision:?}"),
            }
            assert!(matches!(decide(&other), Decision::Allow), "{text}");
        }
    }

    #[test]
    fn the_first_matching_rule_decides() {
        let rules = rules(
            "[[permissions]]\ntool = \"Todo*\"\ndecision = \"ask\"\nclients = [\"ada\"]\n\
             [[permissions]]\ntool = \"TodoRead\"\ndecision = \"allow\"\n\
             [[permissions]]\ntool = \"mcp__todo__*\"\ndecision = \"ask\"\n\
             [[permissions]]\ntool = \"*\"\ndecision = \"deny\"\nmessage = \"closed\"",
        );
        let decide = |tool, client: Option<&Principal>| {
            let call = PermittedCall {
                tool,
                subject: &Subject::None,
                alias: (tool == "TodoWrite").then_some("mcp__todo__write"),
                client,
                is_from_text: false,
            };
            PermissionRule::decide(&rules, call)
        };
        let ada = Principal::from_key_name("ada");
        // A credential that equals the name of a key is another client.
        let other = Principal::from_credential("ada");
        assert!(matches!(decide("TodoRead", Some(&ada)), Decision::Interrupt));
        assert!(matches!(decide("TodoRead", Some(&other)), Decision::Allow));
        assert!(matches!(decide("TodoRead", None), Decision::Allow));
        assert!(matches!(decide("TodoWrite", None), Decision::Interrupt));
        assert!(matches!(decide("Todo", None), Decision::Deny(reason) if reason == "closed"));
    }
}
