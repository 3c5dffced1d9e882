//! [`UnknownTool`]: a setting names a tool that the gateway does not have.

use tool_runtime::ToolRegistry;

/// A tool was named that the registry does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{name}`; {}", advice(.name, .known))]
pub struct UnknownTool {
    /// The name.
    pub name: String,
    /// The names that there are, in the order of registration.
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

/// Which tools there are, and which of them may have been meant.
pub(crate) fn advice(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return "there are none at all".to_owned();
    }
    let meant = nearest(name, known.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
    format!("the tools are {}{meant}", known.join(", "))
}

/// The name that is most like an unknown one, if it is at all.
pub(crate) fn nearest<'n>(unknown: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let scored = names.map(|name| (strsim::jaro_winkler(unknown, name), name));
    let (score, name) = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (score > 0.8).then_some(name)
}
