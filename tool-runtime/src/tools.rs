//! The tools of a registry and what every call needs of them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::definition::ToolName;
use crate::policy::Policy;
use crate::registered::RegisteredTool;
use crate::registry_error::RegistryError;
use crate::state::States;

/// What calls need of a registry, shared by its clones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    in_order: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<ToolName, usize, BuildHasherDefault<NameHasher>>,
    pub(crate) states: States,
    pub(crate) policy: Policy,
    pub(crate) warnings_in_results: bool,
    pub(crate) shows_defaults: bool,
}

impl Tools {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.in_order.get(*self.by_name.get(name)?)
    }

    /// All tools, in the order of their registration.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &RegisteredTool> {
        self.in_order.iter().map(Arc::as_ref)
    }

    /// The narrowest policy counts: the call's, the tool's, the registry's.
    pub(crate) fn policy_of(&self, tool: &RegisteredTool, call: Option<Policy>) -> Policy {
        call.or(tool.policy).unwrap_or(self.policy)
    }

    pub(crate) fn add(&mut self, tool: RegisteredTool) -> Result<(), RegistryError> {
        if self.by_name.contains_key(&tool.name) {
            return Err(RegistryError::Duplicate {
                tool: tool.name.to_string(),
            });
        }
        self.by_name.insert(tool.name.clone(), self.in_order.len());
        self.in_order.push(Arc::new(tool));
        Ok(())
    }

    /// Changes a tool; its former self lives on in other registries.
    pub(crate) fn change(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut RegisteredTool),
    ) -> Result<(), RegistryError> {
        let place = self
            .by_name
            .get(name)
            .and_then(|place| self.in_order.get_mut(*place));
        let Some(tool) = place else {
            return Err(RegistryError::NotRegistered {
                tool: crate::issue::echo(name).into_owned(),
            });
        };
        change(Arc::make_mut(tool));
        Ok(())
    }

    /// Keeps the tools that `keep` names, in their order.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.in_order.retain(|tool| keep(tool.name.as_str()));
        let places = self
            .in_order
            .iter()
            .enumerate()
            .map(|(place, tool)| (tool.name.clone(), place));
        self.by_name = places.collect();
    }
}

/// FNV-1a: quick for names, which are short. What a model sends is only looked up, it cannot crowd the table.
#[derive(Clone, Debug)]
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
