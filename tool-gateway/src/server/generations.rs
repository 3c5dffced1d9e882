//! [`Generations`]: the gateway's tools, which may change between turns. A turn takes one [`Generation`], and never changes it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

#[cfg(any(feature = "mcp", test))]
use tokio::sync::watch;
use tool_runtime::format::mcp;
use tool_runtime::{ToolDefinition, ToolRegistry};

use crate::fold_map::FoldMap;
use crate::session::chain::Digest;
use crate::session::principal::Principal;
use crate::settings::offload::READ_OFFLOADED;
use crate::turn::ownership::InternalTool;

/// Maximum number of generations that a session can keep, with the current one.
#[cfg(any(feature = "mcp", test))]
const KEPT: usize = 8;

/// Names of tools by client, for clients that do not have all tools.
pub(crate) type ClientTools = FoldMap<Principal, BTreeSet<String>>;

/// Tools of the gateway at one time.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    pub(crate) registry: ToolRegistry,
    /// Tools of the registry in the form for the upstream, in the order of registration.
    tools: Vec<Arc<InternalTool>>,
    /// Tools of the clients that do not have all tools.
    tools_by_client: FoldMap<Principal, Vec<Arc<InternalTool>>>,
    /// Names of the tools whose calls wait for the client's results. Empty if the tools never change, since the settings have these
    /// names then.
    pub(crate) deferred: BTreeSet<String>,
    /// Digest of the definitions; `None` if the tools never change.
    pub(crate) digest: Option<Digest>,
    /// Whether a request has taken this generation.
    is_taken: AtomicBool,
}

impl Generation {
    fn new(registry: ToolRegistry, clients: &ClientTools, is_changeable: bool) -> Self {
        let definitions = registry.tool_definitions();
        let digest = is_changeable.then(|| digest(&definitions));
        let deferred = definitions
            .iter()
            .filter(|tool| is_changeable && tool.hints.deferred == Some(true))
            .map(|tool| tool.name.clone())
            .collect();
        let tools: Vec<_> = definitions
            .into_iter()
            .map(|definition| Arc::new(InternalTool::new(definition.clone())))
            .collect();
        let tools_of = |names: &BTreeSet<String>| {
            let has =
                |tool: &&Arc<InternalTool>| tool.name() == READ_OFFLOADED || names.contains(tool.name());
            tools.iter().filter(has).cloned().collect()
        };
        Self {
            tools_by_client: clients
                .iter()
                .map(|(client, names)| (client.clone(), tools_of(names)))
                .collect(),
            registry,
            tools,
            deferred,
            digest,
            is_taken: AtomicBool::new(false),
        }
    }

    /// Returns the tools that a client has, in the form for the upstream.
    pub(crate) fn tools_of(&self, client: &Principal) -> &[Arc<InternalTool>] {
        self.tools_by_client.get(client).unwrap_or(&self.tools)
    }
}

/// Computes the digest of definitions. Processes with equal tools compute equal digests.
fn digest(definitions: &[&ToolDefinition]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for definition in definitions {
        // MCP's form has all fields of a definition.
        let text = mcp::tool(definition).to_string();
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    Digest::from(hasher.finalize())
}

/// Current generation of the gateway's tools, and the last ones before.
#[derive(Debug, Default)]
pub(crate) struct Generations {
    clients: ClientTools,
    kept: RwLock<KeptGenerations>,
    /// Number of changes.
    #[cfg(any(feature = "mcp", test))]
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct KeptGenerations {
    current: Arc<Generation>,
    /// Earlier generations, the latest last.
    earlier: VecDeque<Arc<Generation>>,
}

impl Generations {
    /// Creates generations of tools that never change.
    pub(crate) fn fixed(registry: ToolRegistry, clients: ClientTools) -> Self {
        Self::with_first(registry, clients, false)
    }

    /// Creates the first generation of tools that may change.
    #[cfg(any(feature = "mcp", test))]
    pub(crate) fn changeable(registry: ToolRegistry, clients: ClientTools) -> Self {
        Self::with_first(registry, clients, true)
    }

    fn with_first(registry: ToolRegistry, clients: ClientTools, is_changeable: bool) -> Self {
        let current = Arc::new(Generation::new(registry, &clients, is_changeable));
        Self {
            clients,
            kept: RwLock::new(KeptGenerations {
                current,
                earlier: VecDeque::new(),
            }),
            #[cfg(any(feature = "mcp", test))]
            changes: watch::Sender::new(0),
        }
    }

    /// Returns the current generation for a request.
    pub(crate) fn current(&self) -> Arc<Generation> {
        let kept = self.read();
        if !kept.current.is_taken.load(Ordering::Relaxed) {
            kept.current.is_taken.store(true, Ordering::Relaxed);
        }
        Arc::clone(&kept.current)
    }

    /// Returns the tools of the current generation, and a channel that is notified of the next one.
    #[cfg(feature = "mcp")]
    pub(crate) fn registry_and_changes(&self) -> (ToolRegistry, watch::Receiver<u64>) {
        let changes = self.changes.subscribe();
        (self.read().current.registry.clone(), changes)
    }

    /// Returns the names of the tools of clients that do not have all tools.
    #[cfg(feature = "mcp")]
    pub(crate) fn clients(&self) -> &ClientTools {
        &self.clients
    }

    /// Returns the generation with this digest, if it is another than `current` and is kept. The tools of a session are part of the prefix to
    /// which thinking and the prompt cache are bound, so a session keeps the generation of its first turn.
    pub(crate) fn other(&self, current: &Generation, digest: Option<Digest>) -> Option<Arc<Generation>> {
        if digest == current.digest || current.digest.is_none() {
            return None;
        }
        let kept = self.read();
        let mut all = kept.earlier.iter().chain([&kept.current]);
        all.find(|generation| digest.is_some() && generation.digest == digest)
            .cloned()
    }

    /// Returns the definitions of a client's tools, in the order of registration.
    pub(crate) fn definitions<'g>(
        &self,
        generation: &'g Generation,
        client: &Principal,
    ) -> Vec<&'g ToolDefinition> {
        let mut definitions = generation.registry.tool_definitions();
        if let Some(names) = self.clients.get(client) {
            definitions.retain(|tool| names.contains(tool.name.as_str()));
        }
        definitions
    }

    /// Returns whether a tool with this name has this schema in any kept generation.
    pub(crate) fn had_schema(&self, name: &str, schema: &str) -> bool {
        let kept = self.read();
        if kept.current.digest.is_none() {
            return false;
        }
        let earlier = kept.earlier.iter().chain([&kept.current]);
        earlier
            .flat_map(|generation| &generation.tools)
            .any(|tool| tool.name() == name && tool.accepts(schema))
    }

    /// Makes tools the current generation. Requests that have taken an earlier one keep it.
    #[cfg(any(feature = "mcp", test))]
    pub(crate) fn publish(&self, registry: ToolRegistry) -> Arc<Generation> {
        let next = Arc::new(Generation::new(registry, &self.clients, true));
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut kept.current, Arc::clone(&next));
        // Servers start one after another, so that most of the first generations are never taken.
        if last.is_taken.load(Ordering::Relaxed) {
            kept.earlier.push_back(last);
        }
        // Tools that return are the same generation, whose calls reach the current connections.
        kept.earlier.retain(|generation| {
            let is_same = generation.digest == next.digest;
            if is_same {
                next.is_taken.store(true, Ordering::Relaxed);
            }
            !is_same
        });
        while kept.earlier.len() >= KEPT {
            kept.earlier.pop_front();
        }
        drop(kept);
        self.changes.send_modify(|changes| *changes += 1);
        next
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, KeptGenerations> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Creates a registry with a tool whose schema has this property.
    fn registry(property: &str) -> ToolRegistry {
        let mut registry = ToolRegistry::new();
        let schema = json!({ "type": "object", "properties": { property: { "type": "string" } } });
        let definition = ToolDefinition::new("search", "Search.", schema);
        registry
            .register_dynamic(definition, async |_: Value, _: tool_runtime::Context| "found")
            .unwrap();
        registry
    }

    fn schema(property: &str) -> String {
        json!({ "type": "object", "properties": { property: { "type": "string" } } }).to_string()
    }

    #[test]
    fn tools_that_never_change_have_no_digest() {
        let generations = Generations::fixed(registry("a"), ClientTools::default());
        assert_eq!(generations.current().digest, None);
    }

    #[test]
    fn equal_tools_have_equal_digests_in_each_process() {
        let digest = |property: &str| {
            let generations = Generations::changeable(registry(property), ClientTools::default());
            generations.current().digest.unwrap()
        };
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("b"));
    }

    /// Of twelve generations, each of which a request took, the last eight are found with their schemas, and none before them.
    #[test]
    fn the_last_eight_generations_are_kept() {
        let names: Vec<String> = (0..12).map(|at| format!("p{at}")).collect();
        let generations = Generations::changeable(registry(&names[0]), ClientTools::default());
        let mut digests = vec![generations.current().digest.unwrap()];
        for name in &names[1..] {
            generations.publish(registry(name));
            digests.push(generations.current().digest.unwrap());
        }
        for (at, (name, digest)) in names.iter().zip(&digests).enumerate() {
            let is_kept = at >= 12 - KEPT;
            let found = generations.other(&generations.current(), Some(*digest));
            assert_eq!(found.is_some(), is_kept && at < 11, "{at}");
            if let Some(found) = found {
                assert_eq!(found.digest, Some(*digest));
            }
            assert_eq!(generations.had_schema("search", &schema(name)), is_kept, "{at}");
            assert!(!generations.had_schema("other", &schema(name)));
        }
    }

    #[test]
    fn generations_without_a_request_take_no_place() {
        let generations = Generations::changeable(registry("first"), ClientTools::default());
        let first = generations.current().digest.unwrap();
        for at in 0..20 {
            generations.publish(registry(&format!("p{at}")));
        }
        assert!(generations.other(&generations.current(), Some(first)).is_some());
        assert!(!generations.had_schema("search", &schema("p18")));
    }

    /// The tools return, and change again before the next request of the session.
    #[test]
    fn tools_that_return_and_change_again_are_kept() {
        let generations = Generations::changeable(registry("a"), ClientTools::default());
        let first = generations.current().digest.unwrap();
        for name in ["b", "a", "c"] {
            generations.publish(registry(name));
        }
        assert!(generations.other(&generations.current(), Some(first)).is_some());
    }

    #[test]
    fn tools_that_return_are_the_current_generation() {
        let generations = Generations::changeable(registry("a"), ClientTools::default());
        let first = generations.current();
        generations.publish(registry("b"));
        let second = generations.current();
        generations.publish(registry("a"));
        assert_eq!(generations.current().digest, first.digest);
        assert!(generations.other(&generations.current(), first.digest).is_none());
        assert!(generations.other(&generations.current(), second.digest).is_some());
        // A request that began before the change still finds the current generation.
        assert!(generations.other(&second, first.digest).is_some());
    }
}
