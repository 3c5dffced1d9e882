//! [`Offload`]: the files for long results of the gateway's tools.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tool_builtins::offload::{
    LocalReader, OffloadLayer, OffloadOptions, PrivateWriter, Reader, read_offloaded,
};
use tool_runtime::{RegistryError, ToolRegistry};

use super::units;
use super::unknown_tool::UnknownTool;

/// Directory for long results of the gateway's tools, and the tools that it is for.
///
/// Each session has a separate directory, for the owner of the process alone. The model reads its files with `ReadOffloaded`.
///
/// ```
/// use tool_gateway::{Gateway, Offload};
/// use tool_gateway::upstream::script::ScriptUpstream;
/// use tool_runtime::ToolRegistry;
///
/// let gateway = Gateway::new(ToolRegistry::new(), ScriptUpstream::embedded());
/// let gateway = gateway.with_offload(Offload::new("/var/lib/tool-gateway/offload").with_threshold(20_000))?;
/// # let _ = gateway;
/// # Ok::<(), tool_gateway::InvalidOffload>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offload {
    directory: PathBuf,
    #[serde(default = "default_threshold", deserialize_with = "units::count_from_zero")]
    threshold: usize,
    #[serde(default, rename = "exclude")]
    excluded: Vec<String>,
}

/// Characters from which on a result is offloaded.
fn default_threshold() -> usize {
    1000
}

impl Offload {
    /// Offloads results of 1000 characters and more to files below this directory, which is the gateway's alone.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            threshold: default_threshold(),
            excluded: Vec::new(),
        }
    }

    /// Offloads results of this many characters and more.
    #[must_use]
    pub fn with_threshold(mut self, characters: usize) -> Self {
        self.threshold = characters;
        self
    }

    /// Never offloads the results of these tools.
    #[must_use]
    pub fn excluding<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        self.excluded.extend(tools.into_iter().map(Into::into));
        self
    }

    /// The directory; absolute after [`install`](Self::install).
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The tools whose results are never offloaded.
    pub(crate) fn excluded(&self) -> &[String] {
        &self.excluded
    }

    /// Puts the layer around a registry, and the tool into it.
    pub(crate) fn install(&mut self, registry: ToolRegistry) -> Result<ToolRegistry, InvalidOffload> {
        UnknownTool::check(&registry, self.excluded.iter().map(String::as_str))?;
        self.directory = std::path::absolute(&self.directory)
            .ok()
            .filter(|directory| directory.to_str().is_some())
            .ok_or_else(|| InvalidOffload::Directory(self.directory.clone()))?;
        // Every call of the gateway's has its session.
        let options = OffloadOptions::new("no-session", &self.directory);
        let layer = OffloadLayer::new(options.clone())
            .with_writer(PrivateWriter)
            .with_threshold(self.threshold)
            .excluding(&self.excluded);
        let mut registry = registry
            .layer(layer)
            .with_state(options)
            .with_state(Reader::new(LocalReader));
        registry.register::<read_offloaded>()?;
        Ok(registry)
    }
}

/// An error in the configuration of offloading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOffload {
    /// There is no tool of an excluded name.
    #[error(transparent)]
    UnknownTool(#[from] UnknownTool),
    /// The pointers have the path as text.
    #[error("the directory {0:?} has no absolute path that is text; name another")]
    Directory(PathBuf),
    /// The registry has a tool of that name already, for example.
    #[error("`ReadOffloaded` cannot be registered: {0}")]
    Registry(#[from] RegistryError),
}
