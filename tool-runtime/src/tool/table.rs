//! [`Tools`]: the tools of a registry, with the settings and states that calls need.

use std::collections::HashMap;
use std::sync::Arc;

use crate::arguments::ArgumentReader;
use crate::arguments::policy::Policy;
use crate::host::state::States;
use crate::tool::entry::RegisteredTool;
use crate::tool::registry_error::RegistryError;
use crate::wire::definition::ToolName;

/// The part of a registry that calls need; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    in_order: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<ToolName, usize, foldhash::fast::RandomState>,
    pub(crate) states: States,
    pub(crate) policy: Policy,
    pub(crate) warnings_in_results: bool,
    pub(crate) include_defaults: bool,
    pub(crate) without_fast_path: bool,
}

impl Tools {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.in_order.get(*self.by_name.get(name)?)
    }

    /// All tools, in the order of their registration.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &RegisteredTool> {
        self.in_order.iter().map(Arc::as_ref)
    }

    /// The reader of a tool's arguments. The most specific policy counts: the call's, then the tool's, then the registry's.
    pub(crate) fn reader<'a>(&self, tool: &'a RegisteredTool, call: Option<Policy>) -> ArgumentReader<'a> {
        ArgumentReader {
            compiled: &tool.compiled,
            policy: call.or(tool.policy).unwrap_or(self.policy),
            has_fast_path: !self.without_fast_path,
        }
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

    /// Changes a tool. Other registries that share it keep the old one.
    pub(crate) fn change(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut RegisteredTool),
    ) -> Result<(), RegistryError> {
        let entry = self
            .by_name
            .get(name)
            .and_then(|index| self.in_order.get_mut(*index));
        let Some(tool) = entry else {
            return Err(RegistryError::NotRegistered {
                tool: crate::wire::issue::excerpt(name).into_owned(),
            });
        };
        change(Arc::make_mut(tool));
        Ok(())
    }

    /// Keeps the tools for whose names `keep` returns `true`.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.in_order.retain(|tool| keep(tool.name.as_str()));
        let indices = self
            .in_order
            .iter()
            .enumerate()
            .map(|(index, tool)| (tool.name.clone(), index));
        self.by_name = indices.collect();
    }
}
