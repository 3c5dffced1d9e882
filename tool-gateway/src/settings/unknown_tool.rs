//! [`UnknownTool`]: error of a setting that names a tool that the gateway does not have.

use tool_runtime::ToolRegistry;

/// Error of a tool name that is not in the registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{name}`; {}", advice(.name, .known))]
pub struct UnknownTool {
    /// Unknown name.
    pub name: String,
    /// Names of the registered tools, in the order of registration.
    pub known: Vec<String>,
}

impl UnknownTool {
    /// Checks that the registry has all of these tools.
    pub(crate) fn check<'n>(
        registry: &ToolRegistry,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), Self> {
        let unknown = names.into_iter().find(|name| registry.get_tool(name).is_none());
        let Some(name) = unknown else { return Ok(()) };
        let known = registry.tool_definitions().into_iter();
        Err(Self {
            name: name.to_owned(),
            known: known.map(|tool| tool.name.as_str().to_owned()).collect(),
        })
    }
}

/// Tools that a setting may name.
#[derive(Clone, Copy)]
pub(crate) struct KnownTools<'k> {
    pub(crate) registry: &'k ToolRegistry,
    /// Returns whether a server that lists its tools later may have a tool with this name.
    pub(crate) may_have: &'k (dyn Fn(&str) -> bool + Sync),
}

impl KnownTools<'_> {
    /// Checks that there is, or may be, a tool with this name.
    pub(crate) fn check(&self, name: &str) -> Result<(), UnknownTool> {
        if (self.may_have)(name) {
            return Ok(());
        }
        UnknownTool::check(self.registry, [name])
    }
}

/// Lists the known tools, and suggests the nearest name.
pub(crate) fn advice(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return "no tools are registered".to_owned();
    }
    let meant = nearest(name, known.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
    format!("the tools are {}{meant}", known.join(", "))
}

/// Returns the name that is most similar to an unknown name; `None` if no name is similar enough.
pub(crate) fn nearest<'n>(unknown: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let scored = names.map(|name| (strsim::jaro_winkler(unknown, name), name));
    let (score, name) = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (score > 0.8).then_some(name)
}
