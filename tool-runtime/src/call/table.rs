//! [`Tools`]: the tools of a registry, with the settings and states for calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::arguments::ArgumentReader;
use crate::arguments::caller::Caller;
use crate::arguments::policy::Policy;
use crate::call::layer::Layers;
use crate::host::session_values::SessionValues;
use crate::host::state::States;
use crate::tool::entry::{NestedTool, RegisteredTool, SchemaSettings};
use crate::tool::left_out::LeftOut;
use crate::tool::registry_error::RegistryError;
use crate::tool::source_names;
use crate::wire::definition::ToolName;
use crate::wire::issue::excerpt;

/// The part of a registry that runs calls. Clones of the registry share it.
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    in_order: Vec<Arc<RegisteredTool>>,
    by_name: HashMap<ToolName, usize, foldhash::fast::RandomState>,
    pub(crate) states: States,
    pub(crate) policy: Policy,
    pub(crate) warnings_in_results: bool,
    pub(crate) include_defaults: bool,
    pub(crate) schemas: SchemaSettings,
    pub(crate) without_fast_path: bool,
    pub(crate) accepts_any_name: bool,
    nested: Vec<NestedRegistry>,
}

/// A registry whose tools are also in another registry.
#[derive(Clone, Debug)]
pub(crate) struct NestedRegistry {
    pub(crate) tools: Arc<Tools>,
    /// Layers around the calls of the nested registry, inside the layers of the outer registry.
    pub(crate) layers: Layers,
}

impl Tools {
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.in_order.get(*self.by_name.get(name)?)
    }

    /// Returns all tools, in the order of their registration.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &RegisteredTool> {
        self.in_order.iter().map(Arc::as_ref)
    }

    /// Returns the reader of a tool's arguments. The most specific policy applies: the policy of the call, or else of the
    /// tool, or else of the registry.
    pub(crate) fn reader<'a>(&self, tool: &'a RegisteredTool, call: Option<Policy>) -> ArgumentReader<'a> {
        ArgumentReader {
            compiled: &tool.compiled,
            policy: call.or(tool.policy).unwrap_or(self.policy),
            caller: if self.accepts_any_name {
                Caller::AnyModel
            } else {
                Caller::Model(tool.qualified_name.as_str())
            },
            has_fast_path: !self.without_fast_path,
        }
    }

    /// Returns whether a tool has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
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

    /// Adds the tools of another registry, with a prefix before each name. Calls go to that registry.
    pub(crate) fn nest(&mut self, prefix: &str, nested: NestedRegistry) -> Result<(), RegistryError> {
        match self.nest_usable(prefix, nested)?.into_iter().next() {
            Some(left_out) => Err(left_out.error),
            None => Ok(()),
        }
    }

    /// Adds those tools of another registry whose names are not taken, and returns the others.
    pub(crate) fn nest_usable(
        &mut self,
        prefix: &str,
        mut nested: NestedRegistry,
    ) -> Result<Vec<LeftOut>, RegistryError> {
        Arc::make_mut(&mut nested.tools).qualify(prefix)?;
        let mut left_out = Vec::new();
        for inner in nested.tools.tools() {
            let name = prefixed(prefix, &inner.name, inner.source_name())?;
            let mut tool = inner.clone();
            tool.source_name = Some(inner.source_name().into());
            tool.definition.name = name.to_string();
            tool.nested = Some(NestedTool {
                registry: self.nested.len(),
                name: inner.name.clone(),
            });
            tool.name = name;
            if let Err(error) = self.add(tool) {
                left_out.push(LeftOut::new(inner.name.as_str(), error));
            }
        }
        self.nested.push(nested);
        Ok(left_out)
    }

    /// Moves a tool into a new registry with these layers, and nests that registry in its place. The new registry
    /// shares the states, the settings, and the tool's own nested registry.
    pub(crate) fn enclose(&mut self, name: &str, layers: Layers) -> Result<(), RegistryError> {
        let Some(index) = self.by_name.get(name).copied() else {
            return Err(not_registered(name));
        };
        let mut inner = self.clone();
        inner.retain(&|other| other == name);
        let registry = self.nested.len();
        if let Some(entry) = self.in_order.get_mut(index) {
            let tool = Arc::make_mut(entry);
            let name = tool.name.clone();
            tool.nested = Some(NestedTool { registry, name });
        }
        let tools = Arc::new(inner);
        self.nested.push(NestedRegistry { tools, layers });
        Ok(())
    }

    /// Adds a prefix to the names by which the model calls the tools.
    fn qualify(&mut self, prefix: &str) -> Result<(), RegistryError> {
        for tool in &mut self.in_order {
            let tool = Arc::make_mut(tool);
            tool.qualified_name = prefixed(prefix, &tool.qualified_name, tool.source_name())?;
        }
        for nested in &mut self.nested {
            Arc::make_mut(&mut nested.tools).qualify(prefix)?;
        }
        Ok(())
    }

    /// Returns whether this registry has nested registries.
    #[inline]
    pub(crate) fn has_nested(&self) -> bool {
        !self.nested.is_empty()
    }

    /// Returns the nested registry that has a tool, and the tool's name there.
    pub(crate) fn nested(&self, name: &str) -> Option<(&NestedRegistry, &str)> {
        let nested = self.tool(name)?.nested.as_ref()?;
        Some((self.nested.get(nested.registry)?, nested.name.as_str()))
    }

    /// Removes the values of a session from this registry and from nested registries. Returns the values of this registry.
    pub(crate) fn remove_session(&self, session: Option<&str>) -> Option<SessionValues> {
        // The values of this registry are removed first, since nested registries may share the store.
        let removed = self.states.sessions.remove(session);
        for nested in &self.nested {
            nested.tools.remove_session(session);
        }
        removed
    }

    /// Changes a tool in this registry and in its nested registry. Other registries that share the tool keep the unchanged
    /// tool.
    pub(crate) fn change(
        &mut self,
        name: &str,
        change: &dyn Fn(&mut RegisteredTool),
    ) -> Result<(), RegistryError> {
        let entry = self
            .by_name
            .get(name)
            .and_then(|index| self.in_order.get_mut(*index));
        let Some(tool) = entry else {
            return Err(not_registered(name));
        };
        let tool = Arc::make_mut(tool);
        change(tool);
        if let Some(inner) = &tool.nested
            && let Some(nested) = self.nested.get_mut(inner.registry)
        {
            Arc::make_mut(&mut nested.tools).change(inner.name.as_str(), change)?;
        }
        Ok(())
    }

    /// Keeps the tools for whose names `keep` returns `true`. Nested registries keep only these tools, too, since their
    /// layers may make calls.
    pub(crate) fn retain(&mut self, keep: &dyn Fn(&str) -> bool) {
        for (index, nested) in self.nested.iter_mut().enumerate() {
            let tools = self.in_order.iter().filter(|tool| keep(tool.name.as_str()));
            let inner = tools.filter_map(|tool| tool.nested.as_ref());
            let kept: HashSet<&str> = inner
                .filter(|inner| inner.registry == index)
                .map(|inner| inner.name.as_str())
                .collect();
            Arc::make_mut(&mut nested.tools).retain(&|name| kept.contains(name));
        }
        self.in_order.retain(|tool| keep(tool.name.as_str()));
        let indices = self
            .in_order
            .iter()
            .enumerate()
            .map(|(index, tool)| (tool.name.clone(), index));
        self.by_name = indices.collect();
    }
}

fn not_registered(name: &str) -> RegistryError {
    RegistryError::NotRegistered {
        tool: excerpt(name).into_owned(),
    }
}

/// Returns the name of a tool with the prefix of its registry; a name that is then too long is cut.
fn prefixed(prefix: &str, name: &ToolName, own: &str) -> Result<ToolName, RegistryError> {
    Ok(source_names::fitted(&format!("{prefix}{name}"), own)?)
}

/// Separator between the prefix of a nested registry and the name of a tool.
pub(crate) const SEPARATOR: &str = "__";
