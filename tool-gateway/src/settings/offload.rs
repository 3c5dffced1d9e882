//! [`Offload`]: settings of the files for long results.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tool_builtins::offload::{
    LocalReader, OffloadLayer, OffloadOptions, PrivateWriter, Reader, read_offloaded,
};
use tool_runtime::{RegistryError, ToolRegistry};

use super::mistakes::Mistakes;
use super::units;
use super::unknown_tool::UnknownTool;
use crate::session::store::Reach;

/// Name of the tool that reads offloaded results.
pub(crate) const READ_OFFLOADED: &str = "ReadOffloaded";

/// Directory for long results of the gateway's tools, and the tools whose results are offloaded.
///
/// Each session has a separate directory, accessible only to the owner of the process. The model reads its files with `ReadOffloaded`.
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
    /// Whether all gateways of a shared store have the directory.
    #[serde(default)]
    shared: bool,
}

/// Tools whose answers are pages of limited size, and which the model uses to read on: in a file, their answers would be of no use.
const PAGED: [&str; 3] = ["Read", "Grep", "BashOutput"];

/// Returns the default number of characters from which a result is offloaded.
fn default_threshold() -> usize {
    1000
}

impl Offload {
    /// Creates settings that offload results of 1000 characters and more to files in this directory. No other program may use the
    /// directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            threshold: default_threshold(),
            excluded: Vec::new(),
            shared: false,
        }
    }

    /// States that all gateways of a [shared](crate::session::store::Reach::Shared) store have the same directory. Without this statement,
    /// a gateway with such a store offloads nothing: a session may move to a gateway without the files.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Returns whether results are offloaded with a store of this reach.
    pub(crate) fn is_possible(&self, reach: Reach) -> bool {
        self.shared || reach != Reach::Shared
    }

    /// Checks that the gateways of a shared store have one directory.
    pub(crate) fn check(&self, reach: Reach, mistakes: &mut Mistakes) {
        if !self.is_possible(reach) {
            mistakes.add(
                &["offload", "directory"],
                "several gateways use the store, and a session may move to a gateway without the files; set `shared = true` in [offload] if \
                 all gateways have the same directory",
            );
        }
    }

    /// Sets the number of characters from which a result is offloaded.
    #[must_use]
    pub fn with_threshold(mut self, characters: usize) -> Self {
        self.threshold = characters;
        self
    }

    /// Excludes the results of these tools from offloading.
    #[must_use]
    pub fn excluding<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        self.excluded.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Returns the directory, which is absolute after [`install`](Self::install).
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the tools whose results are never offloaded.
    pub(crate) fn excluded(&self) -> &[String] {
        &self.excluded
    }

    /// Adds the offloading layer and the tool `ReadOffloaded` to a registry.
    pub(crate) fn install(&mut self, registry: ToolRegistry) -> Result<ToolRegistry, InvalidOffload> {
        self.directory = std::path::absolute(&self.directory)
            .ok()
            .filter(|directory| directory.to_str().is_some())
            .ok_or_else(|| InvalidOffload::Directory(self.directory.clone()))?;
        // Calls of the gateway always have a session id.
        let options = OffloadOptions::new("no-session", &self.directory);
        let layer = OffloadLayer::new(options.clone())
            .with_writer(PrivateWriter)
            .with_threshold(self.threshold)
            .excluding(&self.excluded)
            .excluding(PAGED);
        let mut registry = registry
            .layer(layer)
            .with_state(options)
            .with_state(Reader::new(LocalReader));
        registry.register::<read_offloaded>()?;
        Ok(registry)
    }
}

/// Error in the configuration of offloading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOffload {
    /// An excluded name is not the name of a tool.
    #[error(transparent)]
    UnknownTool(#[from] UnknownTool),
    /// The path of the directory is not absolute, or not UTF-8.
    #[error("the directory {0:?} has no absolute UTF-8 path; name another directory")]
    Directory(PathBuf),
    /// The registry rejects `ReadOffloaded`, for example because it has a tool with this name.
    #[error("`ReadOffloaded` cannot be registered: {0}")]
    Registry(#[from] RegistryError),
}
