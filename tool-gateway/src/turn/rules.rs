//! [`Rules`]: limits of a turn, and owners of its calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::client_calls::ClientCalls;
use crate::session::minted_id::MintKey;

/// Limits of a turn, and owners of its calls. Cheap to clone, since each checkpoint has a copy.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Rules {
    /// Names of the internal tools.
    pub(crate) internal: Arc<BTreeSet<String>>,
    /// Names of the client's tools.
    pub(crate) external: Arc<BTreeSet<String>>,
    /// Starts of the names of MCP servers' tools, which are never the client's unless the client declares them: a tool that its server has
    /// removed is called by a model that still remembers it.
    pub(crate) server_prefixes: Vec<String>,
    /// Names of the internal tools whose calls wait for the client's results if a message also has external calls.
    pub(crate) deferred: Arc<BTreeSet<String>>,
    /// Maximum number of internal rounds of a turn.
    pub(crate) max_rounds: usize,
    /// Number of input and output tokens after which no further round begins.
    pub(crate) max_tokens: Option<u64>,
    /// Source of the ids of external calls.
    pub(crate) ids: IdSource,
    /// Whether the client does not see thinking, which clients that have not asked for it cannot read.
    pub(crate) hides_thinking: bool,
    /// Reader of the client's calls, if the upstream does not check them.
    pub(crate) client_calls: Option<Arc<ClientCalls>>,
    /// Reader of the client's calls that are recovered from text.
    pub(crate) recovered_calls: Option<Arc<ClientCalls>>,
}

impl Rules {
    /// Returns the name of the internal tool that a call with this name runs. A name in another case, such as `todowrite`, is accepted if
    /// it matches exactly one tool of the request.
    pub(crate) fn internal_name<'n>(&'n self, called: &'n str) -> Option<&'n str> {
        let called = self.declared_name(called);
        if let Some(name) = self.internal.get(called) {
            return Some(name);
        }
        if self.external.contains(called) {
            return None;
        }
        let fits = |name: &&String| name.eq_ignore_ascii_case(called);
        let mut names = self.internal.iter().chain(&*self.external).filter(fits);
        if let Some(name) = names.next().filter(|_| names.next().is_none()) {
            return self.internal.contains(name).then_some(name);
        }
        let mut prefixes = self.server_prefixes.iter();
        prefixes
            .any(|prefix| called.len() > prefix.len() && called.starts_with(prefix.as_str()))
            .then_some(called)
    }

    /// Returns the reader of the client's calls. Calls in text need one, even if the upstream checks its other calls.
    pub(super) fn reader_of(&self, is_from_text: bool) -> Option<&ClientCalls> {
        let recovered = self.recovered_calls.as_deref().filter(|_| is_from_text);
        recovered.or(self.client_calls.as_deref())
    }

    /// Removes additions of models to a name, such as in ` functions.Edit<|end|>`, if a tool has the rest as its name. Only the names from
    /// an upstream that does not check calls are changed.
    pub(crate) fn declared_name<'n>(&self, called: &'n str) -> &'n str {
        let Some(client_calls) = &self.client_calls else {
            return called;
        };
        let is_declared = |name: &&str| client_calls.declares(name) || self.internal.contains(*name);
        let trimmed = called.trim();
        let without_prefix = |name: &'n str| name.strip_prefix("functions.").unwrap_or(name).trim_start();
        let without_suffix = |name: &'n str| name.split_once("<|").map_or(name, |(name, _)| name).trim_end();
        let names = [
            called,
            trimmed,
            without_prefix(trimmed),
            without_suffix(trimmed),
            without_suffix(without_prefix(trimmed)),
        ];
        names.into_iter().find(is_declared).unwrap_or(called)
    }
}

/// Creates ids of calls, which are keyed hashes of their numbers. Sources with equal keys create equal ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct IdSource {
    /// Random unless set. Drawn when the first id is created.
    pub(super) key: Option<[u8; 32]>,
    pub(super) minted: u64,
    /// Key by which later requests recognize the ids. Ids without this key have no MAC.
    pub(super) owner: Option<MintKey>,
}

impl IdSource {
    /// Creates a source of ids of a client's calls.
    pub(crate) fn new(owner: MintKey) -> Self {
        Self {
            owner: Some(owner),
            ..Self::default()
        }
    }

    pub(super) fn mint(&mut self) -> String {
        let key = self.key.get_or_insert_with(crate::random::bytes);
        let hash = blake3::keyed_hash(key, &self.minted.to_le_bytes());
        self.minted += 1;
        match &self.owner {
            Some(owner) => owner.mint(hash.as_bytes()),
            None => format!("toolu_{}", crate::random::id_from(hash.as_bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::client_calls::{ClientCallRules, ClientCallState};
    use crate::wire::request::MessagesRequest;

    #[test]
    fn additions_to_the_names_of_declared_tools_are_removed() {
        let request =
            r#"{"messages":[],"tools":[{"name":"Edit"},{"name":"lookup"},{"name":"functions.odd"}]}"#;
        let request = MessagesRequest::parse(request).unwrap();
        let client_calls = ClientCalls::new(&request, ClientCallRules::default(), ClientCallState::default());
        let rules = Rules {
            internal: Arc::new(["lookup".to_owned()].into()),
            client_calls: Some(Arc::new(client_calls)),
            ..Rules::default()
        };
        for (called, expected) in [
            ("Edit", "Edit"),
            (" Edit\n", "Edit"),
            ("functions.Edit", "Edit"),
            ("Edit<|channel|>commentary", "Edit"),
            (" functions.Edit<|end|>", "Edit"),
            ("functions.odd", "functions.odd"),
            ("functions.Write", "functions.Write"),
            ("edit", "edit"),
            (" Write ", " Write "),
        ] {
            assert_eq!(rules.declared_name(called), expected);
        }
        assert_eq!(rules.internal_name("functions.lookup"), Some("lookup"));
        assert_eq!(Rules::default().declared_name(" Edit"), " Edit");
    }

    #[test]
    fn names_in_other_letters_fit_one_internal_tool_or_none() {
        let rules = |internal: &[&str], external: &[&str]| {
            let names = |names: &[&str]| Arc::new(names.iter().map(|name| (*name).to_owned()).collect());
            Rules {
                internal: names(internal),
                external: names(external),
                ..Rules::default()
            }
        };
        for (called, internal, external, expected) in [
            ("TodoWrite", &["TodoWrite"][..], &[][..], Some("TodoWrite")),
            ("todowrite", &["TodoWrite"], &[], Some("TodoWrite")),
            ("TODOWRITE", &["TodoWrite"], &["Read"], Some("TodoWrite")),
            // A tool of the client.
            ("todowrite", &["TodoWrite"], &["todowrite"], None),
            ("Todowrite", &["TodoWrite"], &["todowrite"], None),
            ("read", &["TodoWrite"], &["Read"], None),
            // Two tools of the gateway.
            ("TODOWRITE", &["TodoWrite", "Todowrite"], &[], None),
            ("Todowrite", &["TodoWrite", "Todowrite"], &[], Some("Todowrite")),
            // Other characters, and letters outside of ASCII.
            ("todo_write", &["TodoWrite"], &[], None),
            ("grü\u{df}en", &["GRÜ\u{df}EN"], &[], None),
            ("", &["TodoWrite"], &[], None),
        ] {
            assert_eq!(
                rules(internal, external).internal_name(called),
                expected,
                "{called}"
            );
        }
    }
}
