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

/// As `FxHash`, eight bytes at a time: quick for names, which are short. What a model sends is only looked up, it cannot
/// crowd the table.
#[derive(Clone, Debug, Default)]
struct NameHasher(u64);

impl NameHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        match bytes.last_chunk::<8>() {
            Some(last) => self.add(u64::from_le_bytes(*last)),
            None => rest.iter().for_each(|byte| self.add(u64::from(*byte))),
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        // The upper bits are the better ones, and the table takes the lower ones first.
        self.0.rotate_left(26)
    }
}
