//! [`PermissionRule`]: allows, denies or hands over calls by the name of their tool.

use std::sync::Arc;

use serde::Deserialize;
use tool_runtime::ToolRegistry;
use tool_runtime::permission::{Decision, Permission, PermissionRequest};

use super::client_keys::ClientKey;
use super::mistakes::Mistakes;
use super::{unknown_tool, values};
use crate::name_pattern::matches;
use crate::session::principal::Principal;

/// A rule about calls. The first rule whose pattern matches the name of the tool applies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PermissionRule {
    /// Name of a tool, in which `*` matches any text.
    pub(crate) tool: String,
    #[serde(deserialize_with = "values::name")]
    pub(crate) decision: DecisionName,
    /// Reason that the model receives.
    pub(crate) message: Option<String>,
    /// Names of the clients to which the rule applies; all by default.
    pub(crate) clients: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionName {
    Allow,
    Deny,
    Ask,
}

impl PermissionRule {
    fn matches(&self, name: &str) -> bool {
        matches(&self.tool, name)
    }

    fn applies_to(&self, client: Option<&Principal>) -> bool {
        self.clients.as_ref().is_none_or(|clients| {
            let client = client.and_then(Principal::key_name);
            clients.iter().any(|name| client == Some(name))
        })
    }

    /// Adds a permission layer with these rules to a registry.
    pub(crate) fn apply(rules: &[Self], registry: ToolRegistry) -> ToolRegistry {
        if rules.is_empty() {
            return registry;
        }
        let rules: Arc<[Self]> = rules.into();
        registry.layer(Permission::new(move |request: PermissionRequest| {
            let client = request.context.extension::<Principal>();
            let decision = Self::decide(&rules, request.definition().name.as_str(), client);
            async move { decision }
        }))
    }

    fn decide(rules: &[Self], tool: &str, client: Option<&Principal>) -> Decision {
        let mut rules = rules.iter().filter(|rule| rule.applies_to(client));
        let Some(rule) = rules.find(|rule| rule.matches(tool)) else {
            return Decision::Allow;
        };
        match rule.decision {
            DecisionName::Allow => Decision::Allow,
            DecisionName::Deny => Decision::Deny(rule.message.clone().unwrap_or_default()),
            DecisionName::Ask => Decision::Interrupt,
        }
    }

    /// Rejects rules that match no tool of the gateway, since they would have no effect. This includes the client's tools, which the client
    /// runs without the gateway. A rule for `*` is accepted even without tools.
    pub(crate) fn check(rules: &[Self], tools: &[String], clients: &[ClientKey], mistakes: &mut Mistakes) {
        for (index, rule) in rules.iter().enumerate() {
            for name in rule.clients.iter().flatten() {
                if !clients.iter().any(|client| client.name == *name) {
                    mistakes.add(
                        &["permissions", &index.to_string(), "clients"],
                        format_args!("unknown client `{name}`; expected the name of a client with a key"),
                    );
                }
            }
            let pattern = &rule.tool;
            if pattern == "*" || tools.iter().any(|tool| rule.matches(tool)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_apply_to_their_clients() {
        let rule = |clients: Option<&[&str]>, decision| PermissionRule {
            tool: "*".to_owned(),
            decision,
            message: None,
            clients: clients.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
        };
        let rules = [
            rule(Some(&["ada", "bob"]), DecisionName::Ask),
            rule(None, DecisionName::Deny),
        ];
        let decide = |client: Option<&Principal>| PermissionRule::decide(&rules, "TodoWrite", client);
        let [ada, eve] = ["ada", "eve"].map(Principal::from_key_name);
        assert!(matches!(decide(Some(&ada)), Decision::Interrupt));
        assert!(matches!(decide(Some(&eve)), Decision::Deny(_)));
        assert!(matches!(
            decide(Some(&Principal::from_credential("ada"))),
            Decision::Deny(_)
        ));
        assert!(matches!(decide(None), Decision::Deny(_)));
    }

    #[test]
    fn patterns_match_complete_names() {
        for (pattern, name, is_match) in [
            ("TodoWrite", "TodoWrite", true),
            ("TodoWrite", "TodoWriter", false),
            ("Todo*", "TodoWrite", true),
            ("*", "", true),
            ("*Write", "TodoWrite", true),
            ("*o*i*", "TodoWrite", true),
            ("*x*", "TodoWrite", false),
            ("Todo*Read", "TodoWrite", false),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }
}
