//! [`Offload`]: long results of the gateway's tools go to files, which the model reads back.

pub(crate) mod sweep;

use std::path::PathBuf;

use tool_builtins::offload::{
    LocalReader, OffloadLayer, OffloadOptions, PrivateWriter, Reader, WithoutOffload, read_offloaded,
};
use tool_runtime::{Context, RegistryError, ToolRegistry};

use crate::server::access::unknown_tool::UnknownTool;
use crate::server::turns::job::Job;
use crate::server::turns::shared::Shared;

/// The tool that reads offloaded results.
pub(crate) const READ_OFFLOADED: &str = "ReadOffloaded";

/// Where long results of the gateway's tools go, and which of them.
///
/// Each session has a directory of its own, for the owner of the process alone. The model reads what is in there with `ReadOffloaded`.
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
#[derive(Debug, Clone)]
pub struct Offload {
    directory: PathBuf,
    threshold: usize,
    excluded: Vec<String>,
}

impl Offload {
    /// Offloads results of 1000 characters and more to files below this directory, which is the gateway's alone.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            threshold: 1000,
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

    /// Puts the layer around a registry, and the tool into it; the directory as an absolute path.
    pub(crate) fn install(self, registry: ToolRegistry) -> Result<(ToolRegistry, PathBuf), InvalidOffload> {
        UnknownTool::check(&registry, self.excluded.iter().map(String::as_str))?;
        let directory = std::path::absolute(&self.directory)
            .ok()
            .filter(|directory| directory.to_str().is_some());
        let directory = directory.ok_or(InvalidOffload::Directory(self.directory))?;
        // Every call of the gateway's has its session.
        let options = OffloadOptions::new("no-session", &directory);
        let layer = OffloadLayer::new(options.clone())
            .with_writer(PrivateWriter)
            .with_threshold(self.threshold)
            .excluding(self.excluded);
        let mut registry = registry
            .layer(layer)
            .with_state(options)
            .with_state(Reader::new(LocalReader));
        registry.register::<read_offloaded>()?;
        Ok((registry, directory))
    }
}

/// Why a gateway cannot offload as configured.
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

/// The context of a turn's calls. Where the model cannot read back what is offloaded, since `ReadOffloaded` is the client's own tool in
/// this request, results stay whole.
pub(crate) fn context(shared: &Shared, job: &Job) -> Context {
    let context = Context::new().with_session(job.session.to_string());
    let mut tools = job.tools.internal.iter();
    let is_readable = tools.any(|name| shared.ownership.internal_name(name) == READ_OFFLOADED);
    if shared.offload_directory.is_none() || is_readable {
        return context;
    }
    context.with_extension(WithoutOffload)
}
